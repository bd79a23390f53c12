//! The operators `~`, `~*`, `!~` and `!~*`.
//!
//! A pattern that is a part of the text, or its start or its end, and nothing else, is a LIKE,
//! which scans know.

use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, BooleanBuilder};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::expr::{Like, ScalarFunction};
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility,
};

use super::calls::Kept;

/// The function behind an operator.
#[derive(PartialEq, Eq, Hash, Debug)]
struct Matches {
    operator: Operator,
    signature: Signature,
}

/// The call for an operator on two texts; `None` for other operators.
pub(crate) fn call(binary: &BinaryExpr) -> Option<Expr> {
    use Operator as O;
    let BinaryExpr { left, op, right } = binary;
    if !matches!(op, O::RegexMatch | O::RegexIMatch | O::RegexNotMatch | O::RegexNotIMatch) {
        return None;
    }
    if let Some(like) = like_of(binary) {
        return Some(like);
    }
    let signature = Signature::any(2, Volatility::Immutable);
    let function = Arc::new(ScalarUDF::from(Matches { operator: *op, signature }));
    let args = vec![left.as_ref().clone(), right.as_ref().clone()];
    Some(Expr::ScalarFunction(ScalarFunction::new_udf(function, args)))
}

/// The LIKE that says the same, of a pattern without any sign of its own but at its ends.
fn like_of(binary: &BinaryExpr) -> Option<Expr> {
    let negated = match binary.op {
        Operator::RegexMatch => false,
        Operator::RegexNotMatch => true,
        _ => return None,
    };
    let Expr::Literal(literal, metadata) = binary.right.as_ref() else { return None };
    let pattern = literal.try_as_str().flatten()?;
    let (start, rest) = match pattern.strip_prefix('^') {
        Some(rest) => ("", rest),
        None => ("%", pattern),
    };
    let (part, end) = match rest.strip_suffix('$') {
        Some(part) => (part, ""),
        None => (rest, "%"),
    };
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || " -:/".contains(letter);
    if part.is_empty() || !part.chars().all(is_plain) {
        return None;
    }
    let text = ScalarValue::from(format!("{start}{part}{end}")).cast_to(&literal.data_type());
    let pattern = Box::new(Expr::Literal(text.ok()?, metadata.clone()));
    Some(Expr::Like(Like::new(negated, binary.left.clone(), pattern, None, false)))
}

impl Matches {
    fn spelled(&self, args: &[Expr], spell: impl Fn(&Expr) -> String) -> String {
        let args: Vec<String> = args.iter().map(spell).collect();
        args.join(&format!(" {} ", self.operator))
    }
}

impl ScalarUDFImpl for Matches {
    fn name(&self) -> &str {
        match self.operator {
            Operator::RegexMatch => "~",
            Operator::RegexIMatch => "~*",
            Operator::RegexNotMatch => "!~",
            _ => "!~*",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> PlanResult<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> PlanResult<ColumnarValue> {
        let is_scalar = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_scalar { 1 } else { args.number_rows };
        let view = |arg: &ColumnarValue| arg.cast_to(&DataType::Utf8View, None)?.to_array(rows);
        let (texts, patterns) = (view(&args.args[0])?, view(&args.args[1])?);
        let (texts, patterns) = (texts.as_string_view(), patterns.as_string_view());
        let is_negated =
            matches!(self.operator, Operator::RegexNotMatch | Operator::RegexNotIMatch);
        let ignores_case =
            matches!(self.operator, Operator::RegexIMatch | Operator::RegexNotIMatch);
        let flags = if ignores_case { "i" } else { "" };
        let mut kept = Kept::default();
        let mut answers = BooleanBuilder::with_capacity(rows);
        for row in 0..rows {
            if texts.is_null(row) || patterns.is_null(row) {
                answers.append_null();
                continue;
            }
            let (expression, _) = kept.expression(patterns.value(row), flags)?;
            answers.append_value(expression.is_match(texts.value(row))? != is_negated);
        }
        let answers = answers.finish();
        Ok(match is_scalar {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&answers, 0)?),
            false => ColumnarValue::Array(Arc::new(answers)),
        })
    }

    fn schema_name(&self, args: &[Expr]) -> PlanResult<String> {
        Ok(self.spelled(args, |expr| expr.schema_name().to_string()))
    }

    fn display_name(&self, args: &[Expr]) -> PlanResult<String> {
        Ok(self.spelled(args, ToString::to_string))
    }
}
