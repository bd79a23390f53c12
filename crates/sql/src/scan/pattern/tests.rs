//! Patterns mean what DataFusion says that they mean.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Scalar, StringViewArray};
use datafusion::arrow::compute::kernels::comparison::like;
use proptest::prelude::*;
use remanent_engine::schema::{ColumnType, TableSchema};
use remanent_engine::{Database, Encoding, Options, Piece};

use super::Pattern;

/// Whether Arrow finds a text like a pattern.
fn by_arrow(text: &str, pattern: &str) -> bool {
    let one = |text: &str| Arc::new(StringViewArray::from(vec![text])) as ArrayRef;
    let answer = like(&one(text), &Scalar::new(one(pattern))).expect("it is compared");
    answer.value(0)
}

/// What a pattern says of each text by the codes of a frozen column of theirs, which are escapes
/// of bytes and symbols of several.
fn by_codes(texts: &[String], pattern: &Pattern) -> Vec<bool> {
    let db = Database::open(Options::new()).expect("a database");
    let schema = TableSchema::new("T").column("text", ColumnType::STRING);
    let table = db.create_table(schema).expect("a table");
    // What comes often becomes symbols; what is asked for comes once.
    let often = (0..2000).map(|i| format!("abab said ab and a ba, then aab {i}"));
    let all: Vec<String> = texts.iter().cloned().chain(often).collect();
    db.write(|tx| {
        tx.insert_all_values(&table, all.iter().map(|text| [Some(text.as_str().into())]))
    })
    .expect("rows");
    db.freeze_all(&table).expect("they are frozen");
    let tx = db.begin_read().expect("a transaction");
    let mut pieces = tx.scan_pieces(&table).expect("a scan");
    let Some(Piece::Frozen(rows)) = pieces.next_piece() else { panic!("frozen rows") };
    let column = rows.column(table.column("text").expect("it is there")).expect("it is there");
    let Encoding::Fsst { ends, codes, symbols } = column.encoding() else {
        panic!("text in symbols")
    };
    let automaton = pattern.over(&symbols).expect("it is short");
    let row = |row: usize| &codes[ends.range(row)];
    (0..texts.len()).map(|at| automaton.meets(row(at))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn text_in_symbols_is_like_what_it_spells(
        texts in prop::collection::vec("(ab|a|b|aab|é| said){0,6}", 50),
        pattern in "((ab|a|b|aab|é| s)?%){1,3}(ab|b|ba|é|d)?",
    ) {
        let parsed = Pattern::parse(&pattern, false).expect("a pattern");
        let expected: Vec<bool> = texts.iter().map(|text| by_arrow(text, &pattern)).collect();
        prop_assert_eq!(by_codes(&texts, &parsed), expected, "{}", pattern);
    }
}

proptest! {
    #[test]
    fn a_text_is_like_what_arrow_says(text in "[abé]{0,9}", pattern in "[abé%]{0,7}") {
        match Pattern::parse(&pattern, false) {
            Some(parsed) => {
                prop_assert_eq!(parsed.meets(text.as_bytes()), by_arrow(&text, &pattern));
                let negated = Pattern::parse(&pattern, true).expect("it is parsed as before");
                prop_assert_eq!(negated.meets(text.as_bytes()), !by_arrow(&text, &pattern));
            }
            None => prop_assert!(!pattern.contains('%')),
        }
    }
}

#[test]
fn start_and_end_do_not_share_letters() {
    let pattern = Pattern::parse("aba%ba", false).expect("a pattern");
    assert!(!pattern.meets(b"aba"));
    assert!(pattern.meets(b"ababa"));
}

#[test]
fn a_pattern_of_too_many_letters_is_left_to_others() {
    let long = "x".repeat(300);
    let pattern = Pattern::parse(&format!("%{long}%"), false).expect("a pattern");
    assert!(pattern.states().is_none());
}

#[test]
fn one_letter_for_any_and_escapes_are_not_for_it() {
    for pattern in ["a_%", "a\\%%", "a"] {
        assert!(Pattern::parse(pattern, false).is_none(), "{pattern}");
    }
}
