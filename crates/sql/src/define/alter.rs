//! ALTER TABLE.
//!
//! What SQL alone knows of a table (defaults, checks, references) is changed in place. What changes
//! the rows themselves makes the table anew ([`super::rebuild`]). All its changes are one
//! definition: others see none of them or all.

use datafusion::sql::sqlparser::ast::{
    AlterColumnOperation, AlterTable, AlterTableOperation, ColumnDef, Ident, ObjectName,
    RenameTableNameKind, TableConstraint,
};
use remanent_engine::schema::{IndexSchema, KeyPart};

use super::rebuild::Change;
use super::table::{check_readable, definition_of};
use crate::access::{Actor, Owned, of_relation};
use crate::catalog::definition::Definition;
use crate::catalog::names::{Name, check_new, fold, quoted};
use crate::catalog::snapshot::Relation;
use crate::catalog::table::Table;
use crate::catalog::written;
use crate::error::{Error, Result, SqlState};
use crate::session::answer::{Notice, Outcome};
use crate::session::statements::Session;
use crate::values::sql_type::SqlType;

impl Session {
    pub(super) async fn alter_table(&mut self, alter: &AlterTable) -> Result<Outcome> {
        let mut name = alter.name.clone();
        for operation in &alter.operations {
            if let AlterTableOperation::OwnerTo { new_owner } = operation {
                let owner = self.new_owner(new_owner)?;
                self.give_to(&name, owner)?;
                continue;
            }
            let catalog = self.catalog();
            let table = match self.access(&catalog).find_own(&name) {
                Err(error) if alter.if_exists && error.state() == SqlState::UNKNOWN_TABLE => {
                    let text = format!("{error}, skipping");
                    let notice = Notice::new(SqlState::SUCCESSFUL, text);
                    return Ok(Outcome::notice("ALTER TABLE", notice));
                }
                found => found?,
            };
            check_readable(&table)?;
            name = self.alter(&table, operation).await?.to_ast();
        }
        Ok(Outcome::verb("ALTER TABLE"))
    }

    /// OWNER TO, of whatever has rows or numbers.
    fn give_to(
        &mut self,
        name: &ObjectName,
        owner: Option<crate::catalog::store::ObjectId>,
    ) -> Result<()> {
        let catalog = self.catalog();
        let access = self.access(&catalog);
        access.superuser()?;
        let id = match access.relation(name)? {
            Some(Relation::Table(table)) => self.number_table(&table)?,
            Some(relation) => of_relation(&relation).1.ok_or_else(|| unknown(name))?,
            None => {
                let name = Name::from_ast(name, self.home())?;
                let sequence = catalog.sequences.get(&name);
                sequence.map(|sequence| sequence.id).ok_or_else(|| unknown(&name.to_ast()))?
            }
        };
        let table = catalog.tables.values().find(|table| table.id == Some(id));
        let sequences = table.into_iter().flat_map(|table| &table.columns);
        let sequences = sequences.filter_map(|column| Some(column.identity.as_ref()?.sequence));
        for id in [id].into_iter().chain(sequences) {
            self.rewrite_object(id, |object| {
                object.owner = owner;
                Ok(())
            })?;
        }
        self.reload()
    }

    /// One change; the table's name afterwards.
    async fn alter(&mut self, table: &Owned, operation: &AlterTableOperation) -> Result<Name> {
        use AlterTableOperation as Op;
        let name = table.name.clone();
        match operation {
            Op::AddConstraint { constraint, .. } => self.add_constraint(table, constraint).await?,
            Op::DropConstraint { if_exists, name: constraint, .. } => {
                self.drop_constraint(table, &fold(constraint), *if_exists)?;
            }
            Op::AlterColumn { column_name, op } => {
                self.alter_column(table, &fold(column_name), op).await?;
            }
            Op::AddColumn { column_def, if_not_exists, .. } => {
                self.add_column(table, column_def, *if_not_exists).await?;
            }
            Op::DropColumn { column_names, if_exists, drop_behavior, .. } => {
                if drop_behavior
                    .is_some_and(|behaviour| behaviour == sqlparser::ast::DropBehavior::Cascade)
                {
                    return Err(Error::unsupported("DROP COLUMN ... CASCADE"));
                }
                self.drop_columns(table, column_names, *if_exists).await?;
            }
            Op::RenameColumn { old_column_name, new_column_name } => {
                let (old, new) = (fold(old_column_name), fold(new_column_name));
                check_new(&new)?;
                let mut definition = definition_of(table);
                definition.column(&old)?;
                definition.rename_column(&old, &new);
                let change = Change { renamed: Some((old, new)), ..Change::same(table) };
                self.rebuild(table, definition, change).await?;
            }
            Op::RenameTable { table_name } => {
                let (RenameTableNameKind::As(new) | RenameTableNameKind::To(new)) = table_name;
                let catalog = self.catalog();
                let kept = (name.schema.as_str(), table.owner);
                let new = self.access(&catalog).other_name(new, kept)?.name().clone();
                if catalog.has(&new) || catalog.index(&new).is_some() {
                    let text = format!("relation {new} already exists");
                    return Err(Error::new(SqlState::DUPLICATE_TABLE, text));
                }
                let mut definition = definition_of(table);
                for reference in &mut definition.references {
                    if reference.table == name {
                        reference.table = new.clone();
                    }
                }
                definition.name = new.clone();
                self.rebuild(table, definition, Change::same(table)).await?;
                return Ok(new);
            }
            other => return Err(Error::unsupported(format!("ALTER TABLE {other}"))),
        }
        Ok(name)
    }

