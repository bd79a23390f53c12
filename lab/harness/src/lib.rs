//! What every contender of the laboratory implements, and how a measured process is read.
//!
//! An adapter crate depends on this crate and on its engine, on nothing else: `contender` says
//! what it is and which settings it offers; `sensors`, `readers`, `sets` and `pairs` are the
//! interfaces of the sensor workload, of one writer among readers, of network sets, of small pairs,
//! of one large transaction (`burst`), and of an allocator (`blocks`). `clock`, `footprint` and
//! `at_hand` measure the process that an engine runs in; `machine` says what it runs on. Nothing
//! here knows how a run is planned, recorded or drawn; that is the `lab` program.

pub mod at_hand;
pub mod blocks;
pub mod burst;
pub mod clock;
pub mod contender;
pub mod footprint;
pub mod machine;
pub mod pairs;
pub mod readers;
pub mod sensors;
pub mod sets;

pub use clock::{Clock, last_core};
pub use contender::{Contender, Failure, Medium, Missing, Outcome, Place, Promise, Setting, Tier};
pub use footprint::Footprint;
