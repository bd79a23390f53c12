//! CREATE TABLE and DROP TABLE.
//!
//! The engine's table is made first and the catalog's row behind it: a crash in between leaves a
//! table that is shown as the engine describes it.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{CreateTable, CreateTableLikeKind, ObjectName};

use crate::catalog::definition::{ColumnDefinition, Definition, unknown_column};
use crate::catalog::load::identity_sequence;
use crate::catalog::names::{Name, PUBLIC, quoted};
use crate::catalog::sequence::Options;
use crate::catalog::snapshot::{Snapshot, unknown_table};
use crate::catalog::store::Kind;
use crate::catalog::table::Table;
use crate::error::{Error, Result, SqlState};
use crate::session::answer::{Outcome, Tag};
use crate::session::statements::Session;
use crate::values::datum::Datum;
use crate::values::sql_type::SqlType;

impl Session {
    pub(super) async fn create_table(
        &mut self,
        create: &CreateTable,
        parameters: &[Datum],
    ) -> Result<Outcome> {
        if create.or_replace || create.external || create.inherits.is_some() {
            return Err(Error::unsupported("this form of CREATE TABLE"));
        }
        if create.temporary {
            return Err(Error::unsupported("a temporary table"));
        }
        let name = self.new_name(&create.name)?;
        if create.if_not_exists && self.database.catalog().has(&name) {
            let notice = format!("relation {name} already exists, skipping");
            return Ok(Outcome::notice("CREATE TABLE", notice));
        }
        match &create.query {
            Some(query) => self.create_table_as(create, &name, query, parameters).await,
            None => {
                let definition = match &create.like {
                    Some(like) => self.definition_like(create, like)?,
                    None => Definition::from_ast(create, self.home())?,
                };
                self.create_defined(definition)?;
                Ok(Outcome::verb("CREATE TABLE"))
            }
        }
    }

    /// CREATE TABLE ... (LIKE other).
    fn definition_like(
        &mut self,
        create: &CreateTable,
        like: &CreateTableLikeKind,
    ) -> Result<Definition> {
        let (CreateTableLikeKind::Plain(like) | CreateTableLikeKind::Parenthesized(like)) = like;
        let catalog = self.database.catalog();
        let other = self.find_table(&catalog, &like.name)?;
        let columns = other.columns.iter().map(|column| ColumnDefinition {
            name: column.name.clone(),
            sql_type: column.sql_type.clone(),
            not_null: !column.nullable,
            default: None,
            identity: None,
            sequence: Vec::new(),
            generated: None,
        });
        let name = Name::from_ast(&create.name, self.home())?;
        Ok(Definition {
            name,
            columns: columns.collect(),
            keys: Vec::new(),
            checks: Vec::new(),
            references: Vec::new(),
        })
    }

    /// CREATE TABLE ... AS query.
    async fn create_table_as(
        &mut self,
        create: &CreateTable,
        name: &Name,
        query: &datafusion::sql::sqlparser::ast::Query,
        parameters: &[Datum],
    ) -> Result<Outcome> {
        let (_, columns) = self.describe(
            &datafusion::sql::sqlparser::ast::Statement::Query(Box::new(query.clone())),
            &[],
        )?;
        let named = columns.iter().enumerate().map(|(place, column)| ColumnDefinition {
            name: match create.columns.get(place) {
                Some(given) => crate::catalog::names::fold(&given.name),
                None => column.name.clone(),
            },
            sql_type: match &column.sql_type {
                SqlType::Unknown => SqlType::Text,
                known => known.clone(),
            },
            not_null: false,
            default: None,
            identity: None,
            sequence: Vec::new(),
            generated: None,
        });
        let mut definition = Definition {
            name: name.clone(),
            columns: named.collect(),
            keys: Vec::new(),
            checks: Vec::new(),
            references: Vec::new(),
        };
        for column in &mut definition.columns {
            column.name = column.name.replace([':', '.'], "_");
        }
        definition.check()?;
        self.create_defined(definition)?;
        let text = format!("INSERT INTO {} {query}", name.to_ast());
        let statement = crate::statement::Statement::parse(&text)?;
        let filled = self.dispatch(&statement.ast, parameters).await;
        match filled {
            Ok(outcome) => Ok(Outcome::done(Tag::counted("SELECT", outcome.tag.rows.unwrap_or(0)))),
            Err(error) => {
                if self.block.is_none() {
                    self.forget_table(name)?;
                }
                Err(error)
            }
        }
    }

