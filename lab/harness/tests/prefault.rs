//! In a process of its own: what it gives back would be missed by tests that measure memory.

use lab_harness::prefault;

#[test]
fn any_number_of_bytes_is_touched() {
    for bytes in [0, 1, 4096, (3 << 20) + 5] {
        prefault::touch(bytes).unwrap();
    }
}
