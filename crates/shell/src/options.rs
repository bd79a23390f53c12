//! How a shell is started: where lines come from, and how answers look at first.
//!
//! What is set here can be changed by commands while it runs.

use std::path::PathBuf;

/// Where statements and commands come from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Input {
    /// Text of the command line.
    Text(String),
    /// A file; `-` is standard input.
    File(PathBuf),
}

/// How rows are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Format {
    /// A table whose columns stand below each other.
    #[default]
    Aligned,
    /// A line for each value.
    Vertical,
    /// Values between bars, without blanks.
    Unaligned,
    /// Comma-separated values.
    Csv,
    /// One array of objects.
    Json,
    /// An object in each line.
    JsonLines,
    /// A table of Markdown.
    Markdown,
}

/// How a shell is started.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What the prompt calls the database.
    pub name: String,
    /// What is run, in this order; if there is nothing, standard input is read.
    pub inputs: Vec<Input>,
    /// How rows are written.
    pub format: Format,
    /// Whether only rows and errors are printed.
    pub quiet: bool,
    /// Whether names of columns and counts of rows are left out.
    pub no_header: bool,
    /// Whether a script goes on after a statement that has failed.
    pub keep_going: bool,
    /// Whether all inputs are one transaction.
    pub single_transaction: bool,
    /// Variables with their values.
    pub variables: Vec<(String, String)>,
}

impl Format {
    /// All formats with their names.
    pub const NAMES: [(&'static str, Self); 7] = [
        ("aligned", Self::Aligned),
        ("vertical", Self::Vertical),
        ("unaligned", Self::Unaligned),
        ("csv", Self::Csv),
        ("json", Self::Json),
        ("jsonlines", Self::JsonLines),
        ("markdown", Self::Markdown),
    ];

    /// The format of this name.
    ///
    /// # Examples
    /// ```
    /// use remanent_shell::Format;
    /// assert_eq!(Format::from_name("csv"), Some(Format::Csv));
    /// assert_eq!(Format::from_name("xml"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, format)| *format)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, format)| *format == self).map_or("", |(name, _)| name)
    }

    /// Whether people read it, who also see what statements without rows have done.
    pub(crate) fn is_for_people(self) -> bool {
        matches!(self, Self::Aligned | Self::Vertical | Self::Unaligned)
    }
}