    async fn add_column(
        &mut self,
        table: &Owned,
        column: &ColumnDef,
        if_not_exists: bool,
    ) -> Result<()> {
        let name = fold(&column.name);
        if table.column(&name).is_some() && if_not_exists {
            return Ok(());
        }
        let mut definition = definition_of(table);
        definition.add_column(column, &table.name.schema)?;
        let mut change = Change::same(table);
        change.source.push(None);
        self.rebuild(table, definition, change).await
    }

    async fn add_constraint(&mut self, table: &Owned, constraint: &TableConstraint) -> Result<()> {
        let (name, home) = (table.name.clone(), table.name.schema.clone());
        let before = definition_of(table);
        let mut after = before.clone();
        after.add_constraint(constraint, &home)?;
        after.check()?;
        after.check_names_apart()?;
        if let Some(key) = after.keys.get(before.keys.len()) {
            if key.primary && key.columns.iter().any(|c| self.is_nullable(table, c)) {
                return self.rebuild(table, after, Change::same(table)).await;
            }
            let index = Name::new(&home, &key.name);
            if self.catalog().index(&index).is_some() || self.catalog().has(&index) {
                let text = format!("relation {index} already exists");
                return Err(Error::new(SqlState::DUPLICATE_TABLE, text));
            }
            let parts = key.columns.iter().map(|column| KeyPart::asc(column.as_str()));
            let index = IndexSchema::new(key.name.as_str(), parts).unique();
            let index = IndexSchema { primary: key.primary, ..index };
            self.add_index(table, index)?;
        }
        if let Some(check) = after.checks.get(before.checks.len()) {
            // A text that would be read as another condition is refused; and it is looked at with
            // no more rights than its maker has.
            let condition = written::expression(&check.condition)?;
            let text = format!("SELECT count(*) FROM {} WHERE NOT ({condition})", name.to_ast());
            let asked = (text.as_str(), self.actor);
            self.check_none(asked, SqlState::CHECK_VIOLATION, &check.name, &name).await?;
        }
        let added = after.references.get(before.references.len()).map(|added| added.name.clone());
        self.change_definition(table, |definition| {
            *definition = after;
            Ok(())
        })?;
        if let Some(added) = added {
            self.check_reference_holds(&name, &added).await?;
        }
        self.check_dependents(table.id)
    }

    /// Checks that each row that refers to one finds it.
    ///
    /// # Errors
    /// `FOREIGN_KEY_VIOLATION`.
    pub(super) async fn check_reference_holds(&mut self, child: &Name, name: &str) -> Result<()> {
        let table = self.catalog().table(child)?;
        let Some(reference) = table.references.iter().find(|r| r.name == name) else {
            return Ok(());
        };
        let columns: Vec<String> =
            reference.columns.iter().map(|&c| quoted(&table.columns[c].name)).collect();
        let pairs = columns.iter().zip(&reference.to);
        // Names that no column can have: a column would be taken for the table of its name.
        let (c, p) = ("\"\u{1}child\"", "\"\u{1}parent\"");
        let on: Vec<String> = pairs.map(|(a, b)| format!("{c}.{a} = {p}.{}", quoted(b))).collect();
        let set: Vec<String> =
            columns.iter().map(|column| format!("{c}.{column} IS NOT NULL")).collect();
        let text = format!(
            "SELECT count(*) FROM {} {c} WHERE {} AND NOT EXISTS (SELECT 1 FROM {} {p} WHERE {})",
            child.to_ast(),
            set.join(" AND "),
            reference.table.to_ast(),
            on.join(" AND ")
        );
        // Whoever may refer to a table may be told whether it is referred to rightly.
        let asked = (text.as_str(), Actor::Program);
        self.check_none(asked, SqlState::FOREIGN_KEY_VIOLATION, name, child).await
    }

