//! What WITH (...) says of a table: `storage = memory`, or `paged`.
//!
//! The parameters that `PostgreSQL` has for its own storage are accepted and mean nothing here;
//! what neither knows is refused.

use datafusion::sql::sqlparser::ast::{CreateTableOptions, SqlOption};
use remanent_engine::schema::TableStorage;

use crate::error::{Error, Result, SqlState};
use crate::names::fold;

/// Where CREATE TABLE ... WITH (...) says that rows are kept.
///
/// # Errors
/// `BAD_PARAMETER`.
pub(crate) fn storage_of(options: &CreateTableOptions) -> Result<TableStorage> {
    match options {
        CreateTableOptions::None => Ok(TableStorage::Memory),
        CreateTableOptions::With(options) => Ok(storage_in(options)?.unwrap_or_default()),
        other => Err(Error::unsupported(format!("a table with {other}"))),
    }
}

/// Where the parameters of a table say that rows are kept, if they do. Those that `PostgreSQL` has
/// for its own storage mean nothing here.
///
/// # Errors
/// `BAD_PARAMETER`.
pub(crate) fn storage_in(options: &[SqlOption]) -> Result<Option<TableStorage>> {
    const OTHERS: [&str; 8] = [
        "fillfactor",
        "autovacuum_",
        "toast",
        "parallel_workers",
        "user_catalog_table",
        "vacuum_",
        "log_autovacuum_",
        "oids",
    ];
    let mut storage = None;
    for option in options {
        let SqlOption::KeyValue { key, value } = option else {
            return Err(Error::unsupported(format!("a table with {option}")));
        };
        let (name, value) = (fold(key), value.to_string().to_lowercase());
        storage = match (name.as_str(), value.trim_matches('\'')) {
            ("storage", "memory") => Some(TableStorage::Memory),
            ("storage", "paged") => Some(TableStorage::Paged),
            ("storage", other) => {
                let text = format!("invalid value for parameter \"storage\": {other}");
                let error = Error::new(SqlState::BAD_PARAMETER, text);
                return Err(error.hint("Valid values are \"memory\" and \"paged\"."));
            }
            (name, _) if OTHERS.iter().any(|other| name.starts_with(other)) => storage,
            (name, _) => {
                let text = format!("unrecognized parameter \"{name}\"");
                return Err(Error::new(SqlState::BAD_PARAMETER, text));
            }
        };
    }
    Ok(storage)
}
