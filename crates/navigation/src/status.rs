//! What calls answer: a number that programs know, and a text for people.
//!
//! Zero and positive numbers are answers, negative ones are faults, with which the
//! program's handler is called too. The numbers are those that d_-style programs are compiled with;
//! those from -990 on are ours.

use std::fmt;

use remanent_engine::{Error, ErrorKind};

/// A status other than success.
///
/// # Examples
/// ```
/// use remanent_navigation::Status;
/// assert_eq!(Status::NOT_FOUND.code(), 2);
/// assert_eq!(Status::NO_CURRENT_RECORD.name(), "S_NOCR");
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Status(i32);

/// Why a call did not do what it was asked: the status, and what is known beyond it.
///
/// # Examples
/// ```
/// use remanent_navigation::{Fault, Status};
/// let fault = Fault::from(Status::NOT_FOUND);
/// assert_eq!(fault.to_string(), "S_NOTFOUND: there is no such record");
/// ```
#[derive(Clone, Debug)]
pub struct Fault {
    /// The answer of the call.
    pub status: Status,
    because: Option<Box<str>>,
}

/// The result of a call.
pub type Outcome<T = ()> = Result<T, Fault>;

macro_rules! statuses {
    ($(
        $(#[doc = $doc:literal])+
        $constant:ident = $code:literal, $name:literal, $text:literal;
    )+) => {
        impl Status {
            $($(#[doc = $doc])+ pub const $constant: Status = Status($code);)+

            /// All statuses.
            ///
            /// # Examples
            /// ```
            /// use remanent_navigation::Status;
            /// assert!(Status::ALL.iter().all(|status| status.code() != 0));
            /// ```
            pub const ALL: &'static [Status] = &[$(Status($code),)+];

            /// The name that C programs use.
            ///
            /// # Examples
            /// ```
            /// use remanent_navigation::Status;
            /// assert_eq!(Status::END_OF_SET.name(), "S_EOS");
            /// ```
            pub fn name(self) -> &'static str {
                match self.0 {
                    $($code => $name,)+
                    _ => "S_INTERNAL",
                }
            }

            /// Its meaning.
            ///
            /// # Examples
            /// ```
            /// use remanent_navigation::Status;
            /// assert_eq!(Status::HAS_MEMBERS.text(), "the record owns members");
            /// ```
            pub fn text(self) -> &'static str {
                match self.0 {
                    $($code => $text,)+
                    _ => "there is a defect in the library",
                }
            }
        }
    };
}

statuses! {
    /// No further member.
    END_OF_SET = 1, "S_EOS", "there is no further member";
    /// No such record, or no further one.
    NOT_FOUND = 2, "S_NOTFOUND", "there is no such record";
    /// A unique key is there already.
    DUPLICATE = 3, "S_DUPLICATE", "a unique key is there already";
    /// The key was not positioned.
    KEY_SEQUENCE = 4, "S_KEYSEQ", "no position in this key yet";
    /// Somebody else has it, and did not give it up in time.
    UNAVAILABLE = 5, "S_UNAVAIL", "somebody else has it";
    /// The current record has been deleted.
    DELETED = 6, "S_DELETED", "the current record has been deleted";
    /// The current member is not where it was.
    SET_CLASH = 10, "S_SETCLASH", "the current member is in another set, or in none";
    /// No database is open.
    NOT_OPEN = -1, "S_DBOPEN", "the database is not open, or open already";
    /// No such set.
    INVALID_SET = -2, "S_INVSET", "there is no such set";
    /// No such record type.
    INVALID_RECORD = -3, "S_INVREC", "there is no such record type";
    /// No such database.
    INVALID_DATABASE = -4, "S_INVDB", "there is no such database";
    /// No such field.
    INVALID_FIELD = -5, "S_INVFLD", "there is no such field";
    /// No current record.
    NO_CURRENT_RECORD = -7, "S_NOCR", "there is no current record";
    /// No current owner.
    NO_CURRENT_OWNER = -8, "S_NOCO", "there is no current owner";
    /// No current member.
    NO_CURRENT_MEMBER = -9, "S_NOCM", "there is no current member";
    /// A mode or type that means nothing here.
    BAD_TYPE = -11, "S_BADTYPE", "the mode is none";
    /// The record owns members.
    HAS_MEMBERS = -12, "S_HASMEM", "the record owns members";
    /// The record is a member.
    IS_MEMBER = -13, "S_ISMEM", "the record is a member";
    /// The record has an owner in the set already.
    IS_OWNED = -14, "S_ISOWNED", "the record has an owner in the set already";
    /// The field is no key.
    NOT_KEY = -17, "S_NOTKEY", "the field is no key";
    /// Records of this type own no members of the set.
    INVALID_OWNER = -18, "S_INVOWN", "records of this type are not owners or members of the set";
    /// The record type is locked by this task already.
    NOT_FREE = -23, "S_NOTFREE", "the record type is locked by this task already";
    /// The record type is not locked as it has to be.
    NOT_LOCKED = -24, "S_NOTLOCKED", "the record type is not locked as it has to be";
    /// A transaction needs an id.
    TRANSACTION_ID = -25, "S_TRANSID", "a transaction needs an id";
    /// There is a transaction already.
    TRANSACTION_ACTIVE = -26, "S_TRACTIVE", "there is a transaction already";
    /// There is no transaction.
    NO_TRANSACTION = -27, "S_TRNOTACT", "there is no transaction";
    /// Locks are not freed in a transaction.
    FREE_IN_TRANSACTION = -29, "S_TRFREE", "locks are not freed in a transaction";
    /// A write lock needs a transaction.
    LOCK_OUTSIDE = -31, "S_NOTRANS", "a write lock is taken in a transaction";
    /// The database has to be opened for this task alone.
    EXCLUSIVE = -32, "S_EXCLUSIVE", "the database has to be opened for this task alone";
    /// The user id is not letters and digits.
    BAD_USER_ID = -42, "S_BADUSERID", "a user id is letters and digits";
    /// The record type to go through was not set.
    NO_TYPE = -46, "S_NOTYPE", "which record type to go through was not said";
    /// A read-only transaction is active.
    READ_ONLY_ACTIVE = -76, "S_ROTACTIVE", "a read-only transaction is active";
    /// Write locks are held.
    HAS_WRITE_LOCKS = -78, "S_HASWRITELOCKS", "write locks are held";
    /// The memory budget is reached.
    NO_SPACE = -900, "S_NOSPACE", "the memory budget is reached";
    /// The machine is out of memory.
    NO_MEMORY = -904, "S_NOMEMORY", "the machine is out of memory, or tasks";
    /// A file cannot be read or written.
    NO_FILE = -905, "S_NOFILE", "a file cannot be opened, read or written";
    /// Too many records.
    RECORD_LIMIT = -909, "S_RECLIMIT", "the record type is full";
    /// The user id is in use.
    DUPLICATE_USER_ID = -921, "S_DUPUSERID", "the user id is in use";
    /// The task is none.
    INVALID_TASK = -990, "S_INVTASK", "the task is not open, or in use by another thread";
    /// A pointer is null.
    INVALID_POINTER = -991, "S_INVPTR", "a pointer is null that must not be";
    /// The database could not be written when it was closed.
    NOT_CLOSED = -992, "S_DBCLOSE", "the database could not be written when it was closed";
    /// The record is not connected.
    NOT_CONNECTED = -993, "S_NOTCON", "the record is not connected in the set";
    /// The value does not fit the column.
    BAD_DATA = -994, "S_BADDATA", "a value does not fit its field";
    /// The file is no database of this schema.
    DAMAGED = -995, "S_DAMAGED", "the file is no database of this schema";
    /// A defect in the library.
    INTERNAL = -999, "S_INTERNAL", "there is a defect in the library";
}

impl Status {
    /// The number that C programs get.
    ///
    /// # Examples
    /// ```
    /// use remanent_navigation::Status;
    /// assert_eq!(Status::HAS_MEMBERS.code(), -12);
    /// ```
    pub fn code(self) -> i32 {
        self.0
    }

    /// Whether the program's error handler is called.
    ///
    /// # Examples
    /// ```
    /// use remanent_navigation::Status;
    /// assert!(Status::NOT_LOCKED.is_fault() && !Status::END_OF_SET.is_fault());
    /// ```
    pub fn is_fault(self) -> bool {
        self.0 < 0
    }

    /// The status with a word on why.
    pub(crate) fn because(self, because: impl Into<Box<str>>) -> Fault {
        Fault { status: self, because: Some(because.into()) }
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.name(), self.0)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.status.name(), self.status.text())?;
        match &self.because {
            Some(because) => write!(f, " ({because})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Fault {}

impl From<Status> for Fault {
    #[inline]
    fn from(status: Status) -> Self {
        Self { status, because: None }
    }
}

impl From<Error> for Fault {
    #[cold]
    fn from(error: Error) -> Self {
        let status = match error.kind() {
            ErrorKind::DuplicateKey => Status::DUPLICATE,
            // Somebody who takes no record locks, a program in Rust perhaps, was first.
            ErrorKind::Conflict | ErrorKind::TableBusy | ErrorKind::DatabaseInUse => {
                Status::UNAVAILABLE
            }
            ErrorKind::RowNotFound => Status::DELETED,
            ErrorKind::HasMembers => Status::HAS_MEMBERS,
            ErrorKind::IsMember => Status::IS_MEMBER,
            ErrorKind::AlreadyMember => Status::IS_OWNED,
            ErrorKind::NotMember => Status::NOT_CONNECTED,
            ErrorKind::BudgetReached => Status::NO_SPACE,
            ErrorKind::OutOfMachineMemory | ErrorKind::TooManyTransactions => Status::NO_MEMORY,
            ErrorKind::LimitReached => Status::RECORD_LIMIT,
            ErrorKind::StreamFailed | ErrorKind::StorageFailed | ErrorKind::LogFailed => {
                Status::NO_FILE
            }
            ErrorKind::DamagedImage | ErrorKind::DamagedLog => Status::DAMAGED,
            ErrorKind::ValueTooLong
            | ErrorKind::ValueOutOfRange
            | ErrorKind::WrongType
            | ErrorKind::NullInNotNull
            | ErrorKind::KeyTooLong
            | ErrorKind::RowTooLong => Status::BAD_DATA,
            _ => Status::INTERNAL,
        };
        status.because(error.to_string())
    }
}
