//! A database as a replica: entries that one makes are another's, byte for byte, and whoever reads
//! beside what applies them sees whole commits at the leader's timestamps.

mod columns;
mod node;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

use remanent_engine::{
    Applier, ChangeKind, Database, DefinitionWatch, Durability, EntryId, ErrorKind, Replica, RowId,
    Table, TransactionOptions,
};

use node::{Home, Node, insert, options, pair, schema};

#[test]
fn a_follower_has_the_rows_and_timestamps_of_its_leader() {
    let home = Home::new("replica-pair");
    let (leader, mut follower, table) = pair(&home);
    let text = table.column("text").expect("a column");
    for round in 0..20 {
        for number in 0..50 {
            insert(&leader.db, &table, round * 1000 + number);
        }
        leader
            .db
            .write(|tx| {
                let rows: Vec<RowId> = tx.scan(&table)?.map(|row| row.id()).collect();
                tx.update_values(&table, rows[3], &[(text, "another".into())])?;
                tx.delete(&table, rows[1])?;
                tx.delete(&table, rows[rows.len() - 1])
            })
            .expect("to be changed");
        leader.replica().write().expect("to be written");
        follower.follow(&leader);
        assert_eq!(leader.rows("T"), follower.rows("T"));
        assert_eq!(leader.db.newest_timestamp() & !15, follower.db.newest_timestamp() & !15);
        assert_eq!(leader.replica().positions().0, follower.replica().positions().0);
    }
    assert!(leader.rows("T").len() > 900);
}

#[test]
fn a_large_transaction_comes_in_parts() {
    let home = Home::new("replica-parts");
    let (leader, mut follower, table) = pair(&home);
    leader
        .db
        .write(|tx| {
            let text = "x".repeat(1000);
            for number in 0..2000u32 {
                let values = [Some(number.into()), Some(text.as_str().into())];
                tx.insert_values(&table, &values)?;
            }
            Ok(())
        })
        .expect("to be inserted");
    leader.replica().write().expect("to be written");
    assert!(leader.last() > 20, "it is longer than a file of the log");
    // Some of the parts alone mean nothing.
    let before = leader.last() - 1;
    follower.get(&leader, before);
    follower.apply(before);
    assert!(follower.rows("T").is_empty());
    follower.follow(&leader);
    assert_eq!(leader.rows("T"), follower.rows("T"));
}

/// Hands a follower so many entries, of which two fill a file of the log.
fn hand_over(leader: &Node, follower: &mut Node, table: &Table, entries: u32) {
    let (text, first) = ("x".repeat(1000), leader.rows("T").len() as u32);
    for entry in 0..entries {
        let rows = (first + 30 * entry..).take(30);
        leader
            .db
            .write(|tx| {
                rows.clone().try_for_each(|number| {
                    let values = [Some(number.into()), Some(text.as_str().into())];
                    tx.insert_values(table, &values).map(drop)
                })
            })
            .expect("to be inserted");
        leader.replica().write().expect("to be written");
    }
    follower.follow(leader);
}

#[test]
fn a_follower_appends_and_does_not_wait_for_its_disk() {
    let home = Home::new("replica-disk");
    let (leader, mut follower, table) = pair(&home);
    let syncs = |node: &Node| node.db.log_statistics().expect("a log").syncs;
    let before = syncs(&follower);
    hand_over(&leader, &mut follower, &table, 80);
    assert_eq!(syncs(&follower), before);
    assert!(follower.replica().has_many_unsynced());
    let mut files = 0;
    while follower.replica().sync_if_many().expect("to be synced") {
        files += 1;
    }
    assert!(!follower.replica().has_many_unsynced());
    assert!((20..40).contains(&files), "{files}");
    assert_eq!(syncs(&follower), before + files);
    // Where nobody does that, it does wait: files that are not on the disk are not without number.
    hand_over(&leader, &mut follower, &table, 160);
    assert!(syncs(&follower) > before + files);
    assert_eq!(leader.rows("T"), follower.rows("T"));
    // A leader waits as any other database.
    assert!(syncs(&leader) > 60);
}

