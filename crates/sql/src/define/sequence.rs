//! CREATE SEQUENCE and DROP SEQUENCE.
//!
//! How far a sequence has come is kept under its number and outlives no sequence.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectName, SequenceOptions, Value,
    visit_expressions,
};

use crate::catalog::sequence::Options;
use crate::catalog::store::{Kind, NewObject, ObjectId};
use crate::catalog::stored;
use crate::context::StatementContext;
use crate::error::{Error, Result, SqlState};
use crate::names::{Name, PUBLIC, fold};
use crate::result::answer::{Notice, Outcome};
use crate::statement;

pub(super) fn create_sequence(
    context: &mut StatementContext,
    name: &ObjectName,
    if_not_exists: bool,
    options: &[SequenceOptions],
) -> Result<Outcome> {
    let catalog = context.catalog();
    let new = context.access(&catalog).new_name(name, context.current_schema())?;
    if catalog.has(new.name()) {
        let name = new.name();
        if if_not_exists {
            let text = format!("relation {name} already exists, skipping");
            let notice = Notice::new(SqlState::DUPLICATE_TABLE, text);
            return Ok(Outcome::notice("CREATE SEQUENCE", notice));
        }
        let text = format!("relation {name} already exists");
        return Err(Error::new(SqlState::DUPLICATE_TABLE, text));
    }
    add_sequence(context, new.name(), new.owner(), Options::from_ast(options)?)?;
    context.reload()?;
    Ok(Outcome::verb("CREATE SEQUENCE"))
}

/// Writes a new sequence down.
pub(super) fn add_sequence(
    context: &mut StatementContext,
    name: &Name,
    owner: Option<ObjectId>,
    options: Options,
) -> Result<ObjectId> {
    let transaction = context.defining_transaction()?;
    let definition = stored::write(&options.to_stored())?;
    let (store, tx) = (&context.database.store, transaction.writing()?);
    let kind = Kind::Sequence;
    store.add(&tx, NewObject { kind, name, owner, engine: None, definition: &definition })
}

pub(super) fn drop_sequence(
    context: &mut StatementContext,
    name: &ObjectName,
    if_exists: bool,
) -> Result<()> {
    let catalog = context.catalog();
    let names = context.names_in_path(name)?;
    let found = names.iter().find(|name| catalog.id_of(Kind::Sequence, name).is_some());
    let Some(name) = found else {
        if if_exists {
            return Ok(());
        }
        let text = format!("sequence {} does not exist", names[0]);
        return Err(Error::new(SqlState::UNKNOWN_TABLE, text));
    };
    if let Some(sequence) = catalog.sequences.get(name) {
        context.access(&catalog).check_owner("sequence", &name.name, sequence.owner)?;
        if let Some((table, column)) = &sequence.belongs_to {
            let text = format!(
                "cannot drop sequence {name} because column {column} of {table} requires it"
            );
            return Err(Error::new(SqlState::DEPENDENT_OBJECTS, text));
        }
        for table in catalog.tables.values() {
            let uses = table.columns.iter().find(|column| {
                column.default.as_ref().is_some_and(|default| takes_from(default, name))
            });
            if let Some(column) = uses {
                let user = format!("the default of column {} of {}", column.name, table.name);
                let text = format!("cannot drop sequence {name} because {user} uses it");
                return Err(Error::new(SqlState::DEPENDENT_OBJECTS, text));
            }
        }
    }
    drop_sequence_as(context, &name.clone())
}

/// Drops a sequence, one that is set aside too.
pub(super) fn drop_sequence_as(context: &mut StatementContext, name: &Name) -> Result<()> {
    let catalog = context.catalog();
    let Some(id) = catalog.id_of(Kind::Sequence, name) else { return Ok(()) };
    let owner = catalog.sequences.get(name).and_then(|sequence| sequence.owner);
    context.access(&catalog).check_owner("sequence", &name.name, owner)?;
    let transaction = context.defining_transaction()?;
    context.database.store.remove(&*transaction.writing()?, id)?;
    context.reload()
}

/// Drops a sequence because of where it is: whoever owns that may.
pub(super) fn drop_dependent_sequence(context: &mut StatementContext, name: &Name) -> Result<()> {
    let actor = std::mem::replace(&mut context.actor, crate::catalog::role::Actor::Program);
    let dropped = drop_sequence_as(context, name);
    context.actor = actor;
    dropped
}

/// Whether an expression takes numbers from a sequence.
fn takes_from(expression: &Expr, sequence: &Name) -> bool {
    let found = visit_expressions(expression, |part| {
        let Expr::Function(function) = part else { return ControlFlow::Continue(()) };
        let last = function.name.0.last().and_then(|part| part.as_ident()).map(fold);
        let FunctionArguments::List(list) = &function.args else {
            return ControlFlow::Continue(());
        };
        let named = list.args.first().and_then(|arg| match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value))) => match &value.value {
                Value::SingleQuotedString(text) => statement::parse_name(text).ok(),
                _ => None,
            },
            _ => None,
        });
        let is_it = last.as_deref() == Some("nextval")
            && named.is_some_and(|named| {
                let schemas = [PUBLIC, sequence.schema.as_str()];
                schemas.iter().any(|s| Name::from_ast(&named, s).is_ok_and(|n| n == *sequence))
            });
        if is_it { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    found.is_break()
}
