//! The native C interface: what `remanent.h` declares.
//!
//! In the order of a program: [`database`] opens and closes, [`schema`] makes tables and finds
//! handles, [`transaction`] begins and ends, [`row`] reads, [`draft`] writes, [`search`] finds and
//! walks, [`sets`] links; [`durability`] is what survives, and `replica` a member of a group;
//! [`observation`] says how it fares; [`attach`] shares a database with the other interfaces;
//! [`status`] has the numbers. [`kv`] is key/value databases in the same transactions. Handles of
//! databases and transactions are tokens; rows, drafts and cursors are small values that carry
//! their transaction's token, so they are known to be stale when it has ended. `cargo xtask
//! headers` makes `remanent.h` from these files.
#![expect(non_camel_case_types, reason = "these names are those of the C header")]

pub mod attach;
pub mod database;
pub mod draft;
pub mod durability;
pub mod kv;
pub mod observation;
#[cfg(feature = "replication")]
pub mod replica;
pub mod row;
mod savepoints;
pub mod schema;
pub mod search;
mod session;
pub mod sets;
pub mod status;
pub mod transaction;
pub mod value;
