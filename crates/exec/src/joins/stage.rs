//! One join: tuples come in, and those go out that have a row of the build side, or have none, as
//! the kind of join wants it.
//!
//! A tuple that has many rows is given out part by part. Conditions beyond the equality of keys
//! are evaluated by the caller on pairs, before it is known whether a tuple has a row at all. After
//! the last tuple come the rows of the build side that nobody had, if they are wanted.

use std::sync::Arc;

use super::lookup::NO_ENTRY;
use super::table::{JoinTable, RowsOfEntry};
use super::tuples::Tuples;
use crate::rows::BATCH_ROWS;

/// What goes out of a join.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinKind {
    /// Pairs; and what is in none, if it is wanted.
    Pairs {
        /// Tuples without a row come out with the row behind the last.
        tuples_without: bool,
        /// Rows of the build side without a tuple come out in the end.
        rows_without: bool,
    },
    /// Tuples that have a row, or those that have none.
    Tuples {
        /// Whether those that have a row come out.
        with: bool,
    },
    /// All tuples, with row 1 of one relation more if they have a row, else with row 0.
    MarkedTuples,
    /// Rows of the build side that have a tuple, or those that have none, in the end.
    Rows {
        /// Whether those that have a tuple come out.
        with: bool,
    },
    /// Rows of the build side that are in no tuple, as NOT IN means it: none if some key of a tuple
    /// is null, and none whose key is null unless there are no tuples at all.
    RowsNotIn,
    /// All rows of the build side in the end, marked as tuples are.
    MarkedRows,
}

impl JoinKind {
    /// Whether rows of the build side come out in the end, for which it matters which tuples came.
    pub fn gives_rows(self) -> bool {
        match self {
            Self::Pairs { rows_without, .. } => rows_without,
            Self::Rows { .. } | Self::RowsNotIn | Self::MarkedRows => true,
            Self::Tuples { .. } | Self::MarkedTuples => false,
        }
    }
}

/// A join on its way.
pub struct JoinStage {
    table: Arc<JoinTable>,
    kind: JoinKind,
    /// The relation of the build side's rows, or of marks where only these go out.
    relation: usize,
    /// The relation of marks.
    marks: usize,
    /// Whether there is a condition beyond the keys.
    is_conditional: bool,
    /// The relations whose rows conditions need, and those that come behind.
    needed_by_pairs: Vec<bool>,
    needed: Vec<bool>,
    input: Option<Input>,
    found: Found,
    /// How many rows of the build side have had their turn in the end.
    given: usize,
}

/// Tuples that came in.
struct Input {
    tuples: Tuples,
    entries: Vec<u32>,
    /// The next tuple, and which of its rows is next.
    at: usize,
    within: usize,
    /// Whether a row of the next tuple was found already.
    has_row: bool,
}

/// What was found of the build side.
#[derive(Default)]
struct Found {
    /// A bit for each entry, where only keys decide, else for each row.
    bits: Vec<u64>,
    has_tuples: bool,
    has_null_key: bool,
}

/// Which relations are there, and which are asked for.
#[derive(Clone, Debug)]
pub struct StageRelations {
    /// That of the build side's rows.
    pub rows: usize,
    /// That of marks, where there are any.
    pub marks: usize,
    /// Those whose rows conditions need.
    pub needed_by_pairs: Vec<bool>,
    /// Those whose rows are needed behind the join.
    pub needed: Vec<bool>,
}

impl JoinStage {
    /// A join of tuples with the rows of a table; whether there is a condition beyond the keys.
    pub fn new(
        table: Arc<JoinTable>,
        kind: JoinKind,
        relations: StageRelations,
        is_conditional: bool,
    ) -> Self {
        let places = match kind.gives_rows() {
            true if is_conditional => table.rows,
            true => table.entries,
            false => 0,
        };
        let found = Found { bits: vec![0; places.div_ceil(64)], ..Found::default() };
        let StageRelations { rows, marks, needed_by_pairs, needed } = relations;
        Self {
            table,
            kind,
            relation: rows,
            marks,
            is_conditional,
            needed_by_pairs,
            needed,
            input: None,
            found,
            given: 0,
        }
    }

