//! The picture: what is shown, and how it is drawn.
//!
//! Drawing changes nothing and asks nobody; the same [`Shown`] gives the same picture on any
//! terminal of the same size. What does not fit is left out from the bottom of each part.

use std::time::{Duration, Instant};

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Cell, Clear, Paragraph, Row, Table as Grid};

use super::keys::{Choice, KEYS};
use super::view::{Counts, Table, View};
use super::words::{count, in_words, name, rate, time};
use crate::sizes::shown as bytes;

/// Lines of the upper parts, their frames included.
const UPPER: u16 = 12;
/// Columns of what is done each second.
const ACTIVITY: u16 = 46;
const LABEL_WIDTH: usize = 12;
const BYTES_WIDTH: usize = 12;

/// By what tables are sorted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sort {
    Bytes,
    Rows,
    Indexes,
    Name,
}

/// What is shown.
#[derive(Debug)]
pub(crate) struct Shown {
    place: String,
    interval: Duration,
    view: View,
    rates: Option<Counts>,
    pub(crate) paused: bool,
    sort: Sort,
    help: bool,
    /// Why there was no answer, and since when.
    lost: Option<(String, Instant)>,
}

impl Shown {
    /// What the first answer has.
    pub(crate) fn new(place: String, interval: Duration, view: View) -> Self {
        let (rates, lost) = (None, None);
        Self { place, interval, view, rates, paused: false, sort: Sort::Bytes, help: false, lost }
    }

    /// Takes an answer, or why there is none.
    pub(crate) fn take(&mut self, answer: Result<View, String>) {
        match answer {
            Ok(view) => {
                self.rates = view.rates_since(&self.view);
                self.view = view;
                self.lost = None;
            }
            Err(error) => {
                let since = self.lost.take().map_or_else(Instant::now, |(_, since)| since);
                // Where it is stands at the top.
                let place = format!("{}: ", self.place);
                let error = error.strip_prefix(&place).unwrap_or(&error).to_owned();
                self.rates = None;
                self.lost = Some((error, since));
            }
        }
    }

    /// Does what was chosen, and gives it back.
    pub(crate) fn choose(&mut self, choice: Option<Choice>) -> Option<Choice> {
        match choice {
            Some(Choice::Sort) => {
                self.sort = match self.sort {
                    Sort::Bytes => Sort::Rows,
                    Sort::Rows => Sort::Indexes,
                    Sort::Indexes => Sort::Name,
                    Sort::Name => Sort::Bytes,
                };
            }
            Some(Choice::Pause) => self.paused = !self.paused,
            Some(Choice::Help) => self.help = !self.help,
            Some(Choice::Quit) | None => {}
        }
        choice
    }
}

/// Draws all of it.
pub(crate) fn draw(frame: &mut Frame<'_>, shown: &Shown) {
    let [title, upper, tables, snapshots, bottom] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(UPPER),
        Constraint::Fill(3),
        Constraint::Fill(2),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    let [memory, activity] =
        Layout::horizontal([Constraint::Fill(1), Constraint::Length(ACTIVITY)]).areas(upper);
    frame.render_widget(title_line(shown), title);
    draw_memory(frame, shown, memory);
    draw_activity(frame, shown, activity);
    draw_tables(frame, shown, tables);
    draw_snapshots(frame, shown, snapshots);
    frame.render_widget(bottom_line(shown), bottom);
    if shown.help {
        draw_help(frame);
    }
}

fn title_line(shown: &Shown) -> Line<'_> {
    let mut spans = vec![
        Span::styled(format!(" {} ", shown.place), Modifier::BOLD),
        format!(
            " version {}, open for {}, every {}",
            shown.view.version,
            time(shown.view.uptime),
            time(shown.interval)
        )
        .into(),
    ];
    if let Some(replica) = &shown.view.replica {
        spans.push(format!("; it {}", in_words(replica)).into());
    }
    if shown.paused {
        spans.push(Span::styled("  PAUSED", Style::new().fg(Color::Yellow)));
    }
    Line::from(spans)
}

fn bottom_line(shown: &Shown) -> Line<'_> {
    if let Some((error, since)) = &shown.lost {
        let text = format!(" no answer for {}: {error}; asking again", time(since.elapsed()));
        return Line::styled(text, Style::new().fg(Color::Red));
    }
    let keys = [" q quit", "s sort tables", "p pause", "? help"];
    Line::styled(keys.join("   "), Style::new().fg(Color::DarkGray))
}

