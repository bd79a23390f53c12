//! What is aggregated: a value of each row, computed here or given by the caller.
//!
//! Which of the two it is, is decided for each segment: where the least and the greatest numbers of
//! its columns prove that nothing overflows, an argument is computed of encoded values.

use std::ops::Range;

use super::expression::{Program, Results};
use crate::conditions::ranges::NumberRange;
use crate::rows::Rows;
use crate::sources::source::{Given, Loader, Slice, Source, has_bit};

/// What is aggregated: a value of each row.
#[derive(Clone, Debug)]
pub struct Argument {
    /// The step of the program that computes it; `None` if the caller does.
    pub step: Option<usize>,
    /// Whether it may be null.
    pub nullable: bool,
    /// What values it has.
    pub kind: ArgumentKind,
}

/// What values an argument has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArgumentKind {
    /// Whole numbers, or unscaled decimals, of 8 bytes.
    Whole,
    /// The same of up to 16 bytes.
    Wide,
    /// Floats.
    Float,
    /// Any, of which nothing is asked but whether it is null.
    Any,
}

/// All arguments, and their values for the rows of a tile.
#[derive(Clone)]
pub(crate) struct Arguments {
    list: Vec<Argument>,
    program: Program,
    /// The relation of each column.
    relations: Vec<usize>,
    results: Results,
    /// Numbers that were given, as numbers of 8 bytes.
    numbers: Vec<Vec<i64>>,
    /// 1 for each row that has a value, else 0; none if all have.
    valid: Vec<Vec<i64>>,
}

/// The arguments in one segment.
pub(crate) struct SegmentArguments<'s> {
    loaders: Vec<Option<Loader<'s>>>,
    ranges: Vec<Option<NumberRange>>,
    /// Which steps are computed.
    used: Vec<bool>,
    /// Which arguments are computed, with what says for which rows they are null.
    computed: Vec<Option<Vec<NullsOf<'s>>>>,
}

/// A bitmap of the rows of a relation that are null.
struct NullsOf<'s> {
    relation: usize,
    bits: &'s [u64],
}

impl SegmentArguments<'_> {
    /// Whether the caller has to give the values of an argument.
    pub(crate) fn is_given(&self, argument: usize) -> bool {
        self.computed[argument].is_none()
    }
}

/// Values of an argument that the caller gives.
pub(crate) struct GivenArgument<'g> {
    given: Given<'g>,
    /// How they become numbers of 8 bytes, if they all have room there.
    loader: Option<Loader<'g>>,
}

impl<'g> GivenArgument<'g> {
    pub(crate) fn of(given: &Given<'g>) -> Self {
        Self { given: *given, loader: Loader::of(&Source::Given(*given)) }
    }
}

/// Where the values of a tile come from.
pub(crate) struct Tile<'t, 's, 'g> {
    pub(crate) segment: &'t SegmentArguments<'s>,
    /// The rows of each relation, the first of which is that of the segment.
    pub(crate) rows: &'t [Rows<'t>],
    /// Values that the caller gives.
    pub(crate) given: &'t [Option<GivenArgument<'g>>],
    /// The rows in what the caller gives.
    pub(crate) given_rows: Range<usize>,
}

