//! What a statement says that DataFusion's binder would not understand, or would pass over.
//!
//! Functions of the session become constants or learn whose session it is; types that are text in
//! rows become text. What would be ignored silently is refused.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use datafusion::sql::sqlparser::ast::{
    self, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Query, SelectItem, TableFactor,
    VisitMut, VisitorMut,
};

use super::{quantified, similar};
use crate::catalog::written::literal;
use crate::context::StatementContext;
use crate::context::block::Level;
use crate::context::settings::SERVER_VERSION;
use crate::error::{Error, Result, SqlState};
use crate::functions::texts::cut;
use crate::names::fold;
use crate::system_catalog::client_queries as catalog;
use crate::values::sql_type::SqlType;
use crate::values::text;

/// The query as the binder is to see it.
///
/// # Errors
/// `FEATURE_NOT_SUPPORTED`.
pub(crate) fn rewritten(context: &StatementContext, query: &Query) -> Result<Query> {
    let mut query = query.clone();
    rewrite(context, &mut query)?;
    Ok(query)
}

/// The expression as the binder is to see it.
///
/// # Errors
/// `FEATURE_NOT_SUPPORTED`.
pub(crate) fn rewritten_expression(context: &StatementContext, expression: &Expr) -> Result<Expr> {
    let mut expression = expression.clone();
    rewrite(context, &mut expression)?;
    Ok(expression)
}

pub(crate) fn rewrite(context: &StatementContext, node: &mut impl VisitMut) -> Result<()> {
    match node.visit(&mut Rewriter { context }) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

pub(super) fn is_serializable(context: &StatementContext) -> bool {
    let level = context.block.as_ref().map_or(context.settings.isolation, |block| block.isolation);
    level == Level::Serializable
}

struct Rewriter<'s> {
    context: &'s StatementContext,
}

