//! The page about planted bugs: for each list a table, and before it the commit at which all of the
//! list were found.
//!
//! Both are written by `cargo xtask planted --record` and by nobody else, so that they say what was
//! measured.

/// Where the page is.
pub(super) const PATH: &str = "docs/planted-bugs.md";

/// What the sentence begins with that has the commit, between backticks.
const SENTENCE: &str = "All were found on ";

/// The first line of the table.
const HEADER: &str = "| planted bug | what it breaks | found by | after |";

/// The commit at which all bugs of the list with this place were found.
pub(super) fn commit(page: &str, place: usize) -> Option<String> {
    let line = page.lines().filter(|line| line.starts_with(SENTENCE)).nth(place)?;
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

/// The page with another table of the list with this place, and another sentence before it.
pub(super) fn with(
    page: &str,
    place: usize,
    table: &str,
    date: &str,
    commit: &str,
) -> Option<String> {
    let mut page = page.to_owned();
    let (begin, _) = page.match_indices(HEADER).nth(place)?;
    let end = page[begin..].find("\n\n").map_or(page.len(), |end| begin + end + 1);
    page.replace_range(begin..end, table);
    let sentences =
        page.match_indices(SENTENCE).filter(|(at, _)| *at == 0 || page.as_bytes()[at - 1] == b'\n');
    let (begin, _) = sentences.collect::<Vec<_>>().get(place).copied()?;
    let end = page[begin..].find('\n').map_or(page.len(), |end| begin + end);
    page.replace_range(begin..end, &format!("{SENTENCE}{date}, at commit `{commit}`."));
    Some(page)
}

#[cfg(test)]
mod tests;
