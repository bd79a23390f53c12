//! What a history is made of: how many sessions, keys and places, and which statements.
//!
//! Everything is drawn from the seed. Keys and places are few, so that transactions meet; the
//! shares differ from history to history, so that some are all conflicts and some are all phantoms.

use std::sync::Arc;

use crate::history::{Bound, Column, Content, Edit, Level, Query, Range, Statement};
use crate::random::Random;

/// Marks of a session begin at a multiple of this, so that a reader knows whose they are.
pub(crate) const MARKS_PER_SESSION: u64 = 100_000;

/// Isolation of the transactions of a history that write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Isolation {
    Serializable,
    Snapshot,
    /// Each transaction its own.
    Mixed,
}

/// The shape of a history.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) isolation: Isolation,
    pub(crate) sessions: usize,
    /// Transactions of all sessions together.
    pub(crate) transactions: usize,
    pub(crate) keys: u32,
    pub(crate) places: u32,
    /// In percent: transactions that only read, and calls that reclaim memory or freeze all rows.
    pub(crate) only_reading: u64,
    pub(crate) reclaiming: u64,
    pub(crate) freezing: u64,
    statements_max: u64,
    reads: [(u64, Read); 8],
    writes: [(u64, Write); 8],
    /// In percent: reads among statements, and savepoints.
    reading: u64,
    savepoints: u64,
}

#[derive(Clone, Copy, Debug)]
enum Read {
    Row,
    Key,
    Batch,
    Place,
    KeyRange,
    PlaceRange,
    Scan,
    ScanSome,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Write {
    Insert,
    Delete,
    /// Sets the mark of a row that was found by key.
    Mark,
    /// Sets the mark of a row that was not read.
    Blind,
    Append,
    Move,
    Rekey,
    /// An insert at a key that may well exist.
    InsertAgain,
}

/// How big histories get.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Size {
    /// A few dozen transactions of a few sessions.
    Ordinary,
    /// A few transactions: each step of them costs hundreds.
    Small,
}

impl Isolation {
    /// Its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Serializable => "serializable",
            Self::Snapshot => "snapshot",
            Self::Mixed => "mixed",
        }
    }
}

impl Plan {
    /// The plan of a seed.
    pub(crate) fn draw(random: &mut Random, size: Size, isolation: Option<Isolation>) -> Self {
        let drawn = random.weighted(&[
            (50, Isolation::Serializable),
            (25, Isolation::Snapshot),
            (25, Isolation::Mixed),
        ]);
        let isolation = isolation.or(drawn).unwrap_or(Isolation::Serializable);
        let weight = |random: &mut Random| random.pick(&[0, 1, 1, 3, 8]).unwrap_or(1);
        let reads = [
            Read::Row,
            Read::Key,
            Read::Batch,
            Read::Place,
            Read::KeyRange,
            Read::PlaceRange,
            Read::Scan,
            Read::ScanSome,
        ];
        let writes = [
            Write::Insert,
            Write::Delete,
            Write::Mark,
            Write::Blind,
            Write::Append,
            Write::Move,
            Write::Rekey,
            Write::InsertAgain,
        ];
        // One more than drawn, so that no history is without any.
        let reads = reads.map(|read| (weight(random) + 1, read));
        let writes = writes.map(|write| (weight(random) + 1, write));
        let is_long = random.percent(5);
        let (sessions, transactions, keys) = match size {
            Size::Ordinary if is_long => (random.between(2, 6), 250, random.between(2, 12)),
            Size::Ordinary => (random.between(2, 6), random.between(8, 45), random.between(2, 8)),
            Size::Small => (random.between(2, 4), random.between(6, 14), random.between(1, 3)),
        };
        Self {
            isolation,
            sessions: sessions as usize,
            transactions: transactions as usize,
            keys: keys as u32,
            places: random.between(1, if size == Size::Small { 2 } else { 6 }) as u32,
            only_reading: random.between(0, 30),
            reclaiming: random.pick(&[0, 1, 5]).unwrap_or(0),
            statements_max: random.between(2, if size == Size::Small { 4 } else { 7 }),
            reads,
            writes,
            reading: random.between(30, 80),
            savepoints: random.pick(&[0, 3, 8]).unwrap_or(0),
            freezing: random.pick(&[0, 0, 2]).unwrap_or(0),
        }
    }

