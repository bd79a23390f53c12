//! `remanent backup DIR TARGET`: a copy of a database that nobody has open, or of a server's.
//!
//! The copy is one image, as large as the rows and no log behind it. A program that has its
//! database open makes such a copy itself, while it goes on; one that serves clients is asked for
//! it (`of_server.rs`).

#[cfg(feature = "sql")]
mod of_server;
#[cfg(not(feature = "sql"))]
use crate::without_sql as of_server;

use remanent_engine::RecoverUntil;

use crate::flags::{self, Flags};
use crate::outcome::{Outcome, answer};
use crate::recovering::{Source, options, refuse_damage, write_to};
use crate::sizes;

const FLAG_NAMES: [&str; 3] = ["memory", "authority", "help"];

/// Runs the command.
pub(crate) fn run(flags: &Flags) -> Outcome {
    if flags.help {
        return answer(&help());
    }
    flags.only("backup", &FLAG_NAMES)?;
    let [path, target] =
        flags.words(["the folder of a database or a connection", "a folder to copy it to"])?;
    if is_connection(path) {
        return of_server::run(flags);
    }
    let options = options(flags)?;
    let db = Source::open(path)?.recover(options, RecoverUntil::End)?;
    refuse_damage(&db)?;
    let bytes = write_to(&db, target)?;
    answer(&format!("{target}: {}\n", sizes::shown(bytes)))
}

/// Whether this says how a server is reached, and is no folder.
fn is_connection(text: &str) -> bool {
    (text.contains("://") || text.contains('=')) && !std::path::Path::new(text).exists()
}

fn help() -> String {
    format!(
        "Copies a database into another folder\n\n\
         usage: remanent backup DIR|CONNECTION TARGET [flags]\n\n\
         DIR is the folder of a database that nobody has open. CONNECTION says how a server is\n\
         reached that goes on meanwhile, as psql takes it: postgresql://admin@localhost/db; it may\n\
         be any replica of a group, and the role is a superuser. The password may stand in\n\
         PGPASSWORD.\n\n\
         TARGET is made if it is not there, and must not hold a database.\n\
         \nflags:\n{}\n\
         Ends with 0, with 1 if nothing was copied, with 2 if it was called wrongly.\n",
        flags::help(&FLAG_NAMES)
    )
}
