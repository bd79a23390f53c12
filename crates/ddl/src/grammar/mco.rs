//! The mco-style grammar: `declare`, enum, struct, class, and what stands in a class.
//!
//! Words are keywords only where they can be: a field may be called `timestamp`, `list` or `date`.
//! What the language has and this database has not, such as spatial indexes, is read far enough to
//! say what is there instead. Whether names exist is left to `resolve`.

use winnow::Parser;
use winnow::combinator::{opt, separated};

use super::{
    NESTING_MAX, Parsed, Tokens, advance, backtrack, block, bracket, cut, dimension, first, int,
    is_end, is_mark, is_word, mark, name, need, path, recover,
};
use crate::diagnostic::Reporter;
use crate::lexer::Kind;
use crate::model::field_type::{CType, FieldType, Width};
use crate::model::{
    Class, EnumType, Event, EventKind, Field, FieldKey, Index, Literal, Name, Oid, Part, Schema,
    StructType,
};
use crate::name_check::nearest;

const CLASS_WORDS: [&str; 4] = ["compact", "persistent", "transient", "local"];
const INDEX_WORDS: [&str; 5] = ["voluntary", "unique", "nonunique", "inclusive", "userdef"];
const INDEX_KINDS: [&str; 7] = ["tree", "hash", "trie", "patricia", "rtree", "kdtree", "trigram"];
const DECLARATIONS: [&str; 4] = ["declare", "class", "struct", "enum"];

pub(super) fn schema(tokens: &mut Tokens<'_>, schema: &mut Schema, reporter: &mut Reporter) {
    while !is_end(tokens) && !reporter.is_full() {
        let before = winnow::stream::Stream::eof_offset(tokens);
        if let Err(error) = declaration(tokens, schema, reporter) {
            recover(tokens, before, error, reporter);
        }
    }
}

fn declaration(
    tokens: &mut Tokens<'_>,
    schema: &mut Schema,
    reporter: &mut Reporter,
) -> Parsed<()> {
    if opt(mark(';')).parse_next(tokens)?.is_some() {
        return Ok(());
    }
    let token = first(tokens);
    let Kind::Word(word) = &token.kind else {
        let message = format!("{} begins no declaration", token.kind.describe());
        return cut(token.span, message, hint_of_declarations());
    };
    match &**word {
        "declare" => declare(tokens, schema, reporter),
        "enum" => {
            let declared = enumeration(tokens, reporter)?;
            schema.enums.push(declared);
            Ok(())
        }
        "struct" | "direct" => {
            let direct = opt(keyword("direct")).parse_next(tokens)?.is_some();
            need_word(tokens, "struct")?;
            let declared = structure(tokens, direct, reporter)?;
            schema.structs.push(declared);
            Ok(())
        }
        word if word == "class" || CLASS_WORDS.contains(&word) => {
            let declared = class(tokens, reporter)?;
            schema.classes.push(declared);
            Ok(())
        }
        "database" | "record" => {
            let hint = "name the file .ddl, or write `declare database name;` and `class`";
            cut(token.span, format!("`{word}` belongs to the d_-style language"), hint)
        }
        word => {
            let known = DECLARATIONS.iter().chain(&CLASS_WORDS);
            let hint = match nearest(word, known) {
                Some(meant) => format!("write `{meant}`"),
                None => hint_of_declarations(),
            };
            cut(token.span, format!("{} begins no declaration", token.kind.describe()), hint)
        }
    }
}

fn hint_of_declarations() -> String {
    "a schema has `declare database`, `struct`, `enum` and `class`".to_owned()
}

fn keyword<'t>(
    word: &'static str,
) -> impl Parser<Tokens<'t>, Name, winnow::error::ErrMode<super::Complaint>> {
    move |tokens: &mut Tokens<'t>| {
        if is_word(tokens, word, false) { name(tokens, word) } else { backtrack(tokens) }
    }
}

fn need_word(tokens: &mut Tokens<'_>, word: &'static str) -> Parsed<Name> {
    let token = first(tokens);
    if is_word(tokens, word, false) {
        return name(tokens, word);
    }
    let message = format!("expected `{word}`, found {}", token.kind.describe());
    cut(token.span, message, format!("write `{word}` here"))
}

