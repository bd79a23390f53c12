//! nextval, currval, lastval and setval.
//!
//! Each session has its own, which know whose they are: so a session is given the numbers that it
//! took itself, and no role takes numbers that it may not.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::catalog::privilege::Privilege;
use crate::catalog::sequence::{ReserveIn, Sequence, SequenceValue};
use crate::catalog::snapshot::Snapshot;
use crate::context::caller::Caller;
use crate::database::SqlDatabase;
use crate::error::{Error, Result, SqlState};
use crate::names::{Name, PUBLIC};
use crate::privileges::Access;
use crate::statement;
use crate::values::arrow_out::assign;
use crate::values::sql_type::SqlType;

/// The functions of a caller.
pub(crate) fn functions(caller: &Arc<Caller>) -> Vec<Arc<ScalarUDF>> {
    let make = |call| Arc::new(ScalarUDF::from(SequenceFunction::new(call, caller)));
    [Call::Next, Call::Current, Call::Last, Call::Set].map(make).to_vec()
}

/// Takes the next number of a sequence for a session.
///
/// # Errors
/// As [`Sequence::next`].
pub(crate) fn take(
    database: &SqlDatabase,
    caller: &Caller,
    sequence: &Arc<Sequence>,
) -> Result<i64> {
    let next = match caller.numbering.transaction() {
        None => sequence.next(&database.store, ReserveIn::OwnTransaction)?,
        Some(transaction) => {
            caller.numbering.note(sequence);
            sequence.next(&database.store, ReserveIn::Writer(&*transaction.writing()?))?
        }
    };
    database.taken.note(caller.session, sequence.id, next);
    Ok(next)
}

/// Goes on with a sequence after a number, or with it.
///
/// # Errors
/// As [`Sequence::set`].
pub(crate) fn put(
    database: &SqlDatabase,
    caller: &Caller,
    sequence: &Arc<Sequence>,
    to: SequenceValue,
) -> Result<()> {
    match caller.numbering.transaction() {
        None => sequence.set(&database.store, ReserveIn::OwnTransaction, to),
        Some(transaction) => {
            caller.numbering.note(sequence);
            sequence.set(&database.store, ReserveIn::Writer(&*transaction.writing()?), to)
        }
    }
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
    caller: Arc<Caller>,
}

impl SequenceFunction {
    fn new(call: Call, caller: &Arc<Caller>) -> Self {
        let signature = match call {
            Call::Last => Signature::nullary(Volatility::Volatile),
            _ => Signature::variadic_any(Volatility::Volatile),
        };
        Self { call, signature, caller: Arc::clone(caller) }
    }

    fn row(&self, database: &SqlDatabase, args: &[ArrayRef], row: usize) -> Result<Option<i64>> {
        let session = self.caller.session;
        let undefined = |what: String| {
            let text = format!("{what} is not yet defined in this session");
            Error::new(SqlState::WRONG_STATE, text)
        };
        if self.call == Call::Last {
            let last = database.taken.last(session, None);
            return last.map(Some).ok_or_else(|| undefined("lastval".to_owned()));
        }
        let wrong = || {
            let text = format!("function {} does not exist for these arguments", self.name());
            Error::new(SqlState::UNKNOWN_FUNCTION, text)
        };
        let texts = args.first().and_then(|name| name.as_string_view_opt()).ok_or_else(wrong)?;
        if texts.is_null(row) {
            return Ok(None);
        }
        let uses: &[Privilege] = match self.call {
            Call::Next => &[Privilege::Usage, Privilege::Update],
            Call::Set => &[Privilege::Update],
            _ => &[Privilege::Usage, Privilege::Select],
        };
        let sequence = self.find(database, texts.value(row), uses)?;
        Ok(Some(match self.call {
            Call::Next => take(database, &self.caller, &sequence)?,
            Call::Set => {
                let numbers = args.get(1).and_then(|n| n.as_primitive_opt::<Int64Type>());
                let numbers = numbers.ok_or_else(wrong)?;
                if numbers.is_null(row) {
                    return Ok(None);
                }
                let is_called = match args.get(2) {
                    None => true,
                    Some(is_called) => is_called.as_boolean_opt().ok_or_else(wrong)?.value(row),
                };
                let number = numbers.value(row);
                put(database, &self.caller, &sequence, SequenceValue { number, is_called })?;
                number
            }
            Call::Current | Call::Last => {
                let last = database.taken.last(session, Some(sequence.id));
                last.ok_or_else(|| undefined(format!("currval of sequence {}", sequence.name)))?
            }
        }))
    }

    /// The sequence that a text names, if it may be used so.
    fn find(
        &self,
        database: &SqlDatabase,
        text: &str,
        uses: &[Privilege],
    ) -> Result<Arc<Sequence>> {
        let name = statement::parse_name(text)?;
        let catalog = self.caller.numbering.catalog().unwrap_or_else(|| database.catalog());
        let path = self.caller.path.iter().map(String::as_str).chain([PUBLIC]);
        let found =
            path.filter_map(|schema| catalog.sequences.get(&Name::from_ast(&name, schema).ok()?));
        let sequence = found.into_iter().next().cloned().ok_or_else(|| {
            Error::new(SqlState::UNKNOWN_TABLE, format!("sequence {name} does not exist"))
        })?;
        let access = Access { catalog: &catalog, actor: self.caller.actor, path: &[] };
        let checked = access.check_sequence(&sequence, uses);
        // Who may write a column takes its numbers anyway.
        let writes = self.call != Call::Set && writes_column(&catalog, access, &sequence);
        if writes { Ok(sequence) } else { checked.map(|()| sequence) }
    }
}

fn writes_column(catalog: &Snapshot, access: Access<'_>, sequence: &Sequence) -> bool {
    let Some((table, _)) = &sequence.belongs_to else { return false };
    let Some(table) = catalog.tables.get(table) else { return false };
    [Privilege::Insert, Privilege::Update]
        .iter()
        .any(|use_of| access.table(table, std::slice::from_ref(use_of)).is_ok())
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
        let database = self.caller.database()?;
        let rows = args.number_rows;
        let arrays = args.args.iter().enumerate().map(|(reserve_in, value)| {
            let array = value.clone().into_array(rows)?;
            let to = match array.data_type() {
                // A number in quotes.
                DataType::Utf8 | DataType::Utf8View
                    if reserve_in == 1 && self.call == Call::Set =>
                {
                    return Ok(assign(&array, &SqlType::BigInt)?);
                }
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
        self.call == other.call && self.caller == other.caller
    }
}

impl Eq for SequenceFunction {}

impl std::hash::Hash for SequenceFunction {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.call.hash(state);
        self.caller.session.hash(state);
    }
}

impl std::fmt::Debug for SequenceFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
