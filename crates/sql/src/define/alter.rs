//! ALTER TABLE.
//!
//! What SQL alone knows of a table (defaults, checks, references) is changed in place. What changes
//! the rows themselves makes the table anew: a second one is filled from the first and takes its
//! place.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{
    AlterColumnOperation, AlterTable, AlterTableOperation, RenameTableNameKind, TableConstraint,
};
use remanent_engine::schema::{IndexSchema, KeyPart};

use super::table::definition_of;
use crate::catalog::definition::Definition;
use crate::catalog::names::{Name, fold, quoted};
use crate::catalog::table::Table;
use crate::error::{Error, Result, SqlState};
use crate::session::answer::Outcome;
use crate::session::statements::Session;
use crate::values::sql_type::SqlType;

/// The table's name while it is made anew.
const REBUILT: &str = "rebuilt table";

impl Session {
    pub(super) async fn alter_table(&mut self, alter: &AlterTable) -> Result<Outcome> {
        let catalog = self.database.catalog();
        let table = match self.find_table(&catalog, &alter.name) {
            Err(error) if alter.if_exists && error.state() == SqlState::UNKNOWN_TABLE => {
                return Ok(Outcome::notice("ALTER TABLE", error.message()));
            }
            found => found?,
        };
        let mut name = table.name.clone();
        for operation in &alter.operations {
            let catalog = self.database.catalog();
            let table = catalog.table(&name)?;
            name = self.alter(&table, operation).await?;
        }
        Ok(Outcome::verb("ALTER TABLE"))
    }

    /// One change; the table's name afterwards.
    async fn alter(&mut self, table: &Arc<Table>, operation: &AlterTableOperation) -> Result<Name> {
        use AlterTableOperation as Op;
        let name = table.name.clone();
        let home = name.schema.clone();
        match operation {
            Op::AddConstraint { constraint, .. } => {
                self.add_constraint(table, constraint).await?;
            }
            Op::DropConstraint { if_exists, name: constraint, .. } => {
                self.drop_constraint(table, &fold(constraint), *if_exists)?;
            }
            Op::AlterColumn { column_name, op } => {
                self.alter_column(table, &fold(column_name), op).await?;
            }
            Op::AddColumn { column_def, if_not_exists, .. } => {
                let column = fold(&column_def.name);
                if table.column(&column).is_some() && *if_not_exists {
                    return Ok(name);
                }
                let mut definition = definition_of(table);
                definition.add_column(column_def, &home)?;
                let old: Vec<Option<String>> =
                    table.columns.iter().map(|c| Some(quoted(&c.name))).chain([None]).collect();
                self.rebuild(table, definition, &old).await?;
            }
            Op::DropColumn { column_names, if_exists, .. } => {
                let names: Vec<String> = column_names.iter().map(fold).collect();
                self.drop_columns(table, &names, *if_exists).await?;
            }
            Op::RenameColumn { old_column_name, new_column_name } => {
                let (old, new) = (fold(old_column_name), fold(new_column_name));
                let mut definition = definition_of(table);
                let place = definition.column(&old)?;
                rename_column(&mut definition, place, &old, &new);
                let source =
                    table.columns.iter().map(|c| Some(quoted(&c.name))).collect::<Vec<_>>();
                self.rebuild(table, definition, &source).await?;
            }
            Op::RenameTable { table_name } => {
                let (RenameTableNameKind::As(new) | RenameTableNameKind::To(new)) = table_name;
                let new = Name::from_ast(new, &home)?;
                if self.database.catalog().has(&new) {
                    let text = format!("relation {new} already exists");
                    return Err(Error::new(SqlState::DUPLICATE_TABLE, text));
                }
                let mut definition = definition_of(table);
                definition.name = new.clone();
                let source =
                    table.columns.iter().map(|c| Some(quoted(&c.name))).collect::<Vec<_>>();
                self.rebuild(table, definition, &source).await?;
                return Ok(new);
            }
            Op::OwnerTo { .. } => {}
            other => return Err(Error::unsupported(format!("ALTER TABLE {other}"))),
        }
        Ok(name)
    }