impl Rewriter<'_> {
    /// The constant that a call without arguments, or its like, is in this session.
    fn constant(&self, name: &str) -> Option<Expr> {
        let constant = self.constant_of(name)?;
        self.context.has_own_constants.store(true, Ordering::Relaxed);
        Some(constant)
    }

    fn constant_of(&self, name: &str) -> Option<Expr> {
        let settings = &self.context.settings;
        let text = match name {
            "current_user" | "session_user" | "user" | "current_role" => settings.user.clone(),
            "current_schema" => self.context.current_schema().to_owned(),
            "current_database" | "current_catalog" => "remanent".to_owned(),
            "pg_backend_pid" => {
                let number = ast::Value::Number(self.context.process.to_string(), false);
                return Some(Expr::value(number));
            }
            "version" => {
                format!("PostgreSQL {SERVER_VERSION} (Remanent {})", env!("CARGO_PKG_VERSION"))
            }
            _ => return None,
        };
        Some(Expr::value(ast::Value::SingleQuotedString(text)))
    }

    /// Makes a subquery that selects a plain expression one that aggregates. What of its condition
    /// is about the rows around it alone is taken out and returned.
    fn single(&self, query: &mut Query) -> Option<Expr> {
        let plain = query.limit_clause.is_none() && query.order_by.is_none();
        let ast::SetExpr::Select(select) = query.body.as_mut() else { return None };
        let grouped = !matches!(&select.group_by, ast::GroupByExpr::Expressions(by, _)
            if by.is_empty());
        if !plain || grouped || select.distinct.is_some() || select.having.is_some() {
            return None;
        }
        let [item] = select.projection.as_mut_slice() else { return None };
        let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = item else {
            return None;
        };
        if self.aggregates(expr) {
            return None;
        }
        let call = format!("\"{}\"(1)", crate::functions::aggregates::single_value::NAME);
        let Ok(Expr::Function(mut function)) = crate::catalog::written::read_expression(&call)
        else {
            return None;
        };
        if let FunctionArguments::List(list) = &mut function.args {
            list.args = vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(expr.clone()))];
        }
        *expr = Expr::Function(function);
        take_outer(select)
    }

    /// Whether an expression aggregates or looks at other rows by itself.
    fn aggregates(&self, expr: &Expr) -> bool {
        let state = &self.context.state;
        let found = ast::visit_expressions(expr, |expr| match expr {
            Expr::Function(function) => {
                let last = function.name.0.last().and_then(|part| part.as_ident());
                let name = last.map(fold).unwrap_or_default();
                let aggregates = state.aggregate_functions().contains_key(&name);
                match aggregates || function.over.is_some() {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            }
            _ => ControlFlow::Continue(()),
        });
        found.is_break()
    }

    fn function(&self, expr: &mut Expr) -> ControlFlow<Error> {
        let Expr::Function(function) = expr else { return ControlFlow::Continue(()) };
        let parts: Vec<String> =
            function.name.0.iter().filter_map(|part| part.as_ident().map(fold)).collect();
        let name = match parts.as_slice() {
            [name] => name.clone(),
            [schema, name] if schema == "pg_catalog" || schema == "information_schema" => {
                function.name = ast::ObjectName::from(vec![ast::Ident::new(name)]);
                name.clone()
            }
            _ => return ControlFlow::Continue(()),
        };
        if self.context.state.aggregate_functions().contains_key(&name)
            && let FunctionArguments::List(list) = &mut function.args
        {
            // Aggregates are told apart by the names of what they are made of, without casts.
            for arg in &mut list.args {
                if let FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) = arg
                    && let Expr::Cast { data_type, .. } = &*expr
                {
                    let to = data_type.to_string();
                    name_cast(expr, &to)?;
                }
            }
        }
        let no_args =
            matches!(&function.args, FunctionArguments::List(list) if list.args.is_empty());
        if NEED_ARGUMENTS.contains(&name.as_str()) && no_args {
            let text = format!("function {name}() does not exist");
            return ControlFlow::Break(Error::new(SqlState::UNKNOWN_FUNCTION, text));
        }
        if let Some(data_type) = whole_type(&name).filter(|_| function.over.is_some()) {
            let array = false;
            let (kind, inner) = (ast::CastKind::Cast, Box::new(expr.clone()));
            *expr = Expr::Cast { kind, expr: inner, data_type, array, format: None };
        } else if name == "age"
            && let FunctionArguments::List(list) = &mut function.args
            && list.args.len() == 1
        {
            // Of one moment, from it to this midnight.
            let today = crate::catalog::written::read_expression("current_date");
            let today = today.map(|today| FunctionArg::Unnamed(FunctionArgExpr::Expr(today)));
            list.args.splice(0..0, today.ok());
        } else if let Some(constant) = self.constant(&name) {
            *expr = constant;
        } else if name == "current_setting"
            && let FunctionArguments::List(list) = &function.args
            && let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value)))) =
                list.args.first()
            && let ast::Value::SingleQuotedString(setting) = &value.value
        {
            let value = self.context.setting(setting);
            self.context.has_own_constants.store(true, Ordering::Relaxed);
            *expr = Expr::value(value.map_or(ast::Value::Null, ast::Value::SingleQuotedString));
        }
        ControlFlow::Continue(())
    }
}

