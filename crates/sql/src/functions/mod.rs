//! Functions of PostgreSQL's that DataFusion lacks, or has otherwise.
//!
//! Each says of the types that it is called with which it takes and what it gives, and answers row
//! by row. Operators on intervals and moments are such functions, too: [`Operators`] puts them in
//! when a statement is bound.

pub(crate) mod aggregates;
pub(crate) mod arithmetic;
pub(crate) mod expressions;
pub(crate) mod measured;
mod moments;
pub(crate) mod regex;
pub(crate) mod sent;
pub(crate) mod texts;

use std::sync::Arc;

use datafusion::arrow::array::Array;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, IntervalUnit, TimeUnit};
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};

use self::arithmetic::logarithms;
pub(crate) use self::arithmetic::operators::Operators;
pub(crate) use self::moments::in_words;
use self::texts::chars;
use crate::catalog::table::type_of_field;
use crate::error::{Error, Result, SqlState};
use crate::values::arrow_in::array_of;
use crate::values::datum::Datum;
use crate::values::sql_type::SqlType;

/// The types that a function takes when it is called with these, and the one that it gives.
type Types = fn(&[DataType]) -> Option<(Vec<DataType>, DataType)>;

const TEXT: DataType = DataType::Utf8View;
const INTERVAL: DataType = DataType::Interval(IntervalUnit::MonthDayNano);
const MOMENT: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);

/// A function.
#[derive(Clone, Copy)]
struct Function {
    name: &'static str,
    types: Types,
    /// What it answers to the values of one row.
    answer: fn(&[Datum]) -> Result<Datum>,
    /// Whether it is NULL if one of its arguments is.
    is_strict: bool,
}

/// Those that a statement may call, by name.
pub(crate) fn functions() -> Vec<Arc<ScalarUDF>> {
    let all = [texts::FUNCTIONS, chars::FUNCTIONS, moments::FUNCTIONS, logarithms::FUNCTIONS];
    let called = all.into_iter().flatten().map(|function| function.called());
    called.chain([Arc::new(ScalarUDF::from(TypeOf::default()))]).collect()
}

impl Function {
    fn called(&self) -> Arc<ScalarUDF> {
        let signature = Signature::user_defined(Volatility::Immutable);
        Arc::new(ScalarUDF::from(Called { function: *self, signature }))
    }
}

/// A function as plans have it.
struct Called {
    function: Function,
    signature: Signature,
}

impl ScalarUDFImpl for Called {
    fn name(&self) -> &str {
        self.function.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> PlanResult<Vec<DataType>> {
        Ok(self.typed(types)?.0)
    }

    fn return_type(&self, types: &[DataType]) -> PlanResult<DataType> {
        Ok(self.typed(types)?.1)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> PlanResult<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let rows = arrays.first().map_or(args.number_rows, |array| array.len());
        let answers = (0..rows).map(|row| {
            let values = arrays.iter().map(|array| Datum::from_array(array.as_ref(), row));
            let values = values.collect::<Result<Vec<Datum>>>()?;
            match self.function.is_strict && values.iter().any(Datum::is_null) {
                true => Ok(Datum::Null),
                false => (self.function.answer)(&values),
            }
        });
        let answers = answers.collect::<Result<Vec<Datum>>>()?;
        let to = args.return_field.data_type();
        let array = array_of(&answers, &SqlType::from_arrow(to))?;
        Ok(ColumnarValue::Array(if array.data_type() == to { array } else { cast(&array, to)? }))
    }
}

impl Called {
    fn typed(&self, types: &[DataType]) -> PlanResult<(Vec<DataType>, DataType)> {
        let typed = (self.function.types)(types);
        typed.ok_or_else(|| unknown(self.function.name, types).into())
    }
}

impl PartialEq for Called {
    fn eq(&self, other: &Self) -> bool {
        self.function.name == other.function.name
    }
}

impl Eq for Called {}

impl std::hash::Hash for Called {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.function.name.hash(state);
    }
}

impl std::fmt::Debug for Called {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.function.name)
    }
}

/// No function of this name takes these types.
fn unknown(name: &str, types: &[DataType]) -> Error {
    let types: Vec<String> = types.iter().map(|of| SqlType::from_arrow(of).to_string()).collect();
    let text = format!("function {name}({}) does not exist", types.join(", "));
    Error::new(SqlState::UNKNOWN_FUNCTION, text)
}

fn is_text(of: &DataType) -> bool {
    matches!(of, DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8 | DataType::Null)
}

/// Whether a value is a date, a moment, or nothing.
fn is_moment(of: &DataType) -> bool {
    matches!(of, DataType::Timestamp(..) | DataType::Date32 | DataType::Null)
}

fn is_number(of: &DataType) -> bool {
    of.is_numeric() || *of == DataType::Null
}

/// `pg_typeof`: the type of its argument, in words.
#[derive(Debug, PartialEq, Eq, Hash)]
struct TypeOf {
    signature: Signature,
}

impl Default for TypeOf {
    fn default() -> Self {
        Self { signature: Signature::any(1, Volatility::Stable) }
    }
}

impl ScalarUDFImpl for TypeOf {
    fn name(&self) -> &str {
        "pg_typeof"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> PlanResult<DataType> {
        Ok(TEXT)
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs<'_>) -> PlanResult<FieldRef> {
        Ok(Arc::new(Field::new(self.name(), TEXT, false)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> PlanResult<ColumnarValue> {
        let name = match args.arg_fields[0].data_type() {
            DataType::Null => "unknown".to_owned(),
            _ => without_limits(&type_of_field(&args.arg_fields[0]).to_string()),
        };
        let text = datafusion::common::ScalarValue::Utf8View(Some(name));
        Ok(ColumnarValue::Scalar(text))
    }
}

/// A type's name without how long or exact its values are.
fn without_limits(name: &str) -> String {
    let list = if name.ends_with("[]") { "[]" } else { "" };
    match name.split_once('(') {
        Some((family, _)) => format!("{family}{list}"),
        None => name.to_owned(),
    }
}
