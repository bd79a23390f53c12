//! pg_cancel_backend and pg_terminate_backend: sessions of others, stopped and ended.
//!
//! A superuser may stop everybody, a role its own sessions.

use std::sync::Arc;

use datafusion::arrow::array::{Array, BooleanArray, Int64Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::cast::as_int64_array;
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature,
    Volatility,
};

use crate::context::caller::Caller;
use crate::error::{Error, Result, SqlState};

/// What becomes of a session.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Does {
    Cancel,
    Terminate,
}

/// The functions of a caller.
pub(crate) fn functions(caller: &Arc<Caller>) -> Vec<Arc<ScalarUDF>> {
    let make = |does| {
        // A number that is written is of eight bytes until all are given their types.
        let [small, large] = [DataType::Int32, DataType::Int64];
        let mut taken = vec![vec![small.clone()], vec![large.clone()]];
        if does == Does::Terminate {
            taken.extend([vec![small, large.clone()], vec![large.clone(), large]]);
        }
        let taken = TypeSignature::OneOf(taken.into_iter().map(TypeSignature::Exact).collect());
        let signature = Signature::new(taken, Volatility::Volatile);
        let caller = Arc::clone(caller);
        Arc::new(ScalarUDF::from(Stops { does, signature, caller }))
    };
    [Does::Cancel, Does::Terminate].map(make).to_vec()
}

struct Stops {
    does: Does,
    signature: Signature,
    caller: Arc<Caller>,
}

impl Stops {
    /// Whether there was such a session.
    fn stop(&self, process: i64) -> Result<bool> {
        let database = self.caller.database()?;
        let Some(activity) = database.activities.of(process) else { return Ok(false) };
        let (catalog, asks) = (database.catalog(), self.caller.actor);
        if !asks.is_superuser(&catalog) {
            let word = match self.does {
                Does::Cancel => ("cancel superuser query", "query is being canceled"),
                Does::Terminate => ("terminate superuser process", "process is being terminated"),
            };
            let text = if activity.actor.is_superuser(&catalog) {
                format!("must be a superuser to {}", word.0)
            } else if activity.actor != asks {
                format!("must be the role whose {}", word.1)
            } else {
                String::new()
            };
            if !text.is_empty() {
                return Err(Error::new(SqlState::NO_PRIVILEGE, text));
            }
        }
        match self.does {
            Does::Cancel => activity.cancel(),
            Does::Terminate => activity.end(),
        }
        Ok(true)
    }
}

impl ScalarUDFImpl for Stops {
    fn name(&self) -> &str {
        match self.does {
            Does::Cancel => "pg_cancel_backend",
            Does::Terminate => "pg_terminate_backend",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> PlanResult<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> PlanResult<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let processes = cast(&arrays[0], &DataType::Int64)?;
        let processes: &Int64Array = as_int64_array(&processes)?;
        let is_null = |row| arrays.iter().any(|array| array.is_null(row));
        let stopped = (0..processes.len()).map(|row| match is_null(row) {
            true => Ok(None),
            false => self.stop(processes.value(row)).map(Some),
        });
        Ok(ColumnarValue::Array(Arc::new(stopped.collect::<Result<BooleanArray>>()?)))
    }
}

impl PartialEq for Stops {
    fn eq(&self, other: &Self) -> bool {
        self.does == other.does && self.caller == other.caller
    }
}

impl Eq for Stops {}

impl std::hash::Hash for Stops {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.does.hash(state);
        self.caller.session.hash(state);
    }
}

impl std::fmt::Debug for Stops {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
