//! Generators: a schema as a C header, a Rust module, SQL.
//!
//! They read the model alone and rely on `resolve`: names are free to use, ordinals are set. What
//! a header declares is written through one function for each kind of thing, which also tells the
//! name: that is how clashes are found before anybody compiles.

mod c_text;
mod d_header;
mod mco_field;
mod mco_header;
mod rust_module;
mod sql_tables;

use crate::model::{Dialect, Schema};

pub(crate) use d_header::identifiers as identifiers_of_d;
pub(crate) use mco_header::identifiers as identifiers_of_mco;

impl Schema {
    /// The C header: C11 and C++17, for `remanent_mco.h` or `remanent_d.h`.
    ///
    /// # Examples
    /// ```
    /// use remanent_ddl::{Options, Source, parse};
    /// let text = "database a { record Measure { key long sensor_id; } }";
    /// let (schema, _) = parse(&Source::new("a.ddl", text), &Options::default())?;
    /// let header = schema.to_c();
    /// assert!(header.contains("#include <remanent_d.h>"));
    /// assert!(header.contains("#define MEASURE 10000\n"));
    /// assert!(header.contains("#define SENSOR_ID 0L\n"));
    /// # Ok::<(), remanent_ddl::Diagnostics>(())
    /// ```
    pub fn to_c(&self) -> String {
        match self.dialect {
            Dialect::Mco => mco_header::write(self),
            Dialect::D => d_header::write(self),
        }
    }

    /// A Rust module: a struct for each class, with `#[derive(Record)]` where that can say what
    /// the class says; else a function that builds its table. Sets are functions too.
    ///
    /// # Examples
    /// ```
    /// use remanent_ddl::{Options, Source, parse};
    /// let text = "database a { record Measure { unique key long sensor_id; } }";
    /// let (schema, _) = parse(&Source::new("a.ddl", text), &Options::default())?;
    /// assert!(schema.to_rust().contains("pub sensor_id: i64,"));
    /// # Ok::<(), remanent_ddl::Diagnostics>(())
    /// ```
    pub fn to_rust(&self) -> String {
        rust_module::write(self)
    }

    /// SQL: a table for each class, its indexes, and a relation for each set.
    ///
    /// # Examples
    /// ```
    /// use remanent_ddl::{Options, Source, parse};
    /// let text = "database a { record Measure { unique key long sensor_id; } }";
    /// let (schema, _) = parse(&Source::new("a.ddl", text), &Options::default())?;
    /// assert!(schema.to_sql().contains("CREATE TABLE \"Measure\""));
    /// # Ok::<(), remanent_ddl::Diagnostics>(())
    /// ```
    pub fn to_sql(&self) -> String {
        sql_tables::write(self)
    }
}
