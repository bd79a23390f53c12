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

mod statement;

mod precedence;
mod spelling;

mod point;

mod access;

mod query;

mod join_order;

mod change;

mod copy;
mod cursor;

mod define;

mod catalog;

mod values;

mod database;
mod error;
mod held;
mod memory;
mod stack;

pub use access::Role;
pub use change::copy::CopyIn;
pub use copy::{Copy, CopyFormat, StatementKind};
pub use cursor::CursorStatement;
pub use database::SqlDatabase;
pub use error::{Error, Result, SqlState, Subject};
pub use held::Held;
pub use join_order::rules as join_order_rules;
pub use memory::heap::CountingAllocator;
pub use query::running::{ResultColumn, Rows};
pub use session::activity::Client;
pub use session::answer::{Answer, Notice, Outcome, Severity, Tag};
pub use session::cancel::Cancel;
pub use session::prepared::Prepared;
pub use session::statements::{Session, TransactionStatus};
pub use statement::{Kind, Statement};
pub use values::datum::Datum;
pub use values::sql_type::SqlType;
pub use values::text::utf8;
