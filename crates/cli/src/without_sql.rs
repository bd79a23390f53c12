//! `remanent serve` and the shell in a program that was built without SQL.
//!
//! `cargo xtask install` builds it so, for SQL stands on two hundred crates; what is missing, and
//! how to get it, is said.

use crate::flags::Flags;
use crate::{Failure, Outcome};

pub(crate) fn run(_: &Flags) -> Outcome {
    Err(Failure::Refused(
        "this program was built without SQL, which the shell and the server need; build it with \
         `cargo build --profile analytics -p remanent-cli`, or `cargo xtask install PREFIX \
         --with-sql`"
            .to_owned(),
    ))
}
