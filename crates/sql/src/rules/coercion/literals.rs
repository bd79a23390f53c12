//! The types of whole numbers in the text of a statement: an integer as far as it fits, then a
//! bigint, then a numeric. Long texts become views.
//!
//! The binder takes each for a bigint, or for what is unsigned. Here, behind the binder and before
//! any rule, they get the types that PostgreSQL gives them, and the schemas of all plans above
//! follow; so a sum of integers is an integer, and out of range where PostgreSQL's is. Numbers that
//! are parameters' values come later and keep their types, as do the limits of LIMIT.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, TimeUnit};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::datasource::cte_worktable::CteWorkTable;
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::expr_rewriter::{NamePreserver, coerce_plan_expr_for_schema};
use datafusion::logical_expr::logical_plan::Subquery;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    BinaryExpr, Cast, ColumnarValue, Expr, ExprSchemable, Join, LogicalPlan, LogicalPlanBuilder,
    Operator, RecursiveQuery, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Union,
    Values, Volatility,
};

use super::{floats, united};
use crate::catalog::table::plain_text;
use crate::functions::arithmetic::{Operands, any_numeric, division, linked};
use crate::limits::cancel::Cancel;
use crate::rules::windows;
use crate::values::sql_type::SqlType;

/// Texts up to so many bytes may be copied for each row.
const SHORT_TEXT: usize = 256;

/// A function around a cast, with the text of its type as a second argument, which keeps the casts
/// of a column to several types apart: the binder calls each by the name of the column alone.
pub(crate) const NAMED_CAST: &str = "\u{1}cast";

/// The function, which is gone when a query is bound.
pub(crate) fn named_cast() -> Arc<ScalarUDF> {
    #[derive(Debug, PartialEq, Eq, Hash)]
    struct NamedCast(Signature);

    impl ScalarUDFImpl for NamedCast {
        fn name(&self) -> &str {
            NAMED_CAST
        }

        fn signature(&self) -> &Signature {
            &self.0
        }

        fn return_type(&self, types: &[DataType]) -> PlanResult<DataType> {
            Ok(types[0].clone())
        }

        fn invoke_with_args(&self, args: ScalarFunctionArgs) -> PlanResult<ColumnarValue> {
            Ok(args.args[0].clone())
        }

        fn schema_name(&self, args: &[Expr]) -> PlanResult<String> {
            let of = args.first().map(|cast| cast.schema_name().to_string());
            Ok(format!("CAST({} AS {})", of.unwrap_or_default(), target_of(args)))
        }
    }

    Arc::new(ScalarUDF::from(NamedCast(Signature::any(2, Volatility::Immutable))))
}

/// The type that a named cast is to, by its arguments.
fn target_of(args: &[Expr]) -> &str {
    match args.get(1) {
        Some(Expr::Literal(ScalarValue::Utf8(Some(to)), _)) => to.as_str(),
        Some(Expr::Literal(ScalarValue::Utf8View(Some(to)), _)) => to.as_str(),
        _ => "",
    }
}

/// A bound plan with the types of its numbers.
///
/// # Errors
/// What the binder would have found wrong with them.
pub(crate) fn typed(plan: LogicalPlan) -> PlanResult<LogicalPlan> {
    typed_within(plan, &mut Vec::new())
}

/// A bound expression with the types of its numbers.
///
/// # Errors
/// None.
pub(crate) fn typed_expression(expr: Expr, schema: &DFSchema) -> PlanResult<Expr> {
    let typed = |expr| {
        let typed = number(expr);
        Ok(match numeric(&typed.data, schema) {
            Some(expr) => Transformed::yes(expr),
            None => typed,
        })
    };
    Ok(expr.transform_up(typed)?.data)
}

