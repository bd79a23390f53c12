//! What is held of a log's entries, and what is forgotten.

use super::*;

const RECENT: usize = 1 << 20;

fn group(before: u64) -> Group {
    let id = EntryId { term: 1, index: before };
    let before = EntryEnd { id, end: 100 * before, floor: 100 * before, timestamp: 0 };
    Group::new(GroupLog { before, message: (0, b"first".to_vec()), ..GroupLog::default() }, RECENT)
}

fn push(group: &Group, index: u64, message: &[u8]) {
    let id = EntryId { term: 2, index };
    let end = EntryEnd { id, end: 100 * index, floor: 100 * index - 30, timestamp: 16 * index };
    let bytes = vec![0; 100].into();
    let entry = ReplicaEntry { id, start: 100 * (index - 1), salt: 0, bytes };
    group.lock().push(end, message, entry);
}

#[test]
fn entries_have_no_holes() {
    let group = group(10);
    (11..=20).for_each(|index| push(&group, index, if index == 15 { b"second" } else { b"" }));
    let mut state = group.lock();
    assert_eq!(state.last().id, EntryId { term: 2, index: 20 });
    assert_eq!(state.end_of(9), None);
    assert_eq!(state.end_of(10).map(|entry| entry.end), Some(1000));
    assert_eq!(state.end_of(20).map(|entry| entry.end), Some(2000));
    assert_eq!(state.end_of(21), None);
    assert_eq!(state.entry_before(1599).id.index, 15);
    assert_eq!(state.entry_before(1600).id.index, 16);
    assert_eq!(state.entry_before(5).id.index, 10);
    assert_eq!(state.message_at(14), (0, b"first".to_vec()));
    assert_eq!(state.message_at(15), (15, b"second".to_vec()));
    assert_eq!(state.recent(11).map(|entry| entry.start), Some(1000));
    assert_eq!(state.recent(10), None);
    state.forget(16);
    assert_eq!((state.before().id.index, state.end_of(15)), (16, None));
    assert_eq!((state.recent(16), state.last().id.index), (None, 20));
    assert_eq!(state.message_at(20), (15, b"second".to_vec()));
    state.forget(100);
    assert_eq!((state.before().id.index, state.last().id.index), (20, 20));
}

#[test]
fn so_many_bytes_are_kept_in_memory() {
    let group = group(0);
    let bytes: Arc<[u8]> = vec![0; RECENT / 4].into();
    for index in 1..=10 {
        let id = EntryId { term: 1, index };
        let entry = ReplicaEntry { id, start: 0, salt: 0, bytes: Arc::clone(&bytes) };
        group.lock().push(EntryEnd { id, ..EntryEnd::default() }, &[], entry);
    }
    let state = group.lock();
    let kept: Vec<u64> = (1..=10).filter(|&index| state.recent(index).is_some()).collect();
    assert_eq!(kept, [7, 8, 9, 10]);
}

#[test]
fn what_a_majority_has_only_grows() {
    let group = group(0);
    (1..=5).for_each(|index| push(&group, index, b""));
    assert_eq!(group.note_replicated(3), Some(300));
    assert_eq!(group.note_replicated(2), Some(200));
    assert_eq!((group.replicated(), group.lock().replicated), (300, 3));
    assert_eq!(group.note_replicated(6), None);
    assert_eq!(group.replicated(), 300);
    // Two on their way are enough.
    assert!(group.lock().is_full());
    group.note_replicated(4);
    assert!(!group.lock().is_full());
}

#[test]
fn the_place_of_an_image_is_before_all_that_it_may_lack() {
    let group = group(0);
    (1..=5).for_each(|index| push(&group, index, b""));
    group.note_applied(450);
    // Entry 4 is applied, and what had not committed at its end begins in it.
    let point = group.point();
    assert_eq!((point.position, point.id.index, point.timestamp), (300, 3, 48));
    group.set_term(Some(3));
    assert_eq!(group.point().id.index, 4);
}
