//! An allocator that gives what it should not must not get a time.

use std::collections::BTreeMap;

use lab_harness::{Medium, Promise};
use serde_json::Value;

use super::*;
use crate::parameters::BLOCK_BYTES;
use crate::testing;

/// What goes wrong, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lie {
    None,
    /// The first blocks are damaged.
    AtFirst,
    /// Those after the first were freed.
    Later,
    /// Those after a reset.
    AfterReset,
}

struct Fake {
    lie: Lie,
    filled: u32,
    resets: u32,
}

#[test]
fn an_honest_region_is_verified_in_every_phase() {
    let phases = measured(Lie::None);
    let names: Vec<_> = phases.iter().map(|phase| phase.phase.as_str()).collect();
    assert_eq!(
        names,
        ["open", "allocate_calls", "allocate", "free", "free_reverse", "reset", "drop"]
    );
    assert!(phases.iter().all(|phase| phase.verified), "{phases:?}");
    assert_eq!((phases[2].operations, phases[5].operations), (30, 1));
    assert!(phases[2].wall_ns >= phases[1].wall_ns);
}

#[test]
fn a_lie_takes_the_times_before_and_after_it_away() {
    for (lie, honest) in [(Lie::AtFirst, 0), (Lie::Later, 0), (Lie::AfterReset, 0)] {
        let phases = measured(lie);
        let verified = phases.iter().filter(|phase| phase.verified).count();
        assert_eq!(verified, honest, "{lie:?}: {phases:?}");
        assert!(phases.iter().all(|phase| phase.note.contains("not as written")), "{phases:?}");
    }
}

fn measured(lie: Lie) -> Vec<PhaseSample> {
    let setting = testing::setting(Promise::None, Medium::Memory);
    let request = CaseRequest {
        parameters: BTreeMap::from([(BLOCK_BYTES.to_owned(), Value::from(64))]),
        ..testing::request("memory", &setting, 30)
    };
    let lines = measure(&request, open(lie), &setting).unwrap();
    let phases = lines.into_iter().map(|line| match line {
        Line::Phase(sample) => sample,
        line => panic!("{line:?}"),
    });
    phases.collect()
}

fn open(lie: Lie) -> impl Fn(&Setting, u64, usize) -> Outcome<Box<dyn BlockStore>> {
    move |_, _, _| Ok(Box::new(Fake { lie, filled: 0, resets: 0 }))
}

impl BlockStore for Fake {
    fn prepare(&mut self) {}

    fn allocate(&mut self) -> Outcome<()> {
        self.filled += 1;
        Ok(())
    }

    fn touch(&mut self) {}

    fn wrong(&mut self) -> u64 {
        match self.lie {
            Lie::None => 0,
            Lie::AtFirst => u64::from(self.filled == 1),
            Lie::Later => u64::from(self.filled == 2),
            Lie::AfterReset => u64::from(self.resets == 2),
        }
    }

    fn free(&mut self, _: FreeOrder) -> Outcome<()> {
        Ok(())
    }

    fn forget(&mut self) {}

    fn reset(&mut self) -> Outcome<bool> {
        self.resets += 1;
        Ok(true)
    }

    fn close(self: Box<Self>) {}
}
