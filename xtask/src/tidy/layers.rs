//! What `xtask/layers.toml` allows: edges between crates, edges between the modules of a crate,
//! external dependencies with their reasons, files that may hold `unsafe`, names for C, fixtures.
//!
//! The file is the only place where anything is allowed; a missing entry means refused.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::error::Error;

use toml::{Table, Value};

pub(crate) const PATH: &str = "xtask/layers.toml";

pub(crate) struct Layers {
    /// Paths of files, or of folders with a final `/`.
    pub(crate) unsafe_files: Vec<String>,
    /// Folders whose Rust files are input for tests and belong to no crate.
    pub(crate) fixtures: Vec<String>,
    pub(crate) crates: BTreeMap<String, CrateLayer>,
    /// By package: module path (`table`, `transaction::clock`) to the paths it may use.
    pub(crate) modules: BTreeMap<String, BTreeMap<String, Vec<String>>>,
    /// Folders that export functions to C, each with the prefixes of their names.
    pub(crate) exports: BTreeMap<String, Vec<String>>,
    /// Packages of many modules without such a list, each with the reason.
    pub(crate) unlisted: BTreeMap<String, String>,
}

#[derive(Default)]
pub(crate) struct CrateLayer {
    pub(crate) uses: Vec<String>,
    pub(crate) dev_uses: Vec<String>,
    /// External dependency to the reason it is there.
    pub(crate) external: BTreeMap<String, String>,
    pub(crate) dev_external: BTreeMap<String, String>,
}

impl Layers {
    pub(crate) fn parse(text: &str) -> Result<Layers, Box<dyn Error>> {
        let table: Table = text.parse().map_err(|error| format!("{PATH}: {error}"))?;
        let sections = ["unsafe", "fixtures", "exports", "crates", "modules", "unlisted"];
        known_keys("layers", &table, &sections)?;
        let mut crates = BTreeMap::new();
        for (name, value) in inner(&table, "crates")? {
            let layer = value.as_table().ok_or_else(|| wrong(&name, "is not a table"))?;
            crates.insert(name.clone(), parse_crate(&name, layer)?);
        }
        let mut modules = BTreeMap::new();
        for (package, value) in inner(&table, "modules")? {
            let edges = value.as_table().ok_or_else(|| wrong(&package, "is not a table"))?;
            let edges = edges.keys().map(|module| Ok((module.clone(), strings(edges, module)?)));
            modules.insert(package, edges.collect::<Result<_, Box<dyn Error>>>()?);
        }
        let exports = inner(&table, "exports")?;
        let prefixes = exports.keys().map(|key| Ok((key.clone(), strings(&exports, key)?)));
        Ok(Layers {
            unsafe_files: strings(&inner(&table, "unsafe")?, "files")?,
            fixtures: strings(&inner(&table, "fixtures")?, "folders")?,
            exports: prefixes.collect::<Result<_, Box<dyn Error>>>()?,
            crates,
            modules,
            unlisted: reasons("unlisted", &table, "unlisted")?,
        })
    }

    /// Whether `path` lies in a folder of fixtures.
    pub(crate) fn is_fixture(&self, path: &str) -> bool {
        self.fixtures.iter().any(|folder| path.starts_with(folder.as_str()))
    }
}

fn parse_crate(name: &str, table: &Table) -> Result<CrateLayer, Box<dyn Error>> {
    known_keys(name, table, &["uses", "dev-uses", "external", "dev-external"])?;
    Ok(CrateLayer {
        uses: strings(table, "uses")?,
        dev_uses: strings(table, "dev-uses")?,
        external: reasons(name, table, "external")?,
        dev_external: reasons(name, table, "dev-external")?,
    })
}

fn known_keys(name: &str, table: &Table, known: &[&str]) -> Result<(), Box<dyn Error>> {
    match table.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(wrong(name, &format!("has an unknown key `{key}`"))),
        None => Ok(()),
    }
}

fn reasons(
    name: &str,
    table: &Table,
    key: &str,
) -> Result<BTreeMap<String, String>, Box<dyn Error>> {
    let mut reasons = BTreeMap::new();
    for (dependency, reason) in inner(table, key)? {
        let reason = reason.as_str().unwrap_or_default();
        if reason.split_whitespace().count() < 3 {
            return Err(wrong(name, &format!("gives no reason for `{dependency}`")));
        }
        reasons.insert(dependency, reason.to_owned());
    }
    Ok(reasons)
}

fn inner(table: &Table, key: &str) -> Result<Table, Box<dyn Error>> {
    match table.get(key) {
        None => Ok(Table::new()),
        Some(Value::Table(inner)) => Ok(inner.clone()),
        Some(_) => Err(wrong(key, "is not a table")),
    }
}

fn strings(table: &Table, key: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let Some(value) = table.get(key) else {
        return Ok(Vec::new());
    };
    let list = value.as_array().ok_or_else(|| wrong(key, "is not a list"))?;
    let strings = list.iter().map(|item| {
        item.as_str().map(str::to_owned).ok_or_else(|| wrong(key, "holds more than strings"))
    });
    strings.collect()
}

fn wrong(name: &str, what: &str) -> Box<dyn Error> {
    format!("{PATH}: `{name}` {what}").into()
}
