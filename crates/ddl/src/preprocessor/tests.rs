//! Macros, conditions and included files; and that nothing makes the preprocessor run for long.

use std::collections::HashMap;

use super::{Preprocessed, preprocess};
use crate::diagnostic::{Diagnostic, Reporter};
use crate::lexer::Kind;
use crate::source::{Resolver, Source};

/// Files by name.
struct Files(HashMap<&'static str, String>);

impl Resolver for Files {
    fn resolve(&mut self, name: &str, _including: &str) -> Result<Source, String> {
        let text = self.0.get(name).ok_or("there is none")?;
        Ok(Source::new(name, text.as_str()))
    }
}

fn run(text: &str, files: &[(&'static str, &str)]) -> (Preprocessed, Vec<Diagnostic>) {
    let mut files = Files(files.iter().map(|(name, text)| (*name, (*text).to_owned())).collect());
    let mut reporter = Reporter::default();
    let output = preprocess(&Source::new("main", text), &mut files, &mut reporter);
    let errors = reporter.finish().err().map_or(Vec::new(), |errors| errors.0);
    (output, errors)
}

fn words(text: &str, files: &[(&'static str, &str)]) -> String {
    let (output, errors) = run(text, files);
    assert!(errors.is_empty(), "{errors:?}");
    let words = output.tokens.iter().filter(|token| token.kind != Kind::End);
    words.map(|token| token.kind.describe().replace('`', "")).collect::<Vec<_>>().join(" ")
}

#[test]
fn macros_stand_for_what_they_stand_for() {
    assert_eq!(words("#define u4 unsigned<4>\n#define x u4\nx a; y", &[]), "unsigned < 4 > a ; y");
    assert_eq!(words("#define A B\n#define B A\nA B", &[]), "A B");
    assert_eq!(words("#define A 1\n#undef A\nA", &[]), "A");
    assert_eq!(words("#define E\nE a E", &[]), "a");
}

#[test]
fn conditions_leave_out_what_they_should() {
    let text = "#define A\n#ifdef A\na\n#else\nb don't\n#endif\n#ifndef A\nc\n#if 1\n#else\n\
                #endif\n#else\nd\n#endif";
    assert_eq!(words(text, &[]), "a d");
}

#[test]
fn constants_are_passed_on_in_order() {
    let text = "#define B 5\n#define A (-B)\n#define T unsigned<4>\n#define G 1\n#undef G\n";
    let (output, _) = run(text, &[]);
    // A is minus something that is a macro itself.
    let constants: Vec<_> = output.constants.iter().map(|(n, v, _)| (&**n, *v)).collect();
    assert_eq!(constants, [("B", 5), ("A", -5)]);
}

#[test]
fn files_are_included_and_places_name_them() {
    assert_eq!(
        words("#include \"a\"\nx", &[("a", "#include \"b\"\nA"), ("b", "#define A 7")]),
        "7 x"
    );
    let (_, errors) = run("#include \"a\"\n", &[("a", "\n  #nonsense\n")]);
    let location = errors[0].location.as_ref().expect("it has a location");
    assert_eq!((location.file.as_str(), location.line, location.column), ("a", 2, 3));
}

#[test]
fn what_is_wrong_is_said() {
    let cases = [
        ("#define F(x) x\n", "the macro `F` has parameters"),
        ("#include \"a\"\n", "`a` includes itself"),
        ("#include \"none\"\n", "`none` cannot be included"),
        ("#ifdef A\n", "this condition is never closed"),
        ("#endif\n", "`#endif` without `#ifdef`"),
        ("#if A\n#endif\n", "`#if` is not known in schemas"),
        ("#defin A 1\n", "`#defin` is not known in schemas"),
        ("#define\n", "a macro's name is missing here"),
        ("#error no\n", "#error `no`"),
        ("#pragma remanent what\n", "this pragma is not known"),
        ("a /* b", "a comment is never closed: write `*/` at its end"),
    ];
    for (text, message) in cases {
        let (_, errors) = run(text, &[("a", "#include \"a\"\n")]);
        assert_eq!(errors.first().map(|error| error.message.as_str()), Some(message), "{text}");
        assert!(errors[0].location.is_some(), "{text}");
    }
}

/// Each macro stands for two of the one before, the first for nothing: sixty of them would take
/// longer than anybody waits. It ends with an error instead.
#[test]
fn macros_that_double_end_with_an_error() {
    for seed in ["", "x"] {
        let mut text = format!("#define A0 {seed}\n");
        for n in 1..60 {
            text.push_str(&format!("#define A{n} A{0} A{0}\n", n - 1));
        }
        let (output, errors) = run(&(text + "A59"), &[]);
        assert_eq!(errors[0].message, "macros write more than a schema can hold");
        assert!(output.tokens.len() <= 9_000_000);
    }
}

#[test]
fn files_that_include_each_other_twice_end_with_an_error() {
    let names = ["f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9", "fa", "fb"];
    let mut files = Vec::new();
    let texts: Vec<String> = names
        .windows(2)
        .map(|pair| format!("#include \"{0}\"\n#include \"{0}\"\n", pair[1]))
        .collect();
    files.extend(names.iter().zip(&texts).map(|(name, text)| (*name, text.as_str())));
    files.push(("fb", "x"));
    let (_, errors) = run("#include \"f0\"\n", &files);
    assert_eq!(errors[0].message, "the schema is too large");
}

#[test]
fn a_file_that_is_no_text_is_refused_once() {
    let (_, errors) = run("a\0b", &[]);
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].message, "`main` is not a text file");
}
