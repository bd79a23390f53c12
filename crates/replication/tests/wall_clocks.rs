//! What a group decides depends on no clock on a wall: such clocks jump, and differ from machine to
//! machine. So the simulator of groups has none to let jump.
//!
//! Where the engine and this crate ask for the time of day, it is to draw numbers, to name the
//! start of a machine that has no name for it, and to say in the log what time it was, which is
//! read by who recovers a database as of a time, and by nobody else.

use std::path::Path;

/// The files that may ask for the time of day.
const KNOWN: [&str; 4] = [
    "engine/src/log/file.rs",
    "engine/src/log/writer.rs",
    "engine/src/shuttle_models.rs",
    "replication/src/node/mod.rs",
];
const ASKS: [&str; 4] = ["SystemTime", "UNIX_EPOCH", "clock_gettime", "gettimeofday"];

fn asking(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("a file").path();
        if path.is_dir() {
            asking(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).expect("a source");
            if ASKS.iter().any(|asks| text.contains(asks)) {
                found.push(path.display().to_string());
            }
        }
    }
}

#[test]
fn nobody_else_asks_for_the_time_of_day() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    for name in ["engine", "replication"] {
        asking(&crates.join(name).join("src"), &mut found);
    }
    found.retain(|path| !KNOWN.iter().any(|known| path.ends_with(known)));
    assert!(found.is_empty(), "{found:?} ask for the time of day");
}
