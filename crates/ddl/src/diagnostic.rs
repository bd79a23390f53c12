//! What is wrong with a schema, said with file, line, column, caret and a hint.
//!
//! Diagnostics own the line they show, so they outlive the run. A run collects them in a `Reporter`
//! which stops listening after [`ERRORS_MAX`] errors. How a diagnostic looks is decided by
//! `annotate-snippets`; nothing here knows a grammar.

use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use crate::source::{File, Span};

/// The most errors that one run reports.
///
/// # Examples
/// ```
/// use remanent_ddl::{ERRORS_MAX, Options, Source, parse};
/// let text = "class A { what; };".repeat(100);
/// let errors = parse(&Source::new("a.mco", text), &Options::default()).unwrap_err();
/// assert!(errors.0.len() <= ERRORS_MAX + 1);
/// ```
pub const ERRORS_MAX: usize = 20;

/// A longer line, in bytes, is not shown: only its location is.
const LINE_LEN_MAX: usize = 400;

/// An error or a warning.
///
/// Its `Display` is what a terminal shows: message, location, the line with carets, and the hint.
///
/// # Examples
/// ```
/// use remanent_ddl::{Options, Source, parse};
/// let source = Source::new("a.mco", "declare database a;\nclass A { uint5 x; };\n");
/// let errors = parse(&source, &Options::default()).unwrap_err();
/// let first = &errors.0[0];
/// let location = first.location.as_ref().expect("it has a location");
/// assert_eq!((location.line, location.column), (2, 11));
/// assert!(first.to_string().contains("a.mco:2:11"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Whether the schema is refused for it.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub hint: Option<String>,
    /// Where.
    pub location: Option<Location>,
}

/// How bad it is.
///
/// # Examples
/// ```
/// use remanent_ddl::{Options, Severity, Source, parse};
/// let text = "database a { record R { long x; } }";
/// let (_, warnings) = parse(&Source::new("a.ddl", text), &Options::default())?;
/// assert_eq!(warnings[0].severity, Severity::Warning);
/// # Ok::<(), remanent_ddl::Diagnostics>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The schema is refused.
    Error,
    /// The schema is accepted.
    Warning,
}

/// A location in a file, with the line that it is on.
///
/// # Examples
/// ```
/// use remanent_ddl::{Options, Source, parse};
/// let errors = parse(&Source::new("a.ddl", "database {"), &Options::default()).unwrap_err();
/// let location = errors.0[0].location.clone().expect("it has a location");
/// assert_eq!((location.file.as_str(), location.line, location.column), ("a.ddl", 1, 10));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file's name.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
    /// The line, unless it is too long to be shown.
    line_text: Option<String>,
    marked: Range<usize>,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let mut group = Group::with_title(level.primary_title(self.message.as_str()));
        if let Some(location) = &self.location {
            group = match &location.line_text {
                Some(text) => {
                    let mark = AnnotationKind::Primary.span(location.marked.clone());
                    let snippet = Snippet::source(text.as_str()).line_start(location.line);
                    group.element(snippet.path(location.file.as_str()).annotation(mark))
                }
                None => {
                    let origin = Origin::path(location.file.as_str()).line(location.line);
                    group.element(origin.char_column(location.column))
                }
            };
        }
        if let Some(hint) = &self.hint {
            group = group.element(Level::HELP.message(hint.as_str()));
        }
        let text = Renderer::plain().render(&[group]);
        f.write_str(text.trim_end())
    }
}

/// All that was wrong in one run, errors first.
///
/// # Examples
/// ```
/// use remanent_ddl::{Options, Source, parse};
/// let source = Source::new("a.mco", "declare database a; class A { uint5 x; uint6 y; };");
/// let errors = parse(&source, &Options::default()).unwrap_err();
/// assert_eq!(errors.0.len(), 2);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostics(pub Vec<Diagnostic>);

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, diagnostic) in self.0.iter().enumerate() {
            let gap = if index == 0 { "" } else { "\n\n" };
            write!(f, "{gap}{diagnostic}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}

/// Collects what a run finds.
#[derive(Debug, Default)]
pub(crate) struct Reporter {
    pub(crate) files: Vec<File>,
    errors: Vec<Diagnostic>,
    warnings: Vec<Diagnostic>,
    is_cut: bool,
}

impl Reporter {
    pub(crate) fn error(
        &mut self,
        span: Span,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        if self.is_full() {
            self.is_cut = true;
            return;
        }
        let diagnostic = self.diagnostic(Severity::Error, span, message.into(), hint.into());
        if !self.errors.contains(&diagnostic) {
            self.errors.push(diagnostic);
        }
    }

    pub(crate) fn warn(&mut self, span: Span, message: impl Into<String>, hint: impl Into<String>) {
        if self.warnings.len() < ERRORS_MAX {
            let diagnostic = self.diagnostic(Severity::Warning, span, message.into(), hint.into());
            self.warnings.push(diagnostic);
        }
    }

    /// Whether nothing more is listened to.
    pub(crate) fn is_full(&self) -> bool {
        self.errors.len() >= ERRORS_MAX
    }

    pub(crate) fn has_errors(&self) -> bool {
        !self.errors.is_empty()
    }

    pub(crate) fn error_count(&self) -> usize {
        self.errors.len()
    }

    /// The warnings, or the errors with the warnings behind them.
    pub(crate) fn finish(mut self) -> Result<Vec<Diagnostic>, Diagnostics> {
        if self.errors.is_empty() {
            return Ok(self.warnings);
        }
        if self.is_cut {
            self.errors.push(Diagnostic {
                severity: Severity::Error,
                message: format!("more than {ERRORS_MAX} errors; the others are not shown"),
                hint: None,
                location: None,
            });
        } else {
            self.errors.append(&mut self.warnings);
        }
        Err(Diagnostics(self.errors))
    }

    fn diagnostic(
        &self,
        severity: Severity,
        span: Span,
        message: String,
        hint: String,
    ) -> Diagnostic {
        let location = self.files.get(span.file as usize).map(|file| location_of(file, span));
        let hint = Some(hint).filter(|hint| !hint.is_empty());
        Diagnostic { severity, message, hint, location }
    }
}

fn location_of(file: &File, span: Span) -> Location {
    let at = floor(&file.text, span.start as usize);
    let (line, range) = file.line_at(at as u32);
    let text = &file.text[range.clone()];
    let start = (at - range.start).min(text.len());
    let end = floor(&file.text, span.end as usize).saturating_sub(range.start);
    let column = text[..start].chars().count() + 1;
    let line_text = (text.len() <= LINE_LEN_MAX).then(|| text.trim_end().to_owned());
    let marked_max = line_text.as_ref().map_or(0, String::len);
    let start = start.min(marked_max);
    let marked = start..end.min(marked_max).max(start);
    Location { file: file.name.clone(), line: line + 1, column, line_text, marked }
}

/// The nearest character boundary at or before this offset.
fn floor(text: &str, offset: usize) -> usize {
    text.floor_char_boundary(offset)
}
