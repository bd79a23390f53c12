//! The one error type, and the table of its kinds.
//!
//! An [`Error`] is one word; what it says is on the heap, which only the failing path pays for.
//! Its [`ErrorKind`] is what programs act on: each kind has a stable number (the C code) and an
//! SQLSTATE, in one table here. What an error leaves behind is always the same: the statement that
//! failed has changed nothing, and its transaction goes on unless the kind says otherwise.

use std::borrow::Cow;
use std::fmt;

use remanent_schema::{KeyError, RowError, SchemaError};

/// The result of engine calls.
///
/// # Examples
/// ```
/// # use remanent_engine::{Database, ErrorKind, Find, Options, Row, schema::*};
/// # let db = Database::open(Options::new())?;
/// # let schema = TableSchema::new("City")
/// #     .column("name", ColumnType::STRING)
/// #     .nullable_column("people", ColumnType::U32)
/// #     .primary_key(["name"]);
/// # let cities = db.create_table(schema)?;
/// # let (name, people) = (cities.column("name")?, cities.column("people")?);
/// # let primary = cities.index("primary")?;
/// use remanent_engine::{Error, Result, WriteTransaction};
/// let add = |tx: &WriteTransaction<'_>, name: &str| -> Result<()> {
///     tx.insert_values(&cities, &[Some(name.into())])?;
///     Ok(())
/// };
/// let both: Result<()> = db.write(|tx| ["Ulm", "Bonn"].iter().try_for_each(|name| add(tx, name)));
/// assert!(both.is_ok());
/// # Ok::<(), remanent_engine::Error>(())
/// ```
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed.
///
/// # Examples
/// ```
/// use remanent_engine::{Database, ErrorKind, Options};
/// let db = Database::open(Options::new())?;
/// let error = db.table("nowhere").unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::UnknownTable);
/// assert_eq!(error.kind().sqlstate(), "42P01");
/// assert!(error.to_string().contains("nowhere"));
/// # Ok::<(), remanent_engine::Error>(())
/// ```
pub struct Error(Box<Reason>);

struct Reason {
    kind: ErrorKind,
    because: Option<Cow<'static, str>>,
    met: Option<Met>,
    /// The row that stood in the way, for whoever remembers what was read.
    row: Option<u32>,
    /// The stamp of the transaction that stood in the way, if it may be waited for.
    holder: Option<u64>,
}

/// What a statement or a commit conflicted with.
struct Met {
    table: String,
    key: String,
    index: Option<String>,
}