    /// Creates a table with its sequences.
    ///
    /// # Errors
    /// `DUPLICATE_TABLE`, `BAD_DEFINITION`; as the engine.
    pub(super) fn create_defined(&mut self, definition: Definition) -> Result<()> {
        let database = Arc::clone(&self.database);
        let _defining = database.define();
        let catalog = database.catalog();
        let name = definition.name.clone();
        if catalog.has(&name) {
            let text = format!("relation {name} already exists");
            return Err(Error::new(SqlState::DUPLICATE_TABLE, text));
        }
        self.check_definition(&catalog, &definition)?;
        let schema = definition.to_schema()?;
        database.engine.create_table(schema)?;
        for column in definition.columns.iter().filter(|column| column.identity.is_some()) {
            let sequence = Name::new(&name.schema, identity_sequence(&name.name, &column.name));
            let options = Options::from_ast(&column.sequence)?;
            let max = options.max.min(greatest(&column.sql_type));
            let options = Options { max, ..options };
            let (schema, table) = (quoted(&name.schema), quoted(&name.name));
            let text = format!(
                "CREATE SEQUENCE {}.{} {} OWNED BY {schema}.{table}.{}",
                quoted(&sequence.schema),
                quoted(&sequence.name),
                options.to_sql(),
                quoted(&column.name)
            );
            database.store.put(Kind::Sequence, &sequence, &text)?;
        }
        database.store.put(Kind::Table, &name, &definition.to_string())?;
        database.refresh_catalog()?;
        self.undo(Box::new(move |session| session.forget_table(&name)));
        Ok(())
    }

    /// Checks what a definition says of others, and its expressions.
    pub(super) fn check_definition(
        &mut self,
        catalog: &Arc<Snapshot>,
        definition: &Definition,
    ) -> Result<()> {
        let columns = definition.columns.iter().map(|column| {
            let arrow = column.sql_type.to_arrow();
            datafusion::arrow::datatypes::Field::new(&column.name, arrow, true)
        });
        let arrow = datafusion::arrow::datatypes::Schema::new(columns.collect::<Vec<_>>());
        let schema = datafusion::common::DFSchema::try_from_qualified_schema(
            definition.name.name.as_str(),
            &arrow,
        )?;
        let empty = datafusion::common::DFSchema::empty();
        for check in &definition.checks {
            let condition = self.rewritten_expression(&check.condition)?;
            self.binder(catalog).bind_expression(condition, &schema)?;
        }
        for column in &definition.columns {
            if let Some(default) = &column.default {
                let default = self.rewritten_expression(default)?;
                self.binder(catalog).bind_expression(default, &empty)?;
            }
            if let Some(generated) = &column.generated {
                let generated = self.rewritten_expression(generated)?;
                self.binder(catalog).bind_expression(generated, &schema)?;
            }
        }
        for reference in &definition.references {
            let itself = reference.table == definition.name;
            let names: Vec<String> = if itself {
                referred_in(definition, &reference.to)?
            } else {
                let parent = catalog.table(&reference.table)?;
                referred_names(&parent, &reference.to)?
            };
            if names.len() != reference.columns.len() {
                let text = "number of referencing and referenced columns for foreign key disagree";
                return Err(Error::new(SqlState::BAD_DEFINITION, text));
            }
        }
        Ok(())
    }

