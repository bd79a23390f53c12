//! Text into tokens: names, numbers, strings, single punctuation marks.
//!
//! The lexer never fails. What it cannot read becomes a token that says so, and is complained
//! about only if it survives the preprocessor: text that `#ifdef` leaves out may be anything.
//! Comments and line continuations are gone here; a token remembers whether it begins a line.

use std::rc::Rc;

use crate::source::Span;

/// A token, from the text or from a macro.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) span: Span,
    pub(crate) starts_line: bool,
}

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// A name or a keyword.
    Word(Rc<str>),
    /// A whole number.
    Int(u64),
    /// A number with a point or an exponent, as written.
    Float(Rc<str>),
    /// A string, without its quotes.
    Text(Rc<str>),
    /// One mark: `{`, `;`, `<` and the like.
    Mark(char),
    /// What cannot be read, and why.
    Bad(&'static str),
    /// Behind the last token, always there.
    End,
}

impl Kind {
    /// As an error names it.
    pub(crate) fn describe(&self) -> String {
        match self {
            Kind::Word(word) => format!("`{}`", shortened(word)),
            Kind::Int(number) => format!("`{number}`"),
            Kind::Float(text) => format!("`{}`", shortened(text)),
            Kind::Text(_) => "a string".to_owned(),
            Kind::Mark(mark) => format!("`{mark}`"),
            Kind::Bad(_) => "what cannot be read".to_owned(),
            Kind::End => "the end of the file".to_owned(),
        }
    }
}

/// A name as it is shown: not longer than a line can hold.
pub(crate) fn shortened(name: &str) -> String {
    match name.char_indices().nth(60) {
        Some((cut, _)) => format!("{}..", &name[..cut]),
        None => name.to_owned(),
    }
}

/// The tokens of a file; the last one is [`Kind::End`].
pub(crate) fn tokenize(text: &str, file: u32) -> Vec<Token> {
    let mut lexer = Lexer { text, at: 0, file, starts_line: true, tokens: Vec::new() };
    while lexer.step() {}
    let end = lexer.at;
    lexer.push(Kind::End, end);
    lexer.tokens
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
    file: u32,
    starts_line: bool,
    tokens: Vec<Token>,
}

