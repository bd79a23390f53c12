use super::*;

fn written(column_type: &ColumnType, value: Value<'_>) -> Result<Vec<u8>, Fault> {
    let mut place = vec![0xaa; column_type.fixed_size() as usize];
    write_fixed(column_type, &value, &mut place)?;
    Ok(place)
}

#[test]
fn integers_of_other_widths_are_accepted_if_they_fit() {
    assert_eq!(written(&ColumnType::U8, Value::I64(255)), Ok(vec![255]));
    assert_eq!(written(&ColumnType::U8, Value::I64(256)), Err(Fault::OutOfRange));
    assert_eq!(written(&ColumnType::U64, Value::I8(-1)), Err(Fault::OutOfRange));
    assert_eq!(written(&ColumnType::I16, Value::U64(7)), Ok(vec![7, 0]));
}

#[test]
fn kinds_do_not_mix() {
    let wrong = |found| Err(Fault::WrongType { found });
    assert_eq!(written(&ColumnType::U8, Value::F32(1.0)), wrong("F32"));
    assert_eq!(written(&ColumnType::F64, Value::I32(1)), wrong("I32"));
    assert_eq!(written(&ColumnType::Date, Value::I32(1)), wrong("I32"));
    assert_eq!(written(&ColumnType::Bool, Value::Null), wrong("NULL"));
    assert_eq!(written(&ColumnType::Char(3), Value::Bytes(b"a")), wrong("Bytes"));
}

#[test]
fn floats_are_rounded_but_never_made_infinite() {
    let rounded = written(&ColumnType::F32, Value::F64(0.1)).expect("a float");
    assert_eq!(rounded, 0.1f32.to_le_bytes());
    assert_eq!(written(&ColumnType::F32, Value::F64(1e300)), Err(Fault::OutOfRange));
    assert!(written(&ColumnType::F32, Value::F64(f64::INFINITY)).is_ok());
    assert!(written(&ColumnType::F32, Value::F64(f64::NAN)).is_ok());
}

#[test]
fn decimals_have_at_most_their_digits() {
    let decimal = ColumnType::Decimal { precision: 3, scale: 1 };
    assert!(written(&decimal, Value::Decimal(-999)).is_ok());
    assert_eq!(written(&decimal, Value::Decimal(1000)), Err(Fault::OutOfRange));
    let widest = ColumnType::Decimal { precision: 38, scale: 0 };
    assert!(written(&widest, Value::Decimal(10i128.pow(38) - 1)).is_ok());
    assert_eq!(written(&widest, Value::Decimal(i128::MIN)), Err(Fault::OutOfRange));
}

#[test]
fn char_is_padded_and_its_padding_is_not_read() {
    let bytes = written(&ColumnType::Char(4), Value::String("é\0")).expect("it fits");
    assert_eq!(bytes, [0xc3, 0xa9, 0, 0]);
    assert_eq!(read_fixed(&ColumnType::Char(4), &bytes), Value::String("é"));
    let too_long = written(&ColumnType::Char(4), Value::String("hello"));
    assert_eq!(too_long, Err(Fault::TooLong { len: 5, max: 4 }));
}

#[test]
fn binary_has_its_exact_length() {
    let short = written(&ColumnType::Binary(3), Value::Bytes(&[1, 2]));
    assert_eq!(short, Err(Fault::WrongLength { len: 2, expected: 3 }));
    assert_eq!(written(&ColumnType::Binary(2), Value::Bytes(&[1, 2])), Ok(vec![1, 2]));
}

#[test]
fn arrays_have_their_exact_count_and_may_be_given_as_bytes() {
    let array = |element| ColumnType::Array { element: Box::new(element), count: 2 };
    let one = [Value::U8(1)];
    assert_eq!(
        written(&array(ColumnType::U8), Value::List(&one)),
        Err(Fault::WrongLength { len: 1, expected: 2 })
    );
    assert_eq!(written(&array(ColumnType::U8), Value::Bytes(&[1, 2])), Ok(vec![1, 2]));
    assert_eq!(written(&array(ColumnType::U16), Value::Bytes(&[1, 2])), Ok(vec![1, 0, 2, 0]));
    let with_null = [Value::U8(1), Value::Null];
    assert!(written(&array(ColumnType::U8), Value::List(&with_null)).is_err());
}

#[test]
fn padding_between_struct_fields_is_zero() {
    use crate::values::column_type::Column;
    let fields = vec![Column::new("a", ColumnType::U8), Column::new("b", ColumnType::U16)];
    let element = ColumnType::Struct(fields);
    let bytes = written(&element, Value::List(&[Value::U8(1), Value::U16(2)]));
    assert_eq!(bytes, Ok(vec![1, 0, 2, 0]));
}
