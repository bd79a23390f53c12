//! Memory that the machine has mapped when a measurement begins.
//!
//! A virtual machine gives free memory back to its host and gets it again when it is touched, which
//! takes many times as long as a page fault; whoever comes first would pay for it. So memory is
//! touched and given back before anything is measured: in small pages and in huge ones, which the
//! kernel keeps apart. `unsafe` for the mapping of the huge ones, which no safe call makes.

use std::hint::black_box;
use std::ptr;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

use crate::setting::Outcome;

const PAGE_BYTES: usize = 4096;

/// Touches so many bytes in small pages, and as many in huge ones, and gives all of them back.
///
/// # Errors
///
/// When there is not so much memory.
pub fn touch(bytes: usize) -> Outcome<()> {
    drop(black_box(vec![1_u8; bytes]));
    touch_huge(bytes.next_multiple_of(PAGE_BYTES))
}

fn touch_huge(bytes: usize) -> Outcome<()> {
    if bytes == 0 {
        return Ok(());
    }
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping anywhere touches no memory that anybody has.
    let start = unsafe { mmap_anonymous(ptr::null_mut(), bytes, access, MapFlags::PRIVATE) }?;
    // SAFETY: advice about that mapping, whose content it does not change; a kernel without huge
    // pages refuses, and the pages are small ones.
    let _ = unsafe { madvise(start, bytes, Advice::LinuxHugepage) };
    for offset in (0..bytes).step_by(PAGE_BYTES) {
        // SAFETY: the place lies within the mapping, which may be written and is nobody else's.
        unsafe { start.cast::<u8>().add(offset).write_volatile(1) };
    }
    // SAFETY: the mapping is not used again.
    unsafe { munmap(start, bytes) }?;
    Ok(())
}
