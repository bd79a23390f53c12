//! `information_schema`: tables, columns and constraints as the SQL standard describes them.
//!
//! Columns that would say the same in every row of every database are left out.

use super::rows::Described;
use crate::catalog::snapshot::Snapshot;
use crate::catalog::table::{Column, Index, Table};
use crate::values::datum::Datum;
use crate::values::sql_type::SqlType;

/// The name of the database, which is its own and only catalog.
pub(crate) const CATALOG: &str = "remanent";

/// A table of `information_schema`.
pub(crate) fn table(catalog: &Snapshot, name: &str) -> Option<Described> {
    Some(match name {
        "schemata" => schemata(catalog),
        "tables" => tables(catalog),
        "columns" => columns(catalog),
        "views" => views(catalog),
        "sequences" => sequences(catalog),
        "table_constraints" => table_constraints(catalog),
        "key_column_usage" => key_column_usage(catalog),
        "constraint_column_usage" => constraint_column_usage(catalog),
        "referential_constraints" => referential_constraints(catalog),
        "check_constraints" => check_constraints(catalog),
        _ => return None,
    })
}

fn text(text: impl Into<String>) -> Datum {
    Datum::from(text.into())
}

fn yes(truth: bool) -> Datum {
    text(if truth { "YES" } else { "NO" })
}

fn schemata(catalog: &Snapshot) -> Described {
    let columns = [("catalog_name", 't'), ("schema_name", 't'), ("schema_owner", 't')];
    let mut rows = Described::new(&columns);
    let system = ["information_schema", "pg_catalog"].map(str::to_owned);
    for schema in catalog.schemas.keys().chain(&system) {
        rows.add(vec![text(CATALOG), text(schema), text(CATALOG)]);
    }
    rows
}

fn tables(catalog: &Snapshot) -> Described {
    let columns = [
        ("table_catalog", 't'),
        ("table_schema", 't'),
        ("table_name", 't'),
        ("table_type", 't'),
        ("is_insertable_into", 't'),
    ];
    let mut rows = Described::new(&columns);
    let tables = catalog.tables.keys().map(|name| (name, "BASE TABLE"));
    for (name, kind) in tables.chain(catalog.views.keys().map(|name| (name, "VIEW"))) {
        let insertable = yes(kind == "BASE TABLE");
        let (schema, table) = (text(&name.schema), text(&name.name));
        rows.add(vec![text(CATALOG), schema, table, text(kind), insertable]);
    }
    rows
}

fn columns(catalog: &Snapshot) -> Described {
    let mut rows = Described::new(&[
        ("table_catalog", 't'),
        ("table_schema", 't'),
        ("table_name", 't'),
        ("column_name", 't'),
        ("ordinal_position", 'i'),
        ("column_default", 't'),
        ("is_nullable", 't'),
        ("data_type", 't'),
        ("character_maximum_length", 'i'),
        ("numeric_precision", 'i'),
        ("numeric_scale", 'i'),
        ("udt_name", 't'),
        ("is_identity", 't'),
        ("identity_generation", 't'),
        ("is_generated", 't'),
        ("generation_expression", 't'),
        ("is_updatable", 't'),
    ]);
    for table in catalog.tables.values() {
        for (place, column) in table.columns.iter().enumerate() {
            rows.add(column_row(table, place, column));
        }
    }
    rows
}

