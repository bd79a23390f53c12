//! The functions: `regexp_like`, `regexp_match`, `regexp_count`, `regexp_instr`, `regexp_substr`
//! and `regexp_replace`, with PostgreSQL's arguments.
//!
//! Each is NULL if one of its arguments is. Places in a text are counted in letters from one. A
//! match of nothing is followed by a search one letter further.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::ScalarValue;
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use regex_automata::Span;

use super::expression::{Expression, Groups};
use super::spelling::Flags;
use crate::error::{Error, Result, SqlState};
use crate::values::arrow_in::array_of;
use crate::values::datum::Datum;
use crate::values::sql_type::SqlType;

/// Patterns that are kept compiled for the rows of one batch.
const KEPT_MAX: usize = 8;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Kind {
    Like,
    Match,
    Count,
    Instr,
    Substr,
    Replace,
}

const ALL: [(Kind, &str); 6] = [
    (Kind::Like, "regexp_like"),
    (Kind::Match, "regexp_match"),
    (Kind::Count, "regexp_count"),
    (Kind::Instr, "regexp_instr"),
    (Kind::Substr, "regexp_substr"),
    (Kind::Replace, "regexp_replace"),
];

/// The functions that a statement may call.
pub(crate) fn functions() -> Vec<Arc<ScalarUDF>> {
    let each = ALL.into_iter().map(|(kind, name)| {
        let signature = Signature::user_defined(Volatility::Immutable);
        Arc::new(ScalarUDF::from(Call { kind, name, signature }))
    });
    each.collect()
}

/// One of them.
#[derive(PartialEq, Eq, Hash, Debug)]
struct Call {
    kind: Kind,
    name: &'static str,
    signature: Signature,
}

impl Call {
    /// What it takes where it is called with these types: a `t` is a text, an `i` a number.
    fn takes(&self, types: &[DataType]) -> Option<&'static str> {
        let is_text = |of: &DataType| of.is_string() || matches!(of, DataType::Null);
        let takes = match self.kind {
            Kind::Like | Kind::Match => "ttt",
            Kind::Count => "ttit",
            Kind::Instr => "ttiiiti",
            Kind::Substr => "ttiiti",
            Kind::Replace if types.get(3).is_none_or(is_text) => "tttt",
            Kind::Replace => "tttiit",
        };
        let least = if self.kind == Kind::Replace { 3 } else { 2 };
        let fits = (takes.chars().zip(types)).all(|(takes, of)| match takes {
            't' => is_text(of),
            _ => of.is_integer() || *of == DataType::Null,
        });
        let count = least..=takes.len();
        (fits && count.contains(&types.len())).then_some(takes)
    }

    fn gives(&self) -> SqlType {
        match self.kind {
            Kind::Like => SqlType::Boolean,
            Kind::Match => SqlType::Array(Box::new(SqlType::Text)),
            Kind::Count | Kind::Instr => SqlType::Integer,
            Kind::Substr | Kind::Replace => SqlType::Text,
        }
    }

    fn answer(&self, row: &Row<'_>, kept: &mut Kept) -> Result<Datum> {
        let text = row.text(0);
        let (start, flags) = match self.kind {
            Kind::Like | Kind::Match => (1, 2),
            Kind::Count => (row.number(2, "start", 1)?, 3),
            Kind::Instr => (row.number(2, "start", 1)?, 5),
            Kind::Substr => (row.number(2, "start", 1)?, 4),
            Kind::Replace if row.is_number(3) => (row.number(3, "start", 1)?, 5),
            Kind::Replace => (1, 3),
        };
        let (expression, flags) = kept.expression(row.text(1), row.text(flags))?;
        if flags.all && self.kind != Kind::Replace {
            let text = format!("{}() does not support the \"global\" option", self.name);
            return Err(Error::new(SqlState::BAD_PARAMETER, text));
        }
        let from = byte_at(text, start);
        Ok(match self.kind {
            Kind::Like => Datum::Bool(expression.is_match(text)?),
            Kind::Match => first_groups(expression, text)?,
            Kind::Count => Datum::Int(matches(expression, text, from, usize::MAX)?.0 as i64),
            Kind::Instr => {
                let nth = row.number(3, "n", 1)?;
                let is_end = match row.number_from(4, "endoption", 0, 0)? {
                    0 => false,
                    1 => true,
                    other => return Err(bad_value("endoption", other as i64)),
                };
                let group = row.number_from(6, "subexpr", 0, 0)?;
                let found = nth_group(expression, text, from, nth, group)?;
                let place = found.map(|found| if is_end { found.end } else { found.start });
                let place = place.map_or(0, |place| text[..place].chars().count() as i64 + 1);
                Datum::Int(place)
            }
            Kind::Substr => {
                let (nth, group) = (row.number(3, "n", 1)?, row.number_from(5, "subexpr", 0, 0)?);
                let found = nth_group(expression, text, from, nth, group)?;
                found.map_or(Datum::Null, |found| Datum::from(text[found].to_owned()))
            }
            Kind::Replace => {
                let nth = match () {
                    () if flags.all => 0,
                    () if row.is_number(4) => row.number_from(4, "n", 0, 1)?,
                    () => 1,
                };
                let replaced = replaced(expression, text, from, row.text(2), nth)?;
                Datum::from(replaced)
            }
        })
    }
}

