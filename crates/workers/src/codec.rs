//! Scans of ours in plans that are sent, and functions in their filters.
//!
//! A scan goes as what it was planned of: table, columns, filters; whoever gets it plans it again,
//! by its own catalog. Its columns come along, so that a table which has another shape there is
//! noticed.

use std::sync::Arc;

use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::common::TableReference;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::logical_expr::{Extension, LogicalPlan, ScalarUDF};
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::logical_plan::LogicalExtensionCodec;
use datafusion_proto::logical_plan::from_proto::parse_expr;
use datafusion_proto::logical_plan::to_proto::serialize_expr;
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use datafusion_proto::protobuf::LogicalExprNode;
use prost::Message;
use remanent_sql::{
    Division, RunningTask, ScanParts, TaskRunner, function_of_text, function_to_text,
};
use serde::{Deserialize, Serialize};

/// A scan on its way. What somebody does not know of it is not passed over: it might be that the
/// scan is of a part.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SentScan {
    table: u32,
    columns: Vec<usize>,
    /// Each as bytes of DataFusion's.
    filters: Vec<Vec<u8>>,
    division: Option<SentDivision>,
    /// What it gives, as it is for whoever sends it.
    schema: String,
}

/// How a table is divided, on its way.
#[derive(Serialize, Deserialize)]
enum SentDivision {
    Segments,
    Keys { column: usize, low: i64, high: i64 },
}

impl From<Division> for SentDivision {
    fn from(division: Division) -> Self {
        match division {
            Division::Segments => Self::Segments,
            Division::Keys { column, low, high } => Self::Keys { column, low, high },
        }
    }
}

impl From<SentDivision> for Division {
    fn from(sent: SentDivision) -> Self {
        match sent {
            SentDivision::Segments => Self::Segments,
            SentDivision::Keys { column, low, high } => Self::Keys { column, low, high },
        }
    }
}

/// Sends scans, and plans them again.
#[derive(Clone, Debug)]
pub(crate) struct Codec {
    /// Who runs tasks here.
    pub(crate) runner: Arc<TaskRunner>,
}

/// The task that a plan is decoded for, in its context.
pub(crate) struct Decoding(pub(crate) Arc<RunningTask>);

impl PhysicalExtensionCodec for Codec {
    fn try_decode(
        &self,
        bytes: &[u8],
        _: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
        _: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let sent: SentScan = serde_json::from_slice(bytes).map_err(external)?;
        let task = context.session_config().get_extension::<Decoding>();
        let task = task.ok_or_else(|| internal("a scan was sent outside of a task"))?;
        let filters = sent.filters.iter().map(|filter| {
            let filter = LogicalExprNode::decode(filter.as_slice()).map_err(undecodable)?;
            parse_expr(&filter, context, &Filters).map_err(undecodable)
        });
        let (table, columns) = (sent.table, sent.columns);
        let division = sent.division.map(Division::from);
        let filters = filters.collect::<Result<_>>()?;
        let parts = ScanParts { table, columns, filters, division };
        let key = match division {
            Some(Division::Keys { column, .. }) => Some(column),
            _ => None,
        };
        if key.is_some_and(|key| !parts.columns.contains(&key)) {
            // Whether it is the same column here is seen by the scan's columns.
            return Err(internal("a table is divided by a column that is not read"));
        }
        let scan = self.runner.scan_of_parts(&parts, task.0.state())?;
        match shape(&scan.schema()) == sent.schema {
            true => Ok(scan),
            false => Err(internal("a table has other columns here")),
        }
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        bytes: &mut Vec<u8>,
        _: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        let parts = ScanParts::of(&node);
        let parts = parts.ok_or_else(|| internal(format!("{} cannot be sent", node.name())))?;
        let filters = parts.filters.iter().map(|filter| {
            let filter = serialize_expr(filter, &Filters).map_err(undecodable)?.encode_to_vec();
            // What is nested too deep can be written, and not read.
            LogicalExprNode::decode(filter.as_slice()).map_err(undecodable)?;
            Ok(filter)
        });
        let sent = SentScan {
            table: parts.table,
            columns: parts.columns,
            filters: filters.collect::<Result<_>>()?,
            division: parts.division.map(SentDivision::from),
            schema: shape(&node.schema()),
        };
        serde_json::to_writer(bytes, &sent).map_err(external)
    }
}

/// Sends the functions in filters of scans.
#[derive(Debug)]
struct Filters;

impl LogicalExtensionCodec for Filters {
    fn try_decode(&self, _: &[u8], _: &[LogicalPlan], _: &TaskContext) -> Result<Extension> {
        Err(internal("a plan in a filter"))
    }

    fn try_encode(&self, _: &Extension, _: &mut Vec<u8>) -> Result<()> {
        Err(internal("a plan in a filter"))
    }

    fn try_decode_table_provider(
        &self,
        _: &[u8],
        _: &TableReference,
        _: SchemaRef,
        _: &TaskContext,
    ) -> Result<Arc<dyn TableProvider>> {
        Err(internal("a table in a filter"))
    }

    fn try_encode_table_provider(
        &self,
        _: &TableReference,
        _: Arc<dyn TableProvider>,
        _: &mut Vec<u8>,
    ) -> Result<()> {
        Err(internal("a table in a filter"))
    }

    fn try_encode_udf(&self, function: &ScalarUDF, bytes: &mut Vec<u8>) -> Result<()> {
        if let Some(text) = function_to_text(function) {
            bytes.extend_from_slice(text.as_bytes());
        }
        Ok(())
    }

    fn try_decode_udf(&self, name: &str, bytes: &[u8]) -> Result<Arc<ScalarUDF>> {
        let text = std::str::from_utf8(bytes).ok();
        let function = text.and_then(function_of_text);
        function.ok_or_else(|| internal(format!("there is no function `{name}` here")))
    }
}

/// Names, types, and which can be NULL.
fn shape(schema: &Schema) -> String {
    let column = |field: &Arc<Field>| {
        let null = if field.is_nullable() { " null" } else { "" };
        format!("{} {}{null}", field.name(), field.data_type())
    };
    schema.fields().iter().map(column).collect::<Vec<_>>().join(", ")
}

fn internal(text: impl Into<String>) -> DataFusionError {
    DataFusionError::Internal(text.into())
}

fn undecodable(error: impl std::fmt::Display) -> DataFusionError {
    internal(format!("a filter cannot be sent: {error}"))
}

fn external(error: serde_json::Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