    pub(crate) fn level(&self, random: &mut Random) -> Level {
        if random.percent(self.only_reading) {
            return Level::ReadOnly;
        }
        match self.isolation {
            Isolation::Serializable => Level::Serializable,
            Isolation::Snapshot => Level::Snapshot,
            Isolation::Mixed if random.percent(50) => Level::Serializable,
            Isolation::Mixed => Level::Snapshot,
        }
    }

    /// How many statements a transaction has.
    pub(crate) fn statements(&self, random: &mut Random) -> u64 {
        random.between(1, self.statements_max)
    }

    pub(crate) fn reads_next(&self, random: &mut Random) -> bool {
        random.percent(self.reading)
    }

    pub(crate) fn sets_savepoint(&self, random: &mut Random) -> bool {
        random.percent(self.savepoints)
    }

    pub(crate) fn key(&self, random: &mut Random) -> u32 {
        random.below(u64::from(self.keys)) as u32
    }

    pub(crate) fn place(&self, random: &mut Random) -> u32 {
        random.below(u64::from(self.places)) as u32
    }

    pub(crate) fn write(&self, random: &mut Random) -> Write {
        random.weighted(&self.writes).unwrap_or(Write::Mark)
    }

    /// A row to insert.
    pub(crate) fn content(&self, random: &mut Random, mark: u64) -> Content {
        let (key, place) = (self.key(random), self.place(random));
        Content { item: mark, key, place, mark, list: vec![mark] }
    }

    /// A read; `known` are ids of rows that there have been.
    pub(crate) fn query(&self, random: &mut Random, known: &[u64]) -> Query {
        let typed = random.percent(50);
        let hash = random.percent(50);
        let limit = random.pick(&[1, 2, 3, usize::MAX, usize::MAX]).unwrap_or(1);
        match (random.weighted(&self.reads).unwrap_or(Read::Key), random.pick(known)) {
            (Read::Row, Some(row)) => Query::Row { row, typed },
            (Read::Row, None) | (Read::Key, _) => Query::Key { key: self.key(random), hash, typed },
            (Read::Batch, _) => {
                let count = random.between(1, 4);
                Query::Batch { keys: (0..count).map(|_| self.key(random)).collect(), hash }
            }
            (Read::Place, _) => Query::Place { place: self.place(random), hash },
            (Read::KeyRange, _) => self.range(random, Column::Key, limit),
            (Read::PlaceRange, _) => self.range(random, Column::Place, limit),
            (Read::Scan, _) => Query::Scan { limit: usize::MAX, typed },
            (Read::ScanSome, _) => Query::Scan { limit: random.between(1, 4) as usize, typed },
        }
    }

    fn range(&self, random: &mut Random, by: Column, limit: usize) -> Query {
        let values = u64::from(if by == Column::Key { self.keys } else { self.places });
        let mut ends = [random.below(values) as u32, random.below(values) as u32];
        ends.sort_unstable();
        let [low, high] = ends.map(|value| {
            let bound = Bound { value, inclusive: random.percent(70) };
            random.percent(80).then_some(bound)
        });
        let (backward, typed) = (random.percent(50), random.percent(50));
        Query::Range(Range { by, low, high, backward, limit, typed })
    }
}

/// The change that a kind of write makes of a row, or none if it makes another statement.
pub(crate) fn edit(
    plan: &Plan,
    random: &mut Random,
    write: Write,
    old: Option<&Content>,
    mark: u64,
) -> Edit {
    let mut edit = Edit { key: None, place: None, list: None, mark };
    match write {
        Write::Append => {
            edit.list = old.map(|old| old.list.iter().copied().chain([mark]).collect());
        }
        Write::Move => edit.place = Some(plan.place(random)),
        Write::Rekey => edit.key = Some(plan.key(random)),
        Write::Mark | Write::Blind | Write::Insert | Write::Delete | Write::InsertAgain => {}
    }
    edit
}

/// The statement that inserts a row.
pub(crate) fn insertion(content: Content) -> Statement {
    Statement::Insert(Arc::new(content))
}
