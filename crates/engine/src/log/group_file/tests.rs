//! What was written is read, and what is damaged is nothing else.

use super::*;
use crate::storage::Folder;

fn some_file() -> GroupFile {
    let point = |position: u64| GroupPoint {
        position,
        id: EntryId { term: 3, index: position / 10 },
        timestamp: 16 * position,
        message_index: 2,
        message: b"members".to_vec(),
    };
    let points = vec![point(100), point(70_000)];
    GroupFile {
        database: [7; 16],
        promise: b"a vote".to_vec(),
        is_unsure: true,
        is_replaced: true,
        lacks_majority: true,
        points,
    }
}

#[test]
fn every_bit_counts() {
    let file = some_file();
    let bytes = file.to_bytes();
    assert_eq!(GroupFile::from_bytes(&bytes), Some(file));
    for bit in 0..8 * bytes.len() {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(GroupFile::from_bytes(&damaged), None, "bit {bit}");
    }
    (0..bytes.len()).for_each(|length| assert_eq!(GroupFile::from_bytes(&bytes[..length]), None));
}

#[test]
fn it_is_replaced_as_a_whole() {
    let path = std::env::temp_dir().join(format!("remanent-group-{}", std::process::id()));
    let folder = Folder::create(&path).expect("a folder");
    assert_eq!(GroupFile::read(&folder).expect("to be read"), None);
    let mut file = some_file();
    for promise in 0..3 {
        file.promise = vec![promise; 100];
        file.write(&folder).expect("to be written");
        assert_eq!(GroupFile::read(&folder).expect("to be read").as_ref(), Some(&file));
    }
    let opened = folder.open(NAME).expect("it is there");
    write_all_at(&*opened, 30, b"x").expect("to be written");
    let error = GroupFile::read(&folder).expect_err("it is damaged");
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    std::fs::remove_dir_all(&path).expect("to be removed");
}