macro_rules! error_kinds {
    ($($(#[doc = $doc:literal])+ $name:ident = $code:literal, $state:literal, $text:literal;)+) => {
        /// The kind of an error.
        ///
        /// # Examples
        /// ```
        /// # use remanent_engine::{Database, ErrorKind, Find, Options, Row, schema::*};
        /// # let db = Database::open(Options::new())?;
        /// # let schema = TableSchema::new("City")
        /// #     .column("name", ColumnType::STRING)
        /// #     .nullable_column("people", ColumnType::U32)
        /// #     .primary_key(["name"]);
        /// # let cities = db.create_table(schema)?;
        /// # let (name, people) = (cities.column("name")?, cities.column("people")?);
        /// # let primary = cities.index("primary")?;
        /// # db.write(|tx| {
        /// #     for (name, people) in [("Aalen", 68_000), ("Bonn", 336_000), ("Ulm", 126_000)] {
        /// #         tx.insert_values(&cities, &[Some(name.into()), Some(Value::U32(people))])?;
        /// #     }
        /// #     Ok(())
        /// # })?;
        /// let added = db.write(|tx| tx.insert_values(&cities, &[Some("Ulm".into()), None]));
        /// let answer = match added.map_err(|error| error.kind()) {
        ///     Ok(_) => "added",
        ///     Err(ErrorKind::DuplicateKey) => "it was there already",
        ///     Err(_) => "try again later",
        /// };
        /// assert_eq!(answer, "it was there already");
        /// # Ok::<(), remanent_engine::Error>(())
        /// ```
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[non_exhaustive]
        #[repr(u16)]
        pub enum ErrorKind {
            $($(#[doc = $doc])+ $name = $code,)+
        }

        impl ErrorKind {
            /// Every kind, in the order of their numbers.
            ///
            /// # Examples
            /// ```
            /// use remanent_engine::ErrorKind;
            /// let conflict = ErrorKind::ALL.iter().find(|kind| kind.sqlstate() == "40001");
            /// assert_eq!(conflict, Some(&ErrorKind::Conflict));
            /// ```
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The stable number of this kind.
            ///
            /// # Examples
            /// ```
            /// use remanent_engine::ErrorKind;
            /// assert_eq!(ErrorKind::DuplicateKey.code(), 1);
            /// let found = ErrorKind::ALL.iter().find(|kind| kind.code() == 2);
            /// assert_eq!(found, Some(&ErrorKind::Conflict));
            /// ```
            pub fn code(self) -> u16 {
                self as u16
            }

            /// The SQLSTATE of this kind.
            ///
            /// # Examples
            /// ```
            /// use remanent_engine::ErrorKind;
            /// assert_eq!(ErrorKind::DuplicateKey.sqlstate(), "23505");
            /// // The class of a state is its first two characters: 23 is a constraint.
                        /// let is_constraint = |kind: ErrorKind| kind.sqlstate().starts_with("23");
            /// assert!(is_constraint(ErrorKind::NullInNotNull));
            /// assert!(!is_constraint(ErrorKind::Conflict));
            /// ```
            pub fn sqlstate(self) -> &'static str {
                match self {
                    $(Self::$name => $state,)+
                }
            }

            fn text(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)+
                }
            }
        }
    };
}

error_kinds! {
    /// A unique index has another row with this key.
    DuplicateKey = 1, "23505", "the key exists already";
    /// Another transaction changed the row, or inserted the key, first. Roll back and try again;
    /// `Database::write` does so by itself.
    Conflict = 2, "40001", "another transaction was first";
    /// A column that must have a value would be null.
    NullInNotNull = 3, "23502", "a value is missing";
    /// A string, blob or vector is longer than its column allows.
    ValueTooLong = 4, "22001", "a value is too long";
    /// A number does not fit its column.
    ValueOutOfRange = 5, "22003", "a number is out of range";
    /// A value is of another type than its column.
    WrongType = 6, "42804", "a value has the wrong type";
    /// The values of a key do not match the parts of its index.
    WrongKeyShape = 7, "42883", "the key does not fit the index";
    /// The encoded key is longer than 1024 bytes.
    KeyTooLong = 8, "54000", "the key is too long";
    /// The encoded row is longer than 512 MiB.
    RowTooLong = 9, "54001", "the row is too long";
    /// There is no table of this name, or it was dropped.
    UnknownTable = 10, "42P01", "there is no such table";
    /// There is no column of this name.
    UnknownColumn = 11, "42703", "there is no such column";
    /// There is no index of this name, or it was dropped.
    UnknownIndex = 12, "42704", "there is no such index";
    /// A table of this name exists.
    TableExists = 13, "42P07", "the table exists already";
    /// An index of this name exists.
    IndexExists = 14, "42710", "the index exists already";
    /// A table's definition contradicts itself.
    InvalidSchema = 15, "42P16", "the schema is not valid";
    /// A record type does not have the columns and keys of the table.
    SchemaMismatch = 16, "42P17", "the record does not match the table";
    /// The row to change is not there for this transaction.
    RowNotFound = 17, "P0002", "the row is not there";
    /// The transaction was rolled back or the savepoint is gone.
    TransactionEnded = 18, "25000", "the transaction has ended";
    /// The memory budget is used up. Deletes and rollbacks still work.
    BudgetReached = 19, "53200", "the memory budget is reached";
    /// The operating system has no more memory.
    OutOfMachineMemory = 20, "58030", "the machine is out of memory";
    /// All transaction slots are taken.
    TooManyTransactions = 21, "53300", "too many transactions are active";
    /// Writers did not end in time for a change of tables or indexes.
    TableBusy = 22, "55006", "the table is in use";
    /// A limit of the engine: tables, indexes of a table, rows of a table.
    LimitReached = 23, "54023", "a limit is reached";
    /// The kind of index cannot do this: a hash index knows no order.
    WrongIndexKind = 24, "42809", "the index cannot do this";
    /// The options contradict each other or are out of range.
    InvalidOptions = 25, "22023", "the options are not valid";
    /// The snapshot was older, or kept more memory, than its transaction allowed it.
    SnapshotExpired = 26, "72000", "the snapshot has expired";
    /// The transaction's deadline has passed.
    DeadlineReached = 27, "57014", "the deadline is reached";
    /// The row has an owner in the set; disconnect it first, or reconnect it.
    AlreadyMember = 28, "23S01", "the row is a member of the set already";
    /// A row that owns members is not deleted; disconnect them first.
    HasMembers = 29, "23001", "the row has members in a set";
    /// A row that is a member is not deleted; disconnect it first.
    IsMember = 30, "23S02", "the row is a member of a set";
    /// The row has no owner in the set, or not the one that was named.
    NotMember = 31, "23S03", "the row is not a member";
    /// The table holds a set: connect and disconnect change it, other statements do not.
    RelationOfSet = 32, "2F002", "the table holds a set";
    /// The table has rows that can be in a set; drop the set first.
    TableInSet = 33, "2BP01", "the table is in a set";
    /// The stream of an image could not be written or read.
    StreamFailed = 34, "58R01", "the stream failed";
    /// The bytes are not a whole image, or one of a version that cannot be read.
    DamagedImage = 35, "XX001", "the image is damaged";
    /// The log cannot be read, not even in part, or belongs to another database.
    DamagedLog = 36, "XX002", "the log is damaged";
    /// Writing the log failed. What is in memory can be read; nothing can be committed any more.
    LogFailed = 37, "58R02", "the log could not be written";
    /// Files of the database cannot be read, made or renamed.
    StorageFailed = 38, "58R03", "the storage failed";
    /// Somebody else has the database open.
    DatabaseInUse = 39, "55R01", "the database is in use";
    /// The database can only be read, for something that was logged is missing.
    DatabaseReadOnly = 40, "25006", "the database can only be read";
    /// The log does not reach back so far: a checkpoint has removed what was there.
    LogPositionGone = 41, "55R02", "the log does not reach back so far";
    /// Another replica of the group takes changes; this one can be read.
    NotLeader = 42, "25006", "this replica does not lead its group";
    /// The group has lost its leader, or a majority, before it was known to have the commit: it may
    /// or may not be there.
    NotReplicated = 43, "57P04", "it is not known whether the group has the commit";
}

impl Error {
    /// An error of this kind with nothing more to say; for layers above the engine.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Error, ErrorKind};
    /// let error = Error::new(ErrorKind::InvalidOptions).because("the range is empty");
    /// assert_eq!(error.to_string(), "the options are not valid: the range is empty");
    /// ```
    #[cold]
    pub fn new(kind: ErrorKind) -> Self {
        Self(Box::new(Reason { kind, because: None, met: None, row: None, holder: None }))
    }

    /// Adds what exactly it was.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Error, ErrorKind};
    /// let error = Error::new(ErrorKind::KeyTooLong).because("at most 1024 bytes");
    /// assert_eq!(error.kind(), ErrorKind::KeyTooLong);
    /// ```
    #[must_use]
    pub fn because(mut self, because: impl Into<Cow<'static, str>>) -> Self {
        self.0.because = Some(because.into());
        self
    }

    /// Adds a clause to what exactly it was.
    pub(crate) fn and(mut self, more: &str) -> Self {
        let because = self.0.because.take().unwrap_or_default();
        let comma = if because.is_empty() { "" } else { "; " };
        self.0.because = Some(format!("{because}{comma}{more}").into());
        self
    }

    /// Adds the table and the key that it came upon.
    pub(crate) fn met(mut self, table: &str, key: String) -> Self {
        self.0.met = Some(Met { table: table.to_owned(), key, index: None });
        self
    }

    /// Adds the index whose key it was.
    #[cold]
    pub(crate) fn in_index(mut self, index: &str) -> Self {
        if let Some(met) = &mut self.0.met {
            met.index = Some(index.to_owned());
        }
        self
    }

    /// Adds the row that stood in the way.
    pub(crate) fn about_row(mut self, row: u32) -> Self {
        self.0.row = Some(row);
        self
    }

    /// Adds the transaction that stood in the way.
    pub(crate) fn held_by(mut self, stamp: Option<u64>) -> Self {
        self.0.holder = stamp;
        self
    }

    /// The row that stood in the way.
    pub(crate) fn row(&self) -> Option<u32> {
        self.0.row
    }

    /// The stamp of the transaction in flight that stood in the way.
    pub(crate) fn holder(&self) -> Option<u64> {
        self.0.holder
    }

    /// The name of the table in which another transaction, or another row with the same key, was
    /// first.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// let schema = TableSchema::new("City").column("name", ColumnType::STRING);
    /// let cities = db.create_table(schema.primary_key(["name"]))?;
    /// let ulm = [Some("Ulm".into())];
    /// let row = db.write(|tx| tx.insert_values(&cities, &ulm))?;
    /// let (first, second) = (db.begin_write()?, db.begin_write()?);
    /// first.delete(&cities, row)?;
    /// let error = second.delete(&cities, row).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Conflict);
    /// assert_eq!((error.table(), error.key()), (Some("City"), Some("name Ulm")));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn table(&self) -> Option<&str> {
        self.0.met.as_ref().map(|met| met.table.as_str())
    }

    /// The key of the row that was met, as text; "row 7" if its table has no index.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// let schema = TableSchema::new("City").column("name", ColumnType::STRING);
    /// let cities = db.create_table(schema.primary_key(["name"]))?;
    /// let add = || db.write(|tx| tx.insert_values(&cities, &[Some("Ulm".into())]));
    /// add()?;
    /// assert_eq!(add().unwrap_err().key(), Some("name Ulm"));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn key(&self) -> Option<&str> {
        self.0.met.as_ref().map(|met| met.key.as_str())
    }

    /// The index that has the key already, of `DuplicateKey`.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// let schema = TableSchema::new("City").column("name", ColumnType::STRING);
    /// let cities = db.create_table(schema.primary_key(["name"]))?;
    /// let add = || db.write(|tx| tx.insert_values(&cities, &[Some("Ulm".into())]));
    /// add()?;
    /// assert_eq!(add().unwrap_err().index(), Some("primary"));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn index(&self) -> Option<&str> {
        self.0.met.as_ref()?.index.as_deref()
    }

    /// The kind, to act on.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Find, Options, Row, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let schema = TableSchema::new("City")
    /// #     .column("name", ColumnType::STRING)
    /// #     .nullable_column("people", ColumnType::U32)
    /// #     .primary_key(["name"]);
    /// # let cities = db.create_table(schema)?;
    /// # let (name, people) = (cities.column("name")?, cities.column("people")?);
    /// # let primary = cities.index("primary")?;
    /// let error = db.write(|tx| tx.insert_values(&cities, &[Some(1.into())])).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::WrongType);
    /// // The text names the column.
    /// assert!(error.to_string().contains("name"));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Whether the same transaction may well succeed when tried again.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// # let a = table.column("a")?;
    /// let id = db.write(|tx| tx.insert_values(&table, &[Some(1.into())]))?;
    /// let (first, second) = (db.begin_write()?, db.begin_write()?);
    /// first.delete(&table, id)?;
    /// assert!(second.delete(&table, id).unwrap_err().is_conflict());
    /// // Rolled back and tried again, it can go on.
    /// drop((first, second));
    /// db.write(|tx| tx.delete(&table, id))?;
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn is_conflict(&self) -> bool {
        self.0.kind == ErrorKind::Conflict
    }

    /// Whether files are not what they were when they were written.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Options};
    /// let error = Database::load(Options::new(), &mut &b"no image"[..]).unwrap_err();
    /// assert!(error.is_damage());
    /// ```
    pub fn is_damage(&self) -> bool {
        matches!(self.0.kind, ErrorKind::DamagedImage | ErrorKind::DamagedLog)
    }

    /// Whether memory was the reason.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// let db = Database::open(Options::new().budget(256 << 10))?;
    /// let table = db.create_table(TableSchema::new("T").column("data", ColumnType::BLOB))?;
    /// let large = vec![0; 1 << 20];
    /// let error = db.write(|tx| tx.insert_values(&table, &[Some((&large).into())])).unwrap_err();
    /// assert!(error.is_out_of_memory());
    /// // What is small enough still fits.
    /// db.write(|tx| tx.insert_values(&table, &[Some((&large[..100]).into())]))?;
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn is_out_of_memory(&self) -> bool {
        matches!(self.0.kind, ErrorKind::BudgetReached | ErrorKind::OutOfMachineMemory)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.kind.text())?;
        match &self.0.because {
            Some(because) => write!(f, ": {because}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}({self})", self.0.kind)
    }
}

