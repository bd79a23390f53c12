//! CHAR in comparisons and patterns, as PostgreSQL has it: blanks at its end say nothing where it
//! is compared, and are there where a pattern or a function looks at letters.
//!
//! Values are kept without blanks ([`crate::values::blanks`]), so most comes by itself: CHAR beside
//! CHAR, and CHAR as text. What is left is here: constants and VARCHAR that CHAR is compared with
//! lose their blanks, and what looks at all letters is given them.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::datatypes::Field;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{ExprSchema, ScalarValue};
use datafusion::error::Result as PlanResult;
use datafusion::functions::string::rtrim;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprSchemable, Like, LogicalPlan, Operator, ScalarUDF,
};
use datafusion::optimizer::AnalyzerRule;

use super::floats::{BesideEachOther, beside_each_other};
use crate::catalog::table::type_of_field;
use crate::functions::expressions::rewrite_all;
use crate::functions::texts::{cut, pad};
use crate::values::blanks;
use crate::values::sql_type::SqlType;

/// Functions that are given CHAR as it is shown.
const SEE_BLANKS: [&str; 3] = ["octet_length", "concat", "concat_ws"];

/// The rule.
#[derive(Debug)]
pub(crate) struct BlanksOfChar;

impl AnalyzerRule for BlanksOfChar {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> PlanResult<LogicalPlan> {
        if !has_char(&plan)? {
            return Ok(plan);
        }
        rewrite_all(plan, |expr, schema| Ok(with_and_without(expr, schema)))
    }

    fn name(&self) -> &str {
        "blanks_of_char"
    }
}

