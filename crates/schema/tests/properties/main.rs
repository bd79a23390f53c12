//! Properties that the formats promise, over random schemas, rows and keys.
//!
//! `generate` makes the cases; each other file holds one promise and its model.

mod generate;
mod keys;
mod rows;
mod schemas;
