//! How far a file has been loaded, as a bar on a terminal; elsewhere nothing is shown.
//!
//! It is drawn on standard error, so that answers stay what they are.

use indicatif::{HumanCount, ProgressBar, ProgressStyle};

/// What the bar shows.
const TEMPLATE: &str = "{bar:24} {bytes}/{total_bytes} {bytes_per_sec}, {msg} rows, {eta} left";

/// A load that is shown.
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A load of so many bytes; of a stream whose length nobody knows, none.
    pub(crate) fn new(bytes: u64, is_seen: bool) -> Self {
        let bar = if is_seen { ProgressBar::new(bytes) } else { ProgressBar::hidden() };
        if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
            bar.set_style(style.progress_chars("=> "));
        }
        Self { bar }
    }

    /// So many bytes were read, and rows inserted.
    pub(crate) fn at(&self, bytes: u64, rows: u64) {
        self.bar.set_message(HumanCount(rows).to_string());
        self.bar.set_position(bytes);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
