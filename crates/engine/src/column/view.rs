//! What a program sees of a frozen column: its encoding and the encoded bytes.
//!
//! Nothing is copied and nothing decoded: slices lead into the database and stay as long as the
//! frozen rows that gave them. Arrays begin at multiples of 64 bytes, numbers are little-endian.

use remanent_schema::{ColumnType, Value};

use super::block::BlockColumn;
use super::ends::Ends;
use super::fsst::Symbols;
use super::head::{ALL_NULL, CONSTANT, DICTIONARY, FSST, OFFSETS, PLAIN, STRINGS};
use super::kind::{Kind, read_float, read_integer, read_number, value_of_integer};
use super::sketch::DistinctSketch;
use super::summary::ColumnSummary;
use super::zones::Zones;
use crate::memory::aligned::{as_u32s, as_u64s};

/// A column of a frozen segment, encoded.
///
/// Rows are numbered from 0, in the order of their ids. A row that is null, that was deleted before
/// the segment was frozen, or that is not seen has an entry all the same, whose content is
/// arbitrary: see [`FrozenColumn::nulls`] and
/// [`FrozenRows::visible`](crate::FrozenRows::visible).
///
/// # Examples
/// A sum over encoded bytes:
/// ```
/// use remanent_engine::{Database, Encoding, Options, Piece, schema::*};
/// let db = Database::open(Options::new())?;
/// let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I64))?;
/// let a = table.column("a")?;
/// let rows = (0..1000_i64).map(|i| [Some(Value::I64(1_000_000 + i % 200))]);
/// db.write(|tx| tx.insert_all_values(&table, rows.clone()))?;
/// db.freeze_all(&table)?;
/// let tx = db.begin_read()?;
/// let mut sum = 0;
/// let mut pieces = tx.scan_pieces(&table)?;
/// while let Some(piece) = pieces.next_piece() {
///     let Piece::Frozen(rows) = piece else { unreachable!("all rows are frozen") };
///     let column = rows.column(a)?;
///     // 200 different values, which begin at a million: a byte each.
///     let Encoding::Offsets { min, width: 1, bytes } = column.encoding() else { unreachable!() };
///     assert_eq!((min, column.max()), (1_000_000, Some(Value::I64(1_000_199))));
///     assert!(rows.visible().is_none() && column.nulls().is_none());
///     sum += min * bytes.len() as i128 + bytes.iter().map(|&byte| i128::from(byte)).sum::<i128>();
/// }
/// assert_eq!(sum, 1_000_099_500);
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct FrozenColumn<'t> {
    column: BlockColumn<'t>,
    column_type: &'t ColumnType,
}

/// How the values of a frozen column are encoded, and the encoded bytes.
///
/// # Examples
/// See [`FrozenColumn`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Encoding<'t> {
    /// All rows that are not null have this value; null if all are.
    Constant(Value<'t>),
    /// Frame of reference, of integers, dates, times, decimals and truths: unsigned numbers of 1 to
    /// 4 bytes, one for each row, which added to `min` are the value (of a decimal the unscaled
    /// integer).
    Offsets {
        /// The reference that the numbers are added to.
        min: i128,
        /// Bytes of a number: 1, 2, 3 or 4.
        width: usize,
        /// The numbers. If they have 3 bytes, the lower two of each row, and behind those of all
        /// rows the third of each: see [`FrozenColumn::offset_parts`].
        bytes: &'t [u8],
    },
    /// Values as they lie in rows, one for each row: numbers, binary, arrays.
    Plain {
        /// Bytes of a value.
        width: usize,
        /// The values.
        bytes: &'t [u8],
    },
    /// For each row the code of its value, which is its index among the values, which are sorted
    /// and all different.
    Dictionary {
        /// Bytes of a code: 1, 2 or 4.
        code_width: usize,
        /// The codes.
        codes: &'t [u8],
        /// The values.
        values: DictionaryValues<'t>,
    },
    /// Plain strings, of text or bytes: the value of row `i` is `bytes[ends.range(i)]`.
    Strings {
        /// The ends of the values.
        ends: Ends<'t>,
        /// The values behind one another.
        bytes: &'t [u8],
    },
    /// FSST, of text: the value of row `i` is what `symbols` make of `codes[ends.range(i)]`.
    Fsst {
        /// The ends of the values' codes.
        ends: Ends<'t>,
        /// The codes of all values behind one another.
        codes: &'t [u8],
        /// The symbols of the codes.
        symbols: Symbols<'t>,
    },
}

