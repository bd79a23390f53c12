//! All that a query asks of the rows of one segment and encoded values can say.
//!
//! A filter is made once for a segment, and asked for each stretch of its rows. It never leaves a
//! row out that meets what was added, and says of each addition whether it is all that is needed.

use std::ops::Range;
use std::sync::Arc;

use remanent_engine::{ColumnHandle, FrozenRows, Result};

use crate::conditions::comparison::{ColumnComparison, Columns, Comparison};
use crate::conditions::key_set::KeyTally;
use crate::conditions::key_sketch::WantedNumbers;
use crate::conditions::predicate::ColumnPredicate;
use crate::conditions::verdict::Verdict;
use crate::rows::bits::RowBits;
use crate::rows::selection::Selection;

/// What a query asks of the rows of one segment.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use remanent_engine::{Database, Options, Piece, schema::*};
/// use remanent_exec::*;
/// /// Numbers in these ranges.
/// struct Among(NumberRanges);
/// impl ColumnPredicate for Among {
///     fn ranges(&self) -> Option<&NumberRanges> {
///         Some(&self.0)
///     }
///     fn pattern(&self) -> Option<&Arc<dyn TextPattern>> {
///         None
///     }
///     fn matches(&self, _: Decoded<'_>) -> Option<Matches> {
///         None // Ranges of wide offsets are not evaluated on values.
///     }
/// }
/// let db = Database::open(Options::new())?;
/// let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I64))?;
/// let rows = (0..1000_i64).map(|i| [Some(Value::I64(i * 7))]);
/// db.write(|tx| tx.insert_all_values(&table, rows.clone()))?;
/// db.freeze_all(&table)?;
/// let tx = db.begin_read()?;
/// let mut pieces = tx.scan_pieces(&table)?;
/// let Some(Piece::Frozen(rows)) = pieces.next_piece() else { unreachable!() };
/// let mut filter = SegmentFilter::default();
/// let evaluation = filter.add(&rows, table.column("a")?, &Among(NumberRanges::between(0, 20)))?;
/// assert_eq!(evaluation, Evaluation::Encoded);
/// assert_eq!(filter.select(&rows, 0..rows.len())?, Selection::List(vec![0, 1, 2]));
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Default, Debug)]
pub struct SegmentFilter {
    /// What is said by numbers, with the column that each is about.
    numbers: Vec<(ColumnHandle, Verdict)>,
    /// What joins want, with the column and how many rows that has kept so far.
    keys: Vec<(ColumnHandle, Verdict, Arc<KeyTally>)>,
    /// Comparisons of two columns, with these.
    comparisons: Vec<(ColumnHandle, ColumnComparison, ColumnHandle)>,
    /// What is said by text, which takes longest, and so has the fewest rows left.
    texts: Vec<(ColumnHandle, Verdict)>,
}

/// Where a predicate on a segment is evaluated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Evaluation {
    /// Nowhere: no row of the segment meets it.
    NoRow,
    /// On encoded values, or nowhere since all rows meet it: [`SegmentFilter::select`] does it.
    Encoded,
    /// On decoded values, by the caller.
    Decoded,
}

impl SegmentFilter {
    /// Adds a predicate on a column, and says where it is evaluated.
    ///
    /// # Errors
    /// A column of another table; of a paged one, what reading it fails with.
    pub fn add(
        &mut self,
        rows: &FrozenRows<'_>,
        column: ColumnHandle,
        predicate: &dyn ColumnPredicate,
    ) -> Result<Evaluation> {
        let verdict = Verdict::of(predicate, &rows.summary(column)?, || rows.column(column))?;
        Ok(self.push(column, verdict))
    }

    /// Whether the least and the greatest value of a column say that no row meets a predicate on
    /// it. Nothing is read for it.
    ///
    /// # Errors
    /// A column of another table.
    pub fn is_excluded(
        rows: &FrozenRows<'_>,
        column: ColumnHandle,
        predicate: &dyn ColumnPredicate,
    ) -> Result<bool> {
        Ok(Verdict::is_none(predicate, &rows.summary(column)?))
    }

    /// Whether none of the keys that a join wants of a column can be in it. Nothing is read for it.
    ///
    /// # Errors
    /// A column of another table.
    pub fn has_no_key(
        rows: &FrozenRows<'_>,
        column: ColumnHandle,
        keys: &WantedNumbers,
    ) -> Result<bool> {
        Ok(matches!(Verdict::of_keys(keys, &rows.summary(column)?), Verdict::None))
    }

