//! Counts that are too high and may only fall, each with the number that it has today.
//!
//! A folder keeps few Rust files, a type is implemented in few files, a function takes its
//! parameters by name, and nobody reads an error's text. What does not keep its limit stands in
//! `ratchet.toml`: a greater number is refused, and a smaller one has to be written down there.

mod counts;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::error::Error;

use toml::Table;

use super::finding::Finding;
use super::project::Project;

pub(crate) const PATH: &str = "xtask/ratchet.toml";

/// How often something is there, by the name that the list has for it.
type Counts = BTreeMap<String, usize>;

/// One kind of count.
struct Rule {
    section: &'static str,
    what: &'static str,
    limit: usize,
    count: fn(&Project) -> Counts,
}

const RULES: &[Rule] = &[
    Rule {
        section: "siblings",
        what: "Rust files in one folder",
        limit: 16,
        count: counts::siblings,
    },
    Rule {
        section: "implementations",
        what: "files with an `impl` of it",
        limit: 4,
        count: counts::implementations,
    },
    Rule {
        section: "tuple-parameters",
        what: "parameters that are tuples taken apart",
        limit: 0,
        count: counts::tuple_parameters,
    },
    Rule {
        section: "error-texts",
        what: "places that look into an error's text",
        limit: 0,
        count: counts::error_texts,
    },
];

pub(crate) fn check(project: &Project, findings: &mut Vec<Finding>) {
    let text = project.tree.get(PATH).map_or("", |source| source.text.as_str());
    let mut report = |message: String| findings.push(Finding::new(PATH, 1, message));
    let mut listed = match parse(text) {
        Ok(listed) => listed,
        Err(error) => return report(error.to_string()),
    };
    for rule in RULES {
        let listed = listed.remove(rule.section).unwrap_or_default();
        judge(rule, &listed, &(rule.count)(project), &mut report);
    }
    for section in listed.keys() {
        report(format!("there is no rule `{section}`"));
    }
}

fn judge(rule: &Rule, listed: &Counts, found: &Counts, report: &mut impl FnMut(String)) {
    let Rule { section, what, limit, .. } = rule;
    for (name, &count) in found {
        match listed.get(name) {
            None if count > *limit => {
                report(format!("`{name}` has {count} {what}, more than {limit}"));
            }
            Some(&most) if count > most => {
                report(format!("`{name}` has {count} {what}, more than the {most} of the list"));
            }
            Some(&most) if count < most && count > *limit => {
                report(format!("`{name}` has only {count} {what}: lower it in `{section}`"));
            }
            _ => {}
        }
    }
    for name in listed.keys() {
        if found.get(name).is_none_or(|count| count <= limit) {
            report(format!("`{name}` keeps the limit: delete it from `{section}`"));
        }
    }
}

fn parse(text: &str) -> Result<BTreeMap<String, Counts>, Box<dyn Error>> {
    let table: Table = text.parse()?;
    let mut sections = BTreeMap::new();
    for (section, value) in &table {
        let entries = value.as_table().ok_or("a section is no table")?;
        let mut counts = Counts::new();
        for (name, count) in entries {
            let count = count.as_integer().and_then(|count| usize::try_from(count).ok());
            counts.insert(name.clone(), count.ok_or_else(|| format!("`{name}` is no count"))?);
        }
        sections.insert(section.clone(), counts);
    }
    Ok(sections)
}