#[test]
fn readers_beside_an_applier_see_whole_commits() {
    let home = Home::new("replica-readers");
    let (leader, mut follower, table) = pair(&home);
    // All rows have one text at any time.
    let text = table.column("text").expect("a column");
    (0..20).for_each(|number| insert(&leader.db, &table, number));
    for round in 0..300u32 {
        let all = leader.db.write(|tx| {
            let rows: Vec<RowId> = tx.scan(&table)?.map(|row| row.id()).collect();
            for &row in &rows {
                let text_of_round = format!("round {round}");
                tx.update_values(&table, row, &[(text, text_of_round.as_str().into())])?;
            }
            // The number of a row comes again.
            tx.delete(&table, rows[round as usize % rows.len()])?;
            tx.insert_values(
                &table,
                &[Some((1000 + round).into()), Some(format!("round {round}").as_str().into())],
            )
        });
        all.expect("to be changed");
    }
    leader.replica().write().expect("to be written");
    let last = leader.last();
    follower.get(&leader, last);
    follower.replica().note_replicated(last);
    let (db, applier) = (&follower.db, &mut follower.applier);
    let (ended, seen) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let table = db.table("T").expect("a table");
            let text = table.column("text").expect("a column");
            while !ended.load(Ordering::Relaxed) {
                let tx = db.begin_read().expect("to begin");
                let texts: Vec<String> = tx
                    .scan(&table)
                    .expect("to scan")
                    .map(|row| row.str(text).expect("text").to_owned())
                    .collect();
                assert!(texts.is_empty() || texts.len() == 20, "{} rows", texts.len());
                assert!(texts.iter().all(|other| *other == texts[0]), "{texts:?}");
                seen.store(true, Ordering::Relaxed);
            }
        });
        while !seen.load(Ordering::Relaxed) && !reader.is_finished() {
            std::thread::yield_now();
        }
        for index in 1..=last {
            // A reader may keep a row from coming again for a moment.
            while let Err(error) = applier.apply(db, index) {
                assert_eq!(error.kind(), ErrorKind::TableBusy, "{error}");
            }
        }
        ended.store(true, Ordering::Relaxed);
        reader.join().expect("a reader");
    });
    assert_eq!(leader.rows("T"), follower.rows("T"));
}

#[test]
fn what_no_majority_is_known_to_have_waits() {
    let home = Home::new("replica-waits");
    let (leader, mut follower, table) = pair(&home);
    insert(&leader.db, &table, 1);
    leader.replica().write().expect("to be written");
    let safe = leader.last();
    leader.replica().note_replicated(safe);
    // This entry says that the one before is safe; nothing says so of itself.
    insert(&leader.db, &table, 2);
    leader.replica().write().expect("to be written");
    let last = leader.last();
    follower.get(&leader, last);
    follower.apply(safe);
    assert_eq!(follower.rows("T").len(), 1);
    drop((leader, follower));
    // Both open with what is safe, and hold the rest.
    let (leader, mut follower) = (home.open("a"), home.open("b"));
    for node in [&leader, &follower] {
        assert_eq!(node.rows("T").len(), 1);
        assert_eq!((node.last(), node.replica().replicated()), (last, safe));
        assert_eq!(node.replica().applied().index, safe);
        assert!(node.replica().entry(last).expect("to be read").is_some());
    }
    follower.apply(last);
    assert_eq!(follower.rows("T").len(), 2);
    // It goes on as the leader of another term.
    follower.replica().lead(2).expect("to lead");
    let table = follower.db.table("T").expect("a table");
    insert(&follower.db, &table, 3);
    follower.replica().write().expect("to be written");
    let mut other = leader;
    assert_eq!(other.replica().lead(2).unwrap_err().kind(), ErrorKind::InvalidOptions);
    other.follow(&follower);
    assert_eq!(other.rows("T"), follower.rows("T"));
    assert_eq!(other.replica().last(), EntryId { term: 2, index: last + 1 });
}

#[test]
fn a_deposed_leader_opens_again_without_what_nobody_else_has() {
    let home = Home::new("replica-deposed");
    let (leader, mut follower, table) = pair(&home);
    insert(&leader.db, &table, 1);
    leader.replica().write().expect("to be written");
    follower.follow(&leader);
    let last = leader.last();
    // The first is deposed with an entry that was written, and one that was not.
    insert(&leader.db, &table, 2);
    leader.replica().write().expect("to be written");
    insert(&leader.db, &table, 3);
    follower.replica().lead(2).expect("to lead");
    let other = follower.db.table("T").expect("a table");
    (10..20).for_each(|number| insert(&follower.db, &other, number));
    follower.replica().write().expect("to be written");
    leader.replica().follow().expect("to follow");
    assert_eq!(leader.last(), last + 2);
    let insert = |tx: &remanent_engine::WriteTransaction<'_>| {
        tx.insert_values(&table, &[Some(9.into()), Some("".into())])
    };
    let error = leader.db.write(insert).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotLeader);
    let entry = follower.replica().entry(last + 1).expect("to be read").expect("to be held");
    assert_eq!(leader.replica().append(&[entry]).unwrap_err().kind(), ErrorKind::InvalidOptions);
    drop(leader);
    let mut leader = home.open_cut("a", Some(last));
    assert_eq!(leader.last(), last);
    leader.follow(&follower);
    assert_eq!(leader.rows("T"), follower.rows("T"));
    assert_eq!(leader.rows("T").len(), 11);
    // And once more from the folder.
    drop(leader);
    let mut leader = home.open("a");
    leader.apply(follower.last());
    assert_eq!(leader.rows("T"), follower.rows("T"));
}

