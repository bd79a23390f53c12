//! What each group has so far: counts, sums, and least and greatest numbers.
//!
//! Counts and sums are words that lie side by side for each group; what has no room in words, or is
//! not added up, has an array of its own with an entry for each group.

use std::ops::Range;

use super::arguments::{Argument, ArgumentKind, Arguments, Tile, Values};
use super::bytes;
use super::extremes::Extremes;
use super::sums::{FloatSums, Sums};
use super::words::Words;
use crate::rows::TILE_ROWS;
use crate::sources::account::{Account, Refused};

/// What is said of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Aggregate {
    /// How many rows it has.
    Rows,
    /// How many rows have a value of the argument with this place.
    Count(usize),
    /// The sum of the argument's numbers.
    Sum(usize),
    /// The least of the argument's whole numbers.
    Least(usize),
    /// The greatest of the argument's whole numbers.
    Greatest(usize),
}

/// One for each row.
static ONES: [i64; TILE_ROWS] = [1; TILE_ROWS];
/// Nothing for each row.
static ZEROS: [i64; TILE_ROWS] = [0; TILE_ROWS];

/// The states of all groups. The first word of each counts its rows.
pub(crate) struct States {
    words: Words,
    groups: usize,
    /// For each argument the word that counts its values.
    counts: Vec<usize>,
    /// The sums of each argument that has some.
    sums: Vec<Option<Sums>>,
    floats: Vec<Option<FloatSums>>,
    extremes: Vec<ExtremesOf>,
    /// What words get of each argument, where that is not its numbers: 0 in the place of null, and
    /// of what is added up elsewhere.
    masked: Vec<Vec<i64>>,
}

struct ExtremesOf {
    aggregate: Aggregate,
    argument: usize,
    found: AnyExtremes,
}

enum AnyExtremes {
    Narrow(Extremes<i64>),
    Wide(Extremes<i128>),
}

impl States {
    /// No groups yet; `None` if an aggregate is of values that do not have it.
    pub(crate) fn new(arguments: &[Argument], aggregates: &[Aggregate]) -> Option<Self> {
        let mut words = 1;
        let mut counts = vec![0; arguments.len()];
        for (count, argument) in counts.iter_mut().zip(arguments) {
            if argument.nullable {
                *count = words;
                words += 1;
            }
        }
        let mut sums: Vec<Option<Sums>> = arguments.iter().map(|_| None).collect();
        let mut floats: Vec<Option<FloatSums>> = arguments.iter().map(|_| None).collect();
        let mut extremes: Vec<ExtremesOf> = Vec::new();
        for &aggregate in aggregates {
            match aggregate {
                Aggregate::Rows | Aggregate::Count(_) => {}
                Aggregate::Sum(argument) => match arguments[argument].kind {
                    ArgumentKind::Any => return None,
                    ArgumentKind::Float => floats[argument] = Some(FloatSums::default()),
                    _ if sums[argument].is_some() => {}
                    _ => {
                        sums[argument] = Some(Sums::new(words));
                        words += 1;
                    }
                },
                Aggregate::Least(argument) | Aggregate::Greatest(argument) => {
                    let is_least = matches!(aggregate, Aggregate::Least(_));
                    let found = match arguments[argument].kind {
                        ArgumentKind::Whole => AnyExtremes::Narrow(Extremes::new(is_least)),
                        ArgumentKind::Wide => AnyExtremes::Wide(Extremes::new(is_least)),
                        ArgumentKind::Float | ArgumentKind::Any => return None,
                    };
                    extremes.push(ExtremesOf { aggregate, argument, found });
                }
            }
        }
        let masked = vec![Vec::new(); arguments.len()];
        let words = Words::new(words);
        Some(Self { words, groups: 0, counts, sums, floats, extremes, masked })
    }

    /// No groups yet, of which the same is said.
    pub(crate) fn none_yet(&self) -> Self {
        let sums = self.sums.iter().map(|sums| sums.as_ref().map(|sums| Sums::new(sums.word)));
        let floats = self.floats.iter().map(|floats| floats.as_ref().map(|_| FloatSums::default()));
        let extremes = self.extremes.iter().map(|of| ExtremesOf {
            found: match &of.found {
                AnyExtremes::Narrow(found) => AnyExtremes::Narrow(found.none_yet()),
                AnyExtremes::Wide(found) => AnyExtremes::Wide(found.none_yet()),
            },
            ..*of
        });
        Self {
            words: self.words.none_yet(),
            groups: 0,
            counts: self.counts.clone(),
            sums: sums.collect(),
            floats: floats.collect(),
            extremes: extremes.collect(),
            masked: vec![Vec::new(); self.masked.len()],
        }
    }

