//! Columns of every encoding that the engine has, each with the name of the one it has to get.

use remanent_engine::schema::ColumnType;

use super::random::Random;
use super::{Cell, World, encoding_of};

/// Rows of a column: an odd number, more than are checked at once.
pub(crate) const ROWS: usize = 9_001;

/// How the nulls of a column lie.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Nulls {
    No,
    Some,
}

/// What a column is made of.
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    pub(crate) encoding: &'static str,
    pub(crate) column_type: ColumnType,
    cell: fn(&mut Random, usize) -> Cell,
}

impl Shape {
    /// A value of such a column.
    pub(crate) fn cell(&self, random: &mut Random, row: usize) -> Cell {
        (self.cell)(random, row)
    }

    /// The column with so many rows, whose encoding has to be the one that is meant.
    pub(crate) fn build(&self, rows: usize, nulls: Nulls, seed: u64) -> World {
        let mut random = Random(seed);
        let cells = (0..rows).map(|row| {
            let cell = (self.cell)(&mut random, row);
            let is_null = nulls == Nulls::Some && random.below(7) == 0;
            if is_null { Cell::Null } else { cell }
        });
        let world = World::new(self.column_type.clone(), cells.collect());
        world.show(|_, column| {
            assert_eq!(encoding_of(column), self.encoding, "{} {nulls:?}", self.name);
            assert_eq!(column.nulls().is_some(), nulls == Nulls::Some, "{}", self.name);
            if self.name.contains("in order") || self.name.contains("the other way") {
                assert!(column.zones().is_some(), "{}", self.name);
            }
        });
        world
    }
}

fn shape(
    name: &'static str,
    encoding: &'static str,
    column_type: ColumnType,
    cell: fn(&mut Random, usize) -> Cell,
) -> Shape {
    Shape { name, encoding, column_type, cell }
}

/// Numbers from `least` on, of which so many differ; the first two rows have the ends.
fn within(random: &mut Random, row: usize, least: i128, count: u64) -> Cell {
    Cell::Number(match row {
        0 => least,
        1 => least + i128::from(count) - 1,
        _ => least + i128::from(random.below(count)),
    })
}

fn decimal(precision: u8) -> ColumnType {
    ColumnType::Decimal { precision, scale: 2 }
}

/// Columns of whole numbers and of decimals.
pub(crate) fn numbers() -> Vec<Shape> {
    integers().into_iter().chain(decimals()).chain(ascending()).collect()
}

/// Numbers that ascend and descend with the rows, a little out of order, so that columns have
/// zones of them.
fn ascending() -> Vec<Shape> {
    use ColumnType as T;
    fn about(random: &mut Random, row: usize, step: i128) -> Cell {
        Cell::Number(row as i128 * step + i128::from(random.below(50)))
    }
    vec![
        shape("numbers in order", "offsets 2", T::I32, |random, row| about(random, row, 5)),
        shape("keys in order", "offsets 3", T::I64, |random, row| about(random, row, 300)),
        shape("keys the other way", "offsets 4", T::I64, |random, row| about(random, row, -90_000)),
        shape("prices in order", "offsets 3", decimal(20), |random, row| about(random, row, 700)),
        shape("moments in order", "plain 8", T::Timestamp, |random, row| {
            about(random, row, 1_000_000_007)
        }),
        shape("large keys the other way", "plain 8", T::U64, |random, row| {
            about(random, ROWS - row.min(ROWS), 1 << 50)
        }),
    ]
}

