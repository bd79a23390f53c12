//! `pg_catalog`: what clients of PostgreSQL ask about tables, columns, keys and types.
//!
//! The columns are those that psql, drivers and object mappers read; the rest of PostgreSQL's
//! catalog is not there. Tables about things that do not exist here are there and empty.

use std::sync::Arc;

use super::information::CATALOG;
use super::pg_objects::{TYPES, class_oid, namespace_oid, oid, type_modifier, type_oid};
use super::rows::Described;
use super::{absent, activity, replication};
use crate::catalog::definition::list;
use crate::catalog::role::Actor;
use crate::catalog::snapshot::{Snapshot, ViewColumn};
use crate::catalog::store::ObjectId;
use crate::catalog::table::{Action, Index, Reference, Table};
use crate::context::StatementContext;
use crate::names::{Name, PUBLIC, quoted};
use crate::values::datum::Datum;

/// The number of whoever owns everything.
const OWNER: i64 = 10;

/// A table of `pg_catalog`.
pub(crate) fn table(
    context: &StatementContext,
    catalog: &Arc<Snapshot>,
    name: &str,
) -> Option<Described> {
    Some(match name {
        "pg_namespace" => namespaces(catalog),
        "pg_class" => classes(catalog),
        "pg_attribute" => attributes(catalog),
        "pg_attrdef" => defaults(catalog),
        "pg_type" => types(),
        "pg_index" => indexes(catalog),
        "pg_constraint" => constraints(catalog),
        "pg_description" => descriptions(catalog),
        "pg_tables" => tables(catalog),
        "pg_views" => views(catalog),
        "pg_indexes" => index_texts(catalog),
        "pg_sequences" | "pg_sequence" => sequences(catalog),
        "pg_am" => access_methods(),
        "pg_database" => databases(),
        "pg_roles" | "pg_user" | "pg_authid" => roles(context, catalog),
        "pg_settings" => settings(context),
        "pg_stat_activity" => activity::sessions(context, catalog),
        "pg_stat_replication" => replication::followers(context),
        "pg_stat_wal_receiver" => replication::receiver(context),
        other => Described::new(absent::columns(other)?),
    })
}

fn text(text: impl Into<String>) -> Datum {
    Datum::from(text.into())
}

fn namespaces(catalog: &Snapshot) -> Described {
    let mut rows =
        Described::new(&[("oid", 'i'), ("nspname", 't'), ("nspowner", 'i'), ("nspacl", 't')]);
    let system = ["information_schema", "pg_catalog"].map(str::to_owned);
    for schema in catalog.schemas.keys().chain(&system) {
        let number = Datum::Int(namespace_oid(schema));
        let owner = catalog.schemas.get(schema).and_then(|schema| schema.owner);
        rows.add(vec![number, text(schema), owner_number(owner), Datum::Null]);
    }
    rows
}

/// The columns of `pg_class`.
const CLASS: &[(&str, char)] = &[
    ("oid", 'i'),
    ("relname", 't'),
    ("relnamespace", 'i'),
    ("reltype", 'i'),
    ("reloftype", 'i'),
    ("relowner", 'i'),
    ("relam", 'i'),
    ("relfilenode", 'i'),
    ("reltablespace", 'i'),
    ("relpages", 'i'),
    ("reltuples", 'd'),
    ("reltoastrelid", 'i'),
    ("relhasindex", 'b'),
    ("relisshared", 'b'),
    ("relpersistence", 't'),
    ("relkind", 't'),
    ("relnatts", 'i'),
    ("relchecks", 'i'),
    ("relhasrules", 'b'),
    ("relhastriggers", 'b'),
    ("relhassubclass", 'b'),
    ("relrowsecurity", 'b'),
    ("relforcerowsecurity", 'b'),
    ("relispopulated", 'b'),
    ("relreplident", 't'),
    ("relispartition", 'b'),
    ("reloptions", 's'),
    ("relpartbound", 't'),
    ("relacl", 's'),
];

