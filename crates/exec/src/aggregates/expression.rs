//! Sums, differences and products of whole numbers, proved not to overflow before they are made.
//!
//! An expression is a program of steps, each of which is computed once for a tile, however many
//! use it. What the columns of a segment have at least and at most says the same of each step; a
//! step is computed only where all that it may be fits into its type and into 8 bytes. Where that
//! is not sure, the caller computes the value, and says what overflows.

#[cfg(test)]
mod tests;

use crate::conditions::ranges::NumberRange;
use crate::simd::vectorized;

/// One step: a column, a constant, or an operation on the results of earlier steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The number of the column with this place.
    Column(usize),
    /// The same number for each row.
    Constant(i64),
    /// The sum of two steps.
    Sum(usize, usize),
    /// The first less the second.
    Difference(usize, usize),
    /// The product of two steps.
    Product(usize, usize),
}

/// Steps in an order in which they can be computed.
///
/// # Examples
/// ```
/// use remanent_exec::{NumberRange, Program, Step};
/// let mut program = Program::default();
/// let small = NumberRange { low: -999, high: 999 };
/// let a = program.push(Step::Column(0), small);
/// let b = program.push(Step::Column(1), small);
/// let product = program.push(Step::Product(a, b), NumberRange { low: -10_000, high: 10_000 });
/// assert_eq!(program.push(Step::Column(1), small), b);
/// let known = |low, high| Some(NumberRange { low, high });
/// assert_eq!(program.ranges(&[known(0, 99), known(-9, 9)])[product], known(-891, 891));
/// // Numbers of up to 999 have products that the type has no room for.
/// assert_eq!(program.ranges(&[known(0, 999), known(-99, 9)])[product], None);
/// ```
#[derive(Clone, Default, Debug)]
pub struct Program {
    steps: Vec<Typed>,
}

/// A step, and the numbers that its type has room for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Typed {
    step: Step,
    room: NumberRange,
}

impl Program {
    /// Adds a step whose type has room for these numbers, if it is not there already, and says
    /// which it is.
    ///
    /// # Panics
    /// If it uses a step that is not there.
    pub fn push(&mut self, step: Step, room: NumberRange) -> usize {
        if let Step::Sum(a, b) | Step::Difference(a, b) | Step::Product(a, b) = step {
            assert!(a.max(b) < self.steps.len(), "{step:?} of {} steps", self.steps.len());
        }
        let typed = Typed { step, room };
        let known = self.steps.iter().position(|known| *known == typed);
        known.unwrap_or_else(|| {
            self.steps.push(typed);
            self.steps.len() - 1
        })
    }

    /// How many steps there are.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The least and the greatest number that each step may have, by those of the columns; `None`
    /// where they are not known, or not sure to fit.
    pub fn ranges(&self, columns: &[Option<NumberRange>]) -> Vec<Option<NumberRange>> {
        let mut ranges: Vec<Option<NumberRange>> = Vec::with_capacity(self.steps.len());
        for Typed { step, room } in &self.steps {
            let of = |step: usize| ranges[step];
            let range = match *step {
                Step::Column(place) => columns.get(place).copied().flatten(),
                Step::Constant(number) => {
                    Some(NumberRange { low: number.into(), high: number.into() })
                }
                // Numbers of 8 bytes have results of 16.
                Step::Sum(a, b) => of(a)
                    .zip(of(b))
                    .map(|(a, b)| NumberRange { low: a.low + b.low, high: a.high + b.high }),
                Step::Difference(a, b) => of(a)
                    .zip(of(b))
                    .map(|(a, b)| NumberRange { low: a.low - b.high, high: a.high - b.low }),
                Step::Product(a, b) => of(a).zip(of(b)).map(|(a, b)| {
                    let ends = [a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high];
                    let low = ends.into_iter().min().unwrap_or_default();
                    let high = ends.into_iter().max().unwrap_or_default();
                    NumberRange { low, high }
                }),
            };
            let fits = |number| room.has(number) && i64::try_from(number).is_ok();
            ranges.push(range.filter(|range| fits(range.low) && fits(range.high)));
        }
        ranges
    }

