//! A file system in a file: made, mounted, shut down as if the power had gone, mounted again.
//!
//! Whatever happens, dropping it unmounts it and removes the file. A mount that an earlier run has
//! left, since it was killed, is removed before a new one is made.

use std::error::Error;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Bytes of the file; XFS takes no less than 300 MiB.
const SIZE: u64 = 512 << 20;
/// How often unmounting is tried while something still uses it.
const ATTEMPTS: u32 = 50;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Which file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Ext4,
    Xfs,
}

impl Kind {
    pub(super) const ALL: [Self; 2] = [Self::Ext4, Self::Xfs];

    pub(super) fn parse(name: &str) -> std::result::Result<Self, String> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| format!("--fs takes ext4 and xfs, not `{name}`"))
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
        }
    }

    /// The program that makes one.
    pub(super) fn maker(self) -> &'static str {
        match self {
            Self::Ext4 => "mkfs.ext4",
            Self::Xfs => "mkfs.xfs",
        }
    }

    /// The package that has the program.
    pub(super) fn package(self) -> &'static str {
        match self {
            Self::Ext4 => "e2fsprogs",
            Self::Xfs => "xfsprogs",
        }
    }
}

/// A file system that is mounted.
#[derive(Debug)]
pub(super) struct Mounted {
    image: PathBuf,
    at: PathBuf,
}

impl Mounted {
    /// Makes one in `folder` and mounts it.
    pub(super) fn make(folder: &Path, kind: Kind) -> Result<Self> {
        let name = kind.name();
        let image = folder.join(format!("{name}.img"));
        let mounted = Self { image, at: folder.join(name) };
        std::fs::create_dir_all(&mounted.at)?;
        mounted.clear()?;
        std::fs::File::create(&mounted.image)?.set_len(SIZE)?;
        let force = if kind == Kind::Ext4 { "-F" } else { "-f" };
        run(kind.maker(), [OsStr::new("-q"), OsStr::new(force), mounted.image.as_os_str()])?;
        mounted.mount()?;
        Ok(mounted)
    }

    /// Where it is mounted.
    pub(super) fn path(&self) -> &Path {
        &self.at
    }

    /// Shuts it down: nothing that it has in memory reaches its file any more.
    pub(super) fn shut_down(&self) -> Result<()> {
        let words = ["-x", "-c", "shutdown"].map(OsStr::new);
        run("xfs_io", words.into_iter().chain([self.at.as_os_str()]))
    }

    /// Mounts it anew, as after a crash.
    pub(super) fn mount_again(&mut self) -> Result<()> {
        self.unmount()?;
        self.mount()
    }

    fn mount(&self) -> Result<()> {
        let words = [OsStr::new("-o"), OsStr::new("loop"), self.image.as_os_str()];
        run("mount", words.into_iter().chain([self.at.as_os_str()]))
    }

    fn unmount(&self) -> Result<()> {
        for _ in 1..ATTEMPTS {
            if run("umount", [self.at.as_os_str()]).is_ok() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        run("umount", [self.at.as_os_str()])
    }

    fn is_mounted(&self) -> bool {
        let mounts = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
        let at = self.at.canonicalize().unwrap_or_else(|_| self.at.clone());
        mounts.lines().any(|line| line.split(' ').nth(1).is_some_and(|path| at == Path::new(path)))
    }

    /// Unmounts what is mounted there, at once or as soon as nobody uses it, and removes the file.
    fn clear(&self) -> Result<()> {
        while self.is_mounted() {
            let at = self.at.as_os_str();
            if self.unmount().is_err() {
                run("umount", [OsStr::new("-l"), at])?;
            }
        }
        match std::fs::remove_file(&self.image) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if let Err(error) = self.clear() {
            eprintln!("xtask powerloss: {} is left mounted: {error}", self.at.display());
        }
    }
}

/// Runs a program silently; what it says is why it failed.
fn run<'w>(program: &str, words: impl IntoIterator<Item = &'w OsStr>) -> Result<()> {
    let output = Command::new(program).args(words).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("cannot run `{program}`: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("`{program}` failed: {}: {}", output.status, said.trim()).into())
}