fn classes(catalog: &Snapshot) -> Described {
    let mut rows = Described::new(CLASS);
    let mut add =
        |name: &Name, kind: &str, (am, columns, checks): (i64, usize, usize), has: bool| {
            // In PostgreSQL references are triggers, and clients ask for them where there are some.
            let refers = catalog.tables.iter().any(|(other, table)| {
                let of_it = |reference: &Reference| other == name || reference.table == *name;
                kind == "r" && table.references.iter().any(of_it)
            });
            let zero = || Datum::Int(0);
            let no = || Datum::Bool(false);
            rows.add(vec![
                Datum::Int(class_oid(name)),
                text(&name.name),
                Datum::Int(namespace_oid(&name.schema)),
                zero(),
                zero(),
                owner_number(owner_of(catalog, name)),
                Datum::Int(am),
                Datum::Int(class_oid(name)),
                zero(),
                zero(),
                Datum::Double(-1.0),
                zero(),
                Datum::Bool(has),
                no(),
                text("p"),
                text(kind),
                Datum::Int(columns as i64),
                Datum::Int(checks as i64),
                no(),
                Datum::Bool(refers),
                no(),
                no(),
                no(),
                Datum::Bool(true),
                text("d"),
                no(),
                Datum::Null,
                Datum::Null,
                Datum::Null,
            ]);
        };
    for (name, table) in &catalog.tables {
        let counts = (HEAP, table.columns.len(), table.checks.len());
        add(name, "r", counts, !table.indexes.is_empty());
        for index in &table.indexes {
            let method = if index.ordered { BTREE } else { HASH };
            let index_name = Name::new(&name.schema, &index.name);
            add(&index_name, "i", (method, index.columns.len(), 0), false);
        }
    }
    catalog.views.iter().for_each(|(name, view)| add(name, "v", (0, view.columns.len(), 0), false));
    catalog.sequences.keys().for_each(|name| add(name, "S", (0, 3, 0), false));
    rows
}

/// The columns of `pg_attribute`.
const ATTRIBUTE: &[(&str, char)] = &[
    ("attrelid", 'i'),
    ("attname", 't'),
    ("atttypid", 'i'),
    ("attlen", 'i'),
    ("attnum", 'i'),
    ("atttypmod", 'i'),
    ("attnotnull", 'b'),
    ("atthasdef", 'b'),
    ("atthasmissing", 'b'),
    ("attidentity", 't'),
    ("attgenerated", 't'),
    ("attisdropped", 'b'),
    ("attislocal", 'b'),
    ("attinhcount", 'i'),
    ("attcollation", 'i'),
    ("attndims", 'i'),
    ("attstorage", 't'),
    ("attcompression", 't'),
    ("attstattarget", 'i'),
    ("attacl", 't'),
    ("attoptions", 's'),
    ("attfdwoptions", 's'),
];

fn attributes(catalog: &Snapshot) -> Described {
    let mut rows = Described::new(ATTRIBUTE);
    let mut add = |class: i64, number: usize, column: &crate::catalog::table::Column| {
        let kind = type_oid(&column.sql_type);
        let length = TYPES.iter().find(|(oid, ..)| *oid == kind).map_or(-1, |(.., len, _)| *len);
        let identity = match &column.identity {
            Some(identity) if identity.always => "a",
            Some(_) => "d",
            None => "",
        };
        let has_default = column.default.is_some() || column.generated.is_some();
        rows.add(vec![
            Datum::Int(class),
            text(&column.name),
            Datum::Int(kind),
            Datum::Int(length),
            Datum::Int(number as i64 + 1),
            Datum::Int(type_modifier(&column.sql_type)),
            Datum::Bool(!column.nullable),
            Datum::Bool(has_default),
            Datum::Bool(false),
            text(identity),
            text(if column.generated.is_some() { "s" } else { "" }),
            Datum::Bool(false),
            Datum::Bool(true),
            Datum::Int(0),
            Datum::Int(0),
            Datum::Int(0),
            text(storage(kind, length)),
            text(""),
            Datum::Int(-1),
            Datum::Null,
            Datum::Null,
            Datum::Null,
        ]);
    };
    for (name, table) in &catalog.tables {
        for (number, column) in table.columns.iter().enumerate() {
            add(class_oid(name), number, column);
        }
        for index in &table.indexes {
            let class = class_oid(&Name::new(&name.schema, &index.name));
            for (number, &column) in index.columns.iter().enumerate() {
                add(class, number, &table.columns[column]);
            }
        }
    }
    for (name, view) in &catalog.views {
        for (number, column) in view.columns.iter().enumerate() {
            rows.add(view_attribute(class_oid(name), number, column));
        }
    }
    rows
}

