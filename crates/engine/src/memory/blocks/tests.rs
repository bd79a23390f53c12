//! Blocks by themselves: taken, given back, forgotten.

use super::Blocks;

#[test]
fn blocks_do_not_overlap_and_come_back() {
    let mut blocks = Blocks::reserve(64 << 20, 0).unwrap();
    for size in [32, 1000, 1024, 4096, 16 << 10, 64 << 10] {
        let taken: Vec<u64> = (0..200).map(|_| blocks.allocate(size).unwrap()).collect();
        for (number, &block) in taken.iter().enumerate() {
            blocks.bytes(block, size).fill(number as u8);
        }
        for (number, &block) in taken.iter().enumerate() {
            assert!(blocks.bytes(block, size).iter().all(|&byte| byte == number as u8));
        }
        taken.into_iter().for_each(|block| blocks.free(block, size));
    }
}

#[test]
fn reset_forgets_all_blocks_and_keeps_the_memory() {
    let mut blocks = Blocks::reserve(64 << 20, 0).unwrap();
    let empty = blocks.held_and_committed().0;
    let first: Vec<u64> = (0..1000).map(|_| blocks.allocate(4096).unwrap()).collect();
    let committed = blocks.held_and_committed().1;
    assert!(committed >= 1000 * 4096);
    blocks.reset().unwrap();
    assert_eq!(blocks.held_and_committed(), (empty, committed));
    let second: Vec<u64> = (0..1000).map(|_| blocks.allocate(4096).unwrap()).collect();
    assert_eq!(first, second);
    assert_eq!(blocks.held_and_committed().1, committed);
}
