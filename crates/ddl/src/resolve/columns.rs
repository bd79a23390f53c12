//! Fields into columns: what the engine stores for each type of the two languages.
//!
//! `docs/schema-languages.md` has the table that this file carries out. Within arrays a struct has
//! its C layout, so what lies in one has a fixed size. Structs are turned into columns once and
//! then copied; how much may be copied is bounded for the whole schema.

use std::collections::HashMap;

use remanent_schema::{
    Column, ColumnType, DefaultValue, LEAF_COUNT_MAX, TEXT_SIZE_MAX, TableStorage,
};

use super::names::Names;
use crate::diagnostic::Reporter;
use crate::model::field_type::{CType, FieldType, VarType, Width};
use crate::model::{Class, Dialect, Field, Literal, Name, Schema, StructType};

/// The most columns and fields of structs that a whole schema may come to.
const NODES_MAX: usize = 2_000_000;

/// The word of a class that lies on a disk.
const PERSISTENT: &str = "persistent";

/// Why a field has no column: a message and a hint.
type Refusal = (String, String);

/// Makes columns, knowing what was declared.
pub(super) struct Columns<'s> {
    dialect: Dialect,
    char_bytes: bool,
    names: &'s Names,
    enums: HashMap<String, HashMap<String, i32>>,
    structs: HashMap<String, Vec<Column>>,
    oid: Option<Name>,
    nodes: usize,
}

impl<'s> Columns<'s> {
    pub(super) fn new(schema: &Schema, names: &'s Names) -> Columns<'s> {
        let values = |values: &[(Name, i32)]| {
            values.iter().map(|(name, value)| (name.to_string(), *value)).collect()
        };
        let enums = &schema.enums;
        Columns {
            dialect: schema.dialect,
            char_bytes: schema.char_bytes,
            names,
            enums: enums.iter().map(|e| (e.name.to_string(), values(&e.values))).collect(),
            structs: HashMap::new(),
            oid: schema.oid.as_ref().map(|oid| oid.struct_name.clone()),
            nodes: 0,
        }
    }

    /// The columns of a struct; those of the structs within it are known.
    pub(super) fn add_struct(&mut self, declared: &mut StructType, reporter: &mut Reporter) {
        let columns = self.fields(&mut declared.fields, reporter);
        let count = columns.iter().map(nodes_of).sum::<usize>();
        if count > LEAF_COUNT_MAX {
            let message = format!("`{}` has {count} fields, inner ones included", declared.name);
            let hint = format!("a struct has at most {LEAF_COUNT_MAX}");
            reporter.error(declared.name.span(), message, hint);
            return;
        }
        self.structs.insert(declared.name.to_string(), columns);
    }

    /// The columns of a class; `oid`, `autoid` and `circular` behind its fields.
    pub(super) fn fill(&mut self, class: &mut Class, reporter: &mut Reporter) {
        let mut columns = self.fields(&mut class.fields, reporter);
        if class.has_oid {
            let oid = self.oid.as_ref().and_then(|oid| self.structs.get(&**oid)).cloned();
            columns.extend(oid.map(|fields| Column::new("oid", ColumnType::Struct(fields))));
        }
        if class.autoid.is_some() {
            columns.push(Column::new("autoid", ColumnType::U64));
        }
        if class.circular.is_some() {
            columns.push(Column::new("circular", ColumnType::U64));
        }
        let specials = [
            ("oid", class.has_oid),
            ("autoid", class.autoid.is_some()),
            ("circular", class.circular.is_some()),
        ];
        for (special, has) in specials {
            let clash = class.fields.iter().find(|field| &*field.name == special);
            if let (Some(field), true) = (clash, has) {
                let message =
                    format!("`{}` is `{special}` and has a field of this name", class.name);
                reporter.error(field.name.span(), message, "give the field another name");
            }
        }
        class.table.columns = columns;
        if class.modifiers.iter().any(|word| word == PERSISTENT) {
            class.table.storage = TableStorage::Paged;
        }
    }

    fn fields(&mut self, fields: &mut [Field], reporter: &mut Reporter) -> Vec<Column> {
        let mut columns = Vec::new();
        let mut leaf = 0;
        for field in fields {
            if self.nodes > NODES_MAX {
                let hint = "use fewer or smaller structs";
                reporter.error(field.name.span(), "the schema's tables are too large", hint);
                break;
            }
            if let FieldType::Inline(inner) = &mut field.field_type {
                // For the numbers of its leaves alone: the columns are made below.
                self.fields(inner, reporter);
            }
            let column = self.column(field);
            let column = match column {
                Ok(column) => column,
                Err((message, hint)) => {
                    reporter.error(field.name.span(), message, hint);
                    continue;
                }
            };
            self.nodes += nodes_of(&column);
            field.leaf = leaf;
            field.leaf_count = leaves_of(&column);
            leaf += field.leaf_count;
            columns.push(column);
        }
        columns
    }

    fn column(&self, field: &Field) -> Result<Column, Refusal> {
        let mut column = Column::new(&*field.name, self.stored(field, false)?);
        column.nullable = field.nullable;
        if let Some(literal) = &field.default {
            column.default = Some(self.default(field, &column.column_type, literal)?);
        }
        Ok(column)
    }

    /// The type of a field with its dimensions. `fixed`: it lies in an array.
    fn stored(&self, field: &Field, fixed: bool) -> Result<ColumnType, Refusal> {
        let (field_type, dims) = self.meaning(&field.field_type, &field.dims);
        if self.dialect == Dialect::Mco {
            return match dims[..] {
                [] => self.mco(field_type, fixed),
                _ => Ok(arrays(self.mco(field_type, true)?, &dims)),
            };
        }
        match field_type {
            FieldType::C(CType::Char) => self.char_text(&dims, fixed),
            FieldType::C(CType::UChar) if !dims.is_empty() => {
                let (last, outer) = dims.split_last().expect("it is not empty");
                Ok(arrays(bytes(*last)?, outer))
            }
            FieldType::C(c_type) => Ok(arrays(number(*c_type), &dims)),
            FieldType::Var(var) => var_text(*var, &dims, fixed),
            FieldType::Struct(_) | FieldType::Inline(_) => {
                Ok(arrays(self.fields_of(field_type, fixed || !dims.is_empty())?, &dims))
            }
            other => Err((format!("{other:?} is no type of this language"), String::new())),
        }
    }

    /// Typedefs followed: the type and all dimensions.
    fn meaning<'f>(&'f self, field_type: &'f FieldType, dims: &[u32]) -> (&'f FieldType, Vec<u32>) {
        let mut dims = dims.to_vec();
        let mut meaning = field_type;
        if let FieldType::Typedef(name) = field_type
            && let Some((field_type, inner)) = self.names.typedefs.get(&**name)
        {
            meaning = field_type;
            dims.extend(inner);
        }
        (meaning, dims)
    }

