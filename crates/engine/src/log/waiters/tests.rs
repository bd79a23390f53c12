//! Who is woken, and who is not.

use std::sync::atomic::AtomicU32;
use std::time::Instant;

use super::*;

/// So long nobody waits who is woken.
const LONG: Duration = Duration::from_secs(60);

fn wanted(position: u64, on_disk: bool, is_to_write: bool) -> Wanted {
    Wanted { position, on_disk, is_to_write }
}

/// Waits until so many threads are in the list.
fn until_there_are(waiters: &Waiters, count: usize) {
    while waiters.list().len() != count {
        std::thread::yield_now();
    }
}

#[test]
fn those_are_woken_for_whom_it_is_enough() {
    let waiters = Waiters::default();
    let woken = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for (bit, it) in [
            wanted(10, false, false),
            wanted(10, true, false),
            wanted(20, false, false),
            wanted(30, false, true),
            wanted(40, false, true),
        ]
        .into_iter()
        .enumerate()
        {
            let (waiters, woken) = (&waiters, &woken);
            scope.spawn(move || {
                waiters.wait(it, LONG, || false);
                woken.fetch_or(1 << bit, Ordering::Relaxed);
            });
            // One after the other, so that it is known who is the first.
            until_there_are(waiters, bit + 1);
        }
        let until_woken = |bits: u32| {
            while woken.load(Ordering::Relaxed) & bits != bits {
                std::thread::yield_now();
            }
        };
        // The first, and one that writes.
        waiters.wake(10, 5);
        until_woken(0b01001);
        assert_eq!(waiters.list().len(), 3);
        // On disks now, and the other one writes.
        waiters.wake(19, 10);
        until_woken(0b11011);
        waiters.wake_all();
        until_woken(0b11111);
    });
    assert!(waiters.list().is_empty());
}

#[test]
fn who_need_not_wait_or_waits_too_long_leaves_the_list() {
    let waiters = Waiters::default();
    let begun = Instant::now();
    waiters.wait(wanted(1, false, false), LONG, || true);
    assert!(begun.elapsed() < LONG && waiters.list().is_empty());
    waiters.wait(wanted(1, false, false), Duration::from_millis(1), || false);
    assert!(waiters.list().is_empty());
}
