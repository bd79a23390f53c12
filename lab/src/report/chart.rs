//! Drawings for the page, as SVG text whose colours the page's style gives.
//!
//! Times are dots on a logarithmic axis with a line from the smallest to the largest sample,
//! since contenders lie orders of magnitude apart and a bar would need a zero. Bytes are bars.
//! Every drawing is sorted, and every mark carries its value in words.

use std::fmt::Write;

use super::lines;
use crate::quantity;

/// One line of a drawing.
pub(super) struct Mark {
    pub(super) label: String,
    pub(super) kind: Kind,
    pub(super) min: f64,
    pub(super) median: f64,
    pub(super) max: f64,
    pub(super) value: String,
}

/// What a line is of, which is its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Ours,
    NoTransactions,
    Memory,
    Unsynced,
    Synced,
}

const WIDTH: f64 = 560.0;
const LABEL_WIDTH: f64 = 228.0;
const VALUE_WIDTH: f64 = 62.0;
const ROW_HEIGHT: f64 = 19.0;
const AXIS_HEIGHT: f64 = 22.0;

impl Kind {
    /// Every kind that a legend explains.
    pub(super) const ALL: [Self; 5] =
        [Self::Ours, Self::NoTransactions, Self::Memory, Self::Unsynced, Self::Synced];

    /// The name of its colour in the style.
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::NoTransactions => "none",
            Self::Memory => "memory",
            Self::Unsynced => "unsynced",
            Self::Synced => "synced",
        }
    }

    /// What it says in the legend.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Ours => "Remanent",
            Self::NoTransactions => "no transactions",
            Self::Memory => "transactions in memory",
            Self::Unsynced => "log buffered, or with the operating system",
            Self::Synced => "synced at every commit",
        }
    }
}

/// Dots on a logarithmic axis of nanoseconds.
pub(super) fn times(title: &str, marks: &[Mark]) -> String {
    let low = marks.iter().map(|mark| mark.min).fold(f64::INFINITY, f64::min);
    let high = marks.iter().map(|mark| mark.max).fold(0.0, f64::max);
    times_between(title, marks, (low, high))
}

/// Dots on an axis that goes from one time to another at least.
pub(super) fn times_between(title: &str, marks: &[Mark], axis: (f64, f64)) -> String {
    let low = axis.0.max(0.1);
    let high = axis.1.max(low * 2.0);
    let (from, to) = ((low / 1.25).log10(), (high * 1.25).log10());
    let x = |ns: f64| across((ns.max(0.1).log10() - from) / (to - from));
    let mut body = String::new();
    for ns in ticks(low / 1.25, high * 1.25) {
        gridline(&mut body, x(ns), marks.len(), &quantity::time(ns));
    }
    for (row, mark) in marks.iter().enumerate() {
        let (y, class) = (middle_of(row), mark.kind.class());
        label(&mut body, mark, y);
        let _ = write!(
            body,
            "<line class=\"whisker {class}\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{y}\" y2=\"{y}\"/>\
             <circle class=\"{class}\" cx=\"{:.1}\" cy=\"{y}\" r=\"4\"/>",
            x(mark.min),
            x(mark.max),
            x(mark.median),
        );
    }
    drawing(title, marks.len(), &body)
}

/// Bars from zero, with a line at one.
pub(super) fn ratios(title: &str, marks: &[Mark]) -> String {
    let high = marks.iter().map(|mark| mark.median).fold(1.0, f64::max) * 1.05;
    let x = |ratio: f64| across(ratio / high);
    let mut body = String::new();
    let step = match high {
        high if high > 8.0 => 2.0,
        high if high > 2.5 => 1.0,
        _ => 0.5,
    };
    let mut ratio = 0.0;
    while ratio <= high {
        gridline(&mut body, x(ratio), marks.len(), &format!("{ratio}"));
        ratio += step;
    }
    for (row, mark) in marks.iter().enumerate() {
        bar(&mut body, mark, row, x(0.0), x(mark.median));
    }
    drawing(title, marks.len(), &body)
}

/// Bars from zero, the axis in round steps whose numbers `words` says.
pub(super) fn bars(title: &str, marks: &[Mark], words: fn(f64) -> String) -> String {
    let high = marks.iter().map(|mark| mark.median).fold(0.0, f64::max).max(1.0) * 1.05;
    let x = |value: f64| across(value / high);
    let mut body = String::new();
    let step = lines::round_step(high / 4.0);
    for value in (0..).map(|n| f64::from(n) * step).take_while(|&value| value <= high) {
        gridline(&mut body, x(value), marks.len(), &words(value));
    }
    for (row, mark) in marks.iter().enumerate() {
        bar(&mut body, mark, row, x(0.0), x(mark.median));
    }
    drawing(title, marks.len(), &body)
}

/// 1, 2 and 5 of every decade; only the decades when there are many.
pub(super) fn ticks(low: f64, high: f64) -> Vec<f64> {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let steps: &[f64] = if last - first > 3 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let decades =
        (first..=last).flat_map(|decade| steps.iter().map(move |step| step * 10f64.powi(decade)));
    decades.filter(|&tick| tick >= low && tick <= high).collect()
}

fn bar(body: &mut String, mark: &Mark, row: usize, from: f64, to: f64) {
    let (y, class) = (middle_of(row), mark.kind.class());
    label(body, mark, y);
    let _ = write!(
        body,
        "<rect class=\"{class}\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"9\"/>",
        y - 4.5,
        (to - from).max(0.5),
    );
}

fn gridline(body: &mut String, x: f64, rows: usize, text: &str) {
    let bottom = rows as f64 * ROW_HEIGHT;
    let _ = write!(
        body,
        "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"0\" y2=\"{bottom}\"/>\
         <text class=\"soft\" x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{text}</text>",
        bottom + 15.0,
    );
}

fn label(body: &mut String, mark: &Mark, y: f64) {
    let class = if mark.kind == Kind::Ours { " class=\"ours\"" } else { "" };
    let baseline = y + 4.0;
    let _ = write!(
        body,
        "<text{class} x=\"0\" y=\"{baseline}\">{}</text>\
         <text{class} x=\"{WIDTH}\" y=\"{baseline}\" text-anchor=\"end\">{}</text>",
        mark.label, mark.value,
    );
}

fn drawing(title: &str, rows: usize, body: &str) -> String {
    let height = rows as f64 * ROW_HEIGHT + AXIS_HEIGHT;
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{title}\">{body}</svg>"
    )
}

/// The place of a share of the axis, in the drawing.
fn across(share: f64) -> f64 {
    LABEL_WIDTH + share * (WIDTH - LABEL_WIDTH - VALUE_WIDTH - 10.0)
}

fn middle_of(row: usize) -> f64 {
    row as f64 * ROW_HEIGHT + ROW_HEIGHT / 2.0
}
