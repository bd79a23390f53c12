//! Functions that know for whom they are called: of sequences, of rights, of other sessions,
//! of notifications.
//!
//! Each holds the [`Caller`](crate::context::caller::Caller), which says who that is.

pub(crate) mod backends;
pub(crate) mod notifications;
pub(crate) mod rights;
pub(crate) mod sequences;
