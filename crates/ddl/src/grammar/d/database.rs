//! What stands within `database name { .. }`: files, records with their keys, sets, timestamps.
//!
//! Declarations may come in any order, as the files name records that come later. Everything is
//! kept in the order written, because constants in generated headers count in that order.

use winnow::Parser;
use winnow::combinator::{opt, separated};
use winnow::error::ErrMode;

use remanent_schema::SetOrder;

use super::{Constants, FILE_WORDS, field, size};
use crate::diagnostic::Reporter;
use crate::grammar::{
    Complaint, Parsed, Tokens, advance, block, bracket, cut, first, int, is_mark, is_word, mark,
    name, need, path,
};
use crate::lexer::Kind;
use crate::model::field_type::FieldType;
use crate::model::{Class, DataFile, FieldKey, Index, Member, Name, Part, Schema, Set, Timestamps};
use crate::name_check::nearest;

const STORAGE_WORDS: [&str; 6] = ["inmemory", "persistent", "volatile", "read", "dba4", "dba8"];
const FILE_SIZES: [&str; 4] = ["maxpgs", "pagesize", "maxslots", "size"];
const PARENTHESIZED: [&str; 4] = ["initial", "next", "pctincrease", "pagesize"];
const SET_WORDS: [&str; 3] = ["bitmap", "blob", "varilen"];

pub(super) fn database(
    tokens: &mut Tokens<'_>,
    schema: &mut Schema,
    constants: &Constants,
    reporter: &mut Reporter,
) -> Parsed<()> {
    advance(tokens);
    let database = name(tokens, "the database")?;
    let mut page_size = None;
    if opt(mark('[')).parse_next(tokens)?.is_some() {
        page_size = Some(size(tokens, constants, "the page size")?.0);
        need(tokens, ']', "behind the page size")?;
    }
    let mut storage = Vec::new();
    while let Some(word) = any_word(tokens, &STORAGE_WORDS) {
        storage.push(word.to_owned());
    }
    if schema.name.is_empty() {
        (schema.name, schema.bracket) = (database.clone(), page_size);
        schema.storage = storage;
    } else {
        let message = format!("a second database `{database}`: there is `{}`", schema.name);
        reporter.error(database.span(), message, "write one schema for each database");
    }
    block(tokens, &database, reporter, |tokens, reporter| {
        statement(tokens, schema, constants, reporter)
    })
}

fn statement(
    tokens: &mut Tokens<'_>,
    schema: &mut Schema,
    constants: &Constants,
    reporter: &mut Reporter,
) -> Parsed<()> {
    let token = first(tokens);
    let is = |word: &str| is_word(tokens, word, true);
    let next_is = |word: &str| {
        tokens.get(1).is_some_and(|token| match &token.kind {
            Kind::Word(found) => found.eq_ignore_ascii_case(word),
            _ => false,
        })
    };
    if opt(mark(';')).parse_next(&mut tokens.clone())?.is_some() {
        advance(tokens);
    } else if is("timestamp") {
        schema.timestamps.push(timestamps(tokens)?);
    } else if is("record") || next_is("record") {
        schema.classes.push(record(tokens, constants, reporter)?);
    } else if is("set") || next_is("set") {
        schema.sets.push(set(tokens, reporter)?);
    } else if FILE_WORDS.iter().any(|word| is(word)) {
        schema.files.push(file(tokens, constants)?);
    } else {
        let known = ["record", "set", "data", "key", "timestamp", "static", "circular"];
        let meant = match &token.kind {
            Kind::Word(word) => nearest(word, known),
            _ => None,
        };
        let hint = match meant {
            Some(meant) => format!("write `{meant}`"),
            None => "a database has data and key files, records and sets".to_owned(),
        };
        return cut(token.span, format!("{} is not expected here", token.kind.describe()), hint);
    }
    Ok(())
}

