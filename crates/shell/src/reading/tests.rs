//! Statements are cut at the same places, however the text is cut into lines.

use super::pending::{Found, Pending};
use super::variables::Variables;

/// What is hard to cut: semicolons where they do not count.
const TEXT: &str = "select ';' || E'\\';' || $$;$$ || $a$ $$;$a$ as \";\" /* ; /* ; */ ; */ ; \
     select (1;2) --;\n; select x::int, a[1:2] from t where b = :v and c = :'v' ;";

fn cut(text: &str) -> Vec<String> {
    let mut variables = Variables::default();
    variables.set("v", "it's");
    let (mut pending, mut found) = (Pending::default(), Vec::new());
    for line in text.split_inclusive('\n') {
        let mut rest = line;
        while let Found::Statement(cut) = pending.read(&mut rest, &variables) {
            found.push(cut.text.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
    assert!(pending.is_empty(), "left: {}", pending.text());
    found
}

#[test]
fn semicolons_count_where_nothing_is_open() {
    let found = cut(TEXT);
    assert_eq!(found.len(), 3);
    assert!(found[0].ends_with("/* ; /* ; */ ; */"), "{}", found[0]);
    assert!(found[1].starts_with("select (1;2)"), "{}", found[1]);
    assert_eq!(found[2], "select x::int, a[1:2] from t where b = it's and c = 'it''s'");
}

#[test]
fn lines_may_end_at_any_blank() {
    let whole = cut(TEXT);
    for (at, _) in TEXT.match_indices(' ') {
        let broken = format!("{}\n{}", &TEXT[..at], &TEXT[at + 1..]);
        assert_eq!(cut(&broken), whole, "broken at {at}");
    }
}

#[test]
fn a_prompt_shows_what_is_open() {
    let variables = Variables::default();
    let mark = |text: &str| {
        let mut pending = Pending::default();
        let mut rest = text;
        pending.read(&mut rest, &variables);
        pending.mark()
    };
    let marks = [
        ("", '='),
        ("-- nothing", '='),
        ("select", '-'),
        ("select (1", '('),
        ("select 'a", '\''),
        ("select \"a", '"'),
        ("select $a$ b", '$'),
        ("select /* a", '*'),
        ("select 1;", '='),
    ];
    for (text, expected) in marks {
        assert_eq!(mark(text), expected, "{text}");
    }
}
