//! LIKE on encoded text finds what a look at each letter finds.

mod world;

use remanent_engine::schema::ColumnType;
use remanent_exec::Evaluation;

use world::asked::{Asked, is_like, parse};
use world::check::check;
use world::columns::{Nulls, texts};
use world::random::Random;
use world::{Cell, World, encoding_of};

/// Patterns of pieces that columns of text have, and of some that none has.
fn pattern(random: &mut Random) -> String {
    let pieces = ["a", "ab", "aab", "é", "é ", "→", "parcel", "the", " was left", "1", "zz", ""];
    let count = random.below(5) as usize;
    let piece = |random: &mut Random| random.of(&pieces);
    let mut pattern = piece(random).to_owned();
    for _ in 0..count {
        pattern.push_str(random.of(&["%", "%%", "%%%%%%%%"]));
        pattern.push_str(piece(random));
    }
    pattern
}

#[test]
fn patterns_over_text_of_every_encoding() {
    for (seed, shape) in texts().iter().enumerate() {
        for nulls in [Nulls::No, Nulls::Some] {
            let world = shape.build(2_001, nulls, seed as u64);
            let mut random = Random(seed as u64 + 77);
            let drawn = (0..20).map(|_| pattern(&mut random));
            let given =
                ["%", "%%%%%%%%%%", "a%", "%a", "a%a", "%a%a%a%a%a%a%a%a%", "é%", "%\u{e8}%"];
            for pattern in given.into_iter().map(str::to_owned).chain(drawn) {
                for negated in [false, true] {
                    let has_wildcard = pattern.contains('%');
                    let asked = Asked::Like { pattern: pattern.clone(), negated };
                    let evaluation = check(&world, &asked, shape.name);
                    let is_value = shape.encoding == "constant" && nulls == Nulls::Some;
                    let is_coded = shape.encoding.starts_with("dictionary")
                        || shape.encoding == "constant" && nulls == Nulls::No;
                    let is_encoded = is_coded || has_wildcard && !is_value;
                    assert_eq!(evaluation != Evaluation::Decoded, is_encoded, "{pattern}");
                }
            }
        }
    }
}

/// Texts that come before others, and those that do not: values of the column, their beginnings,
/// what goes on behind them, and what is none.
#[test]
fn bounds_over_text_of_every_encoding() {
    for (seed, shape) in texts().iter().enumerate() {
        for nulls in [Nulls::No, Nulls::Some] {
            let world = shape.build(2_001, nulls, seed as u64);
            let mut random = Random(seed as u64 + 177);
            let drawn = (0..30).map(|at| {
                let Cell::Text(text) = random.of(&world.cells) else { return "m".to_owned() };
                let letters = random.below(text.chars().count() as u64 + 1) as usize;
                match at % 3 {
                    0 => text,
                    1 => text.chars().take(letters).collect(),
                    _ => {
                        text.chars().take(letters).collect::<String>() + random.of(&["a", "é", "~"])
                    }
                }
            });
            let drawn: Vec<String> = drawn.collect();
            let given = ["", "a", "\u{10ffff}", " "].map(str::to_owned);
            for text in given.into_iter().chain(drawn) {
                let less = Asked::Less(Cell::Text(text.clone()));
                for asked in [less.clone(), Asked::Not(Box::new(less))] {
                    let evaluation = check(&world, &asked, shape.name);
                    let is_value = shape.encoding == "constant" && nulls == Nulls::Some;
                    assert_eq!(evaluation == Evaluation::Decoded, is_value, "{text}");
                }
            }
        }
    }
}

#[test]
fn patterns_with_other_wildcards_and_escapes_are_left_to_the_caller() {
    for pattern in ["a_%", "_", "a\\%%", "%\\", "\\%", "a", "", "100\\%"] {
        assert!(parse(pattern, false).is_none(), "{pattern}");
        let shape = texts().into_iter().find(|shape| shape.encoding == "fsst").expect("symbols");
        let world = shape.build(2_001, Nulls::Some, 5);
        let asked = Asked::Like { pattern: pattern.to_owned(), negated: false };
        assert_eq!(check(&world, &asked, shape.name), Evaluation::Decoded);
    }
}

