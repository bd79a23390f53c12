//! What is wrong is said in so many words, at its place, with what to write instead.

use remanent_ddl::{Diagnostics, Options, Source, parse};

fn refused(name: &str, text: &str) -> Diagnostics {
    match parse(&Source::new(name, text), &Options::default()) {
        Ok(_) => panic!("accepted: {text}"),
        Err(errors) => errors,
    }
}

/// Each line: the schema, what the first error's text has to contain, its line and column.
fn check(name: &str, cases: &[(&str, &str, usize, usize)]) {
    for (text, words, line, column) in cases {
        let errors = refused(name, text);
        let first = &errors.0[0];
        let shown = first.to_string();
        assert!(shown.contains(words), "{text}\n{shown}");
        let location = first.location.as_ref().expect("it has a location");
        assert_eq!((location.line, location.column), (*line, *column), "{text}\n{shown}");
        assert!(shown.contains(&format!("{name}:{line}:{column}")), "{shown}");
        assert!(first.hint.is_some(), "{text}\n{shown}");
    }
}

#[test]
fn mco_style() {
    let d = "declare database d;\n";
    let whole = |text: &str| format!("{d}{text}");
    let cases = [
        ("class A { uint4 a; };", "#define uint4 unsigned<4>", 2, 11),
        ("class A { Strin a; };", "write `string`", 2, 11),
        ("class A { string a; string a; };", "the name `a` is taken", 2, 28),
        ("class A { float a; };\nclass A { float a; };", "there is a class", 3, 7),
        ("struct S { S s; }; class A { S s; };", "contains itself", 2, 12),
        ("struct S { T t; };\nstruct T { S s; }; class A { S s; };", "contains itself", 3, 12),
        ("class A { float a; tree<b> t; };", "has no field `b`", 2, 25),
        ("class A { float alpha; tree<alhpa> t; };", "write `alpha`", 2, 29),
        ("struct S { float x; }; class A { S s; tree<s> t; };", "write `s.x`", 2, 44),
        ("class A { blob a; tree<a> t; };", "cannot be a key", 2, 24),
        ("class A { float a; tree<a, a> t; };", "stands twice", 2, 28),
        ("class A { float a; hash<a> t; };", "t[10000]", 2, 28),
        ("class A { float a; rtree<a> t; };", "not supported", 2, 20),
        ("class A { string a; patricia<a> t; };", "MCO_GE", 2, 21),
        ("class A { string a; userdef tree<a> t; };", "not supported", 2, 21),
        ("class A { string a; tree<a collate c> t; };", "not supported", 2, 28),
        ("class A { unsigned<3> a; };", "unsigned<1>", 2, 20),
        ("class A { char<0> a; };", "out of range", 2, 16),
        ("class A { char<70000> a; };", "out of range", 2, 16),
        ("class A { decimal<40,2> a; };", "1 to 38", 2, 19),
        ("class A { rect<float> a; };", "struct of its corners", 2, 11),
        ("class A { sequence<float> a; };", "vector", 2, 11),
        ("class A { string a[3]; };", "vector<string>", 2, 18),
        ("class A { string a = \"x\"; };", "texts have no defaults", 2, 22),
        ("class A { unsigned<1> a = 300; };", "a value that the field's type can hold", 2, 23),
        ("class A { float a; oid; };", "none is declared", 2, 7),
        ("class A { ref a; };", "needs a declared object id", 2, 15),
        ("declare oid S[5]; class A { float a; };", "there is no struct `S`", 2, 13),
        ("class A { float int; };", "is a word of C", 2, 17),
        ("class new { float a; };", "is a word of C", 2, 7),
        ("class A { float rem_a; };", "names of the runtime", 2, 17),
        ("class A { };", "has no fields", 2, 7),
        ("class A { float a };", "expected `;`", 2, 19),
        ("class A { float a; }", "write `};`", 2, 21),
        ("clas A { float a; };", "write `class`", 2, 1),
        ("class A { float a; event<a> e; };", "kind of event", 2, 26),
        ("declare database e; class A { float a; };", "a second database", 2, 18),
        ("class A { float a; event<new> e; };\nclass B { float b; event<new> e; };", "mco_", 3, 31),
        ("record A { long a; }", "d_-style", 2, 1),
    ];
    let texts: Vec<String> = cases.iter().map(|(text, ..)| whole(text)).collect();
    let cases: Vec<_> = cases
        .iter()
        .zip(&texts)
        .map(|((_, words, line, column), text)| (text.as_str(), *words, *line, *column))
        .collect();
    check("a.mco", &cases);
    // Names that generated code puts together may meet.
    let clash = whole("class A { float b_x; };\nclass A_b { float x; };");
    let errors = refused("a.mco", &clash);
    assert!(errors.0[0].message.contains("two things named `A_b_x_put`"), "{errors}");
}

