//! A table of hot rows with a column of any type between others, and its values as plain cells.

use remanent_engine::schema::{Column, ColumnType, RowLayout, TableSchema, Value};
use remanent_engine::{Database, Options, Piece, Table};
use remanent_exec::{GatheredColumn, RowFilter, RowTile};

use super::columns::{Nulls, Shape};
use super::random::Random;
use super::{Cell, cells_of};

/// Leaves of the two columns that are asked about; text lies before and behind them.
pub(crate) const V: usize = 1;
pub(crate) const W: usize = 3;

/// Rows in tiles of any size: more than one tile, and not all of it.
const ROWS: usize = 2_500;

/// A table of hot rows.
pub(crate) struct HotWorld {
    db: Database,
    table: Table,
    /// The values of `V` and of `W`.
    pub(crate) cells: [Vec<Cell>; 2],
}

impl HotWorld {
    /// Rows with two columns of this shape. A third of the rows was changed once, and others were
    /// deleted.
    pub(crate) fn new(shape: &Shape, nulls: Nulls, seed: u64) -> Self {
        let random = &mut Random(seed);
        let db = Database::open(Options::new().budget(256 << 20)).expect("a database");
        let of = |name: &str, column_type: &ColumnType| Column::new(name, column_type.clone());
        let mut columns = ["v", "w"].map(|name| of(name, &shape.column_type));
        columns.iter_mut().for_each(|column| column.nullable = nulls == Nulls::Some);
        let [v, w] = columns;
        let schema = TableSchema::new("T")
            .with(of("before", &ColumnType::STRING).nullable())
            .with(v)
            .with(of("between", &ColumnType::STRING))
            .with(w)
            .with(of("number", &ColumnType::I32));
        let table = db.create_table(schema).expect("a table");
        let mut cells = [Vec::new(), Vec::new()];
        let insert = db.write(|tx| {
            for row in 0..ROWS + 200 {
                let [v, w] = [row, row / 2].map(|row| cell(shape, nulls, random, row));
                let before = (row % 3 != 0).then(|| "b".repeat(row % 20));
                let between = "between".repeat(row % 4);
                let values = [
                    before.as_deref().map(Value::String),
                    v.value(&shape.column_type),
                    Some(Value::String(&between)),
                    w.value(&shape.column_type),
                    Some(Value::I32(row as i32)),
                ];
                let id = tx.insert_values(&table, &values)?;
                match row {
                    ROWS.. => tx.delete(&table, id)?,
                    _ => {
                        cells[0].push(v);
                        cells[1].push(w);
                    }
                }
            }
            Ok(())
        });
        insert.expect("rows");
        let update = db.write(|tx| {
            let ids: Vec<_> = tx.scan(&table)?.map(|row| row.id()).collect();
            for row in (0..ROWS).step_by(3) {
                let new = cell(shape, nulls, random, row);
                let value = new.value(&shape.column_type).unwrap_or(Value::Null);
                tx.update_values(&table, ids[row], &[(table.column("v")?, value)])?;
                cells[0][row] = new;
            }
            Ok(())
        });
        update.expect("changes");
        Self { db, table, cells }
    }

    pub(crate) fn layout(&self) -> &RowLayout {
        self.table.layout()
    }

    /// The rows that a filter leaves, by their numbers, and their values of `V`.
    pub(crate) fn left(&self, filter: &RowFilter) -> (Vec<usize>, Option<Vec<Cell>>) {
        let tx = self.db.begin_read().expect("a transaction");
        let number = self.table.column("number").expect("it is there");
        let mut pieces = tx.scan_pieces(&self.table).expect("a scan");
        let (mut left, mut values) = (Vec::new(), GatheredColumn::new(self.layout(), V));
        while let Some(Piece::Rows(rows)) = pieces.next_piece() {
            // Tiles are smaller than pieces, too.
            let (some, others) = rows.split_at(rows.len() / 3);
            for mut tile in [some, others].into_iter().flat_map(RowTile::of) {
                filter.select(&mut tile);
                let numbers = tile.rows().filter_map(|row| row.get::<i32>(number));
                left.extend(numbers.map(|number| number as usize));
                values.iter_mut().for_each(|values| values.extend(&tile));
            }
        }
        (left, values.map(|mut values| cells_of(&values.take(), &[])))
    }
}

fn cell(shape: &Shape, nulls: Nulls, random: &mut Random, row: usize) -> Cell {
    let cell = shape.cell(random, row);
    if nulls == Nulls::Some && random.below(5) == 0 { Cell::Null } else { cell }
}
