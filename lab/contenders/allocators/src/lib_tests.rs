use lab_harness::blocks::FreeOrder;

use super::*;

#[test]
fn every_allocator_gives_blocks_that_keep_their_words() {
    for allocator in [&MALLOC, &MIMALLOC, &JEMALLOC, &MMAP] {
        let driver = allocator.blocks.unwrap();
        for block_bytes in [4096, 65_536] {
            let mut store = (driver.open)(&driver.settings[0], 300, block_bytes).unwrap();
            store.prepare();
            for order in [FreeOrder::Same, FreeOrder::Reverse] {
                store.allocate().unwrap();
                store.touch();
                assert_eq!(store.wrong(), 0, "{} {block_bytes}", allocator.name);
                store.free(order).unwrap();
            }
        }
    }
}

#[test]
fn mappings_are_of_whole_pages_and_not_more_than_there_may_be() {
    let open = |count, bytes| {
        let opened = open_mappings(&MMAP.block_settings()[0], count, bytes);
        opened.err().map(|failure| failure.to_string())
    };
    assert!(open(10, 1024).unwrap().contains("whole pages"));
    assert!(open(1 << 40, 4096).unwrap().contains("max_map_count"));
    assert_eq!(open(10, 4096), None);
}
