//! The crates, as crates.io would get them.
//!
//! They are packed, in the order in which they stand on each other, and not sent. That what is
//! packed compiles, CI sees from the same files.

use std::path::Path;
use std::process::Command;

use crate::outcome::Outcome;
use crate::process;

pub(super) fn make(root: &Path) -> Outcome {
    let mut publish = Command::new("cargo");
    publish.args(["publish", "--dry-run", "--workspace", "--no-verify", "--allow-dirty"]);
    process::run(publish.current_dir(root))
}
