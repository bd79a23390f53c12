//! TRUNCATE: all rows of tables, within the transaction.
//!
//! Tables that others refer to are emptied only together with those.

use datafusion::sql::sqlparser::ast::{CascadeOption, Truncate, TruncateIdentityOption};
use remanent_engine::RowId;

use crate::access::{Access, Allowed, Privilege};
use crate::error::{Error, Result, SqlState};
use crate::query::sequences;
use crate::session::answer::Outcome;
use crate::session::statements::Session;

impl Session {
    /// TRUNCATE, within the transaction.
    ///
    /// # Errors
    /// `UNKNOWN_TABLE`; `FEATURE_NOT_SUPPORTED` for a table that others refer to, without CASCADE.
    pub(crate) async fn truncate(&mut self, truncate: &Truncate) -> Result<Outcome> {
        self.cancel().frees_memory();
        let catalog = self.catalog();
        let access = self.access(&catalog);
        let mut tables = Vec::new();
        for name in &truncate.table_names {
            tables.push(access.find(&name.name, &[Privilege::Truncate])?);
        }
        let cascade = matches!(truncate.cascade, Some(CascadeOption::Cascade));
        add_referrers(access, &mut tables, cascade)?;
        let alone = self.block.is_none();
        let transaction = self.transaction(true)?;
        let before = transaction.writing()?.savepoint();
        let emptied = tables.iter().try_for_each(|table| {
            let writing = transaction.writing()?;
            let ids: Vec<RowId> = writing.scan(&table.handle)?.map(|row| row.id()).collect();
            for id in ids {
                self.check_cancelled()?;
                writing.delete(&table.handle, id)?;
            }
            Ok(())
        });
        match (alone, emptied) {
            (true, Ok(())) => drop(transaction.commit()?),
            (true, Err(error)) => {
                transaction.roll_back();
                return Err(error);
            }
            (false, Ok(())) => {}
            (false, Err(error)) => {
                self.take_back_to(&transaction, before)?;
                return Err(error);
            }
        }
        if truncate.identity == Some(TruncateIdentityOption::Restart) {
            for sequence in tables.iter().flat_map(|table| &table.columns) {
                let Some(identity) = &sequence.identity else { continue };
                if let Some(sequence) = catalog.sequence_of(identity.sequence) {
                    let start = sequence.options.start;
                    sequences::put(&self.database, &self.caller, sequence, (start, false))?;
                }
            }
        }
        Ok(Outcome::verb("TRUNCATE TABLE"))
    }
}

fn add_referrers(access: Access<'_>, tables: &mut Vec<Allowed>, cascade: bool) -> Result<()> {
    let mut at = 0;
    while at < tables.len() {
        let name = tables[at].name.clone();
        at += 1;
        for child in access.catalog.tables.values() {
            let refers = child.references.iter().any(|reference| reference.table == name);
            if !refers || tables.iter().any(|table| table.name == child.name) {
                continue;
            }
            if !cascade {
                let text = "cannot truncate a table referenced in a foreign key constraint";
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, text)
                    .detail(format!("Table {} references {name}.", child.name))
                    .hint("Truncate both, or write CASCADE."));
            }
            tables.push(access.table(child, &[Privilege::Truncate])?);
        }
    }
    Ok(())
}
