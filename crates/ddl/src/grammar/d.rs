//! The d_-style grammar: the prologue of C declarations, then the database with its files,
//! records, keys and sets.
//!
//! Keywords are read whatever their case. In the prologue C has its way: several names behind one
//! type, typedefs. Sizes may be names of constants that were declared above. Words of later
//! versions that say how a database is stored are kept and have no effect.

mod database;

use std::collections::HashMap;

use winnow::Parser;
use winnow::combinator::opt;
use winnow::stream::Stream;

use super::{
    NESTING_MAX, Parsed, Tokens, advance, block, cut, dimension, first, int, is_end, is_mark,
    is_word, mark, name, need, recover,
};
use crate::diagnostic::Reporter;
use crate::lexer::Kind;
use crate::model::field_type::{CType, FieldType, VarType};
use crate::model::{Field, FieldKey, Name, Schema, StructType, Typedef};
use crate::name_check::nearest;

const FILE_WORDS: [&str; 6] = ["data", "key", "hash", "compact", "vardata", "blob"];

/// Constants of the prologue by name.
type Constants = HashMap<String, u64>;

pub(super) fn schema(tokens: &mut Tokens<'_>, schema: &mut Schema, reporter: &mut Reporter) {
    let mut constants = Constants::new();
    while !is_end(tokens) && !reporter.is_full() {
        let before = tokens.eof_offset();
        if let Err(error) = declaration(tokens, schema, &mut constants, reporter) {
            recover(tokens, before, error, reporter);
        }
    }
}

fn declaration(
    tokens: &mut Tokens<'_>,
    schema: &mut Schema,
    constants: &mut Constants,
    reporter: &mut Reporter,
) -> Parsed<()> {
    let token = first(tokens);
    if opt(mark(';')).parse_next(tokens)?.is_some() {
        return Ok(());
    }
    let is = |word: &str| is_word(tokens, word, true);
    if is("database") {
        return database::database(tokens, schema, constants, reporter);
    }
    if is("struct") {
        advance(tokens);
        let struct_name = name(tokens, "the struct")?;
        let declared = struct_fields(tokens, &struct_name, constants, reporter)?;
        need(tokens, ';', &format!("behind `{struct_name}`"))?;
        let fields = declared;
        schema.structs.push(StructType { name: struct_name, direct: false, fields });
        return Ok(());
    }
    if is("typedef") {
        return typedef(tokens, schema, constants, reporter);
    }
    if is("const") {
        return constant(tokens, schema, constants);
    }
    let (message, hint) = match &token.kind {
        Kind::Word(word) if matches!(&**word, "class" | "declare") => (
            format!("`{word}` belongs to the mco-style language"),
            "name the file .mco, or write `database name { record .. }`".to_owned(),
        ),
        Kind::Word(word) if matches!(&**word, "record" | "set" | "data" | "key") => (
            format!("`{word}` stands outside of a database"),
            "write `database name {` before it and `}` at the end".to_owned(),
        ),
        Kind::Word(word) if matches!(&**word, "enum" | "union") => (
            format!("a prologue has no `{word}`"),
            "write a `short` field, and a `#define` for each value".to_owned(),
        ),
        Kind::Word(word) => {
            let meant = nearest(word, ["database", "struct", "typedef", "const"]);
            let hint = meant.map(|meant| format!("write `{meant}`"));
            let all = "a schema has structs, typedefs and one `database`".to_owned();
            (format!("`{word}` begins no declaration"), hint.unwrap_or(all))
        }
        other => (
            format!("{} begins no declaration", other.describe()),
            "a schema has structs, typedefs and one `database`".to_owned(),
        ),
    };
    cut(token.span, message, hint)
}

/// `const int N = 5;`
fn constant(tokens: &mut Tokens<'_>, schema: &mut Schema, constants: &mut Constants) -> Parsed<()> {
    advance(tokens);
    let mut constant = name(tokens, "the constant")?;
    while matches!(first(tokens).kind, Kind::Word(_)) {
        constant = name(tokens, "the constant")?;
    }
    need(tokens, '=', "behind the constant")?;
    let (value, _) = int(tokens, "its value")?;
    need(tokens, ';', "behind the constant")?;
    if constants.insert(constant.to_string(), value).is_some() {
        let hint = "give one of the two another name";
        return cut(constant.span(), format!("`{constant}` has a value already"), hint);
    }
    schema.constants.push((constant.to_string(), i128::from(value)));
    Ok(())
}

fn typedef(
    tokens: &mut Tokens<'_>,
    schema: &mut Schema,
    constants: &Constants,
    reporter: &mut Reporter,
) -> Parsed<()> {
    advance(tokens);
    let mut tag = None;
    let defines = is_word(tokens, "struct", true)
        && matches!(tokens.get(2).map(|token| &token.kind), Some(Kind::Mark('{')));
    let field_type = if defines {
        advance(tokens);
        let struct_name = name(tokens, "the struct")?;
        let fields = struct_fields(tokens, &struct_name, constants, reporter)?;
        tag = Some(StructType { name: struct_name.clone(), direct: false, fields });
        FieldType::Struct(struct_name)
    } else {
        field_type(tokens, constants, reporter, 0)?
    };
    let new_name = name(tokens, "the type")?;
    let dims = dims(tokens, constants)?;
    need(tokens, ';', "behind the typedef")?;
    schema.structs.extend(tag);
    schema.typedefs.push(Typedef { name: new_name, field_type, dims });
    Ok(())
}

