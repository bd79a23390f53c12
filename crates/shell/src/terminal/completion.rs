//! What may follow on what was typed: words of SQL, tables, columns, commands, files.
//!
//! The word before decides: behind FROM there are tables, behind a name and a dot its columns,
//! behind a backslash commands, and behind commands about files their names.

use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};

use super::names::Names;
use crate::options::Format;
use crate::reading::variables::is_name;

/// Words that statements begin with, or that stand in many of them.
const WORDS: &str = "ADD ALL ALTER ANALYZE AND AS ASC BEGIN BETWEEN BIGINT BOOLEAN BY CASE CAST \
    CHECK COLUMN COMMENT COMMIT CONFLICT CONSTRAINT COPY CREATE CROSS DATE DEFAULT DELETE DESC \
    DISTINCT DO DOUBLE DROP ELSE END EXCEPT EXECUTE EXISTS EXPLAIN FALSE FOREIGN FROM FULL \
    GENERATED GRANT GROUP HAVING IF IN INDEX INNER INSERT INTEGER INTERSECT INTERVAL INTO IS JOIN \
    KEY LATERAL LEFT LIKE LIMIT MATCHED MERGE NOT NOTHING NULL NUMERIC OFFSET ON OR ORDER OUTER \
    OVER PARTITION PRECISION PREPARE PRIMARY REFERENCES RELEASE RENAME RESET RETURNING REVOKE \
    RIGHT ROLE ROLLBACK SAVEPOINT SCHEMA SELECT SEQUENCE SET SHOW TABLE TEXT THEN TIMESTAMP TO \
    TRUE TRUNCATE UNION UNIQUE UPDATE USING VACUUM VALUES VARCHAR VIEW WHEN WHERE WITH";

/// Words behind which tables stand.
const BEFORE_TABLES: [&str; 8] =
    ["from", "join", "into", "update", "table", "truncate", "copy", "references"];

/// What completion has to know of the shell's commands.
pub(crate) struct Commands {
    /// All names.
    pub(crate) names: Vec<&'static str>,
    /// What `\pset` knows.
    pub(crate) pset_names: &'static [&'static str],
    /// Whether what is typed now of this command is the name of a file.
    pub(crate) takes_file: fn(&str, &str) -> bool,
}

/// Completes what is typed.
pub(crate) struct Completion {
    names: Names,
    commands: Commands,
    files: FilenameCompleter,
    /// What has been read of the statement before this line.
    pub(crate) statement: String,
}

impl Completion {
    pub(crate) fn new(names: Names, commands: Commands) -> Self {
        Self { names, commands, files: FilenameCompleter::new(), statement: String::new() }
    }

    /// What may stand behind a command.
    fn behind_command(&self, command: &str, line: &str) -> Vec<String> {
        match command {
            "pset" if line.split_whitespace().count() < 3 && !line.contains("format") => {
                self.commands.pset_names.iter().map(|name| (*name).to_owned()).collect()
            }
            "pset" | ".mode" | "mode" => {
                Format::NAMES.iter().map(|(name, _)| (*name).to_owned()).collect()
            }
            "dn" => self.names.schemas(),
            "h" | "help" | ".help" => WORDS.split_whitespace().map(str::to_owned).collect(),
            name if name.starts_with('d') || name == ".schema" || name == ".tables" => {
                self.names.tables()
            }
            _ => Vec::new(),
        }
    }

    /// What may stand in a statement, behind these words.
    fn in_statement(&self, before: &str, word: &str) -> Vec<String> {
        let last = before.split_whitespace().next_back().unwrap_or("").to_lowercase();
        if let Some((table, _)) = word.rsplit_once('.') {
            return self.behind_dot(before, table);
        }
        if BEFORE_TABLES.contains(&last.as_str()) {
            let mut found = self.names.tables();
            found.extend(self.names.schemas().into_iter().map(|schema| format!("{schema}.")));
            return found;
        }
        let mut found = Vec::new();
        let words: Vec<String> = words_of(before).map(str::to_lowercase).collect();
        for (table, column) in self.names.columns() {
            if words.contains(&table.to_lowercase()) {
                found.push(column);
            }
        }
        let is_lower = word.chars().all(|c| !c.is_uppercase());
        let case = |word: &str| if is_lower { word.to_lowercase() } else { word.to_owned() };
        found.extend(WORDS.split_whitespace().map(case));
        found.extend(self.names.tables());
        found
    }

