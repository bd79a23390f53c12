//! What cargo and a test say is understood, and the packages are those of the script.

use std::path::Path;

use super::{TOGETHER, Target, failed, is_foreign, program};

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
    let script = include_str!("../../../sql-tests.sh");
    let packages = script.split("--package ").skip(1).filter_map(|rest| rest.split(' ').next());
    let packages: Vec<&str> = packages.map(|name| name.trim_matches('\'')).collect();
    assert_eq!(packages, TOGETHER);
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

#[test]
fn nothing_of_our_own_is_taken_over() {
    let is = |name: &str, is_library| is_foreign(Path::new(name), is_library);
    assert!(is("libarrow-12.rlib", true) && is("liblabel-12.rmeta", true) && is("libx-1.so", true));
    assert!(!is("libremanent_sql-12.rlib", true) && !is("liblab-1.rlib", true));
    assert!(!is("arrow-12.d", true) && !is("explain-12", true));
    assert!(is("arrow-12", false) && !is("remanent-sql-12", false) && !is("lab-12", false));
}
