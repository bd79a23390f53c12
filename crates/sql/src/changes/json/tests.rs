//! What `row_to_json` of PostgreSQL 15 says of the same values.

use super::*;

#[test]
fn values_are_written_as_row_to_json_writes_them() {
    let row = [
        ("i", Datum::Int(-7)),
        ("n", Datum::Decimal(1999, 2)),
        ("r", Datum::Double(0.5)),
        ("inf", Datum::Double(f64::INFINITY)),
        ("t", Datum::from("a \"quoted\"\nline \\ \u{1}")),
        ("b", Datum::Bool(true)),
        ("none", Datum::Null),
        ("d", Datum::Date(19_723)),
        ("at", Datum::Timestamp(1_704_067_200_500_000)),
        ("tz", Datum::TimestampTz(1_704_067_200_000_000)),
        ("bytes", Datum::from(&[0xde_u8, 0xad][..])),
        ("list", Datum::List(vec![Datum::Int(1), Datum::Null, Datum::from("x")])),
        ("j", Datum::from("{\"a\": [1]}")),
    ];
    let mut is_json = [false; 13];
    is_json[12] = true;
    let mut out = String::new();
    write_object(&mut out, row.iter().map(|(name, datum)| (*name, datum)), &is_json);
    let expected = concat!(
        r#"{"i":-7,"n":19.99,"r":0.5,"inf":"Infinity","t":"a \"quoted\"\nline \\ \u0001","#,
        r#""b":true,"none":null,"d":"2024-01-01","at":"2024-01-01T00:00:00.5","#,
        r#""tz":"2024-01-01T00:00:00+00:00","bytes":"\\xdead","list":[1,null,"x"],"#,
        r#""j":{"a": [1]}}"#
    );
    assert_eq!(out, expected);
}