/// The values of a dictionary, by their codes: sorted, all different.
///
/// Text and bytes are in the order of their bytes, numbers in that of their values, and floats in
/// that of `f64::total_cmp`.
///
/// # Examples
/// ```
/// use remanent_engine::{Database, Encoding, Options, Piece, schema::*};
/// let db = Database::open(Options::new())?;
/// let table = db.create_table(TableSchema::new("T").column("mode", ColumnType::STRING))?;
/// let mode = table.column("mode")?;
/// let names = ["RAIL", "AIR", "SHIP"];
/// let rows = (0..300).map(|i| [Some(Value::String(names[i % 3]))]);
/// db.write(|tx| tx.insert_all_values(&table, rows.clone()))?;
/// db.freeze_all(&table)?;
/// let tx = db.begin_read()?;
/// let mut pieces = tx.scan_pieces(&table)?;
/// let Some(Piece::Frozen(rows)) = pieces.next_piece() else { unreachable!() };
/// let column = rows.column(mode)?;
/// let Encoding::Dictionary { code_width: 1, codes, values } = column.encoding() else {
///     unreachable!("three values take less as codes")
/// };
/// assert_eq!((values.len(), values.get(0)), (3, Value::String("AIR")));
/// // A comparison with text becomes one of codes.
/// let rail = values.find(&Value::String("RAIL")).expect("some have it");
/// assert_eq!(codes.iter().filter(|&&code| u32::from(code) == rail).count(), 100);
/// assert_eq!(values.find(&Value::String("ROAD")), Err(2));
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct DictionaryValues<'t> {
    column: BlockColumn<'t>,
    column_type: &'t ColumnType,
}

impl<'t> FrozenColumn<'t> {
    pub(crate) fn new(column: BlockColumn<'t>, column_type: &'t ColumnType) -> Self {
        Self { column, column_type }
    }

