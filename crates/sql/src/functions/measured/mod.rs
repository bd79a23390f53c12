//! Functions whose results may be large are asked how large before they are called.
//!
//! `repeat` makes gigabytes of a letter, and any function doubles a column of large texts. So each
//! function whose results have no fixed size is called through one that knows how large they can
//! be ([`growth`]), asks the memory budget, and hands it rows in parts that take no longer than it
//! should take until somebody looks whether to stop.

mod aggregate;
pub(crate) mod concat;
mod growth;

use std::cell::Cell;
use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::compute::{cast, concat};
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{ExprSchema, ScalarValue};
use datafusion::error::Result as PlanResult;
use datafusion::execution::SessionState;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::interval_arithmetic::Interval;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Documentation, Expr, ExpressionPlacement, LogicalPlan, Operator,
    ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::optimizer::AnalyzerRule;

pub(crate) use self::aggregate::aggregates;
use self::growth::{Size, VALUE_BYTES, size_of};
use super::expressions::rewrite_all;
use super::regex;
use crate::error::{Error, SqlState};
use crate::limits::cancel::Cancel;

/// Nobody is asked for less, and it is made in one part.
const SMALL_BYTES: usize = 1 << 20;

/// What levenshtein compares, at most: it looks at each letter of the one for each of the other.
const LEVENSHTEIN_MAX: usize = 255;

/// The functions that make texts and arrays, by name, but for those that ask by themselves.
static GROWING: LazyLock<HashSet<String>> = LazyLock::new(|| {
    use datafusion::functions::{crypto, encoding, regex, string, unicode};
    let all = [
        string::functions(),
        unicode::functions(),
        regex::functions(),
        crypto::functions(),
        encoding::functions(),
        datafusion::functions_nested::all_default_nested_functions(),
    ];
    let names = all.iter().flatten().flat_map(|function| {
        let name = std::iter::once(function.name().to_owned());
        name.chain(function.aliases().iter().cloned())
    });
    names.filter(|name| !matches!(name.as_str(), "lpad" | "rpad")).collect()
});

/// A constant that is larger is not made while a statement is planned: plans are copied often.
const CONSTANT_BYTES: usize = 64 << 10;

thread_local! {
    static PLANS: Cell<bool> = const { Cell::new(false) };
}

/// The thread plans a statement until this is dropped.
pub(crate) struct Planning {
    before: bool,
}

impl Planning {
    pub(crate) fn begin() -> Self {
        Self { before: PLANS.replace(true) }
    }
}

impl Drop for Planning {
    fn drop(&mut self) {
        PLANS.set(self.before);
    }
}

/// Whether values that are about to be made have room.
fn check_size(size: Size) -> PlanResult<()> {
    if PLANS.get() && size.total > CONSTANT_BYTES {
        let text = "a constant is too large for a plan";
        return Err(Error::new(SqlState::OUT_OF_MEMORY, text).into());
    }
    Ok(Cancel::check_values(size.total, size.largest)?)
}

/// Whether an array of so many bytes may be: joins and unnesting copy it for each row.
fn check_list(bytes: usize) -> PlanResult<()> {
    check_size(Size { total: bytes, largest: bytes })?;
    Ok(Cancel::check_list(bytes)?)
}

/// Texts as joins hand them on without copying them.
fn as_view(data_type: DataType) -> DataType {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        other => other,
    }
}

/// The functions of a state that may give large values, measured.
pub(crate) fn functions(state: &SessionState) -> Vec<Arc<ScalarUDF>> {
    let growing = state.scalar_functions().values().filter(|function| grows(function));
    growing.map(|function| Arc::new(ScalarUDF::from(Measured::new(function)))).collect()
}

/// The rule that puts [`Measured`] in where the planner itself calls a function, and what stands
/// for `||` and `~`.
#[derive(Debug)]
pub(crate) struct MeasuredFunctions;

impl AnalyzerRule for MeasuredFunctions {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> PlanResult<LogicalPlan> {
        rewrite_all(plan, |expr, schema| rewritten(expr, schema))
    }

    fn name(&self) -> &str {
        "measured_functions"
    }
}

