//! The same data without the order of its keys.
//!
//! The keys of TPC-H and the Star Schema Benchmark are 1, 2, 3, and rows lie in their order; much
//! of what is fast there is not where keys are what users have. Here each key is another number of
//! 62 bits, the same one in all tables, and rows lie anywhere. A table is held in memory while it
//! is shuffled.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;

use lab_harness::Outcome;

use crate::benchmark::schema::{Table, Type};

/// Odd, so that no two keys become the same; the bits of two to the power of 64 times the golden
/// ratio's fraction, so that neighbours come to lie far apart.
const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
const KEY_BITS: u32 = 62;

/// The rows of a table, scrambled when all have come.
pub(super) struct Scrambled<'t> {
    table: &'t Table,
    text: String,
    /// Where each line begins.
    starts: Vec<usize>,
}

impl<'t> Scrambled<'t> {
    pub(super) fn new(table: &'t Table) -> Self {
        Self { table, text: String::new(), starts: Vec::new() }
    }

    /// Takes a line.
    ///
    /// # Errors
    ///
    /// When a key is no number.
    pub(super) fn add(&mut self, line: &str) -> Outcome<()> {
        self.starts.push(self.text.len());
        for (place, (value, column)) in line.split('|').zip(&self.table.columns).enumerate() {
            if place > 0 {
                self.text.push('|');
            }
            let is_key = column.of == Type::Bigint && column.name.ends_with("key");
            match is_key {
                true => self.text.push_str(&scrambled(value.parse()?).to_string()),
                false => self.text.push_str(value),
            }
        }
        self.text.push('\n');
        Ok(())
    }

    /// Writes the lines, in an order that is the same each time.
    ///
    /// # Errors
    ///
    /// When they cannot be written.
    pub(super) fn write(mut self, out: &mut impl Write) -> Outcome<()> {
        self.starts.sort_by_cached_key(|start| hash(*start));
        for start in self.starts {
            let rest = &self.text[start..];
            let line = rest.split_inclusive('\n').next().unwrap_or_default();
            out.write_all(line.as_bytes())?;
        }
        Ok(())
    }
}

/// The same in every run.
fn hash(number: usize) -> u64 {
    let mut hasher = DefaultHasher::new();
    number.hash(&mut hasher);
    hasher.finish()
}

fn scrambled(key: u64) -> u64 {
    key.wrapping_mul(FACTOR) & ((1 << KEY_BITS) - 1)
}
