//! The texts are those of the specification, which the generator of the data has with places for
//! parameters.

use super::*;

/// Words and signs of a text without white space and comments, in lower case.
fn words(text: &str) -> String {
    let lines = text.lines().map(|line| line.split("--").next().unwrap_or_default());
    let text: String = lines.collect::<Vec<_>>().join(" ");
    let text = text.replace(';', " ").to_lowercase();
    text.split_whitespace().collect::<Vec<_>>().concat()
}

/// What lies between the places for parameters, `:1` and so on.
fn pieces(template: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut letters = template.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == ':' {
            while letters.next_if(char::is_ascii_digit).is_some() {}
            pieces.push(String::new());
        } else if let Some(piece) = pieces.last_mut() {
            piece.push(letter);
        }
    }
    pieces
}

#[test]
fn the_texts_are_those_of_the_specification() {
    // Query 15 is written with a view there, which the specification lets one write so.
    for number in (1..=TPCH_COUNT).filter(|&number| number != 15) {
        let Some(bundled) = tpchgen::q_and_a::queries::query(number as i32) else {
            panic!("query {number} is not bundled");
        };
        let mut ours = words(&tpch(number, 1.0).text);
        if number == 18 {
            // The specification has no name for its last column.
            ours = ours.replace("assum_qty", "");
        }
        let mut rest = ours.as_str();
        for piece in pieces(&words(bundled).replace("day(3)", "day")) {
            let Some(at) = rest.find(&piece) else {
                panic!("query {number}: {piece} is not in {rest}");
            };
            rest = &rest[at + piece.len()..];
        }
    }
}

#[test]
fn the_share_of_query_11_depends_on_the_scale() {
    assert!(tpch(11, 1.0).text.contains("* 0.0001000000"));
    assert!(tpch(11, 0.01).text.contains("* 0.0100000000"));
    assert!((1..=TPCH_COUNT).all(|number| !tpch(number, 1.0).text.contains('{')));
}

#[test]
fn shapes_have_numbers_one_after_the_other() {
    let shapes = shapes();
    assert_eq!(shapes.len(), include_str!("../../../shapes/queries.sql").matches("-- ").count());
    assert!(shapes.iter().zip(1..).all(|(query, number)| query.number == number));
    assert!(shapes.iter().all(|query| query.text.starts_with("select ")));
}
