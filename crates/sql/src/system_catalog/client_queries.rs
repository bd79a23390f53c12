//! Expressions of clients about the catalog, put into those that the binder understands.
//!
//! Types whose values are numbers shown as names become calls that say which of both is meant;
//! functions that give several rows become `unnest`; lists of what there is none of here become
//! empty ones.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    self, AccessExpr, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Query,
    Select, SelectItem, SetExpr, TableFactor, Value, visit_expressions,
};

use super::absent;
use super::pg_objects::{class_oid, type_by_name};
use crate::names::{Name, fold};

/// A cast to a type of numbers that are shown as names, as the expression that is meant.
pub(crate) fn cast(expr: &Expr, current_schema: &str) -> Option<Expr> {
    let Expr::Cast { expr: inner, data_type, .. } = expr else { return None };
    let to = last_word(data_type)?;
    let inner = unnested(inner);
    let literal = text_of(inner);
    match to.as_str() {
        "regclass" => Some(match (literal, inner) {
            (Some(text), _) => number(class_number(text, current_schema)),
            // What is compared is a number.
            (None, Expr::Value(value)) if matches!(value.value, Value::Placeholder(_)) => {
                call("regclass_number", inner)
            }
            _ => call("regclass_name", inner),
        }),
        "regtype" => Some(match literal {
            Some(text) => type_by_name(text).map_or_else(null, number),
            None => call("regtype_name", inner),
        }),
        "regnamespace" => Some(call("regnamespace_name", inner)),
        "regproc" | "regrole" if literal.is_none() => Some(inner.clone()),
        "oid" | "int4" | "integer" | "int" | "bigint" => match inner {
            Expr::Function(function) if is_named(function, "regclass_name") => {
                Some(call("regclass_number", first_argument(function)?))
            }
            _ => None,
        },
        _ => None,
    }
}

/// The number of the table that a text names, from a number or a name.
pub(crate) fn class_number(text: &str, current_schema: &str) -> i64 {
    if let Ok(number) = text.parse() {
        return number;
    }
    let plain = text.replace('"', "");
    class_oid(&match plain.split_once('.') {
        Some((schema, name)) => Name::new(schema, name),
        None if plain.starts_with("pg_") => Name::new("pg_catalog", plain.as_str()),
        None => Name::new(current_schema, plain.as_str()),
    })
}

/// A query for one object of JSON whose values come from inside and outside, as an object of
/// queries, which each can be taken apart from what is around them.
pub(crate) fn object(expr: &Expr) -> Option<Expr> {
    let Expr::Subquery(query) = expr else { return None };
    let SetExpr::Select(select) = query.body.as_ref() else { return None };
    let [SelectItem::ExprWithAlias { expr: item, .. } | SelectItem::UnnamedExpr(item)] =
        select.projection.as_slice()
    else {
        return None;
    };
    let Expr::Function(built) = item else { return None };
    let of_sequences = select.from.iter().all(|table| match &table.relation {
        TableFactor::Table { name, .. } => {
            let last = name.0.last().and_then(|part| part.as_ident()).map(fold);
            last.as_deref() == Some("pg_sequence")
        }
        _ => false,
    });
    if !is_named(built, "json_build_object") || !of_sequences {
        return None;
    }
    let mut object = built.clone();
    let FunctionArguments::List(list) = &mut object.args else { return None };
    for argument in &mut list.args {
        let FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) = argument else { return None };
        let Expr::CompoundIdentifier(parts) = &*value else { continue };
        if parts.iter().any(|part| fold(part) == "pg_sequence") {
            let mut one = query.clone();
            if let SetExpr::Select(select) = one.body.as_mut() {
                select.projection = vec![SelectItem::UnnamedExpr(value.clone())];
            }
            *value = Expr::Subquery(one);
        }
    }
    Some(Expr::Function(object))
}

