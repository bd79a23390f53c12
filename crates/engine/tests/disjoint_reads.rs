//! What counts as read is what was asked for, and no more.
//!
//! Two serializable transactions that ask for different rows commit both, however they ask: by a
//! range of keys whose end is next to the other's rows, by a predicate, by a count of rows. And a
//! cursor within a range gives just the rows of the range, whichever way it goes.

use std::ops::ControlFlow;
use std::sync::Arc;

use proptest::prelude::*;
use remanent_engine::schema::{ColumnType, IndexSchema, TableSchema, Value};
use remanent_engine::{
    ColumnHandle, Cursor, Database, Find, IndexHandle, KeyBound, Options, Piece, Result, Row,
    RowPredicate, Table,
};

/// A value of `a` at which a range ends, and whether rows with it are in the range.
type End = Option<(i32, bool)>;

struct World {
    db: Database,
    table: Table,
    a: ColumnHandle,
    b: ColumnHandle,
    c: ColumnHandle,
    index: IndexHandle,
}

impl World {
    /// Rows (a, b, 0) with an index over (a, b).
    fn new(rows: &[(i32, i32)]) -> Result<Self> {
        let db = Database::open(Options::new())?;
        let schema = TableSchema::new("T")
            .column("a", ColumnType::I32)
            .column("b", ColumnType::I32)
            .column("c", ColumnType::I32)
            .index(IndexSchema::new("ab", ["a", "b"]));
        let table = db.create_table(schema)?;
        let rows = rows.iter().map(|&(a, b)| [Some(a.into()), Some(b.into()), Some(0.into())]);
        let rows: Vec<[Option<Value<'_>>; 3]> = rows.collect();
        db.write(|tx| tx.insert_all_values(&table, rows.clone()))?;
        let (a, b, c) = (table.column("a")?, table.column("b")?, table.column("c")?);
        let index = table.index("ab")?;
        Ok(Self { db, table, a, b, c, index })
    }

    fn key(&self, row: &Row<'_>) -> (i32, i32) {
        (row.get(self.a).unwrap_or_default(), row.get(self.b).unwrap_or_default())
    }

    /// Sets `c` of the rows with this `a`, and commits.
    fn change(&self, a: i32) -> Result<()> {
        self.db.write(|tx| {
            let mut ids = Vec::new();
            tx.each(&self.table, self.index, &[a.into()], |row| {
                ids.push(row.id());
                Ok(())
            })?;
            ids.iter().try_for_each(|&id| tx.update_values(&self.table, id, &[(self.c, 9.into())]))
        })
    }

    /// Whether a transaction that reads this and writes something commits, although another one
    /// changes the rows with this `a` in between.
    fn survives(
        &self,
        changed: i32,
        read: impl FnOnce(&remanent_engine::WriteTransaction<'_>) -> Result<()>,
    ) -> Result<bool> {
        let tx = self.db.begin_write()?;
        read(&tx)?;
        tx.insert_values(&self.table, &[Some(1000.into()), Some(0.into()), Some(0.into())])?;
        self.change(changed)?;
        Ok(tx.commit().is_ok())
    }

    /// Whether a range between two bounds of `a` conflicts with a change of these rows.
    fn range_survives(
        &self,
        changed: i32,
        (low, high): (End, End),
        backwards: bool,
    ) -> Result<bool> {
        self.survives(changed, |tx| {
            let (low_key, high_key) = (values(low.map(|it| it.0)), values(high.map(|it| it.0)));
            let bound =
                |key, it: Option<(i32, bool)>| it.map(|(_, included)| KeyBound { key, included });
            let bounds = (bound(&low_key[..], low), bound(&high_key[..], high));
            let mut cursor = tx.cursor_within(&self.table, self.index, bounds.0, bounds.1)?;
            let mut row = if backwards { cursor.last() } else { cursor.first() };
            while row.is_some() {
                row = if backwards { cursor.previous() } else { cursor.next() };
            }
            Ok(())
        })
    }
}

fn values(of: Option<i32>) -> Vec<Value<'static>> {
    of.map(Value::from).into_iter().collect()
}

#[test]
fn rows_beside_a_range_are_not_read() -> Result<()> {
    let rows: Vec<(i32, i32)> = (0..30).map(|i| (i, 0)).collect();
    for backwards in [false, true] {
        let world = World::new(&rows)?;
        let at = |a| Some((a, true));
        let but = |a| Some((a, false));
        for (range, inside, outside) in [
            ((at(10), at(12)), [10, 12], [9, 13]),
            ((but(10), but(13)), [11, 12], [10, 13]),
            ((at(10), but(13)), [10, 12], [9, 13]),
            ((but(10), at(13)), [11, 13], [10, 14]),
        ] {
            for a in inside {
                assert!(!world.range_survives(a, range, backwards)?, "{range:?}: {a}");
            }
            for a in outside {
                assert!(world.range_survives(a, range, backwards)?, "{range:?}: {a}");
            }
        }
        assert!(!world.range_survives(29, (at(20), None), backwards)?);
        assert!(world.range_survives(19, (at(20), None), backwards)?);
        assert!(!world.range_survives(0, (None, but(3)), backwards)?);
        assert!(world.range_survives(3, (None, but(3)), backwards)?);
        // Of an empty range all is known: a row that comes into it is a conflict.
        let world = World::new(&[(1, 0), (5, 0)])?;
        assert!(world.range_survives(1, (at(2), at(4)), backwards)?);
        assert!(world.range_survives(5, (at(2), at(4)), backwards)?);
    }
    Ok(())
}

#[test]
fn a_row_that_comes_into_an_empty_range_is_a_conflict() -> Result<()> {
    let world = World::new(&[(1, 0), (5, 0)])?;
    for (a, survives) in [(2, false), (3, false), (4, true), (1, true), (5, true)] {
        let tx = world.db.begin_write()?;
        let (low, high) = ([Value::I32(2)], [Value::I32(4)]);
        let (low, high) = (KeyBound::included(&low), KeyBound::excluded(&high));
        let mut cursor = tx.cursor_within(&world.table, world.index, Some(low), Some(high))?;
        assert!(cursor.first().is_none() && cursor.last().is_none());
        drop(cursor);
        let row = |a: i32| [Some(a.into()), Some(7.into()), Some(0.into())];
        tx.insert_values(&world.table, &row(1000))?;
        let inserted = world.db.write(|other| other.insert_values(&world.table, &row(a)))?;
        assert_eq!(tx.commit().is_ok(), survives, "{a}");
        world.db.write(|other| other.delete(&world.table, inserted))?;
    }
    Ok(())
}

#[test]
fn rows_that_meet_no_predicate_are_not_read() -> Result<()> {
    for freeze in [false, true] {
        let world = World::new(&[(1, 1), (2, 1), (3, 2)])?;
        if freeze {
            world.db.freeze_all(&world.table)?;
        }
        let (a, b) = (world.a, world.b);
        let predicate: RowPredicate =
            Arc::new(move |row| row.get::<i32>(a) == Some(2) || row.get::<i32>(b) == Some(2));
        for (changed, survives) in [(1, true), (2, false), (3, false)] {
            let did = world.survives(changed, |tx| {
                let mut pieces = tx.scan_pieces_where(&world.table, &predicate)?;
                while let Some(piece) = pieces.next_piece() {
                    let (Piece::Rows(_) | Piece::Frozen(_)) = piece;
                }
                Ok(())
            })?;
            assert_eq!(did, survives, "{changed}, frozen: {freeze}");
        }
        // What was not there before, and would meet it, is a conflict; what would not, is none.
        for (b, survives) in [(2, false), (3, true)] {
            let tx = world.db.begin_write()?;
            drop(tx.scan_pieces_where(&world.table, &predicate)?);
            let row = |a: i32, b: i32| [Some(a.into()), Some(b.into()), Some(0.into())];
            tx.insert_values(&world.table, &row(50, 5))?;
            world.db.write(|other| other.insert_values(&world.table, &row(60, b)))?;
            assert_eq!(tx.commit().is_ok(), survives);
        }
        // More of them than are kept: the whole table counts.
        let survived = world.survives(1, |tx| {
            (0..100).try_for_each(|_| tx.scan_pieces_where(&world.table, &predicate).map(drop))
        })?;
        assert!(!survived);
    }
    Ok(())
}

#[test]
fn how_many_rows_there_may_be_is_no_read() -> Result<()> {
    let world = World::new(&[(1, 1), (2, 1)])?;
    assert!(world.survives(1, |tx| {
        assert!(tx.rows_max(&world.table)? >= 2);
        Ok(())
    })?);
    Ok(())
}

fn all_of(world: &World, cursor: &mut Cursor<'_>, backwards: bool) -> Vec<(i32, i32)> {
    let mut found = Vec::new();
    let mut row = if backwards { cursor.last() } else { cursor.first() };
    while let Some(at) = row {
        found.push(world.key(&at));
        row = if backwards { cursor.previous() } else { cursor.next() };
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Against a filter over all rows, for bounds of one part or two, both ways.
    #[test]
    fn a_range_has_just_its_rows(
        rows in prop::collection::vec((-8..8_i32, -3..3_i32), 0..60),
        low in prop::option::of((prop::collection::vec(-9..9_i32, 1..3), any::<bool>())),
        high in prop::option::of((prop::collection::vec(-9..9_i32, 1..3), any::<bool>())),
        freeze in any::<bool>(),
    ) {
        let world = World::new(&rows).unwrap();
        if freeze {
            world.db.freeze_all(&world.table).unwrap();
        }
        let begins = |row: &[i32; 2], key: &[i32]| row[..key.len()] == *key;
        let mut wanted: Vec<(i32, i32)> = rows.iter().copied().filter(|&(a, b)| {
            let row = [a, b];
            let above = low.as_ref().is_none_or(|(key, included)| match begins(&row, key) {
                true => *included,
                false => row[..] > key[..],
            });
            let below = high.as_ref().is_none_or(|(key, included)| match begins(&row, key) {
                true => *included,
                false => row[..] < key[..],
            });
            above && below
        }).collect();
        wanted.sort_unstable();
        let encode = |of: &Option<(Vec<i32>, bool)>| {
            of.as_ref().map(|(key, included)| {
                (key.iter().map(|&v| Value::I32(v)).collect::<Vec<_>>(), *included)
            })
        };
        let (low, high) = (encode(&low), encode(&high));
        let low = low.as_ref().map(|(key, included)| KeyBound { key, included: *included });
        let high = high.as_ref().map(|(key, included)| KeyBound { key, included: *included });
        let tx = world.db.begin_write().unwrap();
        let mut cursor = tx.cursor_within(&world.table, world.index, low, high).unwrap();
        prop_assert_eq!(&all_of(&world, &mut cursor, false), &wanted);
        let swept = cursor.sweep(Vec::new(), |mut rows, row| {
            rows.push(world.key(&row));
            ControlFlow::<(), _>::Continue(rows)
        });
        prop_assert_eq!(swept, ControlFlow::Continue(wanted.clone()));
        wanted.reverse();
        prop_assert_eq!(&all_of(&world, &mut cursor, true), &wanted);
        // Sent to a key within it, a cursor still ends where the range does.
        let from = cursor.find(Find::AtLeast, &[Value::I32(0)]).unwrap().map(|row| world.key(&row));
        let inside = wanted.iter().rev().find(|(a, _)| *a >= 0).copied();
        if let Some(inside) = inside {
            prop_assert!(from.is_some_and(|from| from <= inside && from.0 >= 0));
        }
    }
}
