//! Plans of queries with parameters that are kept for any values of them.
//!
//! A query with parameters is planned for its values, as if they stood in its text, until it has
//! been shown that the plan for any values is the same: then only access paths and operators are
//! chosen by the values ([`crate::plan::general`]). `plan_cache_mode` says otherwise, as it does in
//! PostgreSQL.

use std::sync::Arc;

use datafusion::common::ScalarValue;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::displayable;

use super::known::is_known;
use super::select::values_of;
use crate::context::StatementContext;
use crate::context::settings::PlanCacheMode;
use crate::error::Result;
use crate::plan::cancel_check::{self, Template};
use crate::plan::general::typed;
use crate::plan::size::levels_of;
use crate::plan_cache::general::{Form, GeneralPlan, Slots, TRIALS, Tried};
use crate::plan_cache::{Asked, LEVELS_MAX, Planned};
use crate::transaction::Transaction;
use crate::values::datum::Datum;

/// A query that was bound with its parameters, and their values.
pub(super) struct Parameters {
    pub(super) logical: LogicalPlan,
    pub(super) slots: Slots,
    pub(super) values: Vec<ScalarValue>,
}

/// A general plan that is run for these values.
pub(super) struct Specialised {
    pub(super) plan: Arc<GeneralPlan>,
    pub(super) values: Vec<ScalarValue>,
}

/// The general plan of a query, if there is one that is right for these values.
pub(super) fn found(
    context: &StatementContext,
    asked: &Asked<'_>,
    parameters: &[Datum],
    version: u64,
) -> Option<Specialised> {
    let mode = context.settings.plan_cache_mode;
    let plan = match context.database.plans.tried(asked, version)? {
        Tried::Same(plan, times) if takes_general(mode, times) => plan,
        _ => return None,
    };
    if !plan.tables.iter().all(|planned| is_known(context, planned)) {
        return None;
    }
    // What is wrong with a value, planning says.
    let values = values_of(parameters, &plan.slots.types).ok()?;
    plan.slots.fit(&values).then_some(Specialised { plan, values })
}

/// Whether a plan for any values is run that so many times was the one for values.
fn takes_general(mode: PlanCacheMode, times: u8) -> bool {
    match mode {
        PlanCacheMode::Auto => times >= TRIALS,
        PlanCacheMode::ForceCustom => false,
        PlanCacheMode::ForceGeneral => true,
    }
}

/// Of what plan it is tried whether the general one is the same.
pub(super) struct Trial<'t> {
    pub(super) asked: &'t Asked<'t>,
    pub(super) version: u64,
    /// The plan for values.
    pub(super) custom: &'t Template,
}

/// Notes what a plan for values says of the general one, for those who ask the same with others.
pub(super) async fn try_general(
    context: &StatementContext,
    trial: &Trial<'_>,
    tables: Vec<Planned>,
    parameters: Parameters,
    transaction: &Arc<Transaction>,
) {
    let mode = context.settings.plan_cache_mode;
    let plans = &context.database.plans;
    if mode == PlanCacheMode::ForceCustom || !parameters.slots.fit(&parameters.values) {
        return;
    }
    let known = |tables: &[Planned]| tables.iter().all(|planned| is_known(context, planned));
    let (plan, times) = match plans.tried(trial.asked, trial.version) {
        Some(Tried::Same(plan, times)) if known(&plan.tables) => (Some(plan), times),
        Some(Tried::Other(tables)) if known(&tables) && mode == PlanCacheMode::Auto => return,
        None if mode == PlanCacheMode::Auto => {
            return put(context, trial, Tried::Once);
        }
        _ => (None, 0),
    };
    if times >= TRIALS {
        // It was made for values of other types than these.
        return;
    }
    let values = &parameters.values.clone();
    let made = match plan {
        Some(plan) => vec![plan],
        None => general(context, parameters, &tables, transaction).await.unwrap_or_default(),
    };
    let mut same = None;
    for plan in &made {
        let of_values = cancel_check::specialised(&context.state, plan, values, transaction).await;
        if of_values.is_ok_and(|general| shown(&general) == shown(trial.custom)) {
            same = Some(plan);
            break;
        }
    }
    if mode == PlanCacheMode::ForceGeneral {
        same = same.or(made.last());
    }
    let tried = match same {
        Some(plan) => Tried::Same(Arc::clone(plan), times + 1),
        None => Tried::Other(tables),
    };
    put(context, trial, tried);
}

fn put(context: &StatementContext, trial: &Trial<'_>, tried: Tried) {
    let database = &context.database;
    let is_current = |version| database.catalog_version() == version;
    database.plans.put_tried(trial.asked, trial.version, tried, is_current);
}

/// The forms of the plan for any values, the one that saves most first; none if there cannot be
/// one.
async fn general(
    context: &StatementContext,
    Parameters { logical, slots, .. }: Parameters,
    tables: &[Planned],
    transaction: &Arc<Transaction>,
) -> Result<Vec<Arc<GeneralPlan>>> {
    let logical = typed(logical, &slots.of_values)?;
    let (levels, state) = (levels_of(&logical)?, &context.state);
    if levels > LEVELS_MAX {
        return Ok(Vec::new());
    }
    let Some(logical) = cancel_check::general(state, &logical, levels, transaction)? else {
        return Ok(Vec::new());
    };
    let operators = cancel_check::general_operators(state, &logical, levels, transaction).await;
    let physical = operators.ok().flatten().map(Form::Physical);
    let forms = physical.into_iter().chain([Form::Logical(logical)]);
    let plans = forms.map(|form| {
        let (tables, slots) = (tables.to_vec(), slots.clone());
        Arc::new(GeneralPlan { form, levels, tables, slots })
    });
    Ok(plans.collect())
}

fn shown(template: &Template) -> String {
    displayable(template.plan.as_ref()).indent(false).to_string()
}
