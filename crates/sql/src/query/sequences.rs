//! nextval, currval, lastval and setval.
//!
//! Each takes one argument more than SQL has: the number of the session, which is put in when the
//! statement is prepared, so that a session is told the numbers that it took itself.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;

use crate::catalog::names::{Name, PUBLIC};
use crate::catalog::sequence::Sequence;
use crate::database::SqlDatabase;
use crate::error::{Error, Result, SqlState};

/// The functions' way to the database, which exists after them.
pub(crate) type Home = Arc<OnceLock<Weak<SqlDatabase>>>;

/// What sessions took from sequences, by the number of the session.
#[derive(Default)]
pub(crate) struct Taken {
    sessions: Mutex<HashMap<u64, OfSession>>,
}

#[derive(Default)]
struct OfSession {
    by_sequence: HashMap<Name, i64>,
    last: Option<i64>,
}

impl Taken {
    /// Notes a number that a session took.
    pub(crate) fn note(&self, session: u64, name: &Name, number: i64) {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = sessions.entry(session).or_default();
        taken.by_sequence.insert(name.clone(), number);
        taken.last = Some(number);
    }

    fn last(&self, session: u64, name: Option<&Name>) -> Option<i64> {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = sessions.get(&session)?;
        match name {
            Some(name) => taken.by_sequence.get(name).copied(),
            None => taken.last,
        }
    }

    /// Forgets a session.
    pub(crate) fn forget(&self, session: u64) {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner).remove(&session);
    }
}

/// The functions.
pub(crate) fn functions(home: &Home) -> Vec<Arc<ScalarUDF>> {
    let make = |call| Arc::new(ScalarUDF::from(SequenceFunction::new(call, home)));
    [Call::Next, Call::Current, Call::Last, Call::Set].map(make).to_vec()
}

/// Whether a function takes the number of the session.
pub(crate) fn takes_session(name: &str) -> bool {
    ["nextval", "currval", "lastval", "setval"].contains(&name)
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Call {
    Next,
    Current,
    Last,
    Set,
}

struct SequenceFunction {
    call: Call,
    signature: Signature,
    home: Home,
}

impl SequenceFunction {
    fn new(call: Call, home: &Home) -> Self {
        let signature = Signature::variadic_any(Volatility::Volatile);
        Self { call, signature, home: Arc::clone(home) }
    }

    fn row(&self, database: &SqlDatabase, args: &[ArrayRef], row: usize) -> Result<Option<i64>> {
        let session = args.last().map(|id| id.as_primitive::<Int64Type>().value(row) as u64);
        let session = session.unwrap_or_default();
        let text = || -> Option<&str> {
            let text = args.first()?.as_string_view_opt()?;
            (!text.is_null(row)).then(|| text.value(row))
        };
        let undefined = |what: String| {
            let text = format!("{what} is not yet defined in this session");
            Error::new(SqlState::WRONG_STATE, text)
        };
        if self.call == Call::Last {
            let last = database.taken.last(session, None);
            return last.map(Some).ok_or_else(|| undefined("lastval".to_owned()));
        }
        let Some(text) = text() else { return Ok(None) };
        let sequence = find(database, text)?;
        Ok(Some(match self.call {
            Call::Next => {
                let next = sequence.next(&database.store)?;
                database.taken.note(session, &sequence.name, next);
                next
            }
            Call::Set => {
                let number = args[1].as_primitive::<Int64Type>().value(row);
                let is_called = match args.len() {
                    4 => args[2].as_boolean().value(row),
                    _ => true,
                };
                sequence.set(&database.store, number, is_called)?;
                number
            }
            Call::Current | Call::Last => {
                let last = database.taken.last(session, Some(&sequence.name));
                last.ok_or_else(|| undefined(format!("currval of sequence {}", sequence.name)))?
            }
        }))
    }
}

/// The sequence that a text names.
fn find(database: &SqlDatabase, text: &str) -> Result<Arc<Sequence>> {
    let mut parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(text)?;
    let name = Name::from_ast(&parser.parse_object_name(false)?, PUBLIC)?;
    let catalog = database.catalog();
    catalog.sequences.get(&name).cloned().ok_or_else(|| {
        Error::new(SqlState::UNKNOWN_TABLE, format!("sequence {name} does not exist"))
    })
}

impl ScalarUDFImpl for SequenceFunction {
    fn name(&self) -> &str {
        match self.call {
            Call::Next => "nextval",
            Call::Current => "currval",
            Call::Last => "lastval",
            Call::Set => "setval",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> PlanResult<DataType> {
        Ok(DataType::Int64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> PlanResult<ColumnarValue> {
        let gone = || Error::internal("the database is gone");
        let database = self.home.get().and_then(Weak::upgrade).ok_or_else(gone)?;
        let rows = args.number_rows;
        let arrays = args.args.iter().map(|value| {
            let array = value.clone().into_array(rows)?;
            let to = match array.data_type() {
                DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
                data_type if data_type.is_integer() => DataType::Int64,
                _ => return Ok(array),
            };
            Ok(cast(&array, &to)?)
        });
        let arrays = arrays.collect::<PlanResult<Vec<ArrayRef>>>()?;
        let numbers = (0..rows).map(|row| self.row(&database, &arrays, row));
        let numbers = numbers.collect::<Result<Int64Array>>()?;
        Ok(ColumnarValue::Array(Arc::new(numbers)))
    }
}

impl PartialEq for SequenceFunction {
    fn eq(&self, other: &Self) -> bool {
        self.call == other.call
    }
}

impl Eq for SequenceFunction {}

impl std::hash::Hash for SequenceFunction {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.call.hash(state);
    }
}

impl std::fmt::Debug for SequenceFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
