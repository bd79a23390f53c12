//! The server as clients meet it over its protocol.
//!
//! One program, so that what its tests share is compiled once: what a client sees, who is let in
//! and may do what, the anomalies of Hermitage in two sessions, the suites of SQL, and garbage.

mod checkpoints;
mod client;
mod functions;
mod garbage;
mod harness;
mod hermitage;
mod hostile_values;
mod logins;
mod notices;
mod notifications;
mod raw;
mod rights;
mod security;
mod silent;
mod suites;
mod thrown_out;
