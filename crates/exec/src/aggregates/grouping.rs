//! Which group each row of a tile is of.
//!
//! Where a segment's keys have few codes, the group of each product of codes is remembered, and a
//! row costs one look at an array; so it does where the only key is a row of another relation. Else
//! its key is looked up by its numbers.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use super::groups::{AnyGroups, KEY_NUMBERS_MAX, LookUp, Merged, groups_of};
use crate::keys::column::{KeyColumn, TextNumbers};
use crate::keys::hash::Hasher;
use crate::keys::texts::KnownTexts;
use crate::rows::Rows;
use crate::simd::vectorized;
use crate::sources::account::{Account, Refused};
use crate::sources::source::{Codes, Given, Source, has_bit};

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
    /// What values it has.
    pub kind: KeyKind,
}

/// What values a key has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyKind {
    /// Whole numbers of 8 bytes.
    Number,
    /// Texts.
    Text,
    /// The numbers of the rows of a relation that has so many: each has values of its own.
    Row {
        /// The relation.
        relation: usize,
        /// How many rows it has.
        rows: usize,
    },
}

/// The groups of all rows so far.
pub(crate) struct Grouping {
    pub(crate) keys: Vec<Key>,
    /// `None` if there are no keys: all rows are of one group.
    groups: Option<Box<dyn AnyGroups>>,
    /// The relation that each key is a column of.
    relations: Vec<usize>,
    /// The texts of each key; several groupings may share them, once all have come.
    known: Vec<Arc<KnownTexts>>,
    /// The number of the text of each row of its relation, as far as it is known.
    by_row: Vec<Vec<u64>>,
    /// The group of each row, if a row determines the group.
    row_groups: Vec<u32>,
    /// How often groups were forgotten.
    forgotten: usize,
    /// Whether the first key determines the others.
    first_determines: bool,
    /// The numbers of a tile's keys, column by column.
    numbers: Vec<Vec<u64>>,
    products: Vec<u32>,
    scratch: Vec<i64>,
}

