//! Texts that were met, each under a number of its own.
//!
//! They are kept one behind the other; whoever compares two of them compares their numbers.

use super::hash::{HashTable, Hasher};
use crate::sources::account::{Account, Refused};

/// Different texts, by the number under which they were met first.
#[derive(Clone)]
pub(crate) struct KnownTexts {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    table: HashTable,
    hasher: Hasher,
}

impl KnownTexts {
    pub(crate) fn new() -> Self {
        Self { bytes: Vec::new(), ends: Vec::new(), table: HashTable::new(), hasher: Hasher::new() }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// All of them, one behind the other, and where each ends.
    pub(crate) fn all(&self) -> (&[u8], &[usize]) {
        (&self.bytes, &self.ends)
    }

    /// The text of a number.
    pub(crate) fn get(&self, number: u64) -> &[u8] {
        text_of(&self.bytes, &self.ends, number as usize)
    }

    /// The number of a text, if it was met.
    pub(crate) fn find(&self, text: &[u8]) -> Option<u64> {
        let known = |number: u32| self.get(number.into()) == text;
        self.table.find(self.hasher.of_bytes(text), known).map(u64::from)
    }

    /// The number of a text, a new one if it was not met.
    ///
    /// # Errors
    /// Memory for a new one is refused.
    pub(crate) fn number_of(
        &mut self,
        text: &[u8],
        account: &mut Account<'_>,
    ) -> Result<u64, Refused> {
        let hash = self.hasher.of_bytes(text);
        let (bytes, ends) = (&self.bytes, &self.ends);
        let known = |number: u32| text_of(bytes, ends, number as usize);
        if let Some(number) = self.table.find(hash, |number| known(number) == text) {
            return Ok(number.into());
        }
        let number = u32::try_from(self.ends.len()).map_err(|_| Refused)?;
        self.table.make_room(1, account)?;
        account.reserve(&mut self.bytes, text.len())?;
        account.reserve(&mut self.ends, 1)?;
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len());
        self.table.insert(hash, number);
        Ok(number.into())
    }
}

fn text_of<'t>(bytes: &'t [u8], ends: &[usize], number: usize) -> &'t [u8] {
    let start = number.checked_sub(1).map_or(0, |before| ends[before]);
    &bytes[start..ends[number]]
}