impl std::error::Error for Error {}

impl From<RowError> for Error {
    #[cold]
    fn from(error: RowError) -> Self {
        let kind = match &error {
            RowError::WrongType { .. } | RowError::TooManyValues { .. } => ErrorKind::WrongType,
            RowError::ValueTooLong { .. } | RowError::WrongLength { .. } => ErrorKind::ValueTooLong,
            RowError::ValueOutOfRange { .. } => ErrorKind::ValueOutOfRange,
            RowError::NullInNotNull { .. } => ErrorKind::NullInNotNull,
            RowError::UnknownColumn { .. } => ErrorKind::UnknownColumn,
            _ => ErrorKind::RowTooLong,
        };
        Self::new(kind).because(error.to_string())
    }
}

impl From<KeyError> for Error {
    #[cold]
    fn from(error: KeyError) -> Self {
        let kind = match error {
            KeyError::KeyTooLong => ErrorKind::KeyTooLong,
            KeyError::ValueOutOfRange { .. } => ErrorKind::ValueOutOfRange,
            _ => ErrorKind::WrongKeyShape,
        };
        Self::new(kind).because(error.to_string())
    }
}

impl From<SchemaError> for Error {
    #[cold]
    fn from(error: SchemaError) -> Self {
        Self::new(ErrorKind::InvalidSchema).because(error.to_string())
    }
}
