//! Rows of a scan on their way into aggregations.
//!
//! A frozen segment is given as it is encoded, with the rows that are left of it; hot rows are
//! given as the slices of their arrays. What one thread has aggregated is one part or several: see
//! [`super::parts`].

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use remanent_exec::{AggregatedSegment, Given, GivenValues, Rows, Source, Tuples};

use super::parts::Part;
use super::query::Query;
use super::room::Room;
use crate::error::{Error, Result};
use crate::pipeline::flow::{Columns, Stages};
use crate::pipeline::running::{Sink, Taken, Through};
use crate::pipeline::values::Values;
use crate::scan::scan_rows::{FrozenReader, PieceNumber, TakenRows};

/// Tuples that are added at once, at least, while more come of a piece.
const GATHERED_MIN: usize = 1024;

/// Aggregations that rows are fed to, one after the other.
pub(crate) struct Fed {
    query: Arc<Query>,
    /// Those of earlier pieces of the source.
    ended: Vec<Part>,
    /// The one that rows are fed to.
    part: Part,
}

impl Fed {
    /// Groups of no rows yet, which take memory of their own.
    ///
    /// # Errors
    /// A fault of whoever planned them.
    pub(crate) fn new(query: &Arc<Query>, room: &Room) -> Result<Self> {
        let part = Part::new(query, room)?;
        Ok(Self { query: Arc::clone(query), ended: Vec::new(), part })
    }

    /// Says where the next rows lie. Where a stretch begins, keys that have ascended so far go on
    /// in a part of its own: what others read may come between.
    ///
    /// # Errors
    /// A fault of whoever planned them.
    pub(crate) fn begin(&mut self, place: PieceNumber) -> Result<()> {
        if self.part.is_of_other(place) && self.part.aggregation.ascends() {
            let part = Part::new(&self.query, &self.part.room)?;
            self.ended.push(std::mem::replace(&mut self.part, part));
            if self.part.room.is_too_little_for(self.ended.iter().map(Part::bytes).sum()) {
                self.spill_ended()?;
            }
        }
        self.part.begin(place);
        Ok(())
    }

    /// Adds the next rows of a scan, and says how many there were.
    ///
    /// # Errors
    /// Whatever is met in evaluating expressions; `OUT_OF_MEMORY`; `CANCELLED`.
    pub(crate) fn add(&mut self, rows: TakenRows<'_>) -> Result<usize> {
        match rows {
            TakenRows::Batch(batch) => self.add_batch(&batch),
            TakenRows::Frozen(segment) => self.add_segment(segment),
        }
    }

    fn add_batch(&mut self, batch: &RecordBatch) -> Result<usize> {
        let values = batch.columns().iter().map(Values::of).collect::<Result<Vec<_>>>()?;
        let columns: Vec<Source<'_>> =
            values.iter().map(|values| Source::Given(values.given())).collect();
        let mut segment = self.part.aggregation.segment(&columns);
        let rows = Rows::Stretch(0, batch.num_rows());
        self.add_rows(&mut segment, rows, |place| Ok(Arc::clone(batch.column(place))))?;
        Ok(batch.num_rows())
    }