#[test]
fn images_go_on_where_the_group_is_safe() {
    let home = Home::new("replica-images");
    let (leader, mut follower, table) = pair(&home);
    for round in 0..10u32 {
        (0..200).for_each(|number| insert(&leader.db, &table, round * 1000 + number));
        leader.replica().write().expect("to be written");
        follower.get(&leader, leader.last());
        // An image has nothing that the group may take back: this one has to wait.
        if round == 5 {
            let error = leader.db.checkpoint().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotReplicated);
        }
        follower.apply(leader.last());
        leader.replica().note_replicated(leader.last());
        if round % 3 == 1 {
            leader.db.checkpoint().expect("an image");
            follower.db.checkpoint().expect("an image");
            leader.replica().forget(leader.last()).expect("to be forgotten");
            follower.replica().forget(follower.last()).expect("to be forgotten");
        }
    }
    for node in [&leader, &follower] {
        assert!(node.replica().before().index > 0, "{:?}", node.replica().newest_image());
    }
    assert!(leader.replica().entry(1).expect("to be looked for").is_none());
    let (rows, last) = (leader.rows("T"), leader.last());
    let (before, copied) = (leader.replica().before(), home.folder("c"));
    assert!(leader.replica().copy_to(&*copied).expect("a copy").index <= last);
    drop((leader, follower));
    for name in ["a", "b", "c"] {
        let mut node = home.open(name);
        let behind = node.replica().replicated();
        if name != "c" {
            assert_eq!(node.last(), last);
            assert!(node.replica().before() >= before, "it begins with an image");
        }
        node.apply(node.last());
        assert!(behind <= last);
        assert_eq!(node.rows("T"), rows, "{name}");
        assert_eq!(node.replica().message_at(last).1, b"members");
    }
}

#[test]
fn a_copy_for_a_member_says_whether_a_majority_has_all_of_it() {
    let home = Home::new("replica-for-member");
    let (leader, _follower, table) = pair(&home);
    insert(&leader.db, &table, 1);
    leader.replica().write().expect("to be written");
    let last = leader.last();
    let early = leader.replica().copy_for_member(&*home.folder("early"), last - 1).unwrap_err();
    assert_eq!(early.kind(), ErrorKind::NotReplicated);
    let copied = leader.replica().copy_for_member(&*home.folder("c"), last).expect("a copy");
    assert_eq!(copied.index, last);
    let node = home.open("c");
    assert!(node.replica().lacks_majority() && node.replica().is_ahead());
    assert_eq!(node.rows("T"), leader.rows("T"));
    // Nobody else begins with that, and it is in no backup.
    let again = node.replica().copy_to(&*home.folder("again")).unwrap_err();
    assert_eq!(again.kind(), ErrorKind::NotReplicated);
    let kept = node.db.backup(&*home.folder("kept")).unwrap_err();
    assert_eq!(kept.kind(), ErrorKind::NotReplicated);
    node.replica().note_majority().expect("to be noted");
    assert!(!node.replica().is_ahead());
    node.replica().copy_to(&*home.folder("again")).expect("a copy");
    node.db.backup(&*home.folder("kept")).expect("a backup");
    drop(node);
    assert!(!home.open("c").replica().lacks_majority());
    // What a majority has needs nobody else.
    leader.replica().note_replicated(last);
    leader.replica().copy_for_member(&*home.folder("d"), 0).expect("a copy");
    assert!(!home.open("d").replica().lacks_majority());
}

