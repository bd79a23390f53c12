//! Who may do what: every kind of statement, on every kind of object, for everybody.
//!
//! [`tries`] gives for each kind of statement what is tried and whose right that is; the list of
//! kinds is the one by which sessions run statements, and the match over it is whole, so a new kind
//! without a row here does not compile. [`matrix`] runs all of it for each state in which somebody
//! can be; the other files attack what a table of rights does not say.

mod attacks;
mod lasting;
mod matrix;
mod tries;
mod views;
mod world;
