//! Reading the catalog: the engine's tables, with what SQL wrote about them.
//!
//! A table that SQL knows nothing of is shown as the engine describes it, so rows of other
//! interfaces can be queried at once. A definition that cannot be read is set aside with the reason
//! and hinders nothing else: opening never fails for what somebody once defined.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use remanent_engine::schema::IndexKind;
use remanent_engine::{IndexHandle, ReadTransaction};

use super::definition::{Definition, unknown_column};
use super::role::Role;
use super::sequence::{Options, Sequence};
use super::snapshot::{Schema, SetAside, Snapshot, View, ViewColumn, public};
use super::store::{Contents, Kind, Object, ObjectId, Store};
use super::stored::{self, StoredRole, StoredSequence, StoredTable, StoredView};
use super::table::{Column, Identity, Index, Reference, Table};
use super::written;
use crate::error::Result;
use crate::names::Name;
use crate::values::sql_type::SqlType;

/// A table of the engine, with its indexes.
pub(crate) struct EngineTable {
    pub(crate) handle: remanent_engine::Table,
    pub(crate) indexes: Vec<IndexHandle>,
}

/// The catalog as a transaction sees it, over these tables of the engine. Sequences of the one
/// before are kept: they have numbers in memory.
///
/// # Errors
/// As the engine.
pub(crate) fn load(
    store: &Store,
    tx: &ReadTransaction<'_>,
    tables: Vec<EngineTable>,
    before: &Snapshot,
    version: u64,
) -> Result<Snapshot> {
    let contents = store.contents(tx)?;
    let mut loading = Loading::new(&contents, before);
    loading.snapshot.version = version;
    contents.objects.iter().for_each(|object| loading.name(object));
    for table in &tables {
        loading.name_table(&table.handle);
    }
    contents.objects.iter().for_each(|object| loading.add(object));
    for table in tables {
        loading.add_table(table)?;
    }
    loading.own_sequences();
    Ok(loading.snapshot)
}

struct Loading<'c> {
    before: &'c Snapshot,
    comments: HashMap<(ObjectId, &'c str), &'c str>,
    /// The same, by the object alone.
    texts: HashMap<ObjectId, Vec<(&'c str, &'c str)>>,
    /// Rows about tables, by the number that the engine gives them.
    tables: HashMap<u32, &'c Object>,
    snapshot: Snapshot,
}

impl<'c> Loading<'c> {
    fn new(contents: &'c Contents, before: &'c Snapshot) -> Self {
        let comments = contents.comments.iter();
        let comments = comments.map(|(id, part, text)| ((*id, part.as_str()), text.as_str()));
        let mut texts: HashMap<ObjectId, Vec<(&str, &str)>> = HashMap::new();
        for (id, part, text) in &contents.comments {
            texts.entry(*id).or_default().push((part, text));
        }
        texts.values_mut().for_each(|texts| texts.sort_unstable());
        let tables = contents.objects.iter().filter(|object| object.kind == Kind::Table);
        let tables = tables.filter_map(|object| Some((object.engine?, object)));
        let mut snapshot = Snapshot::default();
        snapshot.schemas.extend([public()]);
        snapshot.grants.extend(contents.grants.iter().copied());
        Self { before, comments: comments.collect(), texts, tables: tables.collect(), snapshot }
    }

    /// Notes what a number means. Of tables, only those that are there.
    fn name(&mut self, object: &Object) {
        if object.kind != Kind::Table {
            let meant = (object.kind, object.name.clone());
            self.snapshot.by_id.insert(object.id, meant);
        }
    }

    fn name_table(&mut self, table: &remanent_engine::Table) {
        if let Some(object) = self.tables.get(&table.number()) {
            let meant = (Kind::Table, object.name.clone());
            self.snapshot.by_id.insert(object.id, meant);
        }
    }

    /// An object that is no table.
    fn add(&mut self, object: &Object) {
        let added = match object.kind {
            Kind::Table => Ok(()),
            Kind::Schema => {
                let schema = Schema { id: Some(object.id), owner: object.owner };
                self.snapshot.schemas.insert(object.name.name.clone(), schema);
                Ok(())
            }
            Kind::Role => {
                role(object).map(|role| drop(self.snapshot.roles.insert(object.id, role)))
            }
            Kind::Sequence => self.add_sequence(object),
            Kind::View => self.add_view(object),
            Kind::Secret => {
                let (name, text) = (object.name.name.clone(), object.definition.clone());
                self.snapshot.secrets.insert(name, text);
                Ok(())
            }
        };
        if let Err(error) = added {
            self.set_aside(object, &error.to_string());
        }
    }

    fn set_aside(&mut self, object: &Object, because: &str) {
        let name = match object.kind {
            Kind::Schema | Kind::Role | Kind::Secret => object.name.name.clone(),
            _ => object.name.to_string(),
        };
        let (kind, because) = (object.kind.word(), because.to_owned());
        self.snapshot.set_aside.push(SetAside { kind, name, because });
    }

