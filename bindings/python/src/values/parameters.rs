//! Parameters of a statement: where they stand in its text, and which values they have.
//!
//! SQL's own are `$1`, `$2` and so on. `?` are those in their order (DB-API's style `qmark`), and
//! `:name` or `$name` are values of a mapping (`named`). Where they stand, the tokenizer of the
//! parser says: none of them is in a text, a comment or a name.

use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::tokenizer::{Location, Token, Tokenizer};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyMapping, PyString, PyTuple};
use remanent_sql::Datum;

use super::of_python;
use crate::error::{InterfaceError, ProgrammingError};

/// The values that are given.
pub(crate) struct Parameters {
    names: Option<Vec<String>>,
    values: Vec<Datum>,
}

/// A text with SQL's parameters, and where their values come from.
pub(crate) struct Rewritten {
    pub(crate) text: String,
    pub(crate) names: Names,
}

/// Where the values come from.
#[derive(Debug)]
pub(crate) enum Names {
    /// As they are given.
    InOrder,
    /// By these names.
    Of(Vec<String>),
}

impl Parameters {
    /// Those of a sequence or a mapping.
    ///
    /// # Errors
    /// As [`of_python::datum`]; `InterfaceError` for what is neither.
    pub(crate) fn of(given: &Bound<'_, PyAny>) -> PyResult<Self> {
        // What is there most often is asked for first.
        let is_sequence = given.is_instance_of::<PyTuple>() || given.is_instance_of::<PyList>();
        if !is_sequence && let Ok(mapping) = given.cast::<PyMapping>() {
            let (mut names, mut values) = (Vec::new(), Vec::new());
            for item in mapping.items()? {
                let (name, value): (String, Bound<'_, PyAny>) = item.extract()?;
                names.push(name);
                values.push(of_python::datum(&value)?);
            }
            return Ok(Self { names: Some(names), values });
        }
        if given.is_instance_of::<PyString>() {
            let text = "parameters are a sequence or a mapping, and a text by itself is none: \
                        (value,) is one";
            return Err(InterfaceError::new_err(text));
        }
        let values = given.try_iter().map_err(|_| {
            InterfaceError::new_err("parameters are a sequence, or a mapping of names")
        })?;
        let values = values.map(|value| of_python::datum(&value?));
        Ok(Self { names: None, values: values.collect::<PyResult<_>>()? })
    }

    /// What a statement with such values is kept under: its text, and of which kinds they are.
    pub(crate) fn key(&self, text: &str) -> (String, Vec<u8>) {
        let mut kinds: Vec<u8> = self.values.iter().flat_map(kind).collect();
        if let Some(names) = &self.names {
            names.iter().for_each(|name| {
                kinds.push(b':');
                kinds.extend_from_slice(name.as_bytes());
            });
        }
        (text.to_owned(), kinds)
    }

    /// The values in the order of SQL's parameters.
    ///
    /// # Errors
    /// `ProgrammingError` if a name has none.
    pub(crate) fn values(&self, names: &Names) -> PyResult<Vec<Datum>> {
        let (Some(given), Names::Of(names)) = (&self.names, names) else {
            return Ok(self.values.clone());
        };
        let value = |name: &String| match given.iter().position(|given| given == name) {
            Some(place) => Ok(self.values[place].clone()),
            None => Err(ProgrammingError::new_err(format!("there is no value for :{name}"))),
        };
        names.iter().map(value).collect()
    }

    /// A text with SQL's parameters in the place of these.
    ///
    /// # Errors
    /// `ProgrammingError` if the text cannot be cut into words.
    pub(crate) fn rewritten(&self, text: &str) -> PyResult<Rewritten> {
        let is_named = self.names.is_some();
        if !is_named && !text.contains('?') {
            return Ok(Rewritten { text: text.to_owned(), names: Names::InOrder });
        }
        let places = places(text, is_named)?;
        let (mut made, mut copied, mut names) = (String::with_capacity(text.len()), 0, Vec::new());
        for (number, place) in places.iter().enumerate() {
            let number = match &place.name {
                None => number,
                Some(name) => names.iter().position(|known| known == name).unwrap_or_else(|| {
                    names.push(name.clone());
                    names.len() - 1
                }),
            };
            made.push_str(&text[copied..place.begin]);
            made.push_str(&format!("${}", number + 1));
            copied = place.end;
        }
        made.push_str(&text[copied..]);
        let names = if is_named { Names::Of(names) } else { Names::InOrder };
        Ok(Rewritten { text: made, names })
    }
}

/// A parameter in a text: its bytes, and its name if it has one.
struct Place {
    begin: usize,
    end: usize,
    name: Option<String>,
}

fn places(text: &str, is_named: bool) -> PyResult<Vec<Place>> {
    let dialect = PostgreSqlDialect {};
    let tokens = Tokenizer::new(&dialect, text)
        .tokenize_with_location()
        .map_err(|error| ProgrammingError::new_err(error.to_string()))?;
    let mut offsets = Offsets { text, at: Location { line: 1, column: 1 }, byte: 0 };
    let mut places = Vec::new();
    let mut tokens = tokens.iter().peekable();
    while let Some(token) = tokens.next() {
        let name = match &token.token {
            Token::Placeholder(mark) if mark == "?" && !is_named => None,
            Token::Question if !is_named => None,
            Token::Placeholder(mark) if is_named && is_name(mark) => Some(mark[1..].to_owned()),
            Token::Colon if is_named => match tokens.peek().map(|next| (&next.token, &next.span)) {
                Some((Token::Word(word), span))
                    if word.quote_style.is_none() && span.start == token.span.end =>
                {
                    Some(word.value.clone())
                }
                _ => continue,
            },
            _ => continue,
        };
        let begin = offsets.of(token.span.start);
        let end = match &name {
            None => begin + 1,
            Some(name) => begin + 1 + name.len(),
        };
        places.push(Place { begin, end, name });
    }
    Ok(places)
}

fn is_name(mark: &str) -> bool {
    mark.strip_prefix('$')
        .is_some_and(|name| name.starts_with(|c: char| c.is_alphabetic() || c == '_'))
}

/// Bytes of places in a text, which come in order.
struct Offsets<'t> {
    text: &'t str,
    at: Location,
    byte: usize,
}

impl Offsets<'_> {
    fn of(&mut self, place: Location) -> usize {
        let mut left = self.text[self.byte..].chars();
        while (self.at.line, self.at.column) < (place.line, place.column) {
            let Some(passed) = left.next() else { break };
            self.byte += passed.len_utf8();
            match passed {
                '\n' => self.at = Location { line: self.at.line + 1, column: 1 },
                _ => self.at.column += 1,
            }
        }
        self.byte
    }
}

/// Of which kind a value is, as far as its type depends on it.
fn kind(value: &Datum) -> impl Iterator<Item = u8> + use<> {
    let (kind, scale) = match value {
        Datum::Null => (0, None),
        Datum::Bool(_) => (1, None),
        Datum::Int(_) => (2, None),
        Datum::UInt(_) => (3, None),
        Datum::Real(_) => (4, None),
        Datum::Double(_) => (5, None),
        Datum::Decimal(_, scale) => (6, Some(*scale)),
        Datum::Date(_) => (7, None),
        Datum::Time(_) => (8, None),
        Datum::Timestamp(_) => (9, None),
        Datum::TimestampTz(_) => (10, None),
        Datum::Interval(..) => (11, None),
        Datum::Text(_) => (12, None),
        Datum::Bytes(_) => (13, None),
        Datum::List(_) => (14, None),
    };
    std::iter::once(kind).chain(scale)
}
