//! The entry of an owned transaction: one thread is inside, as often as it likes.

use super::{check, race};
use crate::memory::atomic::{AtomicU32, Relaxed};
use crate::owned::Entry;

struct Guarded {
    entry: Entry,
    inside: AtomicU32,
    count: AtomicU32,
}

impl Guarded {
    /// Enters twice, one within the other, and counts after each, by reading and writing.
    fn enter_as(&self, thread: u32) {
        let first = self.entry.enter();
        assert_eq!(self.inside.load(Relaxed), 0, "nobody else is inside");
        self.inside.store(thread, Relaxed);
        let second = self.entry.enter();
        self.count.store(self.count.load(Relaxed) + 1, Relaxed);
        drop(second);
        assert_eq!(self.inside.load(Relaxed), thread, "nobody came in when the second was left");
        self.count.store(self.count.load(Relaxed) + 1, Relaxed);
        self.inside.store(0, Relaxed);
        drop(first);
    }
}

/// Three threads; no count is lost.
#[test]
fn shuttle_owned_transactions_are_entered_by_one_thread() {
    check(|| {
        let guarded =
            Guarded { entry: Entry::new(), inside: AtomicU32::new(0), count: AtomicU32::new(0) };
        let twice = || (0..2).for_each(|_| guarded.enter_as(1));
        let once = || guarded.enter_as(2);
        let other = || guarded.enter_as(3);
        race(vec![Box::new(twice), Box::new(once), Box::new(other)]);
        assert_eq!(guarded.count.load(Relaxed), 8);
    });
}
