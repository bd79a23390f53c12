//! Ten runs one after the other have each part once.

use super::{read, write};
use crate::part::{PARTS, Part};

#[test]
fn ten_turns_have_everything_once() {
    let turns: Vec<Part> = (40..40 + PARTS).map(Part::of).collect();
    for part in (0..PARTS).map(Part::Tenth) {
        assert_eq!(turns.iter().filter(|turn| **turn == part).count(), 1, "{part}");
    }
}

#[test]
fn a_turn_is_written_and_read() {
    let folder = std::env::temp_dir().join(format!("remanent-turn-{}", std::process::id()));
    let file = folder.join("deep/ci-turn");
    assert_eq!(read(&file), None);
    write(&file, 17).expect("it can be written");
    assert_eq!(read(&file), Some(17));
    std::fs::write(&file, "seventeen").expect("it can be written");
    assert_eq!(read(&file), None);
    std::fs::remove_dir_all(&folder).expect("it is there");
}

#[test]
fn a_part_is_told_as_people_count() {
    assert_eq!(Part::of(29).to_string(), "part 10 of 10 of what is not run every time");
}
