//! CREATE VIEW and DROP VIEW.
//!
//! A view is kept as its query with what each name in it means, and what its columns are. So it
//! says the same whoever reads it and whatever is made beside it, and it reads with its owner's
//! rights.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{CreateView, ObjectName, Query};

use crate::catalog::snapshot::View;
use crate::catalog::store::{Kind, NewObject, Object, ObjectId};
use crate::catalog::stored::{self, StoredOutput, StoredView};
use crate::catalog::{legacy, written};
use crate::context::StatementContext;
use crate::define::DropOptions;
use crate::define::dependents;
use crate::define::number_table;
use crate::define::rewrite_object;
use crate::define::transaction;
use crate::error::{Error, Result, SqlState};
use crate::names::shown;
use crate::names::{Name, fold, quoted};
use crate::privileges::NewName;
use crate::query::binder::Binder;
use crate::query::rewrite;
use crate::query::select::parameter_types;
use crate::result::answer::{Notice, Outcome};
use crate::result::rows::columns_of;
use crate::values::sql_type::SqlType;

pub(super) fn create_view(context: &mut StatementContext, create: &CreateView) -> Result<Outcome> {
    if create.materialized || create.temporary {
        return Err(Error::unsupported("a materialized or temporary view"));
    }
    let catalog = context.catalog();
    let new = context.access(&catalog).new_name(&create.name, context.current_schema())?;
    let name = new.name().clone();
    let before = catalog.id_of(Kind::View, &name);
    if catalog.has(&name) && !(create.or_replace && before.is_some()) {
        if create.if_not_exists {
            let text = format!("relation {name} already exists, skipping");
            let notice = Notice::new(SqlState::DUPLICATE_TABLE, text);
            return Ok(Outcome::notice("CREATE VIEW", notice));
        }
        let text = format!("relation {name} already exists");
        return Err(Error::new(SqlState::DUPLICATE_TABLE, text));
    }
    let given: Vec<String> = create.columns.iter().map(|column| fold(&column.name)).collect();
    let stored = bound_view(context, &create.query, &given)?;
    put_view(context, &new, before, &stored)?;
    let catalog = context.catalog();
    let made = catalog.views.get(&name).cloned();
    let made = made.ok_or_else(|| Error::internal("a view that cannot be read back"))?;
    // What was kept has to say what was meant, with the rights that the view's owner has.
    let owner = crate::catalog::role::Actor::owner(made.owner);
    let (name, access) = (written::read_query(&as_query(&made))?, context.access(&catalog));
    Binder::new(context, access.of(owner)).bind(name)?;
    check_view_says(context, &made)?;
    if before.is_some() {
        dependents::check_dependents(context, Some(made.id))?;
    }
    Ok(Outcome::verb("CREATE VIEW"))
}

fn put_view(
    context: &mut StatementContext,
    new: &NewName,
    before: Option<ObjectId>,
    view: &StoredView,
) -> Result<()> {
    let transaction = context.defining_transaction()?;
    let definition = stored::write(view)?;
    match before {
        None => {
            let (store, tx) = (&context.database.store, transaction.writing()?);
            let (kind, name, owner) = (Kind::View, new.name(), new.owner());
            let new = NewObject { kind, name, owner, engine: None, definition: &definition };
            store.add(&tx, new)?;
        }
        Some(id) => {
            let access = (context.actor, context.catalog());
            rewrite_object(context, id, |object: &mut Object| {
                let (actor, catalog) = access;
                let access = crate::privileges::Access { catalog: &catalog, actor, path: &[] };
                access.check_owner("view", &object.name.name, object.owner)?;
                object.definition = definition;
                Ok(())
            })?;
        }
    }
    context.reload()
}

/// Writes views of an older version down as views are kept now. One that cannot be bound stays
/// as it is; one may need another.
///
/// # Errors
/// As the engine.
pub(crate) fn take_over_views(context: &mut StatementContext) -> Result<()> {
    transaction::define_alone(context, |context| {
        loop {
            let transaction = context.defining_transaction()?;
            let contents = context.database.store.contents(&*transaction.reading()?)?;
            let views = contents.objects.into_iter().filter(|object| object.kind == Kind::View);
            let mut taken = 0;
            for object in views {
                if stored::read::<StoredView>(&object.definition).is_ok() {
                    continue;
                }
                let bound = legacy::view(&object.definition)
                    .and_then(|(given, query)| bound_view(context, &query, &given));
                let Ok(bound) = bound else { continue };
                rewrite_object(context, object.id, |object| {
                    object.definition = stored::write(&bound)?;
                    Ok(())
                })?;
                taken += 1;
            }
            context.reload()?;
            if taken == 0 {
                return Ok(());
            }
        }
    })
}

