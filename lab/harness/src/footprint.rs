//! How many bytes a database holds, as the operating system sees it.
//!
//! Bytes held = growth of the process's anonymous memory + blocks of the database's files. The
//! memory of a mapped file is in its blocks and is not counted twice. A database without files
//! may also use shared anonymous memory, which is then counted. Page tables are not counted,
//! for anybody. Read outside the clock: the kernel walks every page of the process for it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::setting::Outcome;

/// The bytes held when a measurement began.
#[derive(Clone, Debug)]
pub struct Footprint {
    directory: Option<PathBuf>,
    memory_bytes: u64,
}

impl Footprint {
    /// Takes the present as the zero; `directory` is where the database's files will be.
    ///
    /// # Errors
    ///
    /// When `/proc` cannot be read.
    pub fn begin(directory: Option<&Path>) -> Outcome<Self> {
        let mut zero = Self { directory: directory.map(Path::to_path_buf), memory_bytes: 0 };
        // The first reading pays for buffers of its own; only the second is the zero.
        for _ in 0..2 {
            zero.memory_bytes = zero.memory()?;
        }
        Ok(zero)
    }

    /// Bytes held since `begin`, in memory and in files.
    ///
    /// # Errors
    ///
    /// When `/proc` or the directory cannot be read.
    pub fn held_bytes(&self) -> Outcome<u64> {
        let files = match &self.directory {
            Some(directory) => file_bytes(directory)?,
            None => 0,
        };
        Ok(self.memory()?.saturating_sub(self.memory_bytes) + files)
    }

    fn memory(&self) -> Outcome<u64> {
        let rollup = fs::read_to_string("/proc/self/smaps_rollup")?;
        let anonymous = field_bytes(&rollup, "Anonymous:").ok_or("no Anonymous in smaps_rollup")?;
        let shared = match self.directory {
            Some(_) => 0,
            None => field_bytes(&rollup, "Pss_Shmem:").unwrap_or(0),
        };
        Ok(anonymous + shared)
    }
}

/// The most that was ever resident in this process, pages of mapped files among it.
///
/// # Errors
///
/// When `/proc` cannot be read.
pub fn resident_peak_bytes() -> Outcome<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    field_bytes(&status, "VmHWM:").ok_or_else(|| "no VmHWM in status".into())
}

/// Lets the peak of resident memory begin anew, where the kernel lets one.
pub fn forget_resident_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// The value of a `Name:   123 kB` line.
fn field_bytes(rollup: &str, name: &str) -> Option<u64> {
    let line = rollup.lines().find(|line| line.starts_with(name))?;
    let kilobytes: u64 = line[name.len()..].trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// The blocks of all files below a directory.
fn file_bytes(directory: &Path) -> Outcome<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes +=
            if metadata.is_dir() { file_bytes(&entry.path())? } else { metadata.blocks() * 512 };
    }
    Ok(bytes)
}

#[cfg(test)]
#[path = "footprint_tests.rs"]
mod tests;
