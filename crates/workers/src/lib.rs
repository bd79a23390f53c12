//! Queries over several replicas of a Remanent database.
//!
//! A query that reads much has a [stage](remanent_sql::Stage): several tasks, each of which reads a
//! part of one table. Here the tasks are sent to the replicas of a group, and run for others.
//! Plans, tasks and batches travel as `datafusion-distributed` sends them, over connections that
//! somebody else makes and secures. `remanent serve --divide-queries ROWS` does so.

mod calling;
mod codec;
mod group;
mod serving;

pub use calling::Replicas;
pub use group::{ByteStream, Connect, Group};
pub use serving::Service;