fn rewritten(expr: Expr, schema: &dyn ExprSchema) -> PlanResult<Transformed<Expr>> {
    match expr {
        Expr::BinaryExpr(binary @ BinaryExpr { op: Operator::StringConcat, .. }) => {
            Ok(Transformed::yes(concat::call(binary, schema)?))
        }
        Expr::BinaryExpr(binary) => Ok(match regex::call(&binary) {
            Some(call) => Transformed::yes(call),
            None => Transformed::no(Expr::BinaryExpr(binary)),
        }),
        other => Ok(measured(other)),
    }
}

/// The expression with the function that it calls measured; those in its arguments are left.
fn measured(expr: Expr) -> Transformed<Expr> {
    match expr {
        Expr::ScalarFunction(ScalarFunction { func, args }) if grows(&func) => {
            let func = Arc::new(ScalarUDF::from(Measured { inner: func, keeps_type: true }));
            Transformed::yes(Expr::ScalarFunction(ScalarFunction { func, args }))
        }
        other => Transformed::no(other),
    }
}

fn grows(function: &ScalarUDF) -> bool {
    GROWING.contains(function.name()) && !function.inner().is::<Measured>()
}

/// A function that asks before it is called.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Measured {
    inner: Arc<ScalarUDF>,
    /// Whether texts are given out as the function does: where what is around it was bound so.
    keeps_type: bool,
}

impl Measured {
    fn new(inner: &Arc<ScalarUDF>) -> Self {
        Self { inner: Arc::clone(inner), keeps_type: false }
    }

    fn function(&self) -> &dyn ScalarUDFImpl {
        self.inner.inner().as_ref()
    }

    /// Calls it, and makes what it gives what was said.
    fn call(&self, args: ScalarFunctionArgs) -> PlanResult<ColumnarValue> {
        let told = args.return_type().clone();
        let given = self.function().invoke_with_args(args)?;
        if given.data_type() == told || !told.is_string() {
            return Ok(given);
        }
        Ok(match given {
            ColumnarValue::Scalar(ScalarValue::Utf8(text) | ScalarValue::LargeUtf8(text))
                if told == DataType::Utf8View =>
            {
                ColumnarValue::Scalar(ScalarValue::Utf8View(text))
            }
            ColumnarValue::Scalar(other) => ColumnarValue::Scalar(other.cast_to(&told)?),
            ColumnarValue::Array(array) => ColumnarValue::Array(cast(&array, &told)?),
        })
    }

    /// Calls it with some rows at a time, as many as make parts of a small size.
    fn in_parts(&self, args: &ScalarFunctionArgs, bytes: usize) -> PlanResult<ColumnarValue> {
        let rows = args.number_rows;
        let in_part = (rows.saturating_mul(SMALL_BYTES) / bytes.max(1)).max(1);
        let mut parts: Vec<ArrayRef> = Vec::with_capacity(rows / in_part + 1);
        let mut first = 0;
        while first < rows {
            Cancel::check_current()?;
            let count = in_part.min(rows - first);
            let slice = |arg: &ColumnarValue| match arg {
                ColumnarValue::Array(array) => ColumnarValue::Array(array.slice(first, count)),
                ColumnarValue::Scalar(scalar) => ColumnarValue::Scalar(scalar.clone()),
            };
            let part = ScalarFunctionArgs {
                args: args.args.iter().map(slice).collect(),
                arg_fields: args.arg_fields.clone(),
                number_rows: count,
                return_field: Arc::clone(&args.return_field),
                config_options: Arc::clone(&args.config_options),
            };
            parts.push(self.call(part)?.into_array(count)?);
            first += count;
        }
        let parts: Vec<&dyn datafusion::arrow::array::Array> =
            parts.iter().map(AsRef::as_ref).collect();
        Ok(ColumnarValue::Array(concat(&parts)?))
    }
}

