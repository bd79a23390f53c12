//! The schema model: what a schema of either language says.
//!
//! The parser fills it, `resolve` checks it and adds to each class the table that the engine
//! stores, and printers and generators read it. Two models are equal if they say the same, wherever
//! it was written: a [`Name`] compares by its text alone. Numbers in it are those that generated
//! code uses: a class, an index, a leaf is known by its place.

pub(crate) mod field_type;

use std::fmt;
use std::ops::Deref;

use remanent_schema::{SetOrder, SetSchema, TableSchema};

use crate::model::field_type::FieldType;
use crate::source::Span;

/// Which of the two languages.
///
/// # Examples
/// ```
/// use remanent_ddl::Dialect;
/// assert_eq!(Dialect::of_name("schemas/mcs.mco"), Some(Dialect::Mco));
/// assert_eq!(Dialect::of_name("mcs.DDL"), Some(Dialect::D));
/// assert_eq!(Dialect::of_name("-"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Classes, tree indexes, generated calls: files named `.mco`.
    Mco,
    /// Records, compound keys, network sets: files named `.ddl`.
    D,
}

impl Dialect {
    /// The dialect that a file's name tells.
    ///
    /// # Examples
    /// ```
    /// use remanent_ddl::Dialect;
    /// assert_eq!(Dialect::of_name("a.sql"), None);
    /// ```
    pub fn of_name(name: &str) -> Option<Dialect> {
        match name.rsplit_once('.')?.1.to_ascii_lowercase().as_str() {
            "mco" => Some(Dialect::Mco),
            "ddl" | "dbd" => Some(Dialect::D),
            _ => None,
        }
    }
}

/// A name in a schema. It is its text; where it stands is kept for errors and never compared.
///
/// # Examples
/// ```
/// use remanent_ddl::Name;
/// let name = Name::from("sensor_id");
/// assert_eq!(name.len(), 9);
/// assert_eq!(name, Name::from("sensor_id"));
/// ```
#[derive(Clone, Default)]
pub struct Name {
    text: String,
    span: Span,
}

impl Name {
    pub(crate) fn new(text: &str, span: Span) -> Name {
        Name { text: text.to_owned(), span }
    }

    pub(crate) fn span(&self) -> Span {
        self.span
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Name {
        Name::new(text, Span::default())
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Name) -> bool {
        self.text == other.text
    }
}

impl Eq for Name {}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

/// A schema.
///
/// # Examples
/// ```
/// use remanent_ddl::{Options, Source, parse};
/// let text = "declare database mcs; class Measure { uint4 id; unique tree<id> by_id; };";
/// let text = format!("#define uint4 unsigned<4>\n{text}");
/// let (schema, _) = parse(&Source::new("mcs.mco", text), &Options::default())?;
/// assert_eq!(&*schema.name, "mcs");
/// let (ordinal, class) = schema.class("Measure").expect("it is declared");
/// assert_eq!((ordinal, class.table.indexes.len()), (0, 1));
/// # Ok::<(), remanent_ddl::Diagnostics>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Schema {
    /// The language that it was written in.
    pub dialect: Dialect,
    /// The database's name.
    pub name: Name,
    /// The number in brackets behind the name: mco-style a hint of the size in bytes, d_-style
    /// the page size.
    pub bracket: Option<u64>,
    /// Words behind the database's name that say how it is stored: `inmemory` and its like, which
    /// the d_-style calls heed.
    pub storage: Vec<String>,
    /// Whether `char x[n]` is bytes instead of text.
    pub char_bytes: bool,
    /// Macros that stand for whole numbers.
    pub constants: Vec<(String, i128)>,
    /// Enumerations.
    pub enums: Vec<EnumType>,
    /// Structs with a name, each behind those that it uses.
    pub structs: Vec<StructType>,
    /// Type names of the prologue.
    pub typedefs: Vec<Typedef>,
    /// The object id.
    pub oid: Option<Oid>,
    /// `declare auto_oid[n]`: how many are expected.
    pub auto_oid: Option<u64>,
    /// `timestamp records ..;` and `timestamp sets ..;`: kept, without effect.
    pub timestamps: Vec<Timestamps>,
    /// Data and key files: they become constants, nothing is stored in them.
    pub files: Vec<DataFile>,
    /// Classes and records.
    pub classes: Vec<Class>,
    /// Network sets.
    pub sets: Vec<Set>,
}

