//! Sums that words of 8 bytes have no room for: of many large numbers, and of floats.
//!
//! Numbers are added in words as long as these cannot overflow, whatever the numbers are; before
//! they could, all words move to sums of 16 bytes, and begin again with 0.

use std::ops::Range;

use super::bytes;
use super::words::{Words, spread};
use crate::conditions::ranges::NumberRange;
use crate::sources::account::{Account, Refused};

/// The sums of one argument, of all groups.
pub(crate) struct Sums {
    /// Which word has the sum of what came since words were moved last.
    pub(crate) word: usize,
    /// What the sum of a word is at most, with or without a sign.
    bound: i128,
    /// What was moved, and what came with more than 8 bytes; no entry is 0.
    wide: Vec<i128>,
    /// Whether a sum has outgrown 16 bytes.
    has_overflowed: bool,
}

impl Sums {
    pub(crate) fn new(word: usize) -> Self {
        Self { word, bound: 0, wide: Vec::new(), has_overflowed: false }
    }

    /// So many numbers within a range are about to be added to words; false if these have no room
    /// for them, whatever was there before.
    ///
    /// # Errors
    /// Memory is refused to wide sums.
    pub(crate) fn expect(
        &mut self,
        rows: usize,
        range: NumberRange,
        words: &mut Words,
        groups: usize,
        account: &mut Account<'_>,
    ) -> Result<bool, Refused> {
        let largest = range.low.unsigned_abs().max(range.high.unsigned_abs()) as i128;
        let more = largest.saturating_mul(rows as i128);
        if more > i64::MAX.into() {
            return Ok(false);
        }
        if self.bound + more > i64::MAX.into() {
            self.move_words(words, groups, account)?;
        }
        self.bound += more;
        Ok(true)
    }

    /// Moves what words have to sums of 16 bytes.
    fn move_words(
        &mut self,
        words: &mut Words,
        groups: usize,
        account: &mut Account<'_>,
    ) -> Result<(), Refused> {
        self.widen(groups, account)?;
        for (group, sum) in self.wide.iter_mut().enumerate().take(groups) {
            let word = words.word(group, self.word);
            let (added, overflows) = sum.overflowing_add(i128::from(std::mem::take(word)));
            *sum = added;
            self.has_overflowed |= overflows;
        }
        self.bound = 0;
        Ok(())
    }

    /// Makes room in words for what those of some groups of others have, and adds what these have
    /// beside them to `groups`, of `group_count` that there are.
    ///
    /// # Errors
    /// Memory is refused to wide sums.
    pub(crate) fn absorb(
        &mut self,
        other: &Self,
        taken: Range<usize>,
        words: &mut Words,
        groups: &[u32],
        group_count: usize,
        account: &mut Account<'_>,
    ) -> Result<(), Refused> {
        // A word of others is added to one here once: whichever part of them this is.
        if self.bound + other.bound > i64::MAX.into() && taken.start == 0 {
            self.move_words(words, group_count, account)?;
        }
        if taken.start == 0 {
            self.bound += other.bound;
        }
        self.has_overflowed |= other.has_overflowed;
        if other.wide.is_empty() {
            return Ok(());
        }
        let wide = |group: usize| other.wide.get(group).copied().unwrap_or_default();
        self.add_wide(groups, taken.map(wide), |_| true, group_count, account)
    }

    /// Puts the sums of some groups of others behind these, of which there are so many; words are
    /// put there elsewhere.
    ///
    /// # Errors
    /// Memory is refused to wide sums.
    pub(crate) fn append(
        &mut self,
        other: &Self,
        groups: &[u32],
        before: usize,
        account: &mut Account<'_>,
    ) -> Result<(), Refused> {
        self.bound = self.bound.max(other.bound);
        self.has_overflowed |= other.has_overflowed;
        if self.wide.is_empty() && other.wide.is_empty() {
            return Ok(());
        }
        self.widen(before + groups.len(), account)?;
        let wide = |group: &u32| other.wide.get(*group as usize).copied().unwrap_or_default();
        let added = self.wide[before..].iter_mut().zip(groups);
        added.for_each(|(sum, group)| *sum = wide(group));
        Ok(())
    }

    /// Makes room for wide sums of so many groups if others have some.
    ///
    /// # Errors
    /// Memory is refused.
    pub(crate) fn make_room_like(
        &mut self,
        other: &Self,
        groups: usize,
        account: &mut Account<'_>,
    ) -> Result<(), Refused> {
        match other.wide.is_empty() && self.wide.is_empty() {
            true => Ok(()),
            false => {
                let more = groups.saturating_sub(self.wide.len());
                account.reserve(&mut self.wide, more)
            }
        }
    }

