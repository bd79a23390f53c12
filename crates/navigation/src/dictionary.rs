//! A d_-style schema compiled for calls: what each number that a program passes stands for.
//!
//! Headers register their schema's text as the program starts; it is compiled when a database of
//! that name is first opened. How structs lie in the program is what its compiler said, checked
//! against the schema.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use remanent_ddl::{CField, Class, Dialect, FieldKey, Options, Part, Schema, Source, parse};
use remanent_engine::schema::{ColumnType, IndexKind, SetSchema, TableSchema, TableStorage};

use crate::status::{Outcome, Status};

/// The first record's constant.
const RECORDS: i32 = 10_000;
/// The first set's constant.
const SETS: i32 = 20_000;
/// The name of the record that owns what belongs to nobody else.
const SYSTEM: &str = "system";
/// Constants of one record's fields.
const FIELDS: i64 = 1000;

static DECLARED: Mutex<Option<HashMap<String, Entry>>> = Mutex::new(None);

/// A schema as a generated header declares it.
///
/// # Examples
/// ```
/// use remanent_navigation::{Declared, register};
/// let text = "database tiny { record R { long id; } }".to_owned();
/// register(Declared { name: "tiny".to_owned(), text, records: Vec::new() });
/// ```
#[derive(Clone, Debug)]
pub struct Declared {
    /// The database's name.
    pub name: String,
    /// The schema, with nothing left to include.
    pub text: String,
    /// The structs of the program; none if nobody has compiled them.
    pub records: Vec<DeclaredRecord>,
}

/// A record's struct as the program's compiler laid it out.
///
/// # Examples
/// ```
/// use remanent_navigation::DeclaredRecord;
/// let record = DeclaredRecord { name: "R".to_owned(), size: 8, offsets: vec![0] };
/// assert_eq!(record.offsets.len(), 1);
/// ```
#[derive(Clone, Debug)]
pub struct DeclaredRecord {
    /// The record's name.
    pub name: String,
    /// Bytes of the struct.
    pub size: usize,
    /// Where its fields begin.
    pub offsets: Vec<u32>,
}

enum Entry {
    Declared(Declared),
    Compiled(Arc<Dictionary>),
}

/// A compiled schema.
#[derive(Debug)]
pub(crate) struct Dictionary {
    /// Record types; behind those of the schema the system's, if it owns sets.
    pub(crate) records: Vec<Record>,
    /// The record type that has one record, which owns what belongs to nobody else.
    pub(crate) system: Option<usize>,
    pub(crate) sets: Vec<SetType>,
    pub(crate) storage: Storage,
}

/// Where the database is kept, as its schema says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Storage {
    /// In a folder, with log and checkpoints.
    #[default]
    Folder,
    /// In memory; an image is read when it is opened, and written when it is closed.
    Image,
    /// In memory; an image is read when it is opened, and never written.
    ReadImage,
    /// In memory alone.
    Memory,
}

impl Storage {
    /// What the words behind a database's name say.
    fn of_words(words: &[String]) -> Self {
        let has = |word: &str| words.iter().any(|it| it.eq_ignore_ascii_case(word));
        match (has("inmemory"), has("volatile"), has("read")) {
            (false, ..) => Self::Folder,
            (true, true, _) => Self::Memory,
            (true, false, true) => Self::ReadImage,
            (true, false, false) => Self::Image,
        }
    }
}

/// A record type.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) table: TableSchema,
    /// Bytes of its struct.
    pub(crate) size: usize,
    pub(crate) leaves: Vec<CField>,
    /// Fields and compound keys, by the last three digits of their constants.
    pub(crate) fields: Vec<Field>,
    /// How many there are at most, of those that are circular; a column and an index of that name
    /// number them then.
    pub(crate) circular: Option<u64>,
}

/// A field or a compound key.
#[derive(Debug)]
pub(crate) struct Field {
    /// Which of the record's leaves it is; empty for a compound key.
    pub(crate) leaves: Range<usize>,
    pub(crate) key: Option<Key>,
}

