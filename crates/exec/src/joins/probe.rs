//! The keys of rows that are looked up in a table, tile by tile.
//!
//! Keys become numbers as those of the build side did, a text the number that it has there, if it
//! has one. NULL finds nothing, unless nulls are equal.

use super::lookup::{Lookup, NO_ENTRY};
use super::table::JoinTable;
use crate::keys::column::{KeyColumn, TextNumbers};
use crate::rows::Rows;
use crate::simd::vectorized;
use crate::sources::account::Refused;
use crate::sources::source::{Given, Source, has_bit};

/// The number of a text that no row of the table has.
const NO_TEXT: u64 = u64::MAX - 1;

/// Where the values of a key are.
#[derive(Clone, Copy)]
pub struct ProbeSource<'s> {
    /// The column.
    pub source: Source<'s>,
    /// The relation that it is a column of.
    pub relation: usize,
}

impl<'s> ProbeSource<'s> {
    /// A column of the first relation.
    pub fn first(source: Source<'s>) -> Self {
        Self { source, relation: 0 }
    }
}

/// The columns of the keys that are looked up, in one segment.
pub struct ProbeColumns<'s> {
    keys: Vec<ProbeColumn<'s>>,
}

struct ProbeColumn<'s> {
    /// `None` if the caller gives the values, one for each row.
    column: Option<KeyColumn<'s>>,
    relation: usize,
}

impl ProbeColumns<'_> {
    /// Whether the caller has to give the values of a key.
    pub fn is_given(&self, key: usize) -> bool {
        self.keys[key].column.is_none()
    }
}

/// What whoever looks keys up keeps between two tiles.
pub struct Probe {
    /// The numbers of the texts of relations' rows.
    by_row: Vec<Vec<u64>>,
    /// Keys of one number, or packed.
    numbers: Vec<i64>,
    /// The numbers of each part where keys are wide.
    parts: Vec<Vec<i64>>,
    /// 1 for a row of which a part is beyond those of the table.
    beyond: Vec<u8>,
    part: Vec<i64>,
    words: Vec<u64>,
    scratch: Vec<i64>,
}

impl Probe {
    /// To look keys up in this table.
    pub fn new(table: &JoinTable) -> Self {
        let parts = table.parts.len();
        Self {
            by_row: vec![Vec::new(); parts],
            numbers: Vec::new(),
            parts: vec![Vec::new(); parts],
            beyond: Vec::new(),
            part: Vec::new(),
            words: Vec::new(),
            scratch: Vec::new(),
        }
    }
}

/// Keys of the rows of a tile.
struct Tile<'t, 's, 'r> {
    columns: &'t mut [ProbeColumn<'s>],
    given: &'t mut [Option<KeyColumn<'r>>],
    rows: &'t [Rows<'r>],
    len: usize,
}

impl Tile<'_, '_, '_> {
    fn rows_of(&self, key: usize) -> Rows<'_> {
        match self.columns[key].column {
            Some(_) => self.rows[self.columns[key].relation],
            None => Rows::Stretch(0, self.len),
        }
    }

    fn nulls(&self, key: usize) -> Option<&[u64]> {
        let column = self.columns[key].column.as_ref().or(self.given[key].as_ref());
        column.and_then(KeyColumn::nulls)
    }
}

