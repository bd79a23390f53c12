//! How long a run still takes, from what its cases have taken so far.
//!
//! A case that was measured takes as long in its next round. One that was not takes what the others
//! of its group took on average; where none of them was measured, what all took, and more in
//! proportion to the rows: up to [`GROWTH_MAX`] times, for phases have limits.

use std::time::Duration;

use crate::workloads::Group;

/// Ten times the rows are not a hundred times the time: loading grows with them, phases stop.
const GROWTH_MAX: f64 = 10.0;

/// What is known of each case.
pub(crate) struct Remaining {
    groups: Vec<Vec<Part>>,
}

/// The rounds of one case.
#[derive(Clone, Copy)]
struct Part {
    rows: u64,
    rounds_left: u32,
    /// Of the last round that was measured.
    seconds: Option<f64>,
}

impl Remaining {
    /// Nothing has been measured.
    pub(crate) fn new(groups: &[Group]) -> Self {
        let parts = |group: &Group| {
            let part = |rows| Part { rows, rounds_left: group.rounds, seconds: None };
            group.cases.iter().map(|case| part(case.rows)).collect()
        };
        Self { groups: groups.iter().map(parts).collect() }
    }

    /// A round of a case has taken so long.
    pub(crate) fn took(&mut self, group: usize, case: usize, time: Duration) {
        let part = self.groups.get_mut(group).and_then(|parts| parts.get_mut(case));
        if let Some(part) = part {
            part.rounds_left = part.rounds_left.saturating_sub(1);
            part.seconds = Some(time.as_secs_f64());
        }
    }

    /// What remains, for a person.
    pub(crate) fn words(&self) -> String {
        match self.seconds() {
            None => "time unknown yet".to_owned(),
            Some(seconds) if seconds < 90.0 => format!("about {seconds:.0} s left"),
            Some(seconds) => format!("about {:.0} min left", seconds / 60.0),
        }
    }

    /// Nothing before the first case was measured.
    fn seconds(&self) -> Option<f64> {
        let overall = average(self.groups.iter().flatten())?;
        let of_group = |parts: &Vec<Part>| -> f64 {
            let known = average(parts.iter());
            let expected = |part: &Part| match (part.seconds, &known) {
                (Some(seconds), _) => seconds,
                (None, Some(known)) => known.seconds,
                (None, None) => {
                    let growth = part.rows as f64 / overall.rows.max(1.0);
                    overall.seconds * growth.clamp(1.0, GROWTH_MAX)
                }
            };
            parts.iter().map(|part| expected(part) * f64::from(part.rounds_left)).sum()
        };
        Some(self.groups.iter().map(of_group).sum())
    }
}

/// A case as those that were measured are on average.
struct Average {
    seconds: f64,
    rows: f64,
}

fn average<'a>(parts: impl Iterator<Item = &'a Part>) -> Option<Average> {
    let (mut seconds, mut rows, mut count) = (0.0, 0.0, 0.0);
    for part in parts {
        if let Some(of_part) = part.seconds {
            seconds += of_part;
            rows += part.rows as f64;
            count += 1.0;
        }
    }
    (count > 0.0).then(|| Average { seconds: seconds / count, rows: rows / count })
}

#[cfg(test)]
#[path = "remaining_tests.rs"]
mod tests;
