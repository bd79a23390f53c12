//! Small projects for the tests of the checks: one crate `a`, one layers file, what the test adds.
//!
//! A test names only the files its rule is about; the manifests are filled in when it names none.

use super::Check;
use super::project::Project;
use super::tree::Tree;

const WORKSPACE: &str = "[workspace]\nmembers = [\"crates/*\"]\n";
const MANIFEST: &str = "[package]\nname = \"a\"\n";

/// The project made of `files`.
pub(crate) fn project(files: &[(&str, &str)]) -> Project {
    let mut all = files.to_vec();
    for (path, text) in [("Cargo.toml", WORKSPACE), ("crates/a/Cargo.toml", MANIFEST)] {
        if files.iter().all(|(known, _)| *known != path) {
            all.push((path, text));
        }
    }
    Project::new(Tree::of(&all)).expect("a readable sample")
}

/// What one check says about the project made of `files`, in order of files and lines.
pub(crate) fn check(check: Check, files: &[(&str, &str)]) -> Vec<String> {
    let mut findings = Vec::new();
    check(&project(files), &mut findings);
    findings.sort();
    findings.iter().map(ToString::to_string).collect()
}

/// What one check says about `text` as the library of crate `a`, as `line: message`.
pub(crate) fn check_library(rule: Check, text: &str) -> Vec<String> {
    let findings = check(rule, &[("crates/a/src/lib.rs", text)]);
    findings.iter().map(|finding| finding.replacen("crates/a/src/lib.rs:", "", 1)).collect()
}
