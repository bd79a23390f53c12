//! Conditions on single columns, evaluated on encoded values.
//!
//! A condition on a dictionary is evaluated once for each of its values, on offsets of a byte once
//! for each of 256 numbers; after that a row costs one look-up. Ranges of wider offsets are
//! compared as offsets. A segment whose least and greatest value lie outside a range is passed
//! over. Other conditions are evaluated on the values of the rows that these leave.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{Between, BinaryExpr, Expr, Operator};
use remanent_engine::schema::Value;
use remanent_engine::{Encoding, Ends, FrozenColumn, FrozenRows};

use super::condition::{Condition, Kept};
use super::frozen::{Parts, consecutive, dictionary_values, single};
use super::key_set::KeySet;
use super::pattern::{Automaton, Pattern};
use crate::catalog::table::Table;
use crate::error::Result;
use crate::values::sql_type::SqlType;

/// Values of a dictionary for which a condition is evaluated ahead, at most.
const DICTIONARY_MAX: usize = 16_384;

/// The numbers between which a comparison with a constant holds, if it is no more than that.
pub(crate) fn range_of(filter: &Expr, sql_type: &SqlType) -> Option<(i128, i128)> {
    let number = |value: &Expr| match value {
        Expr::Literal(scalar, _) => whole(scalar, sql_type),
        _ => None,
    };
    match filter {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let (op, value) = match (left.as_ref(), right.as_ref()) {
                (Expr::Column(_), value) => (*op, number(value)?),
                (value, Expr::Column(_)) => (op.swap()?, number(value)?),
                _ => return None,
            };
            Some(match op {
                Operator::Eq => (value, value),
                Operator::Lt => (i128::MIN, value - 1),
                Operator::LtEq => (i128::MIN, value),
                Operator::Gt => (value + 1, i128::MAX),
                Operator::GtEq => (value, i128::MAX),
                _ => return None,
            })
        }
        Expr::Between(Between { expr, negated: false, low, high })
            if matches!(expr.as_ref(), Expr::Column(_)) =>
        {
            Some((number(low)?, number(high)?))
        }
        _ => None,
    }
}

/// A constant as the whole number that columns of this type keep.
pub(crate) fn whole(scalar: &ScalarValue, sql_type: &SqlType) -> Option<i128> {
    use ScalarValue as S;
    Some(match (scalar, sql_type) {
        (S::Int8(Some(number)), kind) if kind.is_integer() => (*number).into(),
        (S::Int16(Some(number)), kind) if kind.is_integer() => (*number).into(),
        (S::Int32(Some(number)), kind) if kind.is_integer() => (*number).into(),
        (S::Int64(Some(number)), kind) if kind.is_integer() => (*number).into(),
        (S::Date32(Some(days)), SqlType::Date) => (*days).into(),
        (S::TimestampMicrosecond(Some(at), None), SqlType::Timestamp) => (*at).into(),
        (S::Decimal128(Some(number), _, scale), SqlType::Numeric { scale: of, .. })
            if *scale == *of as i8 =>
        {
            *number
        }
        _ => return None,
    })
}

/// What a condition says of the rows of one segment.
enum Says {
    /// All rows meet it.
    All,
    /// No row meets it.
    None,
    /// It has to be evaluated on the values.
    Unknown,
    /// By the code or the offset of a row, and for null.
    Table { bytes: usize, meets: Vec<bool>, null: bool },
    /// By the offset: from the first to the second.
    Between { bytes: usize, low: u32, high: u32 },
    /// By the number, which is the offset more than the least: one of these.
    Among { keys: Arc<KeySet>, min: i128, bytes: usize },
    /// By the text, which lies behind those of other rows.
    Like(Arc<Pattern>),
    /// By the codes of the text's symbols.
    LikeCodes(Automaton),
}

/// The conditions on one segment.
pub(crate) struct OfSegment {
    /// With the place of the column that each is about.
    says: Vec<(usize, Says)>,
    /// Places of the conditions that have to be evaluated on values.
    pub(crate) others: Vec<usize>,
}

impl OfSegment {
    /// What the conditions say of a segment; `None` if no row of it can meet them.
    ///
    /// # Errors
    /// Whatever a condition meets in evaluating.
    pub(crate) fn new(
        conditions: &[Condition],
        wanted: &[Arc<KeySet>],
        table: &Table,
        rows: &FrozenRows<'_>,
    ) -> Result<Option<Self>> {
        let (mut says, mut others) = (Vec::new(), Vec::new());
        for (place, condition) in conditions.iter().enumerate() {
            let &[column] = condition.columns.as_slice() else {
                others.push(place);
                continue;
            };
            let of = &table.columns[column];
            match condition.says(&rows.column(of.handle)?, &of.sql_type)? {
                Says::None => return Ok(None),
                Says::All => {}
                Says::Unknown => others.push(place),
                other => says.push((column, other)),
            }
        }
        for keys in wanted {
            let column = rows.column(table.columns[keys.column].handle)?;
            match among(keys, &column) {
                Says::None => return Ok(None),
                Says::All | Says::Unknown => {}
                other => says.push((keys.column, other)),
            }
        }
        // What takes longest has the fewest rows left.
        says.sort_by_key(|(_, says)| matches!(says, Says::Like(_) | Says::LikeCodes(_)));
        Ok(Some(Self { says, others }))
    }