#[test]
fn a_commit_waits_for_a_majority_if_it_asks_for_one() {
    let home = Home::new("replica-majority");
    let (leader, follower, table) = pair(&home);
    let commit = |number: u32, durability| {
        let options = TransactionOptions::new().durability(durability);
        let tx = leader.db.begin_write_with(&options).expect("to begin");
        tx.insert_values(&table, &[Some(number.into()), Some("".into())]).expect("to be inserted");
        tx.commit()
    };
    let ordinary = commit(1, Durability::Buffered).expect("to be committed");
    assert_eq!(leader.db.replication_of(&ordinary), None);
    std::thread::scope(|scope| {
        let waiting: Vec<_> = (2..6)
            .map(|number| scope.spawn(move || commit(number, Durability::Replicated)))
            .collect();
        while !waiting.iter().all(|thread| thread.is_finished()) {
            let last = leader.last();
            follower.get(&leader, last);
            leader.replica().note_replicated(last);
            std::thread::yield_now();
        }
        for thread in waiting {
            let ticket = thread.join().expect("a thread").expect("to be replicated");
            assert_eq!(leader.db.replication_of(&ticket), Some(Durability::Replicated));
        }
        // An earlier one is replicated with them; its ticket says so.
        assert_eq!(leader.db.replication_of(&ordinary), Some(Durability::Replicated));
        leader.db.wait_for(&ordinary, Durability::Replicated).expect("to be replicated");

        let on_disk = scope.spawn(|| commit(7, Durability::ReplicatedDisk));
        while !on_disk.is_finished() {
            let last = leader.last();
            follower.get(&leader, last);
            leader.replica().note_replicated(last);
            follower.replica().sync().expect("to be synced");
            leader.replica().note_on_disk(follower.replica().synced().index);
        }
        let ticket = on_disk.join().expect("a thread").expect("to be replicated");
        assert_eq!(leader.db.replication_of(&ticket), Some(Durability::ReplicatedDisk));

        // Who waits when another replica leads is not left to wait.
        let lost = scope.spawn(|| commit(8, Durability::Replicated));
        while leader.last() == follower.last() {
            std::thread::yield_now();
        }
        leader.replica().follow().expect("to follow");
        let error = lost.join().expect("a thread").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotReplicated);
    });
}

#[test]
fn what_is_no_replica_promises_no_majority() {
    let home = Home::new("replica-none");
    let db = Database::open_in(home.folder("alone"), options()).expect("a database");
    let table = db.create_table(schema("T")).expect("a table");
    let memory = Database::open(options()).expect("a database");
    let other = memory.create_table(schema("T")).expect("a table");
    for (db, table) in [(&db, &table), (&memory, &other)] {
        let options = TransactionOptions::new().durability(Durability::Replicated);
        let tx = db.begin_write_with(&options).expect("to begin");
        tx.insert_values(table, &[Some(1.into()), Some("".into())]).expect("to be inserted");
        assert_eq!(tx.commit().unwrap_err().kind(), ErrorKind::InvalidOptions);
        assert_eq!(db.read(|tx| Ok(tx.scan(table)?.count())).expect("to read"), 0);
        assert_eq!(Replica::of(db).unwrap_err().kind(), ErrorKind::InvalidOptions);
    }
    // And the folder of a replica is opened as nothing else.
    let (leader, ..) = pair(&home);
    drop(leader);
    let error = Database::open_in(home.folder("a"), options()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidOptions);
    let error = Database::open_replica(home.folder("alone2"), options(), None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidOptions);
}

/// Runs something that would never end if it went wrong.
fn within_a_minute(work: impl FnOnce() + Send + 'static) {
    let (ended, end) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        work();
        ended.send(())
    });
    end.recv_timeout(std::time::Duration::from_secs(60)).expect("it ends, and is right");
}

#[test]
fn a_commit_finds_room_where_a_file_is_full_but_for_the_end_of_an_entry() {
    within_a_minute(|| {
        let home = Home::new("replica-room");
        let (leader, mut follower, table) = pair(&home);
        for number in 0..6000u32 {
            let text = "x".repeat(number as usize % 37);
            let values = [Some(number.into()), Some(text.as_str().into())];
            leader.db.write(|tx| tx.insert_values(&table, &values)).expect("to be inserted");
        }
        leader.replica().write().expect("to be written");
        follower.follow(&leader);
        assert_eq!(leader.rows("T"), follower.rows("T"));
    });
}