    /// The type of the column.
    pub fn column_type(&self) -> &'t ColumnType {
        self.column_type
    }

    /// What it says of itself without its rows.
    pub fn summary(&self) -> ColumnSummary<'t> {
        ColumnSummary::new(self.column, self.column_type)
    }

    /// The encoding and the encoded bytes.
    pub fn encoding(&self) -> Encoding<'t> {
        let column = &self.column;
        let head = &column.head;
        let width = head.width() as usize;
        match head.encoding() {
            OFFSETS => {
                let min = head.zone().map_or(0, |(least, _)| least);
                Encoding::Offsets { min, width, bytes: column.data() }
            }
            PLAIN => Encoding::Plain { width, bytes: column.data() },
            DICTIONARY => {
                let values = DictionaryValues::new(*column, self.column_type);
                Encoding::Dictionary { code_width: width, codes: column.data(), values }
            }
            STRINGS => Encoding::Strings { ends: column.ends(), bytes: column.text() },
            CONSTANT => Encoding::Constant(value_of(self.column_type, column.text())),
            FSST if let Some((symbols, _)) = column.symbols() => {
                Encoding::Fsst { ends: column.ends(), codes: column.text(), symbols }
            }
            _ => Encoding::Constant(Value::Null),
        }
    }

    /// The parts of offsets of 3 bytes: the lower two of each row, and the third of each.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Encoding, FrozenColumn, Options, Piece, schema::*};
    /// let db = Database::open(Options::new())?;
    /// let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I64))?;
    /// let a = table.column("a")?;
    /// let rows = (0..1000_i64).map(|i| [Some(Value::I64(i * 1000))]);
    /// db.write(|tx| tx.insert_all_values(&table, rows.clone()))?;
    /// db.freeze_all(&table)?;
    /// let tx = db.begin_read()?;
    /// let mut pieces = tx.scan_pieces(&table)?;
    /// let Some(Piece::Frozen(rows)) = pieces.next_piece() else { unreachable!() };
    /// let Encoding::Offsets { min: 0, width: 3, bytes } = rows.column(a)?.encoding() else {
    ///     unreachable!("they are less than 2^24")
    /// };
    /// let (low, high) = FrozenColumn::offset_parts(bytes);
    /// let offset = u32::from(u16::from_le_bytes(low[7])) | u32::from(high[7]) << 16;
    /// assert_eq!(offset, 7000);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn offset_parts(bytes: &[u8]) -> (&[[u8; 2]], &[u8]) {
        let (low, high) = bytes.split_at(bytes.len() / 3 * 2);
        (low.as_chunks().0, high)
    }

    /// A bitmap with a bit set for each row that is null: bit `i % 64` of word `i / 64`. `None` if
    /// none is.
    pub fn nulls(&self) -> Option<&'t [u64]> {
        (self.column.head.nulls() != 0).then(|| as_u64s(self.column.nulls()))
    }

    /// The number of null rows.
    pub fn null_count(&self) -> usize {
        self.column.head.null_count() as usize
    }

    /// The least value in the segment, as it was frozen; `None` if all are null, and of arrays,
    /// vectors, binary places, and floats some of which are no numbers.
    pub fn min(&self) -> Option<Value<'t>> {
        match self.column.symbols() {
            Some((_, extremes)) => Some(value_of(self.column_type, extremes.least)),
            None => self.column.head.zone().map(|(least, _)| self.extreme(least)),
        }
    }

    /// The greatest value; see [`FrozenColumn::min`].
    pub fn max(&self) -> Option<Value<'t>> {
        match self.column.symbols() {
            Some((_, extremes)) => Some(value_of(self.column_type, extremes.greatest)),
            None => self.column.head.zone().map(|(_, greatest)| self.extreme(greatest)),
        }
    }

    /// About how many different values it has; `None` where that was not counted: in segments of
    /// fewer than 1,024 rows, and in images of old versions.
    pub fn sketch(&self) -> Option<DistinctSketch> {
        self.column.sketch().and_then(DistinctSketch::of_registers)
    }

    /// The least and the greatest number of each 2,048 rows; `None` where they tell rows apart no
    /// better than those of the whole column do.
    #[inline]
    pub fn zones(&self) -> Option<Zones<'t>> {
        Zones::of(&self.column, self.column_type)
    }

    /// The value of a row, which must be less than the number of rows. Text that is not stored as
    /// it is is written to `room`, which is emptied first; nothing else is.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn value<'r>(&self, row: usize, room: &'r mut Vec<u8>) -> Value<'r>
    where
        't: 'r,
    {
        if self.column.head.encoding() != FSST || self.column.is_null(row) {
            return self.stored(row);
        }
        room.clear();
        self.column.append_text_of(row, room);
        value_of(self.column_type, room)
    }

    /// The value of a row that is stored as it is.
    #[inline]
    fn stored(&self, row: usize) -> Value<'t> {
        let (column, head) = (&self.column, &self.column.head);
        assert!(row < column.block.rows() as usize, "row {row} is not of the segment");
        if column.is_null(row) {
            return Value::Null;
        }
        if head.encoding() == ALL_NULL {
            // A struct that is there has no bytes.
            return if matches!(self.column_type, ColumnType::Struct(_)) {
                Value::Bool(true)
            } else {
                Value::Null
            };
        }
        let width = head.width() as usize;
        let bytes = match head.encoding() {
            OFFSETS => {
                let least = head.zone().map_or(0, |(least, _)| least);
                let number = least.wrapping_add(read_number(column.data(), width, row).into());
                return value_of_integer(self.column_type, number);
            }
            PLAIN => &column.data()[row * width..][..width],
            DICTIONARY => return self.dictionary_value(read_number(column.data(), width, row)),
            CONSTANT => column.text(),
            _ => column.text_of(row),
        };
        value_of(self.column_type, bytes)
    }

    fn dictionary_value(&self, code: u32) -> Value<'t> {
        DictionaryValues::new(self.column, self.column_type).get(code)
    }

    fn extreme(&self, word: i128) -> Value<'t> {
        match Kind::of(self.column_type) {
            Kind::Integer { .. } | Kind::Float { .. } => extreme_of_number(self.column_type, word),
            _ => self.stored(word as usize),
        }
    }
}

/// The value in a zone of a column of numbers.
pub(super) fn extreme_of_number(column_type: &ColumnType, word: i128) -> Value<'_> {
    match Kind::of(column_type) {
        Kind::Float { size: 4 } => Value::F32(f64::from_bits(word as u64) as f32),
        Kind::Float { .. } => Value::F64(f64::from_bits(word as u64)),
        _ => value_of_integer(column_type, word),
    }
}

