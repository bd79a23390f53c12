//! `remanent serve`, the shell and what SQL has defined, in a program that was built without SQL.
//!
//! `cargo xtask install` builds it so, for SQL stands on two hundred crates; what is missing, and
//! how to get it, is said.

use crate::flags::Flags;
use crate::outcome::{Failure, Outcome};

/// Definitions of SQL that cannot be read: without SQL, none is inspected.
pub(crate) fn of(_: remanent_engine::Database) -> Vec<String> {
    Vec::new()
}

pub(crate) fn run(_: &Flags) -> Outcome {
    Err(Failure::Refused(
        "this program was built without SQL, which the shell and the server need; build it with \
         `cargo build --profile analytics -p remanent-cli`, or `cargo xtask install PREFIX \
         --with-sql`"
            .to_owned(),
    ))
}
