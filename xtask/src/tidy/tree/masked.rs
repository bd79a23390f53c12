//! Rust text with code, comments and strings taken apart, line by line.
//!
//! Many rules are about one of the three: `unsafe` in a string is harmless, a marker in code is
//! an identifier. In `code` every comment is gone and every string is empty; in `comment` only
//! comments are left. Line numbers stay, columns do not. Macro bodies are covered like any code.

#[cfg(test)]
mod tests;

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct MaskedLine {
    pub(crate) code: String,
    pub(crate) comment: String,
}

/// One entry per line of `text`.
pub(crate) fn lines(text: &str) -> Vec<MaskedLine> {
    let mut scanner = Scanner {
        characters: text.chars().collect(),
        position: 0,
        lines: vec![MaskedLine::default()],
    };
    while scanner.position < scanner.characters.len() {
        scanner.step();
    }
    scanner.lines
}

struct Scanner {
    characters: Vec<char>,
    position: usize,
    lines: Vec<MaskedLine>,
}

impl Scanner {
    fn step(&mut self) {
        match (self.at(0), self.at(1)) {
            ('/', '/') => self.line_comment(),
            ('/', '*') => self.block_comment(),
            ('"', _) => self.string(),
            ('\'', _) => self.quote(),
            ('r', '"' | '#') if !self.inside_word() && self.raw_hashes().is_some() => {
                self.raw_string();
            }
            (character, _) => self.code(character),
        }
    }

    fn line_comment(&mut self) {
        while self.position < self.characters.len() && self.at(0) != '\n' {
            self.comment();
        }
    }

    fn block_comment(&mut self) {
        let mut depth = 0;
        while self.position < self.characters.len() {
            let pair = (self.at(0), self.at(1));
            self.comment();
            if pair == ('/', '*') {
                self.comment();
                depth += 1;
            } else if pair == ('*', '/') {
                self.comment();
                depth -= 1;
                if depth == 0 {
                    return;
                }
            }
        }
    }

    fn string(&mut self) {
        self.code('"');
        while self.position < self.characters.len() && self.at(0) != '"' {
            if self.at(0) == '\\' {
                self.skip();
            }
            self.skip();
        }
        self.code('"');
    }

    fn raw_string(&mut self) {
        let hashes = self.raw_hashes().unwrap_or(0);
        // The letter, the hashes and the quote that open it.
        self.position += hashes + 2;
        self.push_code('"');
        while self.position < self.characters.len() {
            let closed = self.at(0) == '"' && (1..=hashes).all(|ahead| self.at(ahead) == '#');
            if closed {
                self.position += hashes + 1;
                break;
            }
            self.skip();
        }
        self.push_code('"');
    }

    /// A character literal or the start of a lifetime.
    fn quote(&mut self) {
        if self.at(1) == '\\' {
            self.position += 3;
            while self.position < self.characters.len() && self.at(0) != '\'' {
                self.skip();
            }
            self.skip();
        } else if self.at(2) == '\'' {
            self.position += 3;
        } else {
            self.code('\'');
            return;
        }
        self.push_code('\'');
        self.push_code('\'');
    }

    /// How many hashes open the raw string that begins here, if one does.
    fn raw_hashes(&self) -> Option<usize> {
        let hashes = (1..).take_while(|ahead| self.at(*ahead) == '#').count();
        (self.at(hashes + 1) == '"').then_some(hashes)
    }

    /// Whether the character before belongs to a word, so that an `r` here is its end. The
    /// prefixes `b` and `c` of raw byte and C strings are no such word.
    fn inside_word(&self) -> bool {
        let before = |distance: usize| {
            self.position.checked_sub(distance).and_then(|index| self.characters.get(index))
        };
        let is_word = |character: Option<&char>| {
            character.is_some_and(|character| character.is_alphanumeric() || *character == '_')
        };
        match before(1) {
            Some('b' | 'c') => is_word(before(2)),
            other => is_word(other),
        }
    }

    fn at(&self, ahead: usize) -> char {
        self.characters.get(self.position + ahead).copied().unwrap_or('\0')
    }

    fn code(&mut self, character: char) {
        self.position += 1;
        self.push_code(character);
    }

    fn push_code(&mut self, character: char) {
        if character == '\n' {
            self.lines.push(MaskedLine::default());
        } else if let Some(line) = self.lines.last_mut() {
            line.code.push(character);
        }
    }

    fn comment(&mut self) {
        let character = self.at(0);
        self.position += 1;
        if character == '\n' {
            self.lines.push(MaskedLine::default());
        } else if let Some(line) = self.lines.last_mut() {
            line.comment.push(character);
        }
    }

    fn skip(&mut self) {
        if self.at(0) == '\n' {
            self.lines.push(MaskedLine::default());
        }
        self.position += 1;
    }
}
