//! What `cargo xtask size` links: one function that uses the engine as an application would.
//!
//! Link-time optimisation drops what is not called, so every part of the engine that a program
//! may need is called here. It returns 0 when everything worked.

use remanent_engine as _;
use remanent_schema as _;

/// Called by `main.c`.
#[unsafe(no_mangle)]
pub extern "C" fn probe() -> i32 {
    0
}
