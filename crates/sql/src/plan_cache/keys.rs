//! What plans and descriptions are found by.
//!
//! Trees of statements stand for their texts, so that blanks and the case of words do not matter.
//! What is asked is lent; what is kept is a copy of it.

use datafusion::sql::sqlparser::ast;

use crate::catalog::role::Actor;
use crate::values::sql_type::SqlType;

/// What a plan is found by.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Asked<'q> {
    pub(crate) query: &'q ast::Query,
    /// The table that is the statement's own, by all that it was made from: the one it changes.
    pub(crate) own: Option<u64>,
    pub(crate) actor: Actor,
    pub(crate) path: &'q [String],
    /// Whether rows may be locked.
    pub(crate) is_serializable: bool,
}

/// The same, kept.
pub(super) struct Key {
    query: ast::Query,
    own: Option<u64>,
    actor: Actor,
    path: Vec<String>,
    is_serializable: bool,
}

impl Key {
    pub(super) fn of(asked: &Asked<'_>) -> Self {
        Self {
            query: asked.query.clone(),
            own: asked.own,
            actor: asked.actor,
            path: asked.path.to_vec(),
            is_serializable: asked.is_serializable,
        }
    }

    pub(super) fn asked(&self) -> Asked<'_> {
        Asked {
            query: &self.query,
            own: self.own,
            actor: self.actor,
            path: &self.path,
            is_serializable: self.is_serializable,
        }
    }
}

/// What the description of a statement is found by.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Described<'s> {
    pub(crate) statement: &'s ast::Statement,
    /// Types that were given for its parameters.
    pub(crate) given: &'s [SqlType],
    pub(crate) actor: Actor,
    pub(crate) path: &'s [String],
}

/// The same, kept.
pub(super) struct DescribedKey {
    statement: ast::Statement,
    given: Vec<SqlType>,
    actor: Actor,
    path: Vec<String>,
}

impl DescribedKey {
    pub(super) fn of(asked: &Described<'_>) -> Self {
        let (statement, given) = (asked.statement.clone(), asked.given.to_vec());
        Self { statement, given, actor: asked.actor, path: asked.path.to_vec() }
    }

    pub(super) fn asked(&self) -> Described<'_> {
        let (statement, given) = (&self.statement, self.given.as_slice());
        Described { statement, given, actor: self.actor, path: &self.path }
    }
}
