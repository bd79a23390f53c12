//! Plans of queries that are kept, for those who ask the same again.
//!
//! A plan is kept as it was before anything belonged to one execution of it; whoever runs it makes
//! a copy (`plan::template`). It is found by the tree of its query, the caller, the path on which
//! names are looked for, and whether the isolation lets it lock; and it holds only in the catalog
//! and for the statistics that it was made by: definitions and rights have another number of the
//! catalog each, and whoever puts a catalog up drops all plans. So they are no more than a session
//! would find by planning anew. Texts of queries are known, too, so that they are parsed once, and
//! what the parameters and columns of statements are. How many there are, and their bytes, is
//! bounded; what they are reckoned to take counts in the memory budget, and they are dropped before
//! anybody is refused memory.

mod bounded;
pub(crate) mod general;
mod keys;
#[cfg(test)]
mod tests;

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datafusion::common::Statistics;
use datafusion::logical_expr::physical_planning_context::ScalarSubqueryResults;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::sql::sqlparser::ast;

use self::bounded::Bounded;
use self::general::Tried;
pub(crate) use self::keys::{Asked, Described};
use self::keys::{DescribedKey, Key};
use crate::catalog::table::Table;
use crate::error::Result;
use crate::limits::held::Held;
use crate::statement::Statement;
use crate::values::column::ResultColumn;
use crate::values::sql_type::SqlType;

/// Plans that are kept, at most, and statements.
const PLANS_MAX: usize = 1024;

/// Their bytes, at most: this, and this part of the memory budget.
const BYTES_MAX: usize = 32 << 20;
const BUDGET_PART: u64 = 64;

/// What a plan is reckoned to take: by itself with the tree of its query, and for each operator.
const PLAN_BYTES: usize = 16 << 10;
const OPERATOR_BYTES: usize = 4 << 10;

/// The same of a statement, and for each letter of its text: an expression of a few letters takes
/// some hundred bytes.
const STATEMENT_BYTES: usize = 2 << 10;
const LETTER_BYTES: usize = 64;

/// Longer texts are parsed each time.
const TEXT_MAX: usize = 16 << 10;

/// How deep what is kept may be: it is dropped on whatever stack.
pub(crate) const LEVELS_MAX: usize = 128;

/// What the parameters and columns of a statement are.
pub(crate) type Description = (Vec<SqlType>, Arc<[ResultColumn]>);

/// A table of a plan, and what its rows were known to be, if planning was told.
pub(crate) type Planned = (Arc<Table>, Option<Arc<Statistics>>);

/// A plan that is kept.
#[derive(Debug)]
pub(crate) struct KeptPlan {
    pub(crate) plan: Arc<dyn ExecutionPlan>,
    pub(crate) levels: usize,
    pub(crate) tables: Vec<Planned>,
    /// Values of subqueries, which all copies share: a plan that has some runs once at a time.
    values: Vec<ScalarSubqueryResults>,
    is_used: AtomicBool,
}

/// A plan that is being run. One whose copies share something is nobody else's until then.
#[derive(Debug)]
pub(crate) struct InUse {
    pub(crate) kept: Arc<KeptPlan>,
}

impl KeptPlan {
    pub(crate) fn new(
        plan: Arc<dyn ExecutionPlan>,
        levels: usize,
        tables: Vec<Planned>,
        values: Vec<ScalarSubqueryResults>,
    ) -> Arc<Self> {
        Arc::new(Self { plan, levels, tables, values, is_used: AtomicBool::new(false) })
    }

    /// To run it; `None` while somebody runs a plan whose copies share something.
    pub(crate) fn take(self: &Arc<Self>) -> Option<InUse> {
        let is_free = self.values.is_empty() || !self.is_used.swap(true, Ordering::Acquire);
        is_free.then(|| InUse { kept: Arc::clone(self) })
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        if !self.kept.values.is_empty() {
            self.kept.values.iter().for_each(ScalarSubqueryResults::clear);
            self.kept.is_used.store(false, Ordering::Release);
        }
    }
}

/// The plans of a database, and the statements of texts.
pub(crate) struct PlanCache {
    hasher: RandomState,
    plans: Mutex<Plans>,
    texts: Mutex<Bounded<Box<str>, Statement>>,
}

