//! The value of a key that rows are compared with: the last one of those that are wanted so far.
//!
//! Values stand to each other as [`sort_rows`](super::order::sort_rows) orders them.

use std::cmp::Ordering;

use super::key::{SortKey, float_number};
use crate::rows::{Rows, TILE_ROWS};
use crate::sources::source::{Given, Loader, Slice, Source, has_bit};

/// A value of a key.
///
/// # Examples
/// ```
/// use remanent_exec::{Given, Slice, SortBound, SortKey};
/// let prices = [30, 10, 20, 40];
/// let values = Given { values: Slice::I64(&prices), nulls: None, range: None };
/// let key = SortKey { values, descending: true, nulls_first: false };
/// let bound = SortBound::of(&key, 2).expect("numbers have an order");
/// let (mut before, mut equal) = (Vec::new(), Vec::new());
/// assert!(bound.split(&values, 4, &mut before, &mut equal));
/// assert_eq!((before, equal), (vec![0, 3], vec![2]));
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct SortBound {
    value: Value,
    descending: bool,
    nulls_first: bool,
}

#[derive(Clone, PartialEq, Debug)]
enum Value {
    Null,
    Number(i64),
    Wide(i128),
    /// A float as a number in its order.
    Float(u64),
    Text(Vec<u8>),
}

impl SortBound {
    /// The value of a row; `None` if values of the key are neither numbers nor texts.
    pub fn of(key: &SortKey<'_>, row: usize) -> Option<Self> {
        let given = key.values;
        let value = match given.values {
            _ if given.nulls.is_some_and(|nulls| has_bit(nulls, row)) => Value::Null,
            Slice::Other => return None,
            Slice::F64(values) => Value::Float(float_number(values[row])),
            Slice::I128(values) => Value::Wide(values[row]),
            Slice::Texts(texts) => Value::Text(texts.get(row).to_vec()),
            _ => {
                let mut number = [0];
                let loader = Loader::of(&Source::Given(given))?;
                loader.load(Rows::Stretch(row, row + 1), &mut number);
                Value::Number(number[0])
            }
        };
        let SortKey { descending, nulls_first, .. } = *key;
        Some(Self { value, descending, nulls_first })
    }

    /// Whether it is null.
    pub fn is_null(&self) -> bool {
        self.value == Value::Null
    }

    /// Puts those of the first rows whose values come before it to `before`, and those whose values
    /// are the same to `equal`, in their order. False, and nothing is put, if the values are of
    /// another kind.
    pub fn split(
        &self,
        values: &Given<'_>,
        rows: usize,
        before: &mut Vec<u32>,
        equal: &mut Vec<u32>,
    ) -> bool {
        let mut put = Split { bound: self, nulls: values.nulls, before, equal };
        match (&self.value, values.values) {
            (Value::Null, _) => put.nulls_alone(rows),
            (Value::Number(_), Slice::I128(_) | Slice::F64(_) | Slice::Texts(_) | Slice::Other) => {
                return false;
            }
            (Value::Number(bound), _) => {
                let Some(loader) = Loader::of(&Source::Given(*values)) else { return false };
                let mut numbers = [0; TILE_ROWS];
                for first in (0..rows).step_by(TILE_ROWS) {
                    let tile = &mut numbers[..TILE_ROWS.min(rows - first)];
                    loader.load(Rows::Stretch(first, first + tile.len()), tile);
                    put.each(first, tile.iter().map(|number| number.cmp(bound)));
                }
            }
            (Value::Wide(bound), Slice::I128(values)) => {
                put.each(0, values[..rows].iter().map(|number| number.cmp(bound)));
            }
            (Value::Float(bound), Slice::F64(values)) => {
                put.each(0, values[..rows].iter().map(|value| float_number(*value).cmp(bound)));
            }
            (Value::Text(bound), Slice::Texts(texts)) => {
                put.each(0, (0..rows).map(|row| texts.get(row).cmp(bound)));
            }
            _ => return false,
        }
        true
    }

    /// How it stands to another value of the same key.
    pub fn compare(&self, other: &Self) -> Ordering {
        let order = match (&self.value, &other.value) {
            (Value::Null, Value::Null) => return Ordering::Equal,
            (Value::Null, _) => return self.of_null(),
            (_, Value::Null) => return self.of_null().reverse(),
            (Value::Number(one), Value::Number(other)) => one.cmp(other),
            (Value::Wide(one), Value::Wide(other)) => one.cmp(other),
            (Value::Float(one), Value::Float(other)) => one.cmp(other),
            (Value::Text(one), Value::Text(other)) => one.cmp(other),
            _ => return Ordering::Equal,
        };
        if self.descending { order.reverse() } else { order }
    }

    /// How null stands to what is not.
    fn of_null(&self) -> Ordering {
        if self.nulls_first { Ordering::Less } else { Ordering::Greater }
    }
}

/// Where rows are put to.
struct Split<'s> {
    bound: &'s SortBound,
    nulls: Option<&'s [u64]>,
    before: &'s mut Vec<u32>,
    equal: &'s mut Vec<u32>,
}

impl Split<'_> {
    fn is_null(&self, row: usize) -> bool {
        self.nulls.is_some_and(|nulls| has_bit(nulls, row))
    }

    /// The bound is null: whatever is not comes all before it, or all behind.
    fn nulls_alone(&mut self, rows: usize) {
        for row in 0..rows {
            match self.is_null(row) {
                true => self.equal.push(row as u32),
                false if !self.bound.nulls_first => self.before.push(row as u32),
                false => {}
            }
        }
    }

    /// Rows from one on, of whose values it is known how they stand to the bound if they are not
    /// null.
    fn each(&mut self, first: usize, orders: impl Iterator<Item = Ordering>) {
        let wanted = if self.bound.descending { Ordering::Greater } else { Ordering::Less };
        for (row, order) in (first..).zip(orders) {
            if self.is_null(row) {
                if self.bound.nulls_first {
                    self.before.push(row as u32);
                }
            } else if order == wanted {
                self.before.push(row as u32);
            } else if order == Ordering::Equal {
                self.equal.push(row as u32);
            }
        }
    }
}
