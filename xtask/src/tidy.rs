//! `cargo xtask tidy`: the rules of style that a program can check.
//!
//! Every check is a file below `tidy/` with one function that reads the [`Project`] and reports
//! [`Finding`]s; a sibling test feeds it a bad sample, so that each is known to be able to fail.
//! There is no list of exceptions: what is allowed stands in `layers.toml`, with its reason; counts
//! that are to fall stand in `ratchet.toml`.

mod finding;
mod layers;
mod module_graph;
mod packages;
mod project;
mod tree;

mod crate_layers;
mod documents;
mod manifests;
mod module_layers;
mod planted_bugs;
mod ratchet;
mod reachable;
mod text;
mod unsafe_code;
mod words;

#[cfg(test)]
mod sample;

use std::path::Path;

use crate::outcome::Outcome;
use finding::Finding;
use project::Project;
use tree::Tree;

type Check = fn(&Project, &mut Vec<Finding>);

const CHECKS: &[Check] = &[
    project::check_syntax,
    text::file_length::check,
    text::function_length::check,
    text::line_length::check,
    text::header::check,
    text::names::check,
    text::leftovers::check,
    text::white_space::check,
    text::ascii::check,
    text::inline_tests::check,
    unsafe_code::check,
    unsafe_code::exported_names::check,
    crate_layers::check,
    module_layers::check,
    reachable::check,
    ratchet::check,
    manifests::check,
    planted_bugs::check,
    documents::path_pages::check,
    documents::architecture::check,
    documents::book::check,
    documents::markdown_title::check,
    documents::links::check,
    documents::glossary::check,
    documents::format_numbers::check,
    text::large_files::check,
    words::check,
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