    /// The table.
    pub fn table(&self) -> &Arc<JoinTable> {
        &self.table
    }

    /// Takes over what was found of the build side by a join of other tuples, which is the same
    /// join with the same table. Whichever has the last tuples gives its rows.
    pub fn absorb(&mut self, other: &Self) {
        let Found { bits, has_tuples, has_null_key } = &other.found;
        self.found.bits.iter_mut().zip(bits).for_each(|(bits, others)| *bits |= others);
        self.found.has_tuples |= has_tuples;
        self.found.has_null_key |= has_null_key;
    }

    /// The next tuples, with the entry of each one's key; those before have to be through.
    /// `has_null_key` says whether the key of one of them is null.
    pub fn add(&mut self, tuples: Tuples, entries: Vec<u32>, has_null_key: bool) {
        self.found.has_tuples |= !tuples.is_empty();
        self.found.has_null_key |= has_null_key;
        self.input = Some(Input { tuples, entries, at: 0, within: 0, has_row: false });
    }

    /// What comes out for the tuples that were added, part by part; `None` when they are through.
    /// `meets` says which pairs meet the conditions, by their places.
    ///
    /// # Errors
    /// Those of `meets`.
    pub fn next<E>(
        &mut self,
        mut meets: impl FnMut(&Tuples) -> Result<Vec<u32>, E>,
    ) -> Result<Option<Tuples>, E> {
        while let Some(input) = &self.input {
            if input.at >= input.tuples.len() {
                self.input = None;
                return Ok(None);
            }
            let tuples = match self.is_conditional {
                true => self.next_conditional(&mut meets)?,
                false => self.next_by_keys(),
            };
            if let Some(tuples) = tuples.filter(|tuples| !tuples.is_empty()) {
                return Ok(Some(tuples));
            }
        }
        Ok(None)
    }

    /// What comes out for the next tuples where keys alone decide.
    fn next_by_keys(&mut self) -> Option<Tuples> {
        let input = self.input.as_mut()?;
        let has_row = |entry: &u32| *entry != NO_ENTRY;
        match self.kind {
            JoinKind::Pairs { tuples_without, rows_without } => {
                if self.table.is_unique() && !tuples_without && !rows_without {
                    return self.unique_pairs();
                }
                self.pairs()
            }
            JoinKind::Tuples { with } => {
                let places = (0_u32..).zip(&input.entries).filter(|(_, it)| has_row(it) == with);
                let places: Vec<u32> = places.map(|(place, _)| place).collect();
                let tuples = std::mem::take(&mut input.tuples);
                self.input = None;
                Some(match places.len() == tuples.len() {
                    true => tuples.into_needed(&self.needed),
                    false => tuples.taken(&places, &self.needed),
                })
            }
            JoinKind::MarkedTuples => {
                let marks = input.entries.iter().map(|entry| u32::from(has_row(entry))).collect();
                let tuples = std::mem::take(&mut input.tuples);
                self.input = None;
                Some(tuples.into_needed(&self.needed).with(self.marks, marks))
            }
            JoinKind::Rows { .. } | JoinKind::RowsNotIn | JoinKind::MarkedRows => {
                let bits = &mut self.found.bits;
                for entry in input.entries.iter().filter(|entry| has_row(entry)) {
                    bits[*entry as usize / 64] |= 1 << (entry % 64);
                }
                self.input = None;
                None
            }
        }
    }

    /// All pairs at once: each tuple has a row at most.
    fn unique_pairs(&mut self) -> Option<Tuples> {
        let Input { tuples, entries, .. } = self.input.take()?;
        let missing = entries.iter().filter(|entry| **entry == NO_ENTRY).count();
        let is_needed = self.needed[self.relation];
        if missing == 0 {
            let rows = is_needed.then(|| entries.iter().map(|it| self.table.row_of(*it)).collect());
            let tuples = tuples.into_needed(&self.needed);
            return Some(match rows {
                Some(rows) => tuples.with(self.relation, rows),
                None => tuples,
            });
        }
        let found = (0_u32..).zip(&entries).filter(|(_, entry)| **entry != NO_ENTRY);
        let mut places = Vec::with_capacity(entries.len() - missing);
        places.extend(found.clone().map(|(place, _)| place));
        let tuples = tuples.taken(&places, &self.needed);
        Some(match is_needed {
            true => {
                let rows = found.map(|(_, entry)| self.table.row_of(*entry)).collect();
                tuples.with(self.relation, rows)
            }
            false => tuples,
        })
    }