/// Takes the conditions out of a WHERE clause that name tables around the query alone.
fn take_outer(select: &mut ast::Select) -> Option<Expr> {
    let mut inner = Vec::new();
    let factors = select.from.iter().flat_map(|table| {
        std::iter::once(&table.relation).chain(table.joins.iter().map(|join| &join.relation))
    });
    for factor in factors {
        let TableFactor::Table { name, alias, .. } = factor else { return None };
        let last = name.0.last().and_then(|part| part.as_ident());
        inner.push(alias.as_ref().map_or_else(|| last.map(fold), |alias| Some(fold(&alias.name)))?);
    }
    let mut conditions = Vec::new();
    split(select.selection.take()?, &mut conditions);
    let is_outer = |condition: &Expr| {
        let mut named = false;
        let foreign = ast::visit_expressions(condition, |expr| match expr {
            Expr::CompoundIdentifier(parts)
                if parts.len() > 1 && !inner.contains(&fold(&parts[parts.len() - 2])) =>
            {
                named = true;
                ControlFlow::Continue(())
            }
            Expr::CompoundIdentifier(_) | Expr::Identifier(_) | Expr::Subquery(_) => {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        });
        foreign.is_continue() && named
    };
    let (outer, kept): (Vec<Expr>, Vec<Expr>) = conditions.into_iter().partition(is_outer);
    select.selection = all_of(kept);
    all_of(outer)
}

fn split(condition: Expr, out: &mut Vec<Expr>) {
    match condition {
        Expr::BinaryOp { left, op: ast::BinaryOperator::And, right } => {
            split(*left, out);
            split(*right, out);
        }
        Expr::Nested(inner) => split(*inner, out),
        other => out.push(other),
    }
}

fn all_of(conditions: Vec<Expr>) -> Option<Expr> {
    conditions.into_iter().reduce(|left, right| Expr::BinaryOp {
        left: Box::new(left),
        op: ast::BinaryOperator::And,
        right: Box::new(right),
    })
}

/// Text is compared by its bytes, which is what these ask for.
fn is_plain_collation(collation: &ast::ObjectName) -> bool {
    let last = collation.0.last().and_then(|part| part.as_ident()).map(fold).unwrap_or_default();
    ["default", "c", "posix", "ucs_basic"].contains(&last.as_str())
}

/// `OPERATOR(pg_catalog.~)` and its like as the operator itself.
fn plain_operator(op: &mut ast::BinaryOperator) -> ControlFlow<Error> {
    use ast::BinaryOperator as Op;
    let Op::PGCustomBinaryOperator(parts) = op else { return ControlFlow::Continue(()) };
    *op = match parts.last().map(String::as_str) {
        Some("~") => Op::PGRegexMatch,
        Some("!~") => Op::PGRegexNotMatch,
        Some("~*") => Op::PGRegexIMatch,
        Some("!~*") => Op::PGRegexNotIMatch,
        Some("=") => Op::Eq,
        Some("<>") => Op::NotEq,
        _ => return ControlFlow::Break(Error::unsupported(format!("the operator {op}"))),
    };
    ControlFlow::Continue(())
}

/// The type by which the binder knows one that is text in rows.
fn known_type(data_type: &mut ast::DataType) {
    let known = match data_type {
        ast::DataType::Uuid
        | ast::DataType::JSON
        | ast::DataType::JSONB
        | ast::DataType::Regclass => ast::DataType::Text,
        ast::DataType::Array(ast::ArrayElemTypeDef::SquareBracket(element, _)) => {
            return known_type(element);
        }
        ast::DataType::Custom(name, _) => {
            match fold(name.0.last().and_then(|part| part.as_ident()).unwrap_or(&"".into()))
                .as_str()
            {
                "regclass" | "regtype" | "regproc" | "regnamespace" | "name" | "bpchar"
                | "json" | "jsonb" | "uuid" | "char" | "citext" | "text" | "varchar" => {
                    ast::DataType::Text
                }
                "float8" => ast::DataType::DoublePrecision,
                "float4" => ast::DataType::Real,
                "oid" | "xid" | "cid" | "int4" | "serial" => ast::DataType::BigInt(None),
                "int2" => ast::DataType::SmallInt(None),
                "int8" | "bigserial" => ast::DataType::BigInt(None),
                "bool" => ast::DataType::Boolean,
                "timestamptz" => ast::DataType::Timestamp(None, ast::TimezoneInfo::WithTimeZone),
                _ => return,
            }
        }
        _ => return,
    };
    *data_type = known;
}

/// Text that is cast to a list, as a list.
fn list_of(text: &Expr, data_type: &ast::DataType) -> Option<Result<Expr>> {
    let ast::DataType::Array(_) = data_type else { return None };
    let Expr::Value(value) = text else { return None };
    let ast::Value::SingleQuotedString(text) = &value.value else { return None };
    let parsed = SqlType::from_ast(data_type).and_then(|to| text::parse(text, &to));
    Some(parsed.map(|datum| literal(&datum)))
}

/// Items of a select list, as in PostgreSQL: what names and orders columns takes time by the square
/// of how many there are.
const ITEMS_MAX: usize = 1664;

/// `GROUP BY (a, b)` is `GROUP BY a, b`, not one by a row of both.
fn keys_of_lists(select: &mut ast::Select) {
    let ast::GroupByExpr::Expressions(keys, _) = &mut select.group_by else { return };
    if keys.iter().any(|key| matches!(key, Expr::Tuple(_))) {
        let all = std::mem::take(keys).into_iter();
        keys.extend(all.flat_map(|key| match key {
            Expr::Tuple(keys) => keys,
            key => vec![key],
        }));
        if keys.is_empty() {
            // One group of all rows, which is there even of none.
            keys.push(Expr::GroupingSets(vec![Vec::new()]));
        }
    }
}

/// A series that is selected is a row for each of its values; DataFusion's is a list.
fn rows_of_series(item: &mut SelectItem) {
    let SelectItem::ExprWithAlias { expr, .. } = item else { return };
    let Expr::Function(function) = &*expr else { return };
    let last = function.name.0.last().and_then(|part| part.as_ident()).map(fold);
    if last.as_deref() != Some("generate_series") || function.over.is_some() {
        return;
    }
    if let Ok(Expr::Function(mut rows)) = crate::catalog::written::read_expression("unnest(1)") {
        if let FunctionArguments::List(list) = &mut rows.args {
            list.args = vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(expr.clone()))];
        }
        *expr = Expr::Function(rows);
    }
}

