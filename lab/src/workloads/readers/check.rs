//! Whether anybody saw what never was.
//!
//! Three things hold in every snapshot of this workload, whatever the engine: a row is whole; a
//! row that is looked up twice is the same; and the rows that are there are the first ones (while
//! the writer inserts in order) or the last ones (while it deletes in order), cut between two of
//! its transactions. A transaction that lies within one phase knows more: beside updates every row
//! is there, and no row is of another cycle. The writer compares the whole table with its model
//! between the phases.

use lab_harness::Outcome;
use lab_harness::readers::{Ended, RowReader, RowView};

use super::content::{generation_of, row};
use super::reader_threads::{Moment, Stage};

/// Look-ups of one read transaction, as in the document.
pub(super) const LOOK_UPS: usize = 100;

/// How many of them, at the end, repeat the first ones.
pub(super) const REPEATS: usize = 4;

/// How many generations a cycle has room for; more than it has transactions.
const GENERATIONS_PER_CYCLE: u64 = 1 << 20;

/// The generation with which a cycle inserts; its updates count on from there.
pub(super) fn generation_at(cycle: u64) -> u32 {
    (1 + cycle * GENERATIONS_PER_CYCLE) as u32
}

/// How many cycles have generations of their own.
pub(super) const CYCLES_MAX: u64 = u32::MAX as u64 / GENERATIONS_PER_CYCLE;

/// What one read transaction asked for and saw.
pub(super) struct Sight {
    pub(super) ids: [i32; LOOK_UPS],
    /// Generations, in the order of `ids`; absent rows have none.
    seen: [Option<u32>; LOOK_UPS],
    shown: usize,
    /// An id whose row was not whole.
    broken: Option<i32>,
}

impl Sight {
    pub(super) fn new() -> Self {
        Self { ids: [0; LOOK_UPS], seen: [None; LOOK_UPS], shown: 0, broken: None }
    }

    /// Forgets what was seen, not what is asked for.
    pub(super) fn clear(&mut self) {
        (self.shown, self.broken) = (0, None);
    }

    /// Takes the answer to the next id.
    #[inline]
    pub(super) fn see(&mut self, answer: Option<RowView<'_>>) {
        let Some(&id) = self.ids.get(self.shown) else {
            self.broken = Some(-1);
            return;
        };
        let seen = answer.and_then(|view| generation_of(id, &view));
        if seen.is_none() && answer.is_some() {
            self.broken = Some(id);
        }
        self.seen[self.shown] = seen;
        self.shown += 1;
    }

    /// What is wrong with it, for a transaction that began at one moment and ended at another.
    pub(super) fn fault(&self, begun: Moment, ended: Moment, block: i32) -> Option<String> {
        if let Some(id) = self.broken {
            return Some(format!("a reader saw a row that never was: id {id}"));
        }
        if self.shown != LOOK_UPS {
            return Some(format!("a reader was shown {} of {LOOK_UPS} answers", self.shown));
        }
        if self.seen[..REPEATS] != self.seen[LOOK_UPS - REPEATS..] {
            return Some("a reader saw a row change within its transaction".to_owned());
        }
        if !self.is_a_state(block) {
            return Some("a reader saw half of a transaction".to_owned());
        }
        (begun == ended).then(|| self.fault_within(begun)).flatten()
    }

    /// Whether the rows that are there are the first ones or the last, in whole transactions.
    fn is_a_state(&self, block: i32) -> bool {
        let [mut first, mut last] = [(i32::MAX, i32::MIN); 2].map(|(low, high)| [low, high]);
        for (&id, seen) in self.ids.iter().zip(&self.seen) {
            let of_kind = if seen.is_some() { &mut first } else { &mut last };
            of_kind[0] = of_kind[0].min(id / block);
            of_kind[1] = of_kind[1].max(id / block);
        }
        let (there, absent) = (first, last);
        there[1] < absent[0] || absent[1] < there[0]
    }

    /// What the phase that a transaction lay in forbids.
    fn fault_within(&self, moment: Moment) -> Option<String> {
        let missing = self.seen.iter().any(Option::is_none);
        if moment.stage.has_all_rows() && missing {
            return Some("a reader missed a row beside updates".to_owned());
        }
        let range = match moment.stage {
            Stage::Between | Stage::Alone | Stage::Over => return None,
            _ => generation_at(moment.cycle)..generation_at(moment.cycle + 1),
        };
        let foreign = self.seen.iter().flatten().any(|generation| !range.contains(generation));
        foreign.then(|| "a reader saw a row of another cycle".to_owned())
    }
}

/// What the table must hold: the generation of each id, 0 where there is no row.
pub(super) struct Model {
    pub(super) generations: Vec<u32>,
    met: Vec<bool>,
}

impl Model {
    pub(super) fn new(rows: usize) -> Self {
        Self { generations: vec![0; rows], met: vec![false; rows] }
    }

    /// The first difference between the model and the table, if any: every byte is compared.
    pub(super) fn difference(&mut self, reader: &mut dyn RowReader) -> Outcome<Option<String>> {
        loop {
            self.met.fill(false);
            let mut fault = None;
            let mut count = 0;
            let ended = reader.scan(&mut |view| {
                count += 1;
                if let Some(found) = view.and_then(|view| self.fault_of(&view)) {
                    fault.get_or_insert(found);
                }
            })?;
            if ended == Ended::Aborted {
                continue;
            }
            let there = self.generations.iter().filter(|&&generation| generation != 0).count();
            if fault.is_none() && count != there {
                fault = Some(format!("{count} rows in place of {there}"));
            }
            return Ok(fault);
        }
    }

    fn fault_of(&mut self, view: &RowView<'_>) -> Option<String> {
        let Some(&generation) = self.generations.get(view.id as usize) else {
            return Some(format!("row {} was never inserted", view.id));
        };
        if std::mem::replace(&mut self.met[view.id as usize], true) {
            return Some(format!("row {} is there twice", view.id));
        }
        let expected = row(view.id, generation);
        (generation == 0 || expected.view() != *view)
            .then(|| format!("row {} differs from what was written", view.id))
    }
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
