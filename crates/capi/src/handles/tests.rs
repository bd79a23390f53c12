use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Release;

use super::*;

/// Says when it goes.
struct Watched(Arc<AtomicBool>);

impl Drop for Watched {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

static HANDLES: Handles<Watched> = Handles::new();

#[test]
fn a_handle_that_is_pinned_is_not_closed() {
    const USERS: usize = 2;
    const PINS: usize = 300;
    for _ in 0..200 {
        let is_gone = Arc::new(AtomicBool::new(false));
        let Ok(token) = HANDLES.add(Watched(Arc::clone(&is_gone))) else { panic!("no place") };
        let users: [AtomicU64; USERS] = Default::default();
        let ended = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for user in &users {
                let ended = &ended;
                scope.spawn(move || {
                    for _ in 0..PINS {
                        // SAFETY: the value is not inspected after `user` is 0, and `close` asks.
                        let Some(value) = (unsafe { HANDLES.pin(token, user) }) else { break };
                        assert!(!value.0.load(SeqCst), "closed while it was pinned");
                        user.store(0, Release);
                    }
                    ended.fetch_add(1, SeqCst);
                });
            }
            let is_used = |_: &Watched| users.iter().any(|user| user.load(SeqCst) == token);
            while HANDLES.close(token, is_used).is_err() {
                std::thread::yield_now();
            }
        });
        assert!(is_gone.load(SeqCst));
        assert_eq!(ended.load(SeqCst), USERS);
    }
}