/// `declare database`, `declare oid`, `declare auto_oid`.
fn declare(tokens: &mut Tokens<'_>, schema: &mut Schema, reporter: &mut Reporter) -> Parsed<()> {
    advance(tokens);
    let what = name(tokens, "what is declared")?;
    match what.to_ascii_lowercase().as_str() {
        "database" => {
            let database = name(tokens, "the database")?;
            let size = bracket(tokens, "the expected size in bytes")?;
            if schema.name.is_empty() {
                (schema.name, schema.bracket) = (database, size);
            } else {
                let message = format!("a second database `{database}`: there is `{}`", schema.name);
                reporter.error(database.span(), message, "write one schema for each database");
            }
        }
        "oid" => {
            let struct_name = name(tokens, "the struct of the object id")?;
            let expected = bracket(tokens, "how many objects are expected")?;
            let Some(expected) = expected else {
                let hint = format!("write `declare oid {struct_name}[10000];`");
                return cut(struct_name.span(), "how many are expected is missing", hint);
            };
            if schema.oid.is_some() {
                let hint = "all classes share one kind of object id";
                reporter.error(struct_name.span(), "there is an object id already", hint);
            }
            schema.oid = Some(Oid { struct_name, expected });
        }
        "auto_oid" => {
            let expected = bracket(tokens, "how many objects are expected")?;
            let Some(expected) = expected else {
                return cut(what.span(), "a number is missing", "write `auto_oid[10000];`");
            };
            schema.auto_oid = Some(expected);
        }
        _ => {
            let hint = "write `declare database`, `declare oid` or `declare auto_oid`";
            return cut(what.span(), format!("`{what}` cannot be declared"), hint);
        }
    }
    need(tokens, ';', "behind the declaration")?;
    Ok(())
}

fn enumeration(tokens: &mut Tokens<'_>, reporter: &mut Reporter) -> Parsed<EnumType> {
    let start = first(tokens).span;
    advance(tokens);
    let mut enum_name = Name::new("", start);
    if !is_mark(tokens, '{') {
        enum_name = name(tokens, "the enumeration")?;
    }
    need(tokens, '{', "behind the name")?;
    let mut values = Vec::new();
    let mut next = 0i64;
    while !is_mark(tokens, '}') {
        let value_name = name(tokens, "a value")?;
        if opt(mark('=')).parse_next(tokens)?.is_some() {
            let negative = opt(mark('-')).parse_next(tokens)?.is_some();
            let (number, span) = int(tokens, "the value")?;
            let number = i64::try_from(number).unwrap_or(i64::MAX);
            next = if negative { -number } else { number };
            if i32::try_from(next).is_err() {
                return cut(span, format!("{next} is too large"), "a value has four bytes");
            }
        }
        match i32::try_from(next) {
            Ok(value) => values.push((value_name, value)),
            Err(_) => return cut(value_name.span(), "its value is too large", "number them anew"),
        }
        next += 1;
        if opt(mark(',')).parse_next(tokens)?.is_none() {
            break;
        }
    }
    let end = need(tokens, '}', "behind the values")?;
    if values.is_empty() {
        reporter.error(end, format!("`{enum_name}` has no values"), "write at least one name");
    }
    if enum_name.is_empty() || (!is_mark(tokens, ';') && !first(tokens).starts_line) {
        enum_name = name(tokens, "the enumeration")?;
    }
    need(tokens, ';', "behind the enumeration")?;
    Ok(EnumType { name: enum_name, values })
}

fn structure(tokens: &mut Tokens<'_>, direct: bool, reporter: &mut Reporter) -> Parsed<StructType> {
    let struct_name = name(tokens, "the struct")?;
    let mut fields = Vec::new();
    block(tokens, &struct_name, reporter, |tokens, _| field(tokens, &mut fields))?;
    end_of_block(tokens, &struct_name, reporter);
    Ok(StructType { name: struct_name, direct, fields })
}

/// The `;` behind a `}`: forgotten, it is an error, and the declaration counts all the same.
fn end_of_block(tokens: &mut Tokens<'_>, what: &Name, reporter: &mut Reporter) {
    if is_mark(tokens, ';') {
        advance(tokens);
    } else {
        let message = format!("expected `;` behind `{what}`");
        reporter.error(first(tokens).span, message, "write `};` at its end");
    }
}

