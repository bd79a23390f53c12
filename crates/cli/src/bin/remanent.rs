//! The program `remanent`.
//!
//! What its words say, the library does; here it gets its words and gives its code.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(remanent_cli::main(std::env::args_os().skip(1)))
}