/// All is the function's within, but for the call.
impl ScalarUDFImpl for Measured {
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> PlanResult<ColumnarValue> {
        let size = size_of(self.name(), &args.args, args.number_rows);
        // A letter has four bytes at most.
        if self.name() == "levenshtein" && size.largest > LEVENSHTEIN_MAX * 4 + VALUE_BYTES {
            let text = format!("levenshtein compares at most {LEVENSHTEIN_MAX} letters");
            return Err(Error::new(SqlState::BAD_PARAMETER, text).into());
        }
        if size.total <= CONSTANT_BYTES || size.total <= SMALL_BYTES && !PLANS.get() {
            return self.call(args);
        }
        match args.return_type() {
            DataType::List(_) | DataType::LargeList(_) => check_list(size.largest)?,
            of if of.primitive_width().is_none() => check_size(size)?,
            _ => {}
        }
        let has_rows = args.args.iter().any(|arg| matches!(arg, ColumnarValue::Array(_)));
        if has_rows && args.number_rows > 1 && self.signature().volatility != Volatility::Volatile {
            return self.in_parts(&args, size.total);
        }
        Cancel::check_current()?;
        self.call(args)
    }

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> PlanResult<ExprSimplifyResult> {
        Ok(match self.function().simplify(args, info)? {
            ExprSimplifyResult::Simplified(expr) => {
                let expr = expr.transform_up(|expr| Ok(measured(expr)))?;
                ExprSimplifyResult::Simplified(expr.data)
            }
            original => original,
        })
    }

    fn with_updated_config(&self, config: &ConfigOptions) -> Option<ScalarUDF> {
        let updated = self.function().with_updated_config(config)?;
        Some(ScalarUDF::from(Self { inner: Arc::new(updated), keeps_type: self.keeps_type }))
    }

    fn name(&self) -> &str {
        self.function().name()
    }

    fn aliases(&self) -> &[String] {
        self.function().aliases()
    }

    fn schema_name(&self, args: &[Expr]) -> PlanResult<String> {
        self.function().schema_name(args)
    }

    fn signature(&self) -> &Signature {
        self.function().signature()
    }

    fn return_type(&self, types: &[DataType]) -> PlanResult<DataType> {
        let of = self.function().return_type(types)?;
        Ok(if self.keeps_type { of } else { as_view(of) })
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> PlanResult<FieldRef> {
        let field = self.function().return_field_from_args(args)?;
        if self.keeps_type || as_view(field.data_type().clone()) == *field.data_type() {
            return Ok(field);
        }
        let data_type = as_view(field.data_type().clone());
        Ok(Arc::new(field.as_ref().clone().with_data_type(data_type)))
    }

    fn is_strict(&self) -> bool {
        self.function().is_strict()
    }

    fn preimage(
        &self,
        args: &[Expr],
        literal: &Expr,
        info: &SimplifyContext,
    ) -> PlanResult<datafusion::logical_expr::preimage::PreimageResult> {
        self.function().preimage(args, literal, info)
    }

    fn short_circuits(&self) -> bool {
        self.function().short_circuits()
    }

    fn conditional_arguments<'a>(
        &self,
        args: &'a [Expr],
    ) -> Option<(Vec<&'a Expr>, Vec<&'a Expr>)> {
        self.function().conditional_arguments(args)
    }

    fn evaluate_bounds(&self, inputs: &[&Interval]) -> PlanResult<Interval> {
        self.function().evaluate_bounds(inputs)
    }

    fn propagate_constraints(
        &self,
        interval: &Interval,
        inputs: &[&Interval],
    ) -> PlanResult<Option<Vec<Interval>>> {
        self.function().propagate_constraints(interval, inputs)
    }

    fn output_ordering(&self, inputs: &[ExprProperties]) -> PlanResult<SortProperties> {
        self.function().output_ordering(inputs)
    }

    fn preserves_lex_ordering(&self, inputs: &[ExprProperties]) -> PlanResult<bool> {
        self.function().preserves_lex_ordering(inputs)
    }

    fn strictly_order_preserving(&self, inputs: &[ExprProperties]) -> PlanResult<bool> {
        self.function().strictly_order_preserving(inputs)
    }

    fn coerce_types(&self, types: &[DataType]) -> PlanResult<Vec<DataType>> {
        self.function().coerce_types(types)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.function().documentation()
    }

    fn placement(&self, args: &[ExpressionPlacement]) -> ExpressionPlacement {
        self.function().placement(args)
    }
}
