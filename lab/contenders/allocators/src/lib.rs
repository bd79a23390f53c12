//! Allocators beside which Remanent's region is measured: glibc's malloc, mimalloc, jemalloc.
//!
//! And the kernel itself, which maps and unmaps every block. Each with its defaults, called through
//! the interface that a program installs it by, and not installed. They know nothing of records:
//! they take part in the workload about memory and in no other.

mod heap;
mod map;

use std::alloc::{GlobalAlloc, System};

use lab_harness::blocks::{BlockStore, Kept};
use lab_harness::{Contender, Driver, Medium, Outcome, Promise, Setting, Tier};
use mimalloc::MiMalloc;
use tikv_jemallocator::Jemalloc;

/// The C library's allocator.
pub static MALLOC: Contender = Contender {
    blocks: Some(Driver { settings: MALLOC_SETTINGS, open: open_malloc }),
    ..Contender::named("malloc", map::libc_version)
};

/// Microsoft's.
pub static MIMALLOC: Contender = Contender {
    blocks: Some(Driver {
        settings: &[setting("mi_malloc, mi_free; defaults, not installed")],
        open: |_, count, bytes| kept(MiMalloc, count, bytes),
    }),
    ..Contender::named("mimalloc", || MIMALLOC_VERSION.to_owned())
};

/// FreeBSD's, as TiKV has it.
pub static JEMALLOC: Contender = Contender {
    blocks: Some(Driver {
        settings: &[setting("mallocx, sdallocx; defaults, not installed")],
        open: |_, count, bytes| kept(Jemalloc, count, bytes),
    }),
    ..Contender::named("jemalloc", || JEMALLOC_VERSION.to_owned())
};

/// A mapping for each block.
pub static MMAP: Contender = Contender {
    blocks: Some(Driver {
        settings: &[setting("mmap and munmap for each block, of whole pages")],
        open: open_mappings,
    }),
    ..Contender::named("mmap", || "the kernel's".to_owned())
};

/// As pinned in Cargo.toml.
const MIMALLOC_VERSION: &str = "3.3.2";
const JEMALLOC_VERSION: &str = "5.3.1";

/// The variant of malloc that keeps its memory.
const KEPT: &str = "kept";

const MALLOC_SETTINGS: &[Setting] = &[
    setting("malloc, free; defaults, one arena"),
    Setting {
        variant: KEPT,
        ..setting(
            "M_TRIM_THRESHOLD and M_MMAP_THRESHOLD raised: no memory goes back before the end",
        )
    },
];
const fn setting(note: &'static str) -> Setting {
    Setting {
        variant: "",
        promise: Promise::None,
        medium: Medium::Memory,
        tier: Tier::Always,
        note,
    }
}

fn open_malloc(setting: &Setting, count: u64, bytes: usize) -> Outcome<Box<dyn BlockStore>> {
    if setting.variant == KEPT {
        map::keep_memory()?;
    }
    kept(System, count, bytes)
}

fn open_mappings(_: &Setting, count: u64, bytes: usize) -> Outcome<Box<dyn BlockStore>> {
    let mappings = map::Mappings::new(bytes, count)?;
    Ok(Box::new(Kept::new(mappings, usize::try_from(count)?)))
}

fn kept(
    allocator: impl GlobalAlloc + 'static,
    count: u64,
    block_bytes: usize,
) -> Outcome<Box<dyn BlockStore>> {
    Ok(Box::new(Kept::new(heap::Heap::new(allocator, block_bytes)?, usize::try_from(count)?)))
}

#[cfg(test)]
#[path = "lib_tests.rs"]
mod tests;