/// The values of an argument for the rows of a tile; those of null rows are arbitrary.
pub(crate) enum Values<'v> {
    /// Numbers of 8 bytes, within a range.
    Narrow(&'v [i64], NumberRange),
    Wide(&'v [i128]),
    Floats(&'v [f64]),
    /// All that is known is which are null.
    Any,
}

impl Arguments {
    pub(crate) fn new(list: Vec<Argument>, program: Program, relations: Vec<usize>) -> Self {
        let (numbers, valid) = (vec![Vec::new(); list.len()], vec![Vec::new(); list.len()]);
        Self { list, program, relations, results: Results::default(), numbers, valid }
    }

    fn relation(&self, column: usize) -> usize {
        self.relations.get(column).copied().unwrap_or_default()
    }

    /// The arguments in a segment.
    pub(crate) fn segment<'s>(&self, columns: &[Source<'s>]) -> SegmentArguments<'s> {
        let loaders: Vec<_> = columns.iter().map(Loader::of).collect();
        let known = loaders.iter().map(|loader| loader.as_ref().map(|loader| loader.range));
        let ranges = self.program.ranges(&known.collect::<Vec<_>>());
        let computed: Vec<_> = self
            .list
            .iter()
            .map(|argument| {
                let step = argument.step.filter(|step| ranges[*step].is_some())?;
                let columns = self.program.columns_of(step).into_iter();
                let nulls = columns.filter_map(|column| {
                    let bits = loaders[column].as_ref()?.nulls?;
                    Some(NullsOf { relation: self.relation(column), bits })
                });
                Some(nulls.collect())
            })
            .collect();
        let steps = self.list.iter().zip(&computed).filter(|(_, computed)| computed.is_some());
        let used = self.program.used_by(steps.filter_map(|(argument, _)| argument.step));
        SegmentArguments { loaders, ranges, used, computed }
    }

    /// The values of arguments that the caller has to give.
    ///
    /// # Panics
    /// If they are missing.
    pub(crate) fn given<'g>(
        &self,
        segment: &SegmentArguments<'_>,
        given: &[Option<Given<'g>>],
    ) -> Vec<Option<GivenArgument<'g>>> {
        let arguments = (0..self.list.len()).map(|argument| {
            segment.is_given(argument).then(|| {
                let given = given.get(argument).copied().flatten();
                GivenArgument::of(&given.expect("values of an argument"))
            })
        });
        arguments.collect()
    }

    /// Computes or loads the values of all arguments for the rows of a tile.
    pub(crate) fn load(&mut self, tile: &Tile<'_, '_, '_>) {
        let Tile { segment, rows, given, given_rows } = tile;
        let (relations, count) = (&self.relations, given_rows.len());
        self.program.compute(
            &segment.used,
            &segment.ranges,
            &mut self.results,
            count,
            |column, into| {
                if let Some(loader) = &segment.loaders[column] {
                    loader.load(rows[relations.get(column).copied().unwrap_or_default()], into);
                }
            },
        );
        let given_rows = Rows::Stretch(given_rows.start, given_rows.end);
        for (argument, computed) in segment.computed.iter().enumerate() {
            let valid = &mut self.valid[argument];
            valid.clear();
            if let Some(nulls) = computed {
                nulls.iter().for_each(|of| note_nulls(of.bits, rows[of.relation], valid));
                continue;
            }
            let Some(given) = &given[argument] else { continue };
            given.given.nulls.iter().for_each(|nulls| note_nulls(nulls, given_rows, valid));
            if let Some(loader) = &given.loader {
                self.numbers[argument].resize(count, 0);
                loader.load(given_rows, &mut self.numbers[argument]);
            }
        }
    }

    /// The values of an argument for the rows of the tile that was loaded last.
    pub(crate) fn values<'v>(&'v self, tile: &Tile<'v, '_, '_>, argument: usize) -> Values<'v> {
        let step = self.list[argument].step.filter(|_| !tile.segment.is_given(argument));
        if let Some((step, range)) = step.and_then(|step| Some((step, tile.segment.ranges[step]?)))
        {
            return Values::Narrow(self.results.of(step), range);
        }
        let Some(GivenArgument { given, loader }) = &tile.given[argument] else {
            return Values::Any;
        };
        match (loader, given.values) {
            (Some(loader), _) => Values::Narrow(&self.numbers[argument], loader.range),
            (None, Slice::I128(numbers)) => Values::Wide(&numbers[tile.given_rows.clone()]),
            (None, Slice::F64(floats)) => Values::Floats(&floats[tile.given_rows.clone()]),
            _ => Values::Any,
        }
    }

    /// For each row of the tile that was loaded last 1 if the argument has a value, else 0; `None`
    /// if all have.
    pub(crate) fn valid(&self, argument: usize) -> Option<&[i64]> {
        let valid = &self.valid[argument];
        (!valid.is_empty()).then_some(valid.as_slice())
    }
}

/// Puts 0 in the place of each row that is null.
fn note_nulls(nulls: &[u64], rows: Rows<'_>, valid: &mut Vec<i64>) {
    valid.resize(rows.len(), 1);
    rows.each(|at, row| {
        if has_bit(nulls, row) {
            valid[at] = 0;
        }
    });
}
