//! An asymmetric fence, of two unequal halves: almost free for those who use a handle, dear for who
//! closes it.
//!
//! A user says that it is there (a plain store), then looks whether the handle is closing; who
//! closes says so, then looks for users. Neither may do its second step before its first. The
//! user's half only orders what the compiler does; the other half is a system call that makes all
//! running threads of the process pass a full barrier. Where the system refuses it, users pay for a
//! fence of their own. (The engine does the same where readers meet reclaimers.)

use std::sync::OnceLock;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, compiler_fence, fence};

// Of the kernel's linux/membarrier.h.
const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

/// Whether `heavy` reaches other threads. Who does not see it yet fences by itself.
static REACHES: AtomicBool = AtomicBool::new(false);

/// The user's half.
#[inline(always)]
pub(crate) fn light() {
    if REACHES.load(Relaxed) { compiler_fence(SeqCst) } else { fence(SeqCst) }
}

/// The half of who closes; `false` if it could not be done.
pub(crate) fn heavy() -> bool {
    prepare();
    fence(SeqCst);
    // A process that forked may have to ask again.
    !REACHES.load(Relaxed)
        || membarrier(PRIVATE_EXPEDITED)
        || membarrier(REGISTER_PRIVATE_EXPEDITED) && membarrier(PRIVATE_EXPEDITED)
}

/// Asks the system, once, before there is a handle.
pub(crate) fn prepare() {
    static ASKED: OnceLock<()> = OnceLock::new();
    ASKED.get_or_init(|| REACHES.store(membarrier(REGISTER_PRIVATE_EXPEDITED), SeqCst));
}

fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: the call takes numbers and changes no memory.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}
