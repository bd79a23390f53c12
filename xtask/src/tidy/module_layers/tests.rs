//! Arrows that point upwards are found, whichever way the path is written.

use super::super::{layers, sample};
use super::check;

const LAYERS: &str = "[modules.a]\nerror = []\nmemory = [\"error\"]\n\
    table = [\"error\", \"memory\", \"transaction::clock\"]\n\
    transaction = [\"table\"]\n\"transaction::clock\" = [\"error\"]\n";
const ROOT: &str = "mod error;\nmod memory;\nmod table;\nmod transaction;\n\
    pub use error::Error;\npub use transaction::{Transaction, clock::Time as Moment};\n";

/// What is said about the file `place` when it has this text.
fn findings(place: &str, text: &str) -> Vec<String> {
    let place = format!("crates/a/src/{place}");
    let mut files = vec![
        ("crates/a/src/lib.rs", ROOT),
        ("crates/a/src/error.rs", ""),
        ("crates/a/src/memory.rs", ""),
        ("crates/a/src/table.rs", "mod row; #[cfg(test)] mod tests;"),
        ("crates/a/src/table/row.rs", ""),
        ("crates/a/src/table/tests.rs", ""),
        ("crates/a/src/transaction.rs", "mod clock; mod commit;"),
        ("crates/a/src/transaction/clock.rs", ""),
        ("crates/a/src/transaction/commit.rs", ""),
        ("xtask/layers.toml", LAYERS),
    ];
    files.retain(|(path, _)| *path != place);
    files.push((&place, text));
    let mut found = sample::check(check, &files);
    // Each test has few of the edges.
    found.retain(|line| !line.contains("does not use"));
    found.iter().map(|line| line.replacen("crates/a/src/", "", 1)).collect()
}

#[test]
fn downwards_is_free() {
    assert!(findings("memory.rs", "use crate::error::Error;\nuse std::fmt;").is_empty());
    assert!(findings("table/row.rs", "use crate::{error, memory::{self, X}};").is_empty());
    assert!(findings("table/row.rs", "use super::X; use crate::table::Y;").is_empty());
    assert!(findings("table/row.rs", "use crate::transaction::clock::Time;").is_empty());
}

#[test]
fn upwards_is_found() {
    let expected = ["memory.rs:2: module `memory` may not use `table::Row`"];
    assert_eq!(findings("memory.rs", "\nuse crate::table::Row;"), expected);
    assert_eq!(findings("memory.rs", "\nfn a(row: &super::table::Row) {}"), expected);
    assert_eq!(findings("memory.rs", "\nuse crate::{error::Error, table::{Row}};"), expected);
    assert_eq!(
        findings("memory.rs", "\nuse crate::{\n    table::Row\n};"),
        ["memory.rs:3: module `memory` may not use `table::Row`"]
    );
    assert_eq!(findings("memory.rs", "\nfn a() { assert!(crate::table::Row); }"), expected);
}

#[test]
fn an_inner_module_is_resolved() {
    let text = "mod inner { use super::super::table; use super::x; }";
    let expected = ["memory.rs:1: module `memory` may not use `table`"];
    assert_eq!(findings("memory.rs", text), expected);
    let expected = ["table/row.rs:1: module `table` may not use `transaction::commit`"];
    assert_eq!(findings("table/row.rs", "use super::super::transaction::commit;"), expected);
}

#[test]
fn a_listed_submodule_stands_for_itself() {
    let expected =
        ["transaction/clock.rs:1: module `transaction::clock` may not use `transaction::commit`"];
    assert_eq!(findings("transaction/clock.rs", "use super::commit;"), expected);
    let expected = ["transaction/clock.rs:1: module `transaction::clock` may not use `table`"];
    assert_eq!(findings("transaction/clock.rs", "use crate::table;"), expected);
}

#[test]
fn names_of_the_root_count_as_their_module() {
    assert!(findings("table.rs", "mod row; use crate::{Error, Moment};").len() <= 1);
    let expected = ["memory.rs:1: module `memory` may not use `transaction::Transaction`"];
    assert_eq!(findings("memory.rs", "use crate::Transaction;"), expected);
    let expected = ["memory.rs:1: module `memory` may not use `transaction::clock::Time`"];
    assert_eq!(findings("memory.rs", "use crate::Moment;"), expected);
}