fn decimals() -> Vec<Shape> {
    vec![
        shape("price", "offsets 3", decimal(12), |random, row| {
            within(random, row, 90_000, 10_000_000)
        }),
        shape("wide price", "offsets 2", decimal(38), |random, row| {
            within(random, row, 1_i128 << 100, 50_000)
        }),
        // The least is a number of 8 bytes, the greatest is not.
        shape("price across 8 bytes", "offsets 1", decimal(38), |random, row| {
            within(random, row, i128::from(i64::MAX) - 50, 100)
        }),
        shape("price far across 8 bytes", "offsets 4", decimal(20), |random, row| {
            within(random, row, i128::from(i64::MAX) - 5, 1 << 30)
        }),
        shape("least price", "offsets 2", decimal(38), |random, row| {
            within(random, row, 1 - 10_i128.pow(38), 5000)
        }),
        shape("greatest price", "offsets 3", decimal(38), |random, row| {
            within(random, row, 10_i128.pow(38) - 10_000_000, 9_999_999)
        }),
        shape("large price", "plain 8", decimal(18), |random, _| {
            Cell::Number((random.next() as i64 / 10).into())
        }),
        shape("larger price", "plain 16", decimal(38), |random, _| {
            Cell::Number(i128::from(random.next() as i64) << 50)
        }),
        shape("few prices", "dictionary 1", decimal(38), |random, _| {
            Cell::Number(i128::from(random.below(99)) << 80)
        }),
    ]
}

fn integers() -> Vec<Shape> {
    use ColumnType as T;
    vec![
        shape("constant", "constant", T::I64, |_, _| Cell::Number(-7)),
        shape("constant day", "constant", T::Date, |_, _| Cell::Number(20_000)),
        shape("truths", "offsets 1", T::Bool, |random, row| within(random, row, 0, 2)),
        shape("i8", "offsets 1", T::I8, |random, row| within(random, row, -128, 256)),
        shape("u8", "offsets 1", T::U8, |random, row| within(random, row, 3, 200)),
        shape("least i64", "offsets 1", T::I64, |random, row| {
            within(random, row, i64::MIN.into(), 100)
        }),
        shape("greatest i64", "offsets 1", T::I64, |random, row| {
            within(random, row, i128::from(i64::MAX) - 99, 100)
        }),
        shape("greatest u64", "offsets 2", T::U64, |random, row| {
            within(random, row, i128::from(u64::MAX) - 999, 1000)
        }),
        shape("i16", "offsets 2", T::I16, |random, row| within(random, row, -32_768, 65_536)),
        shape("u16", "offsets 2", T::U16, |random, row| within(random, row, 5, 65_000)),
        shape("days", "offsets 2", T::Date, |random, row| within(random, row, -400, 3000)),
        shape("days far apart", "offsets 3", T::Date, |random, row| {
            within(random, row, -700_000, 2_000_000)
        }),
        shape("three bytes", "offsets 3", T::I64, |random, row| {
            within(random, row, 5_000_000_000, 1 << 24)
        }),
        shape("time", "offsets 4", T::Time, |random, row| within(random, row, 0, 1 << 32)),
        shape("i32", "offsets 4", T::I32, |random, row| {
            within(random, row, i32::MIN.into(), 1 << 32)
        }),
        shape("u32", "offsets 4", T::U32, |random, row| within(random, row, 0, 1 << 32)),
        shape("i64", "plain 8", T::I64, |random, row| match row {
            0 => Cell::Number(i64::MIN.into()),
            1 => Cell::Number(i64::MAX.into()),
            _ => Cell::Number((random.next() as i64).into()),
        }),
        shape("u64", "plain 8", T::U64, |random, row| match row {
            0 => Cell::Number(u64::MAX.into()),
            _ => Cell::Number(random.next().into()),
        }),
        shape("moments", "plain 8", T::Timestamp, |random, row| {
            within(random, row, 1_700_000_000_000_000, 1 << 40)
        }),
        shape("few and far", "dictionary 1", T::I64, |random, _| {
            Cell::Number(i128::from(random.below(50)) * 1_000_000_007_000 - 5)
        }),
        shape("few moments", "dictionary 1", T::Timestamp, |random, _| {
            Cell::Number(i128::from(random.below(20)) * 86_400_000_000)
        }),
        shape("some and far", "dictionary 2", T::I64, |random, row| {
            let number = if row < 600 { row as u64 } else { random.below(600) };
            Cell::Number(i128::from(number) * 1_000_000_007_000)
        }),
    ]
}