/// The text of a type that limits the length of text, which is text to the binder.
fn limited(data_type: &mut ast::DataType) -> ControlFlow<Error, Option<String>> {
    use ast::DataType as Ast;
    if !matches!(
        data_type,
        Ast::Char(_) | Ast::Character(_) | Ast::Varchar(_) | Ast::CharacterVarying(_)
    ) {
        return ControlFlow::Continue(None);
    }
    let of = match SqlType::from_ast(data_type) {
        Ok(SqlType::Text) => return ControlFlow::Continue(None),
        Ok(of) => of,
        Err(error) => return ControlFlow::Break(error),
    };
    *data_type = Ast::Text;
    ControlFlow::Continue(Some(of.to_string()))
}

/// The same of what is cast to an interval.
fn plain_interval_of(expr: &mut Expr, to: &ast::DataType) {
    if matches!(to, ast::DataType::Interval { .. }) {
        plain_interval(expr);
    }
}

/// The text of an interval, as the binder reads it.
fn plain_interval(expr: &mut Expr) {
    if let Expr::Value(value) = expr
        && let ast::Value::SingleQuotedString(text) = &mut value.value
        && let Some(words) = crate::functions::in_words(text)
    {
        *text = words;
    }
}

/// Puts a name around a cast of anything but a constant to a type, which is spelled as it was
/// written.
fn named_cast(expr: &mut Expr, to: &str) -> ControlFlow<Error> {
    let Expr::Cast { expr: inner, .. } = &*expr else {
        return ControlFlow::Continue(());
    };
    if matches!(**inner, Expr::Value(_)) {
        return ControlFlow::Continue(());
    }
    name_cast(expr, to)
}

/// Puts a name around a cast of anything.
fn name_cast(expr: &mut Expr, to: &str) -> ControlFlow<Error> {
    call_with_type(crate::rules::coercion::literals::NAMED_CAST, expr, to)
}

/// Puts a call around an expression, of a function that is given a type, too.
fn call_with_type(function: &str, expr: &mut Expr, to: &str) -> ControlFlow<Error> {
    let to = to.replace('\'', "");
    let call = format!("\"{function}\"(1, '{to}')");
    match crate::catalog::written::read_expression(&call) {
        Ok(Expr::Function(mut function)) => {
            if let FunctionArguments::List(list) = &mut function.args
                && let Some(first) = list.args.first_mut()
            {
                *first = FunctionArg::Unnamed(FunctionArgExpr::Expr(expr.clone()));
            }
            *expr = Expr::Function(function);
            ControlFlow::Continue(())
        }
        Ok(_) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(error),
    }
}

/// A number with more digits than a numeric has, before the point or behind it, as a float.
fn far_number(value: &ast::Value) -> Option<Expr> {
    let ast::Value::Number(number, _) = value else { return None };
    number.contains(['e', 'E']).then_some(())?;
    if text::parse_decimal(number).is_some_and(|(_, scale)| scale <= 38) {
        return None;
    }
    let call = format!("CAST('{number}' AS DOUBLE PRECISION)");
    crate::catalog::written::read_expression(&call).ok()
}

/// Takes the type off a sequence's name: `nextval('s'::regclass)`.
fn name_sequence(function: &mut ast::Function) {
    let last = function.name.0.last().and_then(|part| part.as_ident()).map(fold);
    if !["nextval", "currval", "setval"].contains(&last.unwrap_or_default().as_str()) {
        return;
    }
    if let FunctionArguments::List(list) = &mut function.args
        && let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))) = list.args.first_mut()
        && let Expr::Cast { expr: name, data_type, .. } = &*argument
        && matches!(&**name, Expr::Value(_))
        && data_type.to_string().to_lowercase().ends_with("regclass")
    {
        *argument = name.as_ref().clone();
    }
}

/// Functions of windows that the planner takes to have an argument without looking.
const NEED_ARGUMENTS: [&str; 6] =
    ["first_value", "last_value", "nth_value", "ntile", "lag", "lead"];

