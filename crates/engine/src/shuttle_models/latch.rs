//! The latch: of those who hold it there is one.

use super::{check, race};
use crate::memory::atomic::{AtomicU32, Relaxed};
use crate::memory::latch::Latch;

struct Guarded {
    latch: Latch,
    inside: AtomicU32,
    count: AtomicU32,
}

impl Guarded {
    fn enter(&self) {
        assert_eq!(self.inside.load(Relaxed), 0, "nobody else is inside");
        self.inside.store(1, Relaxed);
        self.count.store(self.count.load(Relaxed) + 1, Relaxed);
        self.inside.store(0, Relaxed);
    }
}

/// Three threads count under the latch by reading and writing; no count is lost.
#[test]
fn shuttle_latch_excludes() {
    check(|| {
        let guarded = Guarded {
            latch: Latch::default(),
            inside: AtomicU32::new(0),
            count: AtomicU32::new(0),
        };
        let tried = AtomicU32::new(0);
        let wait = || {
            for _ in 0..2 {
                let _latched = guarded.latch.lock();
                guarded.enter();
            }
        };
        let try_once = || {
            if let Some(_latched) = guarded.latch.try_lock() {
                guarded.enter();
                tried.store(1, Relaxed);
            }
        };
        race(vec![Box::new(wait), Box::new(wait), Box::new(try_once)]);
        assert_eq!(guarded.count.load(Relaxed), 4 + tried.load(Relaxed));
    });
}
