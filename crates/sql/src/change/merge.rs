//! MERGE: for each row of a source, what is done with the target's row that it meets, or without.
//!
//! Source and target are joined once. In each row of the join the first clause whose condition
//! holds is numbered, and every column is given the value that this clause gives it.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, Int64Array, RecordBatch, UInt64Array};
use datafusion::arrow::compute::filter_record_batch;
use datafusion::arrow::datatypes::{Int64Type, UInt64Type};
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::sqlparser::ast::{
    Merge, MergeAction, MergeClause, MergeClauseKind, MergeInsertKind,
};

use super::apply::{RowUpdate, Storage};
use super::rows::Changed;
use super::target::{Target, not_default, parse_query};
use crate::catalog::privilege::Privilege;
use crate::catalog::table::ROW_COLUMN;
use crate::change::apply;
use crate::change::insert;
use crate::change::owed;
use crate::change::target;
use crate::change::update;
use crate::context::StatementContext;
use crate::error::{Error, Result, SqlState};
use crate::names::quoted;
use crate::query::select;
use crate::query::select::{Gathered, with_values};
use crate::transaction::Transaction;
use crate::values::datum::Datum;
use crate::values::sql_type::SqlType;

/// What a clause assigns: for each column its expression, as text.
struct Clause {
    condition: String,
    values: Vec<Option<String>>,
    op: MergeOp,
}

#[derive(Clone, Copy, PartialEq)]
enum MergeOp {
    Insert,
    Update,
    Delete,
}

/// Whether a clause deletes, and which columns it writes.
type Done = (bool, Vec<usize>);

pub(super) fn merge_target(context: &StatementContext, merge: &Merge) -> Result<Target> {
    let mut uses = vec![Privilege::Select];
    for clause in &merge.clauses {
        uses.push(match clause.action {
            MergeAction::Insert(_) => Privilege::Insert,
            MergeAction::Update { .. } => Privilege::Update,
            MergeAction::Delete { .. } => Privilege::Delete,
        });
    }
    update::target_of(context, &merge.table, &uses)
}

/// The query: a column for each of the table's, the number of the clause, that of the row.
pub(super) fn merge_source(
    context: &mut StatementContext,
    target: &Target,
    merge: &Merge,
    given: &[SqlType],
) -> Result<(LogicalPlan, Vec<Done>)> {
    let row = target.column(ROW_COLUMN);
    let source = format!("{}.\"\u{1}source\"", quoted(&source_alias(merge)?));
    let present = Present { row: &row, source: &source };
    let clauses = merge.clauses.iter();
    let clauses = clauses.map(|clause| clause_of(target, clause, &present));
    let clauses = clauses.collect::<Result<Vec<Clause>>>()?;
    let whens: String = clauses
        .iter()
        .enumerate()
        .map(|(place, clause)| format!(" WHEN {} THEN {place}", clause.condition))
        .collect();
    let items = target.table.columns.iter().enumerate().map(|(place, column)| {
        let cases: String = clauses
            .iter()
            .filter_map(|clause| {
                let value = clause.values[place].as_ref()?;
                let sql_type = &column.sql_type;
                Some(format!(" WHEN {} THEN CAST({value} AS {sql_type})", clause.condition))
            })
            .collect();
        let old = target.column(&column.name);
        match cases.is_empty() {
            true => format!("{old} AS \"{place}\""),
            false => format!("CASE{cases} ELSE {old} END AS \"{place}\""),
        }
    });
    let items: Vec<String> = items.collect();
    let by_source = merge
        .clauses
        .iter()
        .any(|clause| clause.clause_kind == MergeClauseKind::NotMatchedBySource);
    let join = if by_source { "FULL JOIN" } else { "LEFT JOIN" };
    let text = format!(
        "SELECT {}, CAST(CASE{whens} ELSE -1 END AS BIGINT) AS clause, {row} AS row \
         FROM (SELECT *, TRUE AS \"\u{1}source\" FROM {}) AS {} {join} {} ON {}",
        items.join(", "),
        merge.source,
        quoted(&source_alias(merge)?),
        target.in_from(),
        merge.on
    );
    let plan = target::bind_over(context, target, parse_query(&text)?, given)?;
    let acts = clauses.iter().map(|clause| {
        let places = clause.values.iter().enumerate();
        let mut places: Vec<usize> =
            places.filter(|(_, value)| value.is_some()).map(|(place, _)| place).collect();
        let generated = target.table.columns.iter().enumerate();
        places.extend(generated.filter(|(_, c)| c.generated.is_some()).map(|(p, _)| p));
        (clause.op == MergeOp::Delete, places)
    });
    Ok((plan, acts.collect()))
}