fn class(tokens: &mut Tokens<'_>, reporter: &mut Reporter) -> Parsed<Class> {
    let mut modifiers = Vec::new();
    while let Some(word) = CLASS_WORDS.iter().find(|word| is_word(tokens, word, false)) {
        modifiers.push((*word).to_owned());
        advance(tokens);
    }
    need_word(tokens, "class")?;
    let mut class = Class::new(name(tokens, "the class")?);
    class.modifiers = modifiers;
    let class_name = class.name.clone();
    block(tokens, &class_name, reporter, |tokens, reporter| member(tokens, &mut class, reporter))?;
    end_of_block(tokens, &class_name, reporter);
    Ok(class)
}

/// A field, an index, an event, or one of the words `oid`, `list`, `autoid`.
fn member(tokens: &mut Tokens<'_>, class: &mut Class, reporter: &mut Reporter) -> Parsed<()> {
    let second = tokens.get(1).map(|token| &token.kind);
    let ends = |kind: Option<&Kind>| matches!(kind, Some(Kind::Mark(';' | '[')));
    let opens = |kind: Option<&Kind>| matches!(kind, Some(Kind::Mark('<')));
    let token = first(tokens);
    let Kind::Word(word) = &token.kind else { return field(tokens, &mut class.fields) };
    match &**word {
        "oid" if ends(second) => {
            advance(tokens);
            class.has_oid = true;
        }
        "list" if ends(second) => {
            advance(tokens);
            class.has_list = true;
            bracket(tokens, "a size")?;
        }
        "autoid" if ends(second) => {
            advance(tokens);
            if class.autoid.is_some() {
                reporter.error(token.span, "there is an `autoid` already", "remove this one");
            }
            class.autoid = Some(bracket(tokens, "how many objects are expected")?);
        }
        "event" if opens(second) => {
            let event = event(tokens)?;
            class.events.push(event);
        }
        word if INDEX_WORDS.contains(&word) || (INDEX_KINDS.contains(&word) && opens(second)) => {
            let index = index(tokens)?;
            class.indexes.push(index);
        }
        _ => return field(tokens, &mut class.fields),
    }
    need(tokens, ';', "behind the declaration")?;
    Ok(())
}

fn event(tokens: &mut Tokens<'_>) -> Parsed<Event> {
    advance(tokens);
    need(tokens, '<', "behind `event`")?;
    let mut word = name(tokens, "the event's kind")?;
    let mut field = None;
    if !is_mark(tokens, '>') {
        field = Some(word);
        word = name(tokens, "the event's kind")?;
    }
    let Some(kind) = EventKind::ALL.into_iter().find(|kind| kind.word() == &*word) else {
        let hint = "write new, update, delete, delete_all or checkpoint";
        return cut(word.span(), format!("`{word}` is no kind of event"), hint);
    };
    need(tokens, '>', "behind the event's kind")?;
    Ok(Event { name: name(tokens, "the event")?, field, kind })
}

fn index(tokens: &mut Tokens<'_>) -> Parsed<Index> {
    let start = first(tokens).span;
    let mut words: Vec<String> = Vec::new();
    while let Some(word) = INDEX_WORDS.iter().find(|word| is_word(tokens, word, false)) {
        words.push((*word).to_owned());
        advance(tokens);
    }
    let kind = name(tokens, "the kind of index")?;
    let has = |wanted: &str| words.iter().any(|word| word == wanted);
    let hash = match &*kind {
        "tree" if !has("userdef") => false,
        "hash" if !has("userdef") => true,
        _ => return cut(start.to(kind.span()), refusal(&kind, has("userdef")), instead(&kind)),
    };
    if has("unique") && has("nonunique") {
        return cut(start, "an index is unique or not", "remove one of the two words");
    }
    need(tokens, '<', &format!("behind `{kind}`"))?;
    let parts = separated(1.., part, mark(',')).parse_next(tokens)?;
    need(tokens, '>', "behind the key")?;
    let index_name = name(tokens, "the index")?;
    let size = bracket(tokens, "the expected number of objects")?;
    if hash && size.is_none() {
        let hint = format!("write `{index_name}[10000]`: how many objects are expected");
        return cut(index_name.span(), "a hash index has its expected size in brackets", hint);
    }
    // A hash index that does not say is unique: it finds the one object of a key.
    let unique = has("unique") || (hash && !has("nonunique"));
    let key = FieldKey { optional: false, unique, hash, size, ordinal: 0 };
    let modifiers = words.into_iter().filter(|word| !word.ends_with("unique")).collect();
    Ok(Index { name: index_name, key, modifiers, parts, ordinal: 0 })
}

