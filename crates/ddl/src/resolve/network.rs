//! What d_-style schemas alone have: files and what is in them, sets, references, timestamps.
//!
//! Files become constants, and it is checked that they name what exists; a record in no file goes
//! to a default one, which is worth a warning. For a set it is checked that members can be sorted
//! together: fields of the same types in the same order.

use std::collections::{HashMap, HashSet};

use remanent_schema::{ColumnType, RowLayout};

use crate::diagnostic::Reporter;
use crate::model::{Class, Name, Schema, Set};
use crate::name_check::nearest;

/// The name of the record that owns what belongs to the database as a whole.
const SYSTEM: &str = "system";

pub(super) fn check(schema: &Schema, reporter: &mut Reporter) {
    let records: HashMap<&str, &Class> =
        schema.classes.iter().map(|class| (&*class.name, class)).collect();
    counts(schema, reporter);
    files(schema, &records, reporter);
    for set in &schema.sets {
        check_set(set, &records, reporter);
    }
    let sets: HashSet<&str> = schema.sets.iter().map(|set| &*set.name).collect();
    for timestamps in &schema.timestamps {
        for name in &timestamps.names {
            let (is_known, what) = match timestamps.of_sets {
                true => (sets.contains(&**name), "set"),
                false => (records.contains_key(&**name), "record"),
            };
            if !is_known {
                unknown(name, what, &records, reporter);
            }
        }
    }
    for field in schema.classes.iter().flat_map(|class| &class.fields) {
        let [record, rest @ ..] = &field.reference[..] else { continue };
        if !records.contains_key(&**record) {
            unknown(record, "record", &records, reporter);
        }
        if let Some(set) = rest.first().filter(|set| !sets.contains(&***set)) {
            reporter.error(set.span(), format!("there is no set `{set}`"), "declare it");
        }
    }
    if let Some(class) = records.get(SYSTEM) {
        let hint = "give it another name: `system` owns what belongs to no record";
        reporter.error(class.name.span(), "a record cannot be named `system`", hint);
    }
}

/// How many of each circular record there are at most.
pub(super) fn count_circular(schema: &mut Schema, reporter: &mut Reporter) {
    let mut classes = std::mem::take(&mut schema.classes);
    for class in &mut classes {
        if !class.modifiers.iter().any(|word| word.eq_ignore_ascii_case("circular")) {
            continue;
        }
        let (name, span) = (&class.name, class.name.span());
        let mut files = schema.files.iter().filter(|file| file.kind == "data");
        let file = files.find(|file| file.contents.iter().any(|it| it[..] == [name.clone()]));
        let sizes = file.into_iter().flat_map(|file| &file.storage);
        let slots =
            sizes.filter_map(|word| word.strip_prefix("maxslots = ")?.parse().ok()).next_back();
        if slots.is_none_or(|slots: u64| slots == 0) {
            let message = format!("`{name}` is circular, and nobody says how many there are");
            let hint = format!("write `data file \"{name}.dat\" maxslots = 1000 contains {name};`");
            reporter.error(span, message, hint);
            continue;
        }
        let is_linked = |set: &&Set| {
            set.owner == *name || set.members.iter().any(|member| member.record == *name)
        };
        if let Some(set) = schema.sets.iter().find(is_linked) {
            let message = format!("`{name}` is circular, and in the set `{}`", set.name);
            reporter.error(span, message, "remove `circular`, or the record from its sets");
        }
        class.circular = slots;
    }
    schema.classes = classes;
}

/// Constants in headers leave room for so many records, sets and fields.
fn counts(schema: &Schema, reporter: &mut Reporter) {
    let mut limit = |name: &Name, count: usize, max: usize, what: &str| {
        if count > max {
            let message = format!("`{name}` has {count} {what}");
            reporter.error(name.span(), message, format!("write at most {max}"));
        }
    };
    limit(&schema.name, schema.classes.len(), 10_000, "records");
    limit(&schema.name, schema.sets.len(), 10_000, "sets");
    for class in &schema.classes {
        let count = class.fields.len() + class.indexes.len();
        limit(&class.name, count, 1_000, "fields and compound keys");
    }
}

fn unknown(name: &Name, what: &str, records: &HashMap<&str, &Class>, reporter: &mut Reporter) {
    let hint = match nearest(name, records.keys()) {
        Some(meant) => format!("write `{meant}`"),
        None => format!("declare `{what} {name} {{ .. }}`"),
    };
    reporter.error(name.span(), format!("there is no {what} `{name}`"), hint);
}

