//! Statements end within their limits: of memory, of time, of the stack; and a database that is
//! full can be emptied.

mod cancelling;
mod counted;
mod deep;
mod full_budget;
mod proportional;
mod query_memory;
mod spill;
