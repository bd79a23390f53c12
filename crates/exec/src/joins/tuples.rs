//! Rows of several relations side by side: what a join has found, before any value is read.
//!
//! The first relation is a segment, or rows that were given; the others are build sides. Of a
//! relation that nobody asks any more, the rows are not kept.

use crate::rows::Rows;
use crate::rows::selection::Selection;

/// For each tuple the number of its row in each relation.
#[derive(Clone, Debug, Default)]
pub struct Tuples {
    relations: Vec<RowNumbers>,
    len: usize,
}

/// The rows of a relation, one for each tuple.
#[derive(Clone, Debug)]
enum RowNumbers {
    /// Nobody asks for them.
    Unknown,
    Selected(Selection),
    List(Vec<u32>),
}

impl Tuples {
    /// Rows of the first relation alone, of so many.
    pub fn of(selection: Selection, relations: usize) -> Self {
        let len = selection.len();
        let mut rows = vec![RowNumbers::Unknown; relations];
        rows[0] = RowNumbers::Selected(selection);
        Self { relations: rows, len }
    }

    /// As many tuples as there are rows of a relation, of whose neighbours `others` says which row
    /// all of them have.
    pub(crate) fn of_relation(relation: usize, rows: Vec<u32>, others: &[Option<u32>]) -> Self {
        let len = rows.len();
        let others = others.iter().map(|row| match row {
            Some(row) => RowNumbers::List(vec![*row; len]),
            None => RowNumbers::Unknown,
        });
        let mut relations: Vec<_> = others.collect();
        relations[relation] = RowNumbers::List(rows);
        Self { relations, len }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The rows of a relation; any if nobody asked for them.
    pub fn rows(&self, relation: usize) -> Rows<'_> {
        match &self.relations[relation] {
            RowNumbers::Unknown => Rows::Stretch(0, self.len),
            RowNumbers::Selected(selection) => selection.rows(),
            RowNumbers::List(rows) => Rows::List(rows),
        }
    }

    /// The rows of all relations, of which those of the first may be runs.
    pub fn all_rows(&self) -> Vec<Rows<'_>> {
        (0..self.relations.len()).map(|relation| self.rows(relation)).collect()
    }

    /// Some of them, by their places, which may come several times; of the relations that are
    /// needed.
    pub(crate) fn taken(&self, places: &[u32], needed: &[bool]) -> Self {
        let relations = self.relations.iter().zip(needed).map(|(rows, needed)| match rows {
            RowNumbers::Unknown => RowNumbers::Unknown,
            _ if !needed => RowNumbers::Unknown,
            RowNumbers::Selected(Selection::Stretch(from, _)) => {
                RowNumbers::List(places.iter().map(|place| *from as u32 + place).collect())
            }
            RowNumbers::Selected(Selection::List(rows)) | RowNumbers::List(rows) => {
                RowNumbers::List(places.iter().map(|place| rows[*place as usize]).collect())
            }
            RowNumbers::Selected(selection @ Selection::Runs { .. }) => {
                let rows = selection.rows().map(|row| row as u32);
                RowNumbers::List(places.iter().map(|place| rows[*place as usize]).collect())
            }
        });
        Self { relations: relations.collect(), len: places.len() }
    }

    /// All of them, of the relations that are needed.
    pub(crate) fn into_needed(mut self, needed: &[bool]) -> Self {
        let unneeded = self.relations.iter_mut().zip(needed).filter(|(_, needed)| !**needed);
        unneeded.for_each(|(rows, _)| *rows = RowNumbers::Unknown);
        self
    }

    /// With these rows of one relation more.
    pub(crate) fn with(mut self, relation: usize, rows: Vec<u32>) -> Self {
        self.list_runs();
        self.relations[relation] = RowNumbers::List(rows);
        self
    }

    /// Makes a list of rows of the first relation that are runs, if there are several relations: an
    /// aggregation takes runs of one alone.
    pub fn list_runs(&mut self) {
        if self.relations.len() > 1
            && let RowNumbers::Selected(selection @ Selection::Runs { .. }) = &self.relations[0]
        {
            self.relations[0] = RowNumbers::List(selection.rows().map(|row| row as u32));
        }
    }

    /// Puts others, which are of the same relations, behind them.
    pub fn append(&mut self, others: &Self) {
        for (relation, rows) in self.relations.iter_mut().enumerate() {
            let list = match rows {
                RowNumbers::Unknown => continue,
                RowNumbers::List(rows) => rows,
                RowNumbers::Selected(selection) => {
                    *rows = RowNumbers::List(selection.rows().map(|row| row as u32));
                    let RowNumbers::List(rows) = rows else { continue };
                    rows
                }
            };
            match others.rows(relation) {
                Rows::List(rows) => list.extend_from_slice(rows),
                rows => list.extend(rows.map(|row| row as u32)),
            }
        }
        self.len += others.len;
    }

    /// Those with these places, which ascend.
    pub fn kept(&self, places: &[u32]) -> Self {
        match places.len() == self.len {
            true => self.clone(),
            false => self.taken(places, &vec![true; self.relations.len()]),
        }
    }
}
