//! COMMENT ON: a text beside a table, column, view or index.
//!
//! Comments are kept under the number of what they are about, and go with it.

use datafusion::sql::sqlparser::ast::{CommentObject, ObjectName};

use crate::access::Owned;
use crate::catalog::definition::unknown_column;
use crate::catalog::names::{Name, fold};
use crate::catalog::snapshot::{Relation, unknown_table};
use crate::catalog::store::ObjectId;
use crate::error::{Error, Result, SqlState};
use crate::session::answer::Outcome;
use crate::session::statements::Session;

impl Session {
    pub(super) fn comment(
        &mut self,
        object: &CommentObject,
        name: &ObjectName,
        comment: Option<&str>,
    ) -> Result<Outcome> {
        let catalog = self.catalog();
        let access = self.access(&catalog);
        let (id, part) = match object {
            CommentObject::Column => {
                let mut parts = name.0.clone();
                let column = parts.pop().and_then(|part| part.as_ident().map(fold));
                let column = column.unwrap_or_default();
                let table = access.find_own(&ObjectName(parts))?;
                table.column(&column).ok_or_else(|| unknown_column(&column, &table.name))?;
                (self.number_of(&table)?, format!("column {column}"))
            }
            CommentObject::Table => {
                let table = access.find_own(name)?;
                (self.number_of(&table)?, String::new())
            }
            CommentObject::View => {
                let Some(Relation::View(view)) = access.relation(name)? else {
                    return Err(unknown_table(&Name::from_ast(name, self.home())?));
                };
                access.check_owner("view", &view.name.name, view.owner)?;
                (view.id, String::new())
            }
            CommentObject::Index => {
                let schemas = self.settings.search_path.iter().map(String::as_str);
                let names = schemas.chain([self.home()]).map(|s| Name::from_ast(name, s));
                let names = names.collect::<Result<Vec<_>>>()?;
                let unknown = || {
                    let text = format!("index {name} does not exist");
                    Error::new(SqlState::UNKNOWN_OBJECT, text)
                };
                let found = names.iter().find_map(|name| catalog.index(name));
                let (table, place) = found.ok_or_else(unknown)?;
                let part = format!("index {}", table.indexes[place].name);
                let table = access.own_table(&table)?;
                (self.number_of(&table)?, part)
            }
            other => return Err(Error::unsupported(format!("a comment on {other}"))),
        };
        let transaction = self.defining_transaction()?;
        self.database.store.comment(transaction.writing()?, (id, &part), comment)?;
        self.reload()?;
        Ok(Outcome::verb("COMMENT"))
    }

    fn number_of(&mut self, table: &Owned) -> Result<ObjectId> {
        match table.id {
            Some(id) => Ok(id),
            None => self.number_table(table),
        }
    }
}