    /// Whether encoded values say of any row that it does not meet them.
    pub(crate) fn says_anything(&self) -> bool {
        !self.says.is_empty()
    }

    /// Takes the rows of a stretch that do not meet the conditions out of `meets`.
    ///
    /// # Errors
    /// As the engine.
    pub(crate) fn filter(
        &self,
        table: &Table,
        rows: &FrozenRows<'_>,
        from: usize,
        meets: &mut [bool],
    ) -> Result<()> {
        for (place, says) in &self.says {
            let column = rows.column(table.columns[*place].handle)?;
            let codes = match column.encoding() {
                Encoding::Offsets { bytes, .. } => bytes,
                Encoding::Dictionary { codes, .. } => codes,
                Encoding::Strings { ends, bytes } | Encoding::Fsst { ends, codes: bytes, .. } => {
                    says.filter_texts(&column, (ends, bytes), from, meets);
                    continue;
                }
                _ => continue,
            };
            says.filter(&column, codes, from, meets);
        }
        Ok(())
    }
}

impl Says {
    fn filter_texts(
        &self,
        column: &FrozenColumn<'_>,
        (ends, bytes): (Ends<'_>, &[u8]),
        from: usize,
        meets: &mut [bool],
    ) {
        match self {
            Self::Like(pattern) => {
                filter_each(column, (ends, bytes), from, meets, |text| pattern.meets(text));
            }
            Self::LikeCodes(automaton) => {
                filter_each(column, (ends, bytes), from, meets, |codes| automaton.meets(codes));
            }
            _ => {}
        }
    }

    fn filter(&self, column: &FrozenColumn<'_>, codes: &[u8], from: usize, meets: &mut [bool]) {
        let before = column.nulls().map(|nulls| (nulls, meets.to_vec()));
        match self {
            Self::Table { bytes: 1, meets: table, .. } => {
                let codes = &codes[from..from + meets.len()];
                meets.iter_mut().zip(codes).for_each(|(meet, &code)| {
                    *meet &= table[usize::from(code)];
                });
            }
            Self::Table { bytes: 2, meets: table, .. } => {
                let codes = codes[from * 2..(from + meets.len()) * 2].chunks_exact(2);
                meets.iter_mut().zip(codes).for_each(|(meet, code)| {
                    *meet &= table[usize::from(u16::from_le_bytes([code[0], code[1]]))];
                });
            }
            Self::Between { bytes: 2, low, high } => {
                let codes = codes[from * 2..(from + meets.len()) * 2].chunks_exact(2);
                let (low, high) = (*low as u16, (*high).min(u16::MAX.into()) as u16);
                meets.iter_mut().zip(codes).for_each(|(meet, code)| {
                    let code = u16::from_le_bytes([code[0], code[1]]);
                    *meet &= (code >= low) & (code <= high);
                });
            }
            Self::Between { bytes: 3, low, high } => {
                let offsets = Parts::of(codes).stretch(from, meets.len());
                meets.iter_mut().zip(offsets).for_each(|(meet, offset)| {
                    *meet &= (offset >= *low) & (offset <= *high);
                });
            }
            Self::Between { bytes: 4, low, high } => {
                let codes = codes[from * 4..(from + meets.len()) * 4].chunks_exact(4);
                meets.iter_mut().zip(codes).for_each(|(meet, code)| {
                    let code = u32::from_le_bytes([code[0], code[1], code[2], code[3]]);
                    *meet &= (code >= *low) & (code <= *high);
                });
            }
            Self::Among { keys, min, bytes } => match bytes {
                1 => keys.filter(*min, codes[from..].iter().map(|byte| (*byte).into()), meets),
                2 => {
                    let entries = codes.as_chunks().0[from..].iter();
                    keys.filter(*min, entries.map(|two| u16::from_le_bytes(*two).into()), meets);
                }
                3 => keys.filter(*min, Parts::of(codes).stretch(from, meets.len()), meets),
                _ => {
                    let entries = codes.as_chunks().0[from..].iter();
                    keys.filter(*min, entries.map(|four| u32::from_le_bytes(*four)), meets);
                }
            },
            _ => return,
        }
        let null = matches!(self, Self::Table { null: true, .. });
        let Some((nulls, before)) = before else { return };
        // The code of a null row says nothing.
        for (at, meet) in meets.iter_mut().enumerate() {
            let row = from + at;
            if nulls[row / 64] >> (row % 64) & 1 == 1 {
                *meet = before[at] && null;
            }
        }
    }
}

/// What the keys that a join wants say of a column; nothing where it is not numbers that are kept
/// as offsets.
fn among(keys: &Arc<KeySet>, column: &FrozenColumn<'_>) -> Says {
    if let (Some(least), Some(greatest)) =
        (column.min().and_then(number_of), column.max().and_then(number_of))
        && !keys.has_between(least, greatest)
    {
        return Says::None;
    }
    match column.encoding() {
        Encoding::Constant(value) => match number_of(value) {
            Some(number) if keys.has(number) => Says::All,
            _ => Says::None,
        },
        Encoding::Offsets { min, width, .. } => {
            Says::Among { keys: Arc::clone(keys), min, bytes: width }
        }
        _ => Says::Unknown,
    }
}

/// Takes the rows out of `meets` whose bytes, of a column of text, do not meet a condition.
#[inline]
fn filter_each(
    column: &FrozenColumn<'_>,
    (ends, bytes): (Ends<'_>, &[u8]),
    from: usize,
    meets: &mut [bool],
    condition: impl Fn(&[u8]) -> bool,
) {
    let nulls = column.nulls();
    let is_null = |row: usize| nulls.is_some_and(|nulls| nulls[row / 64] >> (row % 64) & 1 == 1);
    for (row, meet) in (from..).zip(meets) {
        *meet = *meet && !is_null(row) && condition(&bytes[ends.range(row)]);
    }
}

impl Condition {
    fn says(&self, column: &FrozenColumn<'_>, sql_type: &SqlType) -> Result<Says> {
        if let (Some((low, high)), Some(least), Some(greatest)) =
            (self.range, column.min().and_then(number_of), column.max().and_then(number_of))
        {
            if greatest < low || least > high {
                return Ok(Says::None);
            }
            if low <= least && greatest <= high && column.nulls().is_none() {
                return Ok(Says::All);
            }
        }
        match column.encoding() {
            Encoding::Constant(value) if column.nulls().is_none() => {
                Ok(match self.meets(single(value, sql_type)?) {
                    Some(meets) if meets[0] => Says::All,
                    Some(_) => Says::None,
                    None => Says::Unknown,
                })
            }
            Encoding::Dictionary { code_width, values, .. }
                if code_width <= 2 && values.len() <= DICTIONARY_MAX =>
            {
                let meets = self.meets(dictionary_values(&values, sql_type)?);
                self.table(column, code_width, meets, sql_type)
            }
            Encoding::Offsets { min, width: 1, .. } => {
                let meets = self.meets(consecutive(min, 256, sql_type)?);
                self.table(column, 1, meets, sql_type)
            }
            Encoding::Offsets { min, width, .. } => {
                let Some((low, high)) = self.range else { return Ok(Says::Unknown) };
                let offset = |bound: i128| {
                    let offset = bound.saturating_sub(min).clamp(0, u32::MAX.into());
                    offset as u32
                };
                if high < min {
                    return Ok(Says::None);
                }
                Ok(Says::Between { bytes: width, low: offset(low), high: offset(high) })
            }
            Encoding::Strings { .. } => Ok(match &self.pattern {
                Some(pattern) => Says::Like(Arc::clone(pattern)),
                None => Says::Unknown,
            }),
            Encoding::Fsst { symbols, .. } => {
                let automaton = self.pattern.as_ref().and_then(|pattern| pattern.over(&symbols));
                Ok(automaton.map_or(Says::Unknown, Says::LikeCodes))
            }
            _ => Ok(Says::Unknown),
        }
    }

    fn table(
        &self,
        column: &FrozenColumn<'_>,
        bytes: usize,
        meets: Option<Vec<bool>>,
        sql_type: &SqlType,
    ) -> Result<Says> {
        let Some(mut meets) = meets else { return Ok(Says::Unknown) };
        let null = match column.nulls() {
            None => false,
            Some(_) => match self.meets(single(Value::Null, sql_type)?) {
                Some(meets) => meets[0],
                None => return Ok(Says::Unknown),
            },
        };
        if !null && !meets.contains(&true) {
            return Ok(Says::None);
        }
        if (null || column.nulls().is_none()) && !meets.contains(&false) {
            return Ok(Says::All);
        }
        // The code of a null row may be any.
        meets.resize(if bytes == 1 { 256 } else { 65_536 }, false);
        Ok(Says::Table { bytes, meets, null })
    }

    /// For each value whether it meets the condition; `None` if it fails for one, which may be one
    /// that no row has.
    fn meets(&self, values: ArrayRef) -> Option<Vec<bool>> {
        let count = values.len();
        Some(match self.kept(vec![values], count).ok()? {
            Kept::All => vec![true; count],
            Kept::None => vec![false; count],
            Kept::These(truths) => truths.values().iter().collect(),
        })
    }
}

/// The whole number of a value that has one.
fn number_of(value: Value<'_>) -> Option<i128> {
    match value {
        Value::Decimal(number) => Some(number),
        Value::Date(days) => Some(days.into()),
        Value::Time(at) | Value::Timestamp(at) => Some(at.into()),
        other => other.as_integer(),
    }
}
