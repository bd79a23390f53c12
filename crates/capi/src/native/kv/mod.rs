//! Key/value databases of the native interface, in the same transactions as other tables.
//!
//! [`databases`] finds and makes them, [`record`] reads and [`change`] writes, [`cursor`] walks;
//! [`secondary`] has other keys for the records of one, [`sequence`] numbers in order, [`single`]
//! the calls without a transaction. `stores` is where the handles of a database lead.

pub mod change;
pub mod cursor;
pub mod databases;
pub mod record;
pub mod secondary;
pub mod sequence;
pub mod single;
pub(super) mod stores;
