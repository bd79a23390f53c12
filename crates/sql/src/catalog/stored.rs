//! What an object is, as the catalog writes it down: structure, with expressions as text.
//!
//! Structure is JSON with the fields below; names stand in it as they are, never as part of a
//! statement. Expressions, types and queries are texts that [`super::written`] has read back and
//! found equal before they were kept. What is not understood is an error of that one object.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// A table.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredTable {
    pub(crate) columns: Vec<StoredColumn>,
    pub(crate) keys: Vec<StoredKey>,
    pub(crate) checks: Vec<StoredCheck>,
    pub(crate) references: Vec<StoredReference>,
}

/// A column of a table.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredColumn {
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) sql_type: String,
    pub(crate) not_null: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) default: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) identity: Option<StoredIdentity>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) generated: Option<String>,
}

/// Where a column's values come from.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredIdentity {
    /// The number of the sequence.
    pub(crate) sequence: i64,
    /// Whether statements may not give a value of their own.
    pub(crate) always: bool,
}

/// A primary or unique key.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredKey {
    pub(crate) name: String,
    pub(crate) columns: Vec<String>,
    pub(crate) primary: bool,
}

/// A condition that every row meets.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredCheck {
    pub(crate) name: String,
    pub(crate) condition: String,
}

/// A foreign key.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredReference {
    pub(crate) name: String,
    pub(crate) columns: Vec<String>,
    /// The number of the table that is referred to.
    pub(crate) table: i64,
    /// Its columns that are.
    pub(crate) to: Vec<String>,
    pub(crate) on_delete: String,
    pub(crate) on_update: String,
}

/// A view.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredView {
    /// What its columns are called, and the types that they have.
    pub(crate) columns: Vec<StoredOutput>,
    /// Its query, in which names are as they were spelled.
    pub(crate) query: String,
    /// What each name of a table or view in it means: the number of the object.
    pub(crate) names: Vec<StoredMeaning>,
}

/// A column of a view.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredOutput {
    pub(crate) name: String,
    /// What the query calls it.
    pub(crate) source: String,
    #[serde(rename = "type")]
    pub(crate) sql_type: String,
}

/// What a name means.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredMeaning {
    /// The schema, if the name has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) schema: Option<String>,
    pub(crate) name: String,
    pub(crate) object: i64,
}

/// A sequence.
#[derive(Clone, Copy, PartialEq, Serialize, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredSequence {
    pub(crate) start: i64,
    pub(crate) increment: i64,
    pub(crate) min: i64,
    pub(crate) max: i64,
    pub(crate) cycle: bool,
}

/// A role.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredRole {
    pub(crate) login: bool,
    pub(crate) superuser: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) verifier: Option<String>,
}

/// As it is kept.
///
/// # Errors
/// None that is known.
pub(crate) fn write(definition: &impl Serialize) -> Result<String> {
    let written = serde_json::to_string(definition);
    written.map_err(|error| Error::internal(format!("a definition cannot be written: {error}")))
}

/// What was kept.
///
/// # Errors
/// A definition of a later version, or none.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T> {
    let read = serde_json::from_str(text);
    read.map_err(|error| Error::internal(format!("its definition cannot be read: {error}")))
}