/// How PostgreSQL would keep long values of a type.
fn storage(kind: i64, length: i64) -> &'static str {
    match (kind, length) {
        (1700, _) => "m",
        (_, -1) => "x",
        _ => "p",
    }
}

fn view_attribute(class: i64, number: usize, column: &ViewColumn) -> Vec<Datum> {
    let kind = type_oid(&column.sql_type);
    let length = TYPES.iter().find(|(oid, ..)| *oid == kind).map_or(-1, |(.., len, _)| *len);
    vec![
        Datum::Int(class),
        text(&column.name),
        Datum::Int(kind),
        Datum::Int(length),
        Datum::Int(number as i64 + 1),
        Datum::Int(type_modifier(&column.sql_type)),
        Datum::Bool(false),
        Datum::Bool(false),
        Datum::Bool(false),
        text(""),
        text(""),
        Datum::Bool(false),
        Datum::Bool(true),
        Datum::Int(0),
        Datum::Int(0),
        Datum::Int(0),
        text(storage(kind, length)),
        text(""),
        Datum::Int(-1),
        Datum::Null,
        Datum::Null,
        Datum::Null,
    ]
}

fn defaults(catalog: &Snapshot) -> Described {
    let mut rows =
        Described::new(&[("oid", 'i'), ("adrelid", 'i'), ("adnum", 'i'), ("adbin", 't')]);
    for (name, table) in &catalog.tables {
        for (number, column) in table.columns.iter().enumerate() {
            let Some(default) = column.default.as_ref().or(column.generated.as_ref()) else {
                continue;
            };
            let own = oid("default", &name.schema, &format!("{}.{number}", name.name));
            let (class, number) = (Datum::Int(class_oid(name)), Datum::Int(number as i64 + 1));
            rows.add(vec![Datum::Int(own), class, number, text(default.to_string())]);
        }
    }
    rows
}

fn types() -> Described {
    let mut rows = Described::new(&[
        ("oid", 'i'),
        ("typname", 't'),
        ("typnamespace", 'i'),
        ("typowner", 'i'),
        ("typlen", 'i'),
        ("typtype", 't'),
        ("typcategory", 't'),
        ("typdelim", 't'),
        ("typrelid", 'i'),
        ("typelem", 'i'),
        ("typarray", 'i'),
        ("typinput", 't'),
        ("typnotnull", 'b'),
        ("typbasetype", 'i'),
        ("typtypmod", 'i'),
        ("typcollation", 'i'),
        ("typdefault", 't'),
    ]);
    for (number, name, _, length, category) in TYPES {
        let element = name.strip_prefix('_').and_then(by_name);
        let array = by_name(&format!("_{name}"));
        rows.add(vec![
            Datum::Int(*number),
            text(*name),
            Datum::Int(11),
            Datum::Int(OWNER),
            Datum::Int(*length),
            text("b"),
            text(*category),
            text(","),
            Datum::Int(0),
            Datum::Int(element.unwrap_or(0)),
            Datum::Int(array.unwrap_or(0)),
            text(if element.is_some() { "array_in".to_owned() } else { format!("{name}in") }),
            Datum::Bool(false),
            Datum::Int(0),
            Datum::Int(-1),
            Datum::Int(0),
            Datum::Null,
        ]);
    }
    rows
}