#[test]
fn a_pattern_too_long_for_an_automaton_is_left_to_the_caller() {
    let shape = texts().into_iter().find(|shape| shape.encoding == "fsst").expect("symbols");
    let world = shape.build(2_001, Nulls::No, 5);
    let asked =
        |len: usize| Asked::Like { pattern: format!("%{}%", "a".repeat(len)), negated: true };
    assert_eq!(check(&world, &asked(126), shape.name), Evaluation::Encoded);
    assert_eq!(check(&world, &asked(127), shape.name), Evaluation::Decoded);
    // Strings are searched for whatever is sought.
    let shape = texts().into_iter().find(|shape| shape.encoding == "strings 4").expect("strings");
    let world = shape.build(2_001, Nulls::No, 5);
    assert_eq!(check(&world, &asked(300), shape.name), Evaluation::Encoded);
}

#[test]
fn bytes_that_are_no_text_are_compared_as_bytes() {
    // Parts of letters, as symbols may cut them, and bytes that no text has.
    let bytes: [&[u8]; 7] =
        [b"", b"\xc3", b"\xa9", b"\xc3\xa9", b"\xff\xfea", b"\xc3\xa9\xc3", b"a\xc3\xa9\x80b"];
    for pattern in ["%", "é%", "%é", "%é%", "a%b", "%a%", "é%é"] {
        let parsed = parse(pattern, false).expect("a pattern");
        for text in bytes {
            let expected = is_like(text, pattern.as_bytes());
            assert_eq!(parsed.meets(text), expected, "{} like {pattern}", text.escape_ascii());
        }
    }
}

#[test]
fn start_and_end_do_not_share_letters() {
    let pattern = parse("aba%ba", false).expect("a pattern");
    assert!(!pattern.meets(b"aba") && pattern.meets(b"ababa"));
    let pattern = parse("%aba%aba%", true).expect("a pattern");
    assert!(pattern.meets(b"ababa") && !pattern.meets(b"abaaba"));
}

/// Texts that repeat their own beginnings, in symbols of several letters.
fn repetitive(random: &mut Random) -> World {
    let pieces = ["ab", "a", "b", "aab", "é", " said", "abab"];
    let asked = (0..800).map(|_| {
        let count = random.below(9);
        (0..count).map(|_| random.of(&pieces)).collect::<String>()
    });
    let mut texts: Vec<_> = asked.collect();
    // Bytes that come but once have no symbol of their own.
    texts.extend(["aQb".to_owned(), "abXab".to_owned(), "~".to_owned(), "a\u{1F600}b".to_owned()]);
    // What comes often becomes symbols.
    texts.extend((0..2000).map(|i| format!("abab said ab and a ba, then aab {i}")));
    World::new(ColumnType::STRING, texts.into_iter().map(Cell::Text).collect())
}

#[test]
fn parts_that_begin_again_within_themselves() {
    let mut random = Random(11);
    let world = repetitive(&mut random);
    world.show(|_, column| assert_eq!(encoding_of(column), "fsst"));
    let pieces =
        ["", "ab", "a", "b", "aab", "é", " s", "abaab", "aa", "ba", "Q", "X", "~", "\u{1F600}"];
    for round in 0..150 {
        let mut pattern = random.of(&pieces).to_owned();
        for _ in 0..1 + random.below(3) {
            pattern.push('%');
            pattern.push_str(random.of(&pieces));
        }
        let asked = Asked::Like { pattern, negated: round % 2 == 0 };
        let evaluation = check(&world, &asked, "symbols");
        assert_eq!(evaluation, Evaluation::Encoded);
    }
}