    fn char_text(&self, dims: &[u32], fixed: bool) -> Result<ColumnType, Refusal> {
        match dims.split_last() {
            None => Ok(ColumnType::I8),
            Some((last, [])) if !fixed && !self.char_bytes => {
                bytes(*last)?;
                Ok(ColumnType::String { max: Some(stored(*last)) })
            }
            Some((last, outer)) => Ok(arrays(bytes(*last)?, outer)),
        }
    }

    /// A struct as a column type. `fixed`: in C layout.
    fn fields_of(&self, field_type: &FieldType, fixed: bool) -> Result<ColumnType, Refusal> {
        match field_type {
            FieldType::Struct(name) => {
                let columns = self.structs.get(&**name).cloned().unwrap_or_default();
                Ok(ColumnType::Struct(match fixed {
                    false => columns,
                    true => columns
                        .into_iter()
                        .map(|column| fixed_column(column, self.dialect))
                        .collect::<Result<_, _>>()?,
                }))
            }
            FieldType::Inline(fields) => Ok(ColumnType::Struct(
                fields
                    .iter()
                    .map(|field| Ok(Column::new(&*field.name, self.stored(field, fixed)?)))
                    .collect::<Result<_, Refusal>>()?,
            )),
            _ => unreachable!("only structs have fields"),
        }
    }

    fn mco(&self, field_type: &FieldType, fixed: bool) -> Result<ColumnType, Refusal> {
        let in_array = |what: &str, instead: &str| {
            Err((format!("{what} cannot lie in an array"), instead.to_owned()))
        };
        Ok(match field_type {
            FieldType::Int { signed, size } => int(*signed, *size),
            FieldType::C(CType::Float) => ColumnType::F32,
            FieldType::C(_) => ColumnType::F64,
            FieldType::Bool => ColumnType::Bool,
            FieldType::Decimal { precision, scale } => {
                ColumnType::Decimal { precision: *precision, scale: *scale }
            }
            FieldType::Chars(Width::Char, size) if fixed => ColumnType::Char(*size),
            FieldType::Chars(..) if fixed => {
                return in_array("wide text", "write `vector<wstring>`, or `char<n>`");
            }
            FieldType::Chars(Width::Char, size) => ColumnType::String { max: Some(*size) },
            FieldType::Chars(_, size) => ColumnType::String { max: Some(4 * *size) },
            FieldType::Binary(size) => ColumnType::Binary(*size),
            FieldType::Date => ColumnType::Date,
            FieldType::Time => ColumnType::Time,
            FieldType::DateTime => ColumnType::Timestamp,
            FieldType::AutoId(_) => ColumnType::U64,
            FieldType::Ref => self.reference(fixed)?,
            FieldType::Enum(_) => ColumnType::I32,
            FieldType::Struct(_) => self.fields_of(field_type, fixed)?,
            FieldType::String(_) if fixed => {
                return in_array("a string", "write `vector<string>`, or `char<n>`");
            }
            FieldType::Blob | FieldType::VarBinary(_) | FieldType::Vector(_) if fixed => {
                return in_array("what differs in length", "write a `vector` of structs");
            }
            FieldType::String(_) => ColumnType::STRING,
            FieldType::Blob => ColumnType::BLOB,
            FieldType::VarBinary(size) => ColumnType::Blob { max: Some(*size) },
            FieldType::Vector(element) => self.vector(element)?,
            other => return Err((format!("{other:?} is no type of this language"), String::new())),
        })
    }

