//! The printer: a schema as text of its own language, which parses to an equal schema.
//!
//! Macros and included files are written out. Macros that stand for whole numbers follow at the
//! end, where they cannot change what stands above; generated headers pass them on.

mod d;
mod mco;

use crate::model::{Dialect, Schema};

impl Schema {
    /// Canonical text of the schema's language.
    ///
    /// # Examples
    /// ```
    /// use remanent_ddl::{Options, Source, parse};
    /// let text = "#define N 3\ndatabase a { record R { int x[N]; } }";
    /// let (schema, _) = parse(&Source::new("a.ddl", text), &Options::default())?;
    /// let printed = schema.to_text();
    /// assert!(printed.contains("int x[3];"));
    /// let (again, _) = parse(&Source::new("a.ddl", printed), &Options::default())?;
    /// assert_eq!(again, schema);
    /// # Ok::<(), remanent_ddl::Diagnostics>(())
    /// ```
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        if self.char_bytes {
            text.push_str("#pragma remanent char_bytes\n");
        }
        match self.dialect {
            Dialect::Mco => mco::write(self, &mut text),
            Dialect::D => d::write(self, &mut text),
        }
        for (name, value) in &self.constants {
            text.push_str(&format!("#define {name} {value}\n"));
        }
        text
    }
}

/// `[n]` or nothing.
fn bracket(number: Option<u64>) -> String {
    number.map_or(String::new(), |number| format!("[{number}]"))
}

/// Dimensions as they stand behind a name.
fn dims(dims: &[u32]) -> String {
    dims.iter().map(|count| format!("[{count}]")).collect()
}

/// Words with a blank behind each.
fn words(words: &[String]) -> String {
    words.iter().map(|word| format!("{word} ")).collect()
}
