//! COMMENT ON: a text beside a table, column, view or index.
//!
//! Comments are objects of the catalog by themselves; they go with what they are about.

use datafusion::sql::sqlparser::ast::{CommentObject, ObjectName};

use crate::catalog::definition::unknown_column;
use crate::catalog::names::{Name, fold};
use crate::catalog::snapshot::unknown_table;
use crate::catalog::store::Kind;
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
        let catalog = self.database.catalog();
        let about = match object {
            CommentObject::Column => {
                let mut parts = name.0.clone();
                let column = parts.pop().and_then(|part| part.as_ident().map(fold));
                let column = column.unwrap_or_default();
                let table = self.find_table(&catalog, &ObjectName(parts))?;
                table.column(&column).ok_or_else(|| unknown_column(&column, &table.name))?;
                Name::new(&table.name.schema, format!("{}.{column}", table.name.name))
            }
            CommentObject::Table => self.find_table(&catalog, name)?.name.clone(),
            CommentObject::View => {
                let name = Name::from_ast(name, self.home())?;
                catalog.views.get(&name).ok_or_else(|| unknown_table(&name))?.name.clone()
            }
            CommentObject::Index => {
                let name = Name::from_ast(name, self.home())?;
                let unknown = || {
                    let text = format!("index {name} does not exist");
                    Error::new(SqlState::UNKNOWN_OBJECT, text)
                };
                catalog.index(&name).ok_or_else(unknown)?;
                name.clone()
            }
            other => return Err(Error::unsupported(format!("a comment on {other}"))),
        };
        match comment {
            Some(text) => self.database.store.put(Kind::Comment, &about, text)?,
            None => drop(self.database.store.remove(Kind::Comment, &about)?),
        }
        self.database.refresh_catalog()?;
        Ok(Outcome::verb("COMMENT"))
    }
}
