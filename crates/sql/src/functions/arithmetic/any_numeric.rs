//! Casts to NUMERIC without digits, as long as types may still change.
//!
//! Such a cast keeps all digits of a numeric, and the type of a plan has to say how many these are.
//! When a query is bound, what is cast may get another type yet: a numeric beside a float becomes
//! one. So the cast is a function of whatever it is given until all types are known; then it is
//! nothing for a numeric, and a cast for all else.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::datatypes::DataType;
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    Cast, ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::division::exact;
use crate::values::sql_type::SqlType;

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
struct AnyNumeric {
    signature: Signature,
}

/// The cast of an expression whose type is not resolved.
pub(crate) fn call(inner: Expr) -> Expr {
    static FUNCTION: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
        let signature = Signature::any(1, Volatility::Immutable);
        Arc::new(ScalarUDF::from(AnyNumeric { signature }))
    });
    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&FUNCTION), vec![inner]))
}

/// What is cast, if this is such a cast.
pub(crate) fn operand(call: &ScalarFunction) -> Option<&Expr> {
    call.func.inner().is::<AnyNumeric>().then(|| call.args.first()).flatten()
}

/// The same once the type of what is cast is known: nothing but the operand for a numeric.
pub(crate) fn resolved(operand: Expr, of: &DataType) -> Expr {
    match of {
        DataType::Decimal128(..) => operand,
        of => Expr::Cast(Cast::new(Box::new(operand), numeric_of(of))),
    }
}

fn numeric_of(of: &DataType) -> DataType {
    exact(of).unwrap_or_else(|| SqlType::ANY_NUMERIC.to_arrow())
}

impl ScalarUDFImpl for AnyNumeric {
    fn name(&self) -> &str {
        "numeric"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> PlanResult<DataType> {
        Ok(numeric_of(&types[0]))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> PlanResult<ColumnarValue> {
        args.args[0].cast_to(args.return_type(), None)
    }
}