/// The word of the list that stands here, if one does; it is consumed.
fn any_word<'w>(tokens: &mut Tokens<'_>, words: &[&'w str]) -> Option<&'w str> {
    let found = words.iter().find(|word| is_word(tokens, word, true))?;
    advance(tokens);
    Some(found)
}

fn need_word(tokens: &mut Tokens<'_>, word: &str, hint: &str) -> Parsed<()> {
    if any_word(tokens, &[word]).is_some() {
        return Ok(());
    }
    let token = first(tokens);
    let message = format!("expected `{word}`, found {}", token.kind.describe());
    cut(token.span, message, hint)
}

fn timestamps(tokens: &mut Tokens<'_>) -> Parsed<Timestamps> {
    advance(tokens);
    let of_sets = match any_word(tokens, &["records", "sets"]) {
        Some(word) => word == "sets",
        None => {
            let hint = "write `timestamp records;` or `timestamp sets;`";
            return cut(first(tokens).span, "records or sets?", hint);
        }
    };
    let mut names = Vec::new();
    if !is_mark(tokens, ';') {
        let one = |tokens: &mut Tokens<'_>| name(tokens, "what has timestamps");
        names = separated(1.., one, mark(',')).parse_next(tokens)?;
    }
    need(tokens, ';', "behind the names")?;
    Ok(Timestamps { of_sets, names })
}

fn file(tokens: &mut Tokens<'_>, constants: &Constants) -> Parsed<DataFile> {
    let mut kind = Vec::new();
    while let Some(word) = any_word(tokens, &FILE_WORDS) {
        kind.push(word);
    }
    need_word(tokens, "file", "write `data file` or `key file`")?;
    let mut storage = Vec::new();
    if opt(mark('[')).parse_next(tokens)?.is_some() {
        let (page_size, _) = size(tokens, constants, "the page size")?;
        need(tokens, ']', "behind the page size")?;
        storage.push(format!("pagesize = {page_size}"));
    }
    let mut id = None;
    if matches!(tokens.get(1).map(|token| &token.kind), Some(Kind::Mark('='))) {
        id = Some(name(tokens, "the file")?);
        advance(tokens);
    }
    let path = match &first(tokens).kind {
        Kind::Text(path) => {
            advance(tokens);
            path.to_string()
        }
        _ => name(tokens, "the file, in quotes")?.to_string(),
    };
    file_sizes(tokens, &mut storage)?;
    need_word(tokens, "contains", "write `contains` and what is in the file")?;
    let one = |tokens: &mut Tokens<'_>| super::super::path(tokens, "what is in the file");
    let contents = separated(1.., one, mark(',')).parse_next(tokens)?;
    need(tokens, ';', "behind the names")?;
    Ok(DataFile { kind: kind.join(" "), id, path, storage, contents })
}

/// `(initial = 5 next = 3)` and the words of later versions.
fn file_sizes(tokens: &mut Tokens<'_>, storage: &mut Vec<String>) -> Parsed<()> {
    if opt(mark('(')).parse_next(tokens)?.is_some() {
        while let Some(word) = any_word(tokens, &PARENTHESIZED) {
            need(tokens, '=', &format!("behind `{word}`"))?;
            let (number, _) = int(tokens, "a size")?;
            opt(mark(',')).parse_next(tokens)?;
            // One spelling for both places: sizes have no effect here.
            let word = if word == "pagesize" { word } else { "size" };
            storage.push(format!("{word} = {number}"));
        }
        need(tokens, ')', "behind the sizes")?;
    }
    loop {
        if let Some(word) = any_word(tokens, &STORAGE_WORDS) {
            storage.push(word.to_owned());
        } else if let Some(word) = any_word(tokens, &FILE_SIZES) {
            need(tokens, '=', &format!("behind `{word}`"))?;
            let (number, _) = int(tokens, "a size")?;
            storage.push(format!("{word} = {number}"));
        } else {
            return Ok(());
        }
    }
}

fn record(
    tokens: &mut Tokens<'_>,
    constants: &Constants,
    reporter: &mut Reporter,
) -> Parsed<Class> {
    let mut modifiers = Vec::new();
    while let Some(word) = any_word(tokens, &["static", "circular"]) {
        modifiers.push(word.to_owned());
    }
    need_word(tokens, "record", "write `record name {`")?;
    let mut class = Class::new(name(tokens, "the record")?);
    class.modifiers = modifiers;
    let record_name = class.name.clone();
    block(tokens, &record_name, reporter, |tokens, reporter| {
        if any_word(tokens, &["compound"]).is_some() {
            class.indexes.push(compound_key(tokens, reporter)?);
            return Ok(());
        }
        let span = first(tokens).span;
        let key = key(tokens)?;
        let before = class.fields.len();
        field(tokens, constants, reporter, 0, key, &mut class.fields)?;
        let is_inline = |field: &crate::model::Field| {
            matches!(field.field_type, FieldType::Inline(_)) && field.key.is_some()
        };
        if class.fields[before..].iter().any(is_inline) {
            let hint = "write a `compound key` on fields of the record";
            reporter.error(span, "a struct cannot be a key", hint);
        }
        Ok(())
    })?;
    opt(mark(';')).parse_next(tokens)?;
    Ok(class)
}

/// `optional unique key[4]`, `hash[100]`; nothing if the field is no key.
fn key(tokens: &mut Tokens<'_>) -> Parsed<Option<FieldKey>> {
    let start = first(tokens).span;
    let (mut optional, mut unique) = (false, false);
    while let Some(word) = any_word(tokens, &["optional", "opt", "unique"]) {
        match word {
            "unique" => unique = true,
            _ => optional = true,
        }
    }
    let hash = match any_word(tokens, &["key", "hash"]) {
        Some(word) => word == "hash",
        None if optional || unique => {
            return cut(start, "`key` is missing", "write `unique key` or `optional key`");
        }
        None => return Ok(None),
    };
    let size = bracket(tokens, "a size")?;
    Ok(Some(FieldKey { optional, unique, hash, size, ordinal: 0 }))
}

fn compound_key(tokens: &mut Tokens<'_>, reporter: &mut Reporter) -> Parsed<Index> {
    let start = first(tokens).span;
    let Some(key) = key(tokens)? else {
        return cut(start, "`key` is missing", "write `compound key name {`");
    };
    let key_name = name(tokens, "the key")?;
    let mut parts = Vec::new();
    block(tokens, &key_name, reporter, |tokens, _| {
        let path = path(tokens, "a field of the key")?;
        let order = any_word(tokens, &["ascending", "asc", "descending", "desc"]);
        let descending = order.is_some_and(|word| word.starts_with("desc"));
        need(tokens, ';', "behind the field")?;
        parts.push(Part { path, descending });
        Ok(())
    })?;
    opt(mark(';')).parse_next(tokens)?;
    Ok(Index { name: key_name, key, modifiers: Vec::new(), parts, ordinal: 0 })
}

fn set(tokens: &mut Tokens<'_>, reporter: &mut Reporter) -> Parsed<Set> {
    let modifier = any_word(tokens, &SET_WORDS).map(str::to_owned);
    need_word(tokens, "set", "write `set name {`")?;
    let set_name = name(tokens, "the set")?;
    let (mut order, mut owner) = (None, None);
    let mut members: Vec<Member> = Vec::new();
    block(tokens, &set_name, reporter, |tokens, _| {
        let at = first(tokens).span;
        if any_word(tokens, &["order"]).is_some() {
            order = Some(set_order(tokens)?);
        } else if any_word(tokens, &["owner"]).is_some() {
            let new = name(tokens, "the owner")?;
            if let Some(old) = owner.replace(new) {
                owner = Some(old);
                return cut(at, "a set has one owner", "declare a second set for the second owner");
            }
        } else if any_word(tokens, &["member"]).is_some() {
            members.push(set_member(tokens)?);
        } else {
            let hint = "a set has `order`, `owner` and `member` lines, in that order";
            let message = format!("{} is not expected here", first(tokens).kind.describe());
            return cut(at, message, hint);
        }
        need(tokens, ';', "behind the line")?;
        Ok(())
    })?;
    opt(mark(';')).parse_next(tokens)?;
    // The block was read to its end: nothing has to be skipped after these errors.
    let missing = |what: &str, hint: &str| {
        let message = format!("`{set_name}` has no {what}");
        let (span, hint) = (set_name.span(), hint.to_owned());
        Err(ErrMode::Cut(Complaint { span, message, hint, is_unended: true }))
    };
    let Some(order) = order else { return missing("order", "write `order last;`") };
    let Some(owner) = owner else { return missing("owner", "write `owner` and a record's name") };
    Ok(Set { name: set_name, modifier, order, owner, members })
}

fn set_order(tokens: &mut Tokens<'_>) -> Parsed<SetOrder> {
    let word: Name = name(tokens, "the order")?;
    match word.to_ascii_lowercase().as_str() {
        "first" => Ok(SetOrder::First),
        "last" => Ok(SetOrder::Last),
        "next" => Ok(SetOrder::Next),
        "ascending" | "asc" => Ok(SetOrder::Ascending),
        "descending" | "desc" => Ok(SetOrder::Descending),
        _ => {
            let hint = "write first, last, next, ascending or descending";
            cut(word.span(), format!("`{word}` is no order"), hint)
        }
    }
}

fn set_member(tokens: &mut Tokens<'_>) -> Parsed<Member> {
    let record = name(tokens, "the member")?;
    let mut by = Vec::new();
    if any_word(tokens, &["by"]).is_some() {
        let one = |tokens: &mut Tokens<'_>| path(tokens, "a field to sort by");
        by = separated(1.., one, mark(',')).parse_next(tokens)?;
    }
    Ok(Member { record, by })
}
