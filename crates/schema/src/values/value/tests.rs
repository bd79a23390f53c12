use super::*;

#[test]
fn numbers_are_equal_across_widths_but_not_across_kinds() {
    assert_eq!(Value::U8(5), Value::I64(5));
    assert_ne!(Value::I8(-1), Value::U64(u64::MAX));
    assert_eq!(Value::F32(0.5), Value::F64(0.5));
    assert_ne!(Value::F64(5.0), Value::I64(5));
    assert_ne!(Value::Time(5), Value::Timestamp(5));
    assert_ne!(Value::Date(5), Value::I32(5));
    assert_eq!(Value::Null, Value::Null);
}

#[test]
fn rust_values_convert() {
    assert_eq!(Value::from(Some(5u32)), Value::U32(5));
    assert_eq!(Value::from(None::<&str>), Value::Null);
    assert_eq!(Value::from(&String::from("x")), Value::String("x"));
    assert_eq!(Value::from(Date(3)), Value::Date(3));
    let code = CharArray::<3>::new("EUR").expect("it fits");
    assert_eq!(Value::from(&code), Value::String("EUR"));
}

#[test]
fn values_are_shown_plainly() {
    let list = [Value::U8(1), Value::Null, Value::Bytes(&[0xab, 1])];
    assert_eq!(Value::List(&list).to_string(), "[1, NULL, 0xab01]");
    assert_eq!(Value::String("x").to_string(), "x");
}

#[test]
fn a_value_is_small() {
    assert!(size_of::<Value<'_>>() <= 32);
}