/// Whether an operator has rows with CHAR in them.
fn has_char(plan: &LogicalPlan) -> PlanResult<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        found |= node.schema().fields().iter().any(|field| is_char(field));
        if let LogicalPlan::TableScan(scan) = node {
            found |= scan.source.schema().fields().iter().any(|field| is_char(field));
        }
        // A cast's CHAR may be in a condition alone.
        node.apply_expressions(|expr| {
            found |= expr.exists(|expr| Ok(is_cut(expr)))?;
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

fn is_char(field: &Field) -> bool {
    !field.metadata().is_empty() && matches!(type_of_field(field), SqlType::Char(_))
}

fn is_cut(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(call) if call.func.name() == cut::CUT)
}

/// What an expression is, as far as blanks are concerned.
enum Operand {
    Char(u32),
    Varchar,
    Constant,
    Other,
}

impl Operand {
    fn of(expr: &Expr, schema: &dyn ExprSchema) -> Self {
        let sql_type = match expr {
            Expr::Literal(literal, _) if is_text(literal) => return Self::Constant,
            Expr::Alias(alias) => return Self::of(&alias.expr, schema),
            Expr::OuterReferenceColumn(field, _) => type_of_field(field),
            Expr::ScalarSubquery(query) => match query.subquery.schema().fields().first() {
                Some(field) => type_of_field(field),
                None => return Self::Other,
            },
            Expr::Column(column) => match schema.field_from_column(column) {
                Ok(field) => type_of_field(field),
                Err(_) => return Self::Other,
            },
            Expr::Case(case) => {
                let values = case.when_then_expr.iter().map(|(_, then)| then);
                let mut values = values.chain(case.else_expr.as_ref());
                let first = values.next().map_or(Self::Other, |value| Self::of(value, schema));
                let are_char = values.all(|it| matches!(Self::of(it, schema), Self::Char(_)));
                return if are_char { first } else { Self::Other };
            }
            cut if is_cut(cut) => match cut.to_field(schema) {
                Ok((_, field)) => type_of_field(&field),
                Err(_) => return Self::Other,
            },
            _ => return Self::Other,
        };
        match sql_type {
            SqlType::Char(length) => Self::Char(length),
            SqlType::Varchar(_) => Self::Varchar,
            _ => Self::Other,
        }
    }
}

fn is_text(literal: &ScalarValue) -> bool {
    matches!(literal.try_as_str(), Some(Some(_)))
}

fn with_and_without(mut expr: Expr, schema: &dyn ExprSchema) -> Transformed<Expr> {
    let mut changed = false;
    let is_nullif = matches!(&expr, Expr::ScalarFunction(call) if call.func.name() == "nullif");
    for (beside, operands) in beside_each_other(&mut expr) {
        if beside == BesideEachOther::Compared || is_nullif {
            for operands in by_column(operands) {
                changed |= take_blanks(operands, schema);
            }
        }
    }
    for operand in seen_whole(&mut expr) {
        if let Operand::Char(length) = Operand::of(operand, schema) {
            *operand = with_blanks(std::mem::take(operand), length);
            changed = true;
        }
    }
    if changed { Transformed::yes(expr) } else { Transformed::no(expr) }
}

/// What is compared with each other where rows are: the first of each, the second, and so on.
fn by_column(rows: Vec<&mut Expr>) -> Vec<Vec<&mut Expr>> {
    let width = |expr: &Expr| match expr {
        Expr::ScalarFunction(call) if call.func.name() == "struct" => Some(call.args.len()),
        _ => None,
    };
    let Some(columns) = rows.first().and_then(|row| width(row)) else { return vec![rows] };
    if rows.iter().any(|row| width(row) != Some(columns)) {
        return vec![rows];
    }
    let mut compared: Vec<Vec<&mut Expr>> = (0..columns).map(|_| Vec::new()).collect();
    for row in rows {
        if let Expr::ScalarFunction(call) = row {
            let values = call.args.iter_mut();
            compared.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
        }
    }
    compared
}

/// Takes the blanks off constants and VARCHAR that are compared with CHAR, beside which no other
/// text stands: that is compared as text.
fn take_blanks(operands: Vec<&mut Expr>, schema: &dyn ExprSchema) -> bool {
    let kinds: Vec<Operand> = operands.iter().map(|expr| Operand::of(expr, schema)).collect();
    let is_char = kinds.iter().any(|kind| matches!(kind, Operand::Char(_)));
    let is_text = kinds.iter().any(|kind| matches!(kind, Operand::Other));
    if !is_char || is_text {
        return false;
    }
    let mut changed = false;
    for (operand, kind) in operands.into_iter().zip(kinds) {
        match (kind, &mut *operand) {
            (Operand::Constant, Expr::Literal(literal, _)) => changed |= cut_constant(literal),
            (Operand::Varchar, varchar) => {
                let of = vec![std::mem::take(varchar)];
                *varchar = Expr::ScalarFunction(ScalarFunction::new_udf(rtrim(), of));
                changed = true;
            }
            _ => {}
        }
    }
    changed
}

/// Takes the blanks off a constant; says whether there were any.
fn cut_constant(literal: &mut ScalarValue) -> bool {
    let (ScalarValue::Utf8(Some(text))
    | ScalarValue::Utf8View(Some(text))
    | ScalarValue::LargeUtf8(Some(text))) = literal
    else {
        return false;
    };
    let length = blanks::without(text).len();
    let is_longer = length < text.len();
    text.truncate(length);
    is_longer
}

/// The operands of which all letters count.
fn seen_whole(expr: &mut Expr) -> Vec<&mut Expr> {
    use Operator as O;
    match expr {
        Expr::Like(like) if is_blind(like) => Vec::new(),
        Expr::Like(Like { expr, .. }) | Expr::SimilarTo(Like { expr, .. }) => vec![expr.as_mut()],
        Expr::BinaryExpr(BinaryExpr {
            left,
            op:
                O::RegexMatch
                | O::RegexIMatch
                | O::RegexNotMatch
                | O::RegexNotIMatch
                | O::LikeMatch
                | O::ILikeMatch
                | O::NotLikeMatch
                | O::NotILikeMatch,
            ..
        }) => {
            vec![left.as_mut()]
        }
        Expr::ScalarFunction(call) if SEE_BLANKS.contains(&call.func.name()) => {
            // What stands between others is text.
            let between = usize::from(call.func.name() == "concat_ws");
            call.args.iter_mut().skip(between).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether blanks at the end make no difference to a pattern: it ends with anything, and has
/// nothing before that could be one of them. So a search for a beginning can go by an index.
fn is_blind(like: &Like) -> bool {
    let Expr::Literal(pattern, _) = like.pattern.as_ref() else { return false };
    let Some(Some(pattern)) = pattern.try_as_str() else { return false };
    let before = pattern.trim_end_matches('%');
    before.len() < pattern.len() && !before.contains([' ', '_', '\\'])
}

/// CHAR as it is shown.
fn with_blanks(expr: Expr, length: u32) -> Expr {
    static RPAD: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
        let [_, right] = pad::functions();
        right
    });
    let length = Expr::Literal(ScalarValue::Int64(Some(i64::from(length))), None);
    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&RPAD), vec![expr, length]))
}
