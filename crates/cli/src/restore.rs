//! `remanent restore DIR TARGET --until-commit N | --until-time TIME`: an earlier moment.
//!
//! It takes a folder in which images and the log are kept (`Options::keep_history`), and makes a
//! database of its own of what had been committed then.

use std::ops::ControlFlow;

use remanent_engine::{Database, LogEntryKind, RecoverUntil};

use crate::flags::{self, Flags};
use crate::outcome::{Failure, Outcome, answer};
use crate::recovering::{Source, options, refuse_damage, refused, write_to};
use crate::sizes;

const FLAG_NAMES: [&str; 4] = ["memory", "until-commit", "until-time", "help"];

/// Runs the command.
pub(crate) fn run(flags: &Flags) -> Outcome {
    if flags.help {
        return answer(&help());
    }
    flags.only("restore", &FLAG_NAMES)?;
    let [path, target] = flags.words(["the folder of a database", "a folder to restore it to"])?;
    let options = options(flags)?;
    let until = moment(flags)?;
    let source = Source::open(path)?;
    if let RecoverUntil::TimeUs(time_us) = until {
        reaches_back_to(&source, time_us)?;
    }
    let db = source.recover(options, until)?;
    refuse_damage(&db)?;
    let bytes = write_to(&db, target)?;
    let last = db.begin_read().map_err(refused)?.timestamp();
    let size = sizes::shown(bytes);
    answer(&format!("{target}: {size}, as it was after commit {last}\n"))
}

fn moment(flags: &Flags) -> Result<RecoverUntil, Failure> {
    let wrong = |text: String| Failure::Usage(format!("{text}; see `remanent restore --help`"));
    match (&flags.until_commit, &flags.until_time) {
        (Some(_), Some(_)) => Err(wrong("--until-commit and --until-time exclude another".into())),
        (None, None) => Ok(RecoverUntil::End),
        (Some(commit), None) => commit
            .parse()
            .map(RecoverUntil::Timestamp)
            .map_err(|_| wrong(format!("--until-commit takes a number, not `{commit}`"))),
        (None, Some(time)) => {
            let parsed: Result<jiff::Timestamp, _> = time.parse();
            let parsed = parsed.map_err(|error| wrong(format!("--until-time: {error}")))?;
            let time_us = u64::try_from(parsed.as_microsecond());
            time_us
                .map(RecoverUntil::TimeUs)
                .map_err(|_| wrong(format!("--until-time: `{time}` lies before 1970")))
        }
    }
}

/// Refuses a time before the first one in the log.
fn reaches_back_to(source: &Source, time_us: u64) -> Outcome {
    let mut first = None;
    let mut at_start = false;
    let mut is_first_entry = true;
    Database::read_log(&source.folder, &mut |entry| {
        at_start |= is_first_entry && entry.position == 0;
        is_first_entry = false;
        match entry.kind {
            LogEntryKind::Time { time_us } => {
                first = Some(time_us);
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        }
    })
    .map_err(refused)?;
    match first {
        Some(first) if first > time_us && !at_start => {
            let first = jiff::Timestamp::from_microsecond(first as i64);
            let first = first.map_or_else(|_| "later".to_owned(), |first| first.to_string());
            Err(Failure::Refused(format!(
                "error: the history that is kept begins at {first}, nothing was written"
            )))
        }
        None => Err(Failure::Refused(
            "error: the log has no times; use --until-commit, nothing was written".to_owned(),
        )),
        Some(_) => Ok(()),
    }
}

fn help() -> String {
    format!(
        "Makes a database of an earlier moment of one that keeps its history\n\n\
         usage: remanent restore DIR TARGET [--until-commit N | --until-time TIME] [flags]\n\n\
         The database must have been opened with `keep_history`; `remanent dump-log DIR` lists\n\
         its commits and times. DIR is not changed. TARGET is made if it is not there, and must\n\
         not hold a database.\n\
         \nflags:\n{}\n\
         Ends with 0, with 1 if nothing was restored, with 2 if it was called wrongly.\n",
        flags::help(&FLAG_NAMES)
    )
}
