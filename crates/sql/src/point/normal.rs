//! A statement's text with its constants taken out.
//!
//! One pass: numbers and quoted text become parameters, blanks become one blank, letters outside
//! quotes become small. What is left is still SQL. Texts with comments, with parameters of their
//! own, or with any spelling of constants but the plain ones are left alone.

use crate::values::datum::Datum;
use crate::values::text::parse_decimal;

/// A text without its constants.
pub(crate) struct Normal {
    /// SQL with `$1`, `$2`, ... in the places of constants.
    pub(crate) text: String,
    pub(crate) constants: Vec<Datum>,
}

/// Texts that are longer are not checked.
const LENGTH_MAX: usize = 4096;

/// The text without its constants; `None` if it is better left alone.
pub(crate) fn normalise(text: &str) -> Option<Normal> {
    let bytes = text.as_bytes();
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace())?.to_ascii_lowercase();
    if !b"siud".contains(&first) || bytes.len() > LENGTH_MAX {
        return None;
    }
    let mut normal = Normal { text: String::with_capacity(bytes.len()), constants: Vec::new() };
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        let next = bytes.get(at + 1).copied().unwrap_or(b' ');
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => {
                if !normal.text.ends_with(' ') && !normal.text.is_empty() {
                    normal.text.push(' ');
                }
                at += 1;
            }
            b'\'' => at = quoted(text, at, &mut normal)?,
            b'0'..=b'9' => at = number(text, at, &mut normal)?,
            b'"' => {
                let end = at + 2 + text.get(at + 1..)?.find('"')?;
                normal.text.push_str(&text[at..end]);
                at = end;
            }
            b'-' if next == b'-' => return None,
            b'/' if next == b'*' => return None,
            b'$' | b'\\' | b'?' | b':' | b'[' => return None,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
                let length = bytes[at..].iter().take_while(|byte| is_word(byte)).count();
                // A letter before a quote makes another kind of constant.
                if bytes.get(at + length) == Some(&b'\'') {
                    return None;
                }
                let letters = text[at..at + length].bytes();
                normal.text.extend(letters.map(|byte| char::from(byte.to_ascii_lowercase())));
                at += length;
            }
            b';' => {
                let rest = &bytes[at + 1..];
                if !rest.iter().all(u8::is_ascii_whitespace) {
                    return None;
                }
                at = bytes.len();
            }
            byte if byte.is_ascii() => {
                normal.text.push(char::from(byte));
                at += 1;
            }
            _ => return None,
        }
    }
    Some(normal)
}

/// Text in quotes, which stand twice where one is meant.
fn quoted(text: &str, start: usize, normal: &mut Normal) -> Option<usize> {
    let mut constant = String::new();
    let mut at = start + 1;
    loop {
        let length = text.get(at..)?.find('\'')?;
        constant.push_str(&text[at..at + length]);
        at += length + 1;
        if !text[at..].starts_with('\'') {
            break;
        }
        constant.push('\'');
        at += 1;
    }
    normal.add(Datum::Text(constant.into()), 's');
    Some(at)
}

fn number(text: &str, start: usize, normal: &mut Normal) -> Option<usize> {
    let is_part = |byte: u8| byte.is_ascii_digit() || byte == b'.';
    let length = text.as_bytes()[start..].iter().take_while(|byte| is_part(**byte)).count();
    let end = start + length;
    // 1e5, 0x1f, 12abc.
    if text.as_bytes().get(end).is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_') {
        return None;
    }
    let digits = &text[start..end];
    // A minus before it would be part of the constant, unless it subtracts.
    let before = normal.text.trim_end();
    let negative = before.ends_with('-')
        && before[..before.len() - 1].trim_end().ends_with(['=', '(', ',', '<', '>', '+']);
    let constant = match digits.parse::<i64>() {
        Ok(number) if negative => Datum::Int(-number),
        Ok(number) => Datum::Int(number),
        Err(_) => {
            let (unscaled, scale) = parse_decimal(digits).filter(|_| digits.contains('.'))?;
            let unscaled = if negative { -unscaled } else { unscaled };
            Datum::Decimal(unscaled, u8::try_from(scale).ok()?)
        }
    };
    if negative {
        let minus = before.len() - 1;
        normal.text.truncate(minus);
    }
    let mark = if matches!(constant, Datum::Int(_)) { 'i' } else { 'd' };
    normal.add(constant, mark);
    Some(end)
}

impl Normal {
    /// Puts a parameter in the place of a constant. Its kind is part of the text, as a comment.
    fn add(&mut self, constant: Datum, mark: char) {
        self.constants.push(constant);
        let number = self.constants.len();
        self.text.push('$');
        if number >= 10 {
            self.text.push_str(&(number / 10).to_string());
        }
        self.text.push(char::from(b'0' + (number % 10) as u8));
        self.text.push_str("/*");
        self.text.push(mark);
        self.text.push_str("*/");
    }
}