#[test]
fn a_replica_that_leads_again_gives_no_number_away_twice() {
    within_a_minute(|| {
        let home = Home::new("replica-again");
        let (leader, mut follower, table) = pair(&home);
        for term in 2..10u32 {
            // Rows that are taken back, since it does not lead any more when they are committed.
            let tx = leader.db.begin_write().expect("to begin");
            for number in 0..50u32 {
                let values = [Some((1_000_000 + number).into()), Some("".into())];
                tx.insert_values(&table, &values).expect("to be inserted");
            }
            leader.replica().follow().expect("to follow");
            assert_eq!(tx.commit().unwrap_err().kind(), ErrorKind::NotLeader);
            leader.replica().lead(u64::from(term)).expect("to lead");
            (0..40).for_each(|number| insert(&leader.db, &table, 1000 * term + number));
            leader.db.reclaim();
            (40..120).for_each(|number| insert(&leader.db, &table, 1000 * term + number));
        }
        assert_eq!(leader.rows("T").len(), 8 * 120);
        leader.replica().write().expect("to be written");
        follower.follow(&leader);
        assert_eq!(leader.rows("T"), follower.rows("T"));
    });
}

#[test]
fn images_are_made_in_slices_when_they_are_due() {
    let home = Home::new("replica-slices");
    let often = || options().checkpoint_after(64 << 10).checkpoint_slice(4 << 10);
    let open = |name: &str| {
        let db = Database::open_replica(home.folder(name), often(), None).expect("a replica");
        let applier = Applier::new(&db).expect("an applier");
        Node { db: Arc::new(db), applier }
    };
    let (leader, follower, table) = pair(&home);
    drop((leader, follower, table));
    let (mut leader, mut follower) = (open("a"), open("b"));
    leader.apply(leader.last());
    leader.replica().lead(2).expect("to lead");
    let table = leader.db.table("T").expect("a table");
    let last_image = |node: &Node| node.replica().newest_image().index;
    let before = last_image(&leader);
    for round in 0..60u32 {
        (0..100).for_each(|number| insert(&leader.db, &table, 1000 * round + number));
        leader.replica().write().expect("to be written");
        let last = leader.last();
        follower.get(&leader, last);
        // A majority has it later than the leader; images wait for that.
        leader.replica().note_replicated(last.saturating_sub(3));
        follower.apply(last);
        for node in [&leader, &follower] {
            assert!(last_image(node) <= node.replica().replicated());
        }
    }
    leader.replica().note_replicated(leader.last());
    for (node, name) in [(&leader, "leader"), (&follower, "follower")] {
        assert!(last_image(node) > before, "{name}");
    }
    let rows = leader.rows("T");
    assert_eq!(rows, follower.rows("T"));
    drop((leader, follower));
    for name in ["a", "b"] {
        let mut node = open(name);
        node.apply(node.last());
        assert_eq!(node.rows("T"), rows, "{name}");
    }
}

#[test]
fn the_group_is_not_kept_waiting_by_itself() {
    within_a_minute(|| {
        let home = Home::new("replica-paused");
        let (leader, _, table) = pair(&home);
        let last = leader.last();
        leader.replica().pause(true);
        insert(&leader.db, &table, 1);
        // The thread that pauses goes on; what it writes is in the entry that the group makes.
        leader.replica().write().expect("it does not wait");
        assert_eq!(leader.last(), last);
        let id = EntryId { term: 1, index: last + 1 };
        leader.replica().append_message(id, b"other members").expect("to be appended");
        leader.replica().pause(false);
        insert(&leader.db, &table, 2);
        leader.replica().write().expect("to be written");
        assert_eq!(leader.replica().message_at(last + 2), (last + 1, b"other members".to_vec()));
        let mut follower = home.open("b");
        follower.follow(&leader);
        assert_eq!(leader.rows("T"), follower.rows("T"));
    });
}

/// Counts what it is told of definitions, and what it sees then.
#[derive(Debug)]
struct Watch {
    db: Weak<Database>,
    said: Mutex<Vec<(&'static str, Vec<String>)>>,
}

impl Watch {
    fn note(&self, what: &'static str) {
        let tables = self.db.upgrade().map_or_else(Vec::new, |db| db.table_names());
        self.said.lock().expect("a lock").push((what, tables));
    }

    fn said(&self) -> Vec<(&'static str, Vec<String>)> {
        std::mem::take(&mut self.said.lock().expect("a lock"))
    }
}

impl DefinitionWatch for Watch {
    fn concerns(&self, table: &str) -> bool {
        table == "names"
    }

    fn change(&self) {
        self.note("before");
    }