/// A key: an index of the record's table.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) ordinal: usize,
    pub(crate) is_ordered: bool,
    /// The struct of its parts: for a key of one field, the field itself.
    pub(crate) leaves: Vec<CField>,
    pub(crate) size: usize,
}

/// A set type.
#[derive(Debug)]
pub(crate) struct SetType {
    pub(crate) schema: SetSchema,
    pub(crate) owner: usize,
    pub(crate) members: Vec<usize>,
}

/// Makes a schema known under its database's name; the first one stays.
///
/// # Examples
/// See [`Declared`].
pub fn register(declared: Declared) {
    let mut known = DECLARED.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    known.entry(declared.name.clone()).or_insert(Entry::Declared(declared));
}

impl Dictionary {
    /// The schema of a database.
    ///
    /// # Errors
    /// `INVALID_DATABASE` if none of that name was registered, `DAMAGED` if it is none or does not
    /// fit the program's structs.
    pub(crate) fn of(name: &str) -> Outcome<Arc<Dictionary>> {
        let mut known = DECLARED.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_default();
        let Some(entry) = known.get_mut(name) else {
            return Err(Status::INVALID_DATABASE
                .because(format!("no header with the schema of `{name}` was included")));
        };
        match entry {
            Entry::Compiled(dictionary) => Ok(Arc::clone(dictionary)),
            Entry::Declared(declared) => {
                let dictionary = Arc::new(compile(declared)?);
                *entry = Entry::Compiled(Arc::clone(&dictionary));
                Ok(dictionary)
            }
        }
    }

    /// The record type with this constant.
    #[inline]
    pub(crate) fn record(&self, constant: i32) -> Outcome<usize> {
        let number = constant.wrapping_sub(RECORDS) as usize;
        if number < self.system.unwrap_or(self.records.len()) {
            Ok(number)
        } else {
            Err(Status::INVALID_RECORD.into())
        }
    }

    /// The constant of a record type.
    pub(crate) fn constant(record: usize) -> i32 {
        RECORDS + record as i32
    }

    /// The set type with this constant.
    #[inline]
    pub(crate) fn set(&self, constant: i32) -> Outcome<usize> {
        let number = constant.wrapping_sub(SETS) as usize;
        if number < self.sets.len() { Ok(number) } else { Err(Status::INVALID_SET.into()) }
    }

    /// The record type and the place of the field with this constant.
    #[inline]
    pub(crate) fn field(&self, constant: i64) -> Outcome<(usize, usize)> {
        if constant >= 0 {
            let (record, field) = (constant / FIELDS, constant % FIELDS);
            let fields = self.records.get(record as usize).map_or(0, |record| record.fields.len());
            if (field as usize) < fields {
                return Ok((record as usize, field as usize));
            }
        }
        Err(Status::INVALID_FIELD.into())
    }

    /// The key that the field with this constant is, and its record type and place.
    #[inline]
    pub(crate) fn key(&self, constant: i64) -> Outcome<(usize, usize, &Key)> {
        let (record, field) = self.field(constant)?;
        match &self.records[record].fields[field].key {
            Some(key) => Ok((record, field, key)),
            None => Err(Status::NOT_KEY.into()),
        }
    }
}

fn compile(declared: &Declared) -> Outcome<Dictionary> {
    let options = Options { dialect: Some(Dialect::D), ..Options::default() };
    let source = Source::new(format!("{}.ddl", declared.name), declared.text.as_str());
    let (schema, _) =
        parse(&source, &options).map_err(|errors| Status::DAMAGED.because(errors.to_string()))?;
    let records: Vec<Record> = schema.classes.iter().map(|class| record(&schema, class)).collect();
    for (class, record) in schema.classes.iter().zip(&records) {
        let known = declared.records.iter().find(|known| known.name == *class.name);
        known.map_or(Ok(()), |known| check_layout(known, record))?;
    }
    let mut records = records;
    let is_owned = schema.sets.iter().any(|set| &*set.owner == SYSTEM);
    let system = is_owned.then_some(records.len());
    if is_owned {
        let table = TableSchema::new(SYSTEM).column("one", ColumnType::U8);
        let (leaves, fields, circular) = (Vec::new(), Vec::new(), None);
        records.push(Record { table, size: 0, leaves, fields, circular });
    }
    // Whatever is not declared is the system's: the schema has been checked.
    let place = |name: &str| schema.class(name).map(|(place, _)| place).or(system).unwrap_or(0);
    let set = |set: &remanent_ddl::Set| SetType {
        schema: set.schema(),
        owner: place(&set.owner),
        members: set.members.iter().map(|member| place(&member.record)).collect(),
    };
    let storage = Storage::of_words(&schema.storage);
    if storage == Storage::Folder {
        for (class, record) in schema.classes.iter().zip(&mut records) {
            record.table.storage = storage_of(&schema, class);
        }
    }
    Ok(Dictionary { sets: schema.sets.iter().map(set).collect(), records, system, storage })
}

