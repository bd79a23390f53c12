//! What does not fit on the screen goes through a pager, if somebody sits at it.
//!
//! It is what `REMANENT_PAGER` or `PAGER` names, else `less` if there is one.

use crate::shell::Shell;
use crate::stop::Failure;
use crate::streams::{Streams, Target};

/// Where the text of one answer goes.
pub(super) struct Paging {
    /// The lines of the screen, if a pager may be asked.
    screen_lines: Option<usize>,
    is_open: bool,
}

impl Paging {
    pub(super) fn new(shell: &Shell) -> Self {
        let may = shell.style.pager && shell.streams.are_seen();
        Self { screen_lines: shell.screen.filter(|_| may).map(|(_, lines)| lines), is_open: false }
    }

    /// Writes a part of the answer, or its end.
    ///
    /// # Errors
    /// Where answers go cannot be written.
    pub(super) fn write(
        &mut self,
        streams: &mut Streams,
        text: &[u8],
        is_end: bool,
    ) -> Result<(), Failure> {
        if let Some(screen_lines) = self.screen_lines.take() {
            let lines = text.iter().filter(|byte| **byte == b'\n').count();
            if !is_end || lines >= screen_lines {
                self.open(streams)?;
            }
        }
        streams.answer(text)
    }

    /// Waits until the person has seen enough.
    ///
    /// # Errors
    /// As [`Streams::redirect`].
    pub(super) fn end(self, streams: &mut Streams) -> Result<(), Failure> {
        if self.is_open { streams.redirect(None) } else { Ok(()) }
    }

    fn open(&mut self, streams: &mut Streams) -> Result<(), Failure> {
        let Some(words) = pager() else { return Ok(()) };
        streams.redirect(Some(Target::program(&words)?))?;
        self.is_open = true;
        Ok(())
    }
}

fn pager() -> Option<String> {
    let named = std::env::var("REMANENT_PAGER").or_else(|_| std::env::var("PAGER"));
    if let Ok(named) = named {
        return (!named.trim().is_empty()).then_some(named);
    }
    let folders = std::env::var_os("PATH")?;
    let is_there = std::env::split_paths(&folders).any(|folder| folder.join("less").is_file());
    is_there.then(|| "less -SRFX".to_owned())
}
