//! Empty directories on each medium for the databases of a run.
//!
//! A directory belongs to one case and vanishes with it. The process number is in the name, so
//! that a later run can remove what an interrupted one left behind. A medium that this machine
//! does not have is an error with a reason, which the run records and passes over.

use std::fs;
use std::path::{Path, PathBuf};

use lab_harness::machine::is_tmpfs;
use lab_harness::{Medium, Outcome};
use tempfile::TempDir;

const RAM_DISK: &str = "/dev/shm";
const PREFIX: &str = "remanent-lab-";

/// The places of a run.
pub(crate) struct Scratch {
    disk: PathBuf,
}

impl Scratch {
    /// Uses `out` as the disk, and removes what interrupted runs left.
    pub(crate) fn new(out: &Path) -> Outcome<Self> {
        fs::create_dir_all(out)?;
        let disk = out.canonicalize()?;
        for parent in [disk.as_path(), Path::new(RAM_DISK)] {
            remove_abandoned(parent);
        }
        Ok(Self { disk })
    }

    /// A new empty directory; none for a database in memory.
    pub(crate) fn directory(&self, medium: Medium) -> Outcome<Option<TempDir>> {
        let parent = match medium {
            Medium::Memory => return Ok(None),
            Medium::Ramdisk => Path::new(RAM_DISK),
            Medium::Disk => self.disk.as_path(),
        };
        match (medium, is_tmpfs(parent)) {
            (Medium::Ramdisk, Some(false) | None) => {
                return Err(format!("{RAM_DISK} is not a RAM disk on this machine").into());
            }
            (Medium::Disk, Some(true)) => {
                return Err("--out lies on a RAM disk: name a directory on a disk".into());
            }
            _ => {}
        }
        let prefix = format!("{PREFIX}{}-", std::process::id());
        Ok(Some(tempfile::Builder::new().prefix(&prefix).tempdir_in(parent)?))
    }
}

/// Removes directories whose process is gone; what cannot be removed stays.
fn remove_abandoned(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(rest) = name.to_str().and_then(|name| name.strip_prefix(PREFIX)) else {
            continue;
        };
        let Some(process) = rest.split('-').next().and_then(|id| id.parse::<u32>().ok()) else {
            continue;
        };
        if !Path::new(&format!("/proc/{process}")).exists() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
#[path = "scratch_tests.rs"]
mod tests;
