//! A table of one column that is frozen, and the same values as plain cells beside it.
//!
//! Cells are compared with what is decoded, and predicates evaluated on them one by one: what the
//! tests take for right knows nothing of encodings.

#![expect(dead_code, reason = "no test needs all of it")]

pub(crate) mod asked;
pub(crate) mod check;
pub(crate) mod columns;
pub(crate) mod hot;
pub(crate) mod random;

use remanent_engine::schema::{Column, ColumnType, TableSchema, Value};
use remanent_engine::{
    ColumnHandle, Database, Encoding, FrozenColumn, FrozenRows, Options, Piece, Table,
};
use remanent_exec::{Decoded, Vector};

/// A value of a column.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Cell {
    Null,
    Number(i128),
    /// The bits of a float, of 4 or 8 bytes, as one of 8.
    Float(u64),
    Text(String),
    Bytes(Vec<u8>),
}

impl Cell {
    pub(crate) fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    pub(crate) fn float(float: f64) -> Self {
        Self::Float(float.to_bits())
    }

    /// What a row of a column of this type holds.
    pub(crate) fn value(&self, column_type: &ColumnType) -> Option<Value<'_>> {
        Some(match self {
            Self::Null => return None,
            Self::Number(number) => match column_type {
                ColumnType::Bool => Value::Bool(*number != 0),
                ColumnType::I8 => Value::I8(*number as i8),
                ColumnType::I16 => Value::I16(*number as i16),
                ColumnType::I32 => Value::I32(*number as i32),
                ColumnType::I64 => Value::I64(*number as i64),
                ColumnType::U8 => Value::U8(*number as u8),
                ColumnType::U16 => Value::U16(*number as u16),
                ColumnType::U32 => Value::U32(*number as u32),
                ColumnType::U64 => Value::U64(*number as u64),
                ColumnType::Date => Value::Date(*number as i32),
                ColumnType::Time => Value::Time(*number as i64),
                ColumnType::Timestamp => Value::Timestamp(*number as i64),
                _ => Value::Decimal(*number),
            },
            Self::Float(bits) => match column_type {
                ColumnType::F32 => Value::F32(f64::from_bits(*bits) as f32),
                _ => Value::F64(f64::from_bits(*bits)),
            },
            Self::Text(text) => Value::String(text),
            Self::Bytes(bytes) => Value::Bytes(bytes),
        })
    }
}

/// A table of one column, `v`, with these cells, frozen in one segment.
pub(crate) struct World {
    db: Database,
    table: Table,
    pub(crate) cells: Vec<Cell>,
    pub(crate) column_type: ColumnType,
}

impl World {
    pub(crate) fn new(column_type: ColumnType, cells: Vec<Cell>) -> Self {
        let db = Database::open(Options::new().budget(256 << 20)).expect("a database");
        let mut column = Column::new("v", column_type.clone());
        // Columns that cannot be null are encoded by another way.
        column.nullable = cells.contains(&Cell::Null);
        let table = db.create_table(TableSchema::new("T").with(column)).expect("a table");
        db.write(|tx| {
            tx.insert_all_values(&table, cells.iter().map(|cell| [cell.value(&column_type)]))
        })
        .expect("rows");
        db.freeze_all(&table).expect("they are frozen");
        Self { db, table, cells, column_type }
    }

    pub(crate) fn column(&self) -> ColumnHandle {
        self.table.column("v").expect("it is there")
    }

    /// Deletes a row; it stays in the columns.
    pub(crate) fn delete(&self, row: usize) {
        let delete = self.db.write(|tx| {
            let id = tx.scan(&self.table)?.nth(row).expect("it is there").id();
            tx.delete(&self.table, id)
        });
        delete.expect("it is deleted");
    }

    /// Shows the frozen rows, which there have to be.
    pub(crate) fn show<T>(&self, look: impl FnOnce(&FrozenRows<'_>, &FrozenColumn<'_>) -> T) -> T {
        let tx = self.db.begin_read().expect("a transaction");
        let mut pieces = tx.scan_pieces(&self.table).expect("a scan");
        let Some(Piece::Frozen(rows)) = pieces.next_piece() else { panic!("frozen rows") };
        assert_eq!(rows.len(), self.cells.len(), "all rows are in one segment");
        let column = rows.column(self.column()).expect("it is there");
        look(&rows, &column)
    }
}

/// The name of a column's encoding, with the widths that it has.
pub(crate) fn encoding_of(column: &FrozenColumn<'_>) -> String {
    match column.encoding() {
        Encoding::Constant(Value::Null) => "null".to_owned(),
        Encoding::Constant(_) => "constant".to_owned(),
        Encoding::Offsets { width, .. } => format!("offsets {width}"),
        Encoding::Plain { width, .. } => format!("plain {width}"),
        Encoding::Dictionary { code_width, .. } => format!("dictionary {code_width}"),
        Encoding::Strings { ends, .. } => match format!("{ends:?}").contains("two") {
            true => "strings 2".to_owned(),
            false => "strings 4".to_owned(),
        },
        Encoding::Fsst { .. } => "fsst".to_owned(),
        other => format!("{other:?}"),
    }
}

/// Decoded values as cells; `dictionary` is the text of the dictionary that they were decoded with.
pub(crate) fn cells_of(decoded: &Decoded<'_>, dictionary: &[u8]) -> Vec<Cell> {
    let valid = |row: usize| decoded.valid.as_ref().is_none_or(|valid| valid[row]);
    if let Some(valid) = &decoded.valid {
        assert_eq!(valid.len(), decoded.values.len());
    }
    let rows = 0..decoded.values.len();
    rows.map(|row| if valid(row) { cell_of(&decoded.values, row, dictionary) } else { Cell::Null })
        .collect()
}

fn cell_of(values: &Vector<'_>, row: usize, dictionary: &[u8]) -> Cell {
    match values {
        Vector::Bool(values) => Cell::Number(values[row].into()),
        Vector::I8(values) => Cell::Number(values[row].into()),
        Vector::I16(values) => Cell::Number(values[row].into()),
        Vector::I32(values) => Cell::Number(values[row].into()),
        Vector::I64(values) => Cell::Number(values[row].into()),
        Vector::U8(values) => Cell::Number(values[row].into()),
        Vector::U16(values) => Cell::Number(values[row].into()),
        Vector::U32(values) => Cell::Number(values[row].into()),
        Vector::U64(values) => Cell::Number(values[row].into()),
        Vector::F32(values) => Cell::float(values[row].into()),
        Vector::F64(values) => Cell::float(values[row]),
        Vector::I128(values) => Cell::Number(values[row]),
        Vector::Text(texts) => {
            Cell::Text(String::from_utf8(texts.get(row, dictionary)).expect("text is UTF-8"))
        }
        Vector::Values(values) => match values[row] {
            Value::Bytes(bytes) => Cell::Bytes(bytes.to_vec()),
            Value::Elements(elements) => Cell::Bytes(elements.as_bytes().to_vec()),
            Value::Null => Cell::Null,
            ref other => panic!("{other:?} is no value of this kind"),
        },
    }
}
