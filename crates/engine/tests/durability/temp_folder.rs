//! A folder that vanishes with the test.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use remanent_engine::{Database, Folder, Options};

static COUNT: AtomicU64 = AtomicU64::new(0);

pub(crate) struct TempFolder {
    path: PathBuf,
}

impl TempFolder {
    pub(crate) fn new() -> Self {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("remanent-test-{}-{number}", std::process::id());
        Self { path: std::env::temp_dir().join(name) }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn open(&self, options: Options) -> Database {
        Database::open_at(&self.path, options).unwrap()
    }

    pub(crate) fn folder(&self) -> Arc<Folder> {
        Arc::new(Folder::create(&self.path).unwrap())
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