fn draw_memory(frame: &mut Frame<'_>, shown: &Shown, area: Rect) {
    let memory = &shown.view.memory;
    let title = format!(" memory: {} of {} ", bytes(memory.held), bytes(memory.budget));
    let block = Block::bordered().title(title);
    let width = usize::from(block.inner(area).width).saturating_sub(LABEL_WIDTH + BYTES_WIDTH + 2);
    let line = |label: &str, bar: String, amount: u64, color: Color| {
        Line::from(vec![
            format!("{label:<LABEL_WIDTH$}").into(),
            Span::styled(bar, Style::new().fg(color)),
            format!(" {:>BYTES_WIDTH$}", bytes(amount)).into(),
        ])
    };
    let share = |amount: u64| {
        let cells = amount as f64 / memory.budget.max(1) as f64 * width as f64;
        if amount > 0 { (cells.round() as usize).clamp(1, width.max(1)) } else { 0 }
    };
    let bar = |amount: u64| format!("{:<width$}", "\u{2588}".repeat(share(amount).min(width)));
    let near = memory.held + memory.reserve >= memory.budget;
    let color = if near { Color::Red } else { Color::Green };
    let whole = budget_bar(width, [memory.held, memory.committed, memory.reserve].map(share));
    let mut lines = vec![line("held", whole, memory.held, color)];
    for (purpose, amount) in &memory.by_purpose {
        lines.push(line(&format!(" {purpose}"), bar(*amount), *amount, Color::Cyan));
    }
    lines.push(line("reclaimable", bar(memory.reclaimable), memory.reclaimable, Color::Yellow));
    let committed = format!(
        "\u{2592} committed {}   \u{2591} reserve {}",
        bytes(memory.committed),
        bytes(memory.reserve)
    );
    lines.push(Line::styled(committed, Style::new().fg(Color::DarkGray)));
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

/// The budget as a bar: what is held, what is committed beyond that, and the reserve at the end.
fn budget_bar(width: usize, [held, committed, reserve]: [usize; 3]) -> String {
    let cell = |i| match i {
        i if i < held => '\u{2588}',
        i if i < committed => '\u{2592}',
        i if i + reserve >= width => '\u{2591}',
        _ => '\u{b7}',
    };
    (0..width).map(cell).collect()
}

fn draw_activity(frame: &mut Frame<'_>, shown: &Shown, area: Rect) {
    let (view, counts) = (&shown.view, &shown.view.counts);
    let rates = shown.rates.unwrap_or_default();
    let line = |label: &str, each_second: f64, all: f64, alarming: bool| {
        let color = if alarming && each_second > 0.0 { Color::Yellow } else { Color::Reset };
        let each_second = shown.rates.map_or("-".to_owned(), |_| rate(each_second));
        Line::from(vec![
            format!("{label:<12}").into(),
            Span::styled(format!("{each_second:>9}"), Style::new().fg(color)),
            format!(" {:>16}", count(all as u64)).into(),
        ])
    };
    let per_sync = rates.commits_per_sync().map_or("-".to_owned(), |n| format!("{n:.1}"));
    let mut lines = vec![
        line("commits", rates.commits, counts.commits, false),
        line("changes", rates.changes, counts.changes, false),
        line("rollbacks", rates.rollbacks, counts.rollbacks, false),
        line("conflicts", rates.conflicts, counts.conflicts, true),
        line("retries", rates.retries, counts.retries, true),
        line("frozen", rates.frozen_segments, counts.frozen_segments, false),
        Line::from(format!("active      {} readers, {} writers", view.readers, view.writers)),
        Line::from(format!(
            "backlog     {}, {} pinned rows",
            count(view.backlog),
            count(view.pinned_rows)
        )),
    ];
    if view.has_log {
        let written = shown.rates.map_or("-".to_owned(), |_| bytes(rates.log_bytes as u64) + "/s");
        let unsynced = counts.log_bytes - counts.log_synced;
        lines.extend([
            Line::from(format!("log         {written}, {} unsynced", bytes(unsynced as u64))),
            line("syncs", rates.log_syncs, counts.log_syncs, false),
            Line::from(format!(
                "            {per_sync} commits a sync, {} checkpoints",
                count(counts.checkpoints as u64)
            )),
        ]);
    } else {
        lines.push(Line::from("log         none: in memory alone"));
    }
    let block = Block::bordered().title(" each second, and in all ");
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

fn draw_tables(frame: &mut Frame<'_>, shown: &Shown, area: Rect) {
    let mut tables: Vec<&Table> = shown.view.tables.iter().collect();
    match shown.sort {
        Sort::Bytes => tables.sort_by_key(|table| std::cmp::Reverse(table.bytes())),
        Sort::Rows => tables.sort_by_key(|table| std::cmp::Reverse(table.rows)),
        Sort::Indexes => tables.sort_by_key(|table| std::cmp::Reverse(table.index_bytes)),
        Sort::Name => tables.sort_by(|a, b| a.name.cmp(&b.name)),
    }
    let rows = tables.iter().map(|table| {
        let numbers = [
            count(table.rows),
            count(table.versions),
            bytes(table.bytes()),
            bytes(table.row_bytes),
            bytes(table.segment_bytes),
            bytes(table.index_bytes),
        ];
        let numbers = numbers.map(|text| Cell::from(Line::from(text).right_aligned()));
        Row::new(std::iter::once(Cell::from(name(&table.name))).chain(numbers))
    });
    let columns = [
        ("table", Some(Sort::Name)),
        ("rows", Some(Sort::Rows)),
        ("versions", None),
        ("all", Some(Sort::Bytes)),
        ("in rows", None),
        ("segments", None),
        ("indexes", Some(Sort::Indexes)),
    ];
    let header = columns.map(|(title, sort)| {
        let is_sorted = sort == Some(shown.sort);
        let style = if is_sorted { Modifier::BOLD | Modifier::UNDERLINED } else { Modifier::BOLD };
        let line = Line::styled(title, style);
        Cell::from(if title == "table" { line } else { line.right_aligned() })
    });
    let widths = [
        Constraint::Fill(1),
        Constraint::Length(13),
        Constraint::Length(13),
        Constraint::Length(10),
        Constraint::Length(10),
        Constraint::Length(10),
        Constraint::Length(10),
    ];
    let age = time(shown.view.tables_age);
    let title = format!(" tables: {}, as of {age} ago ", shown.view.tables.len());
    let grid = Grid::new(rows, widths).header(Row::new(header));
    frame.render_widget(grid.block(Block::bordered().title(title)), area);
}

fn draw_snapshots(frame: &mut Frame<'_>, shown: &Shown, area: Rect) {
    let rows = shown.view.snapshots.iter().map(|held| {
        let state = if held.expired > 0 { "expired" } else { "" };
        let numbers = [count(held.count), time(held.age), bytes(held.pinned_bytes)];
        let numbers = numbers.map(|text| Cell::from(Line::from(text).right_aligned()));
        let words = [Cell::from(name(&held.name)), Cell::from(held.kind.clone())];
        let style = if held.pinned_bytes > 0 { Color::Yellow } else { Color::Reset };
        Row::new(words.into_iter().chain(numbers).chain([Cell::from(state)])).style(style)
    });
    let header = ["snapshots of", "", "held", "oldest", "pinning", ""].map(|title| {
        let line = Line::styled(title, Modifier::BOLD);
        Cell::from(if title == "snapshots of" { line } else { line.right_aligned() })
    });
    let widths = [
        Constraint::Fill(1),
        Constraint::Length(8),
        Constraint::Length(8),
        Constraint::Length(12),
        Constraint::Length(12),
        Constraint::Length(8),
    ];
    let held: u64 = shown.view.snapshots.iter().map(|held| held.count).sum();
    let title = format!(" snapshots: {held} ");
    let grid = Grid::new(rows, widths).header(Row::new(header));
    frame.render_widget(grid.block(Block::bordered().title(title)), area);
}

fn draw_help(frame: &mut Frame<'_>) {
    let lines: Vec<_> =
        KEYS.iter().map(|(key, about)| Line::from(format!(" {key}  {about}"))).collect();
    let (width, height) = (40, lines.len() as u16 + 2);
    let whole = frame.area();
    let area = Rect {
        x: whole.width.saturating_sub(width) / 2,
        y: whole.height.saturating_sub(height) / 2,
        width: width.min(whole.width),
        height: height.min(whole.height),
    };
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(lines).block(Block::bordered().title(" keys ")), area);
}

#[cfg(test)]
mod tests;