    /// The object id of another object: a number if the id is one, else a copy of its struct.
    fn reference(&self, fixed: bool) -> Result<ColumnType, Refusal> {
        let Some(oid) = &self.oid else {
            let hint = "write `declare oid Id[1000];`, or `autoid_t` instead of `ref`";
            return Err(("a `ref` needs a declared object id".to_owned(), hint.to_owned()));
        };
        let whole = ColumnType::Struct(self.structs.get(&**oid).cloned().unwrap_or_default());
        if whole.fixed_size() <= 8 && leaf_types(&whole) == 1 {
            return Ok(ColumnType::U64);
        }
        self.fields_of(&FieldType::Struct(oid.clone()), fixed)
    }

    fn vector(&self, element: &FieldType) -> Result<ColumnType, Refusal> {
        let refuse = |what: &str, hint: &str| Err((what.to_owned(), hint.to_owned()));
        match element {
            FieldType::String(Width::Char) | FieldType::Struct(_) => Ok(ColumnType::BLOB),
            FieldType::String(_) => {
                refuse("vectors of wide strings are not supported", "write `vector<string>`")
            }
            FieldType::Blob | FieldType::Vector(_) | FieldType::VarBinary(_) => {
                refuse("this cannot lie in a vector", "declare a struct that contains it")
            }
            FieldType::Chars(..) | FieldType::Binary(_) => {
                refuse("text of a fixed size cannot lie in a vector", "write `vector<string>`")
            }
            scalar => match self.mco(scalar, true)? {
                scalar if scalar.is_fixed_scalar() => {
                    Ok(ColumnType::Vector { element: Box::new(scalar), max: None })
                }
                _ => refuse("this cannot lie in a vector", "write a vector of the id's struct"),
            },
        }
    }

    fn default(
        &self,
        field: &Field,
        column_type: &ColumnType,
        literal: &Literal,
    ) -> Result<DefaultValue, Refusal> {
        let refused = || {
            let message = format!("`{}` cannot have this default", field.name);
            (message, "write a value of the field's type; texts have no defaults".to_owned())
        };
        Ok(match (column_type, literal) {
            (ColumnType::I32, Literal::Name(name)) => {
                let FieldType::Enum(of) = &field.field_type else { return Err(refused()) };
                let value = self.enums.get(&**of).and_then(|values| values.get(&**name));
                DefaultValue::from(*value.ok_or_else(refused)?)
            }
            (ColumnType::F32 | ColumnType::F64, Literal::Int(value)) => {
                DefaultValue::Float(*value as f64)
            }
            (ColumnType::F32 | ColumnType::F64, Literal::Float(value)) => {
                DefaultValue::Float(*value)
            }
            (ColumnType::Bool, Literal::Bool(value)) => DefaultValue::Bool(*value),
            (ColumnType::Bool, Literal::Int(value @ 0..=1)) => DefaultValue::Bool(*value == 1),
            (ColumnType::Decimal { scale, .. }, Literal::Int(value)) => {
                let power = 10i128.checked_pow(u32::from(*scale));
                let unscaled = power.and_then(|power| power.checked_mul(*value));
                DefaultValue::Decimal(unscaled.ok_or_else(refused)?)
            }
            (ColumnType::Decimal { scale, .. }, Literal::Float(value)) => {
                DefaultValue::Decimal((value * 10f64.powi(i32::from(*scale))).round() as i128)
            }
            (_, Literal::Int(value)) if is_integer(column_type) => match *value {
                value @ ..0 => DefaultValue::Signed(i64::try_from(value).map_err(|_| refused())?),
                value => DefaultValue::Unsigned(u64::try_from(value).map_err(|_| refused())?),
            },
            _ => return Err(refused()),
        })
    }
}

fn is_integer(column_type: &ColumnType) -> bool {
    matches!(
        column_type,
        ColumnType::I8
            | ColumnType::I16
            | ColumnType::I32
            | ColumnType::I64
            | ColumnType::U8
            | ColumnType::U16
            | ColumnType::U32
            | ColumnType::U64
    )
}

