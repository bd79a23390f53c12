//! What a statement owes the foreign keys of its tables: seen to once all of its rows are changed.
//!
//! Rows that refer to a key which an UPDATE changes follow it then, also if they are changed by the
//! statement themselves. What a row refers to is checked with the row, as is whether anybody
//! refers to what is gone; what is not as it should be may still come right with a later row, so it
//! is kept here, and checked again when there are no more. Rows that were there before are read
//! again: what they refer to may have been changed once more. The memory is counted.

use std::collections::VecDeque;
use std::sync::Arc;

use remanent_engine::RowId;
use remanent_engine::schema::Value;

use super::apply::{Cascade, Gone, Link, is_there, missing, referring, values_of};
use crate::catalog::snapshot::Snapshot;
use crate::catalog::table::referred_key;
use crate::catalog::table::{Action, Table};
use crate::context::StatementContext;
use crate::error::{Error, Result, SqlState};
use crate::limits::held::Held;
use crate::transaction::Transaction;
use crate::values::datum::Datum;
use crate::values::key::Key;

/// What a key or a row takes here, about, and what a value does.
const ENTRY_BYTES: usize = 128;
const VALUE_BYTES: usize = 64;

/// What is owed.
pub(super) struct Owed {
    moved: VecDeque<Moved>,
    refers: Vec<Refers>,
    gone: Vec<GoneKeys>,
    held: Held,
}

/// A key of one row that is another now.
pub(super) struct MovedKey {
    pub(super) old: Vec<Datum>,
    pub(super) new: Vec<Datum>,
}

/// What a moved key means for the rows of a link, so deep in what other rows mean for these.
struct Moved {
    link: Arc<Link>,
    key: MovedKey,
    depth: usize,
}

/// Something that refers to a key that was not there.
struct Refers {
    child: Arc<Table>,
    /// The reference's place among the table's.
    reference: usize,
    by: By,
}

/// By what it is known.
pub(super) enum By {
    /// The key itself, of rows that are new.
    Key(Vec<Datum>),
    /// The row.
    Row(RowId),
}

/// Keys that are gone, while rows referred to them.
struct GoneKeys {
    link: Arc<Link>,
    keys: Gone,
}

impl Owed {
    /// Owes that something refers to what is there.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY`.
    pub(super) fn refers(&mut self, child: &Arc<Table>, reference: usize, by: By) -> Result<()> {
        let values = match &by {
            By::Key(key) => key.len(),
            By::Row(_) => 0,
        };
        self.held.grow(ENTRY_BYTES + values * VALUE_BYTES)?;
        self.refers.push(Refers { child: Arc::clone(child), reference, by });
        Ok(())
    }

    /// Owes that rows follow a key.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY`.
    pub(super) fn moved(&mut self, link: &Arc<Link>, key: MovedKey, depth: usize) -> Result<()> {
        if link.reference.on_update == Action::Refuse {
            return self.gone(link, &Gone::from([(Key::of_all(&key.old), key.old)]));
        }
        self.held.grow(ENTRY_BYTES + 2 * key.old.len() * VALUE_BYTES)?;
        self.moved.push_back(Moved { link: Arc::clone(link), key, depth });
        Ok(())
    }

    /// Owes that nobody refers to keys.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY`.
    pub(super) fn gone(&mut self, link: &Arc<Link>, keys: &Gone) -> Result<()> {
        self.held.grow(keys.len() * (ENTRY_BYTES + 2 * link.columns.len() * VALUE_BYTES))?;
        let is_it = |known: &&mut GoneKeys| {
            let (one, other) = (&known.link, link);
            one.child.name == other.child.name && one.reference.name == other.reference.name
        };
        let keys = keys.iter().map(|(by, key)| (by.clone(), key.clone()));
        match self.gone.iter_mut().find(is_it) {
            Some(known) => known.keys.extend(keys),
            None => self.gone.push(GoneKeys { link: Arc::clone(link), keys: keys.collect() }),
        }
        Ok(())
    }

    /// Forgets all, of a statement that begins again.
    ///
    /// # Errors
    /// None.
    pub(super) fn clear(&mut self) -> Result<()> {
        self.moved.clear();
        self.refers.clear();
        self.gone.clear();
        self.held.resize(0)
    }
}

/// Of a statement that begins.
pub(super) fn owed(context: &StatementContext) -> Owed {
    let held = context.database.hold("references that are checked when all rows are changed");
    Owed { moved: VecDeque::new(), refers: Vec::new(), gone: Vec::new(), held }
}

/// Does what is owed: the statement has changed all of its rows.
///
/// # Errors
/// `FOREIGN_KEY_VIOLATION`; as changes of the rows that follow.
pub(super) fn validate(
    context: &mut StatementContext,
    transaction: &Arc<Transaction>,
    catalog: &Arc<Snapshot>,
    owed: &mut Owed,
) -> Result<()> {
    while let Some(Moved { link, key: MovedKey { old, new }, depth }) = owed.moved.pop_front() {
        context.check_cancelled()?;
        let keys = Gone::from([(Key::of_all(&old), old)]);
        let mut cascade = Cascade { context, transaction, catalog, owed };
        cascade.follow(&link, &keys, Some(&new), depth)?;
    }
    for Refers { child, reference, by } in owed.refers.drain(..) {
        context.check_cancelled()?;
        let reference = &child.references[reference];
        let parent = catalog.table(&reference.table)?;
        let key = match by {
            By::Key(key) => key,
            By::Row(id) => match transaction.reading()?.row(&child.handle, id)? {
                Some(row) => values_of(&child, &row, &reference.columns),
                None => continue,
            },
        };
        if !is_there(transaction, reference, &parent, &key)? {
            return Err(missing(&child, reference, &parent, &key));
        }
    }
    for GoneKeys { link, keys } in owed.gone.drain(..) {
        context.check_cancelled()?;
        check_gone(transaction, catalog, &link, keys)?;
    }
    owed.clear()
}

/// Checks that nobody refers to keys, as far as no other row has them by now.
fn check_gone(
    transaction: &Transaction,
    catalog: &Snapshot,
    link: &Link,
    mut keys: Gone,
) -> Result<()> {
    let Link { child, reference, columns } = link;
    let parent = catalog.table(&reference.table)?;
    let index = referred_key(&parent, reference)?;
    let mut again = Vec::new();
    let writing = transaction.writing()?;
    let kept = writing.keep_reads();
    for (by, key) in &keys {
        let values = key.iter().zip(&index.columns);
        let values: Vec<Value<'_>> =
            values.map(|(datum, &column)| datum.to_value(&parent.columns[column].stored)).collect();
        let is_there = !key.iter().any(Datum::is_null)
            && transaction.reading()?.find(&parent.handle, index.handle, &values)?.is_some();
        if is_there {
            again.push(by.clone());
        }
    }
    drop(kept);
    again.iter().for_each(|by| _ = keys.remove(by));
    if keys.is_empty() || referring(transaction, child, columns, &keys)?.is_empty() {
        return Ok(());
    }
    let text = format!(
        "update or delete on table {} violates foreign key constraint \"{}\" of {}",
        reference.table, reference.name, child.name
    );
    Err(Error::new(SqlState::FOREIGN_KEY_VIOLATION, text)
        .detail("A key is still referenced.")
        .of_constraint(&child.name.schema, &child.name.name, &reference.name))
}
