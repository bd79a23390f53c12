//! Where lines come from: a terminal, a file, standard input, text.
//!
//! Lines have their newline; the last of a file may have none.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor};
use std::path::Path;

use crate::stop::Failure;
use crate::terminal::editor::{Editor, Read};

/// An input, line by line.
pub(crate) struct Lines {
    source: Source,
    /// What errors call it; nothing for what is typed.
    pub(crate) name: Option<String>,
    /// The number of the line read last.
    pub(crate) number: u64,
}

enum Source {
    Terminal(Box<Editor>),
    Reader(Box<dyn BufRead>),
}

impl Lines {
    pub(crate) fn terminal(editor: Editor) -> Self {
        Self { source: Source::Terminal(Box::new(editor)), name: None, number: 0 }
    }

    pub(crate) fn text(text: &str) -> Self {
        let source = Source::Reader(Box::new(Cursor::new(text.to_owned().into_bytes())));
        Self { source, name: None, number: 0 }
    }

    pub(crate) fn standard_input() -> Self {
        let source = Source::Reader(Box::new(BufReader::new(io::stdin())));
        Self { source, name: Some("stdin".to_owned()), number: 0 }
    }

    /// # Errors
    /// A file that is not there or cannot be read.
    pub(crate) fn file(path: &Path) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let wrong = |error: io::Error| Failure::file(&name, &error);
        let file = File::open(path).map_err(wrong)?;
        if file.metadata().map_err(wrong)?.is_dir() {
            return Err(Failure::said(format!("{name}: it is a folder")));
        }
        let source = Source::Reader(Box::new(BufReader::new(file)));
        Ok(Self { source, name: Some(name), number: 0 })
    }

    pub(crate) fn editor(&mut self) -> Option<&mut Editor> {
        match &mut self.source {
            Source::Terminal(editor) => Some(editor),
            Source::Reader(_) => None,
        }
    }

    /// The next line; a terminal shows the prompt.
    ///
    /// # Errors
    /// What cannot be read, or is not UTF-8.
    pub(crate) fn next(&mut self, prompt: &str) -> Result<Read, Failure> {
        self.number += 1;
        let reader = match &mut self.source {
            Source::Terminal(editor) => return editor.read(prompt),
            Source::Reader(reader) => reader,
        };
        let mut line = String::new();
        match reader.read_line(&mut line) {
            Ok(0) => Ok(Read::End),
            Ok(_) => {
                if self.number == 1 && line.starts_with('\u{feff}') {
                    line.drain(..'\u{feff}'.len_utf8());
                }
                Ok(Read::Line(line))
            }
            Err(error) => {
                Err(Failure::file(self.name.as_deref().unwrap_or("standard input"), &error))
            }
        }
    }
}