    /// Forgets all groups; the room for them stays.
    pub(crate) fn clear(&mut self) {
        self.resize(0);
        self.sums.iter_mut().flatten().for_each(Sums::clear);
    }

    /// The bytes that groups have room in.
    pub(crate) fn bytes(&self) -> usize {
        let wide = self.sums.iter().flatten().map(Sums::bytes);
        self.words.capacity() * self.group_bytes() + wide.sum::<usize>()
    }

    /// Puts some groups of others behind these; what is said of them is the same.
    ///
    /// # Errors
    /// Memory is refused.
    pub(crate) fn append(
        &mut self,
        other: &Self,
        groups: &[u32],
        account: &mut Account<'_>,
    ) -> Result<(), Refused> {
        self.make_room(self.groups + groups.len(), account)?;
        for (sums, others) in self.sums.iter_mut().zip(&other.sums) {
            if let (Some(sums), Some(others)) = (sums, others) {
                sums.append(others, groups, self.groups, account)?;
            }
        }
        self.words.append(&other.words, groups);
        for (floats, others) in self.floats.iter_mut().zip(&other.floats) {
            if let (Some(floats), Some(others)) = (floats, others) {
                floats.append(others, groups);
            }
        }
        for (extremes, others) in self.extremes.iter_mut().zip(&other.extremes) {
            match (&mut extremes.found, &others.found) {
                (AnyExtremes::Narrow(found), AnyExtremes::Narrow(others)) => {
                    found.append(others, groups);
                }
                (AnyExtremes::Wide(found), AnyExtremes::Wide(others)) => {
                    found.append(others, groups);
                }
                // Both have the same aggregates.
                _ => {}
            }
        }
        self.groups += groups.len();
        Ok(())
    }

    /// Makes each group another one of so many, as a list of them says.
    ///
    /// # Errors
    /// Memory is refused.
    pub(crate) fn spread(
        &mut self,
        groups: &[u32],
        count: usize,
        account: &mut Account<'_>,
    ) -> Result<(), Refused> {
        // Both are there while entries are moved into the new ones.
        account.take(count * self.group_bytes())?;
        let before = self.words.capacity() * self.group_bytes();
        for sums in self.sums.iter_mut().flatten() {
            sums.spread(groups, count, account)?;
        }
        self.words.spread(groups, count);
        self.floats.iter_mut().flatten().for_each(|floats| floats.spread(groups, count));
        for extremes in &mut self.extremes {
            match &mut extremes.found {
                AnyExtremes::Narrow(found) => found.spread(groups, count),
                AnyExtremes::Wide(found) => found.spread(groups, count),
            }
        }
        self.groups = count;
        account.give_back(before);
        Ok(())
    }

    /// How many groups were made.
    pub(crate) fn len(&self) -> usize {
        self.groups
    }

    /// Makes room for so many groups.
    ///
    /// # Errors
    /// Memory is refused.
    pub(crate) fn make_room(
        &mut self,
        groups: usize,
        account: &mut Account<'_>,
    ) -> Result<(), Refused> {
        let capacity = self.words.capacity();
        if groups <= capacity {
            return Ok(());
        }
        let wanted = groups.max(capacity * 2);
        // Both are there while entries are moved into the new ones.
        account.take(wanted * self.group_bytes())?;
        self.words.reserve(wanted);
        self.floats.iter_mut().flatten().for_each(|floats| floats.reserve(wanted));
        for extremes in &mut self.extremes {
            match &mut extremes.found {
                AnyExtremes::Narrow(found) => found.reserve(wanted),
                AnyExtremes::Wide(found) => found.reserve(wanted),
            }
        }
        account.give_back(capacity * self.group_bytes());
        Ok(())
    }

    /// Makes room for wide sums of so many groups where others have some.
    ///
    /// # Errors
    /// Memory is refused.
    pub(crate) fn make_wide_room(
        &mut self,
        other: &Self,
        groups: usize,
        account: &mut Account<'_>,
    ) -> Result<(), Refused> {
        for (sums, others) in self.sums.iter_mut().zip(&other.sums) {
            if let (Some(sums), Some(others)) = (sums, others) {
                sums.make_room_like(others, groups, account)?;
            }
        }
        Ok(())
    }

    /// Writes what some groups have behind bytes.
    pub(crate) fn write(&self, groups: Range<usize>, into: &mut Vec<u8>) {
        self.words.write(groups.clone(), into);
        self.sums.iter().flatten().for_each(|sums| sums.write(groups.clone(), into));
        for floats in self.floats.iter().flatten() {
            bytes::put(floats.get(groups.clone()), into);
        }
        for extremes in &self.extremes {
            match &extremes.found {
                AnyExtremes::Narrow(found) => bytes::put(found.get(groups.clone()), into),
                AnyExtremes::Wide(found) => bytes::put(found.get(groups.clone()), into),
            }
        }
    }

