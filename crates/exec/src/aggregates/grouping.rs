//! Which group each row of a tile is of.
//!
//! Where a segment's keys have few codes, the group of each product of codes is remembered, and a
//! row costs one look at an array; else its key is looked up by its numbers.

use std::ops::Range;

use super::account::{Account, Refused};
use super::groups::{AnyGroups, groups_of};
use super::keys::{KeyColumn, KnownTexts, has_bit};
use super::source::{Codes, Given, Source};
use crate::rows::Rows;

/// Products of codes by which groups are remembered, at most.
const PRODUCTS_MAX: usize = 4096;

/// A product whose group is not remembered.
const UNKNOWN: u32 = u32::MAX;

/// One column of the key that rows are grouped by.
#[derive(Clone, Debug)]
pub struct Key {
    /// The place of its column; `None` if it is computed by the caller.
    pub column: Option<usize>,
    /// Whether it may be null.
    pub nullable: bool,
    /// Whether it is a text; else it is a whole number of 8 bytes.
    pub is_text: bool,
}

/// The groups of all rows so far.
pub(crate) struct Grouping {
    pub(crate) keys: Vec<Key>,
    /// `None` if there are no keys: all rows are of one group.
    groups: Option<Box<dyn AnyGroups>>,
    /// The texts of each key.
    known: Vec<KnownTexts>,
    /// The numbers of a tile's keys, column by column.
    numbers: Vec<Vec<u64>>,
    products: Vec<u32>,
    scratch: Vec<i64>,
}

/// The keys' columns in one segment.
pub(crate) struct SegmentKeys<'s> {
    /// `None` if the caller gives the values.
    columns: Vec<Option<KeyColumn<'s>>>,
    remembered: Option<Remembered>,
}

/// Groups by the product of their codes in one segment.
struct Remembered {
    /// How many codes each column has, null among them.
    factors: Vec<u32>,
    groups: Vec<u32>,
}

impl SegmentKeys<'_> {
    /// Whether the caller has to give the values of a key.
    pub(crate) fn is_given(&self, key: usize) -> bool {
        self.columns[key].is_none()
    }
}

impl Grouping {
    /// No groups yet; `None` if there are too many keys.
    pub(crate) fn new(keys: Vec<Key>) -> Option<Self> {
        let has_nulls = keys.iter().any(|key| key.nullable);
        let numbers = keys.len() + usize::from(has_nulls);
        let groups = match keys.is_empty() {
            true => None,
            false => Some(groups_of(numbers)?),
        };
        Some(Self {
            groups,
            known: keys.iter().map(|_| KnownTexts::new()).collect(),
            numbers: vec![Vec::new(); numbers],
            keys,
            products: Vec::new(),
            scratch: Vec::new(),
        })
    }

    /// How many groups there are.
    pub(crate) fn len(&self) -> usize {
        self.groups.as_ref().map_or(1, |groups| groups.len())
    }

    /// The numbers of the keys of some groups.
    pub(crate) fn numbers(&self, groups: Range<usize>, key: usize) -> Vec<u64> {
        self.groups.as_ref().map_or(Vec::new(), |it| it.numbers(groups, key))
    }

    /// For each of some groups whether its key is not null; `None` if no key may be.
    pub(crate) fn valid(&self, groups: Range<usize>, key: usize) -> Option<Vec<bool>> {
        let nulls = self.has_nulls().then(|| self.numbers(groups, self.keys.len()))?;
        Some(nulls.into_iter().map(|nulls| nulls >> key & 1 == 0).collect())
    }

    /// The text of a key's number.
    pub(crate) fn text(&self, key: usize, number: u64) -> &[u8] {
        self.known[key].get(number)
    }

    /// Whether the last of a key's numbers says which columns are null.
    fn has_nulls(&self) -> bool {
        self.numbers.len() > self.keys.len()
    }

