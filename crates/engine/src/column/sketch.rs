//! How many different values a column has, about: a HyperLogLog sketch of 256 bytes.
//!
//! Sketches of the segments of a table are put together to one of all its rows, and planning needs
//! no sample of them. The sketch is that of Flajolet, Fusy, Gandouet and Meunier (AofA 2007) over
//! hashes of 64 bits; what it says is computed as Ertl does ("New cardinality estimation algorithms
//! for HyperLogLog sketches", 2017), which needs no correction for few or many values.

use remanent_schema::Value;

use super::encode::{EncodedColumn, Values};
use super::head::{ALL_NULL, CONSTANT, DICTIONARY, OFFSETS, PLAIN};
use super::kind::{Kind, read_integer};
use super::view::{FrozenColumn, integer_of};

/// Bytes of a sketch: one for each register.
pub(crate) const SKETCH_SIZE: usize = 256;

/// Columns of fewer rows have none.
pub(crate) const ROWS_MIN: usize = 1024;

/// Of longer values so many bytes count, and how many there are.
const BYTES_MAX: usize = 256;

/// Bits of a hash behind those that choose the register.
const RANK_BITS: usize = 56;

/// About how many different values there are among some, null left out.
///
/// The standard error is 6.5 percent, and less where there are less than some hundred values: of 50
/// it is two, of 10 half a value. Values of one column's type are to be added, and sketches of one
/// type to be merged.
///
/// # Examples
/// ```
/// use remanent_engine::{DistinctSketch, schema::Value};
/// let mut sketch = DistinctSketch::default();
/// (0..50_000).for_each(|i| sketch.add(&Value::I64(i % 20_000)));
/// let mut others = DistinctSketch::default();
/// (10_000..30_000).for_each(|i| others.add(&Value::I64(i)));
/// sketch.merge(&others);
/// assert!((25_000.0..35_000.0).contains(&sketch.estimate()));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DistinctSketch {
    /// For each part of the hashes, the most zeros that one began with, and one more; 0 if there
    /// was none.
    registers: [u8; SKETCH_SIZE],
}

impl Default for DistinctSketch {
    fn default() -> Self {
        Self { registers: [0; SKETCH_SIZE] }
    }
}

impl DistinctSketch {
    /// The sketch with these registers, if they can be such.
    pub(crate) fn of_registers(bytes: &[u8]) -> Option<Self> {
        let registers: [u8; SKETCH_SIZE] = bytes.try_into().ok()?;
        let are_ranks = registers.iter().all(|rank| usize::from(*rank) <= RANK_BITS + 1);
        are_ranks.then_some(Self { registers })
    }

    /// The sketch of a column that was encoded from these values, which count where it is
    /// of text without a dictionary.
    pub(crate) fn of_column(column: &EncodedColumn, values: &Values<'_>, kind: Kind) -> Self {
        let mut sketch = Self::default();
        let head = &column.head;
        let (width, size) = (head.width as usize, head.value_size as usize);
        match (head.encoding, kind) {
            (ALL_NULL, _) => {}
            (CONSTANT, _) => sketch.note(hash_of_stored(&column.text, kind)),
            (OFFSETS, _) => {
                let least = head.zone.map_or(0, |(least, _)| least);
                match i64::try_from(least).ok().filter(|it| it.checked_add(1 << 32).is_some()) {
                    Some(least) => each_offset(&column.data, width, |offset| {
                        sketch.note(hash_of_word(least + i64::from(offset)));
                    }),
                    None => each_offset(&column.data, width, |offset| {
                        sketch.note(hash_of_integer(least + i128::from(offset)));
                    }),
                }
            }
            (DICTIONARY, Kind::Bytes { .. }) => {
                let ends = column.values.as_chunks().0.iter().map(|end| u32::from_le_bytes(*end));
                let ends: Vec<_> = ends.map(|end| end as usize).collect();
                let texts = ends.array_windows().map(|[from, to]| &column.text[*from..*to]);
                texts.for_each(|text| sketch.note(hash_of_bytes(text)));
            }
            (DICTIONARY, _) => {
                let values = column.values.chunks_exact(size);
                values.for_each(|value| sketch.note(hash_of_stored(value, kind)));
            }
            (PLAIN, Kind::Integer { size: 8, signed: true }) => {
                let numbers = column.data.as_chunks().0.iter();
                numbers.for_each(|it| sketch.note(hash_of_word(i64::from_le_bytes(*it))));
            }
            (PLAIN, _) => {
                let values = column.data.chunks_exact(width);
                values.for_each(|value| sketch.note(hash_of_stored(value, kind)));
            }
            _ => values.iter().flatten().for_each(|text| sketch.note(hash_of_bytes(text))),
        }
        sketch
    }

    /// The registers.
    pub(crate) fn registers(&self) -> &[u8; SKETCH_SIZE] {
        &self.registers
    }

