//! Every size has a class that holds it and does not waste much.

use super::*;

#[test]
fn every_size_fits_its_class_closely() {
    for size in 0..=BLOCK_SIZE_MAX {
        let class = class_of(size).expect("a class");
        let block = size_of_class(class);
        assert!(block >= size, "{size} bytes in a block of {block}");
        assert!(class == 0 || size_of_class(class - 1) < size, "{size} fits a smaller class");
        assert_eq!(occupied(size), block);
        // Above 2 KiB a page holds so few blocks that one more or less is more than that.
        if (32..2048).contains(&size) {
            assert!(block <= size + size / 7 + GRANULE, "{size} bytes in a block of {block}");
        }
    }
    assert_eq!(class_of(BLOCK_SIZE_MAX + 1), None);
    assert_eq!(occupied(BLOCK_SIZE_MAX + 1), PAGE_SIZE);
    assert_eq!(occupied(PAGE_SIZE + 1), 2 * PAGE_SIZE);
}

#[test]
fn a_page_holds_what_its_class_says() {
    for class in 0..CLASSES {
        let used = blocks_per_page(class) * size_of_class(class);
        assert!(used <= PAGE_SIZE && PAGE_SIZE - used < size_of_class(class));
    }
}