/// The type of a window function whose numbers the planner takes for unsigned.
fn whole_type(name: &str) -> Option<ast::DataType> {
    match name {
        "row_number" | "rank" | "dense_rank" => Some(ast::DataType::BigInt(None)),
        "ntile" => Some(ast::DataType::Integer(None)),
        _ => None,
    }
}

impl VisitorMut for Rewriter<'_> {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        if !query.locks.is_empty() {
            if !is_serializable(self.context) {
                return ControlFlow::Break(
                    Error::unsupported("FOR UPDATE below serializable isolation").hint(
                        "Serializable transactions need no locks: what they read holds at COMMIT.",
                    ),
                );
            }
            // What a serializable transaction reads has not changed at its commit, or it fails.
            query.locks.clear();
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        for plain in [quantified::plain, similar::matching] {
            match plain(expr) {
                Ok(Some(plain)) => *expr = plain,
                Ok(None) => {}
                Err(error) => return ControlFlow::Break(error),
            }
        }
        if let Some(object) = catalog::object(expr) {
            *expr = object;
        }
        if let Expr::Function(function) = expr {
            name_sequence(function);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        catalog::table_function(factor);
        match factor {
            TableFactor::Table { sample: Some(_), .. }
            | TableFactor::Derived { sample: Some(_), .. } => {
                ControlFlow::Break(Error::unsupported("TABLESAMPLE"))
            }
            TableFactor::Table { version: Some(_), .. } => {
                ControlFlow::Break(Error::unsupported("a table at another time"))
            }
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_select(&mut self, select: &mut ast::Select) -> ControlFlow<Error> {
        if select.projection.len() > ITEMS_MAX {
            let text = format!("target lists can have at most {ITEMS_MAX} entries");
            return ControlFlow::Break(Error::new(SqlState::TOO_MANY_COLUMNS, text));
        }
        super::items::name(self.context, select);
        keys_of_lists(select);
        select.projection.iter_mut().for_each(rows_of_series);
        catalog::items_of_nothing(select);
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        if let Err(stopped) = self.context.check_cancelled() {
            return ControlFlow::Break(stopped);
        }
        let meant = catalog::cast(expr, self.context.current_schema())
            .or_else(|| catalog::function(expr, self.context.current_schema()));
        if let Some(meant) = meant {
            *expr = meant;
            return ControlFlow::Continue(());
        }
        match expr {
            Expr::Cast { data_type, expr: inner, .. } => {
                plain_interval_of(inner, data_type);
                if let Some(list) = list_of(inner, data_type) {
                    match list {
                        Ok(list) => **inner = list,
                        Err(error) => return ControlFlow::Break(error),
                    }
                }
                let to = data_type.to_string();
                if let Some(of) = limited(data_type)? {
                    return call_with_type(cut::CUT, expr, &of);
                }
                known_type(data_type);
                if let (ast::DataType::Custom(..), Err(error)) =
                    (&*data_type, SqlType::from_ast(data_type))
                {
                    return ControlFlow::Break(error);
                }
                return named_cast(expr, &to);
            }
            Expr::TypedString(typed) => known_type(&mut typed.data_type),
            Expr::Interval(interval) => plain_interval(&mut interval.value),
            Expr::Subquery(query) => {
                if let Some(condition) = self.single(query) {
                    *expr = Expr::Case {
                        case_token: ast::helpers::attached_token::AttachedToken::empty(),
                        end_token: ast::helpers::attached_token::AttachedToken::empty(),
                        operand: None,
                        conditions: vec![ast::CaseWhen { condition, result: expr.clone() }],
                        else_result: None,
                    };
                }
            }
            Expr::Collate { expr: inner, collation } if is_plain_collation(collation) => {
                *expr = (**inner).clone();
            }
            Expr::BinaryOp { op: op @ ast::BinaryOperator::PGCustomBinaryOperator(_), .. } => {
                return plain_operator(op);
            }
            Expr::Function(_) => return self.function(expr),
            Expr::Value(value) => {
                if let Some(float) = far_number(&value.value) {
                    *expr = float;
                }
            }
            Expr::Identifier(ident) if ident.quote_style.is_none() => {
                let name = ident.value.to_lowercase();
                if ["current_user", "session_user", "current_role", "current_catalog"]
                    .contains(&name.as_str())
                    && let Some(constant) = self.constant(&name)
                {
                    *expr = constant;
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
