//! `\?` and `\h`.
//!
//! The list of commands is the one by which they are found; statements are named, not explained.

use super::{COMMANDS, Call};
use crate::shell::Shell;
use crate::stop::Failure;

/// What statements there are, in the words of their beginnings.
const STATEMENTS: &[(&str, &str)] = &[
    ("ALTER TABLE", "ALTER TABLE name ADD|DROP|RENAME|ALTER ..."),
    ("ANALYZE", "ANALYZE [table]"),
    ("BEGIN", "BEGIN [ISOLATION LEVEL level] [READ ONLY]; ends with COMMIT or ROLLBACK"),
    ("COPY", "COPY table|(query) FROM|TO 'file'|STDIN|STDOUT [WITH (FORMAT csv, HEADER, ...)]"),
    ("CREATE INDEX", "CREATE [UNIQUE] INDEX name ON table [USING method] (column [DESC], ...)"),
    ("CREATE ROLE", "CREATE ROLE name [LOGIN] [SUPERUSER] [PASSWORD 'text']"),
    ("CREATE SCHEMA", "CREATE SCHEMA name"),
    ("CREATE SEQUENCE", "CREATE SEQUENCE name [START n] [INCREMENT n]"),
    ("CREATE TABLE", "CREATE TABLE name (column type [constraints], ...) | AS query"),
    ("CREATE VIEW", "CREATE VIEW name AS query"),
    ("DELETE", "DELETE FROM table [USING ...] [WHERE ...] [RETURNING ...]"),
    ("DROP", "DROP TABLE|VIEW|INDEX|SEQUENCE|SCHEMA|ROLE [IF EXISTS] name [CASCADE]"),
    ("EXPLAIN", "EXPLAIN [ANALYZE] statement"),
    ("GRANT", "GRANT privileges ON table TO role; REVOKE ... FROM role"),
    ("INSERT", "INSERT INTO table [(columns)] VALUES ...|query [ON CONFLICT ...] [RETURNING ...]"),
    ("MERGE", "MERGE INTO table USING source ON condition WHEN [NOT] MATCHED THEN ..."),
    ("PREPARE", "PREPARE name AS statement; EXECUTE name (values); DEALLOCATE name"),
    ("SAVEPOINT", "SAVEPOINT name; ROLLBACK TO name; RELEASE name"),
    ("SELECT", "[WITH ...] SELECT ... FROM ... WHERE ... GROUP BY ... ORDER BY ... LIMIT n"),
    ("SET", "SET name = value; SHOW name; RESET name"),
    ("TRUNCATE", "TRUNCATE table, ..."),
    ("UPDATE", "UPDATE table SET column = value [FROM ...] [WHERE ...] [RETURNING ...]"),
    ("VACUUM", "VACUUM [FULL] [table]; with FULL, rows become columns"),
];

/// `\?`.
pub(super) fn list(shell: &mut Shell, _: &mut Call<'_, '_>) -> Result<(), Failure> {
    let mut text = "Statements end with ; and commands with their line.\n\n".to_owned();
    for command in COMMANDS {
        let dotted: Vec<&str> =
            command.names.iter().copied().filter(|name| name.starts_with('.')).collect();
        let also =
            if dotted.is_empty() { String::new() } else { format!("  ({})", dotted.join(" ")) };
        let call = format!("\\{} {}", command.names[0], command.arguments);
        text += &format!("  {call:<38} {}{also}\n", command.about);
    }
    shell.streams.answer(text.as_bytes())
}

/// `\h`.
pub(super) fn statements(shell: &mut Shell, call: &mut Call<'_, '_>) -> Result<(), Failure> {
    let word = call.arguments.all(&shell.variables).join(" ").to_uppercase();
    let found = STATEMENTS.iter().filter(|(name, _)| name.starts_with(&word));
    let text: String = found.map(|(_, syntax)| format!("{syntax}\n")).collect();
    match text.is_empty() {
        true => Err(Failure::said(format!("there is no help on {word}; \\h lists statements"))),
        false => shell.streams.answer(text.as_bytes()),
    }
}
