//! Regular expressions: `~` and its kin, and the functions of texts by them.
//!
//! PostgreSQL stops a match that is told to stop; the crate `regex` does not. So what matches here
//! are automata of the crate below that one, led byte by byte ([`automaton`], [`threads`]), which
//! look whether to stop as often as their size asks for. A pattern is spelled anew for them
//! ([`spelling`]), and what it matches is what PostgreSQL's would ([`expression`]).

mod automaton;
mod calls;
mod expression;
mod matches;
mod spelling;
#[cfg(test)]
mod tests;
mod threads;

pub(crate) use self::calls::functions;
pub(crate) use self::matches::call;