/// `{ .. }` of a struct.
fn struct_fields(
    tokens: &mut Tokens<'_>,
    what: &Name,
    constants: &Constants,
    reporter: &mut Reporter,
) -> Parsed<Vec<Field>> {
    let mut fields = Vec::new();
    block(tokens, what, reporter, |tokens, reporter| {
        field(tokens, constants, reporter, 0, None, &mut fields)
    })?;
    Ok(fields)
}

/// `type a, b[3];` with the key that stands before it.
fn field(
    tokens: &mut Tokens<'_>,
    constants: &Constants,
    reporter: &mut Reporter,
    depth: usize,
    key: Option<FieldKey>,
    fields: &mut Vec<Field>,
) -> Parsed<()> {
    let field_type = field_type(tokens, constants, reporter, depth)?;
    loop {
        let mut field = Field::new(name(tokens, "the field")?, field_type.clone());
        field.dims = dims(tokens, constants)?;
        field.key = key;
        if is_word(tokens, "directref", true) {
            advance(tokens);
            field.reference.push(name(tokens, "the record referred to")?);
        } else if is_word(tokens, "relatedto", true) {
            advance(tokens);
            field.reference.push(name(tokens, "the record referred to")?);
            if !is_word(tokens, "thru", true) {
                let hint = "write `relatedto record thru set`";
                return cut(first(tokens).span, "expected `thru` here", hint);
            }
            advance(tokens);
            field.reference.push(name(tokens, "the set")?);
        }
        fields.push(field);
        if opt(mark(',')).parse_next(tokens)?.is_none() {
            break;
        }
    }
    need(tokens, ';', "behind the field")?;
    Ok(())
}

/// `[3][N]`, at most three.
fn dims(tokens: &mut Tokens<'_>, constants: &Constants) -> Parsed<Vec<u32>> {
    let mut dims = Vec::new();
    while is_mark(tokens, '[') {
        let open = first(tokens).span;
        advance(tokens);
        let (number, span) = size(tokens, constants, "the array's size")?;
        dims.push(dimension(number, span)?);
        need(tokens, ']', "behind the size")?;
        if dims.len() > 3 {
            let hint = "declare a struct with an array, and an array of it";
            return cut(open, "arrays have at most three dimensions", hint);
        }
    }
    Ok(dims)
}

/// A number, or the name of a constant.
fn size(
    tokens: &mut Tokens<'_>,
    constants: &Constants,
    of: &str,
) -> Parsed<(u64, crate::source::Span)> {
    let token = first(tokens);
    if let Kind::Word(word) = &token.kind
        && let Some(value) = constants.get(&**word)
    {
        advance(tokens);
        return Ok((*value, token.span));
    }
    int(tokens, of)
}

fn field_type(
    tokens: &mut Tokens<'_>,
    constants: &Constants,
    reporter: &mut Reporter,
    depth: usize,
) -> Parsed<FieldType> {
    let token = first(tokens);
    if depth >= NESTING_MAX {
        return cut(token.span, "types are nested too deeply", "declare structs for the parts");
    }
    let Kind::Word(word) = &token.kind else {
        let message = format!("expected a field's type, found {}", token.kind.describe());
        return cut(token.span, message, "write a type such as `long`, then a name");
    };
    advance(tokens);
    let word = word.to_ascii_lowercase();
    if matches!(&*word, "key" | "unique" | "optional" | "hash") && depth > 0 {
        let hint = "write a `compound key`, or move the field out of the struct";
        return cut(token.span, "a field of a struct is no key", hint);
    }
    if word == "struct" {
        if !is_mark(tokens, '{') {
            return Ok(FieldType::Struct(name(tokens, "the struct")?));
        }
        let what = Name::new("struct", token.span);
        let mut fields = Vec::new();
        block(tokens, &what, reporter, |tokens, reporter| {
            field(tokens, constants, reporter, depth + 1, None, &mut fields)
        })?;
        return Ok(FieldType::Inline(fields));
    }
    if let Some(c_type) = c_type(tokens, &word) {
        return Ok(FieldType::C(c_type));
    }
    if let Some(var) = VarType::ALL.into_iter().find(|var| var.word() == word) {
        return Ok(FieldType::Var(var));
    }
    let Kind::Word(original) = &token.kind else { unreachable!("it was a word above") };
    Ok(FieldType::Named(Name::new(original, token.span)))
}

/// `unsigned long int` and the like; the first word is read already.
fn c_type(tokens: &mut Tokens<'_>, word: &str) -> Option<CType> {
    let is_sign = matches!(word, "unsigned" | "signed");
    let mut base = word.to_owned();
    if is_sign {
        base = "int".to_owned();
        for known in ["char", "short", "int", "long"] {
            if is_word(tokens, known, true) {
                advance(tokens);
                base = known.to_owned();
                break;
            }
        }
    }
    if matches!(&*base, "short" | "long") {
        // `long long` and `long int` are `long`: all have eight bytes.
        while ["long", "int"].iter().any(|more| is_word(tokens, more, true)) {
            advance(tokens);
        }
    }
    let spelling = if word == "unsigned" { format!("unsigned {base}") } else { base };
    CType::ALL.into_iter().find(|known| known.spelling() == spelling)
}