fn int(signed: bool, size: u8) -> ColumnType {
    match (signed, size) {
        (true, 1) => ColumnType::I8,
        (true, 2) => ColumnType::I16,
        (true, 4) => ColumnType::I32,
        (true, _) => ColumnType::I64,
        (false, 1) => ColumnType::U8,
        (false, 2) => ColumnType::U16,
        (false, 4) => ColumnType::U32,
        (false, _) => ColumnType::U64,
    }
}

fn number(c_type: CType) -> ColumnType {
    match c_type {
        CType::Float => ColumnType::F32,
        CType::Double => ColumnType::F64,
        CType::Char | CType::Int8 => ColumnType::I8,
        CType::Short | CType::Int16 => ColumnType::I16,
        CType::Int | CType::Int32 => ColumnType::I32,
        CType::Long | CType::Int64 => ColumnType::I64,
        CType::UChar | CType::UInt8 => ColumnType::U8,
        CType::UShort | CType::UInt16 => ColumnType::U16,
        CType::UInt | CType::UInt32 | CType::WChar => ColumnType::U32,
        CType::ULong | CType::UInt64 | CType::DbAddr | CType::BlobId => ColumnType::U64,
    }
}

fn bytes(size: u32) -> Result<ColumnType, Refusal> {
    if size > TEXT_SIZE_MAX {
        let hint =
            format!("write at most {TEXT_SIZE_MAX}, or store it in several records of a set");
        return Err((format!("{size} bytes are too many"), hint));
    }
    Ok(ColumnType::Binary(size))
}

/// Bytes that one byte which is not UTF-8 is stored as.
const STORED: u32 = 3;

/// How long stored text of so many bytes may be.
fn stored(bytes: u32) -> u32 {
    bytes.saturating_mul(STORED)
}

fn var_text(var: VarType, dims: &[u32], fixed: bool) -> Result<ColumnType, Refusal> {
    let word = var.word();
    let (max, false) = (dims, fixed) else {
        let hint = "write `char` or `unsigned char` with a size".to_owned();
        return Err((format!("a `{word}` cannot lie in an array"), hint));
    };
    let [max] = *max else {
        let hint = format!("write `{word} name[100]`");
        return Err((format!("a `{word}` has one size in brackets"), hint));
    };
    bytes(max)?;
    Ok(match var {
        VarType::Char => ColumnType::String { max: Some(stored(max)) },
        VarType::Wide => ColumnType::Blob { max: Some(max.saturating_mul(4)) },
        VarType::Binary => ColumnType::Blob { max: Some(max) },
    })
}

/// A column as it lies in an array: text becomes bytes in d_-style, `char<n>` stays text.
fn fixed_column(column: Column, dialect: Dialect) -> Result<Column, Refusal> {
    let inner = |columns: Vec<Column>| {
        columns
            .into_iter()
            .map(|column| fixed_column(column, dialect))
            .collect::<Result<Vec<_>, _>>()
    };
    let column_type = match column.column_type {
        ColumnType::String { max: Some(max) } if dialect == Dialect::D => {
            ColumnType::Binary(max / STORED)
        }
        ColumnType::String { max: Some(max) } => ColumnType::Char(max),
        ColumnType::Struct(columns) => ColumnType::Struct(inner(columns)?),
        variable if variable.is_variable() || column.nullable || column.default.is_some() => {
            let message = format!("`{}` cannot lie in an array: it has no fixed size", column.name);
            let hint = "write a `vector` of the struct, or give it a fixed size and no default";
            return Err((message, hint.to_owned()));
        }
        fixed => fixed,
    };
    Ok(Column::new(column.name, column_type))
}

fn arrays(element: ColumnType, dims: &[u32]) -> ColumnType {
    dims.iter().rev().fold(element, |element, count| ColumnType::Array {
        element: Box::new(element),
        count: *count,
    })
}

/// Columns and fields of structs that a column comes to.
fn nodes_of(column: &Column) -> usize {
    fn of_type(column_type: &ColumnType) -> usize {
        match column_type {
            ColumnType::Struct(fields) => 1 + fields.iter().map(nodes_of).sum::<usize>(),
            ColumnType::Array { element, .. } => 1 + of_type(element),
            _ => 1,
        }
    }
    of_type(&column.column_type)
}

fn leaves_of(column: &Column) -> u32 {
    match &column.column_type {
        ColumnType::Struct(fields) => {
            u32::from(column.nullable) + fields.iter().map(leaves_of).sum::<u32>()
        }
        _ => 1,
    }
}

fn leaf_types(column_type: &ColumnType) -> u32 {
    match column_type {
        ColumnType::Struct(fields) => fields.iter().map(leaves_of).sum(),
        _ => 1,
    }
}