    fn changed(&self) {
        self.note("after");
    }
}

#[test]
fn who_watches_definitions_learns_of_them_before_they_are_seen() {
    let home = Home::new("replica-definitions");
    let (leader, mut follower, table) = pair(&home);
    let watch = Arc::new(Watch { db: Arc::downgrade(&follower.db), said: Mutex::default() });
    let given: Weak<Watch> = Arc::downgrade(&watch);
    follower.replica().watch_definitions(given);
    let mut follow = |work: &dyn Fn()| {
        work();
        leader.replica().write().expect("to be written");
        follower.follow(&leader);
        watch.said()
    };
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    assert_eq!(follow(&|| insert(&leader.db, &table, 1)), []);
    let said = follow(&|| {
        insert(&leader.db, &table, 2);
        leader.db.create_table(schema("names")).expect("a table");
        insert(&leader.db, &table, 3);
    });
    assert_eq!(said, [("before", names(&["T"])), ("after", names(&["T", "names"]))]);
    let concerned = leader.db.table("names").expect("the table");
    let said = follow(&|| {
        insert(&leader.db, &table, 4);
        insert(&leader.db, &concerned, 1);
        insert(&leader.db, &concerned, 2);
    });
    let all = names(&["T", "names"]);
    assert_eq!(said, [("before", all.clone()), ("after", all)]);
    assert_eq!(follow(&|| insert(&leader.db, &table, 5)), []);
}

/// Watches when it is told to, and says so to another that is not told.
#[derive(Debug)]
struct WatchLater {
    db: Weak<Database>,
    next: Weak<Watch>,
}

impl DefinitionWatch for WatchLater {
    fn concerns(&self, _: &str) -> bool {
        false
    }

    fn change(&self) {
        let Some(db) = self.db.upgrade() else { return };
        let next: Weak<Watch> = Weak::clone(&self.next);
        Replica::of(&db).expect("a replica").watch_definitions(next);
    }

    fn changed(&self) {}
}

#[test]
fn who_begins_to_watch_beside_a_definition_learns_of_it() {
    let home = Home::new("replica-definitions-later");
    let (leader, mut follower, _) = pair(&home);
    let db = Arc::downgrade(&follower.db);
    let watch = Arc::new(Watch { db: Weak::clone(&db), said: Mutex::default() });
    let first = Arc::new(WatchLater { db, next: Arc::downgrade(&watch) });
    let given: Weak<WatchLater> = Arc::downgrade(&first);
    follower.replica().watch_definitions(given);
    leader.db.create_table(schema("names")).expect("a table");
    leader.replica().write().expect("to be written");
    follower.follow(&leader);
    let tables = ["T", "names"].map(str::to_owned).to_vec();
    assert_eq!(watch.said(), [("after", tables)]);
}

/// What a feed has from a position on: the numbers that were inserted.
fn fed(db: &Database, from: u64) -> Vec<u32> {
    let mut feed = db.change_feed(from).expect("a feed");
    let mut numbers = Vec::new();
    while let Some(change) = feed.next_change().expect("a change") {
        if let ChangeKind::Row { table, new: Some(new), .. } = change.kind {
            numbers.extend(table.layout.get::<u32>(new, 0));
        }
    }
    numbers
}

/// What a failover may take back, nobody is given; positions mean the same in all replicas.
#[test]
fn a_feed_ends_where_a_majority_has_the_log() {
    let home = Home::new("replica-feed");
    let (leader, mut follower, table) = pair(&home);
    leader.replica().note_replicated(leader.last());
    let from = leader.db.change_position().expect("a log");
    insert(&leader.db, &table, 1);
    leader.replica().write().expect("to be written");
    follower.get(&leader, leader.last());
    assert_eq!(fed(&leader.db, from), [0; 0], "nobody else is known to have it");
    assert_eq!(fed(&follower.db, from), [0; 0], "it is not known to be the group's");
    leader.replica().note_replicated(leader.last());
    assert_eq!(fed(&leader.db, from), [1]);
    follower.replica().note_replicated(follower.last());
    assert_eq!(fed(&follower.db, from), [0; 0], "it is not applied yet");
    follower.apply(leader.last());
    assert_eq!(fed(&follower.db, from), [1]);

    let position = leader.db.change_position().expect("a log");
    insert(&leader.db, &table, 2);
    leader.replica().write().expect("to be written");
    assert_eq!(leader.db.change_position().expect("a log"), position);
    leader.replica().note_replicated(leader.last());
    follower.follow(&leader);
    for db in [&leader.db, &follower.db] {
        assert_eq!(fed(db, position), [2]);
    }
}