    /// The keys' columns in a segment.
    pub(crate) fn segment<'s>(&self, columns: &[Source<'s>]) -> SegmentKeys<'s> {
        let columns = self.keys.iter().map(|key| {
            let column = KeyColumn::of(&columns[key.column?])?;
            (column.is_text() == key.is_text).then_some(column)
        });
        let columns: Vec<_> = columns.collect();
        SegmentKeys { remembered: Remembered::of(&columns), columns }
    }

    /// Makes room for so many groups more.
    ///
    /// # Errors
    /// Memory is refused.
    pub(crate) fn make_room(
        &mut self,
        more: usize,
        account: &mut Account<'_>,
    ) -> Result<(), Refused> {
        self.groups.as_mut().map_or(Ok(()), |groups| groups.make_room(more, account))
    }

    /// The values of keys that the caller has to give.
    ///
    /// # Panics
    /// If they are missing.
    pub(crate) fn given<'g>(
        &self,
        segment: &SegmentKeys<'_>,
        given: &[Option<Given<'g>>],
    ) -> Vec<Option<KeyColumn<'g>>> {
        let keys = (0..self.keys.len()).map(|key| {
            segment.is_given(key).then(|| {
                let given = given.get(key).copied().flatten().map(Source::Given);
                let column = given.as_ref().and_then(KeyColumn::of);
                column.filter(|column| column.is_text() == self.keys[key].is_text)
            })
        });
        keys.map(|key| key.map(|key| key.expect("values of a key"))).collect()
    }

    /// Puts the group of each row of a tile into `into`; `given` has the values of keys that are
    /// given, for the rows `given_rows`.
    ///
    /// # Errors
    /// Memory is refused.
    pub(crate) fn find(
        &mut self,
        segment: &mut SegmentKeys<'_>,
        rows: Rows<'_>,
        given: &mut [Option<KeyColumn<'_>>],
        given_rows: Range<usize>,
        into: &mut [u32],
        account: &mut Account<'_>,
    ) -> Result<(), Refused> {
        if self.groups.is_none() {
            into.fill(0);
            return Ok(());
        }
        if let Some(remembered) = &segment.remembered {
            remembered.products(&segment.columns, rows, &mut self.products);
            let mut is_known = true;
            for (group, product) in into.iter_mut().zip(&self.products) {
                *group = remembered.groups[*product as usize];
                is_known &= *group != UNKNOWN;
            }
            if is_known {
                return Ok(());
            }
        }
        self.numbers.iter_mut().for_each(|column| column.resize(rows.len(), 0));
        if let Some(nulls) = self.numbers.get_mut(self.keys.len()) {
            nulls.fill(0);
        }
        let given_rows = Rows::Stretch(given_rows.start, given_rows.end);
        for (key, (column, given)) in segment.columns.iter_mut().zip(given).enumerate() {
            match (column, given) {
                (Some(column), _) => self.load(key, column, rows, account)?,
                (None, Some(given)) => self.load(key, given, given_rows, account)?,
                (None, None) => {}
            }
        }
        if let Some(groups) = &mut self.groups {
            groups.find_all(&self.numbers, into, account)?;
        }
        if let Some(remembered) = &mut segment.remembered {
            for (group, product) in into.iter().zip(&self.products) {
                remembered.groups[*product as usize] = *group;
            }
        }
        Ok(())
    }

    /// Loads the numbers of a key, and notes which are null.
    fn load(
        &mut self,
        key: usize,
        column: &mut KeyColumn<'_>,
        rows: Rows<'_>,
        account: &mut Account<'_>,
    ) -> Result<(), Refused> {
        let (numbers, nulls) = self.numbers.split_at_mut(self.keys.len());
        let numbers = &mut numbers[key];
        column.load(rows, &mut self.known[key], numbers, &mut self.scratch, account)?;
        if let (Some(bitmap), [nulls]) = (column.nulls(), nulls) {
            rows.each(|at, row| {
                if has_bit(bitmap, row) {
                    numbers[at] = 0;
                    nulls[at] |= 1 << key;
                }
            });
        }
        Ok(())
    }
}

impl Remembered {
    /// No group yet; `None` if a column has no codes, or there are too many products.
    fn of(columns: &[Option<KeyColumn<'_>>]) -> Option<Self> {
        let factors = columns.iter().map(|column| {
            let column = column.as_ref()?;
            let codes = column.codes()?.count + usize::from(column.nulls().is_some());
            u32::try_from(codes).ok()
        });
        let factors = factors.collect::<Option<Vec<u32>>>()?;
        let product = factors.iter().try_fold(1, |product: usize, factor| {
            let product = product.checked_mul(*factor as usize)?;
            (product <= PRODUCTS_MAX).then_some(product)
        })?;
        (!factors.is_empty()).then(|| Self { factors, groups: vec![UNKNOWN; product] })
    }

    /// The product of each row's codes.
    fn products(&self, columns: &[Option<KeyColumn<'_>>], rows: Rows<'_>, into: &mut Vec<u32>) {
        into.clear();
        into.resize(rows.len(), 0);
        for (column, factor) in columns.iter().flatten().zip(&self.factors) {
            let Some(codes) = column.codes() else { continue };
            codes.combine(rows, into, *factor);
            if let Some(nulls) = column.nulls() {
                replace_nulls(codes, nulls, rows, into, *factor);
            }
        }
    }
}

/// Puts the code of null, which is behind the others, in the place of what null rows have.
fn replace_nulls(codes: Codes<'_>, nulls: &[u64], rows: Rows<'_>, into: &mut [u32], factor: u32) {
    rows.each(|at, row| {
        if has_bit(nulls, row) {
            into[at] -= into[at] % factor;
            into[at] += codes.count as u32;
        }
    });
}