    /// Takes what so many groups have from the beginning of bytes, in the place of all groups; what
    /// is said of them is the same as where they were written.
    pub(crate) fn read(&mut self, groups: usize, from: &mut &[u8]) {
        self.groups = groups;
        self.words.read(groups, from);
        self.sums.iter_mut().flatten().for_each(|sums| sums.read(from));
        for floats in self.floats.iter_mut().flatten() {
            *floats = FloatSums::of(bytes::take(groups, from));
        }
        for extremes in &mut self.extremes {
            match &mut extremes.found {
                AnyExtremes::Narrow(found) => found.replace(bytes::take(groups, from)),
                AnyExtremes::Wide(found) => found.replace(bytes::take(groups, from)),
            }
        }
    }

    /// Bytes of a group, but for wide sums.
    pub(crate) fn group_bytes(&self) -> usize {
        let extremes = self.extremes.iter().map(|extremes| match extremes.found {
            AnyExtremes::Narrow(_) => size_of::<i64>(),
            AnyExtremes::Wide(_) => size_of::<i128>(),
        });
        let floats = self.floats.iter().flatten().count() * size_of::<f64>();
        self.words.group_bytes() + floats + extremes.sum::<usize>()
    }

    /// Makes so many groups, for which there is room.
    pub(crate) fn resize(&mut self, groups: usize) {
        if groups == self.groups {
            return;
        }
        self.groups = groups;
        self.words.resize(groups);
        self.floats.iter_mut().flatten().for_each(|floats| floats.resize(groups));
        for extremes in &mut self.extremes {
            match &mut extremes.found {
                AnyExtremes::Narrow(found) => found.resize(groups),
                AnyExtremes::Wide(found) => found.resize(groups),
            }
        }
    }