    /// The next pairs, and tuples without a row where these are wanted.
    fn pairs(&mut self) -> Option<Tuples> {
        let JoinKind::Pairs { tuples_without, rows_without } = self.kind else { return None };
        let (places, rows) = self.next_pairs(tuples_without);
        let input = self.input.as_ref()?;
        if rows_without {
            let entries = places.iter().map(|place| input.entries[*place as usize]);
            for entry in entries.filter(|entry| *entry != NO_ENTRY) {
                self.found.bits[entry as usize / 64] |= 1 << (entry % 64);
            }
        }
        let tuples = input.tuples.taken(&places, &self.needed);
        Some(if self.needed[self.relation] { tuples.with(self.relation, rows) } else { tuples })
    }

    /// The next pairs of a tuple's place and a row; of a tuple without a row with the row behind
    /// the last, if it is wanted.
    fn next_pairs(&mut self, tuples_without: bool) -> (Vec<u32>, Vec<u32>) {
        let (mut places, mut rows) = (Vec::new(), Vec::new());
        let Some(input) = &mut self.input else { return (places, rows) };
        let table = &*self.table;
        while input.at < input.entries.len() && rows.len() < BATCH_ROWS {
            let place = input.at as u32;
            match input.entries[input.at] {
                NO_ENTRY => {
                    if tuples_without {
                        places.push(place);
                        rows.push(table.rows as u32);
                    }
                }
                entry => match table.rows_of(entry, input.within) {
                    RowsOfEntry::One(row) => {
                        places.push(place);
                        rows.push(row);
                    }
                    RowsOfEntry::Many(all) => {
                        let now = all.len().min(BATCH_ROWS - rows.len());
                        rows.extend_from_slice(&all[..now]);
                        places.resize(rows.len(), place);
                        if now < all.len() {
                            input.within += now;
                            break;
                        }
                    }
                },
            }
            input.at += 1;
            input.within = 0;
        }
        (places, rows)
    }

    /// What comes out for the next tuples where conditions decide, too.
    fn next_conditional<E>(
        &mut self,
        meets: &mut impl FnMut(&Tuples) -> Result<Vec<u32>, E>,
    ) -> Result<Option<Tuples>, E> {
        let Some(input) = &self.input else { return Ok(None) };
        let first = input.at;
        let (places, rows) = self.next_pairs(false);
        let Some(input) = &mut self.input else { return Ok(None) };
        let met = match places.is_empty() {
            true => Vec::new(),
            false => {
                let pairs = input.tuples.taken(&places, &self.needed_by_pairs);
                meets(&pairs.with(self.relation, rows.clone()))?
            }
        };
        let places: Vec<u32> = met.iter().map(|at| places[*at as usize]).collect();
        let rows: Vec<u32> = met.iter().map(|at| rows[*at as usize]).collect();
        if self.kind.gives_rows() {
            rows.iter().for_each(|row| self.found.bits[*row as usize / 64] |= 1 << (row % 64));
        }
        let (places, rows) = match self.kind {
            JoinKind::Pairs { tuples_without: true, .. } => {
                input.with_missing(first, &places, &rows, self.table.rows as u32)
            }
            JoinKind::Pairs { .. } => (places, rows),
            JoinKind::Tuples { with } => {
                let decided = input.decided(first, &places);
                let kept = decided.into_iter().filter(|(_, has_row)| *has_row == with);
                (kept.map(|(place, _)| place).collect(), Vec::new())
            }
            JoinKind::MarkedTuples => {
                let decided = input.decided(first, &places).into_iter();
                decided.map(|(place, has_row)| (place, u32::from(has_row))).unzip()
            }
            JoinKind::Rows { .. } | JoinKind::RowsNotIn | JoinKind::MarkedRows => return Ok(None),
        };
        let tuples = input.tuples.taken(&places, &self.needed);
        Ok(Some(match self.kind {
            JoinKind::MarkedTuples => tuples.with(self.marks, rows),
            JoinKind::Pairs { .. } if self.needed[self.relation] => {
                tuples.with(self.relation, rows)
            }
            _ => tuples,
        }))
    }

