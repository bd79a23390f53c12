//! A list of planted bugs, as `planted.toml` has it.
//!
//! Each bug has a name, a sentence on what it breaks, edits, and the check that has to find it, in
//! words: `interleaved serializable 500`, `models shuttle_latch_excludes 1500`, or
//! `test remanent-sql explain`.

use std::error::Error;

use toml::{Table, Value};

use super::check::{Check, Kind};

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Bug {
    pub(crate) name: String,
    pub(super) breaks: String,
    pub(super) check: Check,
    pub(crate) edits: Vec<Edit>,
}

/// A text that is put in the place of another, which must be there once.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    pub(crate) file: String,
    pub(crate) find: String,
    pub(super) put: String,
}

/// Reads the list.
pub(crate) fn read(text: &str) -> Result<Vec<Bug>, Box<dyn Error>> {
    let list: Table = text.parse()?;
    let bugs = list.get("bug").and_then(Value::as_array).ok_or("the list has no bug")?;
    let bugs: Vec<Bug> = bugs.iter().map(bug).collect::<Result<_, _>>()?;
    for (place, bug) in bugs.iter().enumerate() {
        if bugs[..place].iter().any(|other| other.name == bug.name) {
            return Err(format!("two bugs are named `{}`", bug.name).into());
        }
    }
    Ok(bugs)
}

fn bug(value: &Value) -> Result<Bug, Box<dyn Error>> {
    let name = text(value, "name")?;
    let edits = value.get("edit").and_then(Value::as_array);
    let edits = edits.ok_or_else(|| format!("the bug `{name}` has no edit"))?;
    let edit = |edit: &Value| -> Result<Edit, Box<dyn Error>> {
        Ok(Edit { file: text(edit, "file")?, find: text(edit, "find")?, put: text(edit, "put")? })
    };
    Ok(Bug {
        breaks: text(value, "breaks")?,
        check: check(&text(value, "check")?)?,
        edits: edits.iter().map(edit).collect::<Result<_, _>>()?,
        name,
    })
}

fn check(words: &str) -> Result<Check, Box<dyn Error>> {
    if let Some(what) = words.strip_prefix("test ") {
        return Ok(Check { kind: Kind::Test, what: what.to_owned(), count: 1 });
    }
    let [kind, what, count] = words.split(' ').collect::<Vec<_>>()[..] else {
        return Err(format!("a check is a kind, what, and a count, not `{words}`").into());
    };
    let kind = Kind::ALL.into_iter().find(|known| known.name() == kind);
    let kind = kind.ok_or_else(|| format!("there is no such kind of check: `{words}`"))?;
    Ok(Check { kind, what: what.to_owned(), count: count.parse()? })
}

fn text(value: &Value, field: &str) -> Result<String, Box<dyn Error>> {
    let text = value.get(field).and_then(Value::as_str);
    Ok(text.ok_or_else(|| format!("a bug or an edit lacks `{field}`"))?.to_owned())
}
