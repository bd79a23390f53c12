//! Names of SQL objects, and what the engine calls the tables behind them.
//!
//! A name of the schema `public` is the engine's; others carry their schema in front of a colon,
//! which no name of SQL may contain.

use std::fmt;

use datafusion::sql::sqlparser::ast::{Ident, ObjectName};

use crate::error::{Error, Result, SqlState};

/// The schema of names that say none.
pub(crate) const PUBLIC: &str = "public";

/// Separates schema and name in the engine; no name of SQL may contain it.
const SEPARATOR: char = ':';

/// A schema and a name in it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Name {
    pub(crate) schema: String,
    pub(crate) name: String,
}

impl Name {
    pub(crate) fn new(schema: impl Into<String>, name: impl Into<String>) -> Self {
        Self { schema: schema.into(), name: name.into() }
    }

    /// The name that the text of a statement says; without a schema, in this one.
    ///
    /// # Errors
    /// `SYNTAX_ERROR` for more than database, schema and name.
    pub(crate) fn from_ast(name: &ObjectName, schema: &str) -> Result<Self> {
        let parts: Option<Vec<String>> =
            name.0.iter().map(|part| part.as_ident().map(fold)).collect();
        match parts.as_deref() {
            Some([name]) => Ok(Self::new(schema, name)),
            Some([schema, name]) | Some([_, schema, name]) => Ok(Self::new(schema, name)),
            _ => Err(Error::new(SqlState::SYNTAX_ERROR, format!("improper name: {name}"))),
        }
    }

    /// What the engine calls the table.
    pub(crate) fn in_engine(&self) -> String {
        match self.schema.as_str() {
            PUBLIC => self.name.clone(),
            schema => format!("{schema}{SEPARATOR}{}", self.name),
        }
    }

    /// The name of a table of the engine; `None` for those that are the catalog's own.
    pub(crate) fn of_engine(name: &str) -> Option<Self> {
        match name.split_once(SEPARATOR) {
            None => Some(Self::new(PUBLIC, name)),
            Some((OWN, _)) => None,
            Some((schema, name)) => Some(Self::new(schema, name)),
        }
    }

    /// As a statement says it.
    pub(crate) fn to_ast(&self) -> ObjectName {
        let ident = |name: &String| Ident::with_quote('"', name);
        ObjectName::from(vec![ident(&self.schema), ident(&self.name)])
    }
}

/// The schema of the catalog's own tables.
pub(crate) const OWN: &str = "sql";

/// What the engine calls one of the catalog's own tables.
pub(crate) fn own(name: &str) -> String {
    format!("{OWN}{SEPARATOR}{name}")
}

/// The name of a table of the catalog's own, by what the engine calls it.
pub(crate) fn own_name(table: &str) -> Option<&str> {
    table.strip_prefix(OWN)?.strip_prefix(SEPARATOR)
}

/// A name as SQL folds it: in small letters unless it is quoted.
pub(crate) fn fold(ident: &Ident) -> String {
    match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_lowercase(),
    }
}

/// Whether a name can be given to something new.
///
/// # Errors
/// `BAD_DEFINITION`.
pub(crate) fn check_new(name: &str) -> Result<()> {
    if name.is_empty() || name.contains([SEPARATOR, '.']) || name.chars().any(char::is_control) {
        let text = format!("{name:?} cannot be a name");
        let hint = "Names are not empty and have no colon, dot or control character.";
        return Err(Error::new(SqlState::BAD_DEFINITION, text).hint(hint));
    }
    Ok(())
}

/// Words that are no names unless they are quoted: those of PostgreSQL, and what the parser takes
/// for the beginning of something else. Sorted.
const RESERVED: [&str; 158] = [
    "all",
    "analyse",
    "analyze",
    "and",
    "any",
    "array",
    "as",
    "asc",
    "asymmetric",
    "authorization",
    "between",
    "bigint",
    "binary",
    "bit",
    "boolean",
    "both",
    "by",
    "case",
    "cast",
    "char",
    "character",
    "check",
    "coalesce",
    "collate",
    "collation",
    "column",
    "concurrently",
    "connect_by_root",
    "constraint",
    "convert",
    "create",
    "cross",
    "current_catalog",
    "current_date",
    "current_role",
    "current_schema",
    "current_time",
    "current_timestamp",
    "current_user",
    "date",
    "dec",
    "decimal",
    "default",
    "deferrable",
    "desc",
    "distinct",
    "do",
    "else",
    "end",
    "except",
    "exists",
    "extract",
    "false",
    "fetch",
    "filter",
    "float",
    "for",
    "foreign",
    "freeze",
    "from",
    "full",
    "grant",
    "greatest",
    "group",
    "grouping",
    "having",
    "ilike",
    "in",
    "initially",
    "inner",
    "inout",
    "int",
    "integer",
    "intersect",
    "interval",
    "into",
    "is",
    "isnull",
    "join",
    "lambda",
    "lateral",
    "leading",
    "least",
    "left",
    "like",
    "limit",
    "localtime",
    "localtimestamp",
    "map",
    "match",
    "merge_action",
    "national",
    "natural",
    "nchar",
    "none",
    "not",
    "notnull",
    "null",
    "nullif",
    "numeric",
    "offset",
    "on",
    "only",
    "or",
    "order",
    "out",
    "outer",
    "over",
    "overlaps",
    "overlay",
    "placing",
    "position",
    "precision",
    "primary",
    "prior",
    "qualify",
    "real",
    "references",
    "returning",
    "right",
    "row",
    "select",
    "session_user",
    "set",
    "setof",
    "similar",
    "smallint",
    "some",
    "struct",
    "substr",
    "substring",
    "symmetric",
    "system_user",
    "table",
    "tablesample",
    "then",
    "time",
    "timestamp",
    "to",
    "trailing",
    "treat",
    "trim",
    "true",
    "try_cast",
    "union",
    "unique",
    "unnest",
    "user",
    "using",
    "values",
    "varchar",
    "variadic",
    "verbose",
    "when",
    "where",
    "window",
    "with",
    "within",
];

/// A name as it has to be written in a statement.
pub(crate) fn quoted(name: &str) -> String {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let is_plain = name.chars().all(plain) && !name.starts_with(|c: char| c.is_ascii_digit());
    if is_plain && !name.is_empty() && RESERVED.binary_search(&name).is_err() {
        return name.to_owned();
    }
    format!("\"{}\"", name.replace('"', "\"\""))
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.schema.as_str() {
            PUBLIC => f.write_str(&self.name),
            schema => write!(f, "{schema}.{}", self.name),
        }
    }
}

/// Stands between a name and what makes it unique.
pub(crate) const MARK: char = '\u{1}';

/// A name as it is shown.
pub(crate) fn shown(name: &str) -> &str {
    match name.split_once(MARK) {
        Some((shown, _)) if !shown.is_empty() => shown,
        _ => name,
    }
}

/// A text in which names stand as they are shown.
pub(crate) fn without_marks(text: &str) -> String {
    let mut parts = text.split(MARK);
    let first = parts.next().unwrap_or_default().to_owned();
    // Behind each mark stands a number.
    parts.fold(first, |all, part| all + part.trim_start_matches(|it: char| it.is_ascii_digit()))
}
