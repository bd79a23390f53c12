//! What a frozen column says of itself without its rows: enough to know whether they are needed.
//!
//! Of a paged table it is in memory whatever was evicted.

use remanent_schema::{ColumnType, Value};

use super::block::BlockColumn;
use super::fsst::Symbols;
use super::head::{CONSTANT, DICTIONARY, FSST, OFFSETS, PLAIN, STRINGS};
use super::kind::Kind;
use super::sketch::DistinctSketch;
use super::view::{DictionaryValues, extreme_of_number, value_of};
use super::zones::Zones;

/// What a column of a frozen segment says of itself.
///
/// # Examples
/// ```
/// use remanent_engine::{Database, EncodingSummary, Options, Piece, schema::*};
/// let db = Database::open(Options::new())?;
/// let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I64))?;
/// let a = table.column("a")?;
/// let rows = (0..1000_i64).map(|i| [Some(Value::I64(1_000_000 + i % 200))]);
/// db.write(|tx| tx.insert_all_values(&table, rows.clone()))?;
/// db.freeze_all(&table)?;
/// let tx = db.begin_read()?;
/// let mut pieces = tx.scan_pieces(&table)?;
/// let Some(Piece::Frozen(rows)) = pieces.next_piece() else { unreachable!() };
/// let summary = rows.summary(a)?;
/// assert_eq!((summary.max(), summary.null_count()), (Some(Value::I64(1_000_199)), 0));
/// assert!(matches!(summary.encoding(), EncodingSummary::Offsets { min: 1_000_000, width: 1 }));
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct ColumnSummary<'t> {
    column: BlockColumn<'t>,
    column_type: &'t ColumnType,
}

/// How the values of a frozen column are encoded, as [`Encoding`](crate::Encoding) says it with
/// the encoded bytes.
///
/// # Examples
/// See [`ColumnSummary`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum EncodingSummary<'t> {
    /// All rows that are not null have this value; null if all are.
    Constant(Value<'t>),
    /// Unsigned numbers of `width` bytes, which added to `min` are the value.
    Offsets {
        /// The reference that the numbers are added to.
        min: i128,
        /// Bytes of a number.
        width: usize,
    },
    /// Values as they lie in rows.
    Plain {
        /// Bytes of a value.
        width: usize,
    },
    /// Codes of values.
    Dictionary {
        /// Bytes of a code.
        code_width: usize,
        /// How many values there are.
        count: usize,
        /// The values; `None` if they are more than 64 KiB, and come with the rows.
        values: Option<DictionaryValues<'t>>,
    },
    /// Plain strings.
    Strings,
    /// Text in symbols.
    Fsst {
        /// The symbols.
        symbols: Symbols<'t>,
    },
}

impl<'t> ColumnSummary<'t> {
    pub(crate) fn new(column: BlockColumn<'t>, column_type: &'t ColumnType) -> Self {
        Self { column, column_type }
    }

    /// The type of the column.
    pub fn column_type(&self) -> &'t ColumnType {
        self.column_type
    }

    /// The encoding.
    pub fn encoding(&self) -> EncodingSummary<'t> {
        let (column, head) = (&self.column, &self.column.head);
        let width = head.width() as usize;
        match head.encoding() {
            OFFSETS => {
                let min = head.zone().map_or(0, |(least, _)| least);
                EncodingSummary::Offsets { min, width }
            }
            PLAIN => EncodingSummary::Plain { width },
            DICTIONARY => EncodingSummary::Dictionary {
                code_width: width,
                count: head.value_count() as usize,
                values: self.values(),
            },
            STRINGS => EncodingSummary::Strings,
            CONSTANT => EncodingSummary::Constant(value_of(self.column_type, column.text())),
            FSST if let Some((symbols, _)) = column.symbols() => EncodingSummary::Fsst { symbols },
            _ => EncodingSummary::Constant(Value::Null),
        }
    }

    /// The number of null rows.
    pub fn null_count(&self) -> usize {
        self.column.head.null_count() as usize
    }

    /// Whether rows are null.
    pub fn has_nulls(&self) -> bool {
        self.column.head.nulls() != 0
    }

    /// The least value in the segment, as it was frozen; `None` where
    /// [`FrozenColumn::min`](crate::FrozenColumn::min) gives none, and of plain strings and large
    /// dictionaries, where it stands among the rows.
    pub fn min(&self) -> Option<Value<'t>> {
        self.extremes().map(|(least, _)| least)
    }

    /// The greatest value; see [`ColumnSummary::min`].
    pub fn max(&self) -> Option<Value<'t>> {
        self.extremes().map(|(_, greatest)| greatest)
    }

    /// As [`FrozenColumn::sketch`](crate::FrozenColumn::sketch).
    pub fn sketch(&self) -> Option<DistinctSketch> {
        self.column.sketch().and_then(DistinctSketch::of_registers)
    }

    /// As [`FrozenColumn::zones`](crate::FrozenColumn::zones).
    pub fn zones(&self) -> Option<Zones<'t>> {
        Zones::of(&self.column, self.column_type)
    }

    fn extremes(&self) -> Option<(Value<'t>, Value<'t>)> {
        let (column, head) = (&self.column, &self.column.head);
        if let Some((_, extremes)) = column.symbols() {
            let value = |bytes| value_of(self.column_type, bytes);
            return Some((value(extremes.least), value(extremes.greatest)));
        }
        let (least, greatest) = head.zone()?;
        if matches!(Kind::of(self.column_type), Kind::Integer { .. } | Kind::Float { .. }) {
            let value = |word| extreme_of_number(self.column_type, word);
            return Some((value(least), value(greatest)));
        }
        match head.encoding() {
            CONSTANT => {
                let value = value_of(self.column_type, column.text());
                Some((value, value))
            }
            DICTIONARY => {
                let values = self.values()?;
                Some((values.get(0), values.get(values.len() as u32 - 1)))
            }
            _ => None,
        }
    }

    fn values(&self) -> Option<DictionaryValues<'t>> {
        let stay = self.column.has_few_values();
        stay.then(|| DictionaryValues::new(self.column, self.column_type))
    }
}