#[test]
fn everything_at_once_is_found() {
    let expected = ["memory.rs:1: module `memory` may not use `every module at once`"];
    assert_eq!(findings("memory.rs", "use crate::*;"), expected);
}

#[test]
fn tests_are_free() {
    assert!(findings("table/tests.rs", "use crate::transaction::Transaction;").is_empty());
}

#[test]
fn the_list_itself_is_checked() {
    let root = ("crates/a/src/lib.rs", "mod b;");
    let file = ("crates/a/src/b.rs", "use crate::c;");
    let circle = "[modules.a]\nb = [\"c\"]\nc = [\"b\"]\n";
    let found = sample::check(check, &[root, file, ("xtask/layers.toml", circle)]);
    let expected = [
        "xtask/layers.toml:1: `a` has no module `c`",
        "xtask/layers.toml:1: `a` has no module `c`",
        "xtask/layers.toml:1: `c` of `a` does not use `b`",
        "xtask/layers.toml:1: the edges of `a` lead from `b` back to itself",
        "xtask/layers.toml:1: the edges of `a` lead from `c` back to itself",
    ];
    assert_eq!(found, expected);
    let none = "[modules.a]\n";
    let found = sample::check(check, &[root, file, ("xtask/layers.toml", none)]);
    assert_eq!(found, ["crates/a/src/b.rs:1: module `b` is missing in xtask/layers.toml"]);
}

#[test]
fn an_edge_that_nobody_needs_is_found() {
    let root = ("crates/a/src/lib.rs", "mod b;\nmod c;\n#[cfg(test)]\nmod tests;");
    let files = |b: &'static str, edges: &'static str| {
        let tests = ("crates/a/src/tests.rs", "use crate::b;");
        [root, ("crates/a/src/b.rs", b), ("crates/a/src/c.rs", ""), tests, (layers::PATH, edges)]
    };
    let found = |b, edges| sample::check(check, &files(b, edges));
    let used = "[modules.a]\nc = []\nb = [\"c\"]\n";
    assert!(found("use crate::c::C;", used).is_empty());
    assert_eq!(found("", used), ["xtask/layers.toml:1: `b` of `a` does not use `c`"]);
    assert!(found("", "[modules.a]\nc = []\nb = [\"*\"]\n").is_empty());
}

#[test]
fn a_module_hides_another_that_stands_for_it() {
    let root = "#[cfg(x)] mod c;\n#[cfg(not(x))] mod d;\nmod b;\n#[cfg(not(x))]\nuse d as c;";
    let root = ("crates/a/src/lib.rs", root);
    let files = [("crates/a/src/c.rs", ""), ("crates/a/src/d.rs", "")];
    let edges = (layers::PATH, "[modules.a]\nc = []\nd = []\nb = [\"c\"]\n");
    let found = [root, ("crates/a/src/b.rs", "use crate::c::C;"), files[0], files[1], edges];
    assert!(sample::check(check, &found).is_empty());
}

#[test]
fn a_crate_of_many_modules_needs_a_list() {
    let root = |count: usize| (0..count).map(|at| format!("mod m{at};\n")).collect::<String>();
    let paths: Vec<String> = (0..9).map(|at| format!("crates/a/src/m{at}.rs")).collect();
    let found = |count: usize, layers: &str| {
        let root = root(count);
        let mut files = vec![("crates/a/src/lib.rs", root.as_str()), (layers::PATH, layers)];
        files.extend(paths[..count].iter().map(|path| (path.as_str(), "")));
        sample::check(check, &files)
    };
    assert!(found(8, "").is_empty());
    assert_eq!(found(9, ""), ["xtask/layers.toml:1: `a` has 9 modules and no list of them"]);
    let excuse = "[unlisted]\na = \"they are taken apart\"\n";
    assert!(found(9, excuse).is_empty());
    let listed: String = (0..9).map(|at| format!("m{at} = []\n")).collect();
    let listed = format!("[modules.a]\n{listed}");
    assert!(found(9, &listed).is_empty());
    let expected = ["xtask/layers.toml:1: `a` has a list of its modules, or is no crate"];
    assert_eq!(found(9, &format!("{excuse}{listed}")), expected);
}