fn refusal(kind: &Name, userdef: bool) -> String {
    match userdef {
        true => "indexes with functions of the application are not supported".to_owned(),
        false => format!("`{kind}` indexes are not supported"),
    }
}

fn instead(kind: &str) -> String {
    let instead = match kind {
        "patricia" | "trie" => "a `tree` finds strings by prefix: search with MCO_GE",
        "rtree" | "kdtree" => "write a `tree` on the most selective coordinate and filter",
        "trigram" => "write a `tree` on the text; parts within a text are found by a scan",
        "tree" | "hash" => "write a plain `tree` or `hash` on fields",
        other => match nearest(other, INDEX_KINDS) {
            Some(meant) => return format!("write `{meant}`"),
            None => "write `tree` or `hash`",
        },
    };
    instead.to_owned()
}

fn part(tokens: &mut Tokens<'_>) -> Parsed<Part> {
    let path = path(tokens, "a field of the key")?;
    let descending = match opt(keyword("desc")).parse_next(tokens)? {
        Some(_) => true,
        None => {
            opt(keyword("asc")).parse_next(tokens)?;
            false
        }
    };
    if is_word(tokens, "collate", false) {
        let hint = "remove `collate`: text is ordered by its bytes";
        return cut(first(tokens).span, "collations are not supported", hint);
    }
    Ok(Part { path, descending })
}

/// `nullable type a, b[3] = 0;`
fn field(tokens: &mut Tokens<'_>, fields: &mut Vec<Field>) -> Parsed<()> {
    let nullable = ["nullable", "optional"].iter().any(|word| is_word(tokens, word, false));
    if nullable {
        advance(tokens);
    }
    let field_type = field_type(tokens, 0)?;
    loop {
        let field_name = name(tokens, "the field")?;
        let mut field = Field::new(field_name, field_type.clone());
        field.nullable = nullable;
        if opt(mark('[')).parse_next(tokens)?.is_some() {
            let (number, span) = int(tokens, "the array's size")?;
            field.dims.push(dimension(number, span)?);
            need(tokens, ']', "behind the size")?;
            if is_mark(tokens, '[') {
                let hint = "declare a struct with an array, and an array of it";
                return cut(first(tokens).span, "arrays have one dimension", hint);
            }
        }
        if opt(mark('=')).parse_next(tokens)?.is_some() {
            field.default = Some(literal(tokens)?);
        }
        fields.push(field);
        if opt(mark(',')).parse_next(tokens)?.is_none() {
            break;
        }
    }
    need(tokens, ';', "behind the field")?;
    Ok(())
}

fn literal(tokens: &mut Tokens<'_>) -> Parsed<Literal> {
    let negative = opt(mark('-')).parse_next(tokens)?.is_some();
    let token = first(tokens);
    let literal = match &token.kind {
        Kind::Int(number) if negative => Literal::Int(-i128::from(*number)),
        Kind::Int(number) => Literal::Int(i128::from(*number)),
        Kind::Float(text) => {
            let number: f64 = text.parse().unwrap_or(0.0);
            Literal::Float(if negative { -number } else { number })
        }
        Kind::Word(word) if !negative && matches!(&**word, "true" | "false") => {
            Literal::Bool(&**word == "true")
        }
        Kind::Word(word) if !negative => Literal::Name(Name::new(word, token.span)),
        Kind::Text(_) => {
            let hint = "put the text when the object is made; only numbers have defaults";
            return cut(token.span, "texts have no defaults", hint);
        }
        other => {
            let message = format!("expected a default, found {}", other.describe());
            return cut(token.span, message, "write a number");
        }
    };
    advance(tokens);
    Ok(literal)
}

