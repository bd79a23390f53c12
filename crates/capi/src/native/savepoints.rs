//! The savepoints of a transaction of C, by numbers.
//!
//! Two between which nothing was changed are one, and those that a rollback has ended leave their
//! places: there are never more than changes. A number is of one savepoint for ever.

use remanent_engine::{Savepoint, WriteTransaction};

use super::status::*;

/// The savepoints that can be rolled back to, oldest first.
#[derive(Default)]
pub(super) struct Savepoints {
    all: Vec<(u64, Savepoint)>,
    next: u64,
}

impl Savepoints {
    /// Takes a savepoint; its number.
    pub(super) fn set(&mut self, transaction: &WriteTransaction<'_>) -> u64 {
        let point = transaction.savepoint();
        match self.all.last() {
            Some(&(number, last)) if transaction.is_same_point(last, point) => number,
            _ => {
                self.next += 1;
                self.all.push((self.next - 1, point));
                self.next - 1
            }
        }
    }

    /// Rolls back to the savepoint with this number; later ones end.
    pub(super) fn roll_back_to(
        &mut self,
        transaction: &WriteTransaction<'_>,
        number: u64,
    ) -> Outcome<()> {
        let Ok(place) = self.all.binary_search_by_key(&number, |point| point.0) else {
            let was_one = number < self.next;
            return Err(if was_one { REM_TRANSACTION_ENDED } else { REM_BAD_HANDLE });
        };
        transaction.roll_back_to(self.all[place].1).map_err(status_of)?;
        self.all.truncate(place + 1);
        Ok(())
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.next = 0;
    }
}

#[cfg(test)]
mod tests;