impl JoinTable {
    /// The columns of keys to look up, in a segment.
    pub fn columns<'s>(&self, sources: &[ProbeSource<'s>]) -> ProbeColumns<'s> {
        let keys = sources.iter().zip(&self.parts).map(|(from, part)| {
            let column = match from.relation {
                0 => KeyColumn::of(&from.source),
                _ => KeyColumn::of_relation(&from.source),
            };
            let column = column.filter(|column| column.is_text() == part.is_text);
            ProbeColumn { column, relation: from.relation }
        });
        ProbeColumns { keys: keys.collect() }
    }

    /// Puts the entry of each tuple's key into `into`; [`NO_ENTRY`] if there is none. `rows` are
    /// the rows of each relation, `given` the values of keys that the caller has to give.
    ///
    /// # Errors
    /// Memory is refused.
    ///
    /// # Panics
    /// If values that the caller has to give are missing.
    pub fn find(
        &self,
        probe: &mut Probe,
        columns: &mut ProbeColumns<'_>,
        given: &[Option<Given<'_>>],
        rows: &[Rows<'_>],
        into: &mut Vec<u32>,
    ) -> Result<(), Refused> {
        let len = rows[0].len();
        into.clear();
        into.resize(len, NO_ENTRY);
        let Some(lookup) = &self.lookup else { return Ok(()) };
        let mut given: Vec<_> = (0..columns.keys.len())
            .map(|key| {
                columns.is_given(key).then(|| {
                    let given = given.get(key).copied().flatten().map(Source::Given);
                    let column = given.as_ref().and_then(KeyColumn::of);
                    let is_text = self.parts[key].is_text;
                    let column = column.filter(|column| column.is_text() == is_text);
                    column.expect("values of a key")
                })
            })
            .collect();
        let mut tile = Tile { columns: &mut columns.keys, given: &mut given, rows, len };
        match lookup {
            Lookup::Wide(table) => {
                for part in 0..self.parts.len() {
                    self.load(part, probe, &mut tile)?;
                    std::mem::swap(&mut probe.part, &mut probe.parts[part]);
                }
                table.find_all(&probe.parts, into);
            }
            Lookup::Ranked(ranked) => {
                self.load_packed(probe, &mut tile)?;
                ranked.find_all(&probe.numbers, into);
            }
            Lookup::Hashed(table) => {
                self.load_packed(probe, &mut tile)?;
                table.find_all(&probe.numbers, into);
            }
        }
        if self.parts.len() > 1 && !matches!(lookup, Lookup::Wide(_)) {
            let beyond = into.iter_mut().zip(&probe.beyond).filter(|(_, beyond)| **beyond != 0);
            beyond.for_each(|(to, _)| *to = NO_ENTRY);
        }
        if !self.nulls_are_equal {
            for key in 0..tile.columns.len() {
                let Some(nulls) = tile.nulls(key) else { continue };
                tile.rows_of(key).each(|at, row| {
                    if has_bit(nulls, row) {
                        into[at] = NO_ENTRY;
                    }
                });
            }
        }
        Ok(())
    }

    /// Loads keys as one number each.
    fn load_packed(&self, probe: &mut Probe, tile: &mut Tile<'_, '_, '_>) -> Result<(), Refused> {
        if self.parts.len() == 1 {
            self.load(0, probe, tile)?;
            std::mem::swap(&mut probe.part, &mut probe.numbers);
            return Ok(());
        }
        probe.numbers.clear();
        probe.numbers.resize(tile.len, 0);
        probe.beyond.clear();
        probe.beyond.resize(tile.len, 0);
        for (place, part) in self.parts.iter().enumerate() {
            self.load(place, probe, tile)?;
            let packing = Packing { low: part.low, high: part.high, stride: part.stride };
            pack(packing, &probe.part, &mut probe.numbers, &mut probe.beyond);
        }
        Ok(())
    }

    /// Loads the numbers of a part of the keys; of null rows 0, if these are equal, else any.
    fn load(
        &self,
        part: usize,
        probe: &mut Probe,
        tile: &mut Tile<'_, '_, '_>,
    ) -> Result<(), Refused> {
        probe.part.clear();
        probe.part.resize(tile.len, 0);
        if part == tile.columns.len() {
            for key in 0..part {
                let Some(nulls) = tile.nulls(key) else { continue };
                tile.rows_of(key).each(|at, row| {
                    probe.part[at] |= i64::from(has_bit(nulls, row)) << key;
                });
            }
            return Ok(());
        }
        let all = Rows::Stretch(0, tile.len);
        let of = &mut tile.columns[part];
        let (column, rows) = match (&mut of.column, &mut tile.given[part]) {
            (Some(column), _) => (column, tile.rows[of.relation]),
            (None, Some(given)) => {
                return self.load_column(part, given, all, probe).map(|()| {
                    self.clear_nulls(part, probe, tile);
                });
            }
            (None, None) => return Ok(()),
        };
        self.load_column(part, column, rows, probe)?;
        self.clear_nulls(part, probe, tile);
        Ok(())
    }

    fn load_column(
        &self,
        part: usize,
        column: &mut KeyColumn<'_>,
        rows: Rows<'_>,
        probe: &mut Probe,
    ) -> Result<(), Refused> {
        if let KeyColumn::Numbers(loader) = column {
            loader.load(rows, &mut probe.part);
            return Ok(());
        }
        let texts = &self.texts[part];
        let number_of = &mut |text: &[u8]| Ok(texts.find(text).unwrap_or(NO_TEXT));
        let mut known = TextNumbers { number_of, by_row: &mut probe.by_row[part] };
        probe.words.resize(probe.part.len(), 0);
        column.load(rows, &mut known, &mut probe.words, &mut probe.scratch)?;
        probe.part.iter_mut().zip(&probe.words).for_each(|(to, word)| *to = *word as i64);
        Ok(())
    }

    /// Puts 0 in the place of nulls, where these are equal.
    fn clear_nulls(&self, part: usize, probe: &mut Probe, tile: &Tile<'_, '_, '_>) {
        if let (true, Some(nulls)) = (self.nulls_are_equal, tile.nulls(part)) {
            tile.rows_of(part).each(|at, row| {
                if has_bit(nulls, row) {
                    probe.part[at] = 0;
                }
            });
        }
    }
}

/// How a part becomes part of a packed number.
#[derive(Clone, Copy)]
struct Packing {
    low: i64,
    high: i64,
    stride: i64,
}

vectorized! {
    /// Adds a part to packed numbers, and notes which parts are beyond those of the table.
    fn pack(packing: Packing, part: &[i64], packed: &mut [i64], beyond: &mut [u8]) {
        let Packing { low, high, stride } = packing;
        for ((number, to), beyond) in part.iter().zip(packed).zip(beyond) {
            *beyond |= u8::from(*number < low || *number > high);
            *to = to.wrapping_add(number.wrapping_sub(low).wrapping_mul(stride));
        }
    }
}