impl Schema {
    /// The class or record of this name, and its ordinal.
    ///
    /// # Examples
    /// ```
    /// # use remanent_ddl::{Options, Source, parse};
    /// let source = Source::new("a.ddl", "database a { record R { long x; } }");
    /// let (schema, _) = parse(&source, &Options::default())?;
    /// assert!(schema.class("R").is_some() && schema.class("r").is_none());
    /// # Ok::<(), remanent_ddl::Diagnostics>(())
    /// ```
    pub fn class(&self, name: &str) -> Option<(usize, &Class)> {
        self.classes.iter().enumerate().find(|(_, class)| &*class.name == name)
    }

    /// The struct of this name.
    ///
    /// # Examples
    /// ```
    /// # use remanent_ddl::{Options, Source, parse};
    /// let text = "struct stuff { short a; }; database a { record R { struct stuff s; } }";
    /// let (schema, _) = parse(&Source::new("a.ddl", text), &Options::default())?;
    /// assert_eq!(schema.struct_type("stuff").expect("it is declared").fields.len(), 1);
    /// # Ok::<(), remanent_ddl::Diagnostics>(())
    /// ```
    pub fn struct_type(&self, name: &str) -> Option<&StructType> {
        self.structs.iter().find(|known| &*known.name == name)
    }

    pub(crate) fn empty(dialect: Dialect) -> Schema {
        Schema {
            dialect,
            name: Name::default(),
            bracket: None,
            storage: Vec::new(),
            char_bytes: false,
            constants: Vec::new(),
            enums: Vec::new(),
            structs: Vec::new(),
            typedefs: Vec::new(),
            oid: None,
            auto_oid: None,
            timestamps: Vec::new(),
            files: Vec::new(),
            classes: Vec::new(),
            sets: Vec::new(),
        }
    }

    /// The typedef of this name.
    pub(crate) fn typedef(&self, name: &str) -> Option<&Typedef> {
        self.typedefs.iter().find(|known| &*known.name == name)
    }
}

/// An enumeration, with the value of each name.
///
/// # Examples
/// ```
/// # use remanent_ddl::{Options, Source, parse};
/// let text = "declare database a; enum Color { RED = 3, GREEN }; class A { Color c; };";
/// let (schema, _) = parse(&Source::new("a.mco", text), &Options::default())?;
/// assert_eq!(schema.enums[0].values[1], ("GREEN".into(), 4));
/// # Ok::<(), remanent_ddl::Diagnostics>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct EnumType {
    /// Its name.
    pub name: Name,
    /// Names and values.
    pub values: Vec<(Name, i32)>,
}

/// A struct with a name.
///
/// # Examples
/// ```
/// # use remanent_ddl::{Options, Source, parse};
/// let text = "declare database a; struct S { float x; }; class A { S s; };";
/// let (schema, _) = parse(&Source::new("a.mco", text), &Options::default())?;
/// assert_eq!(&*schema.structs[0].fields[0].name, "x");
/// # Ok::<(), remanent_ddl::Diagnostics>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct StructType {
    /// Its name.
    pub name: Name,
    /// Whether it was declared `direct`; without effect.
    pub direct: bool,
    /// Its fields.
    pub fields: Vec<Field>,
}

/// A type name of a d_-style prologue.
///
/// # Examples
/// ```
/// # use remanent_ddl::{Options, Source, parse};
/// let text = "typedef char code_t[4]; database a { record R { code_t c; } }";
/// let (schema, _) = parse(&Source::new("a.ddl", text), &Options::default())?;
/// assert_eq!(schema.typedefs[0].dims, [4]);
/// # Ok::<(), remanent_ddl::Diagnostics>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Typedef {
    /// The new name.
    pub name: Name,
    /// What it stands for.
    pub field_type: FieldType,
    /// Its dimensions, outermost first.
    pub dims: Vec<u32>,
}

/// `declare oid`: the struct that identifies objects.
///
/// # Examples
/// ```
/// # use remanent_ddl::{Options, Source, parse};
/// let text = "declare database a; struct Id { double x; }; declare oid Id[100];
///             class A { float y; oid; };";
/// let (schema, _) = parse(&Source::new("a.mco", text), &Options::default())?;
/// assert_eq!(schema.oid.expect("it is declared").expected, 100);
/// # Ok::<(), remanent_ddl::Diagnostics>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Oid {
    /// The struct's name.
    pub struct_name: Name,
    /// How many are expected.
    pub expected: u64,
}

