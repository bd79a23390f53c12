//! A pattern that is ready to match texts.
//!
//! What matches is what PostgreSQL's would: the match that begins first, and of those the longest,
//! unless the pattern asks for the shortest somewhere; then it is the one that is found first by
//! the order of what the pattern says. An automaton finds the end, one of the reversed pattern the
//! beginning; groups are filled only when somebody asks for them.

use regex_automata::nfa::thompson::{Compiler, Config, NFA, WhichCaptures};
use regex_automata::{Anchored, MatchKind, Span};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Hir, HirKind};

use super::automaton::{Automaton, Found};
use super::spelling;
use super::spelling::Flags;
use super::threads::{Bounds, Threads};
use crate::error::{Error, Result, SqlState};

/// Bytes of a pattern, at most.
const PATTERN_MAX: usize = 32 << 10;

/// Bytes of the states of a pattern, at most.
const STATES_BYTES_MAX: usize = 4 << 20;

/// A compiled pattern.
pub(crate) struct Expression {
    nfa: NFA,
    forward: Automaton,
    backward: Automaton,
    /// Of all matches that begin at one place; `None` if the longest is not wanted.
    longest: Option<Automaton>,
    threads: Option<Threads>,
}

/// What groups hold, the whole match first.
pub(crate) type Groups = Vec<Option<Span>>;

/// A pattern that cannot be matched.
pub(crate) fn bad_pattern(reason: &dyn std::error::Error) -> Error {
    let mut reason = reason;
    while let Some(deeper) = reason.source() {
        reason = deeper;
    }
    let text = reason.to_string();
    // Of a fault of syntax the last line says what is wrong, and those before where.
    let text = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
    let state = match text.contains("look-around") {
        true => SqlState::FEATURE_NOT_SUPPORTED,
        false => SqlState::BAD_PATTERN,
    };
    Error::new(state, format!("invalid regular expression: {text}"))
}

impl Expression {
    /// # Errors
    /// `BAD_PATTERN`; `FEATURE_NOT_SUPPORTED` for what refers back or looks around.
    pub(crate) fn new(pattern: &str, flags: Flags) -> Result<Self> {
        if pattern.len() > PATTERN_MAX {
            let text = "invalid regular expression: regular expression is too complex";
            let hint = format!("A pattern has at most {PATTERN_MAX} bytes.");
            return Err(Error::new(SqlState::BAD_PATTERN, text).hint(hint));
        }
        let spelled = match flags.is_literal {
            true => regex_syntax::escape(pattern),
            false => spelling::spelled(pattern)?,
        };
        let mut parser = ParserBuilder::new();
        parser.case_insensitive(flags.ignores_case).ignore_whitespace(flags.is_expanded);
        parser.multi_line(flags.by_lines).dot_matches_new_line(!flags.by_lines);
        let hir = parser.build().parse(&spelled).map_err(|error| bad_pattern(&error))?;
        let nfa = compiled(&hir, false)?;
        let longest = match is_greedy(&hir) {
            true => Some(Automaton::new(&nfa, MatchKind::All)?),
            false => None,
        };
        Ok(Self {
            forward: Automaton::new(&nfa, MatchKind::LeftmostFirst)?,
            backward: Automaton::new(&compiled(&hir, true)?, MatchKind::All)?,
            longest,
            threads: None,
            nfa,
        })
    }

    /// How many groups it has, the whole match not counted.
    pub(crate) fn groups(&self) -> usize {
        self.nfa.group_info().all_group_len().saturating_sub(1)
    }

    /// Whether it matches a text anywhere.
    pub(crate) fn is_match(&mut self, text: &str) -> Result<bool> {
        match self.forward.end(text.as_bytes(), 0, Anchored::No, true)? {
            Found::At(_) => Ok(true),
            Found::Nowhere => Ok(false),
            Found::Unknown => {
                let bounds = Bounds::From(0);
                Ok(self.threads()?.run(text.as_bytes(), bounds)?.is_some())
            }
        }
    }

    /// The first match from a place on.
    pub(crate) fn find(&mut self, text: &str, from: usize) -> Result<Option<Span>> {
        let bytes = text.as_bytes();
        let mut first = from;
        while first <= text.len() {
            let end = match self.forward.end(bytes, first, Anchored::No, false)? {
                Found::At(end) => end,
                Found::Nowhere => return Ok(None),
                Found::Unknown => return self.find_slowly(text, from),
            };
            let Found::At(begin) = self.backward.begin(bytes, first, end)? else {
                return self.find_slowly(text, from);
            };
            let end = match &mut self.longest {
                Some(longest) => match longest.end(bytes, begin, Anchored::Yes, false)? {
                    Found::At(end) => end,
                    _ => return self.find_slowly(text, from),
                },
                None => end,
            };
            // Nothing matches within a letter.
            if text.is_char_boundary(begin) && text.is_char_boundary(end) {
                return Ok(Some(Span { start: begin, end }));
            }
            first = begin + 1;
        }
        Ok(None)
    }

    fn find_slowly(&mut self, text: &str, from: usize) -> Result<Option<Span>> {
        let groups = self.threads()?.run(text.as_bytes(), Bounds::From(from))?;
        Ok(groups.and_then(|groups| groups[0]))
    }

    /// What the groups hold of a match that was found.
    pub(crate) fn groups_of(&mut self, text: &str, found: Span) -> Result<Groups> {
        if self.groups() == 0 {
            return Ok(vec![Some(found)]);
        }
        let groups = self.threads()?.run(text.as_bytes(), Bounds::Exactly(found))?;
        groups.ok_or_else(|| Error::internal("a match is gone"))
    }

    fn threads(&mut self) -> Result<&mut Threads> {
        match &mut self.threads {
            Some(threads) => Ok(threads),
            none => Ok(none.insert(Threads::new(&self.nfa)?)),
        }
    }
}

fn compiled(hir: &Hir, is_reversed: bool) -> Result<NFA> {
    let captures = if is_reversed { WhichCaptures::None } else { WhichCaptures::All };
    let config = Config::new()
        .nfa_size_limit(Some(STATES_BYTES_MAX))
        .which_captures(captures)
        .reverse(is_reversed);
    let compiled = Compiler::new().configure(config).build_from_hir(hir);
    compiled.map_err(|_| {
        let text = "invalid regular expression: regular expression is too complex";
        Error::new(SqlState::BAD_PATTERN, text)
    })
}

/// Whether no part of a pattern asks for the shortest match.
fn is_greedy(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Repetition(repeated) => repeated.greedy && is_greedy(&repeated.sub),
        HirKind::Capture(group) => is_greedy(&group.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().all(is_greedy),
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => true,
    }
}
