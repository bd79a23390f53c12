//! From a dictionary's text to what the runtime knows of its classes.
//!
//! The text is what the generated header embeds; parsed again here it gives the same model, so the
//! numbers of leaves and indexes that generated code uses are those of the tables made here. What
//! is looked up on every call lies ready in a [`Class`].

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};

use remanent_ddl::{Dialect, Source};
use remanent_engine::schema::{ColumnType, IndexKind, TableSchema};
use remanent_engine::{ColumnHandle, Database, IndexHandle, Table};

use super::status::{self, MCO_E_ILLEGAL_PARAM, MCO_E_ILLEGAL_SCHEMA, MCO_E_NOMEM, Outcome};
use crate::ffi::InPtr;

/// Lines of a dictionary, at most.
/// Parts of a key that is searched for as its bytes are, at most.
pub(super) const PLAIN_PARTS_MAX: usize = 4;
const LINES_MAX: usize = 1 << 20;

/// `rem_mco_dictionary` of the header.
#[repr(C)]
#[derive(Debug)]
pub struct Dictionary {
    /// 1.
    pub abi: u32,
    /// The schema's name.
    pub name: InPtr<std::ffi::c_char>,
    /// Lines, ended by null.
    pub text: InPtr<InPtr<std::ffi::c_char>>,
}

/// A class: its table and what calls look up in it.
pub(super) struct Class {
    pub(super) table: Table,
    pub(super) leaves: Box<[Leaf]>,
    pub(super) indexes: Box<[Index]>,
    /// The leaf of the automatic id.
    pub(super) autoid: Option<u32>,
    /// The next automatic id, less than which none is given.
    pub(super) autoid_next: AtomicU64,
    /// When the first object was committed; `u64::MAX` before that.
    pub(super) filled: AtomicU64,
    /// Whether an object was ever deleted.
    pub(super) deleted: AtomicBool,
}

/// A leaf of a row.
pub(super) struct Leaf {
    pub(super) column: ColumnHandle,
    pub(super) offset: usize,
    /// Bytes in the row's fixed part; 0 for what is not a fixed place.
    pub(super) size: usize,
    /// The column's type, without what it holds.
    pub(super) shape: Shape,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    /// A number, a date, or another scalar of fixed size.
    Scalar,
    Binary,
    Array,
    Text,
    Blob,
    /// A vector of elements of this size.
    Vector(u32),
    /// Whether a struct is there.
    Presence,
}

/// An index of a class.
pub(super) struct Index {
    pub(super) handle: IndexHandle,
    pub(super) ordered: bool,
    /// Whether a part is text.
    pub(super) has_text: bool,
    /// Whether it is ordered, and any bytes of a key's parts are a key.
    pub(super) is_plain: bool,
    pub(super) parts: Box<[Part]>,
}

/// A part of a key.
pub(super) struct Part {
    pub(super) leaf: usize,
    pub(super) column_type: ColumnType,
    pub(super) is_text: bool,
    /// Bytes of a value of fixed size.
    pub(super) size: usize,
    pub(super) descending: bool,
}

/// The text of a dictionary.
pub(super) fn text_of(dictionary: &Dictionary) -> Outcome<String> {
    if dictionary.abi != 1 {
        status::keep("the header was generated for another version of the library");
        return Err(MCO_E_ILLEGAL_SCHEMA);
    }
    let mut text = Vec::new();
    for number in 0..LINES_MAX {
        let lines = dictionary.text.slice(number + 1).ok_or(MCO_E_ILLEGAL_PARAM)?;
        let Some(line) = lines[number].text() else {
            return String::from_utf8(text).map_err(|_| MCO_E_ILLEGAL_SCHEMA);
        };
        text.extend_from_slice(line);
    }
    Err(MCO_E_ILLEGAL_SCHEMA)
}

/// The tables of a dictionary's classes, in their order.
pub(super) fn tables_of(text: &str) -> Outcome<Vec<TableSchema>> {
    let options = remanent_ddl::Options { dialect: Some(Dialect::Mco), ..Default::default() };
    let source = Source::new("dictionary", text.as_bytes());
    match remanent_ddl::parse(&source, &options) {
        Ok((schema, _)) => Ok(schema.classes.into_iter().map(|class| class.table).collect()),
        Err(errors) => {
            status::keep(&errors.to_string());
            Err(MCO_E_ILLEGAL_SCHEMA)
        }
    }
}

