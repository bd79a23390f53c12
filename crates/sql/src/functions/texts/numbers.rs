//! Numbers as a pattern of digits says, for `to_char`.
//!
//! A 9 is a digit that is left out where it would be a leading zero, a 0 one that is not. What is
//! too long for its pattern is shown as signs of number, and is no error.

use crate::error::{Error, Result};
use crate::values::datum::Datum;

/// A pattern, taken apart.
#[derive(Default)]
struct Pattern {
    /// Before the point, from left to right: digits, commas and what stands for itself.
    whole: Vec<Part>,
    fraction: Vec<Part>,
    has_point: bool,
    /// Without blanks.
    is_filled: bool,
    sign: Sign,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Nine,
    Zero,
    Comma,
    Text(char),
}

/// Where the sign stands.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Sign {
    /// In front, if it is a minus.
    #[default]
    Minus,
    /// In front, always.
    Before,
    /// Behind, always.
    Behind,
    /// Behind, a minus or a blank.
    MinusBehind,
    /// Brackets in place of a minus.
    Brackets,
}

/// A number as a pattern says.
///
/// # Errors
/// `FEATURE_NOT_SUPPORTED` for patterns of a locale, of Roman numerals and of exponents.
pub(crate) fn shown(number: &Datum, pattern: &str) -> Result<String> {
    let pattern = Pattern::of(pattern)?;
    let places = pattern.fraction.iter().filter(|part| part.is_digit()).count();
    let text = rounded(number, places)?;
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (digits.bytes().any(|byte| (b'1'..=b'9').contains(&byte)), digits),
        None => (false, text.as_str()),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    Ok(pattern.filled(is_negative, whole.trim_start_matches('0'), fraction))
}

/// The number in digits, so many of them after the point.
fn rounded(number: &Datum, places: usize) -> Result<String> {
    Ok(match number {
        Datum::Double(float) => format!("{float:.places$}"),
        Datum::Real(float) => format!("{float:.places$}"),
        Datum::Decimal(unscaled, scale) => {
            let scaled = |to| crate::values::text::rescale(*unscaled, u32::from(*scale), to);
            let to = u8::try_from(places).unwrap_or(u8::MAX);
            let mut out = String::new();
            match scaled(to) {
                Some(unscaled) => crate::values::text::write_decimal(&mut out, unscaled, to),
                None => out = format!("{:.places$}", *unscaled as f64),
            }
            out
        }
        whole => match places {
            0 => whole.to_string(),
            _ => format!("{whole}.{}", "0".repeat(places)),
        },
    })
}

impl Part {
    fn is_digit(self) -> bool {
        matches!(self, Self::Nine | Self::Zero)
    }
}

impl Pattern {
    fn of(text: &str) -> Result<Self> {
        let mut pattern = Self::default();
        let upper = text.to_ascii_uppercase();
        for refused in ["RN", "EEEE", "V", "L", "TH", "PL", "SG"] {
            if upper.contains(refused) && !text.contains('"') {
                return Err(Error::unsupported(format!("to_char of a number with {refused}")));
            }
        }
        let mut chars = text.char_indices();
        while let Some((at, char)) = chars.next() {
            let two = upper.get(at..at + 2).unwrap_or_default();
            let (part, is_two) = match (char.to_ascii_uppercase(), two) {
                (_, "FM") => {
                    pattern.is_filled = true;
                    (None, true)
                }
                (_, "MI") => {
                    pattern.sign = Sign::MinusBehind;
                    (None, true)
                }
                (_, "PR") => {
                    pattern.sign = Sign::Brackets;
                    (None, true)
                }
                ('S', _) => {
                    let is_first = !pattern.whole.iter().any(|part| part.is_digit());
                    pattern.sign = if is_first { Sign::Before } else { Sign::Behind };
                    (None, false)
                }
                ('9', _) => (Some(Part::Nine), false),
                ('0', _) => (Some(Part::Zero), false),
                (',' | 'G', _) => (Some(Part::Comma), false),
                ('.' | 'D', _) => {
                    pattern.has_point = true;
                    (None, false)
                }
                ('"', _) => {
                    let quoted = text[at + 1..].chars().take_while(|char| *char != '"');
                    quoted.for_each(|char| pattern.push(Part::Text(char)));
                    let _ = chars.by_ref().find(|(_, char)| *char == '"');
                    (None, false)
                }
                _ => (Some(Part::Text(char)), false),
            };
            part.into_iter().for_each(|part| pattern.push(part));
            if is_two {
                chars.next();
            }
        }
        Ok(pattern)
    }