fn column_row(table: &Table, place: usize, column: &Column) -> Vec<Datum> {
    let (length, precision, scale) = match &column.sql_type {
        SqlType::Varchar(length) | SqlType::Char(length) => (Some(i64::from(*length)), None, None),
        SqlType::Numeric { precision, scale } => {
            (None, Some(i64::from(*precision)), Some(i64::from(*scale)))
        }
        SqlType::SmallInt => (None, Some(16), Some(0)),
        SqlType::Integer => (None, Some(32), Some(0)),
        SqlType::BigInt => (None, Some(64), Some(0)),
        _ => (None, None, None),
    };
    let kind = match &column.sql_type {
        SqlType::Varchar(_) => "character varying".to_owned(),
        SqlType::Char(_) => "character".to_owned(),
        SqlType::Numeric { .. } => "numeric".to_owned(),
        SqlType::Array(_) => "ARRAY".to_owned(),
        other => other.to_string(),
    };
    let generation = column.identity.as_ref().map(|identity| match identity.always {
        true => "ALWAYS",
        false => "BY DEFAULT",
    });
    let is_generated = if column.generated.is_some() { "ALWAYS" } else { "NEVER" };
    vec![
        text(CATALOG),
        text(&table.name.schema),
        text(&table.name.name),
        text(&column.name),
        Datum::Int(place as i64 + 1),
        column.default.as_ref().map(ToString::to_string).into(),
        yes(column.nullable),
        text(kind),
        length.into(),
        precision.into(),
        scale.into(),
        text(super::pg_objects::type_name(&column.sql_type)),
        yes(column.identity.is_some()),
        generation.into(),
        text(is_generated),
        column.generated.as_ref().map(ToString::to_string).into(),
        yes(column.generated.is_none()),
    ]
}

fn views(catalog: &Snapshot) -> Described {
    let mut rows = Described::new(&[
        ("table_catalog", 't'),
        ("table_schema", 't'),
        ("table_name", 't'),
        ("view_definition", 't'),
        ("check_option", 't'),
        ("is_updatable", 't'),
    ]);
    for (name, view) in &catalog.views {
        let query = text(view.query.to_string());
        let (schema, table) = (text(&name.schema), text(&name.name));
        rows.add(vec![text(CATALOG), schema, table, query, text("NONE"), yes(false)]);
    }
    rows
}

fn sequences(catalog: &Snapshot) -> Described {
    let mut rows = Described::new(&[
        ("sequence_catalog", 't'),
        ("sequence_schema", 't'),
        ("sequence_name", 't'),
        ("data_type", 't'),
        ("start_value", 't'),
        ("minimum_value", 't'),
        ("maximum_value", 't'),
        ("increment", 't'),
        ("cycle_option", 't'),
    ]);
    for (name, sequence) in &catalog.sequences {
        let options = sequence.options;
        let number = |number: i64| text(number.to_string());
        rows.add(vec![
            text(CATALOG),
            text(&name.schema),
            text(&name.name),
            text("bigint"),
            number(options.start),
            number(options.min),
            number(options.max),
            number(options.increment),
            yes(options.cycle),
        ]);
    }
    rows
}

/// The keys of a table.
fn keys(table: &Table) -> impl Iterator<Item = &Index> {
    table.indexes.iter().filter(|index| index.constraint)
}

fn table_constraints(catalog: &Snapshot) -> Described {
    let mut rows = Described::new(&[
        ("constraint_catalog", 't'),
        ("constraint_schema", 't'),
        ("constraint_name", 't'),
        ("table_catalog", 't'),
        ("table_schema", 't'),
        ("table_name", 't'),
        ("constraint_type", 't'),
        ("is_deferrable", 't'),
        ("initially_deferred", 't'),
    ]);
    for table in catalog.tables.values() {
        let (schema, name) = (text(&table.name.schema), text(&table.name.name));
        let mut add = |constraint: &str, kind: &str| {
            rows.add(vec![
                text(CATALOG),
                schema.clone(),
                text(constraint),
                text(CATALOG),
                schema.clone(),
                name.clone(),
                text(kind),
                yes(false),
                yes(false),
            ]);
        };
        for key in keys(table) {
            add(&key.name, if key.primary { "PRIMARY KEY" } else { "UNIQUE" });
        }
        table.checks.iter().for_each(|check| add(&check.name, "CHECK"));
        table.references.iter().for_each(|reference| add(&reference.name, "FOREIGN KEY"));
    }
    rows
}

