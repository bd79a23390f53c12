//! The limit: what a data structure costs when it promises nothing.
//!
//! `BTreeMap` is the ordered limit, `HashMap` the unordered one, each behind one uncontended
//! `std::sync::Mutex`, as an application without a database would hold its working data; behind
//! an `RwLock` where threads share it. A flat array is the limit of reading small pairs in order.
//! No transactions, no undo, no durability. Records of variable length are boxed; records of fixed
//! length lie in the map, which is the best such an application can do.

mod array;
mod btree;
mod burst;
mod hash;
mod pairs;
mod sensors;
mod threads;

use lab_harness::{Medium, Promise, Setting, Tier};

pub use array::ARRAY;
pub use btree::BTREE;
pub use hash::HASH;

const ORDERED: &[Setting] =
    &[setting("Mutex<BTreeMap<u64, Box<[u8]>>>; [u8; 56] values for fixed records")];
const UNORDERED: &[Setting] =
    &[setting("Mutex<HashMap<u64, Box<[u8]>, Fx>>; [u8; 56] values for fixed records")];
const SHARED_ORDERED: &[Setting] =
    &[setting("RwLock<BTreeMap<i32, [u8; 206]>>, locked once for each transaction")];
const SHARED_UNORDERED: &[Setting] =
    &[setting("RwLock<HashMap<i32, [u8; 206], Fx>>, locked once; deletes by counting ids")];
const ORDERED_PAIRS: &[Setting] =
    &[setting("Mutex<BTreeMap<u64, [u8; 32]>>, locked for each call")];
const BURST: &[Setting] = &[setting("BTreeMap<u64, [u8; 32]>, no lock, no transactions")];
const HASHED_PAIRS: &[Setting] =
    &[setting("Mutex<HashMap<u64, [u8; 32], Fx>>, locked for each call")];
const FLAT_PAIRS: &[Setting] =
    &[setting("Vec<[u8; 40]>, a record at the place that its key says; no lock")];

const fn setting(note: &'static str) -> Setting {
    Setting {
        variant: "",
        promise: Promise::None,
        medium: Medium::Memory,
        tier: Tier::Always,
        note,
    }
}

/// The compiler whose standard library is measured stands for its version.
fn standard_library_version() -> String {
    env!("LAB_RUSTC_VERSION").to_owned()
}
