//! Tuples on their way through the joins and filters of a pipeline.
//!
//! A stage is given tuples when it has none left, and gives some on when it is asked: so there are
//! never more of them than a few tiles, however many pairs a join makes. When the source has come
//! to its end, each join gives out the rows of its build side that are wanted then.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::error::DataFusionError;
use datafusion::physical_expr::expressions::Column;
use remanent_exec::{
    Given, JoinStage, JoinTable, Probe, ProbeColumns, ProbeSource, Refused, Source, StageRelations,
    Tuples,
};

use super::piece::Piece;
use super::plan::{Expr, Join, Pipeline, Stage};
use super::relation::Relation;
use super::values::{Computed, Values};
use crate::error::{Error, Result};
use crate::limits::cancel::Cancel;

/// Tuples on their way through the stages.
pub(crate) struct Flow {
    columns: Columns,
    stages: Vec<FlowStage>,
    /// The join whose build side's rows come in the end, once the source has come to its.
    ending: Option<usize>,
    cancel: Arc<Cancel>,
    /// How many rows of the source have come in since somebody asked.
    scanned: usize,
}

/// Where the values of all relations but the first are.
pub(crate) struct Columns {
    pipeline: Arc<Pipeline>,
    relations: Vec<Option<Arc<Relation>>>,
}

enum FlowStage {
    Join(Box<JoinFlow>),
    Filter { condition: Computed, pending: Option<Tuples> },
}

/// A join on its way.
struct JoinFlow {
    stage: JoinStage,
    probe: Probe,
    keys: Vec<ProbeKey>,
    condition: Option<Computed>,
    /// Whether it matters if a tuple's key is null.
    minds_nulls: bool,
    is_busy: bool,
    /// For each relation the row that stands for none, where it is asked for.
    nulls: Vec<Option<u32>>,
}

struct ProbeKey {
    /// Its column, if it is one.
    column: Option<usize>,
    computed: Computed,
}

/// A build side that has been read.
#[derive(Clone)]
pub(crate) struct Built {
    pub(crate) relation: Arc<Relation>,
    pub(crate) table: Arc<JoinTable>,
}

/// A piece of the source, with what the stages have made of its columns.
pub(crate) struct Prepared<'p> {
    piece: Piece<'p>,
    /// Where the values of all columns are.
    pub(crate) sources: Vec<Source<'p>>,
    /// The keys of each stage that is a join.
    keys: Vec<Option<ProbeColumns<'p>>>,
}

impl Columns {
    /// The values of a column for some tuples.
    ///
    /// # Errors
    /// A fault of the caller; `CANCELLED`.
    pub(crate) fn array(
        &self,
        piece: &Piece<'_>,
        tuples: &Tuples,
        column: usize,
    ) -> Result<ArrayRef> {
        let (relation, place) = self.pipeline.places[column];
        let rows = tuples.rows(relation);
        match &self.relations[relation] {
            Some(relation) => relation.array(place, rows),
            None => piece.array(place, rows),
        }
    }

    /// The values of some rows of a relation's column, of which there is no piece.
    ///
    /// # Errors
    /// A fault of the caller.
    pub(crate) fn of_relation(&self, column: usize, rows: &[u32]) -> Result<ArrayRef> {
        let (relation, place) = self.pipeline.places[column];
        let relation = self.relations[relation].as_ref();
        let relation = relation.ok_or_else(|| Error::internal("no column of a build side"))?;
        relation.array(place, remanent_exec::Rows::List(rows))
    }

    fn values(&self, piece: &Piece<'_>, tuples: &Tuples, computed: &Computed) -> Result<Values> {
        computed.values(tuples.len(), |column| self.array(piece, tuples, column))
    }

    /// The places of tuples that meet a condition.
    fn places_that_meet(
        &self,
        piece: &Piece<'_>,
        tuples: &Tuples,
        condition: &Computed,
    ) -> Result<Vec<u32>> {
        let array = |column| self.array(piece, tuples, column);
        let truths = condition.array(tuples.len(), array)?;
        let truths = truths.as_boolean_opt();
        let truths = truths.ok_or_else(|| Error::internal("a condition that is no truth"))?;
        let places = (0..truths.len()).filter(|at| truths.is_valid(*at) && truths.value(*at));
        Ok(places.map(|place| place as u32).collect())
    }
}

