//! Key bytes sort as values do, for every type, direction and nullability; no key is a prefix of
//! another; and all ways to make or compare a key agree.

use std::cmp::Ordering;

use crate::generate::{Dice, key_type, value};
use proptest::prelude::*;
use remanent_schema::{
    Column, IndexSchema, KeyBuffer, KeyPart, KeyPlan, RowLayout, TableSchema, Value,
};

proptest! {
    #![proptest_config(crate::cases(3000))]

    #[test]
    fn byte_order_is_value_order(seed in any::<u64>()) {
        let dice = &mut Dice(seed);
        let case = Case::random(dice);
        let rows: Vec<Vec<Value<'static>>> = (0..6).map(|_| case.values(dice)).collect();
        let keys: Vec<KeyBuffer> = rows.iter().map(|row| case.key_of_row(row)).collect();
        for (a, key_a) in rows.iter().zip(&keys) {
            prop_assert_eq!(&case.key_of_values(a), key_a);
            let encoded = case.row(a);
            for (b, key_b) in rows.iter().zip(&keys) {
                let order = case.order(a, b);
                let (bytes_a, bytes_b) = (key_a.as_slice(), key_b.as_slice());
                prop_assert_eq!(bytes_a.cmp(bytes_b), order, "{:?} {:?} {:?}", case.schema, a, b);
                prop_assert_eq!(bytes_a.starts_with(bytes_b), order == Ordering::Equal);
                prop_assert_eq!(case.plan.compare_row(&encoded, bytes_b), order);
                prop_assert_eq!(case.plan.matches_row(&encoded, bytes_b), order == Ordering::Equal);
            }
        }
    }

    #[test]
    fn prefixes_of_parts_are_prefixes_of_bytes(seed in any::<u64>()) {
        let dice = &mut Dice(seed);
        let case = Case::random(dice);
        let (a, b) = (case.values(dice), case.values(dice));
        for parts in 0..=a.len() {
            let prefix = case.key_of_values(&a[..parts]);
            let equal = case.order(&a[..parts], &b[..parts]) == Ordering::Equal;
            let row = case.row(&b);
            prop_assert_eq!(case.plan.row_starts_with(&row, prefix.as_slice()), equal);
            prop_assert!(case.plan.row_starts_with(&case.row(&a), prefix.as_slice()));
        }
    }
}

/// A table whose columns are all parts of one key, in order.
struct Case {
    schema: TableSchema,
    layout: RowLayout,
    plan: KeyPlan,
}

impl Case {
    fn random(dice: &mut Dice) -> Case {
        let mut schema = TableSchema::new("T");
        let mut parts = Vec::new();
        for number in 0..1 + dice.below(3) {
            let mut column = Column::new(format!("c{number}"), key_type(dice));
            column.nullable = dice.one_in(2);
            parts.push(KeyPart { column: column.name.clone(), descending: dice.one_in(2) });
            schema = schema.with(column);
        }
        let schema = schema.index(IndexSchema::new("i", parts)).build().expect("a schema");
        let layout = RowLayout::new(&schema);
        let plan = KeyPlan::new(&layout, &schema.indexes[0]).expect("a plan");
        Case { schema, layout, plan }
    }

    fn values(&self, dice: &mut Dice) -> Vec<Value<'static>> {
        let columns = self.schema.columns.iter();
        columns
            .map(|column| match column.nullable && dice.one_in(4) {
                true => Value::Null,
                false if dice.one_in(8) => nan(value(&column.column_type, dice)),
                false => value(&column.column_type, dice),
            })
            .collect()
    }

    fn row(&self, values: &[Value<'_>]) -> Vec<u8> {
        let given: Vec<_> = values.iter().copied().map(Some).collect();
        let mut row = vec![0; self.layout.encoded_len(&given).expect("a length")];
        self.layout.encode(&given, &mut row).expect("a row");
        row
    }

    fn key_of_row(&self, values: &[Value<'_>]) -> KeyBuffer {
        let mut key = KeyBuffer::new();
        self.plan.encode_row(&self.row(values), &mut key).expect("a key");
        key
    }

    fn key_of_values(&self, values: &[Value<'_>]) -> KeyBuffer {
        let mut key = KeyBuffer::new();
        assert_eq!(self.plan.encode_values(values, &mut key), Ok(values.len()));
        key
    }

    /// The order that the index promises, from the values alone.
    fn order(&self, a: &[Value<'_>], b: &[Value<'_>]) -> Ordering {
        let parts = &self.schema.indexes[0].parts;
        let orders = parts.iter().zip(a.iter().zip(b)).map(|(part, (a, b))| {
            let order = value_order(a, b);
            if part.descending { order.reverse() } else { order }
        });
        orders.fold(Ordering::Equal, Ordering::then)
    }
}

/// NULL first, numbers as numbers, NaN last, text and bytes by byte.
fn value_order(a: &Value<'_>, b: &Value<'_>) -> Ordering {
    match (*a, *b) {
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Less,
        (_, Value::Null) => Ordering::Greater,
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(&b),
        (Value::Decimal(a), Value::Decimal(b)) => a.cmp(&b),
        (Value::Date(a), Value::Date(b)) => a.cmp(&b),
        (Value::Time(a), Value::Time(b)) => a.cmp(&b),
        (Value::Timestamp(a), Value::Timestamp(b)) => a.cmp(&b),
        (a, b) => match (a.as_float(), b.as_float()) {
            (Some(a), Some(b)) => a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan())),
            _ => a.as_integer().expect("an integer").cmp(&b.as_integer().expect("an integer")),
        },
    }
}

fn nan(value: Value<'static>) -> Value<'static> {
    match value {
        Value::F32(number) => Value::F32(f32::NAN.copysign(number)),
        Value::F64(number) => Value::F64(f64::NAN.copysign(number)),
        other => other,
    }
}
