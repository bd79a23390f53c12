//! Stored schemas come back as they were, and no bytes make reading panic.

use crate::generate::{Dice, fixed_scalar, key_type, schema};
use proptest::prelude::*;
use remanent_schema::{Column, IndexSchema, KeyPart, TableSchema};

proptest! {
    #![proptest_config(crate::cases(2000))]

    #[test]
    fn schemas_come_back(seed in any::<u64>()) {
        let schema = with_keys(&mut Dice(seed));
        prop_assert_eq!(TableSchema::from_bytes(&schema.to_bytes()), Ok(schema));
    }

    #[test]
    fn damaged_schemas_never_panic(seed in any::<u64>(), damage in any::<Vec<(u16, u8)>>()) {
        let mut bytes = with_keys(&mut Dice(seed)).to_bytes();
        for (at, byte) in damage.iter().take(4) {
            let at = usize::from(*at) % bytes.len();
            bytes[at] = *byte;
        }
        if let Ok(schema) = TableSchema::from_bytes(&bytes) {
            prop_assert_eq!(TableSchema::from_bytes(&schema.to_bytes()), Ok(schema));
        }
    }

    #[test]
    fn noise_never_panics(noise in any::<Vec<u8>>()) {
        let _ = TableSchema::from_bytes(&noise);
        let _ = TableSchema::from_bytes(&[&[1], &noise[..]].concat());
    }
}

/// A random schema with a few columns to have indexes on.
fn with_keys(dice: &mut Dice) -> TableSchema {
    let mut schema = schema(dice);
    schema = schema.with(Column::new("id", fixed_scalar(dice)));
    for number in 0..dice.below(4) {
        let column = Column::new(format!("k{number}"), key_type(dice));
        let parts = [KeyPart::asc("id"), KeyPart::desc(column.name.clone())];
        let mut index = IndexSchema::new(format!("i{number}"), parts);
        index.unique = dice.one_in(2);
        schema = schema.with(column).index(if dice.one_in(2) { index.hash() } else { index });
    }
    schema.primary_key(["id"]).build().expect("a schema")
}