struct Plans {
    /// The number of the catalog by which they were made.
    version: u64,
    kept: Bounded<u64, (Key, Arc<KeptPlan>)>,
    /// What is known of plans for any values of parameters.
    tried: Bounded<u64, (Key, Tried)>,
    /// What statements were described as.
    described: Bounded<u64, (DescribedKey, Description)>,
}

impl PlanCache {
    /// No plans yet, for which this holds memory of a budget of so many bytes.
    pub(crate) fn new(hold: impl Fn(&str) -> Held, budget: u64) -> Self {
        let part = usize::try_from(budget / BUDGET_PART).unwrap_or(usize::MAX);
        let bytes_max = BYTES_MAX.min(part);
        let kept = Bounded::new(PLANS_MAX, bytes_max, hold("plans that are kept"));
        let tried = Bounded::new(PLANS_MAX, bytes_max, hold("plans for any values"));
        let described = Bounded::new(PLANS_MAX, bytes_max, hold("descriptions of statements"));
        let texts = Bounded::new(PLANS_MAX, bytes_max, hold("statements that are kept"));
        Self {
            hasher: RandomState::new(),
            plans: Mutex::new(Plans { version: 0, kept, tried, described }),
            texts: Mutex::new(texts),
        }
    }

    /// The plan that was made in the catalog of this number.
    pub(crate) fn get(&self, asked: &Asked<'_>, version: u64) -> Option<Arc<KeptPlan>> {
        let hash = self.hasher.hash_one(asked);
        let mut plans = lock(&self.plans);
        let plans = plans.in_catalog(version)?;
        let (key, plan) = plans.kept.get(&hash)?;
        (key.asked() == *asked).then(|| Arc::clone(plan))
    }

    /// Keeps a plan that was made in the catalog of this number, if that is still the one there is
    /// and there is room.
    pub(crate) fn put(
        &self,
        asked: &Asked<'_>,
        version: u64,
        plan: &Arc<KeptPlan>,
        is_current: impl Fn(u64) -> bool,
    ) {
        let bytes = PLAN_BYTES + OPERATOR_BYTES * operators(&plan.plan);
        let hash = self.hasher.hash_one(asked);
        let kept = (Key::of(asked), Arc::clone(plan));
        let mut plans = lock(&self.plans);
        if plans.begin(version, is_current) {
            plans.kept.put(hash, kept, bytes);
        }
    }

    /// What is known of the plan for any values, of a query with parameters, in the catalog of this
    /// number.
    pub(crate) fn tried(&self, asked: &Asked<'_>, version: u64) -> Option<Tried> {
        let hash = self.hasher.hash_one(asked);
        let mut plans = lock(&self.plans);
        let plans = plans.in_catalog(version)?;
        let (key, tried) = plans.tried.get(&hash)?;
        (key.asked() == *asked).then(|| tried.clone())
    }

    /// Notes what is known now.
    pub(crate) fn put_tried(
        &self,
        asked: &Asked<'_>,
        version: u64,
        tried: Tried,
        is_current: impl Fn(u64) -> bool,
    ) {
        let hash = self.hasher.hash_one(asked);
        let bytes = PLAN_BYTES + OPERATOR_BYTES * tried.operators();
        let entry = (Key::of(asked), tried);
        let mut plans = lock(&self.plans);
        if plans.begin(version, is_current) {
            plans.tried.put(hash, entry, bytes);
        }
    }

    /// What a statement was described as in the catalog of this number.
    pub(crate) fn described(&self, asked: &Described<'_>, version: u64) -> Option<Description> {
        let hash = self.hasher.hash_one(asked);
        let mut plans = lock(&self.plans);
        let plans = plans.in_catalog(version)?;
        let (key, description) = plans.described.get(&hash)?;
        (key.asked() == *asked).then(|| description.clone())
    }

    /// Keeps what a statement was described as.
    pub(crate) fn put_described(
        &self,
        asked: &Described<'_>,
        version: u64,
        description: &Description,
        is_current: impl Fn(u64) -> bool,
    ) {
        let bytes = PLAN_BYTES + LETTER_BYTES * (asked.given.len() + description.1.len());
        let hash = self.hasher.hash_one(asked);
        let entry = (DescribedKey::of(asked), description.clone());
        let mut plans = lock(&self.plans);
        if plans.begin(version, is_current) {
            plans.described.put(hash, entry, bytes);
        }
    }