fn files(schema: &Schema, records: &HashMap<&str, &Class>, reporter: &mut Reporter) {
    let mut keys: HashMap<&str, usize> = HashMap::new();
    let mut qualified: HashSet<(&str, &str)> = HashSet::new();
    for class in &schema.classes {
        let fields = class.fields.iter();
        let names = fields.filter(|field| field.key.is_some() || is_held_apart(field));
        let names = names.map(|field| &field.name).chain(class.indexes.iter().map(|i| &i.name));
        for name in names {
            *keys.entry(name).or_default() += 1;
            qualified.insert((&class.name, name));
        }
    }
    let mut placed: HashSet<&str> = HashSet::new();
    let mut paths: HashSet<&str> = HashSet::new();
    for file in &schema.files {
        let holds_records = file.kind == "data";
        let first = file.contents.first().and_then(|path| path.first());
        if !paths.insert(&file.path) {
            let span = first.map(Name::span).unwrap_or_default();
            let message = format!("a second file `{}`", file.path);
            reporter.error(span, message, "list all contents in the first");
        }
        for path in &file.contents {
            let name = &path[0];
            match (&path[..], holds_records) {
                ([record], true) if records.contains_key(&**record) || &**record == SYSTEM => {
                    if !placed.insert(record) {
                        let message = format!("`{record}` is in two files");
                        reporter.error(name.span(), message, "remove it from one of the two");
                    }
                }
                (_, true) => unknown(name, "record", records, reporter),
                ([key], false) if keys.contains_key(&**key) => {}
                ([record, key], false) if qualified.contains(&(&**record, &**key)) => {}
                (_, false) => unknown_key(path, &keys, &qualified, reporter),
            }
        }
    }
    let homeless = schema.classes.iter().filter(|class| !placed.contains(&*class.name));
    for class in homeless {
        let message = format!("`{}` is in no data file; it goes to a default one", class.name);
        let hint = format!("write `data file \"{}.dat\" contains {};`", schema.name, class.name);
        reporter.warn(class.name.span(), message, hint);
    }
}

/// Whether a field may be listed in a file of values that differ in length.
fn is_held_apart(field: &crate::model::Field) -> bool {
    use crate::model::field_type::{CType, FieldType};
    matches!(field.field_type, FieldType::Var(_) | FieldType::C(CType::BlobId))
}

fn unknown_key(
    path: &[Name],
    keys: &HashMap<&str, usize>,
    qualified: &HashSet<(&str, &str)>,
    reporter: &mut Reporter,
) {
    let written = path.iter().map(|name| &**name).collect::<Vec<_>>().join(".");
    let all = qualified.iter().map(|(record, key)| format!("{record}.{key}"));
    let meant = match path {
        [one] => nearest(one, keys.keys()),
        _ => nearest(&written, all),
    };
    let hint = match meant {
        Some(meant) => format!("write `{meant}`"),
        None => "name a key field or a compound key, perhaps as `record.key`".to_owned(),
    };
    reporter.error(path[0].span(), format!("there is no key `{written}`"), hint);
}

fn check_set(set: &Set, records: &HashMap<&str, &Class>, reporter: &mut Reporter) {
    if set.members.is_empty() {
        let hint = "write `member` and a record's name";
        reporter.error(set.name.span(), format!("`{}` has no member", set.name), hint);
    }
    if !records.contains_key(&*set.owner) && &*set.owner != SYSTEM {
        unknown(&set.owner, "record", records, reporter);
    }
    let mut seen = HashSet::new();
    let mut sorted_by: Option<(Vec<ColumnType>, &Name)> = None;
    for member in &set.members {
        if !seen.insert(&*member.record) {
            let message = format!("`{}` is a member of `{}` twice", member.record, set.name);
            reporter.error(member.record.span(), message, "remove one of the two");
        }
        let Some(class) = records.get(&*member.record) else {
            unknown(&member.record, "record", records, reporter);
            continue;
        };
        if set.order.is_sorted() == member.by.is_empty() {
            let (what, hint) = match set.order.is_sorted() {
                true => ("is sorted, and its member says not by what", "write `by` and a field"),
                false => ("is not sorted, and its member has `by`", "write `order ascending;`"),
            };
            let message = format!("`{}` {what}", set.name);
            reporter.error(member.record.span(), message, hint);
            continue;
        }
        let Some(by) = sort_types(member, class, reporter) else { continue };
        match &sorted_by {
            Some((first, record)) if *first != by => {
                let message = format!(
                    "`{}` and `{record}` are sorted by fields of different types",
                    member.record
                );
                let hint = "members of one set are sorted by fields of the same types";
                reporter.error(member.record.span(), message, hint);
            }
            Some(_) => {}
            None => sorted_by = Some((by, &member.record)),
        }
    }
}

/// The types of the fields that a member is sorted by.
fn sort_types(
    member: &crate::model::Member,
    class: &Class,
    reporter: &mut Reporter,
) -> Option<Vec<ColumnType>> {
    let layout = RowLayout::new(&class.table);
    let mut types = Vec::new();
    for path in &member.by {
        let column = member.column(path);
        let name = path.last().unwrap_or(&member.record);
        let Some(leaf) = layout.leaf_by_path(&column) else {
            let message = format!("`{}` has no field `{column}` to sort by", class.name);
            let known = layout.leaves().iter().map(|leaf| &*leaf.path);
            let hint = match nearest(&column, known) {
                Some(meant) => format!("write `{meant}`"),
                None => "name a field of the member".to_owned(),
            };
            reporter.error(name.span(), message, hint);
            return None;
        };
        let column_type = layout.leaves()[leaf].column_type.clone();
        if !column_type.is_key_type() {
            let message = format!("`{column}` cannot be sorted by: its type is {column_type}");
            let hint = "sort by numbers, dates, texts or fixed bytes";
            reporter.error(name.span(), message, hint);
            return None;
        }
        // Texts of different sizes are compared like texts of one size.
        types.push(match column_type {
            ColumnType::String { .. } => ColumnType::STRING,
            other => other,
        });
    }
    Some(types)
}
