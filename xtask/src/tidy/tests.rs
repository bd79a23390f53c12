//! The tree itself is tidy: the same run as `cargo xtask tidy`, as a test.

use super::{Project, Tree, findings};

#[test]
fn the_working_tree_is_tidy() {
    let tree = Tree::read(&crate::workspace_root()).expect("a git repository");
    let project = Project::new(tree).expect("readable manifests and layers");
    let findings: Vec<String> = findings(&project).iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
}
