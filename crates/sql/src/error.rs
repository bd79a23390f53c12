//! Errors as SQL has them: a state of five characters, a message, and what else helps.
//!
//! Every error of the layers below becomes one of these exactly once, here; what the engine says
//! keeps its state.

use std::fmt;
use std::io::ErrorKind as ErrorKindOfFile;

use datafusion::common::{DataFusionError, SchemaError};
use datafusion::sql::sqlparser::parser::ParserError;
use remanent_engine::ErrorKind;

/// What a call of this crate returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error with its SQLSTATE.
///
/// # Examples
/// ```
/// use remanent_sql::{Error, SqlState};
/// let error = Error::new(SqlState::DIVISION_BY_ZERO, "division by zero");
/// let error = error.hint("check the divisor");
/// assert_eq!(error.state().as_str(), "22012");
/// assert_eq!(error.to_string(), "division by zero");
/// ```
pub struct Error(Box<Parts>);

struct Parts {
    state: SqlState,
    message: String,
    detail: Option<String>,
    hint: Option<String>,
    position: Option<usize>,
    routine: Option<&'static str>,
    subject: Subject,
}

/// What an error is about, as far as it is one thing.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Subject {
    /// The schema of the table.
    pub schema: Option<String>,
    /// The table.
    pub table: Option<String>,
    /// The column.
    pub column: Option<String>,
    /// The constraint, or the index that is one.
    pub constraint: Option<String>,
}

/// The five characters that say what kind of error it is, as the SQL standard and PostgreSQL have
/// them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SqlState(&'static str);

