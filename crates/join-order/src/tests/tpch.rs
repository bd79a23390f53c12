//! The join orders of TPC-H, as the statistics of scale factor 0.01 decide them.
//!
//! `tpch_statistics.txt` has the tables' statistics and `tpch_orders.txt` the expected shapes,
//! which somebody has checked. `UPDATE_SHAPES=1` writes what is found.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, ScalarValue, Statistics};
use datafusion::prelude::SessionContext;

use super::provider::{Table, session};
use super::shape::{shape, subquery_shapes};

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests").join(name)
}

/// A table's name, rows and columns.
type Part = (String, usize, Vec<(Field, ColumnStatistics)>);

/// Tables without rows that say they have those of scale factor 0.01. A line with one number begins
/// a table, the others are columns: type, distinct values, smallest and largest value.
fn tables() -> BTreeMap<String, Arc<Table>> {
    let text = fs::read_to_string(source("tpch_statistics.txt")).expect("the file is there");
    let mut parts: Vec<Part> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split('|').collect();
        if let [table, rows] = words[..] {
            parts.push((table.to_owned(), rows.parse().expect("a number"), Vec::new()));
            continue;
        }
        let kind = match words[1] {
            "key" => DataType::Int64,
            "integer" => DataType::Int32,
            "decimal" => DataType::Decimal128(15, 2),
            "date" => DataType::Date32,
            _ => DataType::Utf8View,
        };
        let value = |text: &str| {
            let value = ScalarValue::try_from_string(text.to_owned(), &kind).expect("of its type");
            Precision::Exact(value)
        };
        let statistics = ColumnStatistics {
            null_count: Precision::Exact(0),
            distinct_count: Precision::Exact(words[2].parse().expect("a number")),
            min_value: value(words[3]),
            max_value: value(words[4]),
            ..ColumnStatistics::new_unknown()
        };
        let (_, _, columns) = parts.last_mut().expect("a table comes first");
        columns.push((Field::new(words[0], kind, false), statistics));
    }
    let table = |(name, rows, columns): Part| {
        let (fields, columns): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
        let statistics = Statistics {
            num_rows: Precision::Exact(rows),
            total_byte_size: Precision::Absent,
            column_statistics: columns,
        };
        (name, Table::new(Arc::new(Schema::new(fields)), Vec::new(), Some(statistics)))
    };
    parts.into_iter().map(table).collect()
}

pub(in super::super) fn context() -> SessionContext {
    let context = session(true);
    for (name, table) in tables() {
        context.register_table(name, table).expect("a new name");
    }
    context
}

fn query(number: usize) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/tpch/tpch/queries");
    let text = fs::read_to_string(folder.join(format!("q{number:02}.sql"))).expect("a query");
    text.replace("{fraction}", "0.01")
}

async fn shapes() -> String {
    let context = context();
    let mut text = String::new();
    for number in 1..=22 {
        let frame = context.sql(&query(number)).await.expect("a query of the standard");
        let plan = frame.into_optimized_plan().expect("a plan");
        text.push_str(&format!("q{number:02} {}\n", shape(&plan)));
        for subquery in subquery_shapes(&plan) {
            text.push_str(&format!("    {subquery}\n"));
        }
    }
    text
}

#[test]
fn joins_are_in_the_expected_order() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let found = runtime.block_on(shapes());
    let path = source("tpch_orders.txt");
    if std::env::var_os("UPDATE_SHAPES").is_some() {
        fs::write(&path, &found).expect("the file can be written");
    }
    let expected = fs::read_to_string(&path).expect("the file is there");
    for (found, expected) in found.lines().zip(expected.lines()) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.lines().count(), expected.lines().count());
}
