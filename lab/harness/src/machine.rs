//! What the figures were measured on: one line about the machine, one word for the commit.
//!
//! Everything is read from `/proc` and `/sys`; what cannot be read is left out.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Processor, cores, memory, kernel and huge-page policy, in one line.
pub fn describe() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut parts = vec![processor(), format!("{cores} cores")];
    if let Some(kilobytes) = memory_kib() {
        parts.push(format!("{} GB", (kilobytes as f64 / 1024.0 / 1024.0).round()));
    }
    if let Some(kernel) = text("/proc/sys/kernel/osrelease") {
        parts.push(format!("Linux {kernel}"));
    }
    if let Some(policy) = text("/sys/kernel/mm/transparent_hugepage/enabled") {
        let chosen = policy.split(['[', ']']).nth(1).unwrap_or(&policy);
        parts.push(format!("huge pages {chosen}"));
    }
    parts.join(", ")
}

/// Whether a folder lies on a RAM disk; `None` if that cannot be told.
pub fn is_tmpfs(folder: &Path) -> Option<bool> {
    /// `TMPFS_MAGIC` of statfs(2).
    const TMPFS_MAGIC: u64 = 0x0102_1994;
    let kind = rustix::fs::statfs(folder).ok()?.f_type as u64;
    Some(kind == TMPFS_MAGIC)
}

/// How many processes wanted a core over the last minute, before the run began.
pub fn load() -> Option<f64> {
    text("/proc/loadavg")?.split_whitespace().next()?.parse().ok()
}

/// The commit this source tree is at, with a plus when files differ from it.
pub fn commit() -> String {
    let source = env!("CARGO_MANIFEST_DIR");
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(source).args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
        output.status.success().then_some(text)
    };
    let Some(hash) = git(&["rev-parse", "--short", "HEAD"]) else {
        return "unknown".to_owned();
    };
    match git(&["status", "--porcelain"]) {
        Some(changes) if changes.is_empty() => hash,
        _ => format!("{hash}+"),
    }
}

fn processor() -> String {
    let name = text("/proc/cpuinfo").and_then(|cpuinfo| {
        let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    name.unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

/// Memory that programs can have without anybody being pushed out.
pub fn available_bytes() -> Option<u64> {
    Some(meminfo_kib("MemAvailable:")? * 1024)
}

fn memory_kib() -> Option<u64> {
    meminfo_kib("MemTotal:")
}

fn meminfo_kib(name: &str) -> Option<u64> {
    let meminfo = text("/proc/meminfo")?;
    let line = meminfo.lines().find(|line| line.starts_with(name))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn text(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}
