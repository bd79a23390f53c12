//! What CREATE TABLE says, made plain: every constraint named, every column's options in one place.
//!
//! A definition is made from a statement, becomes the engine's schema, and is written down as
//! structure; reading that gives an equal definition.

use std::fmt;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    self, ColumnOption, Expr, GeneratedAs, ReferentialAction, SequenceOptions, TableConstraint,
};
use remanent_engine::schema::{
    Column as StoredColumn, IndexSchema, KeyPart, TableSchema, TableStorage,
};

use super::store::ObjectId;
use super::stored::{
    StoredCheck, StoredColumn as WrittenColumn, StoredIdentity, StoredKey, StoredReference,
    StoredTable,
};
use super::table::{Action, Check};
use super::table_parameters::storage_of;
use super::written;
use crate::error::{Error, Result, SqlState};
use crate::names::{Name, check_new, fold, quoted};
use crate::values::sql_type::SqlType;

/// What a table is to be.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    pub(crate) name: Name,
    pub(crate) columns: Vec<ColumnDefinition>,
    pub(crate) keys: Vec<Key>,
    pub(crate) checks: Vec<Check>,
    pub(crate) references: Vec<ReferenceDefinition>,
    pub(crate) storage: TableStorage,
}

/// What a column is to be.
#[derive(Clone, Debug)]
pub(crate) struct ColumnDefinition {
    pub(crate) name: String,
    pub(crate) sql_type: SqlType,
    pub(crate) not_null: bool,
    pub(crate) default: Option<Expr>,
    /// Whether it takes its values from a sequence.
    pub(crate) identity: Option<IdentityDefinition>,
    /// What is said of the sequence, which is made with the table.
    pub(crate) sequence: Vec<SequenceOptions>,
    pub(crate) generated: Option<Expr>,
}

/// Where a column's values come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct IdentityDefinition {
    /// Whether statements may not give a value of their own.
    pub(crate) always: bool,
    /// The sequence; `None` for one that is made with the column.
    pub(crate) sequence: Option<ObjectId>,
}

impl IdentityDefinition {
    fn new(always: bool) -> Self {
        Self { always, sequence: None }
    }
}

/// A primary or unique key.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) name: String,
    pub(crate) columns: Vec<String>,
    pub(crate) primary: bool,
}

/// A foreign key.
#[derive(Clone, Debug)]
pub(crate) struct ReferenceDefinition {
    pub(crate) name: String,
    pub(crate) columns: Vec<String>,
    pub(crate) table: Name,
    /// The number of that table, once it is written down.
    pub(crate) table_id: Option<ObjectId>,
    /// Empty for the primary key.
    pub(crate) to: Vec<String>,
    pub(crate) on_delete: Action,
    pub(crate) on_update: Action,
}

impl Definition {
    /// What a statement defines.
    ///
    /// # Errors
    /// Options that are not there, and definitions that contradict themselves.
    pub(crate) fn from_ast(create: &ast::CreateTable, schema: &str) -> Result<Self> {
        let name = Name::from_ast(&create.name, schema)?;
        check_new(&name.name)?;
        let mut definition = Self {
            name,
            columns: Vec::new(),
            keys: Vec::new(),
            checks: Vec::new(),
            references: Vec::new(),
            storage: storage_of(&create.table_options)?,
        };
        for column in &create.columns {
            definition.add_column(column, schema)?;
        }
        for constraint in &create.constraints {
            definition.add_constraint(constraint, schema)?;
        }
        definition.check()?;
        definition.check_names_apart()?;
        Ok(definition)
    }

