//! A figure: what was asked of Remanent, and what a run has measured of it.
//!
//! Workloads make figures of their records; the terminal and the page list them.

/// One line of the list of figures.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figure {
    pub(crate) what: String,
    pub(crate) asked: String,
    /// Absent when the run did not measure it.
    pub(crate) measured: Option<String>,
    pub(crate) reached: Option<bool>,
}