/// Columns of text.
pub(crate) fn texts() -> Vec<Shape> {
    let string = ColumnType::STRING;
    vec![
        shape("one text", "constant", string.clone(), |_, _| {
            Cell::text("always the same, and long")
        }),
        shape("few words", "dictionary 1", string.clone(), |random, _| {
            Cell::text(random.of(&["", "AIR", "RAIL", "a much longer word than twelve", "é", "%_"]))
        }),
        shape("few letters", "dictionary 1", ColumnType::Char(13), |random, _| {
            Cell::text(random.of(&["", "a", "thirteen long", "ütterly"]))
        }),
        shape("some words", "dictionary 2", string.clone(), |random, row| {
            let number = if row < 400 { row as u64 } else { random.below(400) };
            Cell::Text(format!("word number {number}"))
        }),
        shape("short strings", "strings 2", string.clone(), |random, _| {
            let letters = random.below(14) as usize;
            let choices = ["a", "b", "é", "ab", "%", "z"];
            Cell::Text((0..letters).map(|_| random.of(&choices)).collect())
        }),
        shape("letters", "strings 2", ColumnType::Char(12), |random, row| {
            Cell::Text(format!("{}{row}", random.below(1000)))
        }),
        shape("long strings", "strings 4", string.clone(), |random, row| {
            // Noise, which takes as much in symbols; two of them are too long for short ends.
            let len = if row < 2 { 70_000 } else { random.below(30) };
            Cell::Text((0..len).map(|_| noise(random)).collect())
        }),
        shape("sentences", "fsst", string, |random, row| {
            let choices =
                ["the parcel", "ab", "aab", "é", "ö→", " was left", "%", "at the door", "a"];
            let parts = 3 + random.below(8);
            let words: Vec<&str> = (0..parts).map(|_| random.of(&choices)).collect();
            Cell::Text(format!("{} {row}", words.join(" ")))
        }),
    ]
}

/// A letter of many.
fn noise(random: &mut Random) -> char {
    char::from(b'!' + random.below(94) as u8)
}

/// Columns of everything else.
pub(crate) fn others() -> Vec<Shape> {
    use ColumnType as T;
    let vector = T::Vector { element: Box::new(T::U8), max: None };
    vec![
        shape("one float", "constant", T::F64, |_, _| Cell::float(-0.5)),
        shape("floats", "plain 8", T::F64, |random, row| match row {
            0 => Cell::float(f64::NEG_INFINITY),
            1 => Cell::float(f64::MAX),
            2 => Cell::float(f64::NAN),
            _ => Cell::float(random.next() as f64 / 1e9),
        }),
        shape("few floats", "dictionary 1", T::F64, |random, _| {
            Cell::float(random.of(&[0.0, -0.0, 1.5, f64::INFINITY, -2.25]))
        }),
        shape("short floats", "plain 4", T::F32, |random, _| {
            Cell::float((random.next() as f32 / 1e9).into())
        }),
        shape("few short floats", "dictionary 1", T::F32, |random, _| {
            Cell::float((random.below(40) as f32 * 0.1).into())
        }),
        shape("blobs", "strings 2", T::BLOB, |random, _| {
            let len = random.below(20);
            Cell::Bytes((0..len).map(|_| random.next() as u8).collect())
        }),
        shape("few blobs", "dictionary 1", T::BLOB, |random, _| {
            Cell::Bytes(vec![0xff; random.below(9) as usize])
        }),
        shape("one blob", "constant", T::BLOB, |_, _| Cell::Bytes(vec![0xc3, 0x28, 0])),
        shape("binary", "plain 5", T::Binary(5), |random, _| {
            Cell::Bytes(random.next().to_le_bytes()[..5].to_vec())
        }),
        shape("few binary", "dictionary 1", T::Binary(5), |random, _| {
            Cell::Bytes(vec![random.below(3) as u8; 5])
        }),
        shape("vectors", "strings 2", vector, |random, _| {
            let len = random.below(9);
            Cell::Bytes((0..len).map(|_| random.next() as u8).collect())
        }),
    ]
}

/// All columns.
pub(crate) fn every() -> Vec<Shape> {
    numbers().into_iter().chain(texts()).chain(others()).collect()
}
