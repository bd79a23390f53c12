//! A pattern of PostgreSQL's as the automata's crate spells it, and the flags beside it.
//!
//! Both have the same meaning of most. Otherwise are words' ends, what brackets and braces stand
//! for by themselves, and escapes: `\b` is a backspace, `\y` a word's end. What cannot be matched
//! without going back is refused.

use crate::error::{Error, Result, SqlState};

/// What flags ask for.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Flags {
    pub(crate) ignores_case: bool,
    /// Lines are texts of their own to `^`, `$`, `.` and what brackets leave out.
    pub(crate) by_lines: bool,
    pub(crate) is_expanded: bool,
    pub(crate) is_literal: bool,
    /// All matches, not the first alone.
    pub(crate) all: bool,
}

impl Flags {
    /// The flags that these letters ask for.
    ///
    /// # Errors
    /// `BAD_PARAMETER` for other letters.
    pub(crate) fn parse(letters: &str) -> Result<Self> {
        let mut flags = Self::default();
        for letter in letters.chars() {
            match letter {
                'i' => flags.ignores_case = true,
                'c' => flags.ignores_case = false,
                'n' | 'm' => flags.by_lines = true,
                's' => flags.by_lines = false,
                'x' => flags.is_expanded = true,
                't' => flags.is_expanded = false,
                'q' => flags.is_literal = true,
                'g' => flags.all = true,
                'b' | 'e' | 'p' | 'w' => {
                    let text = format!("the regular expression option \"{letter}\"");
                    return Err(Error::unsupported(text));
                }
                other => {
                    let text = format!("invalid regular expression option: \"{other}\"");
                    return Err(Error::new(SqlState::BAD_PARAMETER, text));
                }
            }
        }
        Ok(flags)
    }
}

/// The pattern, spelled anew.
///
/// # Errors
/// `FEATURE_NOT_SUPPORTED` for what refers back.
pub(crate) fn spelled(pattern: &str) -> Result<String> {
    // Directors come first.
    let pattern = pattern.strip_prefix("***:").unwrap_or(pattern);
    let mut spelled = String::with_capacity(pattern.len() + 8);
    let mut rest = pattern.chars().peekable();
    while let Some(letter) = rest.next() {
        match letter {
            '\\' => match rest.next() {
                Some('y') => spelled.push_str(r"\b"),
                Some('Y') => spelled.push_str(r"\B"),
                Some('m' | '<') => spelled.push_str(r"\b{start}"),
                Some('M' | '>') => spelled.push_str(r"\b{end}"),
                Some('Z') => spelled.push_str(r"\z"),
                Some(digit @ '1'..='9') => {
                    let text = format!("a regular expression that refers back (\\{digit})");
                    return Err(Error::unsupported(text));
                }
                Some(other) => push_escape(other, &mut spelled),
                None => spelled.push('\\'),
            },
            '[' => {
                let named = ["[:<:]]", "[:>:]]"]
                    .into_iter()
                    .find(|named| rest.clone().take(named.len()).collect::<String>() == **named);
                if let Some(named) = named {
                    let word_end = if named.contains('<') { r"\b{start}" } else { r"\b{end}" };
                    spelled.push_str(word_end);
                    rest.nth(named.len() - 1);
                    continue;
                }
                spelled.push('[');
                push_brackets(&mut rest, &mut spelled);
            }
            // A brace before no number is one.
            '{' if !rest.peek().is_some_and(char::is_ascii_digit) => spelled.push_str(r"\{"),
            other => spelled.push(other),
        }
    }
    Ok(spelled)
}

/// An escape that means the same within brackets and outside.
fn push_escape(letter: char, spelled: &mut String) {
    match letter {
        'b' => spelled.push_str(r"\x08"),
        'B' => spelled.push_str(r"\\"),
        'e' => spelled.push_str(r"\x1B"),
        '0' => spelled.push_str(r"\x00"),
        other => {
            spelled.push('\\');
            spelled.push(other);
        }
    }
}

/// What stands in brackets, the closing one included.
fn push_brackets(rest: &mut std::iter::Peekable<std::str::Chars<'_>>, spelled: &mut String) {
    if rest.next_if_eq(&'^').is_some() {
        spelled.push('^');
    }
    let mut is_first = true;
    while let Some(letter) = rest.next() {
        match letter {
            ']' if !is_first => {
                spelled.push(']');
                return;
            }
            ']' => spelled.push_str(r"\]"),
            '[' if rest.peek() == Some(&':') => {
                spelled.push('[');
                for letter in rest.by_ref() {
                    spelled.push(letter);
                    if letter == ']' {
                        break;
                    }
                }
            }
            // Signs of sets, of which there are none.
            '[' | '&' | '~' => {
                spelled.push('\\');
                spelled.push(letter);
            }
            '\\' => match rest.next() {
                Some(escaped) => push_escape(escaped, spelled),
                None => spelled.push('\\'),
            },
            other => spelled.push(other),
        }
        is_first = false;
    }
}