    fn add_sequence(&mut self, object: &Object) -> Result<()> {
        let stored: StoredSequence = stored::read(&object.definition)?;
        let options = Options::from_stored(&stored);
        let known = self.before.sequence_of(object.id);
        let known = known.filter(|known| known.options == options);
        let mut sequence = Sequence::new(object.id, object.name.clone(), options, object.owner);
        if let Some(known) = known {
            sequence.go_on_from(known);
        }
        self.snapshot.sequences.insert(object.name.clone(), Arc::new(sequence));
        Ok(())
    }

    fn add_view(&mut self, object: &Object) -> Result<()> {
        let stored: StoredView = stored::read(&object.definition)?;
        let columns = stored.columns.iter().map(|column| {
            let sql_type = SqlType::from_ast(&written::read_type(&column.sql_type)?)?;
            let (name, source) = (column.name.clone(), column.source.clone());
            Ok(ViewColumn { name, source, sql_type })
        });
        let by_id = &self.snapshot.by_id;
        if let Some(gone) = stored.names.iter().find(|n| !by_id.contains_key(&ObjectId(n.object))) {
            return Err(super::snapshot::unknown_table(&Name::new(
                gone.schema.as_deref().unwrap_or(crate::names::PUBLIC),
                gone.name.as_str(),
            )));
        }
        let view = View {
            id: object.id,
            owner: object.owner,
            name: object.name.clone(),
            columns: columns.collect::<Result<_>>()?,
            query: written::read_query(&stored.query)?,
            names: stored.names,
            comment: self.comment(object.id, "").map(str::to_owned),
        };
        self.snapshot.views.insert(object.name.clone(), Arc::new(view));
        Ok(())
    }

    fn comment(&self, id: ObjectId, part: &str) -> Option<&'c str> {
        self.comments.get(&(id, part)).copied()
    }

    /// A table of the engine, as SQL sees it.
    fn add_table(&mut self, found: EngineTable) -> Result<()> {
        let object = self.tables.get(&found.handle.number()).copied();
        let engine_name = Name::of_engine(found.handle.name());
        let name = match (object, engine_name) {
            (Some(object), _) => object.name.clone(),
            (None, Some(name)) => name,
            (None, None) => return Ok(()),
        };
        let origin = self.origin(&name, &found, object);
        if let Some(same) = self.same(&name, &found.handle, origin) {
            self.snapshot.schemas.entry(name.schema.clone()).or_default();
            self.snapshot.tables.insert(name, same);
            return Ok(());
        }
        let read = object.filter(|object| !object.definition.is_empty()).map(|object| {
            let stored: StoredTable = stored::read(&object.definition)?;
            let by_id = &self.snapshot.by_id;
            Definition::from_stored(&name, &stored, |id| {
                by_id
                    .get(&id)
                    .filter(|(kind, _)| *kind == Kind::Table)
                    .map(|(_, name)| name.clone())
            })
        });
        let (definition, fault) = match read.transpose() {
            Ok(definition) => (definition, None),
            Err(error) => (None, Some(error.to_string())),
        };
        self.snapshot.schemas.entry(name.schema.clone()).or_default();
        let made = self.table(&name, &found, object, definition.as_ref());
        let (mut table, fault) = match made {
            Ok(table) => (table, fault),
            // What is defined does not fit the rows.
            Err(error) => (self.table(&name, &found, object, None)?, Some(error.to_string())),
        };
        if let (Some(fault), Some(object)) = (&fault, object) {
            self.set_aside(object, fault);
        }
        table.fault = fault;
        table.origin = origin;
        self.snapshot.tables.insert(name, Arc::new(table));
        Ok(())
    }

    /// A number for all that a table is made from, but for the names of others.
    fn origin(&self, name: &Name, found: &EngineTable, object: Option<&Object>) -> u64 {
        let mut hasher = DefaultHasher::new();
        (name, found.handle.number(), format!("{:?}", found.indexes)).hash(&mut hasher);
        if let Some(object) = object {
            (object.id, object.owner, &object.definition).hash(&mut hasher);
            self.texts.get(&object.id).hash(&mut hasher);
        }
        hasher.finish()
    }

    /// The table of the catalog before, if nothing about it has changed.
    fn same(
        &self,
        name: &Name,
        handle: &remanent_engine::Table,
        origin: u64,
    ) -> Option<Arc<Table>> {
        let before = self.before.tables.get(name)?;
        let is_same = before.origin == origin
            && before.fault.is_none()
            && before.handle.number() == handle.number()
            && before.references.iter().all(|reference| {
                let now = self.snapshot.by_id.get(&reference.table_id);
                now.is_some_and(|(_, name)| *name == reference.table)
            });
        is_same.then(|| Arc::clone(before))
    }

    fn table(
        &self,
        name: &Name,
        found: &EngineTable,
        object: Option<&Object>,
        definition: Option<&Definition>,
    ) -> Result<Table> {
        let handle = found.handle.clone();
        let id = object.map(|object| object.id);
        let comment_of = |part: &str| id.and_then(|id| self.comment(id, part)).map(str::to_owned);
        let mut columns = Vec::new();
        for (leaf, stored) in handle.layout().leaves().iter().enumerate() {
            let Some(natural) = SqlType::from_column_type(&stored.column_type) else { continue };
            if stored.is_presence() {
                continue;
            }
            let defined = definition.and_then(|definition| {
                definition.columns.iter().find(|column| column.name == stored.path)
            });
            let identity = defined.and_then(|column| column.identity).and_then(|identity| {
                let sequence = identity.sequence?;
                Some(Identity { sequence, always: identity.always })
            });
            columns.push(Column {
                name: stored.path.clone(),
                sql_type: defined.map_or(natural, |column| column.sql_type.clone()),
                stored: stored.column_type.clone(),
                handle: handle.column_at(leaf)?,
                leaf,
                nullable: stored.nullable,
                default: defined.and_then(|column| column.default.clone()),
                identity,
                generated: defined.and_then(|column| column.generated.clone()),
                comment: comment_of(&format!("column {}", stored.path)),
            });
        }
        if let Some(definition) = definition {
            for column in &definition.columns {
                if !columns.iter().any(|found| found.name == column.name) {
                    return Err(unknown_column(&column.name, name));
                }
            }
        }
        let comment_of_index = |index: &str| comment_of(&format!("index {index}"));
        let indexes = indexes(name, found, &columns, definition, comment_of_index)?;
        let references = definition.map_or(Ok(Vec::new()), |found| references(found, &columns))?;
        let (arrow, arrow_with_row) = Table::arrow_schemas(&columns);
        Ok(Table {
            origin: 0,
            id,
            owner: object.and_then(|object| object.owner),
            fault: None,
            name: name.clone(),
            leaves: handle.layout().leaves().len(),
            handle,
            columns,
            indexes,
            checks: definition.map_or_else(Vec::new, |definition| definition.checks.clone()),
            references,
            comment: comment_of(""),
            arrow,
            arrow_with_row,
        })
    }

    /// Tells sequences to which columns they belong.
    fn own_sequences(&mut self) {
        let mut owners = HashMap::new();
        for table in self.snapshot.tables.values() {
            for column in &table.columns {
                if let Some(identity) = &column.identity {
                    owners.insert(identity.sequence, (table.name.clone(), column.name.clone()));
                }
            }
        }
        for sequence in self.snapshot.sequences.values_mut() {
            if let (Some(owner), Some(alone)) =
                (owners.remove(&sequence.id), Arc::get_mut(sequence))
            {
                alone.belongs_to = Some(owner);
            }
        }
    }
}