    /// Adds the rows of a tile, whose groups are given, with the arguments' values, which were
    /// loaded.
    ///
    /// # Errors
    /// Memory is refused.
    pub(crate) fn add(
        &mut self,
        arguments: &Arguments,
        tile: &Tile<'_, '_, '_>,
        groups: &[u32],
        account: &mut Account<'_>,
    ) -> Result<(), Refused> {
        for argument in 0..self.sums.len() {
            self.add_sums(argument, arguments, tile, groups, account)?;
        }
        self.add_words(arguments, tile, groups);
        for (argument, floats) in self.floats.iter_mut().enumerate() {
            if let (Some(sums), Values::Floats(floats)) = (floats, arguments.values(tile, argument))
            {
                sums.add(groups, floats, has_value(arguments, argument));
            }
        }
        for ExtremesOf { argument, found, .. } in &mut self.extremes {
            let has = has_value(arguments, *argument);
            match (found, arguments.values(tile, *argument)) {
                (AnyExtremes::Narrow(found), Values::Narrow(numbers, _)) => {
                    found.add(groups, numbers.iter().copied(), has);
                }
                (AnyExtremes::Wide(found), Values::Narrow(numbers, _)) => {
                    found.add(groups, numbers.iter().map(|number| i128::from(*number)), has);
                }
                (AnyExtremes::Wide(found), Values::Wide(numbers)) => {
                    found.add(groups, numbers.iter().copied(), has);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Adds what some groups of others have to these groups here; what is said of them is the same.
    ///
    /// # Errors
    /// Memory is refused.
    pub(crate) fn absorb(
        &mut self,
        other: &Self,
        taken: Range<usize>,
        groups: &[u32],
        account: &mut Account<'_>,
    ) -> Result<(), Refused> {
        for (sums, other_sums) in self.sums.iter_mut().zip(&other.sums) {
            if let (Some(sums), Some(other_sums)) = (sums, other_sums) {
                let words = &mut self.words;
                sums.absorb(other_sums, taken.clone(), words, groups, self.groups, account)?;
            }
        }
        self.words.absorb(&other.words, taken.clone(), groups);
        for (floats, others) in self.floats.iter_mut().zip(&other.floats) {
            if let (Some(floats), Some(others)) = (floats, others) {
                floats.add(groups, others.get(taken.clone()), |_| true);
            }
        }
        for (extremes, others) in self.extremes.iter_mut().zip(&other.extremes) {
            match (&mut extremes.found, &others.found) {
                (AnyExtremes::Narrow(found), AnyExtremes::Narrow(others)) => {
                    found.add(groups, others.get(taken.clone()).iter().copied(), |_| true);
                }
                (AnyExtremes::Wide(found), AnyExtremes::Wide(others)) => {
                    found.add(groups, others.get(taken.clone()).iter().copied(), |_| true);
                }
                // Both have the same aggregates.
                _ => {}
            }
        }
        Ok(())
    }

    /// Adds numbers that words have no room for, and prepares what is added to words.
    fn add_sums(
        &mut self,
        argument: usize,
        arguments: &Arguments,
        tile: &Tile<'_, '_, '_>,
        groups: &[u32],
        account: &mut Account<'_>,
    ) -> Result<(), Refused> {
        let Some(sums) = &mut self.sums[argument] else { return Ok(()) };
        let has = has_value(arguments, argument);
        let masked = &mut self.masked[argument];
        masked.clear();
        match arguments.values(tile, argument) {
            Values::Narrow(numbers, range) => {
                let rows = numbers.len();
                if !sums.expect(rows, range, &mut self.words, self.groups, account)? {
                    masked.resize(rows, 0);
                    let numbers = numbers.iter().map(|number| i128::from(*number));
                    return sums.add_wide(groups, numbers, has, self.groups, account);
                }
                if let Some(valid) = arguments.valid(argument) {
                    masked.extend(numbers.iter().zip(valid).map(|(number, valid)| number * valid));
                }
                Ok(())
            }
            Values::Wide(numbers) => {
                masked.resize(numbers.len(), 0);
                sums.add_wide(groups, numbers.iter().copied(), has, self.groups, account)
            }
            Values::Floats(_) | Values::Any => Ok(()),
        }
    }

    /// Adds what is counted and added up in words.
    fn add_words(&mut self, arguments: &Arguments, tile: &Tile<'_, '_, '_>, groups: &[u32]) {
        let mut tiles: Vec<&[i64]> = vec![&ONES[..groups.len()]];
        let counted = self.counts.iter().enumerate().filter(|(_, word)| **word > 0);
        tiles.extend(
            counted.map(|(argument, _)| arguments.valid(argument).unwrap_or(&ONES[..groups.len()])),
        );
        // In the order in which sums were given their words.
        let mut summed: Vec<(usize, &[i64])> = Vec::new();
        for (argument, sums) in self.sums.iter().enumerate() {
            let Some(sums) = sums else { continue };
            let numbers = match arguments.values(tile, argument) {
                _ if !self.masked[argument].is_empty() => self.masked[argument].as_slice(),
                Values::Narrow(numbers, _) => numbers,
                _ => &ZEROS[..groups.len()],
            };
            summed.push((sums.word, numbers));
        }
        summed.sort_unstable_by_key(|(word, _)| *word);
        tiles.extend(summed.into_iter().map(|(_, numbers)| numbers));
        match self.groups {
            1 => self.words.add_to_first(&tiles),
            _ => self.words.add(groups, &tiles),
        }
    }

    /// How many rows of some groups have a value of an argument, or how many there are.
    pub(crate) fn counts(&self, groups: Range<usize>, argument: Option<usize>) -> Vec<i64> {
        self.words.get(groups, argument.map_or(0, |argument| self.counts[argument]))
    }

    /// The sums of some groups; `None` if one needs more than 16 bytes.
    pub(crate) fn sums(&self, groups: Range<usize>, argument: usize) -> Option<Vec<i128>> {
        let sums = self.sums[argument].as_ref()?;
        sums.get(groups, &self.words)
    }

    /// The sums of floats of some groups.
    pub(crate) fn float_sums(&self, groups: Range<usize>, argument: usize) -> &[f64] {
        self.floats[argument].as_ref().map_or(&[], |floats| floats.get(groups))
    }

    /// The least or greatest numbers of some groups; any for one that has none.
    pub(crate) fn extremes(&self, groups: Range<usize>, aggregate: Aggregate) -> Vec<i128> {
        let found = self.extremes.iter().find(|extremes| extremes.aggregate == aggregate);
        match found.map(|extremes| &extremes.found) {
            Some(AnyExtremes::Narrow(found)) => {
                found.get(groups).iter().map(|number| i128::from(*number)).collect()
            }
            Some(AnyExtremes::Wide(found)) => found.get(groups).to_vec(),
            None => Vec::new(),
        }
    }
}

/// Whether rows of the tile that was loaded last have a value of an argument.
fn has_value(arguments: &Arguments, argument: usize) -> impl Fn(usize) -> bool {
    let valid = arguments.valid(argument);
    move |row| valid.is_none_or(|valid| valid[row] == 1)
}