fn key_column_usage(catalog: &Snapshot) -> Described {
    let mut rows = Described::new(&[
        ("constraint_catalog", 't'),
        ("constraint_schema", 't'),
        ("constraint_name", 't'),
        ("table_catalog", 't'),
        ("table_schema", 't'),
        ("table_name", 't'),
        ("column_name", 't'),
        ("ordinal_position", 'i'),
        ("position_in_unique_constraint", 'i'),
    ]);
    for table in catalog.tables.values() {
        let of_keys = keys(table).map(|key| (&key.name, &key.columns, false));
        let of_references = table.references.iter().map(|r| (&r.name, &r.columns, true));
        for (constraint, columns, refers) in of_keys.chain(of_references) {
            for (place, &column) in columns.iter().enumerate() {
                let position = Datum::Int(place as i64 + 1);
                rows.add(vec![
                    text(CATALOG),
                    text(&table.name.schema),
                    text(constraint),
                    text(CATALOG),
                    text(&table.name.schema),
                    text(&table.name.name),
                    text(&table.columns[column].name),
                    position.clone(),
                    if refers { position } else { Datum::Null },
                ]);
            }
        }
    }
    rows
}

fn constraint_column_usage(catalog: &Snapshot) -> Described {
    let mut rows = Described::new(&[
        ("table_catalog", 't'),
        ("table_schema", 't'),
        ("table_name", 't'),
        ("column_name", 't'),
        ("constraint_catalog", 't'),
        ("constraint_schema", 't'),
        ("constraint_name", 't'),
    ]);
    for table in catalog.tables.values() {
        let mut add = |of: &Table, column: &str, constraint: &str| {
            rows.add(vec![
                text(CATALOG),
                text(&of.name.schema),
                text(&of.name.name),
                text(column),
                text(CATALOG),
                text(&table.name.schema),
                text(constraint),
            ]);
        };
        for key in keys(table) {
            key.columns.iter().for_each(|&c| add(table, &table.columns[c].name, &key.name));
        }
        for reference in &table.references {
            let Some(parent) = catalog.tables.get(&reference.table) else { continue };
            let Ok(key) = crate::catalog::table::referred_key(parent, reference) else { continue };
            key.columns.iter().for_each(|&c| add(parent, &parent.columns[c].name, &reference.name));
        }
    }
    rows
}

fn referential_constraints(catalog: &Snapshot) -> Described {
    let mut rows = Described::new(&[
        ("constraint_catalog", 't'),
        ("constraint_schema", 't'),
        ("constraint_name", 't'),
        ("unique_constraint_catalog", 't'),
        ("unique_constraint_schema", 't'),
        ("unique_constraint_name", 't'),
        ("match_option", 't'),
        ("update_rule", 't'),
        ("delete_rule", 't'),
    ]);
    for table in catalog.tables.values() {
        for reference in &table.references {
            let parent = catalog.tables.get(&reference.table);
            let key = parent
                .and_then(|parent| crate::catalog::table::referred_key(parent, reference).ok());
            rows.add(vec![
                text(CATALOG),
                text(&table.name.schema),
                text(&reference.name),
                text(CATALOG),
                text(&reference.table.schema),
                key.map(|key| key.name.clone()).into(),
                text("NONE"),
                text(reference.on_update.to_string()),
                text(reference.on_delete.to_string()),
            ]);
        }
    }
    rows
}

fn check_constraints(catalog: &Snapshot) -> Described {
    let mut rows = Described::new(&[
        ("constraint_catalog", 't'),
        ("constraint_schema", 't'),
        ("constraint_name", 't'),
        ("check_clause", 't'),
    ]);
    for table in catalog.tables.values() {
        for check in &table.checks {
            let clause = text(check.condition.to_string());
            rows.add(vec![text(CATALOG), text(&table.name.schema), text(&check.name), clause]);
        }
    }
    rows
}
