//! Rows of a table that describes: columns with their types, and values.
//!
//! They are made whole for each statement that names the table; catalogs are small.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::datasource::MemTable;

use crate::error::Result;
use crate::values::arrow_in::array_of;
use crate::values::datum::Datum;
use crate::values::sql_type::SqlType;

/// A table and what is in it.
pub(crate) struct Described {
    columns: Vec<(String, SqlType)>,
    rows: Vec<Vec<Datum>>,
}

impl Described {
    /// A table with these columns: a name and a letter each, `t` for text, `i` for a number, `n`
    /// for one of four bytes, `b` for truth, `l` for a list of numbers, `s` for a list of text, `z`
    /// for a moment.
    pub(crate) fn new(columns: &[(&str, char)]) -> Self {
        let columns = columns.iter().map(|(name, letter)| {
            let sql_type = match letter {
                'i' => SqlType::BigInt,
                'n' => SqlType::Integer,
                'b' => SqlType::Boolean,
                'd' => SqlType::Double,
                'z' => SqlType::TimestampTz,
                'l' => SqlType::Array(Box::new(SqlType::BigInt)),
                's' => SqlType::Array(Box::new(SqlType::Text)),
                _ => SqlType::Text,
            };
            ((*name).to_owned(), sql_type)
        });
        Self { columns: columns.collect(), rows: Vec::new() }
    }

    /// Adds a row.
    pub(crate) fn add(&mut self, row: Vec<Datum>) {
        debug_assert_eq!(row.len(), self.columns.len(), "a row has a value for each column");
        self.rows.push(row);
    }

    pub(crate) fn into_table(self) -> Result<Arc<MemTable>> {
        let fields =
            self.columns.iter().map(|(name, sql_type)| Field::new(name, sql_type.to_arrow(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let arrays = self.columns.iter().enumerate().map(|(place, (_, sql_type))| {
            let column: Vec<Datum> = self.rows.iter().map(|row| row[place].clone()).collect();
            array_of(&column, sql_type)
        });
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let batch = RecordBatch::try_new(Arc::clone(&schema), arrays)?;
        Ok(Arc::new(MemTable::try_new(schema, vec![vec![batch]])?))
    }
}
