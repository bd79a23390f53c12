use std::hint::black_box;

use super::*;

#[test]
fn a_field_is_read_in_bytes() {
    let rollup =
        "00400000-7ffc ---p 00000000 00:00 0 [rollup]\nRss:    10 kB\nAnonymous:   84 kB\n";
    assert_eq!(field_bytes(rollup, "Anonymous:"), Some(84 * 1024));
    assert_eq!(field_bytes(rollup, "Pss_Shmem:"), None);
}

#[test]
fn touched_memory_is_seen() {
    const BYTES: usize = 64 << 20;
    let footprint = Footprint::begin(None).unwrap();
    let touched = black_box(vec![1u8; BYTES]);
    let held = footprint.held_bytes().unwrap();
    assert!(held >= BYTES as u64, "{held} bytes seen of {BYTES}");
    drop(touched);
}
