//! The step `doc`: documentation builds without a warning.
//!
//! What stands on DataFusion needs 300 crates to be checked, for nothing else in a run: it has its
//! turn in one run of five.

use std::path::Path;

use crate::outcome::Outcome;
use crate::part::Part;
use crate::process::Program;

const STRICT: &[(&str, &str)] = &[("RUSTDOCFLAGS", "-D warnings")];
const ALL: Program = Program {
    line: "cargo doc --workspace --exclude lab* --no-deps -F remanent-capi/replication",
    environment: STRICT,
};
const WITHOUT_SQL: Program = Program { line: "cargo doc --no-deps", environment: STRICT };

pub(super) fn run_part(root: &Path, part: Part) -> Outcome {
    let is_turn = match part {
        Part::All => true,
        Part::Tenth(tenth) => tenth % 5 == 0,
    };
    let program = if is_turn { ALL } else { WITHOUT_SQL };
    println!("doc: {}", program.shown());
    program.run(root)
}
