//! Words that the project does not use, since the field has one that every reader knows.
//!
//! `xtask/words.toml` lists them, each with what to say instead. A name is read word by word: in
//! `RetireQueue::redeem_many` and `RedeemMany` the word `redeem` is found as in a sentence. Paths
//! are read as well. A phrase is found within a line, not across two.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::error::Error;

use toml::{Table, Value};

use super::finding::Finding;
use super::project::Project;

const PATH: &str = "xtask/words.toml";

/// Words that one other takes the place of.
struct Banned {
    /// Each a phrase in lower case; a final `*` stands for any ending.
    phrases: Vec<Vec<String>>,
    instead: String,
    /// Where they are gone from: files, or folders with a final `/`.
    within: Vec<String>,
    /// Files in which one may stay, each with the reason.
    except: Vec<(String, String)>,
}

/// The words with which a phrase begins: few lines have one.
#[derive(Default)]
struct FirstWords {
    whole: BTreeSet<String>,
    beginnings: Vec<String>,
}

pub(crate) fn check(project: &Project, findings: &mut Vec<Finding>) {
    let Some(list) = project.tree.get(PATH) else { return };
    let banned = match parse(&list.text) {
        Ok(banned) => banned,
        Err(error) => return findings.push(Finding::new(PATH, 1, error.to_string())),
    };
    let first = FirstWords::of(&banned);
    let mut needed: Vec<_> = banned.iter().map(|one| vec![false; one.except.len()]).collect();
    for source in project.tree.files() {
        let within = banned.iter().zip(&mut needed);
        let mut within: Vec<_> =
            within.filter(|(one, _)| is_within(&source.path, &one.within)).collect();
        if within.is_empty() {
            continue;
        }
        let path = [(0, source.path.as_str())];
        for (line, text) in path.into_iter().chain((1..).zip(source.text.lines())) {
            let words = words(text);
            if !first.occurs_among(&words) {
                continue;
            }
            for (one, needed) in &mut within {
                let Some(phrase) = one.phrase_among(&words) else { continue };
                match one.except.iter().position(|(path, _)| *path == source.path) {
                    Some(index) => needed[index] = true,
                    None => {
                        let message = format!("`{phrase}`: say {}", one.instead);
                        findings.push(Finding::new(&source.path, line, message));
                    }
                }
            }
        }
    }
    for (one, needed) in banned.iter().zip(&needed) {
        for ((path, _), _) in one.except.iter().zip(needed).filter(|(_, needed)| !**needed) {
            let message = format!("`{path}` needs no exception: say {}", one.instead);
            findings.push(Finding::new(PATH, 1, message));
        }
    }
}

impl FirstWords {
    fn of(banned: &[Banned]) -> Self {
        let mut first = Self::default();
        for word in banned.iter().flat_map(|one| &one.phrases).filter_map(|phrase| phrase.first()) {
            match word.strip_suffix('*') {
                Some(beginning) => first.beginnings.push(beginning.to_owned()),
                None => _ = first.whole.insert(word.clone()),
            }
        }
        first
    }

    fn occurs_among(&self, words: &[String]) -> bool {
        let begins = |word: &String| self.beginnings.iter().any(|one| word.starts_with(one));
        words.iter().any(|word| self.whole.contains(word) || begins(word))
    }
}

impl Banned {
    /// The first phrase that occurs among the words of a line.
    fn phrase_among(&self, words: &[String]) -> Option<String> {
        let occurs = |phrase: &&Vec<String>| {
            words.windows(phrase.len()).any(|part| {
                part.iter().zip(*phrase).all(|(word, wanted)| match wanted.strip_suffix('*') {
                    Some(beginning) => word.starts_with(beginning),
                    None => word == wanted,
                })
            })
        };
        self.phrases.iter().find(occurs).map(|phrase| phrase.join(" "))
    }
}

fn is_within(path: &str, within: &[String]) -> bool {
    within.iter().any(|entry| match entry.ends_with('/') {
        true => path.starts_with(entry.as_str()),
        false => path == entry,
    })
}

/// The words of a text in lower case; those of a name one by one.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for character in text.chars() {
        let begins = character.is_ascii_uppercase() && before.is_ascii_lowercase();
        if begins || !character.is_ascii_alphabetic() {
            words.push(String::new());
        }
        if let (true, Some(word)) = (character.is_ascii_alphabetic(), words.last_mut()) {
            word.push(character.to_ascii_lowercase());
        }
        before = character;
    }
    words.retain(|word| !word.is_empty());
    words
}

fn parse(text: &str) -> Result<Vec<Banned>, Box<dyn Error>> {
    let table: Table = text.parse().map_err(|error| format!("{error}"))?;
    let areas = strings(&table, "areas")?;
    let Some(Value::Array(list)) = table.get("banned") else { return Ok(Vec::new()) };
    let banned = list.iter().map(|entry| {
        let entry = entry.as_table().ok_or("`banned` holds more than tables")?;
        let phrases = strings(entry, "words")?;
        let within = if entry.contains_key("within") { strings(entry, "within")? } else { vec![] };
        let instead = entry.get("instead").and_then(Value::as_str).ok_or("`instead` is missing")?;
        let mut except = Vec::new();
        for (path, reason) in entry.get("except").and_then(Value::as_table).into_iter().flatten() {
            let reason = reason.as_str().filter(|reason| reason.split_whitespace().count() >= 3);
            let reason = reason.ok_or_else(|| format!("no reason why `{path}` is excepted"))?;
            except.push((path.clone(), reason.to_owned()));
        }
        Ok(Banned {
            phrases: phrases
                .iter()
                .map(|phrase| phrase.split_whitespace().map(str::to_owned).collect())
                .collect(),
            instead: instead.to_owned(),
            within: if within.is_empty() { areas.clone() } else { within },
            except,
        })
    });
    banned.collect()
}

fn strings(table: &Table, key: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let list = table.get(key).and_then(Value::as_array);
    let list = list.filter(|list| !list.is_empty()).ok_or_else(|| format!("`{key}` is missing"))?;
    let texts = list.iter().map(|item| item.as_str().map(str::to_owned));
    texts.collect::<Option<_>>().ok_or_else(|| format!("`{key}` holds more than texts").into())
}
