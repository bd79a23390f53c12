//! EXPLAIN: the plan of a statement as text; with ANALYZE, the statement is run and the plan tells
//! what its parts did.
//!
//! A change is run as without EXPLAIN, and its plans, one for its rows and others for what it looks
//! up, are noted as they are made. What it changed stays changed, as in PostgreSQL.

use std::collections::VecDeque;
use std::slice::Iter;
use std::sync::Arc;
use std::time::Instant;

use datafusion::arrow::array::{RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::physical_plan::display::DisplayableExecutionPlan;
use datafusion::physical_plan::{ExecutionPlan, displayable};
use datafusion::sql::sqlparser::ast;
use serde_json::{Value, json};

use super::Session;
use crate::change;
use crate::error::{Error, Result};
use crate::names::without_marks;
use crate::plan::stages::StageExec;
use crate::plan::{cancel_check, stages};
use crate::query::select::{self, with_values};
use crate::result::answer::Outcome;
use crate::result::rows::{ResultColumn, Rows};
use crate::rules::pipelines::is_native;
use crate::statement::changed_by;
use crate::values::datum::Datum;
use crate::values::sql_type::SqlType;

impl Session {
    /// EXPLAIN and EXPLAIN ANALYZE.
    ///
    /// # Errors
    /// As the statement.
    pub(crate) async fn explain(
        &mut self,
        statement: &ast::Statement,
        parameters: &[Datum],
    ) -> Result<Outcome> {
        let ast::Statement::Explain { analyze, verbose, statement, options, .. } = statement else {
            return Err(Error::unsupported(statement));
        };
        let option = |name: &str| {
            let options = options.iter().flatten();
            let mut found = options.filter(|option| option.name.value.eq_ignore_ascii_case(name));
            found.any(|option| option.arg.as_ref().is_none_or(|arg| is_on(&arg.to_string())))
        };
        let is_json = is_json(options.as_deref().unwrap_or_default())?;
        let (analyze, verbose) = (*analyze || option("analyze"), *verbose || option("verbose"));
        let is_change = match statement.as_ref() {
            ast::Statement::Query(query) => changed_by(query).is_some(),
            _ => true,
        };
        if is_json && (analyze || verbose) {
            return Err(Error::unsupported("EXPLAIN as JSON with ANALYZE or VERBOSE"));
        }
        if analyze && is_change {
            return self.analyze_change(statement, parameters, verbose).await;
        }
        let transaction = self.context.transaction(false)?;
        let query = change::source_of(&mut self.context, statement)?;
        let logical = match query {
            Some(logical) => with_values(logical, parameters)?,
            None => return Err(Error::unsupported(format!("EXPLAIN of {statement}"))),
        };
        let planned = cancel_check::plan(&self.context.state, &logical, &transaction).await?;
        let plan = Arc::clone(&planned.plan);
        if is_json {
            let change = is_change.then(|| verb_of(statement));
            let stages = stages::stages_of(&plan, self.context.state.config_options())?;
            return json_row(&plan, &stages, change);
        }
        let mut text = String::new();
        if is_change {
            text.push_str(&format!("{}\n", verb_of(statement)));
        }
        if verbose {
            let optimized = self.context.state.optimize(&logical)?;
            text.push_str(&format!("logical plan:\n{}\n\n", optimized.display_indent()));
        }
        if analyze {
            let started = Instant::now();
            let mut rows = select::stream(&self.context, planned.clone(), transaction)?;
            let mut count = 0;
            while let Some(batch) = rows.next_batch().await? {
                self.context.check_cancelled()?;
                count += batch.num_rows();
            }
            let elapsed = started.elapsed();
            text.push_str(&self.text_of(&plan, Shown { metrics: true, verbose })?);
            let millis = elapsed.as_secs_f64() * 1e3;
            text.push_str(&format!("{count} rows, {millis:.3} ms\n"));
        } else {
            text.push_str(&self.text_of(&plan, Shown { metrics: false, verbose })?);
        }
        plan_rows(&text)
    }

    /// EXPLAIN ANALYZE of a statement that changes rows.
    async fn analyze_change(
        &mut self,
        statement: &ast::Statement,
        parameters: &[Datum],
        verbose: bool,
    ) -> Result<Outcome> {
        self.context.exchange_noted(Some(Vec::new()));
        let started = Instant::now();
        let done = self.dispatch(statement, parameters).await;
        let elapsed = started.elapsed();
        let plans = self.context.exchange_noted(None).unwrap_or_default();
        let mut outcome = done?;
        while let Some(rows) = &mut outcome.rows
            && rows.next_batch().await?.is_some()
        {}
        let mut text = format!("{}\n", verb_of(statement));
        for plan in plans {
            text.push_str(&self.text_of(&plan, Shown { metrics: true, verbose })?);
        }
        let millis = elapsed.as_secs_f64() * 1e3;
        text.push_str(&format!("{}, {millis:.3} ms\n", outcome.tag));
        plan_rows(&text)
    }

    /// A plan as lines of text, and behind it what each task of its stages runs.
    fn text_of(&self, plan: &Arc<dyn ExecutionPlan>, shown: Shown) -> Result<String> {
        let display = match shown.metrics {
            true => DisplayableExecutionPlan::with_metrics(plan.as_ref()),
            false => DisplayableExecutionPlan::new(plan.as_ref()),
        };
        let mut text = display.indent(shown.verbose).to_string();
        let stages = stages::stages_of(plan, self.context.state.config_options())?;
        for (number, stage) in stages.iter().enumerate() {
            let display = DisplayableExecutionPlan::new(stage.as_ref());
            text.push_str(&format!("Task of stage {}:\n", number + 1));
            for line in display.indent(shown.verbose).to_string().lines() {
                text.push_str(&format!("  {line}\n"));
            }
        }
        Ok(text)
    }
}

/// How a plan is shown.
#[derive(Clone, Copy)]
struct Shown {
    /// With what its operators have counted.
    metrics: bool,
    verbose: bool,
}

/// Whether the plan is to be JSON, not text.
fn is_json(options: &[ast::UtilityOption]) -> Result<bool> {
    let format = options.iter().find_map(|option| {
        let is_it = option.name.value.eq_ignore_ascii_case("format");
        let arg = option.arg.as_ref().filter(|_| is_it)?;
        Some(arg.to_string().trim_matches('\'').to_lowercase())
    });
    match format.as_deref() {
        None | Some("text") => Ok(false),
        Some("json") => Ok(true),
        Some(other) => Err(Error::unsupported(format!("EXPLAIN with the format {other}"))),
    }
}

fn is_on(text: &str) -> bool {
    !["off", "false", "0"].contains(&text.to_lowercase().as_str())
}

fn verb_of(statement: &ast::Statement) -> &'static str {
    match statement {
        ast::Statement::Query(query) => changed_by(query).map_or("Select", verb_of),
        ast::Statement::Insert(_) => "Insert",
        ast::Statement::Update(_) => "Update",
        ast::Statement::Delete(_) => "Delete",
        _ => "Merge",
    }
}

