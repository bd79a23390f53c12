//! The statement that is being read, cut out of lines.
//!
//! The text is kept as it was written, from its first word on, with variables put in; so places in
//! errors are places in it. Comments before the first word are left out.

use super::variables::{Variables, is_name};

/// What has been read of a statement.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    text: String,
    within: Within,
    parentheses: u32,
    has_words: bool,
    /// The line of the input that is read, and that in which the statement begins.
    line: u64,
    first_line: u64,
}

/// What the next character is part of.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum Within {
    #[default]
    Nothing,
    /// Quotes, in which a backslash may escape.
    Quotes {
        escapes: bool,
    },
    Name,
    /// Dollars with this between them.
    Dollars(String),
    /// Comments, within each other.
    Comment(u32),
}

/// A statement with the line in which it begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Cut {
    pub(crate) text: String,
    pub(crate) line: u64,
}

/// What was found.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// The line is read; the statement may go on.
    EndOfLine,
    Statement(Cut),
    /// A backslash: a command follows.
    Command,
}

impl Pending {
    /// A line begins.
    pub(crate) fn begin_line(&mut self, number: u64) {
        self.line = number;
    }

    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// Whether no word of a statement has been read.
    pub(crate) fn is_empty(&self) -> bool {
        !self.has_words && self.within == Within::Nothing
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The character that a prompt shows of what is not closed.
    pub(crate) fn mark(&self) -> char {
        match &self.within {
            Within::Quotes { .. } => '\'',
            Within::Name => '"',
            Within::Dollars(_) => '$',
            Within::Comment(_) => '*',
            Within::Nothing if self.parentheses > 0 => '(',
            Within::Nothing if self.has_words => '-',
            Within::Nothing => '=',
        }
    }

    /// Forgets what was read.
    pub(crate) fn clear(&mut self) {
        *self = Self { line: self.line, ..Self::default() };
    }

    /// The statement as far as it was read, if there is any of it.
    pub(crate) fn take(&mut self) -> Option<Cut> {
        let cut = Cut { text: std::mem::take(&mut self.text), line: self.first_line };
        let has_words = self.has_words;
        self.clear();
        has_words.then_some(cut)
    }

    /// Reads a line on, up to the end of a statement.
    pub(crate) fn read(&mut self, rest: &mut &str, variables: &Variables) -> Found {
        while let Some(c) = rest.chars().next() {
            if self.within != Within::Nothing {
                self.read_within(rest, c);
                continue;
            }
            match c {
                '\\' => {
                    *rest = &rest[1..];
                    return Found::Command;
                }
                ';' if self.parentheses == 0 => {
                    *rest = &rest[1..];
                    if let Some(cut) = self.take() {
                        return Found::Statement(cut);
                    }
                }
                '-' if rest.starts_with("--") => {
                    let end = rest.find('\n').unwrap_or(rest.len());
                    self.push(rest, end, false);
                }
                '/' if rest.starts_with("/*") => {
                    self.within = Within::Comment(1);
                    self.push(rest, 2, false);
                }
                ':' => self.read_colon(rest, variables),
                _ => self.read_plain(rest, c),
            }
        }
        Found::EndOfLine
    }

    fn read_plain(&mut self, rest: &mut &str, c: char) {
        match c {
            '\'' => {
                let mut before = self.text.chars().rev();
                let is_escape = matches!(before.next(), Some('e' | 'E'));
                let escapes = is_escape && !before.next().is_some_and(is_name);
                self.within = Within::Quotes { escapes };
            }
            '"' => self.within = Within::Name,
            '$' if !self.text.ends_with(is_name) => {
                if let Some(tag) = dollar_tag(rest) {
                    self.within = Within::Dollars(tag.to_owned());
                    let length = tag.len();
                    return self.push(rest, length, true);
                }
            }
            '(' => self.parentheses += 1,
            ')' => self.parentheses = self.parentheses.saturating_sub(1),
            _ => {}
        }
        self.push(rest, c.len_utf8(), !c.is_whitespace());
    }

    fn read_colon(&mut self, rest: &mut &str, variables: &Variables) {
        // Two colons are a cast.
        let expanded = match rest.starts_with("::") {
            true => None,
            false => variables.expand(&rest[1..]),
        };
        match expanded {
            Some((value, length)) => {
                let mut value = value.as_str();
                let length_of_value = value.len();
                self.push(&mut value, length_of_value, true);
                *rest = &rest[1 + length..];
            }
            None => {
                let length = if rest.starts_with("::") { 2 } else { 1 };
                self.push(rest, length, true);
            }
        }
    }

    fn read_within(&mut self, rest: &mut &str, c: char) {
        let mut length = c.len_utf8();
        match &mut self.within {
            Within::Quotes { escapes: true } if c == '\\' => {
                length += rest[1..].chars().next().map_or(0, char::len_utf8);
            }
            // A doubled quote ends and begins again.
            Within::Quotes { .. } if c == '\'' => self.within = Within::Nothing,
            Within::Name if c == '"' => self.within = Within::Nothing,
            Within::Dollars(tag) if rest.starts_with(tag.as_str()) => {
                length = tag.len();
                self.within = Within::Nothing;
            }
            Within::Comment(depth) if rest.starts_with("*/") => {
                length = 2;
                *depth -= 1;
                if *depth == 0 {
                    self.within = Within::Nothing;
                }
            }
            Within::Comment(depth) if rest.starts_with("/*") => {
                length = 2;
                *depth += 1;
            }
            _ => {}
        }
        let is_word = !matches!(self.within, Within::Comment(_)) && self.has_words;
        self.push(rest, length, is_word);
    }

    fn push(&mut self, rest: &mut &str, length: usize, is_word: bool) {
        if is_word && !self.has_words {
            self.has_words = true;
            self.first_line = self.line;
            self.text.clear();
        }
        let (taken, left) = rest.split_at(length);
        self.text.push_str(taken);
        *rest = left;
    }
}

/// The dollars with what is between them that this text begins with.
fn dollar_tag(text: &str) -> Option<&str> {
    let end = text[1..].find(|c| !is_name(c))? + 1;
    let is_number = text[1..].starts_with(|c: char| c.is_ascii_digit());
    (text[end..].starts_with('$') && !is_number).then(|| &text[..=end])
}
