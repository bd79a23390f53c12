//! Values go out in binary and come back as they were.

use bytes::{Bytes, BytesMut};
use proptest::prelude::*;
use remanent_sql::{Datum, SqlType};

use super::{Format, decimal, oid, reading, writing};

/// The bytes of a value alone in a row.
fn binary(datum: &Datum, sql_type: &SqlType) -> Bytes {
    let mut out = BytesMut::new();
    writing::value(&mut out, datum, sql_type, Format::Binary);
    // The length stands in front.
    out.freeze().slice(4..)
}

fn there_and_back(datum: &Datum, sql_type: &SqlType) -> Datum {
    let bytes = binary(datum, sql_type);
    reading::value(Some(&bytes), oid::of(sql_type), Format::Binary).unwrap()
}

#[test]
fn numerics_have_the_digits_that_postgresql_writes() {
    let cases: [(i128, u8, &[u16]); 6] = [
        (0, 0, &[0, 0, 0, 0]),
        (1999, 2, &[2, 0, 0, 2, 19, 9900]),
        (-1, 4, &[1, 0xffff, 0x4000, 4, 1]),
        (12_345_678, 0, &[2, 1, 0, 0, 1234, 5678]),
        (10_000, 0, &[1, 1, 0, 0, 1]),
        (5, 10, &[1, 0xfffd, 0, 10, 500]),
    ];
    for (unscaled, scale, words) in cases {
        let mut out = BytesMut::new();
        decimal::write(&mut out, unscaled, scale);
        let found: Vec<u16> =
            out.chunks(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
        assert_eq!(found, words, "{unscaled} with {scale}");
    }
}

#[test]
fn lists_with_nulls_come_back() {
    let list = Datum::List(vec![Datum::Int(1), Datum::Null, Datum::Int(3)]);
    let list_type = SqlType::Array(Box::new(SqlType::Integer));
    assert_eq!(there_and_back(&list, &list_type), list);
    let empty = Datum::List(Vec::new());
    assert_eq!(there_and_back(&empty, &list_type), empty);
}

#[test]
fn uuids_are_sixteen_bytes() {
    let uuid = Datum::from("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11");
    assert_eq!(binary(&uuid, &SqlType::Uuid).len(), 16);
    assert_eq!(there_and_back(&uuid, &SqlType::Uuid), uuid);
}

proptest! {
    #[test]
    fn numerics_come_back(
        unscaled in -(10_i128.pow(38) - 1)..10_i128.pow(38),
        scale in 0_u8..=38,
    ) {
        let mut out = BytesMut::new();
        decimal::write(&mut out, unscaled, scale);
        prop_assert_eq!(decimal::read(out.freeze()), Some((unscaled, scale)));
    }

    #[test]
    fn days_and_times_come_back(
        days in -700_000..2_000_000,
        micros in -10_i64.pow(17)..10_i64.pow(17),
    ) {
        let date = Datum::Date(days);
        prop_assert_eq!(there_and_back(&date, &SqlType::Date), date);
        let at = Datum::TimestampTz(micros);
        prop_assert_eq!(there_and_back(&at, &SqlType::TimestampTz), at);
        let span = Datum::Interval(days, -days, micros / 1000 * 1000);
        prop_assert_eq!(there_and_back(&span, &SqlType::Interval), span);
    }

    #[test]
    fn garbage_is_refused_or_read(
        bytes in prop::collection::vec(any::<u8>(), 0..64),
        number in 0..21_usize,
    ) {
        let known = [
            16, 21, 23, 20, 700, 701, 1700, 1082, 1083, 1114, 1184, 1186, 25, 2950, 114, 17, 3802,
            1007, 1009, 1231, 26,
        ][number];
        let bytes = Bytes::from(bytes);
        let _ = reading::value(Some(&bytes), known, Format::Binary);
    }
}