    /// The statements of a text: parsed, if it is not known as that of one that comes again.
    ///
    /// # Errors
    /// `SYNTAX_ERROR`.
    pub(crate) fn parse_all(&self, text: &str) -> Result<Vec<Statement>> {
        if text.len() > TEXT_MAX {
            return Statement::parse_all(text);
        }
        if let Some(known) = lock(&self.texts).get(text) {
            return Ok(vec![known.clone()]);
        }
        let statements = Statement::parse_all(text)?;
        if let [statement] = statements.as_slice()
            && statement.levels <= LEVELS_MAX
            && is_asked_again(&statement.ast, text)
        {
            let bytes = STATEMENT_BYTES + text.len() * LETTER_BYTES;
            lock(&self.texts).put(text.into(), statement.clone(), bytes);
        }
        Ok(statements)
    }

    /// Drops all plans.
    pub(crate) fn clear(&self) {
        lock(&self.plans).clear();
    }

    /// Drops all to make room, but for what somebody looks for at this moment.
    pub(crate) fn spare(&self) {
        if let Ok(mut plans) = self.plans.try_lock() {
            plans.clear();
        }
        if let Ok(mut texts) = self.texts.try_lock() {
            texts.clear();
        }
    }

    /// How many plans there are, and the bytes that they are reckoned to take.
    #[cfg(test)]
    pub(crate) fn size(&self) -> (usize, usize) {
        lock(&self.plans).kept.size()
    }

    /// Drops the plans that are found by queries as they are.
    #[cfg(test)]
    pub(crate) fn clear_exact(&self) {
        lock(&self.plans).kept.clear();
    }

    /// What is known of queries with parameters.
    #[cfg(test)]
    pub(crate) fn tried_all(&self) -> Vec<Tried> {
        lock(&self.plans).tried.values().map(|(_, tried)| tried.clone()).collect()
    }

    /// How many descriptions there are.
    #[cfg(test)]
    pub(crate) fn size_of_described(&self) -> usize {
        lock(&self.plans).described.size().0
    }

    /// The same of statements.
    #[cfg(test)]
    pub(crate) fn size_of_texts(&self) -> (usize, usize) {
        lock(&self.texts).size()
    }

    /// The plans, as EXPLAIN shows them.
    #[cfg(test)]
    pub(crate) fn shown(&self) -> Vec<String> {
        use datafusion::physical_plan::displayable;
        let show = |(_, kept): &(Key, Arc<KeptPlan>)| {
            displayable(kept.plan.as_ref()).indent(false).to_string()
        };
        lock(&self.plans).kept.values().map(show).collect()
    }
}

fn lock<T>(kept: &Mutex<T>) -> MutexGuard<'_, T> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Plans {
    fn clear(&mut self) {
        self.kept.clear();
        self.tried.clear();
        self.described.clear();
    }

    /// The plans, if they were made in the catalog of this number.
    fn in_catalog(&mut self, version: u64) -> Option<&mut Self> {
        if self.version != version {
            return None;
        }
        Some(self)
    }

    /// Whether something that was made in the catalog of this number can be kept. Whoever puts up
    /// another catalog says so first, and drops all plans then.
    fn begin(&mut self, version: u64, is_current: impl Fn(u64) -> bool) -> bool {
        let is_current = is_current(version);
        if is_current && self.version != version {
            self.clear();
            self.version = version;
        }
        is_current
    }
}

/// Whether the text of a statement is likely to come again: a query, or a change whose values are
/// parameters.
fn is_asked_again(statement: &ast::Statement, text: &str) -> bool {
    use ast::Statement as S;
    match statement {
        S::Query(_) => true,
        S::Insert(_) | S::Update(_) | S::Delete(_) | S::Merge(_) => text.contains('$'),
        _ => false,
    }
}

/// How many operators a plan has.
fn operators(plan: &Arc<dyn ExecutionPlan>) -> usize {
    1 + plan.children().into_iter().map(operators).sum::<usize>()
}
