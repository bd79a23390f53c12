//! What a command ends with.
//!
//! Whatever stops a command becomes words, which `main` prints behind the command's name.

use std::error::Error;

/// Nothing, or the reason in words.
pub(crate) type Outcome = Result<(), Box<dyn Error>>;
