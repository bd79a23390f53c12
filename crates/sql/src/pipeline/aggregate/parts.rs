//! What threads have aggregated, part by part.
//!
//! A part is of a stretch of the source that one thread has read from its beginning to its end.
//! Where its keys have ascended, and those of the next part come behind them, the parts stay apart:
//! no group is looked up, and none is copied. Else all become one.

use std::sync::Arc;

use remanent_exec::{Aggregation, Before};

use super::query::Query;
use super::room::Room;
use crate::error::{Error, Result};
use crate::scan::scan_rows::PieceNumber;

/// Groups of all parts from which on several threads put them together.
const GROUPS_MANY: usize = 1 << 15;

/// An aggregation of some pieces of the source.
pub(crate) struct Part {
    pub(crate) aggregation: Aggregation,
    pub(crate) room: Room,
    /// Where its first and its last rows lie.
    ends: Option<[PieceNumber; 2]>,
    /// Its first group, if those before are groups of the part before it.
    pub(crate) from: usize,
    /// How many groups there are, once all rows have come.
    pub(crate) groups: usize,
}

impl Part {
    /// No groups yet, which take memory of their own.
    ///
    /// # Errors
    /// A fault of whoever planned them.
    pub(crate) fn new(query: &Arc<Query>, room: &Room) -> Result<Self> {
        let aggregation = Aggregation::new(query.plan.clone());
        let aggregation = aggregation.ok_or_else(|| Error::internal("an aggregate of nothing"))?;
        let room = room.another();
        let aggregation = room.limits(aggregation);
        Ok(Self { aggregation, room, ends: None, from: 0, groups: 0 })
    }

    /// So many groups of all parts.
    pub(crate) fn merged(aggregation: Aggregation, room: Room, groups: usize) -> Self {
        Self { aggregation, room, ends: None, from: 0, groups }
    }

    /// Bytes that it has taken.
    pub(crate) fn bytes(&self) -> usize {
        self.room.reservation().size()
    }

    /// Says where the next rows lie.
    pub(crate) fn begin(&mut self, place: PieceNumber) {
        let [_, last] = self.ends.get_or_insert([place; 2]);
        *last = place;
    }

    /// Whether rows lie in another stretch than those that came last.
    pub(crate) fn is_of_other(&self, place: PieceNumber) -> bool {
        self.ends.is_some_and(|[_, last]| last.stretch != place.stretch)
    }

    /// Whether it has too many groups for one table.
    pub(crate) fn is_partitioned(&self) -> bool {
        self.aggregation.is_partitioned()
    }

    /// Moves its groups to partitions.
    pub(crate) fn partition(&mut self) -> Result<()> {
        let Self { aggregation, room, .. } = self;
        room.within(|memory| aggregation.partition(memory))
    }

    /// Moves its groups to a file, if there is one, when all rows have come.
    pub(crate) fn spill(&mut self) -> Result<()> {
        let Self { aggregation, room, .. } = self;
        room.within(|memory| aggregation.spill(memory))
    }

    fn absorb(&mut self, other: Self) -> Result<()> {
        let Self { aggregation, room, .. } = self;
        room.within(|memory| aggregation.absorb(&other.aggregation, memory))
    }

    fn absorb_first(&mut self, next: &Self) -> Result<()> {
        let Self { aggregation, room, .. } = self;
        room.within(|memory| aggregation.absorb_first(&next.aggregation, memory))
    }

    fn finish(&mut self) -> Result<()> {
        let Self { aggregation, room, .. } = self;
        self.groups = room.within(|memory| aggregation.finish(memory))?;
        Ok(())
    }
}

/// Parts that have ended, in the order of what they read.
pub(crate) struct Ended {
    parts: Vec<Part>,
    /// How each stands to the next one; `None` if two may have more than one group in common.
    before: Option<Vec<Before>>,
}

impl Ended {
    /// Parts that are not partitioned, at least one, all of whose rows have come.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY`.
    pub(crate) fn new(mut parts: Vec<Part>) -> Result<Self> {
        for part in &mut parts {
            part.finish()?;
        }
        parts.sort_by_key(|part| part.ends.map(|[first, _]| first.segment));
        // A part of no rows says nothing.
        let (mut parts, empty): (Vec<_>, Vec<_>) =
            parts.into_iter().partition(|part| part.groups > 0);
        let pairs = parts.iter().zip(parts.iter().skip(1));
        let before = pairs.map(|(part, next)| part.aggregation.is_before(&next.aggregation));
        let before = before.collect();
        if parts.is_empty() {
            parts.extend(empty.into_iter().next());
        }
        Ok(Self { parts, before })
    }

    /// Whether they have so many groups to look up that several threads are to do that. Rows of a
    /// build side find their groups in an array, and keys that ascend are merged: one thread does
    /// either in less time than several would move them to partitions.
    pub(crate) fn are_many(&self) -> bool {
        let groups: usize = self.parts.iter().map(|part| part.groups).sum();
        let look_up = self.parts.iter().any(|part| part.aggregation.looks_up());
        self.before.is_none() && look_up && groups >= GROUPS_MANY
    }

    /// The parts, each with all of its groups.
    pub(crate) fn into_parts(self) -> Vec<Part> {
        self.parts
    }

    /// Parts of which no two have a group in common.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY`.
    pub(crate) fn put_together(self) -> Result<Vec<Part>> {
        let Self { parts, before } = self;
        let mut parts = parts.into_iter();
        let Some(first) = parts.next() else {
            return Err(Error::internal("an aggregate of no part"));
        };
        let mut together = vec![first];
        for (at, mut next) in parts.enumerate() {
            let Some(part) = together.last_mut() else { break };
            match before.as_ref().map(|before| before[at]) {
                None => {
                    part.absorb(next)?;
                    continue;
                }
                Some(Before::SharingOne) => {
                    part.absorb_first(&next)?;
                    next.from = 1;
                }
                Some(Before::Apart) => {}
            }
            // Of one group, the part before it may share that with the part behind it.
            if next.from < next.groups {
                together.push(next);
            }
        }
        if before.is_none() {
            together.iter_mut().try_for_each(Part::finish)?;
        }
        Ok(together)
    }
}
