//! Foreign keys hold: whatever two sessions do in whatever order, at whatever levels, and however
//! a statement is written, no row is left that refers to nothing.
//!
//! [`orders`] runs all orders of two short transactions in one thread, so each run is the same.
//! [`actions`] is about what a reference does by itself, [`kinds`] about the types of keys,
//! [`disjoint`] about what is no matter to it.
//! [`threads`] has several sessions at once, beside definitions.

mod actions;
mod disjoint;
mod judge;
mod kinds;
mod orders;
mod threads;
