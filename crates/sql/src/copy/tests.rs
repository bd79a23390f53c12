//! Lines come back as the rows that they were written from, however they are cut; values that are
//! read without a cast are what a cast makes of them.

use proptest::prelude::*;

use super::CopyFormat;
use super::building::{date, decimal, integer};
use super::reading::{Record, Records};
use crate::statement::Statement;
use crate::values::datum::Datum;
use crate::values::sql_type::SqlType;

fn format(options: &str) -> CopyFormat {
    let text = format!("copy t from stdin {options}");
    Statement::parse(&text).unwrap().copy().unwrap().format
}

fn read(format: &CopyFormat, text: &[u8], piece_bytes: usize) -> Vec<Record> {
    let mut records = Records::new(format);
    let mut found = Vec::new();
    for mut piece in text.chunks(piece_bytes) {
        while let Some(record) = records.next(&mut piece).unwrap() {
            found.push(record);
        }
    }
    found.extend(records.end().unwrap());
    found
}

/// As `read`, with lines cut as they are where that can be.
fn read_lines(format: &CopyFormat, text: &[u8], piece_bytes: usize) -> Vec<Record> {
    let mut records = Records::new(format);
    let (mut found, mut ends) = (Vec::new(), Vec::new());
    for mut piece in text.chunks(piece_bytes) {
        loop {
            if let Some(line) = records.plain_line(&mut piece, &mut ends) {
                let mut start = 0;
                let values = ends.iter().map(|&end| {
                    let value = &line[start..end];
                    start = end + 1;
                    let is_null = std::str::from_utf8(value).is_ok_and(|it| records.is_null(it));
                    (!is_null).then(|| value.to_vec())
                });
                found.push(values.collect());
            } else if let Some(record) = records.next(&mut piece).unwrap() {
                found.push(record);
            } else {
                break;
            }
        }
    }
    found.extend(records.end().unwrap());
    found
}

fn shown(records: &[Record]) -> Vec<Vec<Option<String>>> {
    let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
    records.iter().map(|record| record.iter().map(|v| v.as_ref().map(text)).collect()).collect()
}

fn some(values: &[&str]) -> Vec<Option<String>> {
    values.iter().map(|value| Some((*value).to_owned())).collect()
}

#[test]
fn escapes_and_nulls_of_text_are_understood() {
    let text = b"1\t\\N\n\\x41\\102\\n\t\\\\N\r\n\\.\nnothing\n";
    let found = shown(&read(&format(""), text, 3));
    assert_eq!(found[0], [Some("1".to_owned()), None]);
    assert_eq!(found[1], some(&["AB\n", "\\N"]));
    assert_eq!(found.len(), 2);
}

#[test]
fn an_empty_value_of_csv_is_null_unless_it_is_quoted() {
    let found = shown(&read(&format("with (format csv)"), b"a,,\"\"\n\"x\"\"y\nz\",b,c", 2));
    assert_eq!(found[0], [Some("a".to_owned()), None, Some(String::new())]);
    assert_eq!(found[1], some(&["x\"y\nz", "b", "c"]));
}

proptest! {
    #[test]
    fn rows_come_back(
        rows in prop::collection::vec(
            prop::collection::vec(prop::option::of("[a-z\\\\\"',;\t\r\n\u{e4}]{0,6}"), 2), 0..6),
        options in prop::sample::select(vec![
            "", "with (format csv)", "with (delimiter '|', null 'nil')",
            "with (format csv, delimiter ';', quote '''', null 'nil')",
            "with (format csv, escape '\\')",
        ]),
        piece_bytes in 1_usize..9,
    ) {
        let format = format(options);
        let mut out = Vec::new();
        for row in &rows {
            let row: Vec<Datum> = row.iter().map(|value| match value {
                None => Datum::Null,
                Some(text) => Datum::from(text.as_str()),
            }).collect();
            format.write_line(&mut out, &row);
        }
        prop_assert_eq!(&shown(&read(&format, &out, piece_bytes)), &rows);
        prop_assert_eq!(&shown(&read_lines(&format, &out, piece_bytes)), &rows);
        prop_assert_eq!(&shown(&read_lines(&format, &out, out.len().max(1))), &rows);
    }

    #[test]
    fn lines_are_cut_as_bytes_are_read(
        text in "[a-d\\\\\"|,\t\r\n]{0,80}",
        options in prop::sample::select(vec![
            "", "with (format csv)", "with (delimiter '|', null 'a')",
            "with (format csv, delimiter ';', quote '''', null 'nil')",
        ]),
        piece_bytes in 1_usize..40,
    ) {
        let format = format(options);
        let is_whole = |text: &[u8]| {
            let (mut records, mut piece) = (Records::new(&format), text);
            while records.next(&mut piece).unwrap().is_some() {}
            records.end().is_ok()
        };
        prop_assume!(is_whole(text.as_bytes()));
        let expected = read(&format, text.as_bytes(), 80);
        prop_assert_eq!(read_lines(&format, text.as_bytes(), piece_bytes), expected);
    }

    #[test]
    fn numbers_are_read_as_they_are_cast(
        text in "-?[0-9]{0,19}(\\.[0-9]{0,4})?",
        (precision, scale) in (1_u8..20, 0_u8..4),
    ) {
        prop_assume!(scale <= precision);
        let cast = |to: &SqlType| Datum::from(text.as_str()).cast(to).ok();
        let numeric = SqlType::Numeric { precision, scale };
        if let Some(number) = decimal(&text, precision, scale) {
            prop_assert_eq!(Some(Datum::Decimal(number.into(), scale)), cast(&numeric));
        }
        if let Some(number) = integer(&text, 18) {
            prop_assert_eq!(Some(Datum::Int(number)), cast(&SqlType::BigInt));
        }
        if let Some(number) = integer(&text, 9) {
            prop_assert_eq!(Some(Datum::Int(number)), cast(&SqlType::Integer));
        }
    }

    #[test]
    fn dates_are_read_as_they_are_cast(year in 0..10_000, month in 0..14, day in 0..33) {
        let text = format!("{year:04}-{month:02}-{day:02}");
        let cast = Datum::from(text.as_str()).cast(&SqlType::Date).ok();
        match date(&text) {
            Some(days) => prop_assert_eq!(Some(Datum::Date(days)), cast),
            None => prop_assert!(cast.is_none() || year == 0),
        }
    }
}
