//! Drawings of something over something else: a line for each contender, in the page's colours.
//!
//! As elsewhere on the page, a contender's colour says what it promises, so that lines of one
//! colour are told apart by dashes and by the names at their ends. Times stand on a logarithmic
//! axis, bytes on one from zero. Every dot has its value in words for whoever points at it.

use std::fmt::Write;

use super::chart::Kind;

/// One line.
pub(super) struct Series {
    pub(super) label: String,
    pub(super) kind: Kind,
    pub(super) points: Vec<(f64, f64)>,
}

/// How the upright axis runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Upright {
    Logarithmic,
    FromZero,
}

/// A drawing: its title, its lines, and how its numbers are said.
pub(super) struct Drawing<'d> {
    pub(super) title: &'d str,
    pub(super) series: Vec<Series>,
    pub(super) upright: Upright,
    pub(super) x_words: fn(f64) -> String,
    pub(super) y_words: fn(f64) -> String,
}

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 110.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 24.0;

/// How far apart the names at the ends of lines are at least.
const NAME_HEIGHT: f64 = 13.0;

/// How many styles of dashes there are.
const DASHES: usize = 4;

/// Up to this many dots, every one of them is drawn.
const DOTS_MAX: usize = 24;

/// The ranges of both axes.
struct Frame {
    x: [f64; 2],
    y: [f64; 2],
    upright: Upright,
}

/// The drawing as SVG text; empty without a point.
pub(super) fn lines(drawing: &Drawing<'_>) -> String {
    let Some(frame) = Frame::around(drawing) else { return String::new() };
    let mut body = String::new();
    for y in frame.y_ticks() {
        let at = frame.down(y);
        let _ = write!(
            body,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
             <text class=\"soft\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            WIDTH - RIGHT,
            LEFT - 6.0,
            at + 4.0,
            (drawing.y_words)(y),
        );
    }
    for x in frame.x_ticks(&drawing.series) {
        let _ = write!(
            body,
            "<text class=\"soft\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            frame.across(x),
            HEIGHT - 6.0,
            (drawing.x_words)(x),
        );
    }
    for (number, series) in drawing.series.iter().enumerate() {
        line(&mut body, &frame, drawing, series, dash_of(&drawing.series, number));
    }
    names(&mut body, &frame, &drawing.series);
    let title = drawing.title;
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}\">{body}</svg>"
    )
}

/// The number of a line among those of its colour.
fn dash_of(series: &[Series], number: usize) -> usize {
    series[..number].iter().filter(|other| other.kind == series[number].kind).count() % DASHES
}

fn line(body: &mut String, frame: &Frame, drawing: &Drawing<'_>, series: &Series, dash: usize) {
    let class = series.kind.class();
    let mut path = String::new();
    for (place, &(x, y)) in series.points.iter().enumerate() {
        let step = if place == 0 { 'M' } else { 'L' };
        let _ = write!(path, "{step}{:.1} {:.1}", frame.across(x), frame.down(y));
    }
    let _ = write!(body, "<path class=\"line dash{dash} {class}\" d=\"{path}\"/>");
    if series.points.len() > DOTS_MAX {
        return;
    }
    for &(x, y) in &series.points {
        let _ = write!(
            body,
            "<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\"><title>{}, {}: {}</title>\
             </circle>",
            frame.across(x),
            frame.down(y),
            series.label,
            (drawing.x_words)(x),
            (drawing.y_words)(y),
        );
    }
}

/// The names at the ends of the lines, moved apart where they would cover each other.
fn names(body: &mut String, frame: &Frame, series: &[Series]) {
    let mut ends: Vec<(f64, &Series)> = series
        .iter()
        .filter_map(|series| Some((frame.down(series.points.last()?.1), series)))
        .collect();
    ends.sort_by(|left, right| left.0.total_cmp(&right.0));
    let mut above = f64::NEG_INFINITY;
    for (at, _) in &mut ends {
        *at = at.max(above + NAME_HEIGHT);
        above = *at;
    }
    let mut below = HEIGHT - BOTTOM + NAME_HEIGHT;
    for (at, _) in ends.iter_mut().rev() {
        *at = at.min(below - NAME_HEIGHT);
        below = *at;
    }
    for (at, series) in ends {
        let class = if series.kind == Kind::Ours { " class=\"ours\"" } else { "" };
        let (x, y) = (WIDTH - RIGHT + 8.0, at + 4.0);
        let _ = write!(body, "<text{class} x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", series.label);
    }
}

impl Frame {
    fn around(drawing: &Drawing<'_>) -> Option<Self> {
        let points = || drawing.series.iter().flat_map(|series| series.points.iter().copied());
        points().next()?;
        let range = |of: fn((f64, f64)) -> f64| {
            let all = points().map(of);
            all.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], value| {
                [low.min(value), high.max(value)]
            })
        };
        let ([from, to], [low, high]) = (range(|point| point.0), range(|point| point.1));
        let y = match drawing.upright {
            Upright::Logarithmic => [low.max(0.1) / 1.25, high.max(0.2) * 1.25],
            Upright::FromZero => [0.0, high.max(1.0) * 1.05],
        };
        Some(Self { x: [from, to.max(from + 1.0)], y, upright: drawing.upright })
    }

    fn across(&self, x: f64) -> f64 {
        LEFT + (x - self.x[0]) / (self.x[1] - self.x[0]) * (WIDTH - LEFT - RIGHT)
    }

    fn down(&self, y: f64) -> f64 {
        let share = match self.upright {
            Upright::Logarithmic => (y.max(0.1) / self.y[0]).ln() / (self.y[1] / self.y[0]).ln(),
            Upright::FromZero => y / self.y[1],
        };
        HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)
    }

    /// 1, 2 and 5 of every decade, or the decades; from zero, round steps.
    fn y_ticks(&self) -> Vec<f64> {
        let [low, high] = self.y;
        if self.upright == Upright::FromZero {
            let step = round_step(high / 4.0);
            return (0..).map(|n| f64::from(n) * step).take_while(|&y| y <= high).collect();
        }
        super::chart::ticks(low, high)
    }

    /// Every x where there are few; else round steps.
    fn x_ticks(&self, series: &[Series]) -> Vec<f64> {
        let mut all: Vec<f64> =
            series.iter().flat_map(|series| series.points.iter().map(|point| point.0)).collect();
        all.sort_by(f64::total_cmp);
        all.dedup();
        if all.len() <= 8 {
            return all;
        }
        let step = round_step((self.x[1] - self.x[0]) / 5.0);
        let first = (self.x[0] / step).ceil();
        (0..).map(|n| (first + f64::from(n)) * step).take_while(|&x| x <= self.x[1]).collect()
    }
}

/// The next of 1, 2, 5, 10, .. that is not smaller.
pub(super) fn round_step(least: f64) -> f64 {
    let decade = 10f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    decade * steps.into_iter().find(|step| step * decade >= least).unwrap_or(10.0)
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
