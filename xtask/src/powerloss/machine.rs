//! What the machine must have, and how to get it.
//!
//! Everything that is missing is said at once, before anything is done.

use std::path::Path;
use std::process::{Command, Stdio};

use super::file_system::Kind;
use crate::outcome::Outcome;

/// Whether everything is there.
pub(super) fn check(kinds: &[Kind]) -> Outcome {
    let mut missing = Vec::new();
    if !is_root() {
        missing.push("to be root, which mounts".to_owned());
    }
    if !Path::new("/dev/loop-control").exists() {
        missing.push("loop devices: /dev/loop-control is not there; modprobe loop".to_owned());
    }
    let mut programs = vec![("mount", "mount"), ("umount", "mount"), ("xfs_io", "xfsprogs")];
    programs.extend(kinds.iter().map(|kind| (kind.maker(), kind.package())));
    for (program, package) in programs {
        if !is_there(program) {
            missing.push(format!("{program}: apt-get install -y {package}"));
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!("it needs\n  {}", missing.join("\n  ")).into())
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

fn is_there(program: &str) -> bool {
    let mut version = Command::new(program);
    version.arg("-V").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    version.status().is_ok()
}