/// `timestamp records a, b;`
///
/// # Examples
/// ```
/// # use remanent_ddl::{Options, Source, parse};
/// let text = "database a { timestamp records R; record R { long x; } }";
/// let (schema, _) = parse(&Source::new("a.ddl", text), &Options::default())?;
/// assert!(!schema.timestamps[0].of_sets);
/// # Ok::<(), remanent_ddl::Diagnostics>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Timestamps {
    /// Whether sets are meant instead of records.
    pub of_sets: bool,
    /// Which; none means all.
    pub names: Vec<Name>,
}

/// A data or key file of a d_-style schema.
///
/// # Examples
/// ```
/// # use remanent_ddl::{Options, Source, parse};
/// let text = "database a { data file \"a.d01\" contains R; record R { long x; } }";
/// let (schema, _) = parse(&Source::new("a.ddl", text), &Options::default())?;
/// assert_eq!(schema.files[0].path, "a.d01");
/// # Ok::<(), remanent_ddl::Diagnostics>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DataFile {
    /// What stands before `file`: `data`, `key`, `hash`, `vardata`, `compact vardata`, `blob`.
    pub kind: String,
    /// The name that it is known by, if it has one.
    pub id: Option<Name>,
    /// The name on disk, once.
    pub path: String,
    /// Sizes and words of storage in the order written, without effect.
    pub storage: Vec<String>,
    /// What is in it: records or keys, a key perhaps as `record.key`.
    pub contents: Vec<Vec<Name>>,
}

/// A class or a record.
///
/// # Examples
/// ```
/// # use remanent_ddl::{Options, Source, parse};
/// let text = "declare database a; class A { string s; list; tree<s> by_s; };";
/// let (schema, _) = parse(&Source::new("a.mco", text), &Options::default())?;
/// let class = &schema.classes[0];
/// assert!(class.has_list && !class.has_oid);
/// assert_eq!(class.table.indexes[class.indexes[0].ordinal as usize].name, "by_s");
/// # Ok::<(), remanent_ddl::Diagnostics>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// Its name, which is the table's.
    pub name: Name,
    /// Words before `class` or `record`; of these `circular` has an effect.
    pub modifiers: Vec<String>,
    /// Its fields in the order declared.
    pub fields: Vec<Field>,
    /// Its indexes: all of a class, the compound keys of a record.
    pub indexes: Vec<Index>,
    /// Its events.
    pub events: Vec<Event>,
    /// Whether objects carry the declared object id: a last column `oid` with a unique hash index.
    pub has_oid: bool,
    /// Whether its objects can be gone through without an index; they always can.
    pub has_list: bool,
    /// `autoid` or `autoid[n]`: a last column `autoid` with a unique hash index.
    pub autoid: Option<Option<u64>>,
    /// Of a `circular` record: how many there are at most, as its data file says in `maxslots`. A
    /// last column `circular` numbers them, with a unique index.
    pub circular: Option<u64>,
    /// What the engine stores: columns are the fields, then `oid`, `autoid` and `circular`.
    pub table: TableSchema,
}

impl Class {
    pub(crate) fn new(name: Name) -> Class {
        Class {
            table: TableSchema::new(&*name),
            name,
            modifiers: Vec::new(),
            fields: Vec::new(),
            indexes: Vec::new(),
            events: Vec::new(),
            has_oid: false,
            has_list: false,
            autoid: None,
            circular: None,
        }
    }
}

impl Field {
    pub(crate) fn new(name: Name, field_type: FieldType) -> Field {
        Field {
            name,
            field_type,
            dims: Vec::new(),
            nullable: false,
            default: None,
            key: None,
            reference: Vec::new(),
            leaf: 0,
            leaf_count: 1,
        }
    }
}