pub(super) async fn merge(
    context: &mut StatementContext,
    transaction: &Arc<Transaction>,
    target: &Target,
    merge: &Merge,
    parameters: &[Datum],
) -> Result<Changed> {
    if merge.output.is_some() {
        return Err(Error::unsupported("OUTPUT"));
    }
    let given: Vec<SqlType> = parameters.iter().map(|_| SqlType::Unknown).collect();
    let (plan, clauses) = merge_source(context, target, merge, &given)?;
    let plan = with_values(plan, parameters)?;
    let Gathered { batches, held: _held, .. } =
        select::collect_plan(context, &plan, transaction).await?;
    let mut changed = Changed::default();
    let (mut seen, mut owed) = (HashSet::new(), owed::owed(context));
    let width = target.table.columns.len();
    for (number, (deletes, places)) in clauses.iter().enumerate() {
        for batch in &batches {
            context.check_cancelled()?;
            let chosen = batch.column(width).as_primitive::<Int64Type>();
            let Some(part) = part_of(batch, chosen, number)? else { continue };
            let columns: Vec<usize> = (0..width).collect();
            let rows = part.project(&columns)?;
            let numbers = part.column(width + 1).as_primitive::<UInt64Type>().clone();
            changed.count += rows.num_rows() as u64;
            if numbers.null_count() == numbers.len() {
                let rows = insert::new_rows(context, target, &rows)?;
                apply::insert_rows(transaction, target, &rows, Storage::Hot, &mut owed)?;
                continue;
            }
            once(&numbers, &mut seen)?;
            if *deletes {
                apply::delete_rows(context, transaction, target, numbers.values(), &mut owed)?;
            } else {
                let rows = insert::new_rows(context, target, &rows)?;
                let update = RowUpdate { rows: &rows, numbers: &numbers, places };
                apply::update_rows(transaction, target, update, &mut owed)?;
            }
        }
    }
    owed::validate(context, transaction, &target.catalog, &mut owed)?;
    Ok(changed)
}

/// Columns that are not NULL where there is a row of the target, and one of the source.
struct Present<'p> {
    row: &'p str,
    source: &'p str,
}

fn clause_of(target: &Target, clause: &MergeClause, present: &Present<'_>) -> Result<Clause> {
    let Present { row, source } = present;
    let meets = match clause.clause_kind {
        MergeClauseKind::Matched => format!("{row} IS NOT NULL AND {source} IS NOT NULL"),
        MergeClauseKind::NotMatched | MergeClauseKind::NotMatchedByTarget => {
            format!("{row} IS NULL")
        }
        MergeClauseKind::NotMatchedBySource => format!("{source} IS NULL"),
    };
    let condition = match &clause.predicate {
        Some(predicate) => format!("({meets} AND ({predicate}))"),
        None => format!("({meets})"),
    };
    let mut values: Vec<Option<String>> = vec![None; target.table.columns.len()];
    let op = match &clause.action {
        MergeAction::Delete { .. } => MergeOp::Delete,
        MergeAction::Update(update) => {
            for (place, value) in target.assigned(&update.assignments)? {
                let text = value.map_or_else(|| target.default_of(place), ToString::to_string);
                values[place] = Some(text);
            }
            MergeOp::Update
        }
        MergeAction::Insert(insert) => {
            let MergeInsertKind::Values(given) = &insert.kind else {
                return Err(Error::unsupported("INSERT ROW"));
            };
            let [given] = given.rows.as_slice() else {
                return Err(Error::unsupported("several rows in a clause of MERGE"));
            };
            let places: Vec<usize> = match insert.columns.is_empty() {
                true => (0..target.table.columns.len()).collect(),
                false => insert.columns.iter().map(|n| target.place(n)).collect::<Result<_>>()?,
            };
            if given.content.len() > places.len() {
                let text = "INSERT has more expressions than target columns";
                return Err(Error::new(SqlState::SYNTAX_ERROR, text));
            }
            for (place, value) in values.iter_mut().enumerate() {
                *value = Some(target.default_of(place));
            }
            for (&place, value) in places.iter().zip(&given.content) {
                if let Some(value) = not_default(value) {
                    target.check_given(place)?;
                    values[place] = Some(value.to_string());
                }
            }
            MergeOp::Insert
        }
    };
    Ok(Clause { condition, values, op })
}

/// The name by which the statement speaks of the source.
fn source_alias(merge: &Merge) -> Result<String> {
    use datafusion::sql::sqlparser::ast::TableFactor;
    match &merge.source {
        TableFactor::Table { alias: Some(alias), .. }
        | TableFactor::Derived { alias: Some(alias), .. } => Ok(crate::names::fold(&alias.name)),
        TableFactor::Table { name, .. } => {
            let last = name.0.last().and_then(|part| part.as_ident());
            Ok(last.map(crate::names::fold).unwrap_or_default())
        }
        other => {
            Err(Error::unsupported(format!("{other} as the source of MERGE"))
                .hint("Give it an alias."))
        }
    }
}

/// The rows of a batch for which this clause was chosen.
fn part_of(batch: &RecordBatch, chosen: &Int64Array, number: usize) -> Result<Option<RecordBatch>> {
    let mask: Vec<bool> = chosen.iter().map(|clause| clause == Some(number as i64)).collect();
    if !mask.contains(&true) {
        return Ok(None);
    }
    Ok(Some(filter_record_batch(batch, &mask.into())?))
}

/// Checks that no row is changed twice.
fn once(numbers: &UInt64Array, seen: &mut HashSet<u64>) -> Result<()> {
    if numbers.values().iter().all(|number| seen.insert(*number)) {
        return Ok(());
    }
    let text = "MERGE command cannot affect row a second time";
    Err(Error::new(SqlState::CARDINALITY, text)
        .hint("Ensure that not more than one source row matches any one target row."))
}
