//! A published crate has a licence and a description; every crate has the workspace's lints.
//!
//! `field.workspace = true` counts when the workspace has the field.

#[cfg(test)]
mod tests;

use toml::{Table, Value};

use super::finding::Finding;
use super::packages::{self, Package};
use super::project::Project;

pub(crate) fn check(project: &Project, findings: &mut Vec<Finding>) {
    let root = packages::manifest(&project.tree, "Cargo.toml").unwrap_or_default();
    let inherited = root.get("workspace").and_then(|workspace| workspace.get("package"));
    let inherited = inherited.and_then(Value::as_table).cloned().unwrap_or_default();
    for package in &project.packages {
        let mut report = |message: String| {
            findings.push(Finding::new(&package.manifest_path(), 1, message));
        };
        if package.is_published() {
            for field in ["license", "description"] {
                if !has_field(package, &inherited, field) {
                    report(format!("`{}` is published without `{field}`", package.name));
                }
            }
        }
        let lints = package.manifest.get("lints").and_then(|lints| lints.get("workspace"));
        if lints.and_then(Value::as_bool) != Some(true) {
            report(format!("`{}` lacks `[lints] workspace = true`", package.name));
        }
    }
}

fn has_field(package: &Package, inherited: &Table, field: &str) -> bool {
    let own = package.manifest.get("package").and_then(|table| table.get(field));
    let value = match own {
        Some(Value::Table(_)) => inherited.get(field),
        other => other,
    };
    value.and_then(Value::as_str).is_some_and(|text| !text.is_empty())
}