fn by_name(name: &str) -> Option<i64> {
    TYPES.iter().find(|(_, other, ..)| *other == name).map(|(number, ..)| *number)
}

fn numbers(columns: impl Iterator<Item = usize>) -> Datum {
    Datum::List(columns.map(|column| Datum::Int(column as i64 + 1)).collect())
}

fn indexes(catalog: &Snapshot) -> Described {
    let mut rows = Described::new(&[
        ("indexrelid", 'i'),
        ("indrelid", 'i'),
        ("indnatts", 'i'),
        ("indnkeyatts", 'i'),
        ("indisunique", 'b'),
        ("indisprimary", 'b'),
        ("indisexclusion", 'b'),
        ("indisclustered", 'b'),
        ("indisvalid", 'b'),
        ("indisready", 'b'),
        ("indisreplident", 'b'),
        ("indnullsnotdistinct", 'b'),
        ("indkey", 'l'),
        ("indoption", 't'),
        ("indclass", 'l'),
        ("indimmediate", 'b'),
        ("indexprs", 't'),
        ("indpred", 't'),
    ]);
    for (name, table) in &catalog.tables {
        for index in &table.indexes {
            let count = Datum::Int(index.columns.len() as i64);
            let options = index.descending.iter().map(|down| if *down { "3" } else { "0" });
            let classes = index.columns.iter().map(|_| Datum::Int(0));
            let no = || Datum::Bool(false);
            rows.add(vec![
                Datum::Int(class_oid(&Name::new(&name.schema, &index.name))),
                Datum::Int(class_oid(name)),
                count.clone(),
                count,
                Datum::Bool(index.unique),
                Datum::Bool(index.primary),
                no(),
                no(),
                Datum::Bool(true),
                Datum::Bool(true),
                no(),
                no(),
                numbers(index.columns.iter().copied()),
                text(options.collect::<Vec<_>>().join(" ")),
                Datum::List(classes.collect()),
                Datum::Bool(true),
                Datum::Null,
                Datum::Null,
            ]);
        }
    }
    rows
}

fn constraints(catalog: &Snapshot) -> Described {
    let mut rows = Described::new(&[
        ("oid", 'i'),
        ("conname", 't'),
        ("connamespace", 'i'),
        ("contype", 't'),
        ("condeferrable", 'b'),
        ("condeferred", 'b'),
        ("convalidated", 'b'),
        ("conrelid", 'i'),
        ("contypid", 'i'),
        ("conindid", 'i'),
        ("conparentid", 'i'),
        ("confrelid", 'i'),
        ("confupdtype", 't'),
        ("confdeltype", 't'),
        ("confmatchtype", 't'),
        ("conkey", 'l'),
        ("confkey", 'l'),
    ]);
    for (name, table) in &catalog.tables {
        let mut add = |constraint: &str, kind: &str, own: Datum, far: Far| {
            let number = oid("constraint", &name.schema, &format!("{}.{constraint}", name.name));
            let no = || Datum::Bool(false);
            rows.add(vec![
                Datum::Int(number),
                text(constraint),
                Datum::Int(namespace_oid(&name.schema)),
                text(kind),
                no(),
                no(),
                Datum::Bool(true),
                Datum::Int(class_oid(name)),
                Datum::Int(0),
                Datum::Int(far.index),
                Datum::Int(0),
                Datum::Int(far.table),
                text(far.on_update),
                text(far.on_delete),
                text(if far.table == 0 { " " } else { "s" }),
                own,
                far.columns,
            ]);
        };
        for key in table.indexes.iter().filter(|index| index.constraint) {
            let index = class_oid(&Name::new(&name.schema, &key.name));
            let kind = if key.primary { "p" } else { "u" };
            let far = Far { index, ..Far::default() };
            add(&key.name, kind, numbers(key.columns.iter().copied()), far);
        }
        for check in &table.checks {
            add(&check.name, "c", Datum::Null, Far::default());
        }
        for reference in &table.references {
            let far = far_of(catalog, reference);
            add(&reference.name, "f", numbers(reference.columns.iter().copied()), far);
        }
    }
    rows
}

