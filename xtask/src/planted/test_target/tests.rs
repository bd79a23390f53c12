//! What cargo and a test say is understood, and the packages are those of the script.

use std::path::Path;

use super::{TOGETHER, Target, failed, program};

#[test]
fn the_words_of_a_check_name_a_test() {
    assert!(Target::of("remanent-sql").is_err() && Target::of("a b c d").is_err());
    let target = Target::of("remanent-sql explain rows").expect("it is one");
    assert_eq!(
        (target.package, target.test, target.filter),
        ("remanent-sql", "explain", Some("rows"))
    );
}

#[test]
fn the_packages_are_those_of_the_script() {
    let script = include_str!("../../../all-tests.sh");
    assert!(script.contains(&format!("cargo test {} \"$@\"", TOGETHER.join(" "))), "{script}");
}

#[test]
fn what_cargo_and_a_test_say() {
    let one = "   Compiling a v0.1.0\n  Executable tests/explain.rs (/t/debug/deps/explain-12)\n";
    assert_eq!(program(one).as_deref(), Some(Path::new("/t/debug/deps/explain-12")));
    assert_eq!(program(&one.repeat(2)), None);
    assert_eq!(program(""), None);
    let text = "running 2 tests\ntest good ... ok\ntest bad ... FAILED\ntest worse ... FAILED\n";
    assert_eq!(failed(text), "`bad`");
    assert_eq!(failed("nothing that is known"), "fails");
}
