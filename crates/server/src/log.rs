//! The log: lines with moment and level, on standard error.
//!
//! One process has one log: what a program has set up before stays.

use tracing_subscriber::filter::LevelFilter;

/// Writes the log of this process to standard error, from this level on: `error`, `warn`, `info`,
/// `debug`, `trace` or `off`.
///
/// # Errors
/// In words: a level that is none.
pub fn log_to_standard_error(level: &str) -> Result<(), String> {
    let level: LevelFilter = level.parse().map_err(|_| {
        format!("`{level}` is no level of the log: error, warn, info, debug, trace, off")
    })?;
    let format = tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr);
    // A log that a program has set up already stays.
    let _ = format.with_target(false).with_ansi(false).try_init();
    Ok(())
}