/// What a constraint leads to.
struct Far {
    index: i64,
    table: i64,
    on_update: &'static str,
    on_delete: &'static str,
    columns: Datum,
}

impl Default for Far {
    fn default() -> Self {
        Self { index: 0, table: 0, on_update: " ", on_delete: " ", columns: Datum::Null }
    }
}

fn far_of(catalog: &Snapshot, reference: &Reference) -> Far {
    let letter = |action: Action| match action {
        Action::Refuse => "a",
        Action::Cascade => "c",
        Action::SetNull => "n",
        Action::SetDefault => "d",
    };
    let parent = catalog.tables.get(&reference.table);
    let key = parent.and_then(|parent| crate::catalog::table::referred_key(parent, reference).ok());
    let index = key.map(|key| class_oid(&Name::new(&reference.table.schema, &key.name)));
    Far {
        index: index.unwrap_or(0),
        table: class_oid(&reference.table),
        on_update: letter(reference.on_update),
        on_delete: letter(reference.on_delete),
        columns: key.map_or(Datum::Null, |key| numbers(key.columns.iter().copied())),
    }
}

fn descriptions(catalog: &Snapshot) -> Described {
    let mut rows = Described::new(&[
        ("objoid", 'i'),
        ("classoid", 'i'),
        ("objsubid", 'i'),
        ("description", 't'),
    ]);
    let mut add = |name: &Name, part: usize, comment: &Option<String>| {
        if let Some(comment) = comment {
            let (class, part) = (Datum::Int(class_oid(name)), Datum::Int(part as i64));
            rows.add(vec![class, Datum::Int(1259), part, text(comment)]);
        }
    };
    for (name, table) in &catalog.tables {
        add(name, 0, &table.comment);
        for (number, column) in table.columns.iter().enumerate() {
            add(name, number + 1, &column.comment);
        }
        for index in &table.indexes {
            add(&Name::new(&name.schema, &index.name), 0, &index.comment);
        }
    }
    catalog.views.iter().for_each(|(name, view)| add(name, 0, &view.comment));
    rows
}

fn tables(catalog: &Snapshot) -> Described {
    let mut rows = Described::new(&[
        ("schemaname", 't'),
        ("tablename", 't'),
        ("tableowner", 't'),
        ("tablespace", 't'),
        ("hasindexes", 'b'),
        ("hasrules", 'b'),
        ("hastriggers", 'b'),
    ]);
    for (name, table) in &catalog.tables {
        rows.add(vec![
            text(&name.schema),
            text(&name.name),
            text(CATALOG),
            Datum::Null,
            Datum::Bool(!table.indexes.is_empty()),
            Datum::Bool(false),
            Datum::Bool(false),
        ]);
    }
    rows
}

fn views(catalog: &Snapshot) -> Described {
    let columns = [("schemaname", 't'), ("viewname", 't'), ("viewowner", 't'), ("definition", 't')];
    let mut rows = Described::new(&columns);
    for (name, view) in &catalog.views {
        let query = text(view.query.to_string());
        rows.add(vec![text(&name.schema), text(&name.name), text(CATALOG), query]);
    }
    rows
}

fn index_texts(catalog: &Snapshot) -> Described {
    let mut rows = Described::new(&[
        ("schemaname", 't'),
        ("tablename", 't'),
        ("indexname", 't'),
        ("tablespace", 't'),
        ("indexdef", 't'),
    ]);
    for (name, table) in &catalog.tables {
        for index in &table.indexes {
            rows.add(vec![
                text(&name.schema),
                text(&name.name),
                text(&index.name),
                Datum::Null,
                text(index_text(table, index)),
            ]);
        }
    }
    rows
}

