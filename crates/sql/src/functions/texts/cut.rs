//! Casts to CHAR and VARCHAR of a length: the letters beyond it are cut off.
//!
//! A statement's cast becomes a call with the type as text before it is bound, since the types of
//! the binder have no length.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, StringViewArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::ScalarValue;
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};

use crate::catalog::table::{type_metadata, type_of_field};
use crate::catalog::written::read_type;
use crate::error::Error;
use crate::values::datum::cut;
use crate::values::sql_type::SqlType;

/// The name of the function, which no statement can spell.
pub(crate) const CUT: &str = "\u{1}cut";

/// The function: a text, and the text of a type.
pub(crate) fn function() -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::from(Cut(Signature::any(2, Volatility::Immutable))))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Cut(Signature);

/// The type that an argument names.
fn type_of(argument: Option<&ScalarValue>) -> PlanResult<SqlType> {
    let named = argument.and_then(|text| text.try_as_str().flatten());
    let read = named.and_then(|text| SqlType::from_ast(&read_type(text).ok()?).ok());
    read.ok_or_else(|| Error::internal("a cast to a type that has no name").into())
}

fn all_cut(texts: &ArrayRef, to: &SqlType) -> PlanResult<ArrayRef> {
    let texts = cast(texts, &DataType::Utf8View)?;
    let texts = texts.as_string_view();
    if texts.iter().flatten().all(|text| cut(text, to).len() == text.len()) {
        return Ok(Arc::new(texts.clone()));
    }
    let cut: StringViewArray = texts.iter().map(|text| Some(cut(text?, to))).collect();
    Ok(Arc::new(cut))
}

impl ScalarUDFImpl for Cut {
    fn name(&self) -> &str {
        CUT
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn return_type(&self, _: &[DataType]) -> PlanResult<DataType> {
        Ok(DataType::Utf8View)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> PlanResult<FieldRef> {
        let to = type_of(args.scalar_arguments.get(1).copied().flatten())?;
        let field = Field::new(CUT, to.to_arrow(), args.arg_fields[0].is_nullable());
        Ok(Arc::new(field.with_metadata(type_metadata(&to))))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> PlanResult<ColumnarValue> {
        let to = type_of_field(&args.return_field);
        match &args.args[0] {
            ColumnarValue::Array(array) => Ok(ColumnarValue::Array(all_cut(array, &to)?)),
            ColumnarValue::Scalar(scalar) => {
                let cut = all_cut(&scalar.to_array()?, &to)?;
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&cut, 0)?))
            }
        }
    }

    fn schema_name(&self, args: &[Expr]) -> PlanResult<String> {
        let of = args.first().map(|text| text.schema_name().to_string());
        let to = match args.get(1) {
            Some(Expr::Literal(to, _)) => to.to_string(),
            _ => String::new(),
        };
        Ok(format!("CAST({} AS {to})", of.unwrap_or_default()))
    }
}