    fn push(&mut self, part: Part) {
        match self.has_point {
            true => self.fraction.push(part),
            false => self.whole.push(part),
        }
    }

    fn filled(&self, is_negative: bool, whole: &str, fraction: &str) -> String {
        let places = self.whole.iter().filter(|part| part.is_digit()).count();
        let is_too_long = whole.len() > places;
        // The first place of which a digit is shown: of the number, or of a zero in the pattern.
        let zero = self.whole.iter().filter(|part| part.is_digit()).position(|p| *p == Part::Zero);
        let mut first = (places - whole.len().min(places)).min(zero.unwrap_or(places));
        // Nothing but zero, and no fraction to show it: one digit is.
        if first == places && places > 0 && !self.fraction.iter().any(|part| part.is_digit()) {
            first = places - 1;
        }
        let (mut out, mut blanks, mut place) = (String::new(), 0, 0);
        for part in &self.whole {
            match part {
                Part::Nine | Part::Zero => {
                    let from_end = places - place;
                    match place >= first {
                        true if is_too_long => out.push('#'),
                        true if from_end > whole.len() => out.push('0'),
                        true => out.push(whole.as_bytes()[whole.len() - from_end] as char),
                        false => blanks += 1,
                    }
                    place += 1;
                }
                Part::Comma if place > first => out.push(','),
                Part::Comma => blanks += 1,
                Part::Text(char) if out.is_empty() && *char == ' ' => blanks += 1,
                Part::Text(char) => out.push(*char),
            }
        }
        self.fill_fraction(&mut out, is_too_long, fraction);
        self.signed(is_negative, blanks, out)
    }

    fn fill_fraction(&self, out: &mut String, is_too_long: bool, fraction: &str) {
        if !self.has_point {
            return;
        }
        out.push('.');
        let zero = self.fraction.iter().filter(|p| p.is_digit()).collect::<Vec<_>>();
        let kept = match self.is_filled {
            // Without blanks, zeros at the end go that no zero of the pattern asks for.
            true => {
                let asked =
                    zero.iter().rposition(|part| **part == Part::Zero).map_or(0, |at| at + 1);
                fraction.trim_end_matches('0').len().max(asked)
            }
            false => zero.len(),
        };
        let mut digits = fraction.chars();
        let mut place = 0;
        for part in &self.fraction {
            match part {
                Part::Nine | Part::Zero => {
                    let digit = digits.next().unwrap_or('0');
                    if place < kept {
                        out.push(if is_too_long { '#' } else { digit });
                    }
                    place += 1;
                }
                Part::Comma => out.push(','),
                Part::Text(char) => out.push(*char),
            }
        }
    }

    fn signed(&self, is_negative: bool, blanks: usize, digits: String) -> String {
        let blanks = if self.is_filled { String::new() } else { " ".repeat(blanks) };
        let (before, behind) = match (self.sign, is_negative) {
            (Sign::Minus, true) => ("-", ""),
            (Sign::Minus, false) => (" ", ""),
            (Sign::Before, true) => ("-", ""),
            (Sign::Before, false) => ("+", ""),
            (Sign::Behind, true) => ("", "-"),
            (Sign::Behind, false) => ("", "+"),
            (Sign::MinusBehind, true) => ("", "-"),
            (Sign::MinusBehind, false) => ("", " "),
            (Sign::Brackets, true) => ("<", ">"),
            (Sign::Brackets, false) => (" ", " "),
        };
        let text = format!("{blanks}{before}{digits}{behind}");
        if self.is_filled { text.trim_matches(' ').to_owned() } else { text }
    }
}