/// A plan as JSON, in PostgreSQL's shape: what it is, what else is to say, and the plans below it.
fn json_row(
    plan: &Arc<dyn ExecutionPlan>,
    stages: &[Arc<dyn ExecutionPlan>],
    change: Option<&str>,
) -> Result<Outcome> {
    let below = json_of(plan.as_ref(), &mut stages.iter());
    let whole = match change {
        Some(verb) => json!({"Node Type": "ModifyTable", "Operation": verb, "Plans": [below]}),
        None => below,
    };
    let whole = json!([{ "Plan": whole }]);
    let text = serde_json::to_string_pretty(&whole)
        .map_err(|error| Error::internal(format!("a plan that is no JSON: {error}")))?;
    let column = plan_column_of(SqlType::Json);
    let rows = VecDeque::from([vec![Datum::from(text)]]);
    Ok(Outcome::rows("EXPLAIN", Rows::values(Arc::from([column]), rows)))
}

fn json_of(plan: &dyn ExecutionPlan, stages: &mut Iter<'_, Arc<dyn ExecutionPlan>>) -> Value {
    let shown = without_marks(&displayable(plan).one_line().to_string());
    let mut node = json!({"Node Type": plan.name(), "Native": is_native(plan)});
    // What stands behind the name.
    if let Some((_, more)) = shown.trim_end().split_once(": ") {
        node["Details"] = json!(more);
    }
    let of_stage = if plan.is::<StageExec>() { stages.next() } else { None };
    let below: Vec<_> = plan.children().into_iter().chain(of_stage).collect();
    let below: Vec<_> = below.into_iter().map(|child| json_of(child.as_ref(), stages)).collect();
    if !below.is_empty() {
        node["Plans"] = json!(below);
    }
    node
}

/// The column that an explained plan is in.
pub(crate) fn plan_column() -> ResultColumn {
    plan_column_of(SqlType::Text)
}

fn plan_column_of(sql_type: SqlType) -> ResultColumn {
    ResultColumn { name: "QUERY PLAN".to_owned(), sql_type }
}

fn plan_rows(text: &str) -> Result<Outcome> {
    let schema = Arc::new(Schema::new(vec![Field::new("QUERY PLAN", DataType::Utf8, false)]));
    let text = without_marks(text);
    let lines = StringArray::from_iter_values(text.lines().collect::<Vec<_>>());
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(lines)])?;
    Ok(Outcome::rows("EXPLAIN", Rows::batches(&schema, vec![batch], None)))
}
