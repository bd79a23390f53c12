//! Calls within calls, and arguments with names.

use std::time::{Duration, Instant};

use crate::error::SqlState;
use crate::statement::Statement;

#[test]
fn a_hundred_calls_within_each_other_are_read_in_a_moment() {
    let text = format!("select {}1{}", "f(".repeat(100), ")".repeat(100));
    let begun = Instant::now();
    let parsed = Statement::parse(&text);
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    // Too deep is an answer, too; being read for ever is none.
    assert!(
        parsed.as_ref().is_ok_and(|parsed| parsed.ast.to_string().matches("f(").count() == 100)
    );
}

#[test]
fn the_first_value_of_a_list_may_be_a_query() {
    for text in [
        "SELECT 1 IN ((SELECT 2), 3)",
        "SELECT a NOT IN ((SELECT 2), (SELECT 3)) AND b",
        "SELECT a IN ((SELECT 2) UNION (SELECT 3))",
        "SELECT a IN ((1), (2))",
    ] {
        assert_eq!(Statement::parse(text).unwrap().ast.to_string(), text);
    }
}

#[test]
fn arguments_have_words_for_names() {
    let read = |text: &str| Statement::parse(text).map(|statement| statement.ast.to_string());
    assert_eq!(read("select f(a => 1, b := 2)").unwrap(), "SELECT f(a => 1, b := 2)");
    assert_eq!(read("select f(a, 1 + 2, g(h(3)))").unwrap(), "SELECT f(a, 1 + 2, g(h(3)))");
    assert_eq!(read("select f(1 => 2)").unwrap_err().state(), SqlState::SYNTAX_ERROR);
}