impl Flow {
    /// A flow through the stages of a pipeline whose build sides have been read, one for each join;
    /// `outputs` are the expressions that somebody asks for.
    ///
    /// # Errors
    /// A fault in an expression.
    pub(crate) fn new(
        pipeline: &Arc<Pipeline>,
        builds: &[Built],
        outputs: &[Expr],
        cancel: &Arc<Cancel>,
    ) -> Result<Self> {
        let needed = pipeline.needed(outputs);
        let mut relations: Vec<Option<Arc<Relation>>> = vec![None; pipeline.relations];
        let mut built = builds.iter();
        let mut stages = Vec::with_capacity(pipeline.stages.len());
        // The rows that stand for none of the relations up to a stage.
        let mut nulls: Vec<Option<u32>> = vec![None; pipeline.relations];
        nulls[0] = Some(0);
        for (stage, needed) in pipeline.stages.iter().zip(&needed[1..]) {
            stages.push(match stage {
                Stage::Filter(expr) => {
                    let condition = Computed::new(expr, &pipeline.columns)?;
                    FlowStage::Filter { condition, pending: None }
                }
                Stage::Join(join) => {
                    let Some(built) = built.next() else {
                        return Err(Error::internal("a join without a build side"));
                    };
                    relations[join.relation] = Some(Arc::clone(&built.relation));
                    nulls[join.relation] = Some(built.table.rows() as u32);
                    if let Some(marks) = join.marks {
                        relations[marks] = Some(Arc::new(Relation::of_marks()?));
                        nulls[marks] = Some(2);
                    }
                    let flow = JoinFlow::new(join, pipeline, &built.table, needed, &nulls)?;
                    FlowStage::Join(Box::new(flow))
                }
            });
        }
        let columns = Columns { pipeline: Arc::clone(pipeline), relations };
        Ok(Self { columns, stages, ending: None, cancel: Arc::clone(cancel), scanned: 0 })
    }

    /// Where values are, for whoever asks when no tuples are left.
    pub(crate) fn into_columns(self) -> Columns {
        self.columns
    }

    /// Splits what values are read from off what tuples go through.
    pub(crate) fn parts(&mut self) -> (&Columns, Stages<'_>) {
        let Self { columns, stages, ending, cancel, scanned } = self;
        (columns, Stages { columns, stages, ending, cancel, scanned })
    }

    /// Takes over what a flow of another thread has found of the build sides.
    pub(crate) fn absorb(&mut self, other: &Self) {
        for stages in self.stages.iter_mut().zip(&other.stages) {
            if let (FlowStage::Join(join), FlowStage::Join(other)) = stages {
                join.stage.absorb(&other.stage);
            }
        }
    }

    /// Says that the source has come to its end; rows of build sides come from this stage on.
    pub(crate) fn end(&mut self, first: usize) {
        self.ending = Some(first);
    }
}

/// The stages of a flow, while a piece of the source is there.
pub(crate) struct Stages<'f> {
    columns: &'f Columns,
    stages: &'f mut [FlowStage],
    ending: &'f mut Option<usize>,
    cancel: &'f Cancel,
    scanned: &'f mut usize,
}

impl<'f> Stages<'f> {
    /// A piece of the source on its way in.
    ///
    /// # Errors
    /// `CANCELLED`; a transaction that has ended.
    pub(crate) fn prepared<'p>(&self, piece: Piece<'p>) -> Result<Prepared<'p>>
    where
        'f: 'p,
    {
        prepared(self.columns, self.stages, piece)
    }

    /// How many rows of the source have come in since this was asked last.
    pub(crate) fn take_scanned(&mut self) -> usize {
        std::mem::take(self.scanned)
    }

    /// The next tuples that have come through, of a piece of which the rows from `at` on have not
    /// come in; `None` when the piece has come to its end.
    ///
    /// # Errors
    /// Whatever is met in evaluating conditions; `CANCELLED`.
    pub(crate) fn next(
        &mut self,
        piece: &mut Prepared<'_>,
        at: &mut usize,
    ) -> Result<Option<Tuples>> {
        loop {
            self.cancel.check()?;
            let busy = self.stages.iter().rposition(FlowStage::is_busy);
            let (level, tuples) = match busy {
                Some(stage) => {
                    let Some(tuples) = self.stages[stage].next(self.columns, &piece.piece)? else {
                        continue;
                    };
                    (stage + 1, tuples)
                }
                None => match self.next_in(piece, at)? {
                    Some(next) => next,
                    None => return Ok(None),
                },
            };
            if level == self.stages.len() {
                return Ok(Some(tuples));
            }
            if !tuples.is_empty() {
                let keys = piece.keys[level].as_mut();
                self.stages[level].add(self.columns, &piece.piece, keys, tuples)?;
            }
        }
    }

    /// The next tuples that come in, and the stage that is their first.
    fn next_in(
        &mut self,
        piece: &mut Prepared<'_>,
        at: &mut usize,
    ) -> Result<Option<(usize, Tuples)>> {
        let relations = self.columns.pipeline.relations;
        let Some(ending) = self.ending else {
            let Some(selection) = piece.piece.next(at)? else { return Ok(None) };
            *self.scanned += selection.len();
            return Ok(Some((0, Tuples::of(selection, relations))));
        };
        while let Some(stage) = self.stages.get_mut(*ending) {
            if let FlowStage::Join(join) = stage
                && let Some(tuples) = join.stage.next_rows(&join.nulls)
            {
                return Ok(Some((*ending + 1, tuples)));
            }
            *ending += 1;
        }
        Ok(None)
    }
}

