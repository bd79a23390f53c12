//! Random schemas and values for the property tests, made from one seed.
//!
//! Values lean to edges: extremes, zeros, empty and NUL-holding text. They borrow from leaked
//! memory, so that a test can pass them around like literals.

use remanent_schema::{Column, ColumnType, DefaultValue, TableSchema, Value};

/// SplitMix64 (Steele, Lea, Flood, 2014): enough randomness for picking cases.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.number() % limit
    }

    pub(crate) fn one_in(&mut self, chances: u64) -> bool {
        self.below(chances) == 0
    }
}

/// A schema of 1 to 7 columns, nested and nullable in all ways, without indexes.
pub(crate) fn schema(dice: &mut Dice) -> TableSchema {
    let columns = columns(dice, 0);
    TableSchema { columns, ..TableSchema::new("T") }
}

fn columns(dice: &mut Dice, depth: u64) -> Vec<Column> {
    let count = 1 + dice.below(7 - 2 * depth);
    (0..count).map(|number| column(dice, format!("c{number}"), depth)).collect()
}

fn column(dice: &mut Dice, name: String, depth: u64) -> Column {
    let column_type = match dice.below(8) {
        0 | 1 if depth < 2 => ColumnType::Struct(columns(dice, depth + 1)),
        2 => {
            let max = if dice.one_in(2) { Some(40) } else { None };
            ColumnType::String { max }
        }
        3 => ColumnType::BLOB,
        4 => ColumnType::Vector { element: Box::new(fixed_scalar(dice)), max: None },
        5 => {
            let count = 1 + dice.below(3) as u32;
            ColumnType::Array { element: Box::new(array_element(dice, 0)), count }
        }
        _ => fixed_scalar(dice),
    };
    let default = if dice.one_in(4) { default_of(&column_type, dice) } else { None };
    Column { name, column_type, nullable: dice.one_in(2), default }
}

fn array_element(dice: &mut Dice, depth: u64) -> ColumnType {
    match dice.below(4) {
        0 if depth < 2 => {
            let count = 1 + dice.below(3) as u32;
            ColumnType::Array { element: Box::new(array_element(dice, depth + 1)), count }
        }
        1 if depth < 2 => ColumnType::Struct(
            (0..1 + dice.below(4))
                .map(|number| Column::new(format!("f{number}"), array_element(dice, depth + 1)))
                .collect(),
        ),
        _ => fixed_scalar(dice),
    }
}

/// Any type of fixed size without parts.
pub(crate) fn fixed_scalar(dice: &mut Dice) -> ColumnType {
    match dice.below(18) {
        0 => ColumnType::I8,
        1 => ColumnType::I16,
        2 => ColumnType::I32,
        3 => ColumnType::I64,
        4 => ColumnType::U8,
        5 => ColumnType::U16,
        6 => ColumnType::U32,
        7 => ColumnType::U64,
        8 => ColumnType::F32,
        9 => ColumnType::F64,
        10 => ColumnType::Bool,
        11 => ColumnType::Decimal { precision: 1 + dice.below(18) as u8, scale: 1 },
        12 => ColumnType::Decimal { precision: 19 + dice.below(20) as u8, scale: 2 },
        13 => ColumnType::Date,
        14 => ColumnType::Time,
        15 => ColumnType::Timestamp,
        16 => ColumnType::Char(1 + dice.below(9) as u32),
        _ => ColumnType::Binary(1 + dice.below(9) as u32),
    }
}

/// Any type that a key part can have.
pub(crate) fn key_type(dice: &mut Dice) -> ColumnType {
    match dice.below(8) {
        0 => ColumnType::STRING,
        1 => ColumnType::BLOB,
        _ => fixed_scalar(dice),
    }
}