fn role(object: &Object) -> Result<Role> {
    let stored: StoredRole = stored::read(&object.definition)?;
    Ok(Role {
        id: object.id.0,
        name: object.name.name.clone(),
        may_log_in: stored.login,
        is_superuser: stored.superuser,
        verifier: stored.verifier,
    })
}

fn indexes(
    table: &Name,
    found: &EngineTable,
    columns: &[Column],
    definition: Option<&Definition>,
    comment_of: impl Fn(&str) -> Option<String>,
) -> Result<Vec<Index>> {
    let mut indexes = Vec::new();
    for &index in &found.indexes {
        let schema = found.handle.index_schema(index)?;
        let engine_name = schema.name.as_str();
        let place = |part: &remanent_engine::schema::KeyPart| {
            columns.iter().position(|column| column.name == part.column)
        };
        let places: Option<Vec<usize>> = schema.parts.iter().map(place).collect();
        // A key over a part of a row that SQL does not show is of no use to SQL.
        let Some(places) = places else { continue };
        let is_given = |key: &super::definition::Key| key.primary && key.name == engine_name;
        let native = schema.primary
            && engine_name == "primary"
            && !definition.is_some_and(|definition| definition.keys.iter().any(is_given));
        let name = match native {
            true => format!("{}_pkey", table.name),
            false => engine_name.to_owned(),
        };
        let is_key = definition.is_some_and(|found| found.keys.iter().any(|key| key.name == name));
        indexes.push(Index {
            handle: index,
            columns: places,
            descending: schema.parts.iter().map(|part| part.descending).collect(),
            unique: schema.unique,
            primary: schema.primary,
            ordered: schema.kind == IndexKind::Ordered,
            constraint: schema.primary || is_key,
            comment: comment_of(&name),
            name,
        });
    }
    Ok(indexes)
}

fn references(definition: &Definition, columns: &[Column]) -> Result<Vec<Reference>> {
    let place = |name: &String| {
        let place = columns.iter().position(|column| column.name == *name);
        place.ok_or_else(|| unknown_column(name, &definition.name))
    };
    let made = definition.references.iter().map(|reference| {
        Ok(Reference {
            name: reference.name.clone(),
            columns: reference.columns.iter().map(place).collect::<Result<_>>()?,
            table: reference.table.clone(),
            table_id: reference.table_id.unwrap_or(ObjectId::PUBLIC),
            to: reference.to.clone(),
            on_delete: reference.on_delete,
            on_update: reference.on_update,
        })
    });
    made.collect()
}
