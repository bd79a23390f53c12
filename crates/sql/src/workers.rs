//! Replicas that run parts of a query, as whoever knows them says.
//!
//! A query that reads much is cut in two: a *stage* reads a part of one table or more, and
//! whatever belongs to its rows, in each of several *tasks*; the rest puts together what the tasks
//! give. Who runs the tasks, and where, is somebody else's, above.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use datafusion::execution::{SendableRecordBatchStream, SessionState, TaskContext};
use datafusion::physical_plan::ExecutionPlan;

/// Rows that a table has at least for its scans to be divided, where nobody says otherwise.
const ROWS_MIN: usize = 1_000_000;

/// What runs the tasks of stages.
pub trait Workers: Debug + Send + Sync {
    /// How many tasks a stage is divided into now; it is run as a part of its query, in no task,
    /// if this is less than 2.
    fn tasks(&self) -> usize;

    /// Rows that a table has at least for its scans to be divided.
    fn rows_min(&self) -> usize {
        ROWS_MIN
    }

    /// The rows of all tasks of a stage, in any order: all have come when it ends. While nothing
    /// comes there is an empty batch from time to time, so that whoever reads can look whether to
    /// stop. What is wrong with a task, or with who runs it, is an error.
    fn run(&self, stage: Stage) -> SendableRecordBatchStream;
}

/// How a table is divided among the tasks of a stage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Division {
    /// Each reads some of its segments.
    Segments,
    /// Each reads the rows that have some of the values of a column of whole numbers, as it does of
    /// all tables that are divided so.
    Keys {
        /// The place of the column.
        column: usize,
        /// About the least value. What is less, or NULL, is the first task's.
        low: i64,
        /// About the greatest value. What is greater is the last task's.
        high: i64,
    },
}

/// A part of a query that several tasks run, each for a part of the rows of one table, or of
/// several that belong together by a key.
#[derive(Clone, Debug)]
pub struct Stage {
    /// What each of them runs, with operators that nobody has exchanged for quicker ones.
    pub plan: Arc<dyn ExecutionPlan>,
    /// Functions in it that sessions do not have by name, as texts of
    /// [`function_to_text`](crate::function_to_text); no two have one name.
    pub functions: Vec<String>,
    /// How many tasks there are.
    pub tasks: usize,
    /// Segments of the table that is divided; 0 if it is not by these.
    pub segments: usize,
    /// The timestamp of the state that they read.
    pub timestamp: u64,
}

/// One task of a stage. All of a stage know the same number of segments: rows behind those, none of
/// their snapshots sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Task {
    /// Its number, from 0 on.
    pub index: usize,
    /// How many there are.
    pub tasks: usize,
    /// Segments of the table that is divided; 0 if it is not by these.
    pub segments: usize,
    /// The timestamp of the state that all of them read.
    pub timestamp: u64,
}

impl Task {
    /// The numbers of the segments that it reads.
    pub(crate) fn numbers(self) -> Range<usize> {
        let bound = |index: usize| self.segments * index / self.tasks.max(1);
        bound(self.index)..bound(self.index + 1)
    }
}

/// The workers of a database, once somebody has said which.
#[derive(Debug, Default)]
pub(crate) struct WorkersOf(OnceLock<Arc<dyn Workers>>);

impl WorkersOf {
    /// A database has the same ones as long as it is open.
    pub(crate) fn set(&self, workers: Arc<dyn Workers>) {
        let _ = self.0.set(workers);
    }

    /// Those of the database that a state is of.
    pub(crate) fn of(state: &SessionState) -> Option<Arc<dyn Workers>> {
        state.config().get_extension::<Self>()?.0.get().cloned()
    }

    /// Those of the database that a task is of.
    pub(crate) fn of_task(task: &TaskContext) -> Option<Arc<dyn Workers>> {
        task.session_config().get_extension::<Self>()?.0.get().cloned()
    }
}
