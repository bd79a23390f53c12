//! A fence of two unequal halves: almost free for readers, dear for the one who reclaims.
//!
//! A reader says that it is about to read (a plain store), then reads. A reclaimer takes something
//! out, then looks whether anybody said so. Each must not do its second step before its first.
//! The reader's half is nothing but an order for the compiler; the reclaimer's half, a `membarrier`
//! system call, makes every running thread of the process pass a full barrier. After it, whoever
//! did not show as reading will find what was taken out gone. (The technique of asymmetric fences:
//! Desnoyers and others, "User-level implementations of read-copy update", IEEE TPDS 2012.) Where
//! the system refuses the call, readers pay for a fence of their own.

use std::sync::atomic::{Ordering, compiler_fence};

use super::Memory;

// Of the kernel's linux/membarrier.h.
const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

/// Whether the system offers the reclaimer's half; asked once for each database.
pub(crate) fn is_offered() -> bool {
    if cfg!(shuttle) {
        return true;
    }
    membarrier(REGISTER_PRIVATE_EXPEDITED)
}

/// The reader's half: between saying that it reads, and reading.
#[inline]
pub(crate) fn light(memory: &Memory) {
    if memory.has_heavy_barrier() {
        compiler_fence(Ordering::SeqCst);
    } else {
        super::atomic::full_fence();
    }
}

/// The reclaimer's half: between taking something out, and looking who reads.
pub(crate) fn heavy(memory: &Memory) {
    #[cfg(shuttle)]
    super::modelled::process_barrier();
    super::atomic::full_fence();
    if !cfg!(shuttle) && memory.has_heavy_barrier() {
        let done = membarrier(PRIVATE_EXPEDITED);
        assert!(done, "a registered membarrier does not fail");
    }
}

fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: the call takes two numbers and changes no memory.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0) == 0 }
}
