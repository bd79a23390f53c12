//! The text format of metrics, read: a name, labels, and a number in each line.
//!
//! Comments are passed over: which metrics there are is known. Values of labels may hold anything,
//! for tables and transactions are named by programs.

use std::collections::HashMap;

use winnow::Parser;
use winnow::ascii::{float, space0, space1};
use winnow::combinator::{alt, delimited, eof, opt, preceded, repeat, separated, separated_pair};
use winnow::error::ContextError;
use winnow::token::{any, none_of, take_while};

type Outcome<T> = winnow::Result<T, ContextError>;

/// Labels and value of a sample.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Sample {
    labels: Vec<(String, String)>,
    pub(crate) value: f64,
}

/// All samples by name, in the order in which they came.
#[derive(Clone, Default, PartialEq, Debug)]
pub(crate) struct Metrics(HashMap<String, Vec<Sample>>);

impl Sample {
    /// The value of a label; empty if there is none.
    pub(crate) fn label(&self, name: &str) -> &str {
        let found = self.labels.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }
}

impl Metrics {
    /// The samples of this name.
    pub(crate) fn all(&self, name: &str) -> &[Sample] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    /// The value of the only sample of this name.
    pub(crate) fn get(&self, name: &str) -> Option<f64> {
        self.all(name).first().map(|sample| sample.value)
    }

    /// The value of the sample of this name with this label.
    pub(crate) fn with(&self, name: &str, label: &str, value: &str) -> Option<f64> {
        let found = self.all(name).iter().find(|sample| sample.label(label) == value);
        found.map(|sample| sample.value)
    }
}

/// Reads a text.
///
/// # Errors
/// Says which line is none.
pub(crate) fn parse(text: &str) -> Result<Metrics, String> {
    let mut metrics = Metrics::default();
    for (number, line) in text.lines().enumerate() {
        if line.starts_with('#') || line.trim().is_empty() {
            continue;
        }
        let (name, sample) =
            sample.parse(line).map_err(|_| format!("line {} is no metric", number + 1))?;
        metrics.0.entry(name).or_default().push(sample);
    }
    Ok(metrics)
}

fn sample(input: &mut &str) -> Outcome<(String, Sample)> {
    let name = name.parse_next(input)?.to_owned();
    let labels = opt(labels).parse_next(input)?.unwrap_or_default();
    let value = preceded(space0, float).parse_next(input)?;
    // A moment may follow.
    (opt((space1, float::<_, f64, _>)), space0, eof).parse_next(input)?;
    Ok((name, Sample { labels, value }))
}

fn name<'i>(input: &mut &'i str) -> Outcome<&'i str> {
    take_while(1.., |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':').parse_next(input)
}

fn labels(input: &mut &str) -> Outcome<Vec<(String, String)>> {
    let pair = separated_pair(name.map(str::to_owned), '=', delimited('"', quoted, '"'));
    let pairs = separated(0.., pair, ',');
    delimited('{', pairs, (opt(','), '}')).parse_next(input)
}

fn quoted(input: &mut &str) -> Outcome<String> {
    let escaped = preceded('\\', any.map(|c| if c == 'n' { '\n' } else { c }));
    repeat(0.., alt((none_of(['"', '\\']), escaped))).parse_next(input)
}

#[cfg(test)]
mod tests;
