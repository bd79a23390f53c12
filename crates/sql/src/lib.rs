//! SQL over the rows of a Remanent database.
//!
//! A [`SqlDatabase`] is an engine database with what SQL adds to it; a [`Session`] runs statements
//! on it. DataFusion parses, binds and optimises; rows are read and written by the engine, with
//! DataFusion's operators above our scans. One session holds one engine transaction, so every
//! statement sees one snapshot, whatever interface the rows were written through.
//!
//! ```
//! use remanent_sql::{Datum, SqlDatabase};
//! let db = SqlDatabase::in_memory()?;
//! let mut session = db.session();
//! session.execute("create table part (id int primary key, name text not null)")?;
//! session.query("insert into part values ($1, $2)", &[1.into(), "bolt".into()])?;
//! let found = session.query("select name from part where id = $1", &[1.into()])?;
//! assert_eq!(found.rows, [[Datum::from("bolt")]]);
//! # Ok::<(), remanent_sql::Error>(())
//! ```
//!
//! The modules, in the order in which a statement meets them:

mod session;

mod worker;

mod point;

mod define;

mod change;

mod copy;

mod query;

mod plan;

mod rules;

mod pipeline;
mod scan;
mod threads;

mod functions;

mod session_functions;

mod changes;

mod backup;

mod system_catalog;

mod context;

mod result;

mod database;

mod plan_cache;

mod activity;

mod notifications;

mod group;
mod privileges;
mod workers;

mod transaction;

mod catalog;

mod values;

mod statement;

mod limits;

mod names;

mod error;
mod stack;

pub use activity::Client;
pub use catalog::role::Role;
pub use change::copy::CopyIn;
pub use changes::feed::{Change, ChangeBatch, ChangeFeed, ChangeKind, ChangedColumn, ChangedTable};
pub use copy::{Copy, CopyFormat, StatementKind};
pub use database::{Freezing, SqlDatabase};
pub use error::{Error, Result, SqlState, Subject};
pub use group::{Group, GroupMember, GroupView, MAX_STALENESS, READ_AFTER};
pub use limits::cancel::Cancel;
pub use limits::heap::CountingAllocator;
pub use limits::held::Held;
pub use notifications::Notification;
pub use point::records::{RecordColumn, RecordIndex, RecordReading, RecordTable};
pub use result::answer::{Answer, Notice, Outcome, Severity, Tag};
pub use result::rows::{ResultColumn, Rows};
pub use session::prepared::Prepared;
pub use session::statements::Session;
pub use statement::cursor::CursorStatement;
pub use statement::{Kind, Statement};
pub use transaction::TransactionStatus;
pub use values::datum::Datum;
pub use values::sql_type::SqlType;
pub use values::text::utf8;
pub use worker::{RunningTask, ScanParts, TaskRunner, function_of_text, function_to_text};
pub use workers::{Division, Stage, Task, Workers};
