//! What an aggregate says of different values, which another accumulator gathers.
//!
//! DataFusion's would compute it in its own way; ours is computed anew of all of them in the end.

use std::mem::size_of_val;
use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::common::ScalarValue;
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::Accumulator;

/// An aggregate of different values.
#[derive(Debug)]
pub(crate) struct Distinct<A> {
    /// What gathers them: its state is a list.
    pub(crate) gathered: Box<dyn Accumulator>,
    /// What is computed of them, of none yet.
    pub(crate) begun: A,
}

impl<A: Accumulator + Clone> Accumulator for Distinct<A> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> PlanResult<()> {
        self.gathered.update_batch(values)
    }

    fn evaluate(&mut self) -> PlanResult<ScalarValue> {
        let mut all = self.begun.clone();
        for state in self.gathered.state()? {
            if let ScalarValue::List(lists) = state {
                all.update_batch(&[Arc::clone(lists.values())])?;
            }
        }
        all.evaluate()
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.gathered.size()
    }

    fn state(&mut self) -> PlanResult<Vec<ScalarValue>> {
        self.gathered.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> PlanResult<()> {
        self.gathered.merge_batch(states)
    }
}
