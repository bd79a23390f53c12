//! The data: text files that are made once for each scale and read by every contender.
//!
//! A row is a line, its columns lie between bars, and nothing is quoted. What always holds: a file
//! under its final name is complete, since it is written under another one and then renamed.

mod scramble;
mod ssb;
mod tpcds;
mod tpch;

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use lab_harness::Outcome;

use crate::benchmark::Benchmark;
use crate::benchmark::queries::Query;
use crate::benchmark::schema::Table;
use scramble::Scrambled;

/// Which data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Kind {
    /// As it is specified.
    #[default]
    Specified,
    /// With sparse keys, and rows in no order.
    Scrambled,
}

impl Kind {
    /// Its name in records of a benchmark.
    pub(crate) fn name(self, benchmark: &'static Benchmark) -> &'static str {
        match self {
            Self::Specified => benchmark.name,
            Self::Scrambled => "scrambled",
        }
    }
}

/// The files of one scale.
#[derive(Clone, Debug)]
pub(crate) struct Data {
    pub(crate) benchmark: &'static Benchmark,
    pub(crate) directory: PathBuf,
}

/// Who makes files is alone.
static MAKING: Mutex<()> = Mutex::new(());

impl Data {
    /// The data of a scale below the output directory, made now if nobody has made it before.
    ///
    /// # Errors
    ///
    /// When the files cannot be written; when TPC-DS is to be scrambled.
    pub(crate) fn at(
        out: &Path,
        benchmark: &'static Benchmark,
        scale: f64,
        kind: Kind,
    ) -> Outcome<Data> {
        let folder = match kind {
            Kind::Specified => format!("sf-{scale}"),
            Kind::Scrambled => format!("sf-{scale}-scrambled"),
        };
        let directory = out.join(benchmark.data).join(folder);
        let data = Data { benchmark, directory };
        let each_line: EachLine = match benchmark.data {
            "tpch" => |table, scale, take| tpch::each_line(table, scale, take),
            "ssb" => |table, scale, take| ssb::each_line(table, scale, take),
            _ if kind == Kind::Scrambled => {
                return Err(format!("{} is not scrambled", benchmark.title).into());
            }
            _ => {
                tpcds::make(out, scale, &data.directory)?;
                return Ok(data);
            }
        };
        fs::create_dir_all(&data.directory)?;
        // Benchmarks over the same tables have the same files.
        let _making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
        for table in benchmark.tables() {
            let path = data.file(table.name);
            if !path.exists() {
                let partial = path.with_extension("partial");
                write(table, kind, &partial, |take| each_line(table.name, scale, take))?;
                fs::rename(partial, path)?;
            }
        }
        Ok(data)
    }

    /// The queries that are asked of it.
    ///
    /// # Errors
    ///
    /// When they lie beside it and cannot be read.
    pub(crate) fn queries(&self, scale: f64) -> Outcome<Vec<Query>> {
        self.benchmark.queries(scale, &self.directory)
    }

    /// The rows of a table.
    pub(crate) fn file(&self, table: &str) -> PathBuf {
        self.directory.join(format!("{table}.tbl"))
    }

    /// Bytes of all files.
    ///
    /// # Errors
    ///
    /// When a file is not there.
    pub(crate) fn text_bytes(&self) -> Outcome<u64> {
        let tables = self.benchmark.tables().iter();
        tables.map(|table| Ok(fs::metadata(self.file(table.name))?.len())).sum()
    }
}

/// Takes a line of a file.
type Take<'t> = &'t mut dyn FnMut(&str) -> Outcome<()>;

/// Gives each line of a table at a scale.
type EachLine = fn(&str, f64, Take<'_>) -> Outcome<()>;

fn write(
    table: &Table,
    kind: Kind,
    path: &Path,
    each_line: impl FnOnce(Take<'_>) -> Outcome<()>,
) -> Outcome<()> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    match kind {
        Kind::Specified => each_line(&mut |line| {
            file.write_all(line.as_bytes())?;
            Ok(file.write_all(b"\n")?)
        })?,
        Kind::Scrambled => {
            let mut rows = Scrambled::new(table);
            each_line(&mut |line| rows.add(line))?;
            rows.write(&mut file)?;
        }
    }
    Ok(file.flush()?)
}
