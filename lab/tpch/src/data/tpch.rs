//! TPC-H, by the generator that is a crate.
//!
//! It gives rows as the specification's own program writes them.

use std::fmt::{Display, Write};

use lab_harness::Outcome;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator,
    PartSuppGenerator, RegionGenerator, SupplierGenerator,
};

/// Calls `take` with each row of a table.
///
/// # Errors
///
/// Those of `take`; a table that there is not.
pub(super) fn each_line(
    table: &str,
    scale: f64,
    take: impl FnMut(&str) -> Outcome<()>,
) -> Outcome<()> {
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
        line.clear();
        write!(line, "{row}")?;
        // The generator puts a bar behind the last column too.
        take(line.trim_end_matches('|'))?;
    }
    Ok(())
}