    fn is_nullable(&self, table: &Table, column: &str) -> bool {
        table.column(column).is_some_and(|place| table.columns[place].nullable)
    }

    /// Checks that a count, as somebody would find it, is zero.
    async fn check_none(
        &mut self,
        (count, actor): (&str, Actor),
        state: SqlState,
        constraint: &str,
        table: &Name,
    ) -> Result<()> {
        let query = written::read_query(count)?;
        let found = self.count_for(&query, actor).await?;
        if found == Some(0) {
            return Ok(());
        }
        let text =
            format!("constraint \"{constraint}\" of relation {table} is violated by some row");
        Err(Error::new(state, text))
    }

    fn drop_constraint(&mut self, table: &Owned, constraint: &str, if_exists: bool) -> Result<()> {
        let definition = definition_of(table);
        if !definition.has_constraint(constraint) {
            if if_exists {
                return Ok(());
            }
            let text = format!("constraint {constraint} of {} does not exist", table.name);
            return Err(Error::new(SqlState::UNKNOWN_OBJECT, text));
        }
        if let Some(place) = table.indexes.iter().position(|index| index.name == constraint) {
            self.remove_index(table, place)?;
        }
        self.change_definition(table, |definition| {
            definition.keys.retain(|key| key.name != constraint);
            definition.checks.retain(|check| check.name != constraint);
            definition.references.retain(|reference| reference.name != constraint);
            Ok(())
        })?;
        self.check_dependents(table.id)
    }

    async fn alter_column(
        &mut self,
        table: &Owned,
        column: &str,
        operation: &AlterColumnOperation,
    ) -> Result<()> {
        let mut definition = definition_of(table);
        let place = definition.column(column)?;
        let mut rebuilt = Change::same(table);
        match operation {
            AlterColumnOperation::SetDefault { value } => {
                let value = value.clone();
                return self.change_definition(table, |definition| {
                    definition.columns[place].default = Some(value);
                    Ok(())
                });
            }
            AlterColumnOperation::DropDefault => {
                return self.change_definition(table, |definition| {
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
                // As a text is assigned, so that one which is too long is refused.
                let by = if matches!(to, SqlType::Varchar(_) | SqlType::Char(_)) {
                    SqlType::Text
                } else {
                    to.clone()
                };
                rebuilt.source[place] = Some(format!("CAST({value} AS {by})"));
                definition.columns[place].sql_type = to;
            }
            other => return Err(Error::unsupported(format!("ALTER COLUMN {other}"))),
        }
        self.rebuild(table, definition, rebuilt).await
    }

    async fn drop_columns(
        &mut self,
        table: &Owned,
        names: &[Ident],
        if_exists: bool,
    ) -> Result<()> {
        let mut definition = definition_of(table);
        for name in names.iter().map(fold) {
            if table.column(&name).is_none() && if_exists {
                continue;
            }
            let place = definition.column(&name)?;
            definition.columns.remove(place);
            definition.keys.retain(|key| !key.columns.contains(&name));
            definition.references.retain(|reference| !reference.columns.contains(&name));
            definition.checks.retain(|check| !Definition::names_column(&check.condition, &name));
            let generated = definition.columns.iter().find(|column| {
                let expression = column.generated.as_ref();
                expression.is_some_and(|expression| Definition::names_column(expression, &name))
            });
            if let Some(generated) = generated {
                let (name, by) = (quoted(&name), quoted(&generated.name));
                let text = format!("cannot drop column {name}: column {by} is generated from it");
                return Err(Error::new(SqlState::DEPENDENT_OBJECTS, text));
            }
        }
        let source = definition.columns.iter().map(|c| Some(quoted(&c.name))).collect();
        self.rebuild(table, definition, Change { source, renamed: None }).await
    }
}

fn unknown(name: &ObjectName) -> Error {
    Error::new(SqlState::UNKNOWN_TABLE, format!("relation {name} does not exist"))
}