    /// The columns that a step is computed of, each once.
    pub fn columns_of(&self, step: usize) -> Vec<usize> {
        let used = self.used_by([step]);
        let used = self.steps.iter().zip(used).filter(|(_, used)| *used);
        let columns = used.filter_map(|(typed, _)| match typed.step {
            Step::Column(place) => Some(place),
            _ => None,
        });
        let mut columns: Vec<usize> = columns.collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// For each step whether one of these uses it, or is it.
    pub(crate) fn used_by(&self, of: impl IntoIterator<Item = usize>) -> Vec<bool> {
        let mut used = vec![false; self.steps.len()];
        of.into_iter().for_each(|step| used[step] = true);
        for place in (0..self.steps.len()).rev() {
            if let (true, Step::Sum(a, b) | Step::Difference(a, b) | Step::Product(a, b)) =
                (used[place], self.steps[place].step)
            {
                used[a] = true;
                used[b] = true;
            }
        }
        used
    }

    /// Computes the steps that are used for the rows of a tile, whose columns `load` loads.
    ///
    /// Results of null rows are arbitrary.
    pub(crate) fn compute(
        &self,
        used: &[bool],
        ranges: &[Option<NumberRange>],
        results: &mut Results,
        rows: usize,
        load: impl Fn(usize, &mut [i64]),
    ) {
        results.tiles.resize_with(self.steps.len(), Vec::new);
        for (place, typed) in self.steps.iter().enumerate().filter(|(place, _)| used[*place]) {
            let mut into = std::mem::take(&mut results.tiles[place]);
            into.resize(rows, 0);
            let operand = |step: usize| match self.steps[step].step {
                Step::Constant(number) => Operand::One(number),
                _ => Operand::Rows(&results.tiles[step]),
            };
            match typed.step {
                Step::Column(column) => load(column, &mut into),
                Step::Constant(number) => into.fill(number),
                Step::Sum(a, b) => add(operand(a), operand(b), &mut into),
                Step::Difference(a, b) => subtract(operand(a), operand(b), &mut into),
                // The processor multiplies numbers of 4 bytes, several at once.
                Step::Product(a, b) if [a, b].iter().all(|step| is_half(ranges[*step])) => {
                    multiply_halves(operand(a), operand(b), &mut into);
                }
                Step::Product(a, b) => multiply(operand(a), operand(b), &mut into),
            }
            results.tiles[place] = into;
        }
    }
}

/// The results of all steps for the rows of a tile.
#[derive(Clone, Default)]
pub(crate) struct Results {
    tiles: Vec<Vec<i64>>,
}

impl Results {
    /// Those of a step that was computed.
    pub(crate) fn of(&self, step: usize) -> &[i64] {
        &self.tiles[step]
    }
}

/// Whether all numbers have 4 bytes, without a sign.
fn is_half(range: Option<NumberRange>) -> bool {
    let room = NumberRange { low: 0, high: u32::MAX.into() };
    range.is_some_and(|range| room.has(range.low) && room.has(range.high))
}

#[derive(Clone, Copy)]
enum Operand<'o> {
    Rows(&'o [i64]),
    /// The same for all rows.
    One(i64),
}

vectorized! {
    fn add(a: Operand<'_>, b: Operand<'_>, into: &mut [i64]) {
        each(a, b, into, |a, b| a.wrapping_add(b));
    }
}

vectorized! {
    fn subtract(a: Operand<'_>, b: Operand<'_>, into: &mut [i64]) {
        each(a, b, into, |a, b| a.wrapping_sub(b));
    }
}

vectorized! {
    fn multiply(a: Operand<'_>, b: Operand<'_>, into: &mut [i64]) {
        each(a, b, into, |a, b| a.wrapping_mul(b));
    }
}

vectorized! {
    /// The product of numbers of 4 bytes without a sign.
    fn multiply_halves(a: Operand<'_>, b: Operand<'_>, into: &mut [i64]) {
        each(a, b, into, |a, b| (u64::from(a as u32) * u64::from(b as u32)) as i64);
    }
}

#[inline(always)]
fn each(a: Operand<'_>, b: Operand<'_>, into: &mut [i64], result: impl Fn(i64, i64) -> i64) {
    match (a, b) {
        (Operand::Rows(a), Operand::Rows(b)) => {
            let pairs = a.iter().zip(b);
            into.iter_mut().zip(pairs).for_each(|(to, (a, b))| *to = result(*a, *b));
        }
        (Operand::Rows(a), Operand::One(b)) => {
            into.iter_mut().zip(a).for_each(|(to, a)| *to = result(*a, b));
        }
        (Operand::One(a), Operand::Rows(b)) => {
            into.iter_mut().zip(b).for_each(|(to, b)| *to = result(a, *b));
        }
        (Operand::One(a), Operand::One(b)) => into.fill(result(a, b)),
    }
}
