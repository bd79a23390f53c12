//! Plans of queries with parameters that are kept for any values of them.
//!
//! A query with parameters is planned for its values, as if they stood in its text, until it has
//! been shown that the plan for any values is the same: then only access paths are chosen by the
//! values ([`crate::plan::general`]). So is one with constants, which are parameters of its shape
//! ([`super::constants`]). `plan_cache_mode` says otherwise, as it does in PostgreSQL.

use std::sync::Arc;

use datafusion::common::ScalarValue;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::displayable;
use datafusion::sql::sqlparser::ast;

use super::constants::{Shape, is_of, shape_of};
use super::known::is_known;
use super::select::{parameter_types, values_of};
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
use crate::values::sql_type::SqlType;

/// The values for which a query is planned.
pub(super) struct Values<'v> {
    values: &'v [Datum],
    /// Whether they are constants of its text.
    are_constants: bool,
}

impl<'v> Values<'v> {
    /// Those of parameters, or of the constants that were taken out.
    pub(super) fn of(shape: Option<&'v Shape>, parameters: &'v [Datum]) -> Self {
        match shape {
            Some(shape) => Self { values: &shape.constants, are_constants: true },
            None => Self { values: parameters, are_constants: false },
        }
    }

    /// The same as a plan has them whose parameters are of these types; `None` if they are not of
    /// these types. What is wrong with a value, planning says.
    fn as_scalars(&self, types: &[SqlType]) -> Option<Vec<ScalarValue>> {
        let mut each = self.values.iter().zip(types);
        // Beside CHAR, blanks at the end say nothing, beside other text they do.
        let ends_blank = |value: &Datum| matches!(value, Datum::Text(text) if text.ends_with(' '));
        let may_be_beside_char =
            |(value, of): (&Datum, &SqlType)| !matches!(of, SqlType::Char(_)) && ends_blank(value);
        if each.clone().any(may_be_beside_char) {
            return None;
        }
        let are_of = !self.are_constants || each.all(|(value, of)| is_of(value, of));
        if are_of { values_of(self.values, types).ok() } else { None }
    }
}

/// The query without its constants, if a plan for any values of them may be run.
pub(super) fn shape(context: &StatementContext, query: &ast::Query) -> Option<Shape> {
    let is_custom = context.settings.plan_cache_mode == PlanCacheMode::ForceCustom;
    if is_custom { None } else { shape_of(query) }
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
    values: &Values<'_>,
    version: u64,
) -> Option<Specialised> {
    if values.values.is_empty() {
        return None;
    }
    let mode = context.settings.plan_cache_mode;
    let plan = match context.database.plans.tried(asked, version)? {
        Tried::Same(plan, times) if takes_general(mode, times) => plan,
        _ => return None,
    };
    if !plan.tables.iter().all(|planned| is_known(context, planned)) {
        return None;
    }
    let values = values.as_scalars(&plan.slots.types)?;
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

/// What is to be tried of a plan for any values.
pub(super) enum Trial {
    /// Nothing yet: the query was not asked before.
    First,
    /// Whether it is the one for values, by this plan if there is one.
    Of(Box<Parameters>, Option<(Arc<GeneralPlan>, u8)>),
    /// There is none.
    Never,
}

/// A query that was bound with its parameters, and their values.
pub(super) struct Parameters {
    logical: LogicalPlan,
    slots: Slots,
    values: Vec<ScalarValue>,
}

/// What is to be tried of a plan for any values; `None` if it is known. The query is bound with its
/// parameters where that is needed.
pub(super) fn trial(
    context: &StatementContext,
    asked: &Asked<'_>,
    values: &Values<'_>,
    version: u64,
    with_parameters: impl FnOnce() -> Result<LogicalPlan>,
) -> Option<Trial> {
    let mode = context.settings.plan_cache_mode;
    if mode == PlanCacheMode::ForceCustom || values.values.is_empty() {
        return None;
    }
    let known = |tables: &[Planned]| tables.iter().all(|planned| is_known(context, planned));
    let before = match context.database.plans.tried(asked, version) {
        // Was it often enough, it was made for values of other types than these.
        Some(Tried::Same(plan, times)) if known(&plan.tables) => Some((plan, times)),
        Some(Tried::Other(tables)) if known(&tables) && mode == PlanCacheMode::Auto => return None,
        None if mode == PlanCacheMode::Auto => return Some(Trial::First),
        _ => None,
    };
    if before.as_ref().is_some_and(|(_, times)| *times >= TRIALS) {
        return None;
    }
    let parameters = with_parameters().and_then(|logical| {
        let types = parameter_types(&logical, &[])?;
        Ok(values.as_scalars(&types).map(|values| {
            let of_values = values.iter().map(ScalarValue::data_type).collect();
            Parameters { logical, slots: Slots { types, of_values }, values }
        }))
    });
    Some(match parameters {
        Ok(Some(parameters)) if parameters.values.iter().any(ScalarValue::is_null) => return None,
        Ok(Some(parameters)) => Trial::Of(Box::new(parameters), before),
        // It is one for other values than these.
        Ok(None) | Err(_) if before.is_some() => return None,
        Ok(None) | Err(_) => Trial::Never,
    })
}

/// The plan for values with which the general one is compared.
pub(super) struct Custom<'t> {
    pub(super) asked: &'t Asked<'t>,
    pub(super) version: u64,
    pub(super) tables: &'t [Planned],
    pub(super) template: &'t Template,
}

/// Notes what a plan for values says of the general one, for those who ask the same with others.
pub(super) async fn try_general(
    context: &StatementContext,
    custom: &Custom<'_>,
    trial: Trial,
    transaction: &Arc<Transaction>,
) {
    // What is kept is dropped on whatever stack.
    if custom.template.levels > LEVELS_MAX {
        return;
    }
    let other = || Tried::Other(custom.tables.to_vec());
    let tried = match trial {
        Trial::First => Tried::Once,
        Trial::Never => other(),
        Trial::Of(parameters, before) => {
            let times = before.as_ref().map_or(0, |(_, times)| *times);
            let same = same(context, custom, *parameters, before, transaction).await;
            same.map_or_else(other, |plan| Tried::Same(plan, times + 1))
        }
    };
    // A statement that has to stop has tried nothing.
    if context.check_cancelled().is_err() {
        return;
    }
    let database = &context.database;
    let is_current = |version| database.catalog_version() == version;
    database.plans.put_tried(custom.asked, custom.version, tried, is_current);
}

/// The general plan, if it is the same as the one for values.
async fn same(
    context: &StatementContext,
    custom: &Custom<'_>,
    parameters: Parameters,
    before: Option<(Arc<GeneralPlan>, u8)>,
    transaction: &Arc<Transaction>,
) -> Option<Arc<GeneralPlan>> {
    let values = parameters.values.clone();
    let made = match before {
        Some((plan, _)) => vec![plan],
        None => general(context, parameters, custom.tables, transaction).await.unwrap_or_default(),
    };
    for plan in &made {
        let state = &context.state;
        let of_values = cancel_check::specialised(state, plan, &values, transaction).await;
        if of_values.is_ok_and(|general| shown(&general) == shown(custom.template)) {
            return Some(Arc::clone(plan));
        }
    }
    let is_forced = context.settings.plan_cache_mode == PlanCacheMode::ForceGeneral;
    made.into_iter().next().filter(|_| is_forced)
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
