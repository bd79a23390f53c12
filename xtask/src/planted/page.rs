//! The page about planted bugs: its table, and at which commit all of them were found.
//!
//! Both are written by `cargo xtask planted --record` and by nobody else, so that they say what was
//! measured.

/// Where the page is.
pub(super) const PATH: &str = "docs/planted-bugs.md";

/// What the sentence begins with that has the commit, between backticks.
const SENTENCE: &str = "All were found on ";

/// The first line of the table.
const HEADER: &str = "| planted bug | what it breaks | found by | after |";

/// The commit at which all bugs were found.
pub(super) fn commit(page: &str) -> Option<String> {
    let line = page.lines().find(|line| line.starts_with(SENTENCE))?;
    Some(line.split('`').nth(1)?.to_owned())
}

/// The table, of lines that each have the cells of a bug.
pub(super) fn table(rows: &[[&str; 4]]) -> String {
    let mut text = format!("{HEADER}\n| --- | --- | --- | --- |\n");
    for [name, breaks, check, found] in rows {
        text.push_str(&format!("| {name} | {breaks} | {check} | {found} |\n"));
    }
    text
}

/// The page with another table and another sentence.
pub(super) fn with(page: &str, table: &str, date: &str, commit: &str) -> Option<String> {
    let begin = page.find(HEADER)?;
    let end = page[begin..].find("\n\n").map_or(page.len(), |end| begin + end + 1);
    let page = format!("{}{table}{}", &page[..begin], &page[end..]);
    let line = page.lines().find(|line| line.starts_with(SENTENCE))?;
    Some(page.replacen(line, &format!("{SENTENCE}{date}, at commit `{commit}`."), 1))
}

#[cfg(test)]
mod tests;
