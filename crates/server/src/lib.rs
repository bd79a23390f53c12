//! PostgreSQL's wire protocol for a Remanent database.
//!
//! A [`Server`] listens, lets clients in that prove who they are, and runs their statements in
//! sessions of the SQL layer: one thread and one session for each connection. Whatever a client
//! sends, it ends its own connection at worst.
//!
//! The modules, in the order in which a connection meets them:

mod options;
mod server;

mod listen;

mod wire;

mod startup;

mod connection;

mod value;

mod checkpoints;
#[cfg(test)]
mod fault;
mod log;
mod password;
mod registry;
mod signals;

pub use log::log_to_standard_error;
pub use options::Options;
pub use password::random_password;
pub use server::Server;
pub use signals::EndSignals;
pub use startup::is_verifier_of;
