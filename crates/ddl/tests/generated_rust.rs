//! Generated Rust compiles, and its tables equal those of the schema.
//!
//! The modules are the golden files; here this test plays the part of the crate `remanent`.

extern crate self as remanent;

use std::path::Path;

pub use remanent_derive::{Record, RecordStruct};
pub use remanent_schema as schema;
use remanent_schema::Record as _;

use remanent_ddl::{Options, Schema, Source, parse};

/// From a sample.
#[rustfmt::skip]
#[path = "golden/measure_ddl.rs.txt"]
pub mod measure_d;
/// From a sample.
#[rustfmt::skip]
#[path = "golden/measure_mco.rs.txt"]
pub mod measure_mco;
/// From a sample.
#[rustfmt::skip]
#[path = "golden/plant_mco.rs.txt"]
pub mod plant;
/// From a sample.
#[rustfmt::skip]
#[path = "golden/stock_ddl.rs.txt"]
pub mod stock;
/// From a sample.
#[rustfmt::skip]
#[path = "golden/strings_ddl.rs.txt"]
pub mod strings;
/// From a sample.
#[rustfmt::skip]
#[path = "golden/testdb_ddl.rs.txt"]
pub mod testdb;

fn read(sample: &str) -> Schema {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples").join(sample);
    let bytes = std::fs::read(path).expect("the sample is there");
    parse(&Source::new(sample, bytes), &Options::default()).expect("it is accepted").0
}

#[test]
fn structs_make_the_tables_of_the_schema() {
    assert_eq!(measure_mco::Measure::schema(), read("measure.mco").classes[0].table);
    assert_eq!(measure_d::Measure::schema(), read("measure.ddl").classes[0].table);
    assert_eq!(strings::Text300::schema(), read("strings.ddl").classes[3].table);
    assert_eq!(testdb::Rec200::schema(), read("testdb.ddl").classes[0].table);
    assert_eq!(plant::Reading::schema(), read("plant.mco").classes[1].table);
    assert_eq!(stock::Line::schema(), read("stock.ddl").classes[2].table);
}

#[test]
fn functions_build_what_structs_cannot_say() {
    assert_eq!(plant::part_table(), read("plant.mco").classes[0].table);
    assert_eq!(stock::item_table(), read("stock.ddl").classes[0].table);
}

#[test]
fn sets_are_those_of_the_schema() {
    assert_eq!(strings::spectra_set(), read("strings.ddl").sets[0].schema());
    let sets = read("stock.ddl").sets;
    assert_eq!(stock::lines_set(), sets[0].schema());
    assert_eq!(stock::newest_set(), sets[2].schema());
}
