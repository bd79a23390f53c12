//! The data: text files that are made once for each scale and read by every contender.
//!
//! A row is a line, its columns lie between bars, and nothing is quoted. What always holds: a file
//! under its final name is complete, since it is written under another one and then renamed.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use lab_harness::Outcome;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator,
    PartSuppGenerator, RegionGenerator, SupplierGenerator,
};

use crate::schema::TABLES;

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
    pub(crate) fn at(out: &Path, scale: f64) -> Outcome<Data> {
        let data = Data { directory: out.join("tpch").join(format!("sf-{scale}")) };
        fs::create_dir_all(&data.directory)?;
        for table in TABLES {
            let path = data.file(table.name);
            if !path.exists() {
                let partial = path.with_extension("partial");
                generate(table.name, scale, &partial)?;
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

fn generate(table: &str, scale: f64, path: &Path) -> Outcome<()> {
    match table {
        "region" => write(RegionGenerator::new(scale, 1, 1).iter(), path),
        "nation" => write(NationGenerator::new(scale, 1, 1).iter(), path),
        "supplier" => write(SupplierGenerator::new(scale, 1, 1).iter(), path),
        "customer" => write(CustomerGenerator::new(scale, 1, 1).iter(), path),
        "part" => write(PartGenerator::new(scale, 1, 1).iter(), path),
        "partsupp" => write(PartSuppGenerator::new(scale, 1, 1).iter(), path),
        "orders" => write(OrderGenerator::new(scale, 1, 1).iter(), path),
        "lineitem" => write(LineItemGenerator::new(scale, 1, 1).iter(), path),
        other => Err(format!("no generator for {other}").into()),
    }
}

fn write<R: Display>(rows: impl Iterator<Item = R>, path: &Path) -> Outcome<()> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let mut line = String::new();
    for row in rows {
        use std::fmt::Write as _;
        line.clear();
        write!(line, "{row}")?;
        // The generator puts a bar behind the last column too.
        file.write_all(line.trim_end_matches('|').as_bytes())?;
        file.write_all(b"\n")?;
    }
    file.flush()?;
    Ok(())
}
