//! What stands behind a command, word by word.
//!
//! Words end at blanks; single quotes keep blanks together and double quotes too, which stay, for
//! they say that a name is written as it is. Two backslashes end the command.

use super::variables::Variables;

/// What is left of a command's line.
pub(crate) struct Arguments<'l> {
    rest: &'l str,
}

impl<'l> Arguments<'l> {
    pub(crate) fn new(rest: &'l str) -> Self {
        Self { rest }
    }

    /// The next word.
    pub(crate) fn next(&mut self, variables: &Variables) -> Option<String> {
        self.rest = self.rest.trim_start();
        if self.rest.is_empty() || self.rest.starts_with("\\\\") {
            return None;
        }
        let mut word = String::new();
        while let Some(c) = self.rest.chars().next() {
            if c.is_whitespace() || self.rest.starts_with("\\\\") {
                break;
            }
            match c {
                '\'' => self.quoted(&mut word),
                '"' => {
                    let end = self.rest[1..].find('"').map_or(self.rest.len(), |end| end + 2);
                    word.push_str(&self.rest[..end]);
                    self.rest = &self.rest[end..];
                }
                ':' if let Some((value, length)) = variables.expand(&self.rest[1..]) => {
                    word.push_str(&value);
                    self.rest = &self.rest[1 + length..];
                }
                _ => {
                    word.push(c);
                    self.rest = &self.rest[c.len_utf8()..];
                }
            }
        }
        Some(word)
    }

    /// All further words.
    pub(crate) fn all(&mut self, variables: &Variables) -> Vec<String> {
        std::iter::from_fn(|| self.next(variables)).collect()
    }

    /// The rest of the line as it is written.
    pub(crate) fn line(&mut self) -> &'l str {
        std::mem::take(&mut self.rest).trim().trim_end_matches(';').trim_end()
    }

    /// What follows the command: statements, behind two backslashes.
    pub(crate) fn behind(self) -> &'l str {
        self.rest.find("\\\\").map_or("", |at| &self.rest[at + 2..])
    }

    fn quoted(&mut self, word: &mut String) {
        let mut chars = self.rest[1..].chars();
        while let Some(c) = chars.next() {
            match c {
                '\'' if chars.as_str().starts_with('\'') => {
                    chars.next();
                    word.push('\'');
                }
                '\'' => break,
                '\\' => word.extend(chars.next().map(|escaped| match escaped {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    other => other,
                })),
                plain => word.push(plain),
            }
        }
        self.rest = chars.as_str();
    }
}