/// A field of a class, a record or a struct.
///
/// # Examples
/// ```
/// # use remanent_ddl::{Options, Source, parse};
/// # use remanent_schema::RowLayout;
/// let text = "struct p { float x, y; }; database a { record R { struct p at; char c[9]; } }";
/// let (schema, _) = parse(&Source::new("a.ddl", text), &Options::default())?;
/// let class = &schema.classes[0];
/// assert_eq!((class.fields[1].leaf, class.fields[1].leaf_count), (2, 1));
/// assert_eq!(RowLayout::new(&class.table).leaf_by_path("c"), Some(2));
/// # Ok::<(), remanent_ddl::Diagnostics>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name, which is the column's.
    pub name: Name,
    /// The type of one element.
    pub field_type: FieldType,
    /// Its dimensions, outermost first.
    pub dims: Vec<u32>,
    /// Whether it may be absent: `nullable`, or `optional` before a struct.
    pub nullable: bool,
    /// What a new object holds.
    pub default: Option<Literal>,
    /// The key that a d_-style field is.
    pub key: Option<FieldKey>,
    /// `directref` and `relatedto`, as written; without effect.
    pub reference: Vec<Name>,
    /// Its first leaf in the row; in a struct, counted from the struct's first leaf. A nullable
    /// struct's first leaf is the one that says whether it is there.
    pub leaf: u32,
    /// How many leaves it has: one but for structs.
    pub leaf_count: u32,
}

/// A default value as written.
///
/// # Examples
/// ```
/// # use remanent_ddl::{Literal, Options, Source, parse};
/// let text = "declare database a; class A { float x = 0.5; };";
/// let (schema, _) = parse(&Source::new("a.mco", text), &Options::default())?;
/// assert_eq!(schema.classes[0].fields[0].default, Some(Literal::Float(0.5)));
/// # Ok::<(), remanent_ddl::Diagnostics>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// A whole number.
    Int(i128),
    /// Another number.
    Float(f64),
    /// `true`, `false`.
    Bool(bool),
    /// A name of the field's enumeration.
    Name(Name),
}

/// The key that a d_-style field is by itself.
///
/// # Examples
/// ```
/// # use remanent_ddl::{Options, Source, parse};
/// let text = "database a { record R { unique key long id; } }";
/// let (schema, _) = parse(&Source::new("a.ddl", text), &Options::default())?;
/// let key = schema.classes[0].fields[0].key.expect("it is a key");
/// assert!(key.unique && !key.hash && key.ordinal == 0);
/// # Ok::<(), remanent_ddl::Diagnostics>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FieldKey {
    /// An optional key is an ordinary one here.
    pub optional: bool,
    /// Whether no two records may have the same.
    pub unique: bool,
    /// Whether it is found by its whole value alone.
    pub hash: bool,
    /// The number in brackets, without effect.
    pub size: Option<u64>,
    /// The index's place in the table's indexes.
    pub ordinal: u32,
}

/// An index of a class, or a compound key.
///
/// # Examples
/// ```
/// # use remanent_ddl::{Options, Source, parse};
/// let text = "declare database a; class A { string s; hash<s> h[100]; };";
/// let (schema, _) = parse(&Source::new("a.mco", text), &Options::default())?;
/// let index = &schema.classes[0].indexes[0];
/// assert!(index.key.hash && index.key.unique);
/// # Ok::<(), remanent_ddl::Diagnostics>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Index {
    /// Its name.
    pub name: Name,
    /// How it is searched, and its place in the table's indexes.
    pub key: FieldKey,
    /// The words `voluntary` and `inclusive`, without effect.
    pub modifiers: Vec<String>,
    /// What its keys are made of.
    pub parts: Vec<Part>,
    /// The same as `key.ordinal`.
    pub ordinal: u32,
}

/// A part of an index's key.
///
/// # Examples
/// ```
/// # use remanent_ddl::{Options, Source, parse};
/// let text = "declare database a; class A { float x; tree<x desc> t; };";
/// let (schema, _) = parse(&Source::new("a.mco", text), &Options::default())?;
/// assert!(schema.classes[0].indexes[0].parts[0].descending);
/// # Ok::<(), remanent_ddl::Diagnostics>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The field, or a path into a struct.
    pub path: Vec<Name>,
    /// Whether the greatest comes first.
    pub descending: bool,
}

impl Part {
    /// The path with dots.
    ///
    /// # Examples
    /// ```
    /// use remanent_ddl::Part;
    /// let part = Part { path: vec!["thing".into(), "a".into()], descending: false };
    /// assert_eq!(part.column(), "thing.a");
    /// ```
    pub fn column(&self) -> String {
        self.path.iter().map(|name| &**name).collect::<Vec<_>>().join(".")
    }
}

