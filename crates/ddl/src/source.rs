//! Texts to be read, places in them, and where included files come from.
//!
//! A span names a file by its number, so that it stays small and survives macro expansion: tokens
//! that a macro writes carry the place where the macro was used. This crate opens no file; who
//! calls it says through a [`Resolver`] what an `#include` finds.

/// A schema as somebody wrote it.
///
/// # Examples
/// ```
/// use remanent_ddl::Source;
/// let source = Source::new("mcs.mco", "declare database mcs; class A { uint4 a; };");
/// assert_eq!(source.name, "mcs.mco");
/// ```
#[derive(Clone, Debug)]
pub struct Source {
    /// The name that errors show; its ending tells the dialect.
    pub name: String,
    /// The bytes as they are in the file.
    pub bytes: Vec<u8>,
}

impl Source {
    /// A source of this name.
    ///
    /// # Examples
    /// ```
    /// use remanent_ddl::Source;
    /// assert_eq!(Source::new("a.ddl", "database a {}").bytes.len(), 13);
    /// ```
    pub fn new(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Source {
        Source { name: name.into(), bytes: bytes.into() }
    }
}

/// Finds the files that `#include` names.
///
/// # Examples
/// ```
/// use remanent_ddl::{Options, Resolver, Source, parse_with};
/// struct OneFile;
/// impl Resolver for OneFile {
///     fn resolve(&mut self, name: &str, _including: &str) -> Result<Source, String> {
///         match name {
///             "ints.h" => Ok(Source::new(name, "#define uint4 unsigned<4>\n")),
///             _ => Err(format!("there is no file {name}")),
///         }
///     }
/// }
/// let text = "#include \"ints.h\"\ndeclare database d; class A { uint4 a; tree<a> by_a; };";
/// assert!(parse_with(&Source::new("d.mco", text), &Options::default(), &mut OneFile).is_ok());
/// ```
pub trait Resolver {
    /// The file `name` that the file `including` asks for.
    ///
    /// The name of the source returned identifies the file: one that includes itself is found by
    /// it.
    ///
    /// # Errors
    /// When there is none, with a sentence that says where it was looked for.
    fn resolve(&mut self, name: &str, including: &str) -> Result<Source, String>;
}

/// A resolver that finds nothing: for text that has no `#include` left.
///
/// # Examples
/// ```
/// use remanent_ddl::{NoIncludes, Resolver};
/// assert!(NoIncludes.resolve("ints.h", "mcs.mco").is_err());
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct NoIncludes;

impl Resolver for NoIncludes {
    fn resolve(&mut self, _name: &str, _including: &str) -> Result<Source, String> {
        Err("files cannot be included here".to_owned())
    }
}

/// A place in one of the files of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) file: u32,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Span {
    /// From the start of one to the end of the other, if both are in one file.
    pub(crate) fn to(self, end: Span) -> Span {
        if self.file == end.file && end.end >= self.start {
            Span { end: end.end, ..self }
        } else {
            self
        }
    }

    /// The place just behind it.
    pub(crate) fn behind(self) -> Span {
        Span { start: self.end, end: self.end, ..self }
    }
}

/// A file of the run: the one given, or one included.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) text: String,
    line_starts: Vec<u32>,
}

impl File {
    pub(crate) fn new(name: String, text: String) -> File {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let line_starts = std::iter::once(0).chain(breaks.map(|(at, _)| at as u32 + 1)).collect();
        File { name, text, line_starts }
    }

    /// Line, counted from 0, and the range of its text without the line break.
    pub(crate) fn line_at(&self, offset: u32) -> (usize, std::ops::Range<usize>) {
        let line = self.line_starts.partition_point(|start| *start <= offset).saturating_sub(1);
        let start = self.line_starts[line] as usize;
        let end = self.line_starts.get(line + 1).map_or(self.text.len(), |next| *next as usize - 1);
        (line, start..end.max(start))
    }
}