fn field_type(tokens: &mut Tokens<'_>, depth: usize) -> Parsed<FieldType> {
    let token = first(tokens);
    if depth >= NESTING_MAX {
        return cut(token.span, "types are nested too deeply", "declare structs for the parts");
    }
    let Kind::Word(word) = &token.kind else {
        let message = format!("expected a field's type, found {}", token.kind.describe());
        return cut(token.span, message, "write a type such as `unsigned<4>`, then a name");
    };
    advance(tokens);
    Ok(match &**word {
        "signed" | "unsigned" => {
            let (size, span) = angled(tokens, "the number of bytes")?;
            if ![1, 2, 4, 8].contains(&size) {
                let hint = format!("write `{word}<1>`, <2>, <4> or <8>");
                return cut(span, format!("there is no number of {size} bytes"), hint);
            }
            FieldType::Int { signed: &**word == "signed", size: size as u8 }
        }
        "float" => FieldType::C(CType::Float),
        "double" => FieldType::C(CType::Double),
        "bool" | "boolean" => FieldType::Bool,
        "numeric" | "decimal" => decimal(tokens)?,
        "char" => FieldType::Chars(Width::Char, text_size(tokens, 1)?),
        "nchar" => FieldType::Chars(Width::National, text_size(tokens, 4)?),
        "wchar" => FieldType::Chars(Width::Wide, text_size(tokens, 4)?),
        "binary" => FieldType::Binary(text_size(tokens, 1)?),
        "varbinary" => FieldType::VarBinary(text_size(tokens, 1)?),
        "string" => FieldType::String(Width::Char),
        "nstring" => FieldType::String(Width::National),
        "wstring" => FieldType::String(Width::Wide),
        "blob" => FieldType::Blob,
        "date" => FieldType::Date,
        "time" => FieldType::Time,
        "datetime" => FieldType::DateTime,
        "ref" => FieldType::Ref,
        "autoid_t" => {
            let mut class = None;
            if opt(mark('<')).parse_next(tokens)?.is_some() {
                class = Some(name(tokens, "the class referred to")?);
                need(tokens, '>', "behind the class")?;
            }
            FieldType::AutoId(class)
        }
        "vector" => {
            need(tokens, '<', "behind `vector`")?;
            let element = field_type(tokens, depth + 1)?;
            need(tokens, '>', "behind the element's type")?;
            FieldType::Vector(Box::new(element))
        }
        "sequence" => {
            let hint = "write `vector<..>`: a sequence is stored as a vector of numbers";
            return cut(token.span, "sequences are not supported", hint);
        }
        "rect" => {
            let hint = "write a struct of its corners, such as `struct rect { double x1, y1; };`";
            return cut(token.span, "rectangles are not supported", hint);
        }
        "struct" => FieldType::Named(name(tokens, "the struct")?),
        _ => FieldType::Named(Name::new(word, token.span)),
    })
}

fn decimal(tokens: &mut Tokens<'_>) -> Parsed<FieldType> {
    need(tokens, '<', "behind the type")?;
    let (precision, span) = int(tokens, "the number of digits")?;
    let mut scale = (0, span);
    if opt(mark(',')).parse_next(tokens)?.is_some() {
        scale = int(tokens, "the digits behind the point")?;
    }
    need(tokens, '>', "behind the digits")?;
    if !(1..=38).contains(&precision) || scale.0 > precision {
        let hint = "write `decimal<p,s>` with p from 1 to 38 and s not above p";
        return cut(span.to(scale.1), "no decimal has these digits", hint);
    }
    Ok(FieldType::Decimal { precision: precision as u8, scale: scale.0 as u8 })
}

/// `<n>` of a text: as many units as fit into a column when each takes so many bytes.
fn text_size(tokens: &mut Tokens<'_>, unit: u64) -> Parsed<u32> {
    let (size, span) = angled(tokens, "the size")?;
    let max = u64::from(remanent_schema::TEXT_SIZE_MAX) / unit;
    if !(1..=max).contains(&size) {
        let hint = format!("write a size from 1 to {max}, or `string` or `blob` for more");
        return cut(span, format!("{size} is out of range"), hint);
    }
    Ok(size as u32)
}

fn angled(tokens: &mut Tokens<'_>, of: &str) -> Parsed<(u64, crate::source::Span)> {
    need(tokens, '<', "behind the type")?;
    let number = int(tokens, of)?;
    need(tokens, '>', "behind the number")?;
    Ok(number)
}
