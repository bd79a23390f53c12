//! A condition on groups, and which of their columns go out.
//!
//! It stands for a filter of DataFusion's on an aggregate: whoever makes a batch of groups drops
//! those that do not meet it, so that threads do this beside one another, too.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::compute::filter_record_batch;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::FilterExec;

use crate::error::{Error, Result};

/// A condition on groups.
#[derive(Clone, Debug)]
pub(crate) struct Having {
    /// Over what is said of groups.
    condition: Arc<dyn PhysicalExpr>,
    /// The columns that go out; all of them, if it is none.
    outputs: Option<Vec<usize>>,
    /// What it stands for.
    pub(crate) filter: Arc<dyn ExecutionPlan>,
}

impl Having {
    /// The condition that a plan is, which is a filter of an aggregate; `None` if rows beside the
    /// one that it is about matter to it.
    pub(crate) fn of(plan: &Arc<dyn ExecutionPlan>) -> Option<Self> {
        let filter = plan.downcast_ref::<FilterExec>()?;
        if filter.fetch().is_some() || is_volatile(filter.predicate()) {
            return None;
        }
        let outputs = filter.projection().as_ref().map(|places| places.to_vec());
        let (condition, filter) = (Arc::clone(filter.predicate()), Arc::clone(plan));
        Some(Self { condition, outputs, filter })
    }

    /// The column of groups that goes out in a place.
    pub(crate) fn column(&self, place: usize) -> usize {
        self.outputs.as_ref().map_or(place, |outputs| outputs[place])
    }

    /// Those groups of a batch that meet it.
    ///
    /// # Errors
    /// Whatever is met in evaluating it.
    pub(crate) fn kept(&self, groups: &RecordBatch) -> Result<RecordBatch> {
        let truths = self.condition.evaluate(groups)?.into_array(groups.num_rows())?;
        let truths = truths.as_boolean_opt();
        let truths = truths.ok_or_else(|| Error::internal("a condition that is no truth"))?;
        let kept = match &self.outputs {
            Some(outputs) => groups.project(outputs)?,
            None => groups.clone(),
        };
        match truths.true_count() == truths.len() {
            true => Ok(kept),
            false => Ok(filter_record_batch(&kept, truths)?),
        }
    }
}

impl fmt::Display for Having {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.condition)
    }
}
