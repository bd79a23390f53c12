//! After a query: segments of rows that it has read and that nobody changes become columns, and
//! frozen ones get new columns of which many rows were changed or deleted.
//!
//! So whoever asks again asks columns, and no thread is needed for it. Only the transaction of a
//! query by itself notes segments, where the setting `freeze` says so, and only when it has ended
//! they are frozen: by whoever asked for its last row, in no more time than the query took, or one
//! of them if that takes longer. Nothing of it is ever an error: what is refused for memory, for
//! rights, or because somebody else is at it, stays as it is.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::catalog::table::Table;
use crate::context::StatementContext;
use crate::database::SqlDatabase;
use crate::limits::cancel::Cancel;
use crate::privileges::Access;
use crate::result::rows::Afterwards;
use crate::transaction::Transaction;

/// What is to be done after a query in this transaction, if anything.
pub(crate) fn after_query(
    context: &StatementContext,
    transaction: &Transaction,
) -> Option<Afterwards> {
    let hot = Arc::clone(transaction.hot.as_ref()?);
    let (database, cancel) = (Arc::clone(&context.database), Arc::clone(context.cancel()));
    let actor = context.actor;
    Some(Box::new(move |worked| {
        let catalog = database.catalog();
        // As VACUUM, it is for those who own the table.
        let access = Access { catalog: &catalog, actor, path: &[] };
        let mut noted = hot.take();
        noted.retain(|(table, _)| access.owns(table.owner));
        freeze(&database, &cancel, &noted, worked);
    }))
}

/// Freezes segments as long as that takes no longer in all.
fn freeze(
    database: &SqlDatabase,
    cancel: &Cancel,
    mut noted: &[(Arc<Table>, u32)],
    worked: Duration,
) {
    let begun = Instant::now();
    let (mut longest, mut last) = (Duration::ZERO, None);
    let mut goes_on = || {
        let now = Instant::now();
        let before = last.replace(now);
        longest = before.map_or(longest, |before| longest.max(now - before));
        let fits = before.is_none() || now - begun + longest <= worked;
        fits && cancel.check().is_ok()
    };
    while let Some((table, _)) = noted.first() {
        let of_table = noted.iter().take_while(|(of, _)| Arc::ptr_eq(of, table)).count();
        let (now, later) = noted.split_at(of_table);
        noted = later;
        let numbers: Vec<u32> = now.iter().map(|(_, number)| *number).collect();
        // Somebody may have dropped the table, or there is no memory for it: then nothing is lost.
        let _ = database.engine().freeze_segments(&table.handle, &numbers, &mut goes_on);
    }
}
