//! `remanent backup DIR TARGET`: a copy of a database that nobody has open.
//!
//! The copy is one image, as large as the rows and no log behind it. A program that has its
//! database open makes such a copy itself, while it goes on.

use remanent_engine::RecoverUntil;

use crate::flags::{self, Flags};
use crate::outcome::{Outcome, answer};
use crate::recovering::{Source, options, refuse_damage, write_to};
use crate::sizes;

const FLAG_NAMES: [&str; 2] = ["memory", "help"];

/// Runs the command.
pub(crate) fn run(flags: &Flags) -> Outcome {
    if flags.help {
        return answer(&help());
    }
    flags.only("backup", &FLAG_NAMES)?;
    let [path, target] = flags.words(["the folder of a database", "a folder to copy it to"])?;
    let options = options(flags)?;
    let db = Source::open(path)?.recover(options, RecoverUntil::End)?;
    refuse_damage(&db)?;
    let bytes = write_to(&db, target)?;
    answer(&format!("{target}: {}\n", sizes::shown(bytes)))
}

fn help() -> String {
    format!(
        "Copies a database that nobody has open into another folder\n\n\
         usage: remanent backup DIR TARGET [flags]\n\n\
         TARGET is made if it is not there, and must not hold a database.\n\
         \nflags:\n{}\n\
         Ends with 0, with 1 if nothing was copied, with 2 if it was called wrongly.\n",
        flags::help(&FLAG_NAMES)
    )
}
