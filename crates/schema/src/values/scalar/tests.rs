use super::*;

fn round_trip<T: FixedField + PartialEq + fmt::Debug>(value: T) {
    let mut bytes = vec![0; T::SIZE];
    value.write(&mut bytes);
    assert_eq!(T::read(&bytes), value);
    assert_eq!(T::column_type().fixed_size(), T::SIZE as u64);
    assert_eq!(T::column_type().alignment(), T::ALIGN);
}

#[test]
fn every_type_reads_what_it_wrote_and_agrees_with_its_column() {
    round_trip(i8::MIN);
    round_trip(0x1234u16);
    round_trip(f64::MAX);
    round_trip(true);
    round_trip(Date(-1));
    round_trip(Time(1));
    round_trip(Timestamp(i64::MIN));
    round_trip(Decimal::<18, 2>(-5));
    round_trip(Decimal::<19, 2>(i128::MAX));
    round_trip(CharArray::<5>::new("hé").expect("it fits"));
    round_trip(BinaryArray([1u8, 2, 3]));
    round_trip([[1u16, 2], [3, 4], [5, 6]]);
    round_trip([Decimal::<30, 0>(1), Decimal(2)]);
}

#[test]
fn decimals_are_shown_with_their_point() {
    assert_eq!(Decimal::<5, 2>(-5).to_string(), "-0.05");
    assert_eq!(Decimal::<5, 0>(42).to_string(), "42");
    assert_eq!(Decimal::<38, 3>(i128::MIN + 1).to_string().len(), 41);
}

#[test]
fn decimals_are_checked_against_their_digits() {
    assert!(Decimal::<2, 0>(99).check().is_ok());
    assert!(Decimal::<2, 0>(-100).check().is_err());
    assert!([Decimal::<2, 0>(1), Decimal(100)].check().is_err());
}

#[test]
fn char_arrays_compare_without_their_padding() {
    let short = CharArray::<4>::new("a").expect("it fits");
    assert_eq!(short, CharArray::new("a\0").expect("it fits"));
    assert!(short < CharArray::new("aa").expect("it fits"));
    assert_eq!(CharArray::<4>::default().as_str(), "");
    assert_eq!("abcde".parse::<CharArray<4>>(), Err(TextTooLong { len: 5, max: 4 }));
}

#[test]
fn scalars_know_their_columns() {
    assert!(u32::is_of(&ColumnType::U32) && !u32::is_of(&ColumnType::I32));
    assert!(Decimal::<5, 2>::is_of(&ColumnType::Decimal { precision: 5, scale: 2 }));
    assert!(!Decimal::<5, 2>::is_of(&ColumnType::Decimal { precision: 5, scale: 3 }));
    assert!(!CharArray::<5>::is_of(&ColumnType::Binary(5)));
}
