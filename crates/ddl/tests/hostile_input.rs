//! No input makes the parser panic, or run for long: random bytes, random tokens, mutations of
//! the samples; and schemas of a hundred thousand lines are read in time.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use remanent_ddl::{Dialect, ERRORS_MAX, Options, Source, parse};

const SAMPLES: [(&str, &str); 6] = [
    ("measure.mco", include_str!("samples/measure.mco")),
    ("measure.ddl", include_str!("samples/measure.ddl")),
    ("strings.ddl", include_str!("samples/strings.ddl")),
    ("testdb.ddl", include_str!("samples/testdb.ddl")),
    ("plant.mco", include_str!("samples/plant.mco")),
    ("stock.ddl", include_str!("samples/stock.ddl")),
];

const WORDS: &str = "declare database class struct enum record set data key file contains order \
    owner member by compound unique hash tree typedef const unsigned signed char long int short \
    string vector blob oid list autoid event new update first last ascending system timestamp a b \
    c Measure stuff 1 2 0 4294967296 1.5 \"x\" { } ; , < > [ ] ( ) = . - # #define #ifdef #endif \
    #include /* */ // \n \n ' \\ nullable optional decimal date varchar varbinary wchar_t";

/// Reads as either dialect; whatever comes out can be shown or printed and generated from.
fn survive(bytes: &[u8]) {
    for dialect in [Dialect::Mco, Dialect::D] {
        let options = Options { dialect: Some(dialect), char_bytes: false };
        match parse(&Source::new("any", bytes), &options) {
            Ok((schema, warnings)) => {
                let text = schema.to_text();
                let again = parse(&Source::new("again", text.as_str()), &options);
                let again = again.unwrap_or_else(|errors| panic!("{errors}\n{text}")).0;
                assert_eq!(again, schema, "{text}");
                let all = schema.to_c() + &schema.to_rust() + &schema.to_sql();
                assert!(!all.is_empty() && warnings.len() <= ERRORS_MAX);
            }
            Err(errors) => {
                assert!(!errors.0.is_empty() && errors.0.len() <= 2 * ERRORS_MAX);
                assert!(!errors.to_string().is_empty());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..Default::default()
    })]

    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        survive(&bytes);
    }

    #[test]
    fn random_text(text in "\\PC{0,400}") {
        survive(text.as_bytes());
    }

    #[test]
    fn random_tokens(picks in prop::collection::vec(any::<prop::sample::Index>(), 0..200)) {
        let words: Vec<&str> = WORDS.split(' ').filter(|word| !word.is_empty()).collect();
        let text: Vec<&str> = picks.iter().map(|pick| *pick.get(&words)).collect();
        survive(text.join(" ").as_bytes());
    }

    #[test]
    fn mutated_samples(
        sample in 0..SAMPLES.len(),
        edits in prop::collection::vec(
            (any::<prop::sample::Index>(), 0..6u8, any::<prop::sample::Index>()),
            1..6,
        ),
    ) {
        let mut tokens: Vec<String> =
            SAMPLES[sample].1.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_')
                .map(str::to_owned).collect();
        let words: Vec<&str> = WORDS.split(' ').filter(|word| !word.is_empty()).collect();
        for (place, kind, other) in edits {
            let at = place.index(tokens.len());
            match kind {
                0 => drop(tokens.remove(at)),
                1 => tokens.insert(at, format!(" {} ", other.get(&words))),
                2 => tokens[at] = format!(" {} ", other.get(&words)),
                3 => tokens.truncate(at.max(1)),
                4 => { let other = other.index(tokens.len()); tokens.swap(at, other); }
                _ => { let copy = tokens[at].clone(); tokens.insert(at, copy); }
            }
            if tokens.is_empty() { break; }
        }
        survive(tokens.concat().as_bytes());
    }
}

#[test]
fn nesting_without_end_is_an_error() {
    for text in [
        "vector<".repeat(100_000),
        format!("declare database d; class A {{ {}", "vector<".repeat(100_000)),
        format!("database d {{ record A {{ {}", "struct { ".repeat(100_000)),
        "{".repeat(100_000),
        "struct a { ".repeat(100_000),
        "#ifdef A\n".repeat(100_000),
        "(".repeat(100_000),
        format!("declare database d; class A {{ float a; tree<{}> t; }};", "a.".repeat(50_000)),
    ] {
        survive(text.as_bytes());
    }
}

/// A chain of structs: each has two of the one before. Fields double with each link.
#[test]
fn structs_that_double_are_an_error() {
    let mut text = String::from("declare database d;\nstruct S0 { float a; };\n");
    for n in 1..11 {
        text.push_str(&format!("struct S{n} {{ S{0} x; S{0} y; }};\n", n - 1));
    }
    let small = text.clone() + "class A { S10 s; };";
    assert!(parse(&Source::new("a.mco", small), &Options::default()).is_ok());
    for n in 11..200 {
        text.push_str(&format!("struct S{n} {{ S{0} x; S{0} y; }};\n", n - 1));
    }
    let errors = parse(&Source::new("a.mco", text + "class A { S199 s; };"), &Options::default());
    assert!(errors.unwrap_err().to_string().contains("nested too deeply"));
}

/// The time is linear in the text: generous bounds, which a quadratic step would break by far.
#[test]
fn a_hundred_thousand_lines_are_read_in_time() {
    let start = Instant::now();
    let mut mco = String::from("declare database d;\n");
    let mut d = String::from("database d {\n");
    for n in 0..9_999 {
        mco.push_str(&format!(
            "struct S{n} {{\n  float x;\n}};\nclass C{n} {{\n  S{n} s;\n  string t;\n  \
             unsigned<4> u;\n  tree<u, s.x> by_u;\n  nonunique hash<t> by_t[10];\n}};\n"
        ));
        d.push_str(&format!(
            "record r{n} {{\n  key long a{n};\n  char b[20];\n  char c[5];\n\n\
             compound key k{n} {{\n    a{n};\n    b;\n  }}\n}}\n"
        ));
    }
    d.push_str("}\n");
    assert!(mco.lines().count() > 99_000 && d.lines().count() > 99_000);
    let (schema, _) = parse(&Source::new("a.mco", mco), &Options::default()).expect("accepted");
    assert_eq!(schema.classes.len(), 9_999);
    let (schema, _) = parse(&Source::new("a.ddl", d), &Options::default()).expect("accepted");
    assert_eq!(schema.classes.len(), 9_999);
    assert!(start.elapsed() < Duration::from_secs(120), "{:?}", start.elapsed());
}

#[test]
fn long_lines_and_long_names_are_shown_shortly() {
    let text = format!("declare database d; class A {{ {} x; }};", "y".repeat(1_000_000));
    let errors = parse(&Source::new("a.mco", text), &Options::default()).unwrap_err();
    assert!(errors.to_string().len() < 2_000, "{}", errors.to_string().len());
}
