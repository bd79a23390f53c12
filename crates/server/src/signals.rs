//! The signals upon which a server ends.
//!
//! The first asks for an orderly end, the second does not wait for it.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Waits for SIGTERM or SIGINT; a second one ends the process at once, with 130.
///
/// # Errors
/// As the system.
pub fn wait_for_end() -> std::io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGINT])?;
    let first = signals.forever().next();
    tracing::info!("signal {}", first.unwrap_or_default());
    std::thread::spawn(move || {
        if signals.forever().next().is_some() {
            std::process::exit(130);
        }
    });
    Ok(())
}
