//! What two threads do is what one does.

use super::do_both;

#[test]
fn both_are_done_once_whatever_threads_there_may_be() {
    for threads in [1, 2, 8] {
        let (mut one, mut other) = (0, 0);
        let (a, b) = do_both(
            threads,
            || {
                one += 1;
                "one"
            },
            || {
                other += 1;
                "other"
            },
        );
        assert_eq!((a, b, one, other), ("one", "other", 1, 1), "{threads} threads");
    }
}

#[test]
#[should_panic(expected = "a fault of it")]
fn a_fault_of_the_thread_beside_is_one_of_the_caller() {
    do_both(2, || panic!("a fault of it"), || ());
}
