//! What the flags say of queries: their threads, their memory, and what becomes of what they read.
//!
//! The shell and the server take the same ones. All are read before the database is opened, so
//! that nothing is made where a flag is wrong.

use std::path::PathBuf;

use remanent_sql::{Freezing, SqlDatabase};

use super::Flags;
use crate::outcome::Failure;
use crate::sizes;

/// What files of queries may have together where nobody says it: 100 GiB.
const SPILL_LIMIT: u64 = 100 << 30;

/// What is set before anybody asks.
pub(crate) struct QueryFlags {
    freezing: Freezing,
    /// 0 is as many as there are cores.
    threads: usize,
    /// 0 is no limit.
    memory: usize,
    /// A folder for what has no room in memory, and the most bytes in it.
    spill: Option<(PathBuf, u64)>,
}

impl QueryFlags {
    /// As flags say it.
    ///
    /// # Errors
    /// A value that a flag cannot have.
    pub(crate) fn of(flags: &Flags) -> Result<Self, Failure> {
        let wrong = |text: String| Err(Failure::Usage(text));
        let freezing = match flags.freeze.as_deref().map(|text| (text, Freezing::of_word(text))) {
            None => Freezing::OnRead,
            Some((_, Some(freezing))) => freezing,
            Some((text, None)) => {
                return wrong(format!("--freeze takes off, on_read or on_commit, not `{text}`"));
            }
        };
        let threads = match flags.query_threads.as_deref().map(|text| (text, text.parse())) {
            None => 0,
            Some((_, Ok(threads @ 1..=1024))) => threads,
            Some((text, _)) => {
                return wrong(format!(
                    "--query-threads takes a number from 1 to 1024, not `{text}`"
                ));
            }
        };
        let memory = bytes("query-memory", flags.query_memory.as_deref())?.unwrap_or_default();
        let limit = bytes("spill-limit", flags.spill_limit.as_deref())?;
        let spill = match (&flags.spill_folder, limit) {
            (Some(folder), _) if !folder.is_dir() => {
                let folder = folder.display();
                return Err(Failure::Trouble(format!("error: --spill-folder {folder}: no folder")));
            }
            (Some(folder), limit) => Some((folder.clone(), limit.unwrap_or(SPILL_LIMIT))),
            (None, None) => None,
            (None, Some(_)) => {
                return wrong("--spill-limit has no meaning without --spill-folder".to_owned());
            }
        };
        let memory = usize::try_from(memory).unwrap_or(usize::MAX);
        Ok(Self { freezing, threads, memory, spill })
    }

    /// Tells a database.
    ///
    /// # Errors
    /// A folder that no file can be made in.
    pub(crate) fn apply(&self, database: &SqlDatabase) -> Result<(), Failure> {
        database.freezing(self.freezing);
        database.query_threads(self.threads);
        database.query_memory(self.memory);
        let Some((folder, limit)) = &self.spill else { return Ok(()) };
        database.spill_to(folder, *limit).map_err(|error| {
            Failure::Trouble(format!("error: --spill-folder {}: {error}", folder.display()))
        })
    }
}

fn bytes(flag: &str, text: Option<&str>) -> Result<Option<u64>, Failure> {
    let Some(text) = text else { return Ok(None) };
    let bytes = sizes::parse(text);
    let bytes = bytes.ok_or_else(|| {
        Failure::Usage(format!("--{flag} takes bytes, as 500M or 8G, not `{text}`"))
    })?;
    Ok(Some(bytes))
}
