//! Pages that somebody has for a while, for bytes that are not the database's but count as its
//! memory.
//!
//! They come from the pages that are free and go back to them, so that what is used again and again
//! meets no page fault.

use crate::error::Result;
use crate::memory::Memory;
use crate::memory::account::Purpose;
use crate::memory::allocator::AllocationClass;
use crate::memory::atomic::Relaxed;
use crate::memory::class::{PAGE_SHIFT, PAGE_SIZE};
#[cfg(shuttle)]
use crate::memory::modelled;
use crate::memory::pages::{PageKind, give_back, take_pages};

/// Pages for so many bytes. Whoever has it gives it back: it does not know of which memory it is.
#[derive(Debug)]
pub(crate) struct PageRun {
    page: u32,
    len: usize,
}

impl PageRun {
    /// Takes pages for so many bytes, and lets `fill` write them. Columns are evicted where the
    /// budget would refuse them.
    ///
    /// # Errors
    /// `BudgetReached`, `OutOfMachineMemory`; those of `fill`.
    pub(crate) fn filled(
        memory: &Memory,
        len: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<()>,
    ) -> Result<Self> {
        let count = len.div_ceil(PAGE_SIZE).max(1) as u32;
        let (region, class) = (memory.region(), AllocationClass::Normal);
        let take = || take_pages(region, count, PageKind::RUN, class);
        let page = memory.or_evict(u64::from(count) << PAGE_SHIFT, take)?;
        let run = Self { page, len };
        #[cfg(shuttle)]
        modelled::allocated(region.fresh_bytes(run.at(), len));
        memory.header().account.live[Purpose::Columns as usize].fetch_add(run.size(), Relaxed);
        match fill(region.fresh_bytes(run.at(), len)) {
            Ok(()) => Ok(run),
            Err(error) => {
                run.give_back(memory);
                Err(error)
            }
        }
    }

    /// The bytes.
    pub(crate) fn bytes<'m>(&self, memory: &'m Memory) -> &'m [u8] {
        memory.region().bytes(self.at(), self.len)
    }

    /// Gives the pages back. Nobody reads them any more.
    pub(crate) fn give_back(self, memory: &Memory) {
        memory.header().account.live[Purpose::Columns as usize].fetch_sub(self.size(), Relaxed);
        #[cfg(shuttle)]
        let _inside = modelled::free(memory.region().fresh_bytes(self.at(), self.len));
        give_back(memory.region(), self.page);
    }

    fn at(&self) -> u64 {
        u64::from(self.page) << PAGE_SHIFT
    }

    fn size(&self) -> u64 {
        (self.len.div_ceil(PAGE_SIZE).max(1) as u64) << PAGE_SHIFT
    }
}
