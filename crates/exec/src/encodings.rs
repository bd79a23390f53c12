//! How values lie in the columns of a segment, and loops over them for each way.
//!
//! Numbers are offsets of some width ([`offsets`]); text is codes of a [`dictionary`], or lies one
//! behind the other, as it is or in symbols ([`encoded_texts`]).

pub(crate) mod dictionary;
pub(crate) mod encoded_texts;
pub(crate) mod offsets;