    /// Adds a value. Null is none, and neither are structs, arrays and vectors, which a column's
    /// sketch counts by their bytes.
    pub fn add(&mut self, value: &Value<'_>) {
        let hash = match value {
            Value::F32(number) => hash_of_bytes(&number.to_le_bytes()),
            Value::F64(number) => hash_of_bytes(&number.to_le_bytes()),
            Value::String(text) => hash_of_bytes(text.as_bytes()),
            Value::Bytes(bytes) => hash_of_bytes(bytes),
            other => match integer_of(other) {
                Some(number) => hash_of_integer(number),
                None => return,
            },
        };
        self.note(hash);
    }

    /// Adds all that another sketch has seen.
    pub fn merge(&mut self, other: &Self) {
        for (register, other) in self.registers.iter_mut().zip(&other.registers) {
            *register = (*register).max(*other);
        }
    }

    /// About how many different values there are.
    pub fn estimate(&self) -> f64 {
        let mut counts = [0_u32; RANK_BITS + 2];
        for rank in self.registers {
            counts[usize::from(rank)] += 1;
        }
        let size = SKETCH_SIZE as f64;
        let share = |rank: usize| f64::from(counts[rank]) / size;
        let mut sum = size * tau(1.0 - share(RANK_BITS + 1));
        for count in counts[1..=RANK_BITS].iter().rev() {
            sum = (sum + f64::from(*count)) / 2.0;
        }
        sum += size * sigma(share(0));
        size * size / (2.0 * std::f64::consts::LN_2 * sum)
    }

    #[inline]
    fn note(&mut self, hash: u64) {
        let register = &mut self.registers[(hash >> RANK_BITS) as usize];
        // The bit behind the last one ends the zeros of a hash that has no other.
        let rank = (hash << (64 - RANK_BITS) | 1 << (63 - RANK_BITS)).leading_zeros() as u8 + 1;
        *register = (*register).max(rank);
    }
}

/// Visits every different offset at least once.
fn each_offset(data: &[u8], width: usize, mut visit: impl FnMut(u32)) {
    match width {
        1 | 2 => {
            let mut seen = vec![false; 1 << (8 * width)];
            match width {
                1 => data.iter().for_each(|offset| seen[usize::from(*offset)] = true),
                _ => (data.as_chunks().0.iter())
                    .for_each(|offset| seen[usize::from(u16::from_le_bytes(*offset))] = true),
            }
            (0..).zip(seen).filter(|(_, is_there)| *is_there).for_each(|(offset, _)| visit(offset));
        }
        3 => {
            let (low, high) = FrozenColumn::offset_parts(data);
            for (low, high) in low.iter().zip(high) {
                visit(u32::from(u16::from_le_bytes(*low)) | u32::from(*high) << 16);
            }
        }
        _ => data.as_chunks().0.iter().for_each(|offset| visit(u32::from_le_bytes(*offset))),
    }
}

/// The hash of a value by its bytes as they are stored.
#[inline]
fn hash_of_stored(bytes: &[u8], kind: Kind) -> u64 {
    match kind {
        Kind::Integer { signed, .. } => hash_of_integer(read_integer(bytes, signed)),
        _ => hash_of_bytes(bytes),
    }
}

/// The hash of a whole number of 8 bytes: that of [`hash_of_integer`].
#[inline]
fn hash_of_word(number: i64) -> u64 {
    let beyond = if number < 0 { MULTIPLIER } else { 0 };
    mixed((number as u64).wrapping_sub(beyond))
}

/// The hash of a whole number, whatever bytes it has in a row.
#[inline]
fn hash_of_integer(number: i128) -> u64 {
    let (low, high) = (number as u64, (number >> 64) as u64);
    mixed(low.wrapping_add(high.wrapping_mul(MULTIPLIER)))
}

/// The hash of bytes, eight of which are taken at a time.
#[inline]
fn hash_of_bytes(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes[..bytes.len().min(BYTES_MAX)].as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let words = words.iter().chain([&last]).map(|word| u64::from_le_bytes(*word));
    let length = (bytes.len() as u64).wrapping_mul(MULTIPLIER);
    mixed(words.fold(length, |hash, word| {
        let product = (hash ^ word).wrapping_mul(MULTIPLIER);
        product ^ product >> 32
    }))
}

const MULTIPLIER: u64 = 0x9fb2_1c65_1e98_df25;

/// A number all of whose bits depend on all of another's: the end of SplitMix64 (Steele, Lea and
/// Flood, OOPSLA 2014).
#[inline]
fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// What registers without a hash count for, by their share (Ertl's sigma); endless if all are such.
fn sigma(share: f64) -> f64 {
    if share >= 1.0 {
        return f64::INFINITY;
    }
    let (mut power, mut factor, mut sum) = (share, 1.0, share);
    loop {
        power *= power;
        let before = sum;
        sum += power * factor;
        factor += factor;
        if sum == before {
            return sum;
        }
    }
}

/// What full registers count for, by the share of others (Ertl's tau).
fn tau(share: f64) -> f64 {
    if share <= 0.0 || share >= 1.0 {
        return 0.0;
    }
    let (mut root, mut factor, mut sum) = (share, 1.0, 1.0 - share);
    loop {
        root = root.sqrt();
        let before = sum;
        factor /= 2.0;
        sum -= (1.0 - root).powi(2) * factor;
        if sum == before {
            return sum / 3.0;
        }
    }
}
