//! An operator of one input that gives on its rows, each in its own way.
//!
//! What such an operator has to say of itself is said here once; a [`Way`] says how its rows come,
//! and what is known of them if that is not all that is known of the input's.

use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result as PlanResult;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{Distribution, PhysicalExpr};
use datafusion::physical_expr_common::sort_expr::OrderingRequirements;
use datafusion::physical_plan::filter_pushdown::{
    ChildFilterDescription, FilterDescription, FilterPushdownPhase,
};
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan,
    InputDistributionRequirements, PlanProperties, ReplaceChildrenOptions,
};

/// For children that give what those before them gave.
pub(crate) const UNCHANGED: ReplaceChildrenOptions =
    ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep);

/// How rows are given on.
pub(crate) trait Way: fmt::Debug + fmt::Display + Clone + Send + Sync + 'static {
    /// The operator's name.
    const NAME: &'static str;

    /// Whether rows come in the order of the input, and in its partitions.
    const KEEPS_ORDER: bool = true;

    /// Whether it wants all rows in one partition.
    const IS_OF_ALL: bool = false;

    /// The order in which it wants its rows.
    fn order(&self) -> Option<OrderingRequirements> {
        None
    }

    /// What is known of the rows.
    fn properties(&self, input: &Arc<dyn ExecutionPlan>) -> Arc<PlanProperties> {
        Arc::clone(input.properties())
    }

    /// The rows of a partition.
    ///
    /// # Errors
    /// As the input.
    fn execute(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> PlanResult<SendableRecordBatchStream>;

    /// What becomes of filters of the rows that could be checked below: none are.
    ///
    /// # Errors
    /// None.
    fn filters(
        &self,
        _: &Arc<dyn ExecutionPlan>,
        _: FilterPushdownPhase,
        filters: &[Arc<dyn PhysicalExpr>],
    ) -> PlanResult<FilterDescription> {
        let stopped = ChildFilterDescription::all_unsupported(filters);
        Ok(FilterDescription::new().with_child(stopped))
    }
}

/// The operator.
#[derive(Debug)]
pub(crate) struct Through<W> {
    input: Arc<dyn ExecutionPlan>,
    way: W,
    properties: Arc<PlanProperties>,
}

impl<W: Way> Through<W> {
    pub(crate) fn over(input: Arc<dyn ExecutionPlan>, way: W) -> Arc<dyn ExecutionPlan> {
        Arc::new(Self { properties: way.properties(&input), input, way })
    }
}

impl<W: Way> DisplayAs for Through<W> {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.way, f)
    }
}

impl<W: Way> ExecutionPlan for Through<W> {
    fn name(&self) -> &str {
        W::NAME
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        let wanted = match W::IS_OF_ALL {
            true => Distribution::SinglePartition,
            false => Distribution::UnspecifiedDistribution,
        };
        InputDistributionRequirements::new(vec![wanted])
    }

    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        vec![self.way.order()]
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![W::KEEPS_ORDER]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        Ok(match children.pop() {
            Some(input) => Self::over(input, self.way.clone()),
            None => self,
        })
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> PlanResult<TreeNodeRecursion>,
    ) -> PlanResult<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn gather_filters_for_pushdown(
        &self,
        phase: FilterPushdownPhase,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        _: &ConfigOptions,
    ) -> PlanResult<FilterDescription> {
        self.way.filters(&self.input, phase, &filters)
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> PlanResult<SendableRecordBatchStream> {
        self.way.execute(&self.input, partition, context)
    }
}