/// The name of a function that stands where a table would, without the catalog's schema.
pub(crate) fn table_function(factor: &mut TableFactor) {
    if let TableFactor::Table { name, args: Some(_), .. } = factor
        && let [schema, function] = name.0.as_slice()
        && schema.as_ident().map(fold).as_deref() == Some("pg_catalog")
    {
        *name = ast::ObjectName(vec![function.clone()]);
    }
}

/// Functions that give several rows, lists made of a query, and queries that have no rows.
pub(crate) fn function(expr: &Expr, current_schema: &str) -> Option<Expr> {
    match expr {
        Expr::Function(function) => called(function, current_schema),
        Expr::Like { negated, any: false, expr, pattern, escape_char: Some(escape) } => {
            let pattern = Box::new(with_backslashes(pattern, &escape.value)?);
            let (negated, expr) = (*negated, expr.clone());
            Some(Expr::Like { negated, any: false, expr, pattern, escape_char: None })
        }
        Expr::Case { conditions, else_result, .. } => {
            let gives_json = |expr: &Expr| match unnested(expr) {
                Expr::Function(function) => is_named(function, "json_build_object"),
                _ => false,
            };
            let all = conditions.iter().all(|when| gives_json(&when.result));
            let nothing_else = else_result.as_deref().is_none_or(
                |expr| matches!(expr, Expr::Value(value) if value.value == Value::Null),
            );
            (all && nothing_else).then(|| call("as_json", expr))
        }
        Expr::Exists { subquery, negated } if is_about_nothing(subquery) => {
            Some(Expr::value(Value::Boolean(*negated)))
        }
        Expr::Subquery(query) if is_about_nothing(query) && !aggregates(query) => {
            crate::catalog::written::read_expression("nullif('', '')").ok()
        }
        Expr::CompoundFieldAccess { root, access_chain } => {
            let field = match access_chain.as_slice() {
                [AccessExpr::Dot(Expr::Identifier(field))] => field,
                [AccessExpr::Subscript(ast::Subscript::Index { index })] => {
                    return option_at(root, index);
                }
                [AccessExpr::Dot(list), AccessExpr::Subscript(ast::Subscript::Index { index })] => {
                    return option_at(list, index);
                }
                _ => return None,
            };
            match (unnested(root), fold(field).as_str()) {
                // Its parts have been rewritten already.
                (Expr::Function(function), "n") if is_named(function, "unnest") => {
                    Some(places(first_argument(function)?))
                }
                (keys @ Expr::Function(function), "x") if is_named(function, "unnest") => {
                    Some(keys.clone())
                }
                (Expr::CompoundIdentifier(parts), "x")
                    if parts.last().is_some_and(|part| fold(part) == "keys") =>
                {
                    Some(Expr::CompoundIdentifier(parts.clone()))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// A call of a function that the binder does not know.
fn called(function: &Function, current_schema: &str) -> Option<Expr> {
    match function {
        _ if is_named(function, "generate_subscripts") => Some(places(first_argument(function)?)),
        _ if is_named(function, "_pg_expandarray") => {
            Some(call("unnest", first_argument(function)?))
        }
        _ if is_named(function, "array") => {
            let FunctionArguments::Subquery(query) = &function.args else { return None };
            is_about_nothing(query).then(no_texts)
        }
        _ if is_named(function, "pg_partition_ancestors") => {
            crate::catalog::written::read_expression("unnest(array_remove(make_array(0), 0))").ok()
        }
        _ if is_named(function, "array_upper") => {
            let list = first_argument(function)?;
            Some(match list {
                Expr::Function(made) if is_named(made, "make_array") => match &made.args {
                    FunctionArguments::List(list) => number(list.args.len() as i64),
                    _ => return None,
                },
                list => call("cardinality", list),
            })
        }
        _ if is_named(function, "current_schemas") => {
            let with_system = matches!(first_argument(function)?, Expr::Value(value)
                if value.value == Value::Boolean(true));
            let current_schema = current_schema.replace('\'', "''");
            let text = match with_system {
                true => format!("make_array('pg_catalog', '{current_schema}')"),
                false => format!("make_array('{current_schema}')"),
            };
            crate::catalog::written::read_expression(&text).ok()
        }
        _ => None,
    }
}

/// A pattern of LIKE with backslashes in the places of another character that escapes.
fn with_backslashes(pattern: &Expr, escape: &Value) -> Option<Expr> {
    let Value::SingleQuotedString(escape) = escape else { return None };
    if escape.chars().count() != 1 || escape == "\\" {
        return None;
    }
    // Twice, it stands for itself, and is set aside meanwhile.
    let steps = [("\\", "\\\\"), (&format!("{escape}{escape}"), "\u{1}"), (escape, "\\")];
    let last = ("\u{1}", escape.as_str());
    let steps = steps.into_iter().chain([last]);
    steps.into_iter().try_fold(pattern.clone(), |text, (from, to)| {
        let mut replaced = call("replace", &text);
        let Expr::Function(Function { args: FunctionArguments::List(list), .. }) = &mut replaced
        else {
            return None;
        };
        for part in [from, to] {
            let part = Expr::value(Value::SingleQuotedString(part.to_owned()));
            list.args.push(FunctionArg::Unnamed(FunctionArgExpr::Expr(part)));
        }
        Some(replaced)
    })
}

/// An element of the options of an index, which are text here and counted from 0.
fn option_at(list: &Expr, index: &Expr) -> Option<Expr> {
    let name = last_name(unnested(list))?;
    if !name.ends_with("indoption") {
        return None;
    }
    let mut at = call("vector_element", list);
    if let Expr::Function(Function { args: FunctionArguments::List(list), .. }) = &mut at {
        list.args.push(FunctionArg::Unnamed(FunctionArgExpr::Expr(index.clone())));
    }
    Some(at)
}

/// Makes items that hold queries NULL where the rows come from a table that is always empty.
pub(crate) fn items_of_nothing(select: &mut Select) {
    if !comes_from_nothing(select) {
        return;
    }
    for item in &mut select.projection {
        if let SelectItem::ExprWithAlias { expr, .. } | SelectItem::UnnamedExpr(expr) = item
            && holds_query(expr)
        {
            *expr = crate::catalog::written::read_expression("nullif('', '')")
                .unwrap_or_else(|_| null());
        }
    }
}

fn comes_from_nothing(select: &Select) -> bool {
    use ast::JoinOperator::{Inner, Join};
    select.from.iter().any(|table| {
        let inner = table.joins.iter().all(|j| matches!(j.join_operator, Join(_) | Inner(_)));
        let joined = table.joins.iter().filter(|_| inner).map(|join| &join.relation);
        is_nothing(&table.relation) && !joins_widen(table) || joined.into_iter().any(is_nothing)
    })
}

/// Whether a join gives rows where the first table has none.
fn joins_widen(table: &ast::TableWithJoins) -> bool {
    use ast::JoinOperator::{FullOuter, Right, RightOuter};
    table.joins.iter().any(|j| matches!(j.join_operator, FullOuter(_) | Right(_) | RightOuter(_)))
}

fn holds_query(expr: &Expr) -> bool {
    let found = visit_expressions(expr, |expr| match expr {
        Expr::Subquery(_) | Expr::Exists { .. } => ControlFlow::Break(()),
        Expr::Function(Function { args: FunctionArguments::Subquery(_), .. }) => {
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// Whether a query is one row of aggregates.
fn aggregates(query: &Query) -> bool {
    const AGGREGATES: &[&str] = &[
        "array_agg",
        "avg",
        "bool_and",
        "bool_or",
        "count",
        "every",
        "json_agg",
        "max",
        "min",
        "string_agg",
        "sum",
    ];
    let found = visit_expressions(query, |expr| match expr {
        Expr::Function(function) if AGGREGATES.iter().any(|name| is_named(function, name)) => {
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// Whether a query has no rows, whatever is in the database.
fn is_about_nothing(query: &Query) -> bool {
    let SetExpr::Select(select) = query.body.as_ref() else { return false };
    let of_catalog = select.from.iter().any(|table| match &table.relation {
        TableFactor::Table { name, .. } => {
            let last = name.0.last().and_then(|part| part.as_ident()).map(fold);
            last.is_some_and(|last| ["pg_attribute", "pg_constraint"].contains(&last.as_str()))
        }
        _ => false,
    });
    let asks_for_none = select.selection.as_ref().is_some_and(|condition| {
        let found = visit_expressions(condition, |expr| match expr {
            Expr::IsNotNull(column) if last_name(column).as_deref() == Some("attacl") => {
                ControlFlow::Break(())
            }
            // Nothing is; where it stands alone, it is asked for.
            column
                if last_name(column)
                    .is_some_and(|name| name == "condeferrable" || name == "condeferred") =>
            {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        });
        found.is_break()
    });
    (of_catalog && asks_for_none) || comes_from_nothing(select)
}

fn is_nothing(factor: &TableFactor) -> bool {
    match factor {
        TableFactor::Table { name, args: None, .. } => {
            let last = name.0.last().and_then(|part| part.as_ident()).map(fold);
            last.is_some_and(|name| absent::columns(&name).is_some())
        }
        // The options of a table, of which none has any.
        TableFactor::Table { args: Some(args), .. } => args.args.iter().any(|arg| match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => {
                last_name(expr).as_deref() == Some("reloptions")
            }
            _ => false,
        }),
        TableFactor::UNNEST { array_exprs, .. } => {
            array_exprs.iter().any(|expr| last_name(expr).as_deref() == Some("reloptions"))
        }
        _ => false,
    }
}

fn last_name(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Identifier(ident) => Some(fold(ident)),
        Expr::CompoundIdentifier(parts) => parts.last().map(fold),
        _ => None,
    }
}

fn last_word(data_type: &ast::DataType) -> Option<String> {
    match data_type {
        ast::DataType::Regclass => Some("regclass".to_owned()),
        ast::DataType::Custom(name, _) => name.0.last().and_then(|part| part.as_ident()).map(fold),
        ast::DataType::Int(_) | ast::DataType::Integer(_) | ast::DataType::BigInt(_) => {
            Some("bigint".to_owned())
        }
        _ => None,
    }
}

fn unnested(expr: &Expr) -> &Expr {
    match expr {
        Expr::Nested(inner) => unnested(inner),
        other => other,
    }
}

fn text_of(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

fn is_named(function: &Function, name: &str) -> bool {
    let last = function.name.0.last().and_then(|part| part.as_ident());
    last.is_some_and(|last| last.quote_style.is_none() && fold(last) == name)
}

fn first_argument(function: &Function) -> Option<&Expr> {
    let FunctionArguments::List(list) = &function.args else { return None };
    match list.args.first()? {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    }
}

fn number(number: i64) -> Expr {
    Expr::value(Value::Number(number.to_string(), false))
}

fn null() -> Expr {
    Expr::value(Value::Null)
}

fn call(name: &str, argument: &Expr) -> Expr {
    let parsed = crate::catalog::written::read_expression(&format!("{name}(1)"));
    let Ok(Expr::Function(mut function)) = parsed else { return argument.clone() };
    if let FunctionArguments::List(list) = &mut function.args {
        list.args = vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(argument.clone()))];
    }
    Expr::Function(function)
}

/// The numbers of a list's elements, from 1, a row for each.
fn places(list: &Expr) -> Expr {
    let text = "unnest(generate_series(1, cardinality(1)))";
    let Ok(mut series) = crate::catalog::written::read_expression(text) else {
        return list.clone();
    };
    let _ = ast::visit_expressions_mut(&mut series, |expr| {
        if let Expr::Function(function) = expr
            && is_named(function, "cardinality")
        {
            *expr = call("cardinality", list);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    series
}

fn no_texts() -> Expr {
    let empty = crate::catalog::written::read_expression("array_remove(make_array(''), '')");
    empty.unwrap_or_else(|_| null())
}