/// The number by its own type.
fn number(expr: Expr) -> Transformed<Expr> {
    match expr {
        Expr::Literal(ScalarValue::Int64(Some(number)), metadata) => {
            match i32::try_from(number).ok() {
                Some(number) => {
                    let literal = Expr::Literal(ScalarValue::Int32(Some(number)), metadata);
                    Transformed::yes(literal)
                }
                None => {
                    let number = ScalarValue::Int64(Some(number));
                    Transformed::no(Expr::Literal(number, metadata))
                }
            }
        }
        Expr::Literal(ScalarValue::UInt64(Some(number)), metadata) => {
            let number = ScalarValue::Decimal128(Some(i128::from(number)), 20, 0);
            Transformed::yes(Expr::Literal(number, metadata))
        }
        // Rows share what a view has.
        Expr::Literal(ScalarValue::Utf8(Some(text)), metadata) if text.len() > SHORT_TEXT => {
            Transformed::yes(Expr::Literal(ScalarValue::Utf8View(Some(text)), metadata))
        }
        // A sign before the least integer makes a bigint of it, and of the least bigint a numeric.
        Expr::Negative(inner)
            if matches!(*inner, Expr::Literal(ScalarValue::Int32(Some(i32::MIN)), _)) =>
        {
            let number = ScalarValue::Int64(Some(-i64::from(i32::MIN)));
            Transformed::yes(Expr::Literal(number, None))
        }
        Expr::Negative(inner)
            if matches!(*inner, Expr::Literal(ScalarValue::Int64(Some(i64::MIN)), _)) =>
        {
            let number = ScalarValue::Decimal128(Some(-i128::from(i64::MIN)), 20, 0);
            Transformed::yes(Expr::Literal(number, None))
        }
        // What is written with a power of ten may have fewer digits than none after the point.
        Expr::Literal(ScalarValue::Decimal128(Some(digits), _, scale), metadata) if scale < 0 => {
            let power = 10_i128.checked_pow(u32::from(scale.unsigned_abs()));
            let whole = power.and_then(|power| digits.checked_mul(power));
            let number = match whole.filter(|whole| whole.unsigned_abs() < 10_u128.pow(38)) {
                Some(whole) => ScalarValue::Decimal128(Some(whole), 38, 0),
                None => {
                    let number = digits as f64 * 10_f64.powi(i32::from(-i16::from(scale)));
                    ScalarValue::Float64(Some(number))
                }
            };
            Transformed::yes(Expr::Literal(number, metadata))
        }
        Expr::ScalarFunction(mut call) if call.func.name() == NAMED_CAST => {
            call.args.truncate(1);
            match call.args.pop() {
                Some(cast) => Transformed::yes(cast),
                None => Transformed::no(Expr::ScalarFunction(call)),
            }
        }
        other => Transformed::no(other),
    }
}

/// The schemas of the rows around a plan, the innermost last.
type Around = Vec<DFSchema>;

fn typed_within(plan: LogicalPlan, around: &mut Around) -> PlanResult<LogicalPlan> {
    let plan = match plan {
        LogicalPlan::RecursiveQuery(query) => return recursive(query, around),
        LogicalPlan::Join(join) => LogicalPlan::Join(joined(join, around)?),
        other => {
            let map = |input| Ok(Transformed::yes(typed_within(input, around)?));
            other.map_children(map)?.data
        }
    };
    let plan = match plan {
        LogicalPlan::Limit(_) => return Ok(plan),
        LogicalPlan::Values(values) => return listed(values),
        LogicalPlan::Union(Union { inputs, .. }) => {
            return Ok(united::united(Union::try_new_with_loose_types(inputs)?)?.data);
        }
        LogicalPlan::Subquery(Subquery { subquery, outer_ref_columns, spans }) => {
            let outer_ref_columns = outer_columns(outer_ref_columns, around)?;
            return Ok(LogicalPlan::Subquery(Subquery { subquery, outer_ref_columns, spans }));
        }
        other => other,
    };
    around.push(merge_schema(&plan.inputs()));
    let names = NamePreserver::new(&plan);
    let mapped = plan.map_expressions(|expr| {
        let name = names.save(&expr);
        let expr = expr.transform_up(|expr| expression(expr, around))?;
        Ok(expr.update_data(|expr| name.restore(expr)))
    });
    around.pop();
    mapped?.data.recompute_schema()
}

fn expression(expr: Expr, around: &mut Around) -> PlanResult<Transformed<Expr>> {
    Cancel::check_current()?;
    Ok(match expr {
        Expr::ScalarSubquery(query) => {
            Transformed::yes(Expr::ScalarSubquery(subquery(query, around)?))
        }
        Expr::Exists(Exists { subquery: query, negated }) => {
            let subquery = subquery(query, around)?;
            Transformed::yes(Expr::Exists(Exists { subquery, negated }))
        }
        Expr::InSubquery(InSubquery { expr, subquery: query, negated }) => {
            let subquery = subquery(query, around)?;
            Transformed::yes(Expr::InSubquery(InSubquery { expr, subquery, negated }))
        }
        Expr::OuterReferenceColumn(..) => {
            let (_, further) = around.split_last().unwrap_or((&EMPTY, &[]));
            Transformed::yes(outer_column(expr, further))
        }
        Expr::WindowFunction(_) => Transformed::yes(windows::unordered(expr)),
        other => {
            let schema = around.last().unwrap_or(&EMPTY);
            let is_text = is_text_cast(&other);
            let mut typed = number(other);
            if is_text {
                typed.data = plain_text_of(typed.data, schema);
            }
            match numeric(&typed.data, schema) {
                Some(expr) => Transformed::yes(expr),
                // Whoever selects from this has to know what it is.
                None => typed.transform_data(|expr| Ok(floats::with_floats(expr, schema)))?,
            }
        }
    })
}

