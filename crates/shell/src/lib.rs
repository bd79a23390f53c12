//! The SQL shell: statements and commands, typed or from scripts, on one database.
//!
//! It reads lines, cuts them into statements and commands, runs each in one session and prints what
//! comes of it, close to how psql does. Whoever starts it opens the database and says where lines
//! come from; nothing here is about files of a database.
//!
//! ```
//! use remanent_shell::{End, Input, Options, Streams};
//! use remanent_sql::SqlDatabase;
//! let inputs = vec![Input::Text("select 1 as one".into())];
//! let options = Options { inputs, ..Options::default() };
//! let end = remanent_shell::run(SqlDatabase::in_memory()?, &options, Streams::standard())?;
//! assert_eq!(end, End::Fine);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The modules, in the order in which a line meets them:

mod options;

mod repl;

mod lines;

mod terminal;

mod reading;

mod commands;

mod statements;

mod shell;

mod printing;

mod stop;

mod streams;

pub use options::{Format, Input, Options};
pub use repl::run;
pub use stop::End;
pub use streams::Streams;