    async fn add_constraint(
        &mut self,
        table: &Arc<Table>,
        constraint: &TableConstraint,
    ) -> Result<()> {
        let (name, home) = (table.name.clone(), table.name.schema.clone());
        let before = definition_of(table);
        let mut after = before.clone();
        after.add_constraint(constraint, &home)?;
        after.check()?;
        if let Some(key) = after.keys.get(before.keys.len()) {
            if key.primary && key.columns.iter().any(|c| self.is_nullable(table, c)) {
                let source =
                    table.columns.iter().map(|c| Some(quoted(&c.name))).collect::<Vec<_>>();
                return self.rebuild(table, after, &source).await;
            }
            self.check_no_writes("ALTER TABLE")?;
            let parts = key.columns.iter().map(|column| KeyPart::asc(column.as_str()));
            let index = IndexSchema::new(key.name.as_str(), parts).unique();
            let index = IndexSchema { primary: key.primary, ..index };
            self.database.engine.create_index(&table.handle, index)?;
            let index = Name::new(&home, &key.name);
            self.undo(Box::new(move |session| session.forget_index(&index)));
        }
        if let Some(check) = after.checks.get(before.checks.len()) {
            let text =
                format!("SELECT count(*) FROM {} WHERE NOT ({})", name.to_ast(), check.condition);
            self.check_none(&text, SqlState::CHECK_VIOLATION, &check.name, &name).await?;
        }
        if let Some(reference) = after.references.get(before.references.len()) {
            let to = match reference.to.is_empty() {
                false => reference.to.clone(),
                true => {
                    let parent = self.database.catalog().table(&reference.table)?;
                    let primary = parent.primary().map(|index| index.columns.clone());
                    let primary = primary.unwrap_or_default();
                    primary.iter().map(|&column| parent.columns[column].name.clone()).collect()
                }
            };
            let pairs = reference.columns.iter().zip(&to);
            let on: Vec<String> =
                pairs.map(|(a, b)| format!("c.{} = p.{}", quoted(a), quoted(b))).collect();
            let set = reference.columns.iter().map(|c| format!("c.{} IS NOT NULL", quoted(c)));
            let set: Vec<String> = set.collect();
            let text = format!(
                "SELECT count(*) FROM {} c WHERE {} AND NOT EXISTS (SELECT 1 FROM {} p WHERE {})",
                name.to_ast(),
                set.join(" AND "),
                reference.table.to_ast(),
                on.join(" AND ")
            );
            self.check_none(&text, SqlState::FOREIGN_KEY_VIOLATION, &reference.name, &name).await?;
        }
        self.change_definition(&name, |definition| {
            *definition = after;
            Ok(())
        })
    }

    fn is_nullable(&self, table: &Table, column: &str) -> bool {
        table.column(column).is_some_and(|place| table.columns[place].nullable)
    }

    /// Checks that a count is zero.
    async fn check_none(
        &mut self,
        count: &str,
        state: SqlState,
        constraint: &str,
        table: &Name,
    ) -> Result<()> {
        let statement = crate::statement::Statement::parse(count)?;
        let answer = self.dispatch(&statement.ast, &[]).await?.collect().await?;
        let found = answer.rows.first().and_then(|row| row.first()).and_then(|n| n.as_i64());
        if found == Some(0) {
            return Ok(());
        }
        let text =
            format!("constraint \"{constraint}\" of relation {table} is violated by some row");
        Err(Error::new(state, text))
    }

    fn drop_constraint(&mut self, table: &Table, constraint: &str, if_exists: bool) -> Result<()> {
        let definition = definition_of(table);
        if !definition.has_constraint(constraint) {
            if if_exists {
                return Ok(());
            }
            let text = format!("constraint {constraint} of {} does not exist", table.name);
            return Err(Error::new(SqlState::UNKNOWN_OBJECT, text));
        }
        if definition.keys.iter().any(|key| key.name == constraint) {
            self.check_no_writes("ALTER TABLE")?;
            let (index, name) = (Name::new(&table.name.schema, constraint), table.name.clone());
            let constraint = constraint.to_owned();
            return self.at_commit(Box::new(move |session| {
                session.forget_index(&index)?;
                session.change_definition(&name, |definition| {
                    definition.keys.retain(|key| key.name != constraint);
                    Ok(())
                })
            }));
        }
        self.change_definition(&table.name, |definition| {
            definition.checks.retain(|check| check.name != constraint);
            definition.references.retain(|reference| reference.name != constraint);
            Ok(())
        })
    }

    async fn alter_column(
        &mut self,
        table: &Arc<Table>,
        column: &str,
        operation: &AlterColumnOperation,
    ) -> Result<()> {
        let mut definition = definition_of(table);
        let place = definition.column(column)?;
        let mut source: Vec<Option<String>> =
            table.columns.iter().map(|c| Some(quoted(&c.name))).collect();
        match operation {
            AlterColumnOperation::SetDefault { value } => {
                let value = value.clone();
                return self.change_definition(&table.name, |definition| {
                    definition.columns[place].default = Some(value);
                    Ok(())
                });
            }
            AlterColumnOperation::DropDefault => {
                return self.change_definition(&table.name, |definition| {
                    definition.columns[place].default = None;
                    Ok(())
                });
            }
            AlterColumnOperation::SetNotNull => definition.columns[place].not_null = true,
            AlterColumnOperation::DropNotNull => {
                let in_key = |key: &crate::catalog::definition::Key| {
                    key.primary && key.columns.iter().any(|c| c == column)
                };
                if definition.keys.iter().any(in_key) {
                    let text = format!("column {} is in a primary key", quoted(column));
                    return Err(Error::new(SqlState::BAD_DEFINITION, text));
                }
                definition.columns[place].not_null = false;
            }
            AlterColumnOperation::SetDataType { data_type, using, .. } => {
                let to = SqlType::from_ast(data_type)?;
                let value = using.as_ref().map_or_else(|| quoted(column), ToString::to_string);
                source[place] = Some(format!("CAST({value} AS {to})"));
                definition.columns[place].sql_type = to;
            }
            other => return Err(Error::unsupported(format!("ALTER COLUMN {other}"))),
        }
        self.rebuild(table, definition, &source).await
    }

