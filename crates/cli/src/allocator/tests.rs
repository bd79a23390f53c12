//! The number of the option is the one that it has in this version of mimalloc.

use libmimalloc_sys::mi_option_get;

use super::*;

#[test]
fn the_option_is_the_delay_and_can_be_set() {
    // SAFETY: options can be read at any time, from any thread.
    let get = || unsafe { mi_option_get(PURGE_DELAY) };
    // No option beside it has this value where nobody sets one.
    assert_eq!(get(), 1000, "mimalloc's own delay; has it another number now?");
    keep_freed_memory();
    assert_eq!(get(), PURGE_DELAY_MS);
}
