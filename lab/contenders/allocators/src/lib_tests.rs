use lab_harness::blocks::FreeOrder;

use super::*;

#[test]
fn every_allocator_gives_blocks_that_keep_their_words() {
    for allocator in [Allocator::Malloc, Allocator::Mimalloc, Allocator::Jemalloc, Allocator::Mmap]
    {
        for block_bytes in [4096, 65_536] {
            let setting = &allocator.block_settings()[0];
            let mut store = allocator.open_blocks(setting, 300, block_bytes).unwrap();
            store.prepare();
            for order in [FreeOrder::Same, FreeOrder::Reverse] {
                store.allocate().unwrap();
                store.touch();
                assert_eq!(store.wrong(), 0, "{allocator:?} {block_bytes}");
                store.free(order).unwrap();
            }
        }
    }
}

#[test]
fn mappings_are_of_whole_pages_and_not_more_than_there_may_be() {
    let open = |count, bytes| {
        let opened = Allocator::Mmap.open_blocks(&MMAP[0], count, bytes);
        opened.err().map(|failure| failure.to_string())
    };
    assert!(open(10, 1024).unwrap().contains("whole pages"));
    assert!(open(1 << 40, 4096).unwrap().contains("max_map_count"));
    assert_eq!(open(10, 4096), None);
}
