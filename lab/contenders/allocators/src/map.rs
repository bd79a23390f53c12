//! The kernel as an allocator: a mapping for each block; and what glibc is asked and told.
//!
//! `unsafe` for mmap, munmap, mallopt and one static string. The kernel keeps a list entry for
//! each mapping, of which a process may have so many; neighbours that look alike become one entry,
//! but whoever unmaps every other one has them all, so that more blocks than entries are refused
//! beforehand.

use std::ffi::CStr;
use std::fs;
use std::ptr::{self, NonNull};

use lab_harness::Outcome;
use lab_harness::blocks::{PAGE_BYTES, Source};

/// What is left to the program itself, its libraries and its stack.
const OWN_MAPPINGS: u64 = 200;

pub(crate) struct Mappings {
    block_bytes: usize,
}

pub(crate) struct MappedBlock(NonNull<u8>);

impl Mappings {
    pub(crate) fn new(block_bytes: usize, count: u64) -> Outcome<Self> {
        if !block_bytes.is_multiple_of(PAGE_BYTES) {
            return Err(format!("a mapping has whole pages, not {block_bytes} bytes").into());
        }
        let most: u64 = fs::read_to_string("/proc/sys/vm/max_map_count")?.trim().parse()?;
        if count + OWN_MAPPINGS > most {
            return Err(format!("{count} mappings exceed vm.max_map_count, {most}").into());
        }
        Ok(Self { block_bytes })
    }

    fn at(&self, block: &MappedBlock, offset: usize) -> NonNull<u64> {
        assert!(offset.is_multiple_of(8) && offset + 8 <= self.block_bytes);
        // SAFETY: the place lies within the mapping, as asserted.
        unsafe { block.0.add(offset).cast() }
    }
}

impl Source for Mappings {
    type Block = MappedBlock;

    fn block_bytes(&self) -> usize {
        self.block_bytes
    }

    fn allocate(&mut self) -> Outcome<MappedBlock> {
        let (access, kind) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping anywhere touches no memory that anybody has.
        let start = unsafe { libc::mmap(ptr::null_mut(), self.block_bytes, access, kind, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error().into());
        }
        let start = NonNull::new(start.cast()).ok_or("a mapping at zero")?;
        Ok(MappedBlock(start))
    }

    fn free(&mut self, block: MappedBlock) -> Outcome<()> {
        // SAFETY: the mapping is this block's, which nobody has any more.
        match unsafe { libc::munmap(block.0.as_ptr().cast(), self.block_bytes) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error().into()),
        }
    }

    fn start(&self, block: &MappedBlock) -> u64 {
        block.0.addr().get() as u64
    }

    fn write(&mut self, block: &mut MappedBlock, offset: usize, word: u64) {
        // SAFETY: the place is within a mapping that is borrowed alone, which may be written.
        unsafe { self.at(block, offset).write(word) };
    }

    fn read(&mut self, block: &mut MappedBlock, offset: usize) -> u64 {
        // SAFETY: as for writing; fresh mappings are zeroes.
        unsafe { self.at(block, offset).read() }
    }
}

/// Tells glibc's allocator to keep all memory that it ever had.
pub(crate) fn keep_memory() -> Outcome<()> {
    for option in [libc::M_TRIM_THRESHOLD, libc::M_MMAP_THRESHOLD] {
        // SAFETY: it sets a number in the allocator, which locks itself.
        if unsafe { libc::mallopt(option, 1 << 30) } == 0 {
            return Err("mallopt refused".into());
        }
    }
    Ok(())
}

/// The version that glibc reports.
pub(crate) fn libc_version() -> String {
    // SAFETY: a static string that ends in a zero.
    let version = unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) };
    format!("glibc {}", version.to_string_lossy())
}
