//! What is said of a failure: as psql says it, with the SQLSTATE and the place.
//!
//! In a script the file and the line stand in front.

use remanent_sql::Error;
use unicode_width::UnicodeWidthStr;

use crate::lines::Lines;
use crate::reading::pending::Cut;
use crate::shell::Shell;
use crate::stop::{End, Failure};

/// Characters of a line that are shown before and behind the place of an error.
const SHOWN_MAX: usize = 60;

impl Shell {
    /// Reports a failure; how a run ends that ends with it.
    pub(crate) fn tell_failure(&mut self, failure: &Failure, place: Option<(&Cut, &Lines)>) -> End {
        let (text, end) = match failure {
            Failure::Stop(stop) => return stop.end(),
            Failure::Reported => return End::Failed,
            Failure::Said(text) => (format!("{}error: {text}", prefix(place, 0)), End::Trouble),
            Failure::Sql(error) => (report(error, place), End::Failed),
        };
        // The text ends where the message does.
        self.streams.report(&text);
        end
    }
}

/// The lines about a statement's error.
fn report(error: &Error, place: Option<(&Cut, &Lines)>) -> String {
    let spot = place.zip(error.position()).and_then(|((cut, _), at)| spot(&cut.text, at));
    let message = error.message();
    let line = spot.as_ref().map_or(0, |spot| spot.line);
    let mut text = format!("{}ERROR:  {}: {message}", prefix(place, line), error.state().as_str());
    if let Some(spot) = spot {
        let label = format!("LINE {}: ", spot.line + 1);
        let caret = label.len() + spot.before.width();
        text += &format!("\n{label}{}{}\n{:caret$}^", spot.before, spot.behind, "");
    }
    for (label, part) in [("DETAIL", error.detail_text()), ("HINT", error.hint_text())] {
        if let Some(part) = part {
            text += &format!("\n{label}:  {part}");
        }
    }
    text
}

/// Where a script has it: the line of the statement, and so many below.
fn prefix(place: Option<(&Cut, &Lines)>, below: u64) -> String {
    let named = place.and_then(|(cut, lines)| Some((cut, lines.name.as_ref()?)));
    named.map_or(String::new(), |(cut, name)| format!("{name}:{}: ", cut.line + below))
}

/// The place of an error in its line.
struct Spot {
    /// Lines before it.
    line: u64,
    before: String,
    behind: String,
}

/// Finds the place of a character, counted from 1.
fn spot(text: &str, position: usize) -> Option<Spot> {
    let at = position.checked_sub(1)?;
    let byte = text.char_indices().nth(at).map_or(text.len(), |(byte, _)| byte);
    let begin = text[..byte].rfind('\n').map_or(0, |newline| newline + 1);
    let end = text[byte..].find('\n').map_or(text.len(), |newline| byte + newline);
    let line = text[..byte].matches('\n').count() as u64;
    let plain = |part: &str| part.replace(|c: char| c.is_control(), " ");
    let (mut before, mut behind) = (plain(&text[begin..byte]), plain(&text[byte..end]));
    let count = before.chars().count();
    if count > SHOWN_MAX {
        before = format!("...{}", before.chars().skip(count - SHOWN_MAX).collect::<String>());
    }
    if behind.chars().count() > SHOWN_MAX {
        behind = format!("{}...", behind.chars().take(SHOWN_MAX).collect::<String>());
    }
    Some(Spot { line, before, behind })
}