/// Whether records may leave memory: those in a data file that does not say that it is in memory,
/// as the one does that those are in which no file names.
fn storage_of(schema: &Schema, class: &Class) -> TableStorage {
    let is_data = |kind: &str| kind.split(' ').any(|word| word.eq_ignore_ascii_case("data"));
    let files = schema.files.iter().filter(|file| is_data(&file.kind));
    let mut files =
        files.filter(|file| file.contents.iter().any(|path| path[..] == [class.name.clone()]));
    let is_in_memory = |word: &String| {
        ["inmemory", "volatile"].iter().any(|known| word.eq_ignore_ascii_case(known))
    };
    match files.next() {
        Some(file) if file.storage.iter().any(is_in_memory) => TableStorage::Memory,
        _ => TableStorage::Paged,
    }
}

fn record(schema: &Schema, class: &Class) -> Record {
    let laid = schema.c_record(class);
    let of_field = |number: usize| {
        let first = laid.fields.partition_point(|leaf| (leaf.field as usize) < number);
        let end = laid.fields.partition_point(|leaf| leaf.field as usize <= number);
        first..end
    };
    let mut fields: Vec<Field> = Vec::with_capacity(class.fields.len() + class.indexes.len());
    for (number, field) in class.fields.iter().enumerate() {
        let leaves = of_field(number);
        let key = field.key.as_ref().map(|key| {
            let leaves = &laid.fields[leaves.clone()];
            let start = leaves.first().map_or(0, |leaf| leaf.offset);
            let leaves: Vec<CField> =
                leaves.iter().map(|leaf| CField { offset: leaf.offset - start, ..*leaf }).collect();
            let size = leaves.iter().map(|leaf| leaf.offset + leaf.size).max().unwrap_or(0);
            key_of(class, key, leaves, size)
        });
        fields.push(Field { leaves, key });
    }
    for index in &class.indexes {
        let parts: &[Part] = &index.parts;
        let laid = schema.c_key(class, parts);
        let key = Some(key_of(class, &index.key, laid.fields, laid.size));
        fields.push(Field { leaves: 0..0, key });
    }
    let (table, size) = (class.table.clone(), laid.size as usize);
    Record { table, size, leaves: laid.fields, fields, circular: class.circular }
}

fn key_of(class: &Class, key: &FieldKey, leaves: Vec<CField>, size: u32) -> Key {
    let ordinal = key.ordinal as usize;
    let index = class.table.indexes.get(ordinal);
    let is_ordered = index.is_some_and(|index| index.kind == IndexKind::Ordered);
    Key { ordinal, is_ordered, leaves, size: size as usize }
}

/// That the program's structs lie as the runtime takes them to.
fn check_layout(known: &DeclaredRecord, record: &Record) -> Outcome {
    let starts = record.fields.iter().filter(|field| !field.leaves.is_empty());
    let starts: Vec<u32> = starts.map(|field| record.leaves[field.leaves.start].offset).collect();
    if known.size == record.size && known.offsets == starts {
        return Ok(());
    }
    Err(Status::DAMAGED.because(format!(
        "struct {} was compiled with another alignment: {} bytes instead of {}",
        known.name, known.size, record.size
    )))
}
