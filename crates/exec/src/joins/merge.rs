//! Build sides that several threads have read, put together as one.
//!
//! Each thread has numbers of its own for texts. Rows come in the order in which one thread would
//! have read them, so that what is joined comes out in the same order.

use std::ops::Range;

use super::build::{JoinBuild, ROWS_MAX, less};
use crate::sources::account::{Account, Refused};
use crate::sources::source::has_bit;

/// Rows of one of several build sides, which come one behind the other.
#[derive(Clone, Debug)]
pub struct BuildRun {
    /// Whose rows: 0 for the one that takes over others, 1 for the first of those.
    pub build: usize,
    /// Which.
    pub rows: Range<usize>,
}

impl JoinBuild {
    /// Takes over the rows of others, which are of the same keys. All rows of all of them, its own
    /// among them, come in the order of `runs`; `memory` says whether there may be so many bytes,
    /// without those of the others.
    ///
    /// # Errors
    /// Memory is refused, or there are too many rows; then it is of no use any more.
    pub fn absorb(
        &mut self,
        mut others: Vec<Self>,
        runs: &[BuildRun],
        memory: &mut dyn FnMut(usize) -> bool,
    ) -> Result<(), Refused> {
        if others.is_empty() {
            return Ok(());
        }
        let rows = self.rows + others.iter().map(|other| other.rows).sum::<usize>();
        if rows > ROWS_MAX {
            return Err(Refused);
        }
        let mut taken = self.taken;
        let account = &mut Account { taken: &mut taken, memory };
        for other in &mut others {
            self.number_texts_of(other, account)?;
        }
        self.null_keys = self.merged_nulls(&others, runs, rows);
        for place in 0..self.numbers.len() {
            let mut merged = Vec::new();
            account.reserve(&mut merged, rows)?;
            for BuildRun { build, rows } in runs {
                let from = build.checked_sub(1).map_or(&*self, |other| &others[other]);
                merged.extend_from_slice(&from.numbers[place][rows.clone()]);
            }
            account.give_back(self.numbers[place].capacity() * size_of::<i64>());
            self.numbers[place] = merged;
            others.iter_mut().for_each(|other| other.numbers[place] = Vec::new());
        }
        self.rows = rows;
        self.ascends = self.ascends
            && others.iter().all(|other| other.ascends)
            && self.numbers[0].is_sorted_by(less);
        self.taken = taken;
        Ok(())
    }

    /// Gives the texts of another one the numbers that they have here.
    fn number_texts_of(
        &mut self,
        other: &mut Self,
        account: &mut Account<'_>,
    ) -> Result<(), Refused> {
        for (place, _) in self.keys.iter().enumerate().filter(|(_, key)| key.is_text) {
            let (known, texts) = (&mut self.texts[place], &other.texts[place]);
            let numbers = (0..texts.len() as u64).map(|at| known.number_of(texts.get(at), account));
            let numbers = numbers.collect::<Result<Vec<_>, _>>()?;
            let (columns, nulls) = other.numbers.split_at_mut(self.keys.len());
            for (row, number) in columns[place].iter_mut().enumerate() {
                // Null is 0 wherever it equals another one.
                let is_null = nulls.first().is_some_and(|nulls| nulls[row] >> place & 1 == 1);
                let here = numbers.get(*number as usize).filter(|_| !is_null);
                *number = here.map_or(0, |here| *here as i64);
            }
        }
        Ok(())
    }

    /// Of which rows, in their new order, the key is null.
    fn merged_nulls(&self, others: &[Self], runs: &[BuildRun], rows: usize) -> Option<Vec<u64>> {
        if self.null_keys.is_none() && others.iter().all(|other| other.null_keys.is_none()) {
            return None;
        }
        let (mut merged, mut first) = (vec![0; rows.div_ceil(64)], 0);
        for BuildRun { build, rows } in runs {
            let from = build.checked_sub(1).map_or(self, |other| &others[other]);
            if let Some(nulls) = &from.null_keys {
                let is_null = |row: &usize| has_bit(nulls, *row);
                for at in rows.clone().filter(is_null).map(|row| first + row - rows.start) {
                    merged[at / 64] |= 1 << (at % 64);
                }
            }
            first += rows.len();
        }
        Some(merged)
    }
}
