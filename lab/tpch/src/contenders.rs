//! Who takes part, and how a measured process is started for it.
//!
//! An engine in Rust implements [`Engine`] and is measured in a process of this program; others are
//! scripts in the laboratory's Python that speak the same lines (`protocol`). A new engine is a
//! module below this one and a line in `ALL`.

mod datafusion;

mod python;

pub(crate) mod remanent;

use std::path::Path;
use std::process::Command;

use ::datafusion::arrow::record_batch::RecordBatch;
use lab_harness::Outcome;

use crate::data::Data;

/// An engine that is linked in.
pub(crate) trait Engine {
    /// Reads all tables from their files.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports.
    fn load(&mut self, data: &Data) -> Outcome<()>;

    /// What is done between loading and the first query, off the clock.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports.
    fn prepare(&mut self, _data: &Data) -> Outcome<()> {
        Ok(())
    }

    /// Answers a query completely.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports.
    fn query(&mut self, text: &str) -> Outcome<Vec<RecordBatch>>;

    /// Parses, plans and starts a query, and gives it up before its first row.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports; where planning cannot be had by itself.
    fn start(&mut self, _text: &str) -> Outcome<()> {
        Err("planning is not measured by itself here".into())
    }

    /// How a query would be run, for people to read.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports.
    fn explain(&mut self, text: &str) -> Outcome<String>;

    /// Which part of a query's operators are the engine's own, where the others are a library's.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports.
    fn native(&mut self, _text: &str) -> Outcome<Option<f64>> {
        Ok(None)
    }
}

/// Somebody who takes part.
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    pub(crate) medium: &'static str,
    /// How it is configured, for the record.
    pub(crate) note: &'static str,
    kind: Kind,
}

enum Kind {
    Here { version: fn() -> String, open: fn(usize) -> Outcome<Box<dyn Engine>> },
    Python { package: &'static str },
}

/// Everybody.
pub(crate) const ALL: &[Contender] = &[
    Contender {
        name: "duckdb",
        medium: "memory",
        note: ":memory:, tables by COPY, no keys; answers as Arrow tables",
        kind: Kind::Python { package: "duckdb" },
    },
    Contender {
        name: "duckdb-file",
        medium: "disk",
        note: "compressed database file, checkpointed, opened again, warm",
        kind: Kind::Python { package: "duckdb" },
    },
    Contender {
        name: "hyper",
        medium: "memory",
        note: "temporary tables; query threads by soft and hard limit, network_threads=1, result \
               cache off, plan cache on; CPU of client and server",
        kind: Kind::Python { package: "tableauhyperapi" },
    },
    Contender {
        name: "datafusion",
        medium: "memory",
        note: "target_partitions=1, batches of 8,192 rows, Decimal128, string views, mimalloc, its \
               own optimiser rules, no statistics",
        kind: Kind::Here { version: datafusion::version, open: datafusion::plain },
    },
    Contender {
        name: "datafusion-ordered",
        medium: "memory",
        note: "the same, with statistics of the tables and the project's rules for join order",
        kind: Kind::Here { version: datafusion::version, open: datafusion::ordered },
    },
    Contender {
        name: "remanent",
        medium: "memory",
        note: "frozen columns, primary keys indexed, loaded by COPY; statistics of segments; \
               mimalloc",
        kind: Kind::Here { version: remanent::version, open: remanent::frozen },
    },
    Contender {
        name: "remanent-rows",
        medium: "memory",
        note: "the same, with rows as they were inserted",
        kind: Kind::Here { version: remanent::version, open: remanent::hot },
    },
    Contender {
        name: "remanent-copied",
        medium: "memory",
        note: "loaded by COPY that nobody told to freeze, asked twice and more",
        kind: Kind::Here { version: remanent::version, open: remanent::copied },
    },
    Contender {
        name: "remanent-changed",
        medium: "memory",
        note: "frozen columns, half of the rows changed since, by the transaction that asks",
        kind: Kind::Here { version: remanent::version, open: remanent::changed },
    },
];

/// The contender of that name.
///
/// # Errors
///
/// When there is none; the names are listed.
pub(crate) fn find(name: &str) -> Outcome<&'static Contender> {
    ALL.iter().find(|contender| contender.name == name).ok_or_else(|| {
        let names: Vec<_> = ALL.iter().map(|contender| contender.name).collect();
        format!("no contender '{name}'; there is: {}", names.join(", ")).into()
    })
}

impl Contender {
    /// The engine, if it is linked in; a query may have so many threads.
    ///
    /// # Errors
    ///
    /// When it is not, or cannot be opened.
    pub(crate) fn open(&self, threads: usize) -> Outcome<Box<dyn Engine>> {
        match self.kind {
            Kind::Here { open, .. } => open(threads),
            Kind::Python { .. } => Err(format!("{} is not linked in", self.name).into()),
        }
    }

    /// The version that a linked engine has; scripts say theirs when they start.
    pub(crate) fn version(&self) -> Option<String> {
        match self.kind {
            Kind::Here { version, .. } => Some(version()),
            Kind::Python { .. } => None,
        }
    }

    /// The command of a process that answers on its standard output. `scratch` is a folder of its
    /// own for files; a query may have so many threads.
    ///
    /// # Errors
    ///
    /// When the contender is not installed and cannot be.
    pub(crate) fn command(
        &self,
        out: &Path,
        data: &Data,
        scratch: &Path,
        threads: usize,
    ) -> Outcome<Command> {
        let mut command = match self.kind {
            Kind::Here { .. } => {
                let mut command = Command::new(std::env::current_exe()?);
                command
                    .arg(data.benchmark.name)
                    .arg("serve")
                    .arg(self.name)
                    .arg(&data.directory)
                    .arg("--threads");
                command
            }
            Kind::Python { package } => {
                python::command(out, self.name, package, &data.directory, scratch)?
            }
        };
        command.arg(threads.to_string());
        Ok(command)
    }
}
