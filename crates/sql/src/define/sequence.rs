//! CREATE SEQUENCE and DROP SEQUENCE.
//!
//! How far a sequence has come is in a table of its own and outlives no sequence of its name.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{ObjectName, SequenceOptions};

use crate::catalog::names::{Name, quoted};
use crate::catalog::sequence::Options;
use crate::catalog::store::Kind;
use crate::error::{Error, Result, SqlState};
use crate::session::answer::Outcome;
use crate::session::statements::Session;

impl Session {
    pub(super) fn create_sequence(
        &mut self,
        name: &ObjectName,
        if_not_exists: bool,
        options: &[SequenceOptions],
    ) -> Result<Outcome> {
        let name = self.new_name(name)?;
        let database = Arc::clone(&self.database);
        let _defining = database.define();
        if database.catalog().has(&name) {
            if if_not_exists {
                let notice = format!("relation {name} already exists, skipping");
                return Ok(Outcome::notice("CREATE SEQUENCE", notice));
            }
            let text = format!("relation {name} already exists");
            return Err(Error::new(SqlState::DUPLICATE_TABLE, text));
        }
        let options = Options::from_ast(options)?;
        let (schema, plain) = (quoted(&name.schema), quoted(&name.name));
        let text = format!("CREATE SEQUENCE {schema}.{plain} {}", options.to_sql());
        database.store.put(Kind::Sequence, &name, &text)?;
        database.refresh_catalog()?;
        self.undo(Box::new(move |session| session.forget_sequence(&name)));
        Ok(Outcome::verb("CREATE SEQUENCE"))
    }

    pub(super) fn drop_sequence(&mut self, name: &ObjectName, if_exists: bool) -> Result<()> {
        let name = Name::from_ast(name, self.home())?;
        let catalog = self.database.catalog();
        let Some(sequence) = catalog.sequences.get(&name) else {
            if if_exists {
                return Ok(());
            }
            let text = format!("sequence {name} does not exist");
            return Err(Error::new(SqlState::UNKNOWN_TABLE, text));
        };
        if let Some((table, column)) = &sequence.owner {
            let text = format!(
                "cannot drop sequence {name} because column {column} of {table} requires it"
            );
            return Err(Error::new(SqlState::DEPENDENT_OBJECTS, text));
        }
        self.at_commit(Box::new(move |session| session.forget_sequence(&name)))
    }

    fn forget_sequence(&mut self, name: &Name) -> Result<()> {
        self.database.store.remove(Kind::Sequence, name)?;
        self.database.store.reserve(name, None)?;
        self.database.refresh_catalog()
    }
}
