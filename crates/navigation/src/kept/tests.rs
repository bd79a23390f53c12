//! Which commits wait for the disk: counted by the log.

use std::fs;

use crate::status::Outcome;
use crate::{CURR_DB, Declared, Task, register};

const ITEM: i32 = 10_000;

fn add(task: &mut Task, id: i64) -> Outcome {
    task.transaction_begin("add")?;
    task.record_lock(ITEM, "w", CURR_DB)?;
    task.fill_new(ITEM, &id.to_le_bytes(), CURR_DB)?;
    task.transaction_end()
}

/// How often the log was synced.
fn syncs(task: &Task) -> u64 {
    task.databases[0].shared.db.statistics().log.map_or(0, |log| log.syncs)
}

#[test]
fn an_ini_file_or_a_call_says_whether_commits_are_synced() -> Outcome {
    let text = "database ini { record Item { long id; } }".to_owned();
    register(Declared { name: "ini".to_owned(), text, records: Vec::new() });
    let here = tempfile::tempdir().expect("a folder");
    for (text, call, synced) in [
        ("", None, true),
        ("SYNCFILES=0", None, false),
        ("[rdm]\n  syncfiles = 1 \n", None, true),
        ("; SYNCFILES=1\nother=2\nSYNCFILES = 0\n", None, false),
        ("nothing of that", None, true),
        ("SYNCFILES=0", Some(true), true),
        ("SYNCFILES=1", Some(false), false),
    ] {
        fs::write(here.path().join("rdm.ini"), text).expect("there is room");
        let mut task = Task::new();
        task.open(&format!("{}/ini", here.path().display()), "s")?;
        if let Some(call) = call {
            task.sync_files(call);
        }
        let before = syncs(&task);
        (0..20).try_for_each(|id| add(&mut task, id))?;
        assert_eq!(syncs(&task) - before, if synced { 20 } else { 0 }, "{text:?}, {call:?}");
        task.close()?;
    }
    // Alone and without a transaction, nothing is synced before the end.
    fs::write(here.path().join("rdm.ini"), "SYNCFILES=1").expect("there is room");
    let mut task = Task::new();
    task.open(&format!("{}/ini", here.path().display()), "o")?;
    let before = syncs(&task);
    for id in 0..20_i64 {
        task.fill_new(ITEM, &id.to_le_bytes(), CURR_DB)?;
    }
    assert_eq!(syncs(&task), before);
    task.close()
}