impl<'t> DictionaryValues<'t> {
    pub(super) fn new(column: BlockColumn<'t>, column_type: &'t ColumnType) -> Self {
        Self { column, column_type }
    }

    /// The number of entries.
    #[expect(clippy::len_without_is_empty, reason = "a dictionary has at least two values")]
    pub fn len(&self) -> usize {
        self.column.head.value_count() as usize
    }

    /// The value with a code.
    ///
    /// # Panics
    /// If there is none.
    pub fn get(&self, code: u32) -> Value<'t> {
        value_of(self.column_type, self.bytes(code))
    }

    /// The bytes of the value with a code: as in a row, Char without its padding.
    ///
    /// # Panics
    /// If there is none.
    pub fn bytes(&self, code: u32) -> &'t [u8] {
        let (column, code) = (&self.column, code as usize);
        match column.head.value_size() as usize {
            0 => column.dictionary_text(code),
            size => &column.values()[code * size..][..size],
        }
    }

    /// The code of a value of the column's type, or, as an error, that of the first greater one:
    /// as many as there are if there is none. A value of another type is found nowhere.
    ///
    /// # Errors
    /// The code at which the value would be.
    pub fn find(&self, value: &Value<'_>) -> Result<u32, u32> {
        let (mut low, mut high) = (0, self.len() as u32);
        while low < high {
            let middle = low + (high - low) / 2;
            match compare(&self.get(middle), value) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Ok(middle),
            }
        }
        Err(low)
    }

    /// Of a dictionary of text or bytes: where each value ends in [`DictionaryValues::text`],
    /// behind a 0. `None` if the values have one size.
    pub fn offsets(&self) -> Option<&'t [u32]> {
        (self.column.head.value_size() == 0).then(|| as_u32s(self.column.value_ends()))
    }

    /// The values behind one another: of text as [`DictionaryValues::offsets`] divides them, else
    /// as they lie in rows.
    pub fn text(&self) -> &'t [u8] {
        if self.column.head.value_size() == 0 { self.column.text() } else { self.column.values() }
    }
}

/// The value of a column of this type in these bytes.
pub(super) fn value_of<'t>(column_type: &'t ColumnType, bytes: &'t [u8]) -> Value<'t> {
    match Kind::of(column_type) {
        Kind::Integer { signed, .. } => value_of_integer(column_type, read_integer(bytes, signed)),
        Kind::Float { size: 4 } => Value::F32(read_float(bytes) as f32),
        Kind::Float { .. } => Value::F64(read_float(bytes)),
        _ => column_type.value_of(bytes),
    }
}

/// The order of two values of one column.
fn compare(a: &Value<'_>, b: &Value<'_>) -> std::cmp::Ordering {
    if let (Some(a), Some(b)) = (integer_of(a), integer_of(b)) {
        return a.cmp(&b);
    }
    if let (Some(a), Some(b)) = (a.as_float(), b.as_float()) {
        return a.total_cmp(&b);
    }
    bytes_of(a).cmp(bytes_of(b))
}

/// The whole number of a value that is stored as one.
pub(crate) fn integer_of(value: &Value<'_>) -> Option<i128> {
    Some(match *value {
        Value::Bool(truth) => i128::from(truth),
        Value::Decimal(number) => number,
        Value::Date(days) => i128::from(days),
        Value::Time(us) | Value::Timestamp(us) => i128::from(us),
        _ => return value.as_integer(),
    })
}

fn bytes_of<'v>(value: &Value<'v>) -> &'v [u8] {
    match *value {
        Value::String(text) => text.as_bytes(),
        Value::Bytes(bytes) => bytes,
        _ => &[],
    }
}

impl std::fmt::Debug for FrozenColumn<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (mut list, mut room) = (f.debug_list(), Vec::new());
        for row in 0..self.column.block.rows() as usize {
            list.entry(&self.value(row, &mut room));
        }
        list.finish()
    }
}

impl std::fmt::Debug for DictionaryValues<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let codes = 0..self.column.head.value_count();
        f.debug_list().entries(codes.map(|code| self.get(code))).finish()
    }
}
