//! No file in the repository is larger than 512 KiB.
//!
//! History never forgets a large file. Data is generated; results of measurements are written
//! below `target/`.

#[cfg(test)]
mod tests;

use crate::tidy::finding::Finding;
use crate::tidy::project::Project;

const BYTES_MAX: u64 = 512 * 1024;

pub(crate) fn check(project: &Project, findings: &mut Vec<Finding>) {
    for source in project.tree.files().filter(|source| source.size_bytes > BYTES_MAX) {
        let message = format!("{} bytes, more than {BYTES_MAX}", source.size_bytes);
        findings.push(Finding::new(&source.path, 1, message));
    }
}
