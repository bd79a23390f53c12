//! Which benchmark: its tables, and its queries.
//!
//! TPC-H and the Star Schema Benchmark have their queries here, and so have shapes that they leave
//! out, over its tables; those of TPC-DS come with its data, from DuckDB's extension.

pub(crate) mod queries;
pub(crate) mod schema;

use std::path::Path;
use std::sync::LazyLock;

use lab_harness::Outcome;

use queries::Query;
use schema::Table;

/// How many queries TPC-H has.
pub(crate) const TPCH_COUNT: usize = 22;

/// How many TPC-DS has.
const TPCDS_COUNT: usize = 99;

/// The queries of the Star Schema Benchmark, by flight and place.
pub(crate) const SSB_NUMBERS: [usize; 13] = [11, 12, 13, 21, 22, 23, 31, 32, 33, 34, 41, 42, 43];

/// A benchmark.
pub(crate) struct Benchmark {
    /// The word on the command line, in records and in names of files.
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    tables: LazyLock<Vec<Table>>,
    /// The folder of its data.
    pub(crate) data: &'static str,
    /// The numbers of its queries.
    pub(crate) numbers: fn() -> Vec<usize>,
}

/// Of these, the first if nobody says which.
pub(crate) static ALL: [Benchmark; 4] = [
    Benchmark {
        name: "tpch",
        title: "TPC-H",
        tables: LazyLock::new(|| schema::tables(include_str!("../tpch/schema.sql"))),
        data: "tpch",
        numbers: || (1..=TPCH_COUNT).collect(),
    },
    Benchmark {
        name: "tpcds",
        title: "TPC-DS",
        tables: LazyLock::new(|| schema::tables(include_str!("../tpcds/schema.sql"))),
        data: "tpcds",
        numbers: || (1..=TPCDS_COUNT).collect(),
    },
    Benchmark {
        name: "ssb",
        title: "Star Schema Benchmark",
        tables: LazyLock::new(|| schema::tables(include_str!("../ssb/schema.sql"))),
        data: "ssb",
        numbers: || SSB_NUMBERS.to_vec(),
    },
    Benchmark {
        name: "shapes",
        title: "Shapes",
        tables: LazyLock::new(|| schema::tables(include_str!("../tpch/schema.sql"))),
        data: "tpch",
        numbers: || queries::shapes().iter().map(|query| query.number).collect(),
    },
];

impl Benchmark {
    /// TPC-H.
    pub(crate) fn tpch() -> &'static Self {
        &ALL[0]
    }

    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|benchmark| benchmark.name == name)
    }

    /// Its queries at a scale, some of which lie beside the data.
    ///
    /// # Errors
    ///
    /// When they cannot be read there.
    pub(crate) fn queries(&self, scale: f64, directory: &Path) -> Outcome<Vec<Query>> {
        match self.name {
            "tpch" => Ok((1..=TPCH_COUNT).map(|number| queries::tpch(number, scale)).collect()),
            "ssb" => Ok(queries::ssb()),
            "shapes" => Ok(queries::shapes()),
            _ => queries::of_file(&directory.join("queries.json")),
        }
    }

    /// Its tables, small ones first.
    pub(crate) fn tables(&self) -> &[Table] {
        &self.tables
    }
}

impl std::fmt::Debug for Benchmark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}
