//! Statements about one key, straight on the engine.
//!
//! A statement of a known shape (a look-up, insert, update or delete by a whole key) is compiled
//! once from its text's tree and then runs without binder, optimiser and batches. Everything else,
//! and every value that would need more than the shape knows, goes through the planner.

pub(crate) mod compile;
pub(crate) mod describe;
pub(crate) mod normal;
pub(crate) mod records;
pub(crate) mod run;
mod transact;

use std::collections::HashMap;
use std::sync::Arc;

use crate::catalog::table::Table;
use crate::privileges::Allowed;
use crate::result::rows::ResultColumn;
use crate::values::datum::Datum;

/// Texts that are remembered, at most.
const TEXTS_MAX: usize = 1024;

/// A statement that was compiled.
#[derive(Debug)]
pub(crate) struct PointPlan {
    pub(crate) table: Allowed,
    pub(crate) made_for: MadeFor,
    pub(crate) op: PointOp,
}

/// The catalog and the schemas in which names were looked for.
#[derive(Clone, Debug)]
pub(crate) struct MadeFor {
    pub(crate) version: u64,
    pub(crate) path: Vec<String>,
}

/// What is done.
#[derive(Debug)]
pub(crate) enum PointOp {
    /// The columns of the rows with a key.
    Select { key: Key, answer: Answered },
    /// A row: a source for each column of the table.
    Insert { values: Vec<Source>, parents: Vec<Parent>, returning: Option<Answered> },
    /// New values in the columns of the row with a key.
    Update { key: Key, changes: Vec<(usize, Change)>, returning: Option<Answered> },
    /// The row with a key goes.
    Delete { key: Key, returning: Option<Answered> },
}

impl PointOp {
    /// What is answered of rows, if something is.
    pub(crate) fn answered(&self) -> Option<&Answered> {
        match self {
            Self::Select { answer, .. } => Some(answer),
            Self::Insert { returning, .. }
            | Self::Update { returning, .. }
            | Self::Delete { returning, .. } => returning.as_ref(),
        }
    }
}

/// What a new row refers to.
#[derive(Debug)]
pub(crate) struct Parent {
    pub(crate) table: Arc<Table>,
    /// Of the key that is referred to.
    pub(crate) index: usize,
    /// The columns of the new row that refer, in the order of that key; each has its type.
    pub(crate) columns: Vec<usize>,
}

/// Columns of a row that are answered.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) columns: Vec<usize>,
    pub(crate) result: Arc<[ResultColumn]>,
}

/// A whole key of an index.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) index: usize,
    /// In the order of the index's columns.
    pub(crate) values: Vec<Source>,
}

/// Where a value comes from.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    Parameter(usize),
    Constant(Datum),
    /// When the transaction began.
    Now,
    /// The next number of the column's sequence.
    Sequence(Arc<crate::catalog::sequence::Sequence>),
}

/// What a column becomes.
#[derive(Debug)]
pub(crate) enum Change {
    To(Source),
    /// What it is, and so much more.
    Plus(Source),
    /// What it is, and so much less.
    Minus(Source),
}

/// The plans of texts that were seen; `None` for texts that have none.
#[derive(Default)]
pub(crate) struct TextCache {
    /// The number of the catalog by which they were made.
    version: u64,
    plans: HashMap<String, Option<Arc<PointPlan>>>,
}

impl MadeFor {
    /// Whether the names mean the same in this catalog on this path.
    pub(crate) fn holds(&self, version: u64, path: &[String]) -> bool {
        self.version == version && self.path == path
    }
}

impl TextCache {
    pub(crate) fn get(
        &self,
        text: &str,
        version: u64,
        path: &[String],
    ) -> Option<Option<Arc<PointPlan>>> {
        let found = self.plans.get(text)?;
        match found {
            Some(plan) if !plan.made_for.holds(version, path) => None,
            found => Some(found.clone()),
        }
    }

    pub(crate) fn put(&mut self, text: String, plan: Option<Arc<PointPlan>>) {
        if self.plans.len() >= TEXTS_MAX {
            self.plans.clear();
        }
        self.plans.insert(text, plan);
    }

    /// Forgets what was found in another catalog than the one of this number.
    pub(crate) fn renew(&mut self, version: u64) {
        if self.version != version {
            self.plans.clear();
            self.version = version;
        }
    }

    /// Forgets texts without a plan: they may have one in another catalog.
    pub(crate) fn clear(&mut self) {
        self.plans.clear();
    }
}
