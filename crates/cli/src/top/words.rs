//! Numbers, times and names as they are shown in narrow columns.
//!
//! Rounded, and meant for people. Names are whatever a program made up, so nothing in them
//! reaches the terminal that it would obey.

use std::time::Duration;

use super::view::Replica;
use crate::sizes::shown;

/// Something each second.
pub(crate) fn rate(value: f64) -> String {
    match value {
        v if v >= 1e6 => format!("{:.1}M/s", v / 1e6),
        v if v >= 1e4 => format!("{:.1}k/s", v / 1e3),
        v if v == 0.0 || v >= 10.0 => format!("{v:.0}/s"),
        v => format!("{v:.1}/s"),
    }
}

/// A count, by thousands.
pub(crate) fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A time.
pub(crate) fn time(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 => format!("{} ms", time.as_millis()),
        1..60 => format!("{:.1} s", time.as_secs_f64()),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3600..86400 => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} d {} h", seconds / 86400, seconds % 86400 / 3600),
    }
}

/// A name that a program gave, in one line.
pub(crate) fn name(name: &str) -> String {
    match name {
        "" => "(no name)".to_owned(),
        name => name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect(),
    }
}

/// What a replica does, in words.
pub(crate) fn in_words(replica: &Replica) -> String {
    let behind = |bytes: u64| match bytes {
        0 => String::new(),
        bytes => format!(" but for {}", shown(bytes)),
    };
    let unapplied = replica.replicated.saturating_sub(replica.applied);
    match replica.leads {
        true => {
            let alone = replica.had.saturating_sub(replica.replicated);
            format!("leads; a majority has its log{}", behind(alone))
        }
        false => format!("follows; it has applied what a majority has{}", behind(unapplied)),
    }
}