    pub(super) fn drop_table(
        &mut self,
        name: &ObjectName,
        (if_exists, cascade): (bool, bool),
    ) -> Result<()> {
        let catalog = self.database.catalog();
        let table = match self.find_table(&catalog, name) {
            Ok(table) => table,
            Err(error) if error.state() == SqlState::UNKNOWN_TABLE && if_exists => return Ok(()),
            Err(error) => return Err(error),
        };
        self.check_no_writes("DROP TABLE")?;
        self.check_unused(&catalog, &table, cascade)?;
        let name = table.name.clone();
        self.goes_at_commit(&name);
        self.at_commit(Box::new(move |session| session.forget_table(&name)))
    }

    /// Checks that nothing depends on a table, or drops what does.
    fn check_unused(
        &mut self,
        catalog: &Arc<Snapshot>,
        table: &Table,
        cascade: bool,
    ) -> Result<()> {
        let mut dependents = Vec::new();
        let dropped = self.block.as_ref().map_or_else(Vec::new, |block| block.dropped.clone());
        let stays = |name: &Name| *name != table.name && !dropped.contains(name);
        for child in catalog.tables.values().filter(|child| stays(&child.name)) {
            for reference in child.references.iter().filter(|r| r.table == table.name) {
                dependents.push(format!("constraint {} on table {}", reference.name, child.name));
                if cascade {
                    let (child, constraint) = (child.name.clone(), reference.name.clone());
                    self.at_commit(Box::new(move |session| {
                        session.change_definition(&child, |definition| {
                            definition.references.retain(|r| r.name != constraint);
                            Ok(())
                        })
                    }))?;
                }
            }
        }
        for view in catalog.views.values() {
            if stays(&view.name) && mentions(&view.query, &table.name) {
                dependents.push(format!("view {}", view.name));
                if cascade {
                    self.drop_view(&view.name.to_ast(), (true, true))?;
                }
            }
        }
        if cascade || dependents.is_empty() {
            return Ok(());
        }
        let text = format!("cannot drop table {} because other objects depend on it", table.name);
        Err(Error::new(SqlState::DEPENDENT_OBJECTS, text)
            .detail(format!("{} depends on it", dependents.join(", ")))
            .hint("Write CASCADE to drop them too."))
    }

    /// Drops a table with all that is its own.
    pub(super) fn forget_table(&mut self, name: &Name) -> Result<()> {
        let database = Arc::clone(&self.database);
        let _defining = database.define();
        let catalog = database.catalog();
        let table = catalog.tables.get(name).ok_or_else(|| unknown_table(name))?;
        database.engine.drop_table(&table.handle)?;
        for column in &table.columns {
            if let Some(identity) = &column.identity {
                database.store.remove(Kind::Sequence, &identity.sequence)?;
                database.store.reserve(&identity.sequence, None)?;
            }
            let comment = Name::new(&name.schema, format!("{}.{}", name.name, column.name));
            database.store.remove(Kind::Comment, &comment)?;
        }
        database.store.remove(Kind::Comment, name)?;
        database.store.remove(Kind::Table, name)?;
        database.refresh_catalog()
    }

    /// Changes what SQL knows of a table, and nothing of its rows.
    ///
    /// # Errors
    /// Whatever `change` finds wrong.
    pub(super) fn change_definition(
        &mut self,
        name: &Name,
        change: impl FnOnce(&mut Definition) -> Result<()>,
    ) -> Result<()> {
        let database = Arc::clone(&self.database);
        let _defining = database.define();
        let catalog = database.catalog();
        let table = catalog.tables.get(name).ok_or_else(|| unknown_table(name))?;
        let mut definition = definition_of(table);
        let before = definition.to_string();
        change(&mut definition)?;
        definition.check()?;
        self.check_definition(&catalog, &definition)?;
        database.store.put(Kind::Table, name, &definition.to_string())?;
        database.refresh_catalog()?;
        let name = name.clone();
        self.undo(Box::new(move |session| {
            session.database.store.put(Kind::Table, &name, &before)?;
            session.database.refresh_catalog()
        }));
        Ok(())
    }
}