/// The keys' columns in one segment.
pub(crate) struct SegmentKeys<'s> {
    /// `None` if the caller gives the values.
    columns: Vec<Option<KeyColumn<'s>>>,
    /// Groups that were there before others were forgotten are none any more.
    remembered: Option<Remembered>,
    forgotten: usize,
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
    ///
    /// Columns are of the relations that their places say; of the first, if it says none.
    /// Where the first key is a row that determines the others, no other is compared.
    pub(crate) fn new(keys: Vec<Key>, relations: &[usize], first_determines: bool) -> Option<Self> {
        let has_nulls = keys.iter().any(|key| key.nullable);
        let numbers = keys.len() + usize::from(has_nulls);
        let groups = match keys.is_empty() {
            true => None,
            false => Some(groups_of(numbers)?),
        };
        let relation = |key: &Key| match (key.kind, key.column) {
            (KeyKind::Row { relation, .. }, _) => relation,
            (_, Some(column)) => relations.get(column).copied().unwrap_or_default(),
            _ => 0,
        };
        Some(Self {
            groups,
            relations: keys.iter().map(relation).collect(),
            known: keys.iter().map(|_| Arc::new(KnownTexts::new())).collect(),
            by_row: vec![Vec::new(); keys.len()],
            row_groups: Vec::new(),
            forgotten: 0,
            first_determines: first_determines || keys.len() == 1,
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

    /// All texts of a key, one behind the other, and where each ends.
    pub(crate) fn all_texts(&self, key: usize) -> (&[u8], &[usize]) {
        self.known[key].all()
    }

    /// The text of a key's number.
    pub(crate) fn text(&self, key: usize, number: u64) -> &[u8] {
        self.known[key].get(number)
    }

    /// Whether all keys are rows, of which the first determines the others.
    fn is_row(&self) -> bool {
        is_row(&self.keys, self.first_determines)
    }

    /// Whether the last of a key's numbers says which columns are null.
    fn has_nulls(&self) -> bool {
        self.numbers.len() > self.keys.len()
    }

    /// The keys' columns in a segment.
    pub(crate) fn segment<'s>(&self, columns: &[Source<'s>]) -> SegmentKeys<'s> {
        let columns = self.keys.iter().zip(&self.relations).map(|(key, relation)| {
            if let KeyKind::Row { rows, .. } = key.kind {
                return Some(KeyColumn::Row { rows });
            }
            let source = &columns[key.column?];
            let column = match relation {
                0 => KeyColumn::of(source)?,
                _ => KeyColumn::of_relation(source)?,
            };
            (column.is_text() == (key.kind == KeyKind::Text)).then_some(column)
        });
        let columns: Vec<_> = columns.collect();
        let remembered = if self.is_row() { None } else { Remembered::of(&columns) };
        SegmentKeys { remembered, columns, forgotten: self.forgotten }
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
                let is_text = self.keys[key].kind == KeyKind::Text;
                column.filter(|column| column.is_text() == is_text)
            })
        });
        keys.map(|key| key.map(|key| key.expect("values of a key"))).collect()
    }

    /// Puts the group of each row of a tile into `into`, of which `rows` are the rows of each
    /// relation; `given` has the values of keys that are given, for the rows `given_rows`.
    ///
    /// # Errors
    /// Memory is refused.
    pub(crate) fn find(
        &mut self,
        segment: &mut SegmentKeys<'_>,
        rows: &[Rows<'_>],
        given: &mut [Option<KeyColumn<'_>>],
        given_rows: Range<usize>,
        into: &mut [u32],
        account: &mut Account<'_>,
    ) -> Result<(), Refused> {
        if self.groups.is_none() {
            into.fill(0);
            return Ok(());
        }
        if self.is_row() {
            return self.find_rows(rows, into, account);
        }
        if segment.forgotten != self.forgotten {
            segment.forgotten = self.forgotten;
            segment.remembered.iter_mut().for_each(|it| it.groups.fill(UNKNOWN));
        }
        let rows_of = |key: usize| rows[self.relations[key]];
        if let Some(remembered) = &segment.remembered {
            remembered.products(&segment.columns, rows_of, &mut self.products);
            let mut is_known = true;
            find_products(&self.products, &remembered.groups, into, &mut is_known);
            if is_known {
                return Ok(());
            }
        }
        self.numbers.iter_mut().for_each(|column| column.resize(given_rows.len(), 0));
        if let Some(nulls) = self.numbers.get_mut(self.keys.len()) {
            nulls.fill(0);
        }
        let given_rows = Rows::Stretch(given_rows.start, given_rows.end);
        for (key, (column, given)) in segment.columns.iter_mut().zip(given).enumerate() {
            match (column, given) {
                (Some(column), _) => {
                    self.load(key, column, rows[self.relations[key]], account)?;
                }
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

    /// Whether groups are looked up in a table.
    pub(crate) fn has_table(&self) -> bool {
        !self.is_row() && self.groups.as_ref().is_some_and(|groups| !groups.ascends())
    }

    /// The numbers of all keys, one key behind the other, and how many a key has there: what comes
    /// behind its own is 0. None without keys.
    pub(crate) fn all_numbers(&self) -> (&[u64], usize) {
        self.groups.as_ref().map_or((&[], 1), |groups| (groups.all_numbers(), groups.width()))
    }

    /// How many numbers a key has.
    pub(crate) fn key_numbers(&self) -> usize {
        self.numbers.len()
    }

    /// Adds the hashes of those texts that are not there yet to those of the others, by key.
    ///
    /// # Errors
    /// Memory is refused.
    pub(crate) fn hash_texts(
        &self,
        hasher: Hasher,
        hashes: &mut Vec<Vec<u64>>,
        account: &mut Account<'_>,
    ) -> Result<(), Refused> {
        hashes.resize(self.known.len(), Vec::new());
        for (hashes, texts) in hashes.iter_mut().zip(&self.known) {
            account.reserve(hashes, texts.len() - hashes.len())?;
            let missing = hashes.len()..texts.len();
            hashes.extend(missing.map(|number| hasher.of_bytes(texts.get(number as u64))));
        }
        Ok(())
    }

    /// Puts a hash of each of some keys into `into`, which is the same in all groupings by the same
    /// keys; `texts` are the hashes of all texts, by key.
    pub(crate) fn hash_keys(
        &self,
        hasher: Hasher,
        texts: &[Vec<u64>],
        groups: Range<usize>,
        into: &mut Vec<u64>,
    ) {
        into.clear();
        into.resize(groups.len(), hasher.start());
        for place in 0..self.numbers.len() {
            let mut words = self.numbers(groups.clone(), place);
            if self.keys.get(place).is_some_and(|key| key.kind == KeyKind::Text) {
                let (texts, valid) = (&texts[place], self.valid(groups.clone(), place));
                for (at, word) in words.iter_mut().enumerate() {
                    let is_valid = valid.as_ref().is_none_or(|valid| valid[at]);
                    *word = if is_valid { texts[*word as usize] } else { 0 };
                }
            }
            for (hash, word) in into.iter_mut().zip(words) {
                *hash = hasher.add(*hash, word);
            }
        }
    }

    /// Forgets all groups, but no texts; there will be no more than some again before that, which
    /// are looked up or not.
    ///
    /// # Errors
    /// Memory is refused.
    pub(crate) fn forget(
        &mut self,
        most: usize,
        look_up: LookUp,
        account: &mut Account<'_>,
    ) -> Result<(), Refused> {
        self.forgotten += 1;
        self.row_groups.fill(UNKNOWN);
        // The groups of rows are found without a table.
        let look_up = if self.is_row() { LookUp::None } else { look_up };
        self.groups.as_mut().map_or(Ok(()), |groups| groups.clear(most, look_up, account))
    }

    /// Forgets all groups and the room that they had, when no more will come.
    pub(crate) fn end(&mut self, account: &mut Account<'_>) {
        self.forgotten += 1;
        let row_groups = std::mem::take(&mut self.row_groups);
        account.give_back(row_groups.capacity() * size_of::<u32>());
        if let Some(groups) = &mut self.groups {
            account.give_back(groups.bytes());
            self.groups = groups_of(self.numbers.len());
        }
    }

    /// The number that each text of another grouping by the same keys has here, by key; all of them
    /// are known here then.
    ///
    /// # Errors
    /// Memory is refused.
    pub(crate) fn learn_texts(
        &mut self,
        other: &Self,
        account: &mut Account<'_>,
    ) -> Result<Vec<Vec<u64>>, Refused> {
        let keys = self.known.iter_mut().zip(&other.known).map(|(known, texts)| {
            let known = Arc::make_mut(known);
            let mut numbers = Vec::new();
            account.reserve(&mut numbers, texts.len())?;
            for number in 0..texts.len() {
                numbers.push(known.number_of(texts.get(number as u64), account)?);
            }
            Ok(numbers)
        });
        keys.collect()
    }

    /// No groups yet, by the same keys, whose texts have the same numbers.
    pub(crate) fn without_groups(&self) -> Self {
        Self {
            keys: self.keys.clone(),
            groups: groups_of(self.numbers.len()).filter(|_| !self.keys.is_empty()),
            relations: self.relations.clone(),
            known: self.known.clone(),
            by_row: vec![Vec::new(); self.keys.len()],
            row_groups: Vec::new(),
            forgotten: 0,
            first_determines: self.first_determines,
            numbers: vec![Vec::new(); self.numbers.len()],
            products: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// The groups themselves, if there are keys.
    pub(crate) fn groups_mut(&mut self) -> Option<&mut (dyn AnyGroups + 'static)> {
        self.groups.as_deref_mut()
    }

    /// For each key of texts the numbers that others of its texts have here: none is known yet.
    pub(crate) fn known_texts(&self) -> Vec<Vec<u64>> {
        self.known.iter().map(|known| vec![UNKNOWN.into(); known.len()]).collect()
    }

    /// Whether all keys are numbers that have ascended so far.
    pub(crate) fn ascends(&self) -> bool {
        let is_number = |key: &Key| key.kind == KeyKind::Number;
        let groups = self.groups.as_ref().filter(|_| self.keys.iter().all(is_number));
        groups.is_some_and(|groups| groups.ascends())
    }

    /// How the last key stands to the first one of another grouping by the same keys, if both
    /// ascend and have some.
    pub(crate) fn last_to_first_of(&self, next: &Self) -> Option<Ordering> {
        if !self.ascends() || !next.ascends() {
            return None;
        }
        let (groups, others) = (self.groups.as_ref()?, next.groups.as_ref()?);
        let count = groups.len();
        if count == 0 || others.len() == 0 {
            return None;
        }
        let key = |groups: &dyn AnyGroups, group: usize| -> Vec<u64> {
            let places = 0..self.numbers.len();
            places.flat_map(|place| groups.numbers(group..group + 1, place)).collect()
        };
        Some(key(groups.as_ref(), count - 1).cmp(&key(others.as_ref(), 0)))
    }

    /// Merges the groups of another grouping by the same keys into these where no key has to be
    /// looked up; `None` if it has.
    ///
    /// # Errors
    /// Memory is refused.
    pub(crate) fn merge(
        &mut self,
        other: &Self,
        account: &mut Account<'_>,
    ) -> Result<Option<Merged>, Refused> {
        // Texts have numbers of their own in each grouping, and rows their groups.
        if !self.ascends() || !other.ascends() {
            return Ok(None);
        }
        match (&mut self.groups, &other.groups) {
            (Some(groups), Some(others)) => groups.merge(others.as_ref(), account),
            _ => Ok(None),
        }
    }

    /// Puts the group of each of some groups of another grouping by the same keys into `into`;
    /// `known` are the numbers of its texts, as far as they were met.
    ///
    /// # Errors
    /// Memory is refused.
    pub(crate) fn find_groups(
        &mut self,
        other: &Self,
        known: &mut [Vec<u64>],
        taken: Range<usize>,
        into: &mut [u32],
        account: &mut Account<'_>,
    ) -> Result<(), Refused> {
        let (Some(groups), Some(others)) = (&mut self.groups, &other.groups) else {
            into.fill(0);
            return Ok(());
        };
        for (place, numbers) in self.numbers.iter_mut().enumerate() {
            *numbers = others.numbers(taken.clone(), place);
        }
        for (key, known) in known.iter_mut().enumerate() {
            if self.keys[key].kind != KeyKind::Text {
                continue;
            }
            let is_null = |at: usize| match self.numbers.get(self.keys.len()) {
                Some(nulls) => nulls[at] >> key & 1 == 1,
                None => false,
            };
            let places: Vec<usize> = (0..taken.len()).filter(|at| !is_null(*at)).collect();
            for at in places {
                let number = &mut self.numbers[key][at];
                let here = &mut known[*number as usize];
                if *here == UNKNOWN.into() {
                    let known = Arc::make_mut(&mut self.known[key]);
                    *here = known.number_of(other.known[key].get(*number), account)?;
                }
                *number = *here;
            }
        }
        if !is_row(&self.keys, self.first_determines) {
            return groups.find_all(&self.numbers, into, account);
        }
        make_row_groups(&mut self.row_groups, &self.keys, account)?;
        for (at, group) in into.iter_mut().enumerate() {
            let of_row = &mut self.row_groups[self.numbers[0][at] as usize];
            if *of_row == UNKNOWN {
                let key: Vec<u64> = self.numbers.iter().map(|numbers| numbers[at]).collect();
                *of_row = groups.add(&key);
            }
            *group = *of_row;
        }
        Ok(())
    }

    /// The groups of rows where a row determines the group.
    fn find_rows(
        &mut self,
        rows: &[Rows<'_>],
        into: &mut [u32],
        account: &mut Account<'_>,
    ) -> Result<(), Refused> {
        let Some(groups) = &mut self.groups else { return Ok(()) };
        make_row_groups(&mut self.row_groups, &self.keys, account)?;
        let (row_groups, relations) = (&mut self.row_groups, &self.relations);
        rows[relations[0]].each(|at, row| {
            let group = &mut row_groups[row];
            if *group == UNKNOWN {
                let mut key = [0; KEY_NUMBERS_MAX];
                let numbers = key.iter_mut().zip(relations);
                numbers.for_each(|(to, relation)| *to = rows[*relation].row(at) as u64);
                *group = groups.add(&key);
            }
            into[at] = *group;
        });
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
        let (known, by_row) = (Arc::make_mut(&mut self.known[key]), &mut self.by_row[key]);
        if let KeyColumn::RowTexts { texts, .. } = column {
            account.reserve(by_row, texts.rows() - by_row.len())?;
        }
        let number_of = &mut |text: &[u8]| known.number_of(text, account);
        column.load(rows, &mut TextNumbers { number_of, by_row }, numbers, &mut self.scratch)?;
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

/// Whether all keys are rows, of which the first determines the others, as it is said.
fn is_row(keys: &[Key], first_determines: bool) -> bool {
    let is_row = |key: &Key| matches!(key.kind, KeyKind::Row { .. });
    first_determines && !keys.is_empty() && keys.iter().all(is_row)
}

/// Makes the groups of the first key's rows, of which none is known, if there are none yet.
fn make_row_groups(
    row_groups: &mut Vec<u32>,
    keys: &[Key],
    account: &mut Account<'_>,
) -> Result<(), Refused> {
    if let Some(Key { kind: KeyKind::Row { rows, .. }, .. }) = keys.first()
        && row_groups.len() < *rows
    {
        account.reserve(row_groups, *rows)?;
        row_groups.resize(*rows, UNKNOWN);
    }
    Ok(())
}

impl Remembered {
    /// No group yet; `None` if a column has no codes, or there are too many products.
    fn of(columns: &[Option<KeyColumn<'_>>]) -> Option<Self> {
        let factors = columns.iter().map(|column| {
            let column = column.as_ref()?;
            let codes = column.codes()?.count() + usize::from(column.nulls().is_some());
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
    fn products<'r>(
        &self,
        columns: &[Option<KeyColumn<'_>>],
        rows: impl Fn(usize) -> Rows<'r>,
        into: &mut Vec<u32>,
    ) {
        into.clear();
        into.resize(rows(0).len(), 0);
        for (key, (column, factor)) in columns.iter().flatten().zip(&self.factors).enumerate() {
            let Some(codes) = column.codes() else { continue };
            let rows = rows(key);
            codes.combine(rows, into, *factor);
            if let Some(nulls) = column.nulls() {
                replace_nulls(codes, nulls, rows, into, *factor);
            }
        }
    }
}

vectorized! {
    /// Puts the group of each product in its place, and says whether all are known.
    fn find_products(products: &[u32], groups: &[u32], into: &mut [u32], are_known: &mut bool) {
        *are_known = products.iter().zip(into).fold(true, |all, (product, group)| {
            *group = groups.get(*product as usize).copied().unwrap_or(UNKNOWN);
            all & (*group != UNKNOWN)
        });
    }
}

/// Puts the code of null, which is behind the others, in the place of what null rows have.
fn replace_nulls(codes: Codes<'_>, nulls: &[u64], rows: Rows<'_>, into: &mut [u32], factor: u32) {
    rows.each(|at, row| {
        if has_bit(nulls, row) {
            into[at] -= into[at] % factor;
            into[at] += codes.count() as u32;
        }
    });
}