    /// Writes the wide sums of some groups behind bytes, and what words have at most; words are
    /// written elsewhere.
    pub(crate) fn write(&self, groups: Range<usize>, into: &mut Vec<u8>) {
        let wide = &self.wide[groups.start.min(self.wide.len())..groups.end.min(self.wide.len())];
        let about = [self.bound, self.has_overflowed.into(), wide.len() as i128];
        bytes::put(&about, into);
        bytes::put(wide, into);
    }

    /// Takes the wide sums of groups from the beginning of bytes, in the place of all others.
    pub(crate) fn read(&mut self, from: &mut &[u8]) {
        if let [bound, has_overflowed, wide] = bytes::take(3, from)[..] {
            (self.bound, self.has_overflowed) = (bound, has_overflowed != 0);
            self.wide = bytes::take(wide as usize, from);
        }
    }

    /// Forgets all sums.
    pub(crate) fn clear(&mut self) {
        self.wide.clear();
        (self.bound, self.has_overflowed) = (0, false);
    }

    /// Bytes of wide sums.
    pub(crate) fn bytes(&self) -> usize {
        self.wide.capacity() * size_of::<i128>()
    }

    /// Makes each group another one of so many.
    ///
    /// # Errors
    /// Memory is refused to wide sums.
    pub(crate) fn spread(
        &mut self,
        groups: &[u32],
        count: usize,
        account: &mut Account<'_>,
    ) -> Result<(), Refused> {
        if self.wide.is_empty() {
            return Ok(());
        }
        account.take(count * size_of::<i128>())?;
        let before = self.wide.capacity() * size_of::<i128>();
        self.wide = spread(&self.wide, groups, count, 0);
        account.give_back(before);
        Ok(())
    }

    /// Adds numbers of 16 bytes, of those rows that have one.
    ///
    /// # Errors
    /// Memory is refused to wide sums.
    pub(crate) fn add_wide(
        &mut self,
        groups: &[u32],
        numbers: impl Iterator<Item = i128>,
        has_number: impl Fn(usize) -> bool,
        group_count: usize,
        account: &mut Account<'_>,
    ) -> Result<(), Refused> {
        self.widen(group_count, account)?;
        for ((row, group), number) in groups.iter().enumerate().zip(numbers) {
            if has_number(row) {
                let sum = &mut self.wide[*group as usize];
                let (added, overflows) = sum.overflowing_add(number);
                *sum = added;
                self.has_overflowed |= overflows;
            }
        }
        Ok(())
    }

    fn widen(&mut self, groups: usize, account: &mut Account<'_>) -> Result<(), Refused> {
        if let Some(more) = groups.checked_sub(self.wide.len()) {
            account.reserve(&mut self.wide, more)?;
            self.wide.resize(groups, 0);
        }
        Ok(())
    }

    /// The sums of some groups; `None` if one of any group needs more than 16 bytes.
    pub(crate) fn get(&self, groups: Range<usize>, words: &Words) -> Option<Vec<i128>> {
        if self.has_overflowed {
            return None;
        }
        if self.wide.is_empty() {
            return Some(words.get_wide(groups, self.word));
        }
        let wide = |group: usize| self.wide.get(group).copied().unwrap_or_default();
        let words = words.get(groups.clone(), self.word);
        let sums = groups.zip(words).map(|(group, word)| wide(group).checked_add(word.into()));
        sums.collect()
    }
}

/// The sums of floats, of all groups, added up in the order in which rows come.
#[derive(Default)]
pub(crate) struct FloatSums(Vec<f64>);

impl FloatSums {
    /// These sums.
    pub(crate) fn of(sums: Vec<f64>) -> Self {
        Self(sums)
    }

    /// Makes room for groups.
    pub(crate) fn reserve(&mut self, groups: usize) {
        self.0.reserve_exact(groups.saturating_sub(self.0.len()));
    }

    /// Makes each group another one of so many.
    pub(crate) fn spread(&mut self, groups: &[u32], count: usize) {
        self.0 = spread(&self.0, groups, count, 0.0);
    }

    /// Makes so many groups of them.
    pub(crate) fn resize(&mut self, groups: usize) {
        self.0.resize(groups, 0.0);
    }

    /// Puts the sums of some groups of others behind these.
    pub(crate) fn append(&mut self, other: &Self, groups: &[u32]) {
        self.0.extend(groups.iter().map(|group| other.0[*group as usize]));
    }

    /// Adds the floats of those rows that have one.
    pub(crate) fn add(
        &mut self,
        groups: &[u32],
        floats: &[f64],
        has_number: impl Fn(usize) -> bool,
    ) {
        for ((row, group), float) in groups.iter().enumerate().zip(floats) {
            if has_number(row) {
                self.0[*group as usize] += float;
            }
        }
    }

    /// The sums of some groups.
    pub(crate) fn get(&self, groups: Range<usize>) -> &[f64] {
        &self.0[groups]
    }
}