    /// Checks that no two constraints have one name.
    ///
    /// # Errors
    /// `DUPLICATE_OBJECT`.
    pub(crate) fn check_names_apart(&self) -> Result<()> {
        let keys = self.keys.iter().map(|key| &key.name);
        let checks = self.checks.iter().map(|check| &check.name);
        let references = self.references.iter().map(|reference| &reference.name);
        let mut names: Vec<&String> = keys.chain(checks).chain(references).collect();
        names.sort();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => {
                let name = quoted(pair[0]);
                let text = format!("constraint {name} for relation {} already exists", self.name);
                Err(Error::new(SqlState::DUPLICATE_OBJECT, text))
            }
            None => Ok(()),
        }
    }

    /// Takes the table's own name away from in front of its columns, so that what is kept says the
    /// same when the table has another name.
    fn unqualify(&mut self) {
        let names: Vec<String> = self.columns.iter().map(|column| column.name.clone()).collect();
        let own = self.name.clone();
        let conditions = self.checks.iter_mut().map(|check| &mut check.condition);
        let generated = self.columns.iter_mut().filter_map(|column| column.generated.as_mut());
        for expression in conditions.chain(generated) {
            let _ = ast::visit_expressions_mut(expression, |part| {
                if let Expr::CompoundIdentifier(parts) = part {
                    let folded: Vec<String> = parts.iter().map(fold).collect();
                    let column = match folded.as_slice() {
                        [table, column] if *table == own.name => Some(column),
                        [schema, table, column] if *schema == own.schema && *table == own.name => {
                            Some(column)
                        }
                        _ => None,
                    };
                    if column.is_some_and(|column| names.contains(column))
                        && let Some(column) = parts.pop()
                    {
                        *part = Expr::Identifier(column);
                    }
                }
                ControlFlow::<()>::Continue(())
            });
        }
    }

    /// Adds a column with what its options make of the table.
    ///
    /// # Errors
    /// As [`Definition::from_ast`].
    pub(crate) fn add_column(&mut self, column: &ast::ColumnDef, schema: &str) -> Result<()> {
        let name = fold(&column.name);
        check_new(&name)?;
        let serial = is_serial(&column.data_type);
        self.columns.push(ColumnDefinition {
            name: name.clone(),
            sql_type: SqlType::from_ast(&column.data_type)?,
            not_null: serial,
            default: None,
            identity: serial.then(|| IdentityDefinition::new(false)),
            sequence: Vec::new(),
            generated: None,
        });
        for option in &column.options {
            let given = option.name.as_ref().map(fold);
            self.add_option(&name, given, &option.option, schema)?;
        }
        Ok(())
    }

    fn add_option(
        &mut self,
        column: &str,
        given: Option<String>,
        option: &ColumnOption,
        schema: &str,
    ) -> Result<()> {
        let columns = || vec![column.to_owned()];
        let last = self.columns.len() - 1;
        match option {
            ColumnOption::Null => {}
            ColumnOption::NotNull => self.columns[last].not_null = true,
            ColumnOption::Default(default) => self.columns[last].default = Some(default.clone()),
            ColumnOption::PrimaryKey(_) => self.add_key(given, columns(), true),
            ColumnOption::Unique(_) => self.add_key(given, columns(), false),
            ColumnOption::Check(check) => self.add_check(given, Some(column), &check.expr),
            ColumnOption::ForeignKey(key) => self.add_reference(given, columns(), key, schema)?,
            ColumnOption::Generated { generated_as, sequence_options, generation_expr, .. } => {
                let column = &mut self.columns[last];
                column.sequence = sequence_options.clone().unwrap_or_default();
                match (generated_as, generation_expr) {
                    (_, Some(expression)) => column.generated = Some(expression.clone()),
                    (GeneratedAs::Always, None) => {
                        column.identity = Some(IdentityDefinition::new(true));
                    }
                    (_, None) => column.identity = Some(IdentityDefinition::new(false)),
                }
                column.not_null |= column.identity.is_some();
            }
            ColumnOption::Collation(name) if is_plain_collation(&name.to_string()) => {}
            other => return Err(Error::unsupported(format!("the column option {other}"))),
        }
        Ok(())
    }

    /// Adds a constraint of the table.
    ///
    /// # Errors
    /// As [`Definition::from_ast`].
    pub(crate) fn add_constraint(
        &mut self,
        constraint: &TableConstraint,
        schema: &str,
    ) -> Result<()> {
        match constraint {
            TableConstraint::PrimaryKey(key) => {
                let columns = key_columns(&key.columns)?;
                self.add_key(key.name.as_ref().map(fold), columns, true);
            }
            TableConstraint::Unique(key) => {
                let columns = key_columns(&key.columns)?;
                self.add_key(key.name.as_ref().map(fold), columns, false);
            }
            TableConstraint::Check(check) => {
                self.add_check(check.name.as_ref().map(fold), None, &check.expr);
            }
            TableConstraint::ForeignKey(key) => {
                let columns = key.columns.iter().map(fold).collect();
                self.add_reference(key.name.as_ref().map(fold), columns, key, schema)?;
            }
            other => return Err(Error::unsupported(format!("the constraint {other}"))),
        }
        Ok(())
    }

    fn add_key(&mut self, name: Option<String>, columns: Vec<String>, primary: bool) {
        let table = &self.name.name;
        let name = name.unwrap_or_else(|| match primary {
            true => format!("{table}_pkey"),
            false => self.free_name(&format!("{table}_{}_key", columns.join("_"))),
        });
        self.keys.push(Key { name, columns, primary });
    }

    fn add_check(&mut self, name: Option<String>, column: Option<&str>, condition: &Expr) {
        let column = column.map_or(String::new(), |column| format!("_{column}"));
        let made = || self.free_name(&format!("{}{column}_check", self.name.name));
        let name = name.unwrap_or_else(made);
        self.checks.push(Check { name, condition: condition.clone() });
    }

    fn add_reference(
        &mut self,
        name: Option<String>,
        columns: Vec<String>,
        key: &ast::ForeignKeyConstraint,
        schema: &str,
    ) -> Result<()> {
        let made = || self.free_name(&format!("{}_{}_fkey", self.name.name, columns.join("_")));
        let name = name.unwrap_or_else(made);
        if key.characteristics.is_some_and(|c| c.initially.is_some() || c.deferrable == Some(true))
        {
            return Err(Error::unsupported("a deferred foreign key"));
        }
        self.references.push(ReferenceDefinition {
            name,
            columns,
            table: Name::from_ast(&key.foreign_table, schema)?,
            table_id: None,
            to: key.referred_columns.iter().map(fold).collect(),
            on_delete: action(key.on_delete),
            on_update: action(key.on_update),
        });
        Ok(())
    }

    /// A name that no constraint has yet.
    fn free_name(&self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        let mut number = 0;
        while self.has_constraint(&name) {
            number += 1;
            name = format!("{wanted}{number}");
        }
        name
    }

    /// Whether an expression over the table names a column.
    pub(crate) fn names_column(expression: &Expr, name: &str) -> bool {
        let found = ast::visit_expressions(expression, |part| {
            let is_it = match part {
                Expr::Identifier(ident) => fold(ident) == name,
                Expr::CompoundIdentifier(parts) => parts.last().is_some_and(|p| fold(p) == name),
                _ => false,
            };
            if is_it { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        found.is_break()
    }

    /// Gives a column another name wherever the table's own definition has it.
    pub(crate) fn rename_column(&mut self, old: &str, new: &str) {
        let rename = |names: &mut Vec<String>| {
            for name in names.iter_mut().filter(|name| *name == old) {
                new.clone_into(name);
            }
        };
        for column in self.columns.iter_mut().filter(|column| column.name == old) {
            new.clone_into(&mut column.name);
        }
        self.keys.iter_mut().for_each(|key| rename(&mut key.columns));
        for reference in &mut self.references {
            rename(&mut reference.columns);
            if reference.table == self.name {
                rename(&mut reference.to);
            }
        }
        let conditions = self.checks.iter_mut().map(|check| &mut check.condition);
        let generated = self.columns.iter_mut().filter_map(|column| column.generated.as_mut());
        for expression in conditions.chain(generated) {
            let _ = ast::visit_expressions_mut(expression, |part| {
                let ident = match part {
                    Expr::Identifier(ident) => Some(ident),
                    Expr::CompoundIdentifier(parts) => parts.last_mut(),
                    _ => None,
                };
                if let Some(ident) = ident.filter(|ident| fold(ident) == old) {
                    *ident = ast::Ident::with_quote('"', new);
                }
                ControlFlow::<()>::Continue(())
            });
        }
    }

    /// Whether there is a constraint of this name.
    pub(crate) fn has_constraint(&self, name: &str) -> bool {
        self.keys.iter().any(|key| key.name == name)
            || self.checks.iter().any(|check| check.name == name)
            || self.references.iter().any(|reference| reference.name == name)
    }

    /// The place of a column.
    ///
    /// # Errors
    /// `UNKNOWN_COLUMN`.
    pub(crate) fn column(&self, name: &str) -> Result<usize> {
        let place = self.columns.iter().position(|column| column.name == name);
        place.ok_or_else(|| unknown_column(name, &self.name))
    }

    /// What holds of every definition.
    ///
    /// # Errors
    /// As [`Definition::from_ast`].
    pub(crate) fn check(&mut self) -> Result<()> {
        if self.columns.is_empty() {
            let text = "a table has at least one column";
            return Err(Error::new(SqlState::BAD_DEFINITION, text));
        }
        if self.keys.iter().filter(|key| key.primary).count() > 1 {
            let text = format!("multiple primary keys for table {} are not allowed", self.name);
            return Err(Error::new(SqlState::BAD_DEFINITION, text));
        }
        for (place, column) in self.columns.iter().enumerate() {
            if self.columns[..place].iter().any(|other| other.name == column.name) {
                let text = format!("column {} specified more than once", quoted(&column.name));
                return Err(Error::new(SqlState::DUPLICATE_COLUMN, text));
            }
            if column.identity.is_some() && !column.sql_type.is_integer() {
                let text = format!("identity column {} must be an integer", quoted(&column.name));
                return Err(Error::new(SqlState::BAD_DEFINITION, text));
            }
        }
        self.unqualify();
        let checks = self.checks.iter().map(|check| &check.condition);
        let expressions =
            self.columns.iter().flat_map(|column| column.default.iter().chain(&column.generated));
        checks.chain(expressions).try_for_each(check_expression)?;
        for key in self.keys.clone() {
            for name in &key.columns {
                let place = self.column(name)?;
                self.columns[place].not_null |= key.primary;
            }
        }
        for reference in &self.references {
            reference.columns.iter().try_for_each(|name| self.column(name).map(drop))?;
        }
        Ok(())
    }

    /// The engine's schema of it, with an index for each key.
    ///
    /// # Errors
    /// Types that no column can have.
    pub(crate) fn to_schema(&self) -> Result<TableSchema> {
        let mut schema = TableSchema::new(self.name.in_engine());
        for column in &self.columns {
            let stored = StoredColumn::new(&column.name, column.sql_type.to_column_type()?);
            schema = schema.with(if column.not_null { stored } else { stored.nullable() });
        }
        for key in &self.keys {
            let parts = key.columns.iter().map(|column| KeyPart::asc(column.as_str()));
            let index = IndexSchema::new(key.name.as_str(), parts).unique();
            schema = schema.index(IndexSchema { primary: key.primary, ..index });
        }
        Ok(schema.storage(self.storage))
    }
}

/// The columns of a key, by name.
pub(crate) fn key_columns(columns: &[ast::IndexColumn]) -> Result<Vec<String>> {
    let name = |column: &ast::IndexColumn| match &column.column.expr {
        Expr::Identifier(ident) => Ok(fold(ident)),
        other => Err(Error::unsupported(format!("a key over the expression {other}"))),
    };
    columns.iter().map(name).collect()
}

pub(crate) fn unknown_column(name: &str, table: &Name) -> Error {
    let text = format!("column {} of table {table} does not exist", quoted(name));
    Error::new(SqlState::UNKNOWN_COLUMN, text)
}

fn is_serial(data_type: &ast::DataType) -> bool {
    let name = data_type.to_string().to_lowercase();
    name.contains("serial")
}

fn is_plain_collation(name: &str) -> bool {
    let plain = name.trim_matches('"').to_lowercase();
    ["c", "posix", "default", "pg_catalog.\"default\"", "ucs_basic"].contains(&plain.as_str())
}

fn action(action: Option<ReferentialAction>) -> Action {
    match action {
        None | Some(ReferentialAction::NoAction | ReferentialAction::Restrict) => Action::Refuse,
        Some(ReferentialAction::Cascade) => Action::Cascade,
        Some(ReferentialAction::SetNull) => Action::SetNull,
        Some(ReferentialAction::SetDefault) => Action::SetDefault,
    }
}

/// What a table keeps is about one row of its own: nothing else may be asked.
fn check_expression(expression: &Expr) -> Result<()> {
    let found = ast::visit_expressions(expression, |part| match part {
        Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => {
            ControlFlow::Break("a subquery")
        }
        Expr::Value(value) if matches!(value.value, ast::Value::Placeholder(_)) => {
            ControlFlow::Break("a parameter")
        }
        _ => ControlFlow::Continue(()),
    });
    match found {
        ControlFlow::Break(what) => {
            Err(Error::unsupported(format!("{what} in what a table is defined by")))
        }
        ControlFlow::Continue(()) => Ok(()),
    }
}

impl Definition {
    /// As it is written down. `ids` knows the numbers of tables.
    ///
    /// # Errors
    /// `FEATURE_NOT_SUPPORTED` for what would not be read back the same.
    pub(crate) fn to_stored(
        &self,
        mut ids: impl FnMut(&Name) -> Result<ObjectId>,
    ) -> Result<StoredTable> {
        let columns = self.columns.iter().map(ColumnDefinition::to_stored);
        let keys = self.keys.iter().map(|key| StoredKey {
            name: key.name.clone(),
            columns: key.columns.clone(),
            primary: key.primary,
        });
        let checks = self.checks.iter().map(|check| {
            let condition = written::expression(&check.condition)?;
            Ok(StoredCheck { name: check.name.clone(), condition })
        });
        let references = self.references.iter().map(|reference| {
            Ok(StoredReference {
                name: reference.name.clone(),
                columns: reference.columns.clone(),
                table: ids(&reference.table)?.0,
                to: reference.to.clone(),
                on_delete: reference.on_delete.to_string(),
                on_update: reference.on_update.to_string(),
            })
        });
        Ok(StoredTable {
            columns: columns.collect::<Result<_>>()?,
            keys: keys.collect(),
            checks: checks.collect::<Result<_>>()?,
            references: references.collect::<Result<_>>()?,
        })
    }

    /// What was written down. `names` knows the tables of numbers.
    ///
    /// # Errors
    /// Something in it that is not understood.
    pub(crate) fn from_stored(
        name: &Name,
        stored: &StoredTable,
        names: impl Fn(ObjectId) -> Option<Name>,
    ) -> Result<Self> {
        let columns = stored.columns.iter().map(ColumnDefinition::from_stored);
        let keys = stored.keys.iter().map(|key| Key {
            name: key.name.clone(),
            columns: key.columns.clone(),
            primary: key.primary,
        });
        let checks = stored.checks.iter().map(|check| {
            let condition = written::read_expression(&check.condition)?;
            Ok(Check { name: check.name.clone(), condition })
        });
        let references = stored.references.iter().map(|reference| {
            let table = names(ObjectId(reference.table));
            Ok(ReferenceDefinition {
                name: reference.name.clone(),
                columns: reference.columns.clone(),
                table: table.ok_or_else(|| {
                    let text = format!("the table that {} refers to is not known", reference.name);
                    Error::new(SqlState::UNKNOWN_TABLE, text)
                })?,
                to: reference.to.clone(),
                table_id: Some(ObjectId(reference.table)),
                on_delete: action_of(&reference.on_delete)?,
                on_update: action_of(&reference.on_update)?,
            })
        });
        Ok(Self {
            name: name.clone(),
            columns: columns.collect::<Result<_>>()?,
            keys: keys.collect(),
            checks: checks.collect::<Result<_>>()?,
            references: references.collect::<Result<_>>()?,
            // The engine's schema says it.
            storage: TableStorage::default(),
        })
    }
}

impl ColumnDefinition {
    fn to_stored(&self) -> Result<WrittenColumn> {
        let sequence = |identity: IdentityDefinition| -> Result<StoredIdentity> {
            let made = || Error::internal("an identity column without its sequence");
            let sequence = identity.sequence.ok_or_else(made)?.0;
            Ok(StoredIdentity { sequence, always: identity.always })
        };
        let sql_type = self.sql_type.to_string();
        if SqlType::from_ast(&written::read_type(&sql_type)?)? != self.sql_type {
            return Err(Error::unsupported(format!("a column of type {sql_type}")));
        }
        Ok(WrittenColumn {
            name: self.name.clone(),
            sql_type,
            not_null: self.not_null,
            default: self.default.as_ref().map(written::expression).transpose()?,
            identity: self.identity.map(sequence).transpose()?,
            generated: self.generated.as_ref().map(written::expression).transpose()?,
        })
    }

    fn from_stored(stored: &WrittenColumn) -> Result<Self> {
        let read = |text: &String| written::read_expression(text);
        let identity = stored.identity.as_ref().map(|identity| IdentityDefinition {
            always: identity.always,
            sequence: Some(ObjectId(identity.sequence)),
        });
        Ok(Self {
            name: stored.name.clone(),
            sql_type: SqlType::from_ast(&written::read_type(&stored.sql_type)?)?,
            not_null: stored.not_null,
            default: stored.default.as_ref().map(read).transpose()?,
            identity,
            sequence: Vec::new(),
            generated: stored.generated.as_ref().map(read).transpose()?,
        })
    }
}

fn action_of(word: &str) -> Result<Action> {
    let all = [Action::Refuse, Action::Cascade, Action::SetNull, Action::SetDefault];
    let found = all.into_iter().find(|action| action.to_string() == word);
    found.ok_or_else(|| Error::internal(format!("{word} is not known")))
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refuse => "NO ACTION",
            Self::Cascade => "CASCADE",
            Self::SetNull => "SET NULL",
            Self::SetDefault => "SET DEFAULT",
        })
    }
}

/// Names behind each other, as a statement has them.
pub(crate) fn list(names: &[String]) -> String {
    names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ")
}
