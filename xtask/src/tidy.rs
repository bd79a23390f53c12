//! `cargo xtask tidy`: the rules of style that a program can check.
//!
//! Every check is a file below `tidy/` with one function that reads the [`Project`] and reports
//! [`Finding`]s; a sibling test feeds it a bad sample, so that each is known to be able to fail.
//! There is no list of exceptions: what is allowed stands in `layers.toml`, with its reason.

mod finding;
mod layers;
mod masked;
mod module_graph;
mod packages;
mod project;
mod tree;

mod architecture;
mod ascii;
mod crate_layers;
mod file_length;
mod function_length;
mod header;
mod inline_tests;
mod large_files;
mod leftovers;
mod line_length;
mod links;
mod manifests;
mod markdown_title;
mod module_layers;
mod names;
mod path_pages;
mod reachable;
mod unsafe_code;
mod white_space;

#[cfg(test)]
mod sample;
#[cfg(test)]
mod tests;

use std::path::Path;

use crate::Outcome;
use finding::Finding;
use project::Project;
use tree::Tree;

type Check = fn(&Project, &mut Vec<Finding>);

const CHECKS: &[Check] = &[
    project::check_syntax,
    file_length::check,
    function_length::check,
    line_length::check,
    header::check,
    names::check,
    leftovers::check,
    white_space::check,
    ascii::check,
    inline_tests::check,
    unsafe_code::check,
    crate_layers::check,
    module_layers::check,
    reachable::check,
    manifests::check,
    path_pages::check,
    architecture::check,
    markdown_title::check,
    links::check,
    large_files::check,
];

/// Checks the working tree and prints what it finds.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Outcome {
    if let Some(argument) = arguments.first() {
        return Err(format!("takes no argument, got `{argument}`").into());
    }
    let project = Project::new(Tree::read(root)?)?;
    let findings = findings(&project);
    for finding in &findings {
        println!("{finding}");
    }
    if findings.is_empty() {
        println!("tidy: {} files, {} checks, nothing found", project.tree.len(), CHECKS.len());
        return Ok(());
    }
    Err(format!("{} findings", findings.len()).into())
}

fn findings(project: &Project) -> Vec<Finding> {
    let mut findings = Vec::new();
    for check in CHECKS {
        check(project, &mut findings);
    }
    findings.sort();
    findings.dedup();
    findings
}