/// The definition that would make a table.
pub(crate) fn definition_of(table: &Table) -> Definition {
    use crate::catalog::definition::{Key, ReferenceDefinition};
    let columns = table.columns.iter().map(|column| ColumnDefinition {
        name: column.name.clone(),
        sql_type: column.sql_type.clone(),
        not_null: !column.nullable,
        default: column.default.clone(),
        identity: column.identity.as_ref().map(|identity| identity.always),
        sequence: Vec::new(),
        generated: column.generated.clone(),
    });
    let name_of = |&place: &usize| table.columns[place].name.clone();
    let keys = table.indexes.iter().filter(|index| index.constraint).map(|index| Key {
        name: index.name.clone(),
        columns: index.columns.iter().map(name_of).collect(),
        primary: index.primary,
    });
    let references = table.references.iter().map(|reference| ReferenceDefinition {
        name: reference.name.clone(),
        columns: reference.columns.iter().map(name_of).collect(),
        table: reference.table.clone(),
        to: reference.to.clone(),
        on_delete: reference.on_delete,
        on_update: reference.on_update,
    });
    Definition {
        name: table.name.clone(),
        columns: columns.collect(),
        keys: keys.collect(),
        checks: table.checks.clone(),
        references: references.collect(),
    }
}

/// The columns that a reference to a table names, which must be a key.
fn referred_names(parent: &Table, to: &[String]) -> Result<Vec<String>> {
    let names = |columns: &[usize]| -> Vec<String> {
        columns.iter().map(|&column| parent.columns[column].name.clone()).collect()
    };
    if to.is_empty() {
        let primary = parent.primary().ok_or_else(|| {
            let text = format!("there is no primary key for referenced table {}", parent.name);
            Error::new(SqlState::UNKNOWN_OBJECT, text)
        })?;
        return Ok(names(&primary.columns));
    }
    for name in to {
        parent.column(name).ok_or_else(|| unknown_column(name, &parent.name))?;
    }
    let same = |columns: &[usize]| {
        let mut have = names(columns);
        let mut want = to.to_vec();
        have.sort();
        want.sort();
        have == want
    };
    if !parent.indexes.iter().any(|index| index.unique && same(&index.columns)) {
        return Err(no_key(&parent.name));
    }
    Ok(to.to_vec())
}

/// The same for a table that refers to itself and is not there yet.
fn referred_in(definition: &Definition, to: &[String]) -> Result<Vec<String>> {
    let mut keys = definition.keys.iter();
    let key = match to.is_empty() {
        true => keys.find(|key| key.primary),
        false => keys.find(|key| {
            let (mut have, mut want) = (key.columns.clone(), to.to_vec());
            have.sort();
            want.sort();
            have == want
        }),
    };
    let key = key.ok_or_else(|| no_key(&definition.name))?;
    Ok(if to.is_empty() { key.columns.clone() } else { to.to_vec() })
}

fn no_key(table: &Name) -> Error {
    let text =
        format!("there is no unique constraint matching given keys for referenced table {table}");
    Error::new(SqlState::BAD_DEFINITION, text)
}

/// Whether a query names a table anywhere.
pub(super) fn mentions(query: &datafusion::sql::sqlparser::ast::Query, table: &Name) -> bool {
    use std::ops::ControlFlow;
    let found = datafusion::sql::sqlparser::ast::visit_relations(query, |relation| {
        match Name::from_ast(relation, PUBLIC) {
            Ok(name) if name == *table => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    });
    found.is_break()
}

/// The greatest number of a type.
fn greatest(sql_type: &SqlType) -> i64 {
    match sql_type {
        SqlType::TinyInt => i64::from(i8::MAX),
        SqlType::SmallInt => i64::from(i16::MAX),
        SqlType::Integer => i64::from(i32::MAX),
        SqlType::UTinyInt => i64::from(u8::MAX),
        SqlType::USmallInt => i64::from(u16::MAX),
        SqlType::UInteger => i64::from(u32::MAX),
        _ => i64::MAX,
    }
}