impl Lexer<'_> {
    /// Reads one token or one piece of white space; `false` at the end.
    fn step(&mut self) -> bool {
        let start = self.at;
        let Some(first) = self.peek() else { return false };
        match first {
            '\n' => {
                self.at += 1;
                self.starts_line = true;
            }
            '\\' if self.continues_line() => {}
            '/' if self.rest().starts_with("//") => self.line_comment(),
            '/' if self.rest().starts_with("/*") => self.block_comment(),
            '"' => self.string(),
            '0'..='9' => self.number(),
            '.' if self.byte(1).is_some_and(|byte| byte.is_ascii_digit()) => self.number(),
            'a'..='z' | 'A'..='Z' | '_' => {
                self.skip(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
                let word = &self.text[start..self.at];
                let kind = match word.len() <= remanent_schema::NAME_LEN_MAX {
                    true => Kind::Word(word.into()),
                    false => Kind::Bad("this name is too long: write at most 128 letters"),
                };
                self.push(kind, start);
            }
            _ if first.is_whitespace() || first == '\u{feff}' => self.at += first.len_utf8(),
            _ if first.is_ascii_punctuation()
                && !matches!(first, '\'' | '\\' | '`' | '@' | '$') =>
            {
                self.at += 1;
                self.push(Kind::Mark(first), start);
            }
            _ => self.garbage(),
        }
        true
    }

    fn push(&mut self, kind: Kind, start: usize) {
        let span = Span { file: self.file, start: start as u32, end: self.at as u32 };
        self.tokens.push(Token { kind, span, starts_line: self.starts_line });
        self.starts_line = false;
    }

    /// A backslash at the end of a line joins it with the next.
    fn continues_line(&mut self) -> bool {
        let rest = self.rest();
        let len =
            ["\\\n", "\\\r\n"].iter().find(|end| rest.starts_with(**end)).map(|end| end.len());
        self.at += len.unwrap_or(0);
        len.is_some()
    }

    fn line_comment(&mut self) {
        self.at = self.rest().find('\n').map_or(self.text.len(), |len| self.at + len);
    }

    fn block_comment(&mut self) {
        let start = self.at;
        match self.text[start + 2..].find("*/") {
            Some(len) => self.at = start + 2 + len + 2,
            None => {
                // The error marks the opening; nothing behind it can be understood.
                self.at = start + 2;
                self.push(Kind::Bad("a comment is never closed: write `*/` at its end"), start);
                self.at = self.text.len();
            }
        }
    }

    fn string(&mut self) {
        let start = self.at;
        self.at += 1;
        loop {
            match self.byte(0) {
                Some(b'"') => break,
                Some(b'\\') if self.byte(1).is_some_and(|byte| byte != b'\n') => {
                    self.at += 1;
                    self.at += self.peek().map_or(0, char::len_utf8);
                }
                Some(b'\n') | None => {
                    let why = "a string is not closed on its line: write `\"` at its end";
                    return self.push(Kind::Bad(why), start);
                }
                Some(_) => self.at += self.peek().map_or(1, char::len_utf8),
            }
        }
        let text = self.text[start + 1..self.at].into();
        self.at += 1;
        self.push(Kind::Text(text), start);
    }

    fn number(&mut self) {
        let start = self.at;
        let is_hex = self.rest().starts_with("0x") || self.rest().starts_with("0X");
        self.skip(|byte| byte.is_ascii_alphanumeric());
        let mut is_float = false;
        if !is_hex && self.byte(0) == Some(b'.') {
            is_float = true;
            self.at += 1;
            self.skip(|byte| byte.is_ascii_alphanumeric());
        }
        let is_exponent = self.text[start..self.at].ends_with(['e', 'E']);
        if !is_hex && is_exponent && matches!(self.byte(0), Some(b'+' | b'-')) {
            self.at += 1;
            self.skip(|byte| byte.is_ascii_alphanumeric());
        }
        let text = &self.text[start..self.at];
        is_float |= !is_hex && text.contains(['e', 'E']);
        let kind = if is_float { float(text) } else { whole(text) };
        self.push(kind, start);
    }

    fn garbage(&mut self) {
        let start = self.at;
        while let Some(next) = self.peek() {
            if next.is_ascii_graphic() && !matches!(next, '\'' | '\\' | '`' | '@' | '$')
                || next.is_whitespace()
            {
                break;
            }
            self.at += next.len_utf8();
        }
        self.push(Kind::Bad("this is no part of a schema: remove it"), start);
    }

    fn skip(&mut self, wanted: impl Fn(u8) -> bool) {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(|byte| wanted(*byte)) {
            self.at += 1;
        }
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }
}

fn float(text: &str) -> Kind {
    let digits = text.trim_end_matches(['f', 'F', 'l', 'L']);
    match digits.parse::<f64>() {
        Ok(number) if number.is_finite() => Kind::Float(digits.into()),
        _ => Kind::Bad("this is no number"),
    }
}

fn whole(text: &str) -> Kind {
    let digits = text.trim_end_matches(['u', 'U', 'l', 'L']);
    let hex = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let parsed = match (hex, digits.len() > 1 && digits.starts_with('0')) {
        (Some(hex), _) => u64::from_str_radix(hex, 16),
        (None, true) => u64::from_str_radix(digits, 8),
        (None, false) => digits.parse(),
    };
    match parsed {
        Ok(number) => Kind::Int(number),
        Err(_) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            Kind::Bad("this number is too large, or has an 8 or 9 behind a leading 0")
        }
        Err(_) => Kind::Bad("this is no number: names begin with a letter"),
    }
}

#[cfg(test)]
mod tests;
