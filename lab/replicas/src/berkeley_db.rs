//! A member of Berkeley DB's replication manager.
//!
//! It commits and is counted; how it catches up is not asked.

use lab_berkeley_db::replica::Site;
use lab_harness::Outcome;

use crate::member::{Member, spread};

/// Rows of a transaction that loads.
const LOADED_TOGETHER: usize = 100;

impl Member for Site {
    fn leads(&self) -> bool {
        self.is_master()
    }

    fn define(&self) -> Outcome<()> {
        self.create()
    }

    fn insert(&self, key: u64, _: &str) -> Outcome<()> {
        self.put(key)
    }

    fn load(&self, keys: std::ops::Range<u64>) -> Outcome<()> {
        let keys: Vec<u64> = keys.map(spread).collect();
        keys.chunks(LOADED_TOGETHER).try_for_each(|keys| Site::load(self, keys))
    }

    fn count(&self) -> Outcome<u64> {
        Site::count(self)
    }

    fn find(&self, _: u64) -> Outcome<bool> {
        Err("it is not asked to".into())
    }

    fn changes_applied(&self) -> u64 {
        0
    }
}