/// An event of a class.
///
/// # Examples
/// ```
/// # use remanent_ddl::{EventKind, Options, Source, parse};
/// let text = "declare database a; class A { float x; event<x update> moved; };";
/// let (schema, _) = parse(&Source::new("a.mco", text), &Options::default())?;
/// assert_eq!(schema.classes[0].events[0].kind, EventKind::Update);
/// # Ok::<(), remanent_ddl::Diagnostics>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Its name.
    pub name: Name,
    /// The field whose update it is about.
    pub field: Option<Name>,
    /// What it follows.
    pub kind: EventKind,
}

/// What an event follows.
///
/// # Examples
/// ```
/// use remanent_ddl::EventKind;
/// assert_eq!(EventKind::DeleteAll.word(), "delete_all");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A new object.
    New,
    /// A changed field.
    Update,
    /// An object that is deleted.
    Delete,
    /// All objects deleted in one call.
    DeleteAll,
    /// Changes made visible to indexes.
    Checkpoint,
}

impl EventKind {
    pub(crate) const ALL: [EventKind; 5] = [
        EventKind::New,
        EventKind::Update,
        EventKind::Delete,
        EventKind::DeleteAll,
        EventKind::Checkpoint,
    ];

    /// The word in the schema.
    ///
    /// # Examples
    /// ```
    /// use remanent_ddl::EventKind;
    /// assert_eq!(EventKind::New.word(), "new");
    /// ```
    pub fn word(self) -> &'static str {
        match self {
            EventKind::New => "new",
            EventKind::Update => "update",
            EventKind::Delete => "delete",
            EventKind::DeleteAll => "delete_all",
            EventKind::Checkpoint => "checkpoint",
        }
    }
}

/// A network set.
///
/// # Examples
/// ```
/// # use remanent_ddl::{Options, Source, parse};
/// let text = "database a { record R { long x; } record S { long y; }
///             set T { order last; owner R; member S; } }";
/// let (schema, _) = parse(&Source::new("a.ddl", text), &Options::default())?;
/// assert_eq!(schema.sets[0].schema().owner, "R");
/// # Ok::<(), remanent_ddl::Diagnostics>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Set {
    /// Its name.
    pub name: Name,
    /// `bitmap`, `blob` or `varilen`, without effect.
    pub modifier: Option<String>,
    /// Where a new member goes.
    pub order: SetOrder,
    /// The record that owns, or `system`.
    pub owner: Name,
    /// The records that are members, in order, each with the fields that sort it.
    pub members: Vec<Member>,
}

/// A record that can be a member of a set.
///
/// # Examples
/// ```
/// # use remanent_ddl::{Options, Source, parse};
/// let text = "database a { record R { long x; } record S { long y; }
///             set T { order ascending; owner R; member S by y; } }";
/// let (schema, _) = parse(&Source::new("a.ddl", text), &Options::default())?;
/// assert_eq!(schema.sets[0].schema().members[0].by, ["y"]);
/// # Ok::<(), remanent_ddl::Diagnostics>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The record.
    pub record: Name,
    /// The fields that sort it, each a path, perhaps with the record's name before it.
    pub by: Vec<Vec<Name>>,
}

impl Set {
    /// The set as the engine knows it.
    ///
    /// # Examples
    /// ```
    /// # use remanent_ddl::{Options, Source, parse};
    /// let text = "database a { record R { long x; } record S { long y; }
    ///             set T { order next; owner system; member S; } }";
    /// let (schema, _) = parse(&Source::new("a.ddl", text), &Options::default())?;
    /// assert_eq!(schema.sets[0].schema().owner, "system");
    /// # Ok::<(), remanent_ddl::Diagnostics>(())
    /// ```
    pub fn schema(&self) -> SetSchema {
        let new = SetSchema::new(&*self.name, &*self.owner, self.order);
        self.members.iter().fold(new, |set, member| {
            let columns = member.by.iter().map(|path| member.column(path));
            set.member_by(&*member.record, columns)
        })
    }
}

impl Member {
    /// The column that a path of `by` names: without the record's name before it.
    pub(crate) fn column(&self, path: &[Name]) -> String {
        let path = match path {
            [first, rest @ ..] if !rest.is_empty() && *first == self.record => rest,
            all => all,
        };
        path.iter().map(|name| &**name).collect::<Vec<_>>().join(".")
    }
}
