//! Where a task stands: addresses of records, and places in keys.
//!
//! Both outlive transactions and the records themselves. An address is used again when its record
//! has gone and another takes its row.

use remanent_engine::{RowDraft, RowId};

/// A record: its type, and its row there. As a number it is never 0, which is no record.
///
/// # Examples
/// ```
/// use remanent_navigation::Address;
/// assert_eq!(Address::from_number(0), None);
/// let address = Address::from_number(1 << 32 | 7).expect("a number of a record");
/// assert_eq!(address.number(), 1 << 32 | 7);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Address {
    pub(crate) record: u16,
    pub(crate) row: RowId,
}

impl Address {
    pub(crate) fn new(record: usize, row: RowId) -> Self {
        Self { record: record as u16, row }
    }

    /// The address as C programs keep it.
    ///
    /// # Examples
    /// See [`Address`].
    pub fn number(self) -> u64 {
        (u64::from(self.record) + 1) << 32 | self.row.number()
    }

    /// The address that a program kept.
    ///
    /// # Examples
    /// See [`Address`].
    pub fn from_number(number: u64) -> Option<Self> {
        let record = u16::try_from((number >> 32).checked_sub(1)?).ok()?;
        RowId::from_number(number & 0xffff_ffff).map(|row| Self { record, row })
    }

    pub(crate) fn table(self) -> usize {
        usize::from(self.record)
    }
}

/// A place in a key, kept from call to call.
pub(crate) struct KeyPlace {
    /// A record that has the key's value; its other fields mean nothing.
    pub(crate) draft: RowDraft,
    pub(crate) at: KeyAt,
}

/// The position in a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum KeyAt {
    /// Before the first and behind the last: nobody has looked yet, or the end was passed.
    Nowhere,
    /// At this record.
    Record(RowId),
    /// The place where a key would be that no row has.
    Between,
}
