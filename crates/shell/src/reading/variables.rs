//! Variables: what `\set` sets, and what stands for them in statements.
//!
//! `:name` is replaced by the value, `:'name'` by the value as a string, `:"name"` by the value as
//! a name. What is not set stays as it is written.

use std::collections::BTreeMap;

/// All variables, by name.
#[derive(Debug, Default)]
pub(crate) struct Variables(BTreeMap<String, String>);

/// Whether statements that fail end a script.
pub(crate) const ON_ERROR_STOP: &str = "ON_ERROR_STOP";

impl Variables {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub(crate) fn set(&mut self, name: &str, value: impl Into<String>) {
        self.0.insert(name.to_owned(), value.into());
    }

    pub(crate) fn unset(&mut self, name: &str) {
        self.0.remove(name);
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (&String, &String)> {
        self.0.iter()
    }

    /// Whether it is set to something that is not off.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| !matches!(value, "off" | "0" | "false" | "no"))
    }

    /// What stands for the variable that this text begins with behind its colon, and how many bytes
    /// of the text name it.
    pub(crate) fn expand(&self, text: &str) -> Option<(String, usize)> {
        let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'));
        let name = &text[quote.map_or(0, char::len_utf8)..];
        let length = name.find(|c: char| !is_name(c)).unwrap_or(name.len());
        let (name, after) = name.split_at(length);
        let value = self.get(name)?;
        match quote {
            None => Some((value.to_owned(), length)),
            Some(quote) => {
                let doubled = value.replace(quote, &format!("{quote}{quote}"));
                after.starts_with(quote).then(|| (format!("{quote}{doubled}{quote}"), length + 2))
            }
        }
    }
}

/// Whether the character may be part of a name.
pub(crate) fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