fn default_of(column_type: &ColumnType, dice: &mut Dice) -> Option<DefaultValue> {
    if let ColumnType::Struct(_) | ColumnType::Array { .. } | ColumnType::Vector { .. } =
        column_type
    {
        return None;
    }
    Some(match value(column_type, dice) {
        Value::Bool(truth) => DefaultValue::Bool(truth),
        Value::F32(number) => DefaultValue::Float(number.into()),
        Value::F64(number) => DefaultValue::Float(number),
        Value::Decimal(unscaled) => DefaultValue::Decimal(unscaled),
        Value::Date(days) => DefaultValue::Date(days),
        Value::Time(micros) => DefaultValue::Time(micros),
        Value::Timestamp(micros) => DefaultValue::Timestamp(micros),
        Value::String(text) => DefaultValue::from(text),
        Value::Bytes(bytes) => DefaultValue::from(bytes),
        integer => match u64::try_from(integer.as_integer()?) {
            Ok(number) => DefaultValue::Unsigned(number),
            Err(_) => DefaultValue::Signed(integer.as_integer()? as i64),
        },
    })
}

/// A value that a column of this type accepts, never NULL and never NaN.
pub(crate) fn value(column_type: &ColumnType, dice: &mut Dice) -> Value<'static> {
    let bits = edge(dice);
    match column_type {
        ColumnType::I8 => Value::I8(bits as i8),
        ColumnType::I16 => Value::I16(bits as i16),
        ColumnType::I32 => Value::I32(bits as i32),
        ColumnType::I64 => Value::I64(bits as i64),
        ColumnType::U8 => Value::U8(bits as u8),
        ColumnType::U16 => Value::U16(bits as u16),
        ColumnType::U32 => Value::U32(bits as u32),
        ColumnType::U64 => Value::U64(bits),
        ColumnType::F32 => Value::F32(float(dice) as f32),
        ColumnType::F64 => Value::F64(float(dice)),
        ColumnType::Bool => Value::Bool(dice.one_in(2)),
        ColumnType::Decimal { precision, .. } => {
            let wide = i128::from(bits as i64) * i128::from(edge(dice) as i64);
            Value::Decimal(wide % 10i128.pow(u32::from(*precision)))
        }
        ColumnType::Date => Value::Date(bits as i32),
        ColumnType::Time => Value::Time(bits as i64),
        ColumnType::Timestamp => Value::Timestamp(bits as i64),
        ColumnType::Char(size) => Value::String(text(dice, *size as usize).trim_end_matches('\0')),
        ColumnType::Binary(size) => Value::Bytes(bytes(dice, *size as usize)),
        ColumnType::String { .. } => Value::String(text(dice, 40)),
        ColumnType::Blob { .. } => {
            let len = dice.below(20) as usize;
            Value::Bytes(bytes(dice, len))
        }
        ColumnType::Array { element, count } => {
            list((0..*count).map(|_| value(element, dice)).collect())
        }
        ColumnType::Vector { element, .. } => {
            list((0..dice.below(5)).map(|_| value(element, dice)).collect())
        }
        ColumnType::Struct(fields) => {
            list(fields.iter().map(|field| value(&field.column_type, dice)).collect())
        }
    }
}

/// A number that is often small, often extreme, of either sign.
fn edge(dice: &mut Dice) -> u64 {
    match dice.below(4) {
        0 => dice.below(3).wrapping_sub(1),
        1 => (1u64 << dice.below(64)).wrapping_sub(dice.below(2)),
        _ => dice.number(),
    }
}

fn float(dice: &mut Dice) -> f64 {
    match dice.below(8) {
        0 => 0.0,
        1 => -0.0,
        2 => f64::INFINITY,
        3 => f64::NEG_INFINITY,
        4 => f64::from(f32::MIN_POSITIVE) / 4.0,
        _ => (dice.number() as i64 as f64) * 2f64.powi(dice.below(60) as i32 - 70),
    }
}

/// Text of at most `max` bytes, of few characters, so that prefixes and equals are common.
fn text(dice: &mut Dice, max: usize) -> &'static str {
    let mut text = String::new();
    for _ in 0..dice.below(7) {
        let letter = ['\0', '\u{1}', 'a', 'b', 'é', '\u{10ffff}'][dice.below(6) as usize];
        if text.len() + letter.len_utf8() <= max {
            text.push(letter);
        }
    }
    text.leak()
}

fn bytes(dice: &mut Dice, len: usize) -> &'static [u8] {
    let bytes: Vec<u8> = (0..len).map(|_| [0, 1, 255, 7][dice.below(4) as usize]).collect();
    bytes.leak()
}

fn list(values: Vec<Value<'static>>) -> Value<'static> {
    Value::List(values.leak())
}
