//! Sequences in C: numbers given out one after the other, each once, kept in a record.
//!
//! A handle of a sequence belongs to a database and is good for any thread until it is closed. What
//! it holds in its cache is lost with it.

use remanent_kv::{Sequence, SequenceOptions};

use super::change::changing;
use super::databases::{rem_blob, rem_kv};
use super::secondary::outside_callback;
use super::stores::Counted;
use crate::ffi::{InPtr, OutPtr};
use crate::native::database::rem_database;
use crate::native::session::{database, find_session};
use crate::native::status::*;
use crate::native::transaction::rem_transaction;

/// The sequence goes on at the other end of its range when it is used up.
pub const REM_KV_SEQUENCE_WRAPS: u32 = 1;
/// The sequence begins with `initial`.
pub const REM_KV_SEQUENCE_INITIAL: u32 = 2;

/// A sequence.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct rem_kv_sequence {
    /// 0 is none.
    pub id: u64,
}

/// How a new sequence counts. Zeros are the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct rem_kv_sequence_options {
    /// The first number, with REM_KV_SEQUENCE_INITIAL; otherwise the end that it counts from.
    pub initial: i64,
    /// The least number.
    pub least: i64,
    /// The greatest number; 0 for INT64_MAX if `least` is 0 too.
    pub greatest: i64,
    /// By how much each number is greater than the one before; 0 for 1.
    pub increment: i64,
    /// Numbers that this handle takes out of the database at once; 0 for 1.
    pub cache: u32,
    /// REM_KV_SEQUENCE_WRAPS, REM_KV_SEQUENCE_INITIAL.
    pub flags: u32,
}

impl rem_kv_sequence_options {
    fn resolve(&self) -> Outcome<SequenceOptions> {
        if self.flags & !(REM_KV_SEQUENCE_WRAPS | REM_KV_SEQUENCE_INITIAL) != 0 {
            return Err(REM_BAD_ARGUMENT);
        }
        let greatest = if (self.least, self.greatest) == (0, 0) { i64::MAX } else { self.greatest };
        let options = SequenceOptions::new()
            .range(self.least, greatest)
            .increment(if self.increment == 0 { 1 } else { self.increment })
            .cache(self.cache.max(1))
            .wrap(self.flags & REM_KV_SEQUENCE_WRAPS != 0);
        Ok(match self.flags & REM_KV_SEQUENCE_INITIAL {
            0 => options,
            _ => options.initial(self.initial),
        })
    }
}

/// Opens the sequence that a key keeps, and creates it if there is none; `options` may be null. Of
/// one that is there, all but the cache counts that it was created with. `REM_WRONG_TYPE` if the
/// key has another value, `REM_INVALID_OPTIONS` in a database with duplicates.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_sequence_open(
    db: *const rem_database,
    kv: rem_kv,
    key: rem_blob,
    options: *const rem_kv_sequence_options,
    out: *mut rem_kv_sequence,
) -> rem_status {
    call(|| {
        outside_callback()?;
        let base = database(db as u64)?;
        let (kv, key) = (base.stores().database(kv.id)?, key.bytes()?);
        let options = match InPtr::from(options).get() {
            Some(options) => options.resolve()?,
            None => SequenceOptions::new(),
        };
        let out = OutPtr::from(out);
        out.set(rem_kv_sequence::default()).ok_or(REM_NULL_ARGUMENT)?;
        let sequence = Sequence::open(kv, key, options).map_err(status_of)?;
        let counted = Counted { sequence, database: kv.clone(), key: key.into() };
        out.put(rem_kv_sequence { id: base.stores().keep_sequence(counted)? });
        Ok(())
    })
}

/// The next number, from the cache or in a transaction of its own. `REM_LIMIT_REACHED` if the
/// sequence is used up, `REM_ROW_NOT_FOUND` if it was removed.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_sequence_next(
    db: *const rem_database,
    sequence: rem_kv_sequence,
    out: *mut i64,
) -> rem_status {
    call(|| {
        outside_callback()?;
        let out = OutPtr::from(out);
        if out.is_null() {
            return Err(REM_NULL_ARGUMENT);
        }
        let base = database(db as u64)?;
        out.put(base.stores().sequence(sequence.id)?.sequence.next().map_err(status_of)?);
        Ok(())
    })
}

/// The next number in a transaction, past the cache: it is taken back if the transaction is.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_sequence_next_in(
    transaction: *const rem_transaction,
    sequence: rem_kv_sequence,
    out: *mut i64,
) -> rem_status {
    call(|| {
        let out = OutPtr::from(out);
        if out.is_null() {
            return Err(REM_NULL_ARGUMENT);
        }
        let slot = find_session(transaction as u64)?;
        let counted = slot.base()?.stores().sequence(sequence.id)?;
        out.put(changing(slot, |tx| counted.sequence.next_in(tx))?);
        Ok(())
    })
}

/// Gives a handle up; the sequence stays. The numbers in its cache are lost.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_sequence_close(
    db: *const rem_database,
    sequence: rem_kv_sequence,
) -> rem_status {
    call(|| database(db as u64)?.stores().close_sequence(sequence.id))
}

/// Removes a sequence with its record, and gives the handle up. Other handles of it give out what
/// they have in their caches, and then answer `REM_ROW_NOT_FOUND`.
#[unsafe(no_mangle)]
pub extern "C" fn rem_kv_sequence_remove(
    db: *const rem_database,
    sequence: rem_kv_sequence,
) -> rem_status {
    call(|| {
        outside_callback()?;
        let base = database(db as u64)?;
        let counted = base.stores().sequence(sequence.id)?;
        counted.database.auto_commit().delete(&counted.key).map_err(status_of)?;
        base.stores().close_sequence(sequence.id)
    })
}
