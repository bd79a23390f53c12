//! Long results are written as they come, in the widths of their first rows.

use std::sync::Arc;

use remanent_sql::{Datum, ResultColumn, SqlType};

use super::{Frame, Style};
use crate::options::Format;

fn columns() -> Arc<[ResultColumn]> {
    Arc::new([ResultColumn { name: "text".to_owned(), sql_type: SqlType::Text }])
}

#[test]
fn a_table_holds_its_first_rows_and_no_more() {
    let style = Style::default();
    let mut layout = style.layout(&columns(), Frame::default(), None);
    let mut out = Vec::new();
    for _ in 0..9_999 {
        layout.row(&mut out, &[Datum::from("abc")]);
    }
    assert!(out.is_empty());
    layout.row(&mut out, &[Datum::from("abc")]);
    assert!(String::from_utf8_lossy(&out).starts_with(" text \n------\n abc\n"));
    out.clear();
    layout.row(&mut out, &[Datum::from("wider than before")]);
    assert_eq!(out, b" wider than before\n");
    out.clear();
    layout.end(&mut out);
    assert_eq!(out, b"(10001 rows)\n\n");
}

#[test]
fn csv_and_json_hold_nothing() {
    for (format, first) in [(Format::Csv, "text\nabc\n"), (Format::Json, "[{\"text\":\"abc\"}")] {
        let style = Style { format, ..Style::default() };
        let mut layout = style.layout(&columns(), Frame::default(), None);
        let mut out = Vec::new();
        layout.row(&mut out, &[Datum::from("abc")]);
        assert_eq!(String::from_utf8_lossy(&out), first);
    }
}

#[test]
fn a_table_that_is_wider_than_the_screen_becomes_a_list() {
    let style = Style { expanded: super::Expanded::Auto, ..Style::default() };
    for (screen, is_list) in [(20, false), (10, true)] {
        let mut layout = style.layout(&columns(), Frame::default(), Some(screen));
        let mut out = Vec::new();
        layout.row(&mut out, &[Datum::from("0123456789")]);
        layout.end(&mut out);
        assert_eq!(out.starts_with(b"-[ RECORD 1 ]"), is_list, "on {screen} places");
    }
}
