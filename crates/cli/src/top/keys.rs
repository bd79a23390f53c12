//! Keys, and what they choose: one list, of which the help is made too.
//!
//! Whatever else is pressed, and whatever the terminal says besides, chooses nothing.

use ratatui::crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers};

/// What a key chooses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Choice {
    Quit,
    Sort,
    Pause,
    Help,
}

/// The keys: how each is called, and what it does.
pub(crate) const KEYS: [(&str, &str); 4] = [
    ("q", "quit"),
    ("s", "sort tables by the next column"),
    ("p", "pause, and go on"),
    ("?", "this help, and away with it"),
];

/// What an event chooses.
pub(crate) fn choice(event: &Event) -> Option<Choice> {
    let Event::Key(key) = event else { return None };
    if key.kind == KeyEventKind::Release {
        return None;
    }
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('c') if control => Some(Choice::Quit),
        KeyCode::Char('q') | KeyCode::Esc => Some(Choice::Quit),
        KeyCode::Char('s') => Some(Choice::Sort),
        KeyCode::Char('p' | ' ') => Some(Choice::Pause),
        KeyCode::Char('?' | 'h') => Some(Choice::Help),
        _ => None,
    }
}

/// The keys as lines of a text.
pub(crate) fn help() -> String {
    KEYS.iter().fold(String::new(), |text, (key, about)| text + &format!("  {key}  {about}\n"))
}
