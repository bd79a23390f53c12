//! The data: text files that are made once for each scale and read by every contender.
//!
//! A row is a line, its columns lie between bars, and nothing is quoted. What always holds: a file
//! under its final name is complete, since it is written under another one and then renamed.

mod scramble;

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use lab_harness::Outcome;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator,
    PartSuppGenerator, RegionGenerator, SupplierGenerator,
};

use crate::schema::{TABLES, Table};
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
    /// Its name in records.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Specified => "tpch",
            Self::Scrambled => "scrambled",
        }
    }
}

/// The files of one scale.
#[derive(Clone, Debug)]
pub(crate) struct Data {
    pub(crate) directory: PathBuf,
}

impl Data {
    /// The data of a scale below the output directory, made now if nobody has made it before.
    ///
    /// # Errors
    ///
    /// When the files cannot be written.
    pub(crate) fn at(out: &Path, scale: f64, kind: Kind) -> Outcome<Data> {
        let folder = match kind {
            Kind::Specified => format!("sf-{scale}"),
            Kind::Scrambled => format!("sf-{scale}-scrambled"),
        };
        let data = Data { directory: out.join("tpch").join(folder) };
        fs::create_dir_all(&data.directory)?;
        for table in TABLES {
            let path = data.file(table.name);
            if !path.exists() {
                let partial = path.with_extension("partial");
                generate(table, scale, kind, &partial)?;
                fs::rename(partial, path)?;
            }
        }
        Ok(data)
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
        let sizes = TABLES.iter().map(|table| Ok(fs::metadata(self.file(table.name))?.len()));
        sizes.sum()
    }
}

fn generate(table: &Table, scale: f64, kind: Kind, path: &Path) -> Outcome<()> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    match kind {
        Kind::Specified => each_line(table.name, scale, |line| {
            file.write_all(line.as_bytes())?;
            Ok(file.write_all(b"\n")?)
        })?,
        Kind::Scrambled => {
            let mut rows = Scrambled::new(table);
            each_line(table.name, scale, |line| rows.add(line))?;
            rows.write(&mut file)?;
        }
    }
    Ok(file.flush()?)
}

/// Calls `take` with each row of a table.
fn each_line(table: &str, scale: f64, take: impl FnMut(&str) -> Outcome<()>) -> Outcome<()> {
    match table {
        "region" => each(RegionGenerator::new(scale, 1, 1).iter(), take),
        "nation" => each(NationGenerator::new(scale, 1, 1).iter(), take),
        "supplier" => each(SupplierGenerator::new(scale, 1, 1).iter(), take),
        "customer" => each(CustomerGenerator::new(scale, 1, 1).iter(), take),
        "part" => each(PartGenerator::new(scale, 1, 1).iter(), take),
        "partsupp" => each(PartSuppGenerator::new(scale, 1, 1).iter(), take),
        "orders" => each(OrderGenerator::new(scale, 1, 1).iter(), take),
        "lineitem" => each(LineItemGenerator::new(scale, 1, 1).iter(), take),
        other => Err(format!("no generator for {other}").into()),
    }
}

fn each<R: Display>(
    rows: impl Iterator<Item = R>,
    mut take: impl FnMut(&str) -> Outcome<()>,
) -> Outcome<()> {
    let mut line = String::new();
    for row in rows {
        use std::fmt::Write as _;
        line.clear();
        write!(line, "{row}")?;
        // The generator puts a bar behind the last column too.
        take(line.trim_end_matches('|'))?;
    }
    Ok(())
}