/// A query as a view keeps it, with names for its first columns.
pub(crate) fn bound_view(
    context: &mut StatementContext,
    query: &Query,
    given: &[String],
) -> Result<StoredView> {
    let (columns, names) = loop {
        let rewritten = rewrite::rewritten(context, query)?;
        let catalog = context.catalog();
        let binder = Binder::of(context, &catalog);
        let plan = binder.bind(rewritten)?;
        let (names, unnumbered) = binder.meanings();
        if !parameter_types(&plan, &[])?.is_empty() {
            let text = "a view has no parameters";
            return Err(Error::new(SqlState::BAD_DEFINITION, text));
        }
        if unnumbered.is_empty() {
            let sources: Vec<String> =
                plan.schema().fields().iter().map(|field| field.name().clone()).collect();
            break (sources.into_iter().zip(types_of(context, plan)?).collect::<Vec<_>>(), names);
        }
        for table in unnumbered {
            number_table(context, &table)?;
        }
    };
    if given.len() > columns.len() {
        let text = "CREATE VIEW specifies more column names than columns";
        return Err(Error::new(SqlState::SYNTAX_ERROR, text));
    }
    let mut outputs: Vec<StoredOutput> = Vec::new();
    for (place, (source, sql_type)) in columns.into_iter().enumerate() {
        let name = given.get(place).cloned().unwrap_or_else(|| shown(&source).to_owned());
        if outputs.iter().any(|other| other.name == name || other.source == source) {
            let text = format!("column {} specified more than once", quoted(&name));
            return Err(Error::new(SqlState::DUPLICATE_COLUMN, text));
        }
        let sql_type = sql_type.to_string();
        written::read_type(&sql_type).and_then(|read| SqlType::from_ast(&read))?;
        outputs.push(StoredOutput { name, source, sql_type });
    }
    Ok(StoredView { columns: outputs, query: written::query(query)?, names })
}

/// The types of a plan's columns, as they are when it runs.
fn types_of(
    context: &StatementContext,
    plan: datafusion::logical_expr::LogicalPlan,
) -> Result<Vec<SqlType>> {
    let config = context.state.config_options();
    let analyzed = context.state.analyzer().execute_and_check(plan.clone(), config, |_, _| {});
    let schema = analyzed.unwrap_or(plan).schema().as_arrow().clone();
    let types = columns_of(&Arc::new(schema));
    Ok(types
        .iter()
        .map(|column| match &column.sql_type {
            SqlType::Unknown => SqlType::Text,
            known => known.clone(),
        })
        .collect())
}

/// Checks that a view gives the columns that it is said to have.
pub(super) fn check_view_says(context: &mut StatementContext, view: &Arc<View>) -> Result<()> {
    let catalog = context.catalog();
    let query = written::read_query(&as_query(view))?;
    let plan = Binder::of(context, &catalog).describing().bind(query)?;
    let types = types_of(context, plan)?;
    let same = types.len() == view.columns.len()
        && types.iter().zip(&view.columns).all(|(now, column)| *now == column.sql_type);
    match same {
        true => Ok(()),
        false => {
            let text = format!("the columns of view {} would change", view.name);
            Err(Error::new(SqlState::DEPENDENT_OBJECTS, text))
        }
    }
}

pub(super) fn drop_view(
    context: &mut StatementContext,
    name: &ObjectName,
    options: DropOptions,
) -> Result<()> {
    let catalog = context.catalog();
    let names = context.names_in_path(name)?;
    let found = names.iter().find(|name| catalog.id_of(Kind::View, name).is_some());
    if let Some(name) = found {
        return drop_view_as(context, name, options.cascade);
    }
    let name = &names[0];
    if options.if_exists && !catalog.tables.contains_key(name) {
        return Ok(());
    }
    let (state, text) = match catalog.tables.contains_key(name) {
        true => (SqlState::WRONG_OBJECT, format!("{name} is not a view")),
        false => (SqlState::UNKNOWN_TABLE, format!("view {name} does not exist")),
    };
    Err(Error::new(state, text))
}

/// Drops a view, one that is set aside too.
pub(super) fn drop_view_as(
    context: &mut StatementContext,
    name: &Name,
    cascade: bool,
) -> Result<()> {
    let catalog = context.catalog();
    let Some(id) = catalog.id_of(Kind::View, name) else { return Ok(()) };
    let transaction = context.defining_transaction()?;
    let contents = context.database.store.contents(&*transaction.reading()?)?;
    let owner = contents.objects.iter().find(|object| object.id == id);
    let owner = owner.and_then(|object| object.owner);
    context.access(&catalog).check_owner("view", &name.name, owner)?;
    let dependents: Vec<Name> = catalog
        .views
        .values()
        .filter(|view| view.reads(Some(id)))
        .map(|view| view.name.clone())
        .collect();
    if let (Some(other), false) = (dependents.first(), cascade) {
        let text = format!("cannot drop view {name} because other objects depend on it");
        return Err(Error::new(SqlState::DEPENDENT_OBJECTS, text)
            .detail(format!("view {other} depends on it"))
            .hint("Write CASCADE to drop them too."));
    }
    for dependent in dependents {
        drop_dependent_view(context, &dependent)?;
    }
    context.database.store.remove(&*transaction.writing()?, id)?;
    context.reload()
}

/// Drops a view because of what it reads: whoever owns that may, as in PostgreSQL.
pub(super) fn drop_dependent_view(context: &mut StatementContext, name: &Name) -> Result<()> {
    let actor = std::mem::replace(&mut context.actor, crate::catalog::role::Actor::Program);
    let dropped = drop_view_as(context, name, true);
    context.actor = actor;
    dropped
}

/// The query that reads a view.
fn as_query(view: &View) -> String {
    format!("SELECT * FROM {}", view.name.to_ast())
}
