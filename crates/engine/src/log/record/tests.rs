//! What is put is found, in its place and nowhere else; what was never put is nothing.

use proptest::prelude::*;

use super::*;

fn checksum(bytes: &[u8]) -> Checksum {
    let mut checksum = Checksum::new();
    checksum.add(bytes);
    checksum
}

#[test]
fn every_kind_of_frame() {
    let address = FrameAddress { position: 1000, salt: 77 };
    let heads = [
        Head::Commit { delta: 300 },
        Head::Fragment { back: 0 },
        Head::CommitOf { delta: 1, back: 900 },
        Head::Define { delta: 2 },
        Head::Close,
        Head::Entry { term: 7, index: 300 },
    ];
    for head in heads {
        let mut bytes = Vec::new();
        put_frame(&mut bytes, head, b"some", checksum(b"some"), address);
        assert_eq!(bytes.len(), frame_len(head, 4));
        let found = find_frame(&bytes, address, 50).expect("it was put");
        assert_eq!((found.length, found.synced_before), (bytes.len(), false));
        let expected = match head {
            Head::Commit { .. } => Frame::Commit { timestamp: 350, operations: b"some" },
            Head::Fragment { .. } => Frame::Fragment { first: 1000, operations: b"some" },
            Head::CommitOf { .. } => {
                Frame::CommitOf { timestamp: 51, first: 100, operations: b"some" }
            }
            Head::Define { .. } => Frame::Define { timestamp: 52, definition: b"some" },
            Head::Entry { .. } => Frame::Entry { term: 7, index: 300, content: b"some" },
            _ => Frame::Close,
        };
        assert_eq!(found.frame, expected);
        set_synced_before(&mut bytes, address);
        let found = find_frame(&bytes, address, 50).expect("it is whole still");
        assert_eq!((found.frame, found.synced_before), (expected, true));
        for elsewhere in
            [FrameAddress { position: 1001, ..address }, FrameAddress { salt: 78, ..address }]
        {
            assert!(find_frame(&bytes, elsewhere, 50).is_none());
        }
        for cut in 0..bytes.len() {
            assert!(find_frame(&bytes[..cut], address, 50).is_none());
        }
    }
}

#[test]
fn a_patch_is_less_than_the_row() {
    let old: Vec<u8> = (0..200).collect();
    let mut new = old.clone();
    new[100] = 0;
    let mut redo = Redo::default();
    redo.update(3, 9, &old, &new);
    assert!(redo.bytes().len() < 12, "{} bytes", redo.bytes().len());
    let operation = Operations::new(redo.bytes()).next();
    let patch = Operation::Patch { table: 3, row: 9, first: 100, last: 99, bytes: &[0] };
    assert_eq!(operation, Ok(Some(patch)));
}

#[derive(Clone, Debug)]
enum Change {
    Insert(u32, u32, Vec<u8>),
    Update(u32, u32, Vec<u8>, Vec<u8>),
    Delete(u32, u32),
}

fn change() -> impl Strategy<Value = Change> {
    let bytes = || prop::collection::vec(0..3_u8, 0..60);
    prop_oneof![
        (0..3_u32, any::<u32>(), bytes()).prop_map(|(t, r, b)| Change::Insert(t, r, b)),
        (0..3_u32, any::<u32>(), bytes(), bytes())
            .prop_map(|(t, r, a, b)| Change::Update(t, r, a, b)),
        (0..3_u32, any::<u32>()).prop_map(|(t, r)| Change::Delete(t, r)),
    ]
}

proptest! {
    #[test]
    fn operations_come_back(changes in prop::collection::vec(change(), 0..20)) {
        let mut redo = Redo::default();
        for change in &changes {
            match change {
                Change::Insert(table, row, bytes) => redo.insert(*table, *row, bytes),
                Change::Update(table, row, old, new) => redo.update(*table, *row, old, new),
                Change::Delete(table, row) => redo.delete(*table, *row),
            }
        }
        let mut operations = Operations::new(redo.bytes());
        for change in &changes {
            let operation = operations.next().expect("they are right").expect("there are more");
            match (change, operation) {
                (Change::Insert(t, r, b), Operation::Insert { table, row, bytes }) => {
                    prop_assert_eq!((*t, *r, b.as_slice()), (table, row, bytes));
                }
                (Change::Update(t, r, _, new), Operation::Update { table, row, bytes }) => {
                    prop_assert_eq!((*t, *r, new.as_slice()), (table, row, bytes));
                }
                (
                    Change::Update(t, r, old, new),
                    Operation::Patch { table, row, first, last, bytes },
                ) => {
                    prop_assert_eq!((*t, *r), (table, row));
                    let patched = [&old[..first], bytes, &old[old.len() - last..]].concat();
                    prop_assert_eq!(new, &patched);
                }
                (Change::Delete(t, r), Operation::Delete { table, row }) => {
                    prop_assert_eq!((*t, *r), (table, row));
                }
                (change, operation) => prop_assert!(false, "{change:?} became {operation:?}"),
            }
        }
        prop_assert_eq!(operations.next(), Ok(None));
    }

    #[test]
    fn noise_is_read_to_an_end(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut operations = Operations::new(&bytes);
        while let Ok(Some(_)) = operations.next() {}
        let address = FrameAddress { position: 5, salt: 1 };
        prop_assert!(find_frame(&bytes, address, u64::MAX).is_none());
    }
}