/// Whether this is a cast to text of any length.
fn is_text_cast(expr: &Expr) -> bool {
    let Expr::ScalarFunction(call) = expr else { return false };
    call.func.name() == NAMED_CAST
        && matches!(target_of(&call.args), "TEXT" | "VARCHAR" | "CHARACTER VARYING")
}

/// A cast to text of any length, also where what is cast says of itself that its length is limited:
/// such a cast changes no value, and would be taken for what it casts.
fn plain_text_of(expr: Expr, schema: &DFSchema) -> Expr {
    let Expr::Cast(Cast { expr: inner, field }) = expr else { return expr };
    let field = match inner.to_field(schema) {
        Ok((_, of)) if !of.metadata().is_empty() => {
            let text = Field::new("", field.data_type().clone(), of.is_nullable());
            Arc::new(text.with_metadata(plain_text()))
        }
        _ => field,
    };
    Expr::Cast(Cast { expr: inner, field })
}

/// Quotients of numerics, and casts that say nothing of a numeric's digits.
fn numeric(expr: &Expr, schema: &DFSchema) -> Option<Expr> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Divide, right }) => {
            let (left_type, right_type) =
                (left.get_type(schema).ok()?, right.get_type(schema).ok()?);
            let types = Operands { left: &left_type, right: &right_type };
            division::call(Operands { left, right }, types)
        }
        // Days between two dates are an integer.
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Minus, right }) => {
            let is_date = |expr: &Expr| expr.get_type(schema).ok() == Some(DataType::Date32);
            // The left one may be a long chain.
            let days = is_date(right) && is_date(left);
            days.then(|| Expr::Cast(Cast::new(Box::new(expr.clone()), DataType::Int32)))
        }
        Expr::Cast(Cast { expr: inner, field })
            if *field.data_type() == (SqlType::ANY_NUMERIC).to_arrow() && has_its_type(inner) =>
        {
            let of = inner.get_type(schema).ok()?;
            division::exact(&of)?;
            Some(match inner.as_ref() {
                Expr::Literal(..) => any_numeric::resolved(inner.as_ref().clone(), &of),
                other => any_numeric::call(other.clone()),
            })
        }
        Expr::Cast(Cast { expr: inner, field }) => {
            // All moments are of microseconds, which reach further than those of nanoseconds.
            let DataType::Timestamp(TimeUnit::Nanosecond, zone) = field.data_type() else {
                return None;
            };
            let to = DataType::Timestamp(TimeUnit::Microsecond, zone.clone());
            Some(Expr::Cast(Cast::new(inner.clone(), to)))
        }
        _ => None,
    }
}

/// Functions whose type is that of their first argument, or known otherwise.
const KEEP_TYPES: [&str; 9] =
    ["/", "ceil", "floor", "round", "trunc", "abs", "nullif", linked::SUM, linked::PRODUCT];

/// Whether the type of an expression is known before types are made to fit each other: that of
/// several values of which one is taken is the first one's until then.
fn has_its_type(expr: &Expr) -> bool {
    let is_choice = |expr: &Expr| {
        let is_ours = |name: &str| KEEP_TYPES.contains(&name);
        match expr {
            Expr::ScalarFunction(call) => !is_ours(call.func.name()),
            Expr::Case(_) => true,
            _ => false,
        }
    };
    !expr.exists(|expr| Ok(is_choice(expr))).unwrap_or(true)
}

/// No rows around.
static EMPTY: std::sync::LazyLock<DFSchema> = std::sync::LazyLock::new(DFSchema::empty);

fn subquery(query: Subquery, around: &mut Around) -> PlanResult<Subquery> {
    let plan = typed_within(Arc::unwrap_or_clone(query.subquery), around)?;
    let outer_ref_columns = outer_columns(query.outer_ref_columns, around)?;
    Ok(Subquery { subquery: Arc::new(plan), outer_ref_columns, spans: query.spans })
}

fn outer_columns(columns: Vec<Expr>, around: &Around) -> PlanResult<Vec<Expr>> {
    let each = columns.into_iter().map(|expr| {
        let typed = expr.transform_up(|expr| Ok(Transformed::yes(outer_column(expr, around))))?;
        Ok(typed.data)
    });
    each.collect()
}

/// A column of rows around a query, with the type that it has there now.
fn outer_column(expr: Expr, around: &[DFSchema]) -> Expr {
    let Expr::OuterReferenceColumn(field, column) = expr else { return expr };
    let found = around.iter().rev().find_map(|schema| {
        let (_, found) = schema.qualified_field_from_column(&column).ok()?;
        Some(Arc::clone(found))
    });
    Expr::OuterReferenceColumn(found.unwrap_or(field), column)
}