    /// Adds a comparison of two columns, and says where it is evaluated.
    ///
    /// # Errors
    /// A column of another table; of a paged one, what reading it fails with.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Options, Piece, schema::*};
    /// use remanent_exec::*;
    /// let db = Database::open(Options::new())?;
    /// let schema = TableSchema::new("T");
    /// let schema = schema.column("a", ColumnType::I64).column("b", ColumnType::I64);
    /// let table = db.create_table(schema)?;
    /// let rows = (0..1000_i64).map(|i| [Some(Value::I64(i)), Some(Value::I64(i * i - 6))]);
    /// db.write(|tx| tx.insert_all_values(&table, rows.clone()))?;
    /// db.freeze_all(&table)?;
    /// let tx = db.begin_read()?;
    /// let mut pieces = tx.scan_pieces(&table)?;
    /// let Some(Piece::Frozen(rows)) = pieces.next_piece() else { unreachable!() };
    /// let (a, b) = (table.column("a")?, table.column("b")?);
    /// let mut filter = SegmentFilter::default();
    /// let evaluation = filter.add_comparison(&rows, a, Comparison::Greater, b)?;
    /// assert_eq!(evaluation, Evaluation::Encoded);
    /// assert_eq!(filter.select(&rows, 0..rows.len())?, Selection::List(vec![0, 1, 2]));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn add_comparison(
        &mut self,
        rows: &FrozenRows<'_>,
        left: ColumnHandle,
        comparison: Comparison,
        right: ColumnHandle,
    ) -> Result<Evaluation> {
        let columns = [&rows.summary(left)?, &rows.summary(right)?];
        let Some(comparison) = ColumnComparison::of(comparison, columns) else {
            return Ok(Evaluation::Decoded);
        };
        self.comparisons.push((left, comparison, right));
        Ok(Evaluation::Encoded)
    }

    /// Adds the keys that a join wants of a column, and says where they are compared: where the
    /// answer is [`Evaluation::Decoded`], by the join. The tally learns how many rows they keep.
    ///
    /// # Errors
    /// A column of another table; of a paged one, what reading it fails with.
    pub fn add_keys(
        &mut self,
        rows: &FrozenRows<'_>,
        column: ColumnHandle,
        keys: &WantedNumbers,
        tally: &Arc<KeyTally>,
    ) -> Result<Evaluation> {
        let verdict = Verdict::of_keys(keys, &rows.summary(column)?);
        if matches!(verdict, Verdict::Among { .. } | Verdict::MaybeAmong { .. }) {
            self.keys.push((column, verdict, Arc::clone(tally)));
            return Ok(Evaluation::Encoded);
        }
        Ok(self.push(column, verdict))
    }

    fn push(&mut self, column: ColumnHandle, verdict: Verdict) -> Evaluation {
        match verdict {
            Verdict::None => return Evaluation::NoRow,
            Verdict::Unknown => return Evaluation::Decoded,
            Verdict::All => {}
            Verdict::Like(_) | Verdict::LikeCodes(_) | Verdict::BoundCodes(_) => {
                self.texts.push((column, verdict));
            }
            _ => self.numbers.push((column, verdict)),
        }
        Evaluation::Encoded
    }

    fn is_empty(&self) -> bool {
        let has_others = !self.comparisons.is_empty() || !self.texts.is_empty();
        self.numbers.is_empty() && self.keys.is_empty() && !has_others
    }

    /// The rows of a stretch that are seen, and of which encoded values do not say that they do not
    /// meet what was added.
    ///
    /// # Errors
    /// Rows of another table; of a paged one, what reading columns fails with.
    ///
    /// # Panics
    /// If the stretch goes beyond the rows.
    pub fn select(&self, rows: &FrozenRows<'_>, stretch: Range<usize>) -> Result<Selection> {
        assert!(stretch.end <= rows.len(), "rows {stretch:?} of {}", rows.len());
        let mut left = match rows.visible() {
            Some(visible) => RowBits::of_bitmap(visible, stretch.clone()),
            None if self.is_empty() => {
                return Ok(Selection::Stretch(stretch.start, stretch.end));
            }
            None => RowBits::all(stretch.len()),
        };
        for (column, verdict) in &self.numbers {
            if left.is_none() {
                break;
            }
            verdict.filter(&rows.column(*column)?, stretch.start, &mut left);
        }
        for (column, verdict, tally) in &self.keys {
            let asked = left.count();
            if asked == 0 {
                return Ok(Selection::of(&left, stretch.start));
            }
            verdict.filter(&rows.column(*column)?, stretch.start, &mut left);
            tally.note(asked, left.count());
        }
        for (first, comparison, second) in &self.comparisons {
            if left.is_none() {
                break;
            }
            let columns = Columns { left: &rows.column(*first)?, right: &rows.column(*second)? };
            comparison.filter(&columns, stretch.start, &mut left);
        }
        for (column, verdict) in &self.texts {
            if left.is_none() {
                break;
            }
            verdict.filter(&rows.column(*column)?, stretch.start, &mut left);
        }
        Ok(Selection::of(&left, stretch.start))
    }
}