    fn add_segment(&mut self, mut reader: FrozenReader<'_>) -> Result<usize> {
        let columns = (0..reader.width()).map(|place| {
            let column = reader.column(place)?;
            Ok(column.map_or(Source::Elsewhere, Source::Encoded))
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let mut segment = self.part.aggregation.segment(&columns);
        let (mut at, mut count) = (0, 0);
        while let Some(mut chosen) = reader.next(&mut at)? {
            count += chosen.len();
            let given = self.given(&segment, chosen.len(), |place| chosen.requested(place))?;
            self.add_given(&mut segment, &[chosen.rows()], &given)?;
        }
        Ok(count)
    }

    /// Adds rows; `array` makes the array of a column for them.
    fn add_rows(
        &mut self,
        segment: &mut AggregatedSegment<'_>,
        rows: Rows<'_>,
        array: impl FnMut(usize) -> Result<ArrayRef>,
    ) -> Result<()> {
        let given = self.given(segment, rows.len(), array)?;
        self.add_given(segment, &[rows], &given)
    }

    /// Keys and arguments that have to be given for so many rows.
    fn given(
        &self,
        segment: &AggregatedSegment<'_>,
        rows: usize,
        mut array: impl FnMut(usize) -> Result<ArrayRef>,
    ) -> Result<[Vec<Option<Values>>; 2]> {
        let keys = self.query.keys.iter().enumerate().map(|(key, computed)| {
            let is_given = segment.is_key_given(key);
            let values = is_given.then(|| computed.values(rows, &mut array)).transpose()?;
            match values.as_ref().is_none_or(Values::can_be_key) {
                true => Ok(values),
                false => Err(Error::internal("a key of more digits than its type has")),
            }
        });
        let keys = keys.collect::<Result<_>>()?;
        let arguments = self.query.arguments.iter().enumerate().map(|(argument, computed)| {
            let is_given = segment.is_argument_given(argument);
            is_given.then(|| computed.values(rows, &mut array)).transpose()
        });
        Ok([keys, arguments.collect::<Result<_>>()?])
    }

    fn add_given(
        &mut self,
        segment: &mut AggregatedSegment<'_>,
        rows: &[Rows<'_>],
        [keys, arguments]: &[Vec<Option<Values>>; 2],
    ) -> Result<()> {
        let given = GivenValues { keys: given_of(keys), arguments: given_of(arguments) };
        let Part { aggregation, room, .. } = &mut self.part;
        let had_spilled = aggregation.has_spilled();
        room.within(|memory| aggregation.add(segment, rows, &given, memory))?;
        match !had_spilled && aggregation.has_spilled() {
            true => self.spill_ended(),
            false => Ok(()),
        }
    }

    /// Moves the groups of earlier pieces to a file: memory is wanted.
    fn spill_ended(&mut self) -> Result<()> {
        self.ended.iter_mut().try_for_each(Part::spill)
    }

    /// Takes over what others have aggregated.
    pub(crate) fn absorb(&mut self, others: Vec<Self>) {
        for Self { ended, part, .. } in others {
            self.ended.extend(ended);
            self.ended.push(part);
        }
    }

    /// All parts, of which several may have the same groups.
    pub(crate) fn into_parts(self) -> Vec<Part> {
        let Self { mut ended, part, .. } = self;
        ended.push(part);
        ended
    }
}

impl Sink for Fed {
    const MAKES_ROWS: bool = false;

    fn take(
        &mut self,
        columns: &Columns,
        stages: &mut Stages<'_>,
        Through { piece, at, place }: Through<'_, '_>,
    ) -> Result<Taken> {
        self.begin(place)?;
        let mut segment = self.part.aggregation.segment(&piece.sources);
        let mut gathered: Option<Tuples> = None;
        loop {
            let tuples = stages.next(piece, at)?;
            let is_through = tuples.is_none();
            match (tuples, &mut gathered) {
                (Some(tuples), Some(gathered)) => gathered.append(&tuples),
                (Some(tuples), none) => *none = Some(tuples),
                (None, _) => {}
            }
            let is_full = |gathered: &Tuples| is_through || gathered.len() >= GATHERED_MIN;
            if let Some(mut tuples) = gathered.take_if(|gathered| is_full(gathered)) {
                tuples.list_runs();
                let array = |place| columns.array(piece.piece(), &tuples, place);
                let given = self.given(&segment, tuples.len(), array)?;
                self.add_given(&mut segment, &tuples.all_rows(), &given)?;
            }
            if is_through {
                return Ok(Taken { is_through, made: None });
            }
        }
    }

    fn absorb(&mut self, others: Vec<Self>) -> Result<()> {
        self.absorb(others);
        Ok(())
    }
}

fn given_of(values: &[Option<Values>]) -> Vec<Option<Given<'_>>> {
    values.iter().map(|values| values.as_ref().map(Values::given)).collect()
}
