//! The columns of what a statement answers.
//!
//! They are known before it runs: clients ask for them when they prepare it.

use super::sql_type::SqlType;

/// A column of a result.
///
/// # Examples
/// ```
/// # use remanent_sql::{Session, SqlDatabase};
/// # let db = SqlDatabase::in_memory()?;
/// let mut session = db.session();
/// let rows = session.query("select 1 as one, 'a' as letter", &[])?;
/// let names: Vec<&str> = rows.columns.iter().map(|column| column.name.as_str()).collect();
/// assert_eq!(names, ["one", "letter"]);
/// # Ok::<(), remanent_sql::Error>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct ResultColumn {
    /// The name.
    pub name: String,
    /// The type.
    pub sql_type: SqlType,
}
