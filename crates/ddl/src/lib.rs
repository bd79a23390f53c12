//! Two schema languages and one schema model: text in, [`Schema`] out, and from it C, Rust and SQL.
//!
//! The *mco-style* language has classes with tree and hash indexes; the *d_-style* language has
//! records, compound keys and network sets. Either is read by [`parse`] into the same model, in
//! which each class has the [`TableSchema`](remanent_schema::TableSchema) that the engine stores.
//! What was read can be printed again ([`Schema::to_text`]), with all macros and included files
//! written out; the printed text parses to an equal model, which is how generated headers carry
//! their schema.
//!
//! In reading order: `source` (files and places), `lexer`, `preprocessor`, `grammar` (tokens into
//! the model), `model`, `resolve` (checks, tables, ordinals), `text` (the printer), `generate`.
//!
//! What always holds: no input makes this crate panic or run for long; it opens no file and knows
//! neither the engine nor the C runtime.
//!
//! # Examples
//! ```
//! use remanent_ddl::{Options, Source, parse};
//! let text = "
//!     #define uint4 unsigned<4>
//!     declare database mcs;
//!     class Measure {
//!         uint4 sensor_id;
//!         uint4 timestamp;
//!         string spectra;
//!         tree <sensor_id, timestamp> sensors;
//!     };";
//! let (schema, _warnings) = parse(&Source::new("mcs.mco", text), &Options::default())?;
//! let measure = &schema.classes[0];
//! assert_eq!(measure.fields[2].leaf, 2);
//! assert_eq!(measure.table.indexes[0].parts[1].column, "timestamp");
//! assert!(schema.to_c().contains("Measure_spectra_put"));
//! # Ok::<(), remanent_ddl::Diagnostics>(())
//! ```

mod c_layout;
mod diagnostic;
mod generate;
mod grammar;
mod lexer;
mod model;
mod name_check;
mod preprocessor;
mod prologue;
mod resolve;
mod source;
mod text;

pub use c_layout::{CField, CKind, CStruct};
pub use diagnostic::{Diagnostic, Diagnostics, ERRORS_MAX, Location, Severity};
pub use model::field_type::{CType, FieldType, VarType, Width};
pub use model::{
    Class, DataFile, Dialect, EnumType, Event, EventKind, Field, FieldKey, Index, Literal, Member,
    Name, Oid, Part, Schema, Set, StructType, Timestamps, Typedef,
};
pub use source::{NoIncludes, Resolver, Source};

use diagnostic::Reporter;
use lexer::Kind;
use preprocessor::Preprocessed;

/// How a schema is read.
///
/// # Examples
/// ```
/// use remanent_ddl::{Dialect, Options, Source, parse};
/// let options = Options { dialect: Some(Dialect::D), char_bytes: true };
/// let source = Source::new("-", "database a { record R { char x[4]; } }");
/// let (schema, _) = parse(&source, &options)?;
/// assert_eq!(schema.classes[0].table.columns[0].column_type.to_string(), "Binary(4)");
/// # Ok::<(), remanent_ddl::Diagnostics>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The language; without it, the source's name tells, and if it does not, the text.
    pub dialect: Option<Dialect>,
    /// Whether d_-style `char x[n]` is bytes instead of text. `#pragma remanent char_bytes` in the
    /// text says the same.
    pub char_bytes: bool,
}

/// Reads a schema that includes no files: the schema and warnings.
///
/// # Errors
/// With all that is wrong, at most [`ERRORS_MAX`] errors.
///
/// # Examples
/// ```
/// use remanent_ddl::{Options, Source, parse};
/// let source = Source::new("a.mco", "declare database a; class A { strin s; };");
/// let errors = parse(&source, &Options::default()).unwrap_err();
/// assert_eq!(errors.0[0].message, "there is no type `strin`");
/// assert_eq!(errors.0[0].hint.as_deref(), Some("write `string`"));
/// ```
pub fn parse(source: &Source, options: &Options) -> Result<(Schema, Vec<Diagnostic>), Diagnostics> {
    parse_with(source, options, &mut NoIncludes)
}

/// Reads a schema, with the files that it includes.
///
/// # Errors
/// With all that is wrong, at most [`ERRORS_MAX`] errors.
///
/// # Examples
/// ```
/// use remanent_ddl::{NoIncludes, Options, Source, parse_with};
/// let source = Source::new("a.ddl", "#include \"b.h\"\ndatabase a { record R { long x; } }");
/// let errors = parse_with(&source, &Options::default(), &mut NoIncludes).unwrap_err();
/// assert!(errors.to_string().contains("`b.h` cannot be included"));
/// ```
pub fn parse_with(
    source: &Source,
    options: &Options,
    resolver: &mut dyn Resolver,
) -> Result<(Schema, Vec<Diagnostic>), Diagnostics> {
    let mut reporter = Reporter::default();
    let text = preprocessor::preprocess(source, resolver, &mut reporter);
    let named = options.dialect.or_else(|| Dialect::of_name(&source.name));
    let dialect = named.unwrap_or_else(|| dialect_of(&text));
    let is_readable = !reporter.has_errors() || text.tokens.len() > 1;
    let mut schema = Schema::empty(dialect);
    if is_readable {
        schema = grammar::parse(&text, dialect, &mut reporter);
        schema.char_bytes |= options.char_bytes;
    }
    if !reporter.has_errors() {
        resolve::resolve(&mut schema, &mut reporter);
    }
    let warnings = reporter.finish()?;
    Ok((schema, warnings))
}

/// The language that the words of a text belong to.
fn dialect_of(text: &Preprocessed) -> Dialect {
    for token in &text.tokens {
        match &token.kind {
            Kind::Word(word) if matches!(&**word, "declare" | "class") => return Dialect::Mco,
            Kind::Word(word) if word.eq_ignore_ascii_case("database") => return Dialect::D,
            Kind::Word(word) if word.eq_ignore_ascii_case("record") => return Dialect::D,
            _ => {}
        }
    }
    Dialect::Mco
}
