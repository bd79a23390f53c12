//! Programs that navigate: records, keys, network sets, currency and record locks, d_-style.
//!
//! A [`Task`] is what one thread of a program holds: where it stands in each database it has open,
//! which record types it has locked, and its transaction. Its methods are the calls of the d_-style
//! interface one for one, on the bytes of the program's own structs; the C ABI over them is in
//! `remanent-capi`. docs/d-style.md says what each call does.
//!
//! In reading order: [`status`] what calls answer, `dictionary` a schema compiled, `kept` the
//! files of a database, `opened` what the tasks of a process share of an open one, `locks` who may
//! touch which record type, `task`, then its calls: `transactions`, `records`, `keys`, `sets`,
//! `currency`.
//!
//! What always holds: a call that fails leaves currency as it was, unless docs/d-style.md says
//! otherwise. Locks are real and two-phase, so what a program does under them is serializable;
//! rows, versions and memory are the engine's business.

mod currency;
mod dictionary;
mod kept;
mod keys;
mod locks;
mod opened;
mod position;
mod records;
mod sets;
pub mod status;
mod structs;
mod task;
pub mod text;
mod transactions;

pub use dictionary::{Declared, DeclaredRecord, register};
pub use opened::{attach, detach};
pub use position::Address;
pub use status::{Fault, Outcome, Status};
pub use task::{CURR_DB, Task};
