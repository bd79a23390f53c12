//! `\memory`: where the memory goes, in all and by table.
//!
//! The numbers are the engine's own; people get them in units, programs in bytes.

use indicatif::BinaryBytes;
use remanent_sql::{Datum, SqlType};

use super::Call;
use crate::options::Format;
use crate::printing::Frame;
use crate::shell::Shell;
use crate::stop::Failure;

/// `\memory`.
pub(super) fn run(shell: &mut Shell, _: &mut Call<'_, '_>) -> Result<(), Failure> {
    let engine = std::sync::Arc::clone(shell.session.database().engine());
    let memory = engine.memory();
    let is_for_people =
        shell.style.format.is_for_people() || shell.style.format == Format::Markdown;
    let bytes = |bytes: u64| match is_for_people {
        true => Datum::from(BinaryBytes(bytes).to_string()),
        false => Datum::UInt(bytes),
    };
    let size = if is_for_people { SqlType::Text } else { SqlType::UBigInt };
    let parts = [
        ("rows", memory.rows),
        ("columns of frozen rows", memory.columns),
        ("directories of rows", memory.segments),
        ("indexes", memory.indexes),
        ("transactions and catalog", memory.internal),
        ("log", memory.log),
        ("overhead", memory.overhead),
        ("free in pages", memory.free),
        ("held in all", memory.held),
        ("budget", memory.budget),
    ];
    let rows: Vec<Vec<Datum>> =
        parts.iter().map(|(name, part)| vec![(*name).into(), bytes(*part)]).collect();
    let frame = |title: &str| Frame { title: Some(title.to_owned()), footers: Some(Vec::new()) };
    shell.show(&[("Memory", SqlType::Text), ("Size", size.clone())], &rows, frame("Memory"))?;
    let tables = engine.memory_by_table().map_err(|error| Failure::Sql(error.into()))?;
    let row = |table: &remanent_engine::TableMemory| {
        vec![
            table.name.as_str().into(),
            Datum::UInt(table.rows),
            Datum::UInt(table.frozen_rows),
            bytes(table.row_bytes),
            bytes(table.column_bytes),
            bytes(table.segment_bytes),
            bytes(table.indexes.iter().map(|index| index.bytes).sum()),
        ]
    };
    let rows: Vec<Vec<Datum>> = tables.iter().map(row).collect();
    let columns = [
        ("Table", SqlType::Text),
        ("Rows", SqlType::UBigInt),
        ("Frozen", SqlType::UBigInt),
        ("Versions", size.clone()),
        ("Columns", size.clone()),
        ("Directory", size.clone()),
        ("Indexes", size),
    ];
    shell.show(&columns, &rows, frame("Tables"))
}