#[test]
fn circular_records() {
    let whole = |size: &str, rest: &str| {
        format!("database d {{ data file \"x\" {size} contains A;\ncircular record A {rest} }}")
    };
    let is_in = "{ long a; }\nset s { order last; owner A; member A; }";
    let cases = [
        (whole("", "{ long a; }"), "maxslots = 1000", 17),
        (whole("maxslots = 0", "{ long a; }"), "maxslots = 1000", 17),
        (whole("maxslots = 2", is_in), "in the set `s`", 17),
        (whole("maxslots = 2", "{ long circular; }"), "a field of this name", 26),
        (whole("maxslots = 2", "{ compound key circular { a; } long a; }"), "of its own", 34),
    ];
    for (text, words, column) in &cases {
        check("d.ddl", &[(text, words, 2, *column)]);
    }
}

#[test]
fn d_style() {
    let cases = [
        ("record A { long a; }", "outside of a database", 1, 1),
        ("database d { record A { lnog a; } }", "write `long`", 1, 25),
        ("database d { record A { long a; long a; } }", "the name `a` is taken", 1, 38),
        ("database d { record A { compound key k { a; } long b; } }", "has no field `a`", 1, 42),
        ("database d { record A { key struct { long a; } s; } }", "compound key", 1, 25),
        ("database d { record A { key int x[3]; } }", "cannot be a key", 1, 33),
        ("database d { record A { int x[0]; } }", "0 is no size", 1, 31),
        ("database d { record A { int x[N]; } }", "#define N 100", 1, 31),
        ("database d { record A { char x[70000]; } }", "too many", 1, 30),
        ("database d { record A { int x[1][1][1][1]; } }", "three dimensions", 1, 39),
        ("database d { record A { varchar x; } }", "varchar name[100]", 1, 33),
        ("struct s { struct s a; }; database d { record A { struct s x; } }", "itself", 1, 19),
        ("database d { record A { struct t x; } }", "no struct `t`", 1, 32),
        ("database d { data file \"x\" contains B; record A { long a; } }", "no record `B`", 1, 37),
        ("database d { key file \"x\" contains b; record A { key long a; } }", "no key `b`", 1, 36),
        ("database d { record A { long a; } set s { order last; owner A; } }", "no member", 1, 39),
        ("database d { record A { long a; } set s { owner A; member A; } }", "no order", 1, 39),
        ("database d { record A { long a; } set s { order lst; owner A; } }", "no order", 1, 49),
        (
            "database d { record A { long a; } set s { order last; owner B; member A; } }",
            "no record `B`",
            1,
            61,
        ),
        (
            "database d { record A { long a; } set s { order last; owner A; member A by a; } }",
            "is not sorted",
            1,
            71,
        ),
        (
            "database d { record A { long a; } set s { order asc; owner A; member A; } }",
            "write `by`",
            1,
            70,
        ),
        (
            "database d { record A { long a; } set s { order asc; owner A; member A by b; } }",
            "no field `b`",
            1,
            75,
        ),
        (
            "database d { record A { long a; } record B { int b; } set s { order asc; owner A; \
          member A by a; member B by b; } }",
            "different types",
            1,
            105,
        ),
        ("database d { record A { float int; } }", "is a word of C", 1, 31),
        ("database d { record A { long new; } }", "is a word of C", 1, 30),
        ("database d { record Ab { long a; } record aB { int b; } }", "small letters", 1, 43),
        ("database d { record A { long a; }", "never closed", 1, 34),
        ("class A { float a; };", "mco-style", 1, 1),
    ];
    check("a.ddl", &cases);
}

#[test]
fn several_errors_come_in_one_run() {
    let text = "declare database d;\nclass A {\n  float a\n  uint3 b;\n  tree<> t;\n};\n\
                clas B {};\nclass C { event<foo> e; };\n";
    let errors = refused("a.mco", text);
    let lines: Vec<usize> =
        errors.0.iter().filter_map(|e| e.location.as_ref()).map(|p| p.line).collect();
    assert_eq!(lines, [4, 5, 7, 8]);
}

/// A statement that lacks its `;` ends where the next line begins another one.
#[test]
fn a_forgotten_semicolon_hides_nothing() {
    let errors = refused("a.mco", "declare database d;\nclass A {\n  float a\n  tree<> t;\n};");
    let locations = errors.0.iter().filter_map(|error| error.location.as_ref());
    let locations: Vec<_> = locations.map(|at| (at.line, at.column)).collect();
    assert_eq!(locations, [(4, 3), (4, 8)]);
}

#[test]
fn an_error_shows_its_line_with_a_caret() {
    let errors = refused("a.mco", "declare database d;\nclass A { uint5 a; };\n");
    let expected = [
        "error: there is no type `uint5`",
        " --> a.mco:2:11",
        "  |",
        "2 | class A { uint5 a; };",
        "  |           ^^^^^",
        "  |",
        "  = help: declare `struct uint5 { .. };`",
    ];
    assert_eq!(errors.0[0].to_string(), expected.join("\n"));
}

#[test]
fn records_in_no_file_are_warned_of() {
    let text =
        "database d { data file \"x\" contains Rec; record Rec { long a; } record Two { int b; } }";
    let (_, warnings) = parse(&Source::new("a.ddl", text), &Options::default()).expect("accepted");
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].message.contains("`Two` is in no data file"));
}
