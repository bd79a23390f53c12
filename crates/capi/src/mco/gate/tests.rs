use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;

use super::*;

/// Of no database that a test opens.
const NUMBER: u64 = u64::MAX;

#[test]
fn who_is_alone_meets_nobody() {
    let gate = Gate::default();
    let (writers, alone) = (AtomicU32::new(0), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for number in 0..3 {
            let (gate, writers, alone) = (&gate, &writers, &alone);
            scope.spawn(move || {
                let slot = Session::slots().take().expect("there are slots");
                for turn in 0..2000 {
                    let pass =
                        if number == 0 && turn % 8 == 0 { Pass::Exclusive } else { Pass::Shared };
                    if !gate.try_pass(pass, NUMBER, &slot.writes_in) {
                        gate.wait(pass, NUMBER, &slot.writes_in);
                    }
                    if pass == Pass::Exclusive {
                        alone.fetch_add(1, SeqCst);
                        assert_eq!(writers.load(SeqCst), 0);
                        std::thread::yield_now();
                        assert_eq!(writers.load(SeqCst), 0);
                        alone.fetch_sub(1, SeqCst);
                    } else {
                        writers.fetch_add(1, SeqCst);
                        assert_eq!(alone.load(SeqCst), 0);
                        writers.fetch_sub(1, SeqCst);
                    }
                    gate.leave(pass, &slot.writes_in);
                }
                Session::slots().put_back(slot);
            });
        }
    });
}