/// Patterns compiled for rows before.
#[derive(Default)]
pub(crate) struct Kept {
    all: Vec<(String, String, Expression, Flags)>,
}

impl Kept {
    /// The pattern with these flags.
    ///
    /// # Errors
    /// `BAD_PATTERN`; `BAD_PARAMETER` for unknown flags.
    pub(crate) fn expression(
        &mut self,
        pattern: &str,
        letters: &str,
    ) -> Result<(&mut Expression, Flags)> {
        let known = self.all.iter().position(|(own, with, ..)| own == pattern && with == letters);
        let place = match known {
            Some(place) => place,
            None => {
                let flags = Flags::parse(letters)?;
                let expression = Expression::new(pattern, flags)?;
                if self.all.len() >= KEPT_MAX {
                    self.all.remove(0);
                }
                self.all.push((pattern.to_owned(), letters.to_owned(), expression, flags));
                self.all.len() - 1
            }
        };
        let (_, _, expression, flags) = &mut self.all[place];
        Ok((expression, *flags))
    }
}

/// The arguments of one row, none of which is NULL.
struct Row<'a> {
    args: &'a [ArrayRef],
    row: usize,
}

impl<'a> Row<'a> {
    /// A text; empty if there is no such argument.
    fn text(&self, arg: usize) -> &'a str {
        self.args.get(arg).map_or("", |array| array.as_string_view().value(self.row))
    }

    fn is_number(&self, arg: usize) -> bool {
        self.args.get(arg).is_some_and(|array| array.data_type().is_integer())
    }

    /// A number from one on.
    fn number(&self, arg: usize, name: &str, otherwise: usize) -> Result<usize> {
        self.number_from(arg, name, 1, otherwise)
    }

    fn number_from(&self, arg: usize, name: &str, least: i64, otherwise: usize) -> Result<usize> {
        let Some(array) = self.args.get(arg) else { return Ok(otherwise) };
        let number = array.as_primitive::<Int64Type>().value(self.row);
        match usize::try_from(number) {
            Ok(whole) if number >= least => Ok(whole),
            _ => Err(bad_value(name, number)),
        }
    }
}

fn bad_value(name: &str, number: i64) -> Error {
    let text = format!("invalid value for parameter \"{name}\": {number}");
    Error::new(SqlState::BAD_PARAMETER, text)
}

/// The byte at which a letter begins; behind the end if there are fewer letters.
fn byte_at(text: &str, letter: usize) -> usize {
    let mut letters = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    letters.nth(letter - 1).unwrap_or(text.len() + 1)
}

/// Where to search for what comes behind a match.
fn behind(text: &str, found: Span) -> usize {
    let end = found.end;
    match found.is_empty() {
        true => end + text[end..].chars().next().map_or(1, char::len_utf8),
        false => end,
    }
}

/// How many matches there are from a place on, up to so many, and the last of them.
fn matches(
    expression: &mut Expression,
    text: &str,
    mut from: usize,
    most: usize,
) -> Result<(usize, Option<Span>)> {
    let (mut count, mut last) = (0, None);
    while count < most && from <= text.len() {
        let Some(found) = expression.find(text, from)? else { break };
        (count, last) = (count + 1, Some(found));
        from = behind(text, found);
    }
    Ok((count, last))
}