/// The statement that would make an index.
pub(crate) fn index_text(table: &Table, index: &Index) -> String {
    let unique = if index.unique { "UNIQUE " } else { "" };
    let method = if index.ordered { "btree" } else { "hash" };
    let columns = index.columns.iter().zip(&index.descending).map(|(&column, down)| {
        format!("{}{}", quoted(&table.columns[column].name), if *down { " DESC" } else { "" })
    });
    let columns: Vec<String> = columns.collect();
    format!(
        "CREATE {unique}INDEX {} ON {}.{} USING {method} ({})",
        quoted(&index.name),
        quoted(&table.name.schema),
        quoted(&table.name.name),
        columns.join(", ")
    )
}

/// A constraint as a definition of a table says it, by its number.
pub(crate) fn constraint_text(catalog: &Snapshot, number: i64) -> Option<String> {
    for (name, table) in &catalog.tables {
        let is = |constraint: &str| {
            oid("constraint", &name.schema, &format!("{}.{constraint}", name.name)) == number
        };
        let names = |columns: &[usize]| -> String {
            let names: Vec<String> =
                columns.iter().map(|&column| quoted(&table.columns[column].name)).collect();
            list(&names)
        };
        if let Some(key) = table.indexes.iter().find(|index| index.constraint && is(&index.name)) {
            let kind = if key.primary { "PRIMARY KEY" } else { "UNIQUE" };
            return Some(format!("{kind} ({})", names(&key.columns)));
        }
        if let Some(check) = table.checks.iter().find(|check| is(&check.name)) {
            return Some(format!("CHECK ({})", check.condition));
        }
        if let Some(reference) = table.references.iter().find(|reference| is(&reference.name)) {
            let parent = catalog.tables.get(&reference.table)?;
            let key = crate::catalog::table::referred_key(parent, reference).ok()?;
            let to: Vec<String> =
                key.columns.iter().map(|&column| quoted(&parent.columns[column].name)).collect();
            let schema = match reference.table.schema.as_str() {
                PUBLIC => String::new(),
                schema => format!("{}.", quoted(schema)),
            };
            let mut text = format!(
                "FOREIGN KEY ({}) REFERENCES {schema}{}({})",
                names(&reference.columns),
                quoted(&reference.table.name),
                list(&to)
            );
            for (event, action) in
                [("UPDATE", reference.on_update), ("DELETE", reference.on_delete)]
            {
                if action != Action::Refuse {
                    text.push_str(&format!(" ON {event} {action}"));
                }
            }
            return Some(text);
        }
    }
    None
}

fn sequences(catalog: &Snapshot) -> Described {
    let mut rows = Described::new(&[
        ("seqrelid", 'i'),
        ("schemaname", 't'),
        ("sequencename", 't'),
        ("seqtypid", 'i'),
        ("seqstart", 'i'),
        ("seqincrement", 'i'),
        ("seqmax", 'i'),
        ("seqmin", 'i'),
        ("seqcache", 'i'),
        ("seqcycle", 'b'),
    ]);
    for (name, sequence) in &catalog.sequences {
        let options = sequence.options;
        rows.add(vec![
            Datum::Int(class_oid(name)),
            text(&name.schema),
            text(&name.name),
            Datum::Int(20),
            Datum::Int(options.start),
            Datum::Int(options.increment),
            Datum::Int(options.max),
            Datum::Int(options.min),
            Datum::Int(1),
            Datum::Bool(options.cycle),
        ]);
    }
    rows
}

/// Numbers of the ways that rows and indexes are kept.
const HEAP: i64 = 2;
const BTREE: i64 = 403;
const HASH: i64 = 405;

