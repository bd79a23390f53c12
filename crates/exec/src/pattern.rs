//! LIKE on text as it lies in frozen segments, without decoding it.
//!
//! A pattern whose only wildcard is `%` is a start, an end, and what comes between them in order;
//! each part is searched for by itself, by what the caller brings for it. In text that is written
//! in symbols an [`Automaton`](crate::automaton) goes from code to code. Patterns with `_` or an
//! escape are left to the caller.

use std::fmt::Debug;

/// Finds one string of bytes within others: how is the caller's choice, who may have a library for
/// it that goes by as many bytes at once as the machine can.
///
/// # Examples
/// See [`Pattern::parse`].
pub trait Find: Debug + Send + Sync {
    /// Where the string first occurs in a text.
    fn find(&self, text: &[u8]) -> Option<usize>;
}

/// What a LIKE without `_` asks of a text.
#[derive(Debug)]
pub struct Pattern {
    pub(crate) start: Vec<u8>,
    /// In this order, none within another.
    pub(crate) between: Vec<Part>,
    pub(crate) end: Vec<u8>,
    pub(crate) negated: bool,
}

/// What stands between two `%`; never empty.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) bytes: Vec<u8>,
    finder: Box<dyn Find>,
}

impl Pattern {
    /// The pattern of a LIKE, or of a NOT LIKE; `None` if it has `_` or an escape, or no `%`.
    /// `finder` makes what finds a part.
    ///
    /// # Examples
    /// ```
    /// use remanent_exec::{Find, Pattern};
    /// #[derive(Debug)]
    /// struct ByWindows(Vec<u8>);
    /// impl Find for ByWindows {
    ///     fn find(&self, text: &[u8]) -> Option<usize> {
    ///         text.windows(self.0.len()).position(|window| window == self.0)
    ///     }
    /// }
    /// let parse = |text| Pattern::parse(text, false, |part| ByWindows(part.to_vec()));
    /// let pattern = parse("re%an%t").expect("it has no wildcard but %");
    /// assert!(pattern.meets(b"remanent") && !pattern.meets(b"reman"));
    /// assert!(parse("re_").is_none() && parse("re\\%%").is_none() && parse("re").is_none());
    /// ```
    pub fn parse<F: Find + 'static>(
        text: &str,
        negated: bool,
        finder: impl Fn(&[u8]) -> F,
    ) -> Option<Self> {
        if text.contains(['_', '\\']) {
            return None;
        }
        let (start, rest) = text.split_once('%')?;
        let (between, end) = rest.rsplit_once('%').unwrap_or(("", rest));
        let between = between
            .split('%')
            .filter(|part| !part.is_empty())
            .map(|part| Part { bytes: part.into(), finder: Box::new(finder(part.as_bytes())) });
        let between = between.collect();
        Some(Self { start: start.into(), between, end: end.into(), negated })
    }

    /// Whether a text, which is not NULL, meets it.
    pub fn meets(&self, text: &[u8]) -> bool {
        self.is_like(text) != self.negated
    }

    fn is_like(&self, text: &[u8]) -> bool {
        let rest = text.strip_prefix(self.start.as_slice());
        let Some(mut rest) = rest.and_then(|rest| rest.strip_suffix(self.end.as_slice())) else {
            return false;
        };
        // The first place of a part leaves most for those behind it.
        self.between.iter().all(|part| match part.finder.find(rest) {
            Some(at) => {
                rest = &rest[at + part.bytes.len()..];
                true
            }
            None => false,
        })
    }
}