macro_rules! states {
    ($($(#[doc = $doc:literal])+ $name:ident = $state:literal;)+) => {
        impl SqlState {
            $($(#[doc = $doc])+ pub const $name: Self = Self($state);)+
        }
    };
}

states! {
    /// A message that does not fit the state of the conversation.
    PROTOCOL_VIOLATION = "08P01";
    /// A feature of SQL that is not there.
    FEATURE_NOT_SUPPORTED = "0A000";
    /// A number of columns or values that does not fit.
    CARDINALITY = "21000";
    /// Text that is longer than its column allows.
    TEXT_TOO_LONG = "22001";
    /// A number that does not fit its type.
    NUMBER_OUT_OF_RANGE = "22003";
    /// A date or time that cannot be read.
    BAD_DATETIME = "22007";
    /// A date or time beyond the calendar.
    DATETIME_OUT_OF_RANGE = "22008";
    /// A division by zero.
    DIVISION_BY_ZERO = "22012";
    /// A parameter or setting with a value that it cannot have.
    BAD_PARAMETER = "22023";
    /// Text that is not in the encoding that was agreed on.
    BAD_ENCODING = "22021";
    /// Text that is not a value of the type asked for.
    BAD_TEXT = "22P02";
    /// Bytes that are not a value of the type asked for.
    BAD_BINARY = "22P03";
    /// A logarithm of what has none.
    BAD_LOGARITHM = "2201E";
    /// A power or root that there is not.
    BAD_POWER = "2201F";
    /// A regular expression that is none.
    BAD_PATTERN = "2201B";
    /// Data of COPY that cannot be read.
    BAD_COPY = "22P04";
    /// Nothing is wrong.
    SUCCESSFUL = "00000";
    /// Something was passed over that need not be as it was meant.
    WARNING = "01000";
    /// A constraint was violated, whichever.
    INTEGRITY = "23000";
    /// A column that must have a value has none.
    NOT_NULL_VIOLATION = "23502";
    /// A row refers to one that is not there, or is referred to.
    FOREIGN_KEY_VIOLATION = "23503";
    /// A key exists already.
    UNIQUE_VIOLATION = "23505";
    /// A condition of the table does not hold.
    CHECK_VIOLATION = "23514";
    /// The statement does not fit the state of the transaction.
    BAD_TRANSACTION_STATE = "25000";
    /// A statement that cannot run within a transaction.
    ACTIVE_TRANSACTION = "25001";
    /// The transaction only reads.
    READ_ONLY = "25006";
    /// There is no transaction.
    NO_TRANSACTION = "25P01";
    /// The transaction has failed and waits for its end.
    IN_FAILED_TRANSACTION = "25P02";
    /// There is no prepared statement of this name.
    UNKNOWN_STATEMENT = "26000";
    /// A name or password that is not accepted.
    BAD_AUTHORIZATION = "28000";
    /// A password that is not the role's.
    BAD_PASSWORD = "28P01";
    /// Something else depends on it.
    DEPENDENT_OBJECTS = "2BP01";
    /// There is no savepoint of this name.
    UNKNOWN_SAVEPOINT = "3B001";
    /// There is no cursor of this name.
    UNKNOWN_CURSOR = "34000";
    /// There is no schema of this name.
    UNKNOWN_SCHEMA = "3F000";
    /// Another transaction was first; try again.
    SERIALIZATION_FAILURE = "40001";
    /// A row was changed by another transaction for too long.
    LOCK_NOT_AVAILABLE = "55P03";
    /// The text is not SQL.
    SYNTAX_ERROR = "42601";
    /// The role may not do this.
    NO_PRIVILEGE = "42501";
    /// A name that means something already.
    RESERVED_NAME = "42939";
    /// A definition that contradicts itself.
    BAD_DEFINITION = "42P16";
    /// Something that cannot be done with this object.
    WRONG_OBJECT = "42809";
    /// A value of one type where another is needed.
    TYPE_MISMATCH = "42804";
    /// There is no column of this name.
    UNKNOWN_COLUMN = "42703";
    /// There is no function of this name, or none for these types.
    UNKNOWN_FUNCTION = "42883";
    /// There is no table of this name.
    UNKNOWN_TABLE = "42P01";
    /// There is no index, constraint, type or role of this name.
    UNKNOWN_OBJECT = "42704";
    /// A parameter that was not given.
    UNKNOWN_PARAMETER = "42P02";
    /// A name that could be of several columns.
    AMBIGUOUS_COLUMN = "42702";
    /// A column named twice.
    DUPLICATE_COLUMN = "42701";
    /// A table of this name exists.
    DUPLICATE_TABLE = "42P07";
    /// A schema of this name exists.
    DUPLICATE_SCHEMA = "42P06";
    /// An index, constraint or role of this name exists.
    DUPLICATE_OBJECT = "42710";
    /// A prepared statement of this name exists.
    DUPLICATE_STATEMENT = "42P05";
    /// The columns of GROUP BY and of the rest do not fit.
    GROUPING_ERROR = "42803";
    /// A value for a column that computes its own.
    GENERATED_ALWAYS = "428C9";
    /// A cursor or portal of this name exists.
    DUPLICATE_CURSOR = "42P03";
    /// The names and the values of ON CONFLICT fit no key.
    BAD_CONFLICT_TARGET = "42P10";
    /// A right that there is not on such an object.
    BAD_GRANT = "0LP01";
    /// Something that is not in the state that is needed.
    WRONG_STATE = "55000";
    /// Others use it.
    OBJECT_IN_USE = "55006";
    /// A transaction block in which nothing happened for too long.
    IDLE_IN_TRANSACTION = "25P03";
    /// There are too many connections.
    TOO_MANY_CONNECTIONS = "53300";
    /// A statement that is nested too deeply.
    TOO_COMPLEX = "54001";
    /// A list of more columns than there may be.
    TOO_MANY_COLUMNS = "54011";
    /// A limit that somebody has set is reached.
    CONFIGURED_LIMIT = "53400";
    /// There is no room left on a disk.
    DISK_FULL = "53100";
    /// The memory budget is reached.
    OUT_OF_MEMORY = "53200";
    /// More of something than there may be, whatever the memory.
    LIMIT_EXCEEDED = "54000";
    /// The statement was cancelled or took too long.
    CANCELLED = "57014";
    /// The server ends.
    SHUTDOWN = "57P01";
    /// The group cannot be asked now.
    NOT_NOW = "57P03";
    /// A session without a statement for too long.
    IDLE_SESSION = "57P05";
    /// Reading or writing a file failed.
    IO_ERROR = "58030";
    /// A fault of this crate.
    INTERNAL = "XX000";
}

impl SqlState {
    /// The five characters.
    pub fn as_str(self) -> &'static str {
        self.0
    }
}

impl Error {
    /// An error with this state and message.
    pub fn new(state: SqlState, message: impl Into<String>) -> Self {
        let message = message.into();
        let subject = Subject::default();
        Self(Box::new(Parts {
            state,
            message,
            detail: None,
            hint: None,
            position: None,
            routine: None,
            subject,
        }))
    }

    /// The same error with what else is known of the case.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.0.detail = Some(detail.into());
        self
    }

    /// The same error with what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// The same error with the function of PostgreSQL's that says it, by which some clients know
    /// it among others of its state.
    #[must_use]
    pub fn of_routine(mut self, routine: &'static str) -> Self {
        self.0.routine = Some(routine);
        self
    }

    /// The same error with the place in the text, in characters from 1.
    #[must_use]
    pub(crate) fn at(mut self, position: Option<usize>) -> Self {
        self.0.position = self.0.position.or(position);
        self
    }

    /// The same error, about this constraint of a table.
    #[must_use]
    pub(crate) fn of_constraint(mut self, schema: &str, table: &str, constraint: &str) -> Self {
        self.0.subject.constraint = Some(constraint.to_owned());
        self.of_table(schema, table)
    }

    /// The same error, about this column of a table.
    #[must_use]
    pub(crate) fn of_column(mut self, schema: &str, table: &str, column: &str) -> Self {
        self.0.subject.column = Some(column.to_owned());
        self.of_table(schema, table)
    }

    fn of_table(mut self, schema: &str, table: &str) -> Self {
        self.0.subject.schema = Some(schema.to_owned());
        self.0.subject.table = Some(table.to_owned());
        self
    }

    /// A feature that is not there.
    pub(crate) fn unsupported(what: impl fmt::Display) -> Self {
        Self::new(SqlState::FEATURE_NOT_SUPPORTED, format!("{what} is not supported"))
    }

    /// A fault of this crate.
    pub(crate) fn internal(what: impl Into<String>) -> Self {
        Self::new(SqlState::INTERNAL, what)
    }

    /// What kind of error it is.
    pub fn state(&self) -> SqlState {
        self.0.state
    }

    /// What happened, in one sentence.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What else is known of the case.
    pub fn detail_text(&self) -> Option<&str> {
        self.0.detail.as_deref()
    }

    /// What to do about it.
    pub fn hint_text(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// What it is about.
    pub fn subject(&self) -> &Subject {
        &self.0.subject
    }

    /// Where in the text of the statement, in characters from 1.
    pub fn position(&self) -> Option<usize> {
        self.0.position
    }

    /// The function of PostgreSQL's that says it, where clients look for that.
    pub fn routine(&self) -> Option<&'static str> {
        self.0.routine
    }

    /// What was written is nobody's: the replica does not lead its group any more.
    pub(crate) fn deposed() -> Self {
        let text = "this replica does not lead its group any more; nothing was committed";
        Self::new(SqlState::SHUTDOWN, text).hint("Connect again, and try again.")
    }

    /// Whether the transaction cannot go on after it: what it has read or written no longer holds.
    pub fn ends_transaction(&self) -> bool {
        self.0.state == SqlState::SERIALIZATION_FAILURE
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.state.as_str(), self.0.message)?;
        self.0.detail.iter().try_for_each(|detail| write!(f, " ({detail})"))
    }
}

impl std::error::Error for Error {}

impl From<remanent_engine::Error> for Error {
    fn from(error: remanent_engine::Error) -> Self {
        let state = match error.kind() {
            ErrorKind::OutOfMachineMemory => SqlState::OUT_OF_MEMORY,
            kind => SqlState(kind.sqlstate()),
        };
        let mut converted = Self::new(state, error.to_string());
        if error.kind() == ErrorKind::Conflict {
            converted = converted.hint("roll back and try again");
        }
        converted
    }
}

impl From<ParserError> for Error {
    fn from(error: ParserError) -> Self {
        match error {
            ParserError::TokenizerError(text) | ParserError::ParserError(text) => {
                Self::new(SqlState::SYNTAX_ERROR, text)
            }
            ParserError::RecursionLimitExceeded => {
                Self::new(SqlState::TOO_COMPLEX, "the statement is nested too deeply")
            }
        }
    }
}

impl From<datafusion::arrow::error::ArrowError> for Error {
    fn from(error: datafusion::arrow::error::ArrowError) -> Self {
        use datafusion::arrow::error::ArrowError;
        let state = match &error {
            ArrowError::DivideByZero => SqlState::DIVISION_BY_ZERO,
            ArrowError::ArithmeticOverflow(_) => SqlState::NUMBER_OUT_OF_RANGE,
            ArrowError::CastError(text)
                if text.contains("Overflow") || text.contains("Can't cast value") =>
            {
                return Self::new(SqlState::NUMBER_OUT_OF_RANGE, format!("out of range: {text}"));
            }
            ArrowError::InvalidArgumentError(text) if text.contains(" to store in a ") => {
                return Self::new(SqlState::NUMBER_OUT_OF_RANGE, "numeric field overflow")
                    .detail(text.clone());
            }
            ArrowError::CastError(text) if text.contains("out of range") => {
                SqlState::NUMBER_OUT_OF_RANGE
            }
            ArrowError::CastError(text) | ArrowError::ParseError(text) => {
                let is_time = ["Date", "Time"].iter().any(|kind| text.contains(kind));
                if is_time { SqlState::BAD_DATETIME } else { SqlState::BAD_TEXT }
            }
            ArrowError::ExternalError(source) if source.is::<Self>() => {
                let ArrowError::ExternalError(source) = error else { unreachable!() };
                return source.downcast::<Self>().map_or_else(|_| unreachable!(), |own| *own);
            }
            ArrowError::ExternalError(source) if source.is::<DataFusionError>() => {
                let ArrowError::ExternalError(source) = error else { unreachable!() };
                let source = source.downcast::<DataFusionError>();
                return source.map_or_else(|_| unreachable!(), |source| (*source).into());
            }
            ArrowError::ComputeError(text) if text.contains("verflow") => {
                return Self::new(SqlState::NUMBER_OUT_OF_RANGE, format!("out of range: {text}"));
            }
            ArrowError::MemoryError(_) => SqlState::OUT_OF_MEMORY,
            ArrowError::IoError(..) => {
                let ArrowError::IoError(_, source) = error else { unreachable!() };
                return source.into();
            }
            ArrowError::ComputeError(text) | ArrowError::InvalidArgumentError(text) => {
                state_by_words(text).unwrap_or(SqlState::BAD_PARAMETER)
            }
            _ => SqlState::INTERNAL,
        };
        let text = match error {
            ArrowError::DivideByZero => "division by zero".to_owned(),
            other => after_colon(&other.to_string()).to_owned(),
        };
        Self::new(state, text)
    }
}

impl From<DataFusionError> for Error {
    fn from(error: DataFusionError) -> Self {
        match error {
            DataFusionError::External(source) => match source.downcast::<Self>() {
                Ok(own) => *own,
                Err(other) => Self::of_fault(&other.to_string()),
            },
            DataFusionError::Context(_, source) | DataFusionError::Diagnostic(_, source) => {
                (*source).into()
            }
            DataFusionError::Shared(source) => match Self::of_shared(&source) {
                Some(own) => own,
                None => match source.find_root() {
                    DataFusionError::Execution(text) => Self::of_values(after_colon(text)),
                    DataFusionError::ResourcesExhausted(text) => Self::of_exhausted(text),
                    root => Self::of_fault(after_colon(&root.strip_backtrace())),
                },
            },
            DataFusionError::Collection(errors) => match errors.into_iter().next() {
                Some(first) => first.into(),
                None => Self::internal("an error without a reason"),
            },
            DataFusionError::ArrowError(source, _) => (*source).into(),
            DataFusionError::IoError(source) => source.into(),
            DataFusionError::SQL(source, _) => (*source).into(),
            DataFusionError::SchemaError(source, _) => Self::of_schema(&source),
            DataFusionError::ResourcesExhausted(text) => Self::of_exhausted(&text),
            DataFusionError::NotImplemented(text) => {
                Self::new(SqlState::FEATURE_NOT_SUPPORTED, text)
            }
            DataFusionError::Plan(text) => Self::of_plan(text),
            DataFusionError::Execution(text) => Self::of_values(after_colon(&text)),
            other => {
                let text = other.strip_backtrace();
                Self::of_fault(after_colon(&text))
            }
        }
    }
}

impl Error {
    /// The same for operators that write files where memory is refused so, and no other way.
    pub(crate) fn into_exhausted(self) -> DataFusionError {
        let detail = self.0.detail.as_deref().unwrap_or_default();
        DataFusionError::ResourcesExhausted(format!("{}\n{detail}", self.0.message))
    }

    /// An operator that found no memory, in its own words or as the line before.
    fn of_exhausted(text: &str) -> Self {
        let reached = "the memory budget is reached: the query needs more than is left";
        let (message, detail) = text.split_once('\n').unwrap_or((reached, text));
        Self::new(SqlState::OUT_OF_MEMORY, message).detail(detail)
    }

    fn of_shared(source: &DataFusionError) -> Option<Self> {
        let DataFusionError::External(inner) = source.find_root() else {
            return None;
        };
        let own = inner.downcast_ref::<Self>()?;
        Some(Self::new(own.state(), own.message()))
    }

    fn of_schema(error: &SchemaError) -> Self {
        let text = error.to_string();
        let state = match error {
            SchemaError::FieldNotFound { .. } => SqlState::UNKNOWN_COLUMN,
            SchemaError::AmbiguousReference { .. } => SqlState::AMBIGUOUS_COLUMN,
            SchemaError::DuplicateQualifiedField { .. }
            | SchemaError::DuplicateUnqualifiedField { .. } => SqlState::DUPLICATE_COLUMN,
        };
        if let SchemaError::FieldNotFound { field, valid_fields } = error {
            let mut error =
                Self::new(state, format!("column {} does not exist", field.flat_name()));
            if !valid_fields.is_empty() && valid_fields.len() <= 20 {
                let names: Vec<String> = valid_fields.iter().map(|f| f.flat_name()).collect();
                error = error.hint(format!("There are: {}.", names.join(", ")));
            }
            return error;
        }
        if let SchemaError::AmbiguousReference { field } = error {
            let text = format!("column reference {} is ambiguous", field.flat_name());
            return Self::new(state, text);
        }
        Self::new(state, text)
    }

    /// What the binder says in words only.
    fn of_plan(text: String) -> Self {
        if let Some(error) = Self::of_coercion(&text) {
            return error;
        }
        let has = |words: &str| text.contains(words);
        let state = if has("Invalid function") || has("No function matches") {
            SqlState::UNKNOWN_FUNCTION
        } else if has("must appear in the GROUP BY") || has("must be part of") {
            SqlState::GROUPING_ERROR
        } else if has("not found") && has("able") {
            SqlState::UNKNOWN_TABLE
        } else if has("oerc") || has("type") {
            SqlState::TYPE_MISMATCH
        } else {
            SqlState::SYNTAX_ERROR
        };
        Self::new(state, text)
    }

    /// What a function says of the types that it is called with, in the words of whoever asked it.
    fn of_coercion(text: &str) -> Option<Self> {
        let (_, own) = text.split_once("coercion failed with: ")?;
        let own = own.trim_start_matches("External error: ");
        Some(Self::new(SqlState::UNKNOWN_FUNCTION, own))
    }

    /// What a function says of the values that it was called with.
    fn of_values(text: &str) -> Self {
        if let Some(error) = Self::of_coercion(text) {
            return error;
        }
        Self::new(state_by_words(text).unwrap_or(SqlState::BAD_PARAMETER), text)
    }

    /// What should never be, unless a function says so of the values that it was called with.
    fn of_fault(text: &str) -> Self {
        Self::new(state_by_words(text).unwrap_or(SqlState::INTERNAL), text)
    }
}

/// The states that errors in words alone have, each by any of its words; the first that fits
/// counts. Functions check the types of their arguments when they are called, and tell it as they
/// tell of values.
const STATES_BY_WORDS: [(SqlState, &[&str]); 12] = [
    (SqlState::DIVISION_BY_ZERO, &["Divide by zero"]),
    (SqlState::CARDINALITY, &["more than one row"]),
    (SqlState::OUT_OF_MEMORY, &["failed to allocate", "memory allocation"]),
    (SqlState::LIMIT_EXCEEDED, &["maximum array size", "maximum allowed length"]),
    (SqlState::BAD_PATTERN, &["egular expression", "regex parse error", "egex"]),
    (SqlState::BAD_DATETIME, &["Error parsing timestamp", "as time", "Error parsing date"]),
    (
        SqlState::UNKNOWN_FUNCTION,
        &[
            "nsupported data type",
            "nsupported type",
            "does not support type",
            "only support",
            "only accepts",
            "array arguments",
            "expects at least",
            "expects list",
            "expects exactly",
            "requires an odd number",
            "requires an even number",
            "requires at least",
            "requires the input",
            "requires exactly",
            "must be a union",
            "Cannot access field",
            "exactly one argument",
            "AvgAccumulator for",
            "source dependent",
        ],
    ),
    (SqlState::BAD_POWER, &["square root of a negative"]),
    (SqlState::NUMBER_OUT_OF_RANGE, &["verflow", "out of range", "out of bounds", "too large"]),
    (SqlState::BAD_PARAMETER, &["indices are 1 based", "failed to convert size"]),
    (SqlState::BAD_PARAMETER, &["requires", "must be", "Expected a", "Expected an"]),
    (SqlState::BAD_PARAMETER, &["invalid index", "not allowed"]),
];

fn state_by_words(text: &str) -> Option<SqlState> {
    let fits = |words: &[&str]| words.iter().any(|word| text.contains(word));
    STATES_BY_WORDS.iter().find(|(_, words)| fits(words)).map(|(state, _)| *state)
}

impl From<Error> for DataFusionError {
    fn from(error: Error) -> Self {
        Self::External(Box::new(error))
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        let state = match error.kind() {
            ErrorKindOfFile::StorageFull => SqlState::DISK_FULL,
            _ => SqlState::IO_ERROR,
        };
        match error.downcast::<Self>() {
            Ok(own) => own,
            Err(error) => Self::new(state, error.to_string()),
        }
    }
}

/// Without the name of the layer that DataFusion puts in front.
fn after_colon(text: &str) -> &str {
    match text.split_once(": ") {
        Some((layer, rest)) if layer.ends_with("error") || layer.ends_with("Error") => rest,
        _ => text,
    }
}
