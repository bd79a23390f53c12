//! Stands for `replica` where there is no library: no site can be opened.
//!
//! A run does not come here, since a contender that is missing is not planned.

use lab_harness::Outcome;

use crate::NOT_INSTALLED;

/// A site, of which there is none.
pub enum Site {}

impl Site {
    /// Fails with what is missing.
    ///
    /// # Errors
    /// Always.
    pub fn open(_: &str, _: usize, _: &[u16], _: bool) -> Outcome<Self> {
        Err(NOT_INSTALLED.reason.into())
    }

    /// Never.
    pub fn is_master(&self) -> bool {
        match *self {}
    }

    /// Never.
    ///
    /// # Errors
    /// None.
    pub fn create(&self) -> Outcome<()> {
        match *self {}
    }

    /// Never.
    ///
    /// # Errors
    /// None.
    pub fn load(&self, _: &[u64]) -> Outcome<()> {
        match *self {}
    }

    /// Never.
    ///
    /// # Errors
    /// None.
    pub fn put(&self, _: u64) -> Outcome<()> {
        match *self {}
    }

    /// Never.
    ///
    /// # Errors
    /// None.
    pub fn count(&self) -> Outcome<u64> {
        match *self {}
    }
}
