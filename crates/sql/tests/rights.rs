//! Who may do what: every kind of statement, on every kind of object, for everybody.
//!
//! [`tries`] gives for each kind of statement what is tried and whose right that is; the list of
//! kinds is the one by which sessions run statements, and the match over it is whole, so a new kind
//! without a row here does not compile. [`matrix`] runs all of it for each state in which somebody
//! can be; the other files attack what a table of rights does not say.

#[path = "rights/attacks.rs"]
mod attacks;
#[path = "rights/lasting.rs"]
mod lasting;
#[path = "rights/matrix.rs"]
mod matrix;
#[path = "rights/tries.rs"]
mod tries;
#[path = "rights/views.rs"]
mod views;
#[path = "rights/world.rs"]
mod world;
