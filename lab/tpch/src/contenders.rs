//! Who takes part, and how a measured process is started for it.
//!
//! An engine in Rust implements [`Engine`] and is measured in a process of this program; others are
//! scripts in the laboratory's Python that speak the same lines (`protocol`). A new engine is a
//! module below this one and a line in `ALL`.

mod datafusion;

mod device;

mod python;

pub(crate) mod remanent;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

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

    /// What is done before each query, off the clock.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports.
    fn before_query(&mut self) -> Outcome<()> {
        Ok(())
    }

    /// Bytes of columns that have come back to memory, where some are not there.
    fn column_bytes(&self) -> Option<u64> {
        None
    }

    /// Bytes of the files that it has loaded, if it has any.
    fn disk_bytes(&self) -> Option<u64> {
        None
    }

    /// What else is known of reading columns again, where some are not in memory.
    fn reading(&self) -> Option<Reading> {
        None
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

/// How long columns that are not in memory have been read, since the database was opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    /// By threads that waited, and by those that checked and decompressed what had come.
    pub(crate) waiting: Duration,
    pub(crate) unpacking: Duration,
    /// By a device whose speed is given.
    pub(crate) device: Option<Duration>,
}

/// What a contender is given.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    /// Threads that a query may have.
    pub(crate) threads: usize,
    /// The most memory, if that is said.
    pub(crate) budget: Option<u64>,
    /// A folder of its own for files.
    pub(crate) folder: PathBuf,
    /// Bytes that a device gives in a second, behind which that folder is read, if that is said.
    pub(crate) device: Option<u64>,
}

impl Setting {
    /// One thread, and a folder that is emptied first.
    ///
    /// # Errors
    ///
    /// The system's.
    pub(crate) fn of_one_thread(folder: PathBuf) -> Outcome<Self> {
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        std::fs::create_dir_all(&folder)?;
        Ok(Self { threads: 1, budget: None, folder, device: None })
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
    Here { version: fn() -> String, open: fn(&Setting) -> Outcome<Box<dyn Engine>> },
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
        name: "remanent-paged-warm",
        medium: "disk",
        note: "the same in paged tables, a folder that was opened again; the buffer cache keeps \
               what has room",
        kind: Kind::Here { version: remanent::version, open: remanent::paged },
    },
    Contender {
        name: "remanent-paged-unkeyed",
        medium: "disk",
        note: "the same without keys, whose indexes do not leave memory",
        kind: Kind::Here { version: remanent::version, open: remanent::unkeyed },
    },
    Contender {
        name: "remanent-paged-cold",
        medium: "disk",
        note: "with keys, and nothing in the buffer cache nor in the system's when a query begins",
        kind: Kind::Here { version: remanent::version, open: remanent::cold },
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
    /// The engine, if it is linked in.
    ///
    /// # Errors
    ///
    /// When it is not, or cannot be opened.
    pub(crate) fn open(&self, setting: &Setting) -> Outcome<Box<dyn Engine>> {
        match self.kind {
            Kind::Here { open, .. } => open(setting),
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

    /// The command of a process that answers on its standard output.
    ///
    /// # Errors
    ///
    /// When the contender is not installed and cannot be.
    pub(crate) fn command(&self, out: &Path, data: &Data, setting: &Setting) -> Outcome<Command> {
        let command = match self.kind {
            Kind::Here { .. } => {
                let mut command = Command::new(std::env::current_exe()?);
                command
                    .arg(data.benchmark.name)
                    .arg("serve")
                    .arg(self.name)
                    .arg(&data.directory)
                    .arg("--folder")
                    .arg(&setting.folder)
                    .arg("--threads")
                    .arg(setting.threads.to_string());
                let said = [("--budget", setting.budget), ("--device", setting.device)];
                for (flag, bytes) in said {
                    if let Some(bytes) = bytes {
                        command.arg(flag).arg(bytes.to_string());
                    }
                }
                command
            }
            Kind::Python { package } => {
                let directory = &data.directory;
                let mut command = python::command(out, self.name, package, directory, setting)?;
                command.arg(setting.threads.to_string());
                command.args(setting.budget.map(|bytes| bytes.to_string()));
                command
            }
        };
        Ok(command)
    }
}
