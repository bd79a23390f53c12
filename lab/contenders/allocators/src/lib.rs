//! Allocators beside which Remanent's region is measured: glibc's malloc, mimalloc, jemalloc.
//!
//! And the kernel itself, which maps and unmaps every block. Each with its defaults, called through
//! the interface that a program installs it by, and not installed. They know nothing of records:
//! they take part in the workload about memory and in no other.

mod heap;
mod map;

use std::alloc::{GlobalAlloc, System};

use lab_harness::blocks::{BlockStore, Kept};
use lab_harness::sensors::{RecordShape, SensorStore};
use lab_harness::{Contender, Medium, Outcome, Place, Promise, Setting, Tier};
use mimalloc::MiMalloc;
use tikv_jemallocator::Jemalloc;

/// An allocator that takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocator {
    /// The C library's.
    Malloc,
    /// Microsoft's.
    Mimalloc,
    /// FreeBSD's, as TiKV has it.
    Jemalloc,
    /// A mapping for each block.
    Mmap,
}

/// As pinned in Cargo.toml.
const MIMALLOC_VERSION: &str = "3.3.2";
const JEMALLOC_VERSION: &str = "5.3.1";

const MALLOC: &[Setting] = &[
    setting("malloc, free; defaults, one arena"),
    Setting {
        variant: "kept",
        ..setting(
            "M_TRIM_THRESHOLD and M_MMAP_THRESHOLD raised: no memory goes back before the end",
        )
    },
];
const MIMALLOC: &[Setting] = &[setting("mi_malloc, mi_free; defaults, not installed")];
const JEMALLOC: &[Setting] = &[setting("mallocx, sdallocx; defaults, not installed")];
const MMAP: &[Setting] = &[setting("mmap and munmap for each block, of whole pages")];

const fn setting(note: &'static str) -> Setting {
    Setting {
        variant: "",
        promise: Promise::None,
        medium: Medium::Memory,
        tier: Tier::Always,
        note,
    }
}

impl Contender for Allocator {
    fn name(&self) -> &'static str {
        match self {
            Self::Malloc => "malloc",
            Self::Mimalloc => "mimalloc",
            Self::Jemalloc => "jemalloc",
            Self::Mmap => "mmap",
        }
    }

    fn version(&self) -> String {
        match self {
            Self::Malloc => map::libc_version(),
            Self::Mimalloc => MIMALLOC_VERSION.to_owned(),
            Self::Jemalloc => JEMALLOC_VERSION.to_owned(),
            Self::Mmap => "the kernel's".to_owned(),
        }
    }

    fn settings(&self) -> &'static [Setting] {
        &[]
    }

    fn open_sensors(
        &self,
        _: &Setting,
        _: &Place<'_>,
        _: RecordShape,
    ) -> Outcome<Box<dyn SensorStore>> {
        Err("an allocator has no records".into())
    }

    fn block_settings(&self) -> &'static [Setting] {
        match self {
            Self::Malloc => MALLOC,
            Self::Mimalloc => MIMALLOC,
            Self::Jemalloc => JEMALLOC,
            Self::Mmap => MMAP,
        }
    }

    fn open_blocks(
        &self,
        setting: &Setting,
        count: u64,
        block_bytes: usize,
    ) -> Outcome<Box<dyn BlockStore>> {
        if setting.variant == "kept" {
            map::keep_memory()?;
        }
        match self {
            Self::Malloc => kept(System, count, block_bytes),
            Self::Mimalloc => kept(MiMalloc, count, block_bytes),
            Self::Jemalloc => kept(Jemalloc, count, block_bytes),
            Self::Mmap => {
                let mappings = map::Mappings::new(block_bytes, count)?;
                Ok(Box::new(Kept::new(mappings, usize::try_from(count)?)))
            }
        }
    }
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