impl Class {
    /// Makes the class's table.
    pub(super) fn create(database: &Database, schema: TableSchema) -> Outcome<Self> {
        let table =
            database.create_table(schema).map_err(|error| match status::status_of(error) {
                MCO_E_NOMEM => MCO_E_NOMEM,
                _ => MCO_E_ILLEGAL_SCHEMA,
            })?;
        Self::of(table)
    }

    /// The class of a table that other interfaces use too, or of a new one.
    pub(super) fn attach(database: &Database, schema: TableSchema) -> Outcome<Self> {
        let class = match database.table(&schema.name) {
            Ok(table) if table.schema().serves(&schema) => Self::of(table)?,
            Ok(_) => {
                status::keep(&format!("the table `{}` has other columns or keys", schema.name));
                return Err(MCO_E_ILLEGAL_SCHEMA);
            }
            Err(_) => Self::create(database, schema)?,
        };
        // Others insert and delete without notice.
        class.deleted.store(true, Relaxed);
        Ok(class)
    }

    /// The class of a table that is there.
    pub(super) fn of(table: Table) -> Outcome<Self> {
        let leaves: Option<Box<[Leaf]>> =
            (0..table.layout().leaves().len()).map(|number| Leaf::of(&table, number)).collect();
        let schemas = &table.schema().indexes;
        let indexes: Option<Box<[Index]>> =
            (0..schemas.len()).map(|ordinal| Index::of(&table, ordinal)).collect();
        let autoid = autoid_of(&table);
        Ok(Self {
            leaves: leaves.ok_or(MCO_E_ILLEGAL_SCHEMA)?,
            indexes: indexes.ok_or(MCO_E_ILLEGAL_SCHEMA)?,
            autoid,
            table,
            autoid_next: AtomicU64::new(1),
            filled: AtomicU64::new(u64::MAX),
            deleted: AtomicBool::new(false),
        })
    }
}

impl Leaf {
    fn of(table: &Table, number: usize) -> Option<Self> {
        let leaf = &table.layout().leaves()[number];
        let (shape, size) = match &leaf.column_type {
            ColumnType::String { .. } => (Shape::Text, 0),
            ColumnType::Blob { .. } => (Shape::Blob, 0),
            ColumnType::Vector { element, .. } => (Shape::Vector(element.fixed_size() as u32), 0),
            ColumnType::Struct(_) => (Shape::Presence, 0),
            ColumnType::Char(size) => (Shape::Text, *size as usize),
            ColumnType::Binary(size) => (Shape::Binary, *size as usize),
            array @ ColumnType::Array { .. } => (Shape::Array, array.fixed_size() as usize),
            scalar => (Shape::Scalar, scalar.fixed_size() as usize),
        };
        let column = table.column_at(number).ok()?;
        Some(Self { column, offset: leaf.offset as usize, size, shape })
    }
}

impl Index {
    fn of(table: &Table, ordinal: usize) -> Option<Self> {
        let schema = &table.schema().indexes[ordinal];
        let part = |part: &remanent_engine::schema::KeyPart| {
            let leaf = table.layout().leaf_by_path(&part.column)?;
            let column_type = table.layout().leaves()[leaf].column_type.clone();
            let is_text = matches!(column_type, ColumnType::String { .. } | ColumnType::Char(_));
            let size = column_type.fixed_size() as usize;
            Some(Part { leaf, column_type, is_text, size, descending: part.descending })
        };
        let parts = schema.parts.iter().map(part).collect::<Option<Box<[Part]>>>()?;
        Some(Self {
            handle: table.index_at(ordinal).ok()?,
            ordered: schema.kind == IndexKind::Ordered,
            has_text: parts.iter().any(|part| part.is_text),
            is_plain: schema.kind == IndexKind::Ordered
                && parts.len() <= PLAIN_PARTS_MAX
                && parts.iter().all(|part| part.column_type.is_any_bytes()),
            parts,
        })
    }
}

/// The column `autoid` with the unique hash index of that name alone is an automatic id.
fn autoid_of(table: &Table) -> Option<u32> {
    let (_, index) = table.schema().index_by_name("autoid")?;
    let leaf = table.layout().leaf_by_path("autoid")?;
    let is_number = table.layout().leaves()[leaf].column_type == ColumnType::U64;
    (index.unique && index.parts.len() == 1 && is_number).then_some(leaf as u32)
}
