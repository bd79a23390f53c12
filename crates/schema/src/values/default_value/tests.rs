use super::*;

#[test]
fn floats_are_equal_by_their_bits() {
    assert_eq!(DefaultValue::Float(f64::NAN), DefaultValue::Float(f64::NAN));
    assert_ne!(DefaultValue::Float(0.0), DefaultValue::Float(-0.0));
}

#[test]
fn rust_values_become_defaults_of_their_kind() {
    assert_eq!(DefaultValue::from(-5i8).as_value(), Value::I64(-5));
    assert_eq!(DefaultValue::from(u64::MAX).as_value(), Value::U64(u64::MAX));
    assert_eq!(DefaultValue::from(Timestamp(9)).as_value(), Value::Timestamp(9));
    assert_eq!(DefaultValue::from(Decimal::<5, 2>(123)).as_value(), Value::Decimal(123));
    assert_eq!(DefaultValue::from(vec![1u8, 2]).as_value(), Value::Bytes(&[1, 2]));
}