fn access_methods() -> Described {
    let mut rows = Described::new(&[("oid", 'i'), ("amname", 't'), ("amtype", 't')]);
    for (number, name, kind) in [(HEAP, "heap", "t"), (BTREE, "btree", "i"), (HASH, "hash", "i")] {
        rows.add(vec![Datum::Int(number), text(name), text(kind)]);
    }
    rows
}

fn databases() -> Described {
    let mut rows = Described::new(&[
        ("oid", 'i'),
        ("datname", 't'),
        ("datdba", 'i'),
        ("encoding", 'i'),
        ("datcollate", 't'),
        ("datctype", 't'),
        ("datistemplate", 'b'),
        ("datallowconn", 'b'),
        ("datconnlimit", 'i'),
        ("datacl", 's'),
        ("dattablespace", 'i'),
        ("datlocprovider", 't'),
        ("daticulocale", 't'),
    ]);
    rows.add(vec![
        Datum::Int(5),
        text(CATALOG),
        Datum::Int(OWNER),
        Datum::Int(6),
        text("C"),
        text("C"),
        Datum::Bool(false),
        Datum::Bool(true),
        Datum::Int(-1),
        Datum::Null,
        Datum::Int(0),
        text("c"),
        Datum::Null,
    ]);
    rows
}

fn roles(context: &StatementContext, catalog: &Snapshot) -> Described {
    let mut rows = Described::new(&[
        ("oid", 'i'),
        ("rolname", 't'),
        ("usename", 't'),
        ("usesysid", 'i'),
        ("rolsuper", 'b'),
        ("usesuper", 'b'),
        ("rolinherit", 'b'),
        ("rolcreaterole", 'b'),
        ("rolcreatedb", 'b'),
        ("rolcanlogin", 'b'),
        ("rolreplication", 'b'),
        ("rolconnlimit", 'i'),
        ("rolpassword", 't'),
        ("rolvaliduntil", 't'),
        ("rolbypassrls", 'b'),
    ]);
    let mut add = |id: i64, name: &str, (is_superuser, may_log_in): (bool, bool)| {
        let is = || Datum::Bool(is_superuser);
        rows.add(vec![
            Datum::Int(id),
            text(name),
            text(name),
            Datum::Int(id),
            is(),
            is(),
            Datum::Bool(true),
            is(),
            Datum::Bool(false),
            Datum::Bool(may_log_in),
            Datum::Bool(false),
            Datum::Int(-1),
            text("********"),
            Datum::Null,
            is(),
        ]);
    };
    for role in catalog.roles.values() {
        add(role.id, &role.name, (role.is_superuser, role.may_log_in));
    }
    // Whatever no role owns is the program's, which may do everything. It bears the name under
    // which a session without a role has come in, by trust; nobody else comes in as it.
    let (program, may_log_in) = match context.actor {
        Actor::Program => (context.settings.user.as_str(), true),
        Actor::Role(_) => (CATALOG, false),
    };
    if catalog.role(program).is_none() {
        add(OWNER, program, (true, may_log_in));
    }
    rows
}

/// The role that owns a table, view, sequence or index.
fn owner_of(catalog: &Snapshot, name: &Name) -> Option<ObjectId> {
    let table = catalog.tables.get(name).map(|table| table.owner);
    let view = || catalog.views.get(name).map(|view| view.owner);
    let sequence = || catalog.sequences.get(name).map(|sequence| sequence.owner);
    let index = || catalog.index(name).map(|(table, _)| table.owner);
    table.or_else(view).or_else(sequence).or_else(index).flatten()
}

fn owner_number(owner: Option<ObjectId>) -> Datum {
    Datum::Int(owner.map_or(OWNER, |owner| owner.0))
}

fn settings(context: &StatementContext) -> Described {
    let mut rows = Described::new(&[("name", 't'), ("setting", 't'), ("short_desc", 't')]);
    for (name, value) in context.all_settings() {
        rows.add(vec![text(name), text(value), text("")]);
    }
    rows
}