fn prepared<'p>(
    columns: &'p Columns,
    stages: &[FlowStage],
    piece: Piece<'p>,
) -> Result<Prepared<'p>> {
    let mut sources = piece.sources()?;
    let places = columns.pipeline.places.iter().skip(sources.len());
    sources.extend(places.map(|(relation, place)| match &columns.relations[*relation] {
        Some(relation) => relation.source(*place),
        None => Source::Elsewhere,
    }));
    let keys = stages.iter().map(|stage| match stage {
        FlowStage::Filter { .. } => None,
        FlowStage::Join(join) => {
            let from = join.keys.iter().map(|key| match key.column {
                Some(column) => {
                    let relation = columns.pipeline.places[column].0;
                    ProbeSource { source: sources[column], relation }
                }
                None => ProbeSource::first(Source::Elsewhere),
            });
            Some(join.stage.table().columns(&from.collect::<Vec<_>>()))
        }
    });
    let keys = keys.collect();
    Ok(Prepared { piece, sources, keys })
}

impl<'p> Prepared<'p> {
    /// The piece.
    pub(crate) fn piece(&self) -> &Piece<'p> {
        &self.piece
    }
}

impl FlowStage {
    /// Whether it has tuples to give on.
    fn is_busy(&self) -> bool {
        match self {
            Self::Join(join) => join.is_busy,
            Self::Filter { pending, .. } => pending.is_some(),
        }
    }

    fn next(&mut self, columns: &Columns, piece: &Piece<'_>) -> Result<Option<Tuples>> {
        match self {
            Self::Filter { pending, .. } => Ok(pending.take()),
            Self::Join(join) => {
                let condition = join.condition.as_ref();
                let next = join.stage.next(|pairs| match condition {
                    Some(condition) => columns.places_that_meet(piece, pairs, condition),
                    None => Err(Error::internal("a join without a condition")),
                })?;
                join.is_busy = next.is_some();
                Ok(next)
            }
        }
    }

    fn add(
        &mut self,
        columns: &Columns,
        piece: &Piece<'_>,
        keys: Option<&mut ProbeColumns<'_>>,
        tuples: Tuples,
    ) -> Result<()> {
        match (self, keys) {
            (Self::Filter { condition, pending }, _) => {
                let places = columns.places_that_meet(piece, &tuples, condition)?;
                *pending = (!places.is_empty()).then(|| tuples.kept(&places));
                Ok(())
            }
            (Self::Join(join), Some(keys)) => join.add(columns, piece, keys, tuples),
            (Self::Join(_), None) => Err(Error::internal("a join without keys")),
        }
    }
}

impl JoinFlow {
    fn new(
        join: &Join,
        pipeline: &Pipeline,
        table: &Arc<JoinTable>,
        needed: &[bool],
        nulls: &[Option<u32>],
    ) -> Result<Self> {
        let keys = join.probe_keys.iter().map(|key| {
            let column = key.downcast_ref::<Column>().map(Column::index);
            Ok(ProbeKey { column, computed: Computed::new(key, &pipeline.columns)? })
        });
        let condition = join.filter.as_ref();
        let condition = condition.map(|it| Computed::new(it, &pipeline.columns)).transpose()?;
        let mut needed_by_pairs = vec![false; pipeline.relations];
        for column in condition.iter().flat_map(Computed::columns) {
            needed_by_pairs[pipeline.places[*column].0] = true;
        }
        let relations = StageRelations {
            rows: join.relation,
            marks: join.marks.unwrap_or(join.relation),
            needed_by_pairs,
            needed: needed.to_vec(),
        };
        let nulls = nulls.iter().zip(needed).map(|(row, needed)| row.filter(|_| *needed));
        let nulls = nulls.collect();
        Ok(Self {
            stage: JoinStage::new(Arc::clone(table), join.kind, relations, condition.is_some()),
            probe: Probe::new(table),
            keys: keys.collect::<Result<_>>()?,
            condition,
            minds_nulls: join.kind == remanent_exec::JoinKind::RowsNotIn,
            is_busy: false,
            nulls,
        })
    }

    fn add(
        &mut self,
        columns: &Columns,
        piece: &Piece<'_>,
        keys: &mut ProbeColumns<'_>,
        tuples: Tuples,
    ) -> Result<()> {
        let given = self.keys.iter().enumerate().map(|(place, key)| {
            let is_given = keys.is_given(place) || self.minds_nulls;
            let values = is_given.then(|| columns.values(piece, &tuples, &key.computed));
            let values = values.transpose()?;
            match values.as_ref().is_none_or(Values::can_be_key) {
                true => Ok(values),
                false => Err(Error::internal("a key of more digits than its type has")),
            }
        });
        let values = given.collect::<Result<Vec<_>>>()?;
        let given: Vec<Option<Given<'_>>> =
            values.iter().map(|values| values.as_ref().map(Values::given)).collect();
        let has_null_key = given
            .iter()
            .flatten()
            .any(|given| given.nulls.is_some_and(|nulls| nulls.iter().any(|word| *word != 0)));
        let mut entries = Vec::new();
        let table = Arc::clone(self.stage.table());
        let found = table.find(&mut self.probe, keys, &given, &tuples.all_rows(), &mut entries);
        found.map_err(|Refused| DataFusionError::ResourcesExhausted("keys of a join".into()))?;
        drop(given);
        self.stage.add(tuples, entries, has_null_key);
        self.is_busy = true;
        Ok(())
    }
}