    /// The next rows of the build side that come out in the end, part by part; `None` when there
    /// are no more. `nulls` says of each relation which row stands for none, where it is needed.
    pub fn next_rows(&mut self, nulls: &[Option<u32>]) -> Option<Tuples> {
        if !self.kind.gives_rows() || self.given >= self.table.rows {
            return None;
        }
        // No row has had its turn yet.
        if self.given == 0 && !self.is_conditional {
            self.found.bits = self.bits_of_rows();
        }
        while self.given < self.table.rows {
            let rows = self.given..self.table.rows.min(self.given + BATCH_ROWS);
            self.given = rows.end;
            let found = |row: usize| self.found.bits[row / 64] >> (row % 64) & 1 == 1;
            let is_wanted = |row: &usize| match self.kind {
                JoinKind::Rows { with } => found(*row) == with,
                JoinKind::RowsNotIn if !self.found.has_tuples => true,
                JoinKind::RowsNotIn => {
                    !found(*row) && !self.found.has_null_key && !self.table.is_null(*row)
                }
                JoinKind::MarkedRows => true,
                _ => !found(*row),
            };
            let wanted: Vec<u32> = rows.filter(is_wanted).map(|row| row as u32).collect();
            if wanted.is_empty() {
                continue;
            }
            let marks = match self.kind {
                JoinKind::MarkedRows => {
                    Some(wanted.iter().map(|row| u32::from(found(*row as usize))).collect())
                }
                _ => None,
            };
            let tuples = Tuples::of_relation(self.relation, wanted, nulls);
            let tuples = tuples.into_needed(&self.needed);
            return Some(match marks {
                Some(marks) => tuples.with(self.marks, marks),
                None => tuples,
            });
        }
        None
    }

    /// A bit for each row whose entry has one.
    fn bits_of_rows(&self) -> Vec<u64> {
        let mut bits = vec![0; self.table.rows.div_ceil(64)];
        for (row, entry) in self.table.entries_of_rows().into_iter().enumerate() {
            if entry != NO_ENTRY && self.found.bits[entry as usize / 64] >> (entry % 64) & 1 == 1 {
                bits[row / 64] |= 1 << (row % 64);
            }
        }
        bits
    }
}

impl Input {
    /// The tuples from one on of which it is known by now whether they have a row, by the places of
    /// those for which one was found.
    fn decided(&mut self, first: usize, found: &[u32]) -> Vec<(u32, bool)> {
        let mut found = found.iter().copied().peekable();
        let mut decided = Vec::with_capacity(self.at - first);
        for place in first as u32..self.at as u32 {
            let mut has_row = std::mem::take(&mut self.has_row);
            while found.next_if_eq(&place).is_some() {
                has_row = true;
            }
            decided.push((place, has_row));
        }
        // Of the next one some rows were compared, and others will be.
        self.has_row |= found.next().is_some();
        decided
    }

    /// Pairs, with a pair of each tuple that has turned out to have no row.
    fn with_missing(
        &mut self,
        first: usize,
        places: &[u32],
        rows: &[u32],
        missing: u32,
    ) -> (Vec<u32>, Vec<u32>) {
        let mut pairs = places.iter().copied().zip(rows.iter().copied()).peekable();
        let (mut all_places, mut all_rows) = (Vec::new(), Vec::new());
        for (place, has_row) in self.decided(first, places) {
            while let Some((place, row)) = pairs.next_if(|pair| pair.0 == place) {
                all_places.push(place);
                all_rows.push(row);
            }
            if !has_row {
                all_places.push(place);
                all_rows.push(missing);
            }
        }
        let (more_places, more_rows): (Vec<u32>, Vec<u32>) = pairs.unzip();
        all_places.extend(more_places);
        all_rows.extend(more_rows);
        (all_places, all_rows)
    }
}