fn nth_group(
    expression: &mut Expression,
    text: &str,
    from: usize,
    nth: usize,
    group: usize,
) -> Result<Option<Span>> {
    if group > expression.groups() {
        return Ok(None);
    }
    match matches(expression, text, from, nth)? {
        (count, Some(found)) if count == nth => {
            Ok(expression.groups_of(text, found)?.get(group).copied().flatten())
        }
        _ => Ok(None),
    }
}

/// What the groups of the first match hold, or the match if there are none.
fn first_groups(expression: &mut Expression, text: &str) -> Result<Datum> {
    let Some(found) = expression.find(text, 0)? else { return Ok(Datum::Null) };
    let groups = expression.groups_of(text, found)?;
    let first = usize::from(groups.len() > 1);
    let texts = groups[first..].iter().map(|group| match group {
        Some(group) => Datum::from(text[*group].to_owned()),
        None => Datum::Null,
    });
    Ok(Datum::List(texts.collect()))
}

/// The text with the nth match replaced, or with all of them.
fn replaced(
    expression: &mut Expression,
    text: &str,
    mut from: usize,
    by: &str,
    nth: usize,
) -> Result<String> {
    let mut made = String::with_capacity(text.len());
    let (mut copied, mut count) = (0, 0);
    while from <= text.len() {
        let Some(found) = expression.find(text, from)? else { break };
        from = behind(text, found);
        count += 1;
        if nth > 0 && count != nth {
            continue;
        }
        made.push_str(&text[copied..found.start]);
        match by.contains('\\') {
            true => push_replacement(by, text, &expression.groups_of(text, found)?, &mut made),
            false => made.push_str(by),
        }
        copied = found.end;
        if nth > 0 {
            break;
        }
    }
    made.push_str(&text[copied..]);
    Ok(made)
}

/// `\1` to `\9` are what groups hold, `\&` is the match, `\\` a backslash.
fn push_replacement(by: &str, text: &str, groups: &Groups, made: &mut String) {
    let mut rest = by.chars().peekable();
    while let Some(letter) = rest.next() {
        let group = match rest.peek() {
            Some(digit @ '1'..='9') if letter == '\\' => digit.to_digit(10).unwrap_or(0) as usize,
            Some('&') if letter == '\\' => 0,
            Some('\\') if letter == '\\' => {
                rest.next();
                made.push('\\');
                continue;
            }
            _ => {
                made.push(letter);
                continue;
            }
        };
        rest.next();
        if let Some(group) = groups.get(group).copied().flatten() {
            made.push_str(&text[group]);
        }
    }
}

impl ScalarUDFImpl for Call {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> PlanResult<Vec<DataType>> {
        let Some(takes) = self.takes(types) else {
            let names: Vec<String> =
                types.iter().map(|of| SqlType::from_arrow(of).to_string()).collect();
            let text = format!("function {}({}) does not exist", self.name, names.join(", "));
            return Err(Error::new(SqlState::UNKNOWN_FUNCTION, text).into());
        };
        let taken = takes.chars().take(types.len()).map(|takes| match takes {
            't' => DataType::Utf8View,
            _ => DataType::Int64,
        });
        Ok(taken.collect())
    }

    fn return_type(&self, _: &[DataType]) -> PlanResult<DataType> {
        Ok(self.gives().to_arrow())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> PlanResult<ColumnarValue> {
        let is_scalar = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_scalar { 1 } else { args.number_rows };
        let arrays = args.args.iter().map(|arg| {
            let taken = match arg.data_type() {
                of if of.is_integer() => arg.cast_to(&DataType::Int64, None)?,
                _ => arg.cast_to(&DataType::Utf8View, None)?,
            };
            taken.to_array(rows)
        });
        let arrays = arrays.collect::<PlanResult<Vec<ArrayRef>>>()?;
        let mut kept = Kept::default();
        let answers = (0..rows).map(|row| match arrays.iter().any(|array| array.is_null(row)) {
            true => Ok(Datum::Null),
            false => self.answer(&Row { args: &arrays, row }, &mut kept),
        });
        let answers = answers.collect::<Result<Vec<Datum>>>()?;
        let array = array_of(&answers, &self.gives())?;
        let array = match array.data_type() == args.return_type() {
            true => array,
            false => cast(&array, args.return_type())?,
        };
        Ok(match is_scalar {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?),
            false => ColumnarValue::Array(array),
        })
    }
}
