//! Lines come back as the rows that they were written from, however they are cut.

use proptest::prelude::*;

use super::CopyFormat;
use super::reading::{Record, Records};
use crate::statement::Statement;
use crate::values::datum::Datum;

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
        prop_assert_eq!(shown(&read(&format, &out, piece_bytes)), rows);
    }
}
