//! A set that lies must not get a time: each lie below is a set of this kind gone wrong.

use std::collections::BTreeMap;

use lab_harness::{Medium, Promise};

use super::*;
use crate::testing;

const MEMBERS: u64 = 900;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lie {
    None,
    /// New members go behind all others, whatever the order.
    AlwaysLast,
    /// One member is never disconnected.
    Stays,
    /// The last member is the last but one.
    WrongEnd,
    /// The one behind member 5 is itself.
    Stuck,
    /// A walk shows one member twice.
    OneTooMany,
}

struct Fake {
    lie: Lie,
    order: SetOrder,
    members: Vec<u32>,
}

const SETTING: Setting = testing::setting(Promise::None, Medium::Memory);

#[test]
fn an_honest_set_is_verified_in_every_phase_and_order() {
    for order in SetOrder::ALL {
        let phases = measured(Lie::None, order);
        let names: Vec<_> = phases.iter().map(|phase| phase.phase.as_str()).collect();
        assert_eq!(
            names,
            [
                "connect_100",
                "next",
                "first",
                "last",
                "siblings_random",
                "siblings_following",
                "disconnect_100",
                "connect_1",
                "disconnect_1",
            ]
        );
        assert!(phases.iter().all(|phase| phase.verified), "{order:?}: {phases:?}");
        assert!(phases.iter().all(|phase| phase.operations > 0), "{order:?}: {phases:?}");
    }
}

#[test]
fn every_lie_is_found_where_it_shows() {
    let order = SetOrder::First;
    let cases: [(Lie, &[&str]); 5] = [
        (
            Lie::AlwaysLast,
            &[
                "connect_100",
                "next",
                "first",
                "last",
                "siblings_random",
                "siblings_following",
                "connect_1",
            ],
        ),
        (Lie::Stays, &["disconnect_100", "connect_1", "disconnect_1"]),
        (Lie::WrongEnd, &["last"]),
        (Lie::Stuck, &["siblings_random", "siblings_following"]),
        (Lie::OneTooMany, &["connect_100", "next", "connect_1"]),
    ];
    for (lie, wrong) in cases {
        let phases = measured(lie, order);
        let found: Vec<_> = phases
            .iter()
            .filter(|phase| !phase.verified)
            .map(|phase| phase.phase.as_str())
            .collect();
        assert_eq!(found, wrong, "{lie:?}");
    }
}

fn measured(lie: Lie, order: SetOrder) -> Vec<PhaseSample> {
    let request = CaseRequest {
        parameters: BTreeMap::from([(ORDER.to_owned(), Value::from(order.word()))]),
        ..testing::request("sets", &SETTING, MEMBERS)
    };
    let lines = measure(&request, open(lie), &SETTING).unwrap();
    let phases = lines.into_iter().filter_map(|line| match line {
        Line::Phase(sample) => Some(sample),
        _ => None,
    });
    phases.collect()
}

fn open(lie: Lie) -> impl Fn(&Setting, &Location<'_>, SetOrder) -> Outcome<Box<dyn SetStore>> {
    move |_, _, order| Ok(Box::new(Fake { lie, order, members: Vec::new() }))
}

impl Fake {
    fn behind(&self, member: u32) -> u32 {
        let location = self.members.iter().position(|&other| other == member);
        let next = location.and_then(|location| self.members.get(location + 1));
        next.copied().unwrap_or(NOBODY)
    }
}

impl SetStore for Fake {
    fn fill(&mut self, _: u32) -> Outcome<()> {
        Ok(())
    }

    fn connect(&mut self, members: &[u32]) -> Outcome<()> {
        for &member in members.iter() {
            let location = match self.order {
                _ if self.lie == Lie::AlwaysLast => self.members.len(),
                SetOrder::First => 0,
                SetOrder::Last | SetOrder::Next => self.members.len(),
                SetOrder::Ascending => self.members.partition_point(|&other| other < member),
            };
            self.members.insert(location, member);
        }
        Ok(())
    }

    fn disconnect(&mut self, members: &[u32]) -> Outcome<()> {
        let stays = |member: u32| self.lie == Lie::Stays && member == 3;
        self.members.retain(|&member| stays(member) || !members.contains(&member));
        Ok(())
    }

    fn walk(&mut self, out: &mut [u32]) -> Outcome<usize> {
        let mut shown = self.members.clone();
        if self.lie == Lie::OneTooMany {
            shown.extend(self.members.last());
        }
        out[..shown.len()].copy_from_slice(&shown);
        Ok(shown.len())
    }

    fn go_to(&mut self, end: End, out: &mut [u32]) -> Outcome<()> {
        let last = self.members.len() - 1 - usize::from(self.lie == Lie::WrongEnd);
        out.fill(self.members[if end == End::First { 0 } else { last }]);
        Ok(())
    }

    fn next_of(&mut self, members: &[u32], out: &mut [u32]) -> Outcome<()> {
        for (&member, number) in members.iter().zip(out) {
            let stuck = self.lie == Lie::Stuck && member == 5;
            *number = if stuck { 5 } else { self.behind(member) };
        }
        Ok(())
    }

    fn close(self: Box<Self>) -> Outcome<()> {
        Ok(())
    }
}