/// A join whose right side may name columns of the left one.
fn joined(join: Join, around: &mut Around) -> PlanResult<Join> {
    let left = typed_within(Arc::unwrap_or_clone(join.left), around)?;
    let is_lateral = {
        let mut below = join.right.as_ref();
        loop {
            match below {
                LogicalPlan::SubqueryAlias(alias) => below = &alias.input,
                LogicalPlan::Projection(projection) => below = &projection.input,
                other => break matches!(other, LogicalPlan::Subquery(_)),
            }
        }
    };
    if is_lateral {
        around.push(left.schema().as_ref().clone());
    }
    let right = typed_within(Arc::unwrap_or_clone(join.right), around);
    if is_lateral {
        around.pop();
    }
    Ok(Join { left: Arc::new(left), right: Arc::new(right?), ..join })
}

/// A list of rows: what is NULL in it has the type of the rest.
fn listed(values: Values) -> PlanResult<LogicalPlan> {
    let Values { mut values, schema } = values;
    for (column, field) in schema.fields().iter().enumerate() {
        let of_rows = values.iter_mut().filter_map(|row| row.get_mut(column));
        part_floats(of_rows.collect(), field.data_type());
    }
    let rows = values.into_iter().map(|row| {
        let row = row.into_iter().map(|expr| match expr {
            Expr::Literal(ref scalar, ref metadata) if scalar.is_null() => {
                Ok(Expr::Literal(ScalarValue::Null, metadata.clone()))
            }
            // What the binder has made one of all rows; casts of the statement are of constants, or
            // have a name around them.
            Expr::Cast(Cast { expr: inner, field })
                if field.data_type().is_integer() && !matches!(*inner, Expr::Literal(..)) =>
            {
                typed_expression(*inner, &EMPTY)
            }
            other => typed_expression(other, &EMPTY),
        });
        row.collect::<PlanResult<Vec<_>>>()
    });
    let mut rows = rows.collect::<PlanResult<Vec<_>>>()?;
    for column in 0..rows.first().map_or(0, Vec::len) {
        let of_rows = rows.iter_mut().filter_map(|row| row.get_mut(column));
        floats::make_one_type(floats::BesideEachOther::Chosen, of_rows, &*EMPTY);
    }
    LogicalPlanBuilder::values(rows)?.build()
}

/// Takes the casts off by which the binder has made numerics of a column of floats and numerics.
fn part_floats(column: Vec<&mut Expr>, of: &DataType) {
    fn is_made(expr: &Expr, of: &DataType) -> bool {
        matches!(expr, Expr::Cast(cast) if cast.field.data_type() == of)
    }
    let has_float = column.iter().any(|expr| match &**expr {
        Expr::Cast(cast) if is_made(expr, of) => {
            cast.expr.get_type(&*EMPTY).is_ok_and(|inner| inner.is_floating())
        }
        _ => false,
    });
    if !has_float || !matches!(of, DataType::Decimal128(..)) {
        return;
    }
    for expr in column.into_iter().filter(|expr| is_made(expr, of)) {
        if let Expr::Cast(cast) = std::mem::take(expr) {
            *expr = *cast.expr;
        }
    }
}

/// A recursive query: its rows are of the types of those that it begins with.
fn recursive(query: RecursiveQuery, around: &mut Around) -> PlanResult<LogicalPlan> {
    let begun = typed_within(Arc::unwrap_or_clone(query.static_term), around)?;
    let table = CteWorkTable::new(&query.name, Arc::clone(begun.schema().inner()));
    let source = provider_as_source(Arc::new(table));
    let next = Arc::unwrap_or_clone(query.recursive_term);
    let next = next.transform_up_with_subqueries(|node| {
        let LogicalPlan::TableScan(scan) = &node else { return Ok(Transformed::no(node)) };
        let provider = source_as_provider(&scan.source)?;
        let is_own = provider.downcast_ref::<CteWorkTable>().is_some()
            && scan.table_name.table() == query.name;
        if !is_own {
            return Ok(Transformed::no(node));
        }
        let name = scan.table_name.clone();
        let anew = LogicalPlanBuilder::scan(name, Arc::clone(&source), None)?.build()?;
        Ok(Transformed::yes(anew))
    })?;
    let next = typed_within(next.data, around)?;
    let next = coerce_plan_expr_for_schema(next, begun.schema())?;
    LogicalPlanBuilder::from(begun).to_recursive_query(query.name, next, query.is_distinct)?.build()
}