    async fn drop_columns(
        &mut self,
        table: &Arc<Table>,
        names: &[String],
        if_exists: bool,
    ) -> Result<()> {
        let mut definition = definition_of(table);
        for name in names {
            if table.column(name).is_none() && if_exists {
                continue;
            }
            let place = definition.column(name)?;
            definition.columns.remove(place);
            definition.keys.retain(|key| !key.columns.contains(name));
            definition.references.retain(|reference| !reference.columns.contains(name));
            let mentions = format!(" {} ", quoted(name));
            definition.checks.retain(|check| {
                !format!(" {} ", check.condition).replace(['(', ')'], " ").contains(&mentions)
            });
        }
        let source: Vec<Option<String>> =
            definition.columns.iter().map(|c| Some(quoted(&c.name))).collect();
        self.rebuild(table, definition, &source).await
    }

    /// Makes a table anew, its columns from these expressions over the old one; `None` takes the
    /// default.
    async fn rebuild(
        &mut self,
        table: &Arc<Table>,
        mut definition: Definition,
        source: &[Option<String>],
    ) -> Result<()> {
        if self.block.is_some() {
            let text = "ALTER TABLE that rewrites rows cannot run in a transaction block";
            return Err(Error::new(SqlState::ACTIVE_TRANSACTION, text).hint("Commit first."));
        }
        definition.check()?;
        let catalog = self.database.catalog();
        self.check_definition(&catalog, &definition)?;
        let name = definition.name.clone();
        let between = Name::new(&name.schema, REBUILT);
        if catalog.has(&between) {
            self.forget_table(&between)?;
        }
        let mut plain = definition.clone();
        plain.name = between.clone();
        plain.references.clear();
        self.create_defined(plain)?;
        let copied = self.copy_rows(&table.name, &between, &definition, source).await;
        if let Err(error) = copied {
            self.forget_table(&between)?;
            return Err(error);
        }
        let indexes: Vec<_> = table.indexes.iter().filter(|index| !index.constraint).collect();
        let kept: Vec<IndexSchema> = indexes
            .iter()
            .filter_map(|index| table.handle.index_schema(index.handle).ok().cloned())
            .filter(|index| index.parts.iter().all(|p| definition.column(&p.column).is_ok()))
            .collect();
        self.forget_table(&table.name)?;
        self.create_defined(definition.clone())?;
        let all: Vec<Option<String>> =
            definition.columns.iter().map(|c| Some(quoted(&c.name))).collect();
        self.copy_rows(&between, &name, &definition, &all).await?;
        self.forget_table(&between)?;
        let made = self.database.catalog().table(&name)?;
        for index in kept {
            self.database.engine.create_index(&made.handle, index)?;
        }
        self.database.refresh_catalog()
    }

    async fn copy_rows(
        &mut self,
        from: &Name,
        to: &Name,
        definition: &Definition,
        source: &[Option<String>],
    ) -> Result<()> {
        let given = definition.columns.iter().zip(source);
        let given = given.filter(|(column, value)| value.is_some() && column.generated.is_none());
        let (names, values): (Vec<String>, Vec<String>) = given
            .map(|(column, value)| (quoted(&column.name), value.clone().unwrap_or_default()))
            .unzip();
        let text = format!(
            "INSERT INTO {} ({}) SELECT {} FROM {}",
            to.to_ast(),
            names.join(", "),
            values.join(", "),
            from.to_ast()
        );
        let statement = crate::statement::Statement::parse(&text)?;
        self.dispatch(&statement.ast, &[]).await?;
        Ok(())
    }
}

fn rename_column(definition: &mut Definition, place: usize, old: &str, new: &str) {
    definition.columns[place].name = new.to_owned();
    let rename = |names: &mut Vec<String>| {
        for name in names.iter_mut().filter(|name| *name == old) {
            new.clone_into(name);
        }
    };
    definition.keys.iter_mut().for_each(|key| rename(&mut key.columns));
    definition.references.iter_mut().for_each(|reference| rename(&mut reference.columns));
}
