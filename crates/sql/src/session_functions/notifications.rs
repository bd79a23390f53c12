//! pg_notify and pg_notification_queue_usage, and pg_listening_channels() in a FROM clause.
//!
//! A function asks for the same as NOTIFY does: it is done when the transaction has committed.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Float64Array, RecordBatch, StringArray, StringViewArray,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::datasource::{MemTable, provider_as_source};
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TableSource, Volatility,
};

use crate::context::StatementContext;
use crate::context::caller::Caller;
use crate::error::Result;

/// What the function in a FROM clause is called.
pub(crate) const LISTENING: &str = "pg_listening_channels";

/// What is asked.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Call {
    Notify,
    Usage,
}

/// The functions of a caller.
pub(crate) fn functions(caller: &Arc<Caller>) -> Vec<Arc<ScalarUDF>> {
    let make = |call| {
        let signature = match call {
            Call::Notify => Signature::string(2, Volatility::Volatile),
            Call::Usage => Signature::exact(Vec::new(), Volatility::Volatile),
        };
        let caller = Arc::clone(caller);
        Arc::new(ScalarUDF::from(NotificationFunction { call, signature, caller }))
    };
    [Call::Notify, Call::Usage].map(make).to_vec()
}

/// The channels to which a session listens, as what stands in a FROM clause.
pub(crate) fn listening(context: &StatementContext) -> Result<Arc<dyn TableSource>> {
    let field = Field::new(LISTENING, DataType::Utf8View, false);
    let schema = Arc::new(Schema::new(vec![field]));
    let mut channels = context.database.channels.of(&context.notifying.inbox);
    channels.sort_unstable();
    let channels: ArrayRef = Arc::new(StringArray::from(channels));
    let channels = cast(&channels, &DataType::Utf8View)?;
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![channels])?;
    Ok(provider_as_source(Arc::new(MemTable::try_new(schema, vec![vec![batch]])?)))
}

struct NotificationFunction {
    call: Call,
    signature: Signature,
    caller: Arc<Caller>,
}

impl NotificationFunction {
    fn notify(&self, channel: Option<&str>, payload: Option<&str>) -> Result<()> {
        self.caller.database()?.check_takes_changes()?;
        let (channel, payload) = (channel.unwrap_or_default(), payload.unwrap_or_default());
        self.caller.notifying.notify(channel, payload)
    }
}

impl ScalarUDFImpl for NotificationFunction {
    fn name(&self) -> &str {
        match self.call {
            Call::Notify => "pg_notify",
            Call::Usage => "pg_notification_queue_usage",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> PlanResult<DataType> {
        Ok(match self.call {
            // PostgreSQL's type for nothing is one of no values, which clients show as empty text.
            Call::Notify => DataType::Utf8View,
            Call::Usage => DataType::Float64,
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> PlanResult<ColumnarValue> {
        let rows = args.number_rows;
        if self.call == Call::Usage {
            let usage = self.caller.database()?.channels.usage();
            return Ok(ColumnarValue::Array(Arc::new(Float64Array::from(vec![usage; rows]))));
        }
        let texts = args.args.iter().map(|value| {
            let array = value.clone().into_array(rows)?;
            Ok(cast(&array, &DataType::Utf8View)?)
        });
        let texts = texts.collect::<PlanResult<Vec<ArrayRef>>>()?;
        let (channels, payloads) = (texts[0].as_string_view(), texts[1].as_string_view());
        for row in 0..rows {
            self.notify(text_of(channels, row), text_of(payloads, row))?;
        }
        let nothing = cast(&StringArray::from(vec![""; rows]), &DataType::Utf8View)?;
        Ok(ColumnarValue::Array(nothing))
    }
}

/// The text of a row; nothing where it is null.
fn text_of(array: &StringViewArray, row: usize) -> Option<&str> {
    array.is_valid(row).then(|| array.value(row))
}

impl PartialEq for NotificationFunction {
    fn eq(&self, other: &Self) -> bool {
        self.call == other.call && self.caller == other.caller
    }
}

impl Eq for NotificationFunction {}

impl std::hash::Hash for NotificationFunction {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.call.hash(state);
        self.caller.session.hash(state);
    }
}

impl std::fmt::Debug for NotificationFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
