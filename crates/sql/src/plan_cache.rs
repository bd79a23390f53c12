//! Plans of queries that are kept, for those who ask the same again.
//!
//! A plan is kept as it was before anything belonged to one execution of it; whoever runs it makes
//! a copy (`plan::template`). It is found by the tree of its query, the caller, the path on which
//! names are looked for, and whether the isolation lets it lock; and it holds only in the catalog
//! and for the statistics that it was made by: definitions and rights have another number of the
//! catalog each, and whoever puts a catalog up drops all plans. So they are no more than a session
//! would find by planning anew. How many there are, and their bytes, is bounded; what they are
//! reckoned to take counts in the memory budget, and they are dropped before anybody is refused
//! memory.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datafusion::common::Statistics;
use datafusion::logical_expr::physical_planning_context::ScalarSubqueryResults;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::sql::sqlparser::ast;

use crate::catalog::role::Actor;
use crate::catalog::table::Table;
use crate::limits::held::Held;

/// Plans that are kept, at most.
const PLANS_MAX: usize = 1024;

/// Their bytes, at most: this, and this part of the memory budget.
const BYTES_MAX: usize = 32 << 20;
const BUDGET_PART: u64 = 64;

/// What a plan is reckoned to take: by itself with the tree of its query, and for each operator.
const PLAN_BYTES: usize = 16 << 10;
const OPERATOR_BYTES: usize = 4 << 10;

/// What a plan is found by.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Asked<'q> {
    pub(crate) query: &'q ast::Query,
    pub(crate) actor: Actor,
    pub(crate) path: &'q [String],
    /// Whether rows may be locked.
    pub(crate) is_serializable: bool,
}

/// The same, kept.
struct Key {
    query: ast::Query,
    actor: Actor,
    path: Vec<String>,
    is_serializable: bool,
}

impl Key {
    fn of(asked: &Asked<'_>) -> Self {
        Self {
            query: asked.query.clone(),
            actor: asked.actor,
            path: asked.path.to_vec(),
            is_serializable: asked.is_serializable,
        }
    }

    fn asked(&self) -> Asked<'_> {
        Asked {
            query: &self.query,
            actor: self.actor,
            path: &self.path,
            is_serializable: self.is_serializable,
        }
    }
}

/// A table of a plan, and what was known of its rows.
pub(crate) type Planned = (Arc<Table>, Arc<Statistics>);

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

/// The plans of a database.
pub(crate) struct PlanCache {
    hasher: RandomState,
    bytes_max: usize,
    plans: Mutex<Plans>,
}

struct Plans {
    /// The number of the catalog by which they were made.
    version: u64,
    kept: HashMap<u64, Entry>,
    /// How often a plan was asked for.
    clock: u64,
    held: Held,
}

struct Entry {
    key: Key,
    plan: Arc<KeptPlan>,
    bytes: usize,
    /// When it was asked for last.
    used: u64,
}

impl PlanCache {
    /// No plans yet, which are held by this, of a memory budget of so many bytes.
    pub(crate) fn new(held: Held, budget: u64) -> Self {
        let part = usize::try_from(budget / BUDGET_PART).unwrap_or(usize::MAX);
        let plans = Plans { version: 0, kept: HashMap::new(), clock: 0, held };
        Self {
            hasher: RandomState::new(),
            bytes_max: BYTES_MAX.min(part),
            plans: Mutex::new(plans),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Plans> {
        self.plans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The plan that was made in the catalog of this number.
    pub(crate) fn get(&self, asked: &Asked<'_>, version: u64) -> Option<Arc<KeptPlan>> {
        let hash = self.hasher.hash_one(asked);
        let mut plans = self.lock();
        if plans.version != version {
            return None;
        }
        plans.clock += 1;
        let now = plans.clock;
        let entry = plans.kept.get_mut(&hash).filter(|entry| entry.key.asked() == *asked)?;
        entry.used = now;
        Some(Arc::clone(&entry.plan))
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
        if bytes > self.bytes_max {
            return;
        }
        let entry = Entry { key: Key::of(asked), plan: Arc::clone(plan), bytes, used: 0 };
        let hash = self.hasher.hash_one(asked);
        let mut plans = self.lock();
        // Whoever puts up another catalog says so first, and drops all plans then.
        if !is_current(version) {
            return;
        }
        if plans.version != version {
            plans.clear();
            plans.version = version;
        }
        plans.remove(hash);
        while plans.kept.len() >= PLANS_MAX || plans.held.bytes() + bytes > self.bytes_max {
            plans.remove_oldest();
        }
        if plans.held.grow(bytes).is_err() {
            plans.clear();
            return;
        }
        let used = plans.clock;
        plans.kept.insert(hash, Entry { used, ..entry });
    }

    /// Drops all plans to make room, if nobody looks for one at this moment.
    pub(crate) fn spare(&self) {
        if let Ok(mut plans) = self.plans.try_lock() {
            plans.clear();
        }
    }

    /// Drops all plans.
    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    /// The plans, as EXPLAIN shows them.
    #[cfg(test)]
    pub(crate) fn shown(&self) -> Vec<String> {
        use datafusion::physical_plan::displayable;
        let plans = self.lock();
        let shown = plans.kept.values();
        shown.map(|entry| displayable(entry.plan.plan.as_ref()).indent(false).to_string()).collect()
    }

    /// How many plans there are, and the bytes that they are reckoned to take.
    #[cfg(test)]
    pub(crate) fn size(&self) -> (usize, usize) {
        let plans = self.lock();
        (plans.kept.len(), plans.held.bytes())
    }
}

impl Plans {
    fn remove(&mut self, hash: u64) {
        if let Some(entry) = self.kept.remove(&hash) {
            self.give_back(entry.bytes);
        }
    }

    fn remove_oldest(&mut self) {
        let oldest = self.kept.iter().min_by_key(|(_, entry)| entry.used);
        match oldest.map(|(hash, _)| *hash) {
            Some(hash) => self.remove(hash),
            None => self.clear(),
        }
    }

    fn clear(&mut self) {
        self.kept = HashMap::new();
        self.give_back(self.held.bytes());
    }

    fn give_back(&mut self, bytes: usize) {
        let left = self.held.bytes().saturating_sub(bytes);
        // Less is never refused.
        let _ = self.held.resize(left);
    }
}

/// How many operators a plan has.
fn operators(plan: &Arc<dyn ExecutionPlan>) -> usize {
    1 + plan.children().into_iter().map(operators).sum::<usize>()
}
