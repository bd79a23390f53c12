//! All that a query asks of hot rows and their bytes can say.
//!
//! A filter is made once for a scan. It says of each addition whether it is all that is needed;
//! what it does not take is left to the caller, who evaluates it on vectors.

use std::sync::Arc;

use remanent_engine::schema::RowLayout;

use super::predicates::Predicate;
use crate::conditions::comparison::Comparison;
use crate::conditions::key_set::KeySet;
use crate::conditions::predicate::ColumnPredicate;
use crate::row_bytes::place::Place;
use crate::row_bytes::tile::RowTile;

/// What a query asks of hot rows.
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
/// let mut filter = RowFilter::default();
/// assert!(filter.add_comparison(table.layout(), 0, Comparison::Greater, 1));
/// let mut numbers = GatheredColumn::new(table.layout(), 0).expect("a column of numbers");
/// let tx = db.begin_read()?;
/// let mut pieces = tx.scan_pieces(&table)?;
/// while let Some(Piece::Rows(rows)) = pieces.next_piece() {
///     for mut tile in RowTile::of(rows) {
///         filter.select(&mut tile);
///         numbers.extend(&tile);
///     }
/// }
/// let Vector::I64(numbers) = numbers.take().values else { unreachable!("the type says it") };
/// assert_eq!(numbers, [0, 1, 2]);
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Default, Debug)]
pub struct RowFilter {
    /// In the order of what a row costs.
    predicates: Vec<Predicate>,
}

impl RowFilter {
    /// Adds a predicate on a leaf of the layout; whether it is evaluated.
    pub fn add(
        &mut self,
        layout: &RowLayout,
        leaf: usize,
        predicate: &dyn ColumnPredicate,
    ) -> bool {
        let Some(place) = Place::of(layout, leaf) else { return false };
        let found = match place.is_text() {
            true => match (predicate.texts(), predicate.pattern()) {
                (Some(texts), _) => Some(Predicate::Texts(place, texts.clone())),
                (_, Some(pattern)) => Some(Predicate::Like(place, Arc::clone(pattern))),
                _ => None,
            },
            false => predicate.ranges().and_then(|ranges| Predicate::among(place, ranges)),
        };
        self.push(found)
    }

    /// Adds a comparison of two leaves; whether it is evaluated.
    pub fn add_comparison(
        &mut self,
        layout: &RowLayout,
        left: usize,
        comparison: Comparison,
        right: usize,
    ) -> bool {
        let places = Place::of(layout, left).zip(Place::of(layout, right));
        self.push(places.and_then(|(left, right)| Predicate::compare(left, comparison, right)))
    }

    /// Adds the keys that a join wants of a leaf; whether they are compared.
    pub fn add_keys(&mut self, layout: &RowLayout, leaf: usize, keys: &Arc<KeySet>) -> bool {
        self.push(Place::of(layout, leaf).and_then(|place| Predicate::keys(place, keys)))
    }

    fn push(&mut self, predicate: Option<Predicate>) -> bool {
        let Some(predicate) = predicate else { return false };
        let at = self.predicates.partition_point(|other| other.cost() <= predicate.cost());
        self.predicates.insert(at, predicate);
        true
    }

    /// Leaves the rows of a tile that meet all that was added.
    pub fn select(&self, tile: &mut RowTile<'_, '_>) {
        for predicate in &self.predicates {
            if tile.is_empty() {
                return;
            }
            predicate.keep(tile);
        }
    }
}
