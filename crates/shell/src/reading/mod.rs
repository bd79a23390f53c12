//! Lines into statements and commands.
//!
//! Lines are cut into statements at semicolons that are not within quotes, comments or parentheses.

pub(crate) mod arguments;
pub(crate) mod pending;
pub(crate) mod variables;

#[cfg(test)]
mod tests;
