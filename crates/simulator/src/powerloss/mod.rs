//! A program to take the power from: what `cargo xtask powerloss` runs on real file systems.
//!
//! The writer commits numbered transactions and says each number on standard output when its
//! commit has returned. The judge opens what is left and says with which number it ends. What a
//! database holds after transaction N is a function of N alone, in `content`, so anything half
//! there, out of order or missing in between is seen.

mod content;

use std::error::Error;
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use remanent_compression::{Lz4, open_at};
use remanent_engine::{Database, Durability, Folder, Options, RecoverUntil};

use crate::random::Random;

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PowerLoss {
    /// Commits until it is killed or the disk is gone.
    Write { folder: PathBuf, seed: u64, level: Durability },
    /// Says what is there.
    Judge { folder: PathBuf, seed: u64 },
}

impl PowerLoss {
    /// The command, if these words are one of them.
    ///
    /// # Errors
    /// When its words are not of their kind.
    pub(crate) fn parse(words: &[OsString]) -> Result<Option<Self>, Box<dyn Error>> {
        let text = |word: &OsString| word.to_string_lossy().into_owned();
        let seed = |word: &OsString| text(word).parse().map_err(|_| "SEED is a number");
        match words {
            [name, folder, number, level] if name == "powerloss-writer" => {
                let (folder, seed) = (folder.into(), seed(number)?);
                Ok(Some(Self::Write { folder, seed, level: text(level).parse()? }))
            }
            [name, folder, number] if name == "powerloss-judge" => {
                Ok(Some(Self::Judge { folder: folder.into(), seed: seed(number)? }))
            }
            [name, ..] if text(name).starts_with("powerloss-") => {
                Err("powerloss-writer DIR SEED LEVEL, or powerloss-judge DIR SEED".into())
            }
            _ => Ok(None),
        }
    }

    /// Does it. False if something was wrong, which standard error has.
    pub(crate) fn run(&self) -> bool {
        let done = match self {
            Self::Write { folder, seed, level } => write(folder, *seed, *level),
            Self::Judge { folder, seed } => judge(folder, *seed),
        };
        match done {
            Ok(()) => true,
            Err(error) => {
                eprintln!("{error}");
                false
            }
        }
    }
}

/// How a round's seed opens the database: small files, so that many are begun and let go.
fn options(seed: u64, level: Durability) -> Options {
    let mut random = Random::new(seed);
    Options::new()
        .budget(64 << 20)
        .durability(level)
        .log_file_size(32 << (10 + random.below(6)))
        .log_buffer_size(8 << (10 + random.below(5)))
        .checkpoint_after(if random.percent(60) { 256 << (10 + random.below(4)) } else { 0 })
        .checkpoint_slice(64 << 10)
        .buffer_cache(1)
}

fn write(folder: &PathBuf, seed: u64, level: Durability) -> Result<(), Box<dyn Error>> {
    let db = open_at(folder, options(seed, level))?;
    let tables = content::tables(&db)?;
    let mut last = content::last(&db)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "begun {last}")?;
    out.flush()?;
    loop {
        content::commit(&db, &tables, last + 1)?;
        last += 1;
        writeln!(out, "{last}")?;
        out.flush()?;
    }
}

fn judge(folder: &PathBuf, seed: u64) -> Result<(), Box<dyn Error>> {
    let found = match Folder::existing(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => 0,
        existing => {
            let options = || options(seed, Durability::Disk);
            let existing = existing?.compressed_by(Arc::new(Lz4));
            let db = Database::recover(&existing, options(), RecoverUntil::End)?;
            let found = content::check(&db)?;
            // Half of the rounds leave the files to the writer as they are.
            if seed.is_multiple_of(2) {
                let opened = content::check(&open_at(folder, options())?)?;
                if opened != found {
                    return Err(format!("read it ends with {found}, opened with {opened}").into());
                }
            }
            found
        }
    };
    println!("{found}");
    Ok(())
}