    /// Columns of a table, by its name or by the name that the statement gives it; tables of a
    /// schema.
    fn behind_dot(&self, before: &str, name: &str) -> Vec<String> {
        let words: Vec<String> = words_of(before).map(str::to_lowercase).collect();
        let alias = words.iter().rposition(|word| *word == name.to_lowercase());
        let mut stands_for = vec![name.to_lowercase()];
        if let Some(place) = alias.and_then(|place| place.checked_sub(1)) {
            let is_as = words[place] == "as" && place > 0;
            stands_for.push(words[if is_as { place - 1 } else { place }].clone());
        }
        let columns = self.names.columns().into_iter();
        let columns = columns.filter(|(table, _)| stands_for.contains(&table.to_lowercase()));
        let mut found: Vec<String> =
            columns.map(|(_, column)| format!("{name}.{column}")).collect();
        found
            .extend(self.names.tables().into_iter().filter(|t| t.starts_with(&format!("{name}."))));
        found
    }
}

impl Completer for Completion {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        pos: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let typed = &line[..pos];
        let is_part = |c: char| is_name(c) || matches!(c, '.' | '"');
        let start = typed
            .rfind(|c| !is_part(c))
            .map_or(0, |at| at + typed[at..].chars().next().map_or(1, char::len_utf8));
        let trimmed = typed.trim_start();
        let command_start = typed.rfind('\\').filter(|_| !self.is_quoted(typed));
        let dot_command = trimmed.starts_with('.') && self.statement.is_empty();
        if let Some(at) = command_start.or(dot_command.then(|| typed.len() - trimmed.len())) {
            let command = &typed[at..];
            let Some((name, _)) = command.split_once(char::is_whitespace) else {
                let all = self.commands.names.iter().copied();
                let all = all.filter(|name| name.starts_with('.') == dot_command);
                let all = all.map(|name| match dot_command {
                    true => name.to_owned(),
                    false => format!("\\{name}"),
                });
                return Ok((at, matching(all.collect(), command)));
            };
            let name = name.trim_start_matches('\\');
            if (self.commands.takes_file)(name, command) {
                return self.files.complete_path(line, pos);
            }
            let found = self.behind_command(name.trim_end_matches('+'), command);
            if found.is_empty() && name == "copy" {
                let before = format!("{} ", command.trim_start_matches('\\'));
                let before = &before[..before.len() - 1 - (typed.len() - start)];
                return Ok((
                    start,
                    matching(self.in_statement(before, &typed[start..]), &typed[start..]),
                ));
            }
            return Ok((start, matching(found, &typed[start..])));
        }
        let before = format!("{} {}", self.statement, &typed[..start]);
        Ok((start, matching(self.in_statement(&before, &typed[start..]), &typed[start..])))
    }
}

impl Completion {
    /// Whether the end of what is typed is within quotes.
    fn is_quoted(&self, typed: &str) -> bool {
        (self.statement.matches('\'').count() + typed.matches('\'').count()) % 2 == 1
    }
}

impl Helper for Completion {}
impl Highlighter for Completion {}
impl Validator for Completion {}
impl Hinter for Completion {
    type Hint = String;
}

fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !is_name(c)).filter(|word| !word.is_empty())
}

/// Those that begin with what was typed, each once.
fn matching(found: Vec<String>, typed: &str) -> Vec<Pair> {
    let typed = typed.to_lowercase();
    let mut seen = std::collections::HashSet::new();
    let fits = |name: &String| name.to_lowercase().starts_with(&typed) && seen.insert(name.clone());
    let pair = |name: String| Pair { display: name.clone(), replacement: name };
    found.into_iter().filter(fits).map(pair).collect()
}
