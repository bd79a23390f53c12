//! `remanent salvage DIR TARGET`: what can be read of a damaged database.
//!
//! What was found and what is lost goes to standard output. The run ends with 0 if a database was
//! written, however much of it was lost; the damaged folder is not changed.

use std::fmt::Write;

use remanent_engine::{Database, Salvaged};

use crate::flags::{self, Flags};
use crate::outcome::{Outcome, answer};
use crate::recovering::{Source, end_progress, options, refused, write_to};
use crate::{set_aside, sizes};

const FLAG_NAMES: [&str; 2] = ["memory", "help"];

/// Runs the command.
pub(crate) fn run(flags: &Flags) -> Outcome {
    if flags.help {
        return answer(&help());
    }
    flags.only("salvage", &FLAG_NAMES)?;
    let [path, target] = flags.words(["the folder of a database", "a folder to write to"])?;
    let options = options(flags)?;
    let source = Source::open(path)?;
    let salvaged = Database::salvage(&source.folder, options);
    end_progress();
    let (db, salvaged) = salvaged.map_err(refused)?;
    let bytes = write_to(&db, target)?;
    let aside: String = set_aside::of(db).iter().map(|what| format!("lost: {what}\n")).collect();
    answer(&format!("{}{aside}{target}: {}\n", report(&salvaged), sizes::shown(bytes)))
}

/// What was taken and what was not.
fn report(salvaged: &Salvaged) -> String {
    let mut text = String::new();
    let rows = salvaged.rows;
    // Writing to a text does not fail.
    let _ = match (&salvaged.image, salvaged.rows_before) {
        (None, _) => writeln!(text, "image: none"),
        (Some(name), None) => writeln!(text, "image {name}: {rows} rows"),
        (Some(name), Some(of)) => writeln!(text, "image {name}: {rows} rows of {of}"),
    };
    let (commits, changes) = (salvaged.commits, salvaged.changes);
    let _ = writeln!(text, "log: {commits} commits, {changes} changes of rows");
    let size = sizes::shown(salvaged.bytes_lost);
    let counted = [
        (salvaged.gaps, format!("places in the image, {size} in all, that cannot be read")),
        (salvaged.rows_refused, "rows of the image that could not be taken".to_owned()),
        (salvaged.tables_refused, "tables that could not be made".to_owned()),
        (salvaged.changes_refused, "changes that build on what is lost".to_owned()),
        (salvaged.commits_refused, "commits that could not be repeated".to_owned()),
        (salvaged.links_lost, "members of sets that are not there, or have no owner".to_owned()),
    ];
    for (count, what) in counted.into_iter().filter(|(count, _)| *count > 0) {
        let _ = writeln!(text, "lost: {count} {what}");
    }
    if salvaged.image_is_cut && salvaged.image.is_some() {
        text.push_str("lost: the end of the image\n");
    }
    if salvaged.begins_late {
        text.push_str("lost: the image, and what was logged before that which is there\n");
    }
    if let Some(because) = &salvaged.log_unusable {
        let _ = writeln!(text, "lost: the log, which does not follow on: {because}");
    }
    if let Some(damage) = &salvaged.log_damage {
        let _ = writeln!(text, "lost: {damage}");
    }
    if !salvaged.is_less_than_all() {
        text.push_str("nothing is lost\n");
    }
    let _ = writeln!(text, "last commit: {}", salvaged.timestamp);
    text
}

fn help() -> String {
    format!(
        "Makes a database of what can be read of a damaged one\n\n\
         usage: remanent salvage DIR TARGET [flags]\n\n\
         Takes the rows of all blocks of the image that are whole, and all commits before the\n\
         first damage of the log; says what is lost. The result may be a state that never was:\n\
         look at it before it is used. DIR is not changed. TARGET is made if it is not there, and\n\
         must not hold a database.\n\
         \nflags:\n{}\n\
         Ends with 0, with 1 if nothing was written, with 2 if it was called wrongly.\n",
        flags::help(&FLAG_NAMES)
    )
}
