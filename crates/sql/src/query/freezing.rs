//! After a query: segments of rows that it has read and that nobody changes become columns, and
//! frozen ones get new columns of which many rows were changed or deleted.
//!
//! So whoever asks again asks columns, and no thread is needed for it. Only the transaction of a
//! query by itself notes segments, where the setting `freeze` says so, and only when it has ended
//! they are frozen: by whoever asked for its last row, in no more time than the query took, or one
//! of them if that takes longer. Nothing of it is ever an error: what is refused for memory, for
//! rights, or because somebody else is at it, stays as it is.

use std::sync::Arc;

use crate::context::StatementContext;
use crate::privileges::Access;
use crate::result::rows::Afterwards;
use crate::transaction::Transaction;
use crate::transaction::freezing::Pace;

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
        noted.retain(|segment| access.owns(segment.table.owner));
        let mut pace = Pace::within(worked, &cancel);
        for segment in noted {
            if !pace.goes_on() {
                break;
            }
            // Whatever became of it, nothing is lost.
            let _ = segment.freeze(database.engine());
        }
    }))
}
