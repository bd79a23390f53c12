//! Lines of the log that clients would like to write.

use std::io::Write;

use super::{OneLine, one_line};

#[test]
fn an_event_is_one_line_whatever_is_in_it() {
    let forged = "refuses \"x\ny\": 2026-11-23 INFO ann has ended\r\n\u{1b}[2J\u{2028}\n";
    let written = one_line(forged);
    assert_eq!(written.matches('\n').count(), 1);
    assert!(written.ends_with('\n'));
    assert!(!written.contains(['\r', '\u{1b}', '\u{2028}']));
    assert!(written.contains("x\\ny"), "{written}");
    assert_eq!(one_line("plain é\n"), "plain é\n");
}

#[test]
fn the_writer_takes_the_whole_event() {
    let mut out = Vec::new();
    let event = b"user a\nb\n";
    assert_eq!(OneLine(&mut out).write(event).unwrap(), event.len());
    assert_eq!(out, b"user a\\nb\n");
}
