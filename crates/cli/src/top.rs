//! `remanent top DIR|SOCKET|HOST:PORT`: what a program says of its open database, live.
//!
//! The program has to export it: this one only asks, once in a while, and shows. On a terminal it
//! draws (`screen`) what keys choose (`keys`); `--once` prints a text for scripts, `--prometheus`
//! the metrics as they come. What was asked and answered stands in `exporter`, what the metrics
//! mean in `view`.

mod exporter;
mod keys;
mod metrics;
mod plain;
mod screen;
mod view;
mod words;

use std::io::IsTerminal;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use ratatui::crossterm::event;

use crate::flags::{self, Flags};
use crate::outcome::{Failure, Outcome, answer};
use exporter::Exporter;
use keys::Choice;
use screen::Shown;
use view::View;

const FLAG_NAMES: [&str; 4] = ["interval", "once", "prometheus", "help"];
/// Seconds from one question to the next: if nothing is said, the least, the most.
const INTERVAL: f64 = 1.0;
const INTERVAL_MIN: f64 = 0.1;
const INTERVAL_MAX: f64 = 3600.0;
/// How long keys are waited for before answers are inspected.
const GLANCE: Duration = Duration::from_millis(50);

/// Runs the command.
pub(crate) fn run(flags: &Flags) -> Outcome {
    if flags.help {
        return answer(&help());
    }
    flags.only("top", &FLAG_NAMES)?;
    let [place] = flags.words(["the folder of a database, a socket, or HOST:PORT"])?;
    let interval = interval(flags)?;
    let exporter = Exporter::find(place)?;
    let refused = |error| Failure::Refused(format!("error: {error}"));
    if flags.prometheus {
        return answer(&exporter.text().map_err(refused)?);
    }
    if flags.once {
        let view = read(&exporter).map_err(refused)?;
        return answer(&plain::text(exporter.place(), &view));
    }
    if !std::io::stdout().is_terminal() {
        return Err(Failure::Usage(
            "standard output is no terminal; `top --once` prints a text".to_owned(),
        ));
    }
    // The first answer before the terminal is taken: if there is none, that is said in words.
    let first = read(&exporter).map_err(refused)?;
    watch(exporter, first, interval)
}

fn interval(flags: &Flags) -> Result<Duration, Failure> {
    let Some(text) = &flags.interval else { return Ok(Duration::from_secs_f64(INTERVAL)) };
    let seconds = text.parse().ok().filter(|s| (INTERVAL_MIN..=INTERVAL_MAX).contains(s));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| {
        Failure::Usage(format!(
            "--interval takes seconds from {INTERVAL_MIN} to {INTERVAL_MAX}, not `{text}`"
        ))
    })
}

fn read(exporter: &Exporter) -> Result<View, String> {
    let text = exporter.text()?;
    metrics::parse(&text).and_then(|metrics| View::of(&metrics)).map_err(|error| {
        format!("{}: what answers there is no exporter of Remanent: {error}", exporter.place())
    })
}

/// Draws until the key for the end is pressed.
fn watch(exporter: Exporter, first: View, interval: Duration) -> Outcome {
    let mut shown = Shown::new(exporter.place().to_owned(), interval, first);
    let (ask, answers) = asker(exporter);
    let terminal = ratatui::try_init();
    let mut terminal = terminal.map_err(|error| lost_terminal(&error))?;
    let ended = draw_until_end(&mut terminal, &mut shown, &ask, &answers, interval);
    ratatui::restore();
    ended.map_err(|error| lost_terminal(&error))
}

fn draw_until_end(
    terminal: &mut ratatui::DefaultTerminal,
    shown: &mut Shown,
    ask: &Sender<()>,
    answers: &Receiver<Result<View, String>>,
    interval: Duration,
) -> std::io::Result<()> {
    let mut asked = Some(Instant::now());
    let mut waits = false;
    loop {
        terminal.draw(|frame| screen::draw(frame, shown))?;
        if event::poll(GLANCE)? && shown.choose(keys::choice(&event::read()?)) == Some(Choice::Quit)
        {
            return Ok(());
        }
        if let Ok(view) = answers.try_recv() {
            waits = false;
            shown.take(view);
        }
        let due = asked.is_none_or(|asked| asked.elapsed() >= interval);
        if due && !waits && !shown.paused {
            (asked, waits) = (Some(Instant::now()), true);
            // If nobody takes it, no answer comes, and the picture says how old it is.
            let _ = ask.send(());
        }
    }
}

/// A thread that asks when it is requested to, so that keys need not wait for the answer.
fn asker(exporter: Exporter) -> (Sender<()>, Receiver<Result<View, String>>) {
    let (ask, asked) = mpsc::channel();
    let (answer, answers) = mpsc::channel();
    std::thread::spawn(
        move || {
            while asked.recv().is_ok() && answer.send(read(&exporter)).is_ok() {}
        },
    );
    (ask, answers)
}

fn lost_terminal(error: &std::io::Error) -> Failure {
    Failure::Refused(format!("error: the terminal: {error}"))
}

fn help() -> String {
    format!(
        "Shows what a program says of its open database, live\n\n\
         usage: remanent top DIR | SOCKET | HOST:PORT [flags]\n\n\
         The program has to export it: in Rust, `remanent_exporter::Exporter::start`. In a folder\n\
         of a database its socket is called metrics.sock.\n\n\
         keys:\n{}\nflags:\n{}\n\
         Ends with 0, with 1 if nobody answers with metrics, with 2 if it was called wrongly.\n",
        keys::help(),
        flags::help(&FLAG_NAMES)
    )
}
