//! Three replicas in one process: founded, led, read, and led by another when one is lost.

mod groups;

use std::time::{Duration, Instant};

use groups::{Group, LONG, insert, numbers, schema};
use remanent_engine::{Durability, ErrorKind, Folder, Replica};
use remanent_replication::Role;

#[test]
fn a_group_is_founded_and_has_the_same_rows_everywhere() {
    let group = Group::start(3);
    let leader = group.leader();
    let db = group.database(leader);
    let table = db.create_table(schema()).expect("a table");
    for number in 0..100 {
        insert(&db, &table, number, Durability::Replicated).expect("to be replicated");
    }
    insert(&db, &table, 100, Durability::ReplicatedDisk).expect("to be on disks");
    insert(&db, &table, 101, Durability::Buffered).expect("to be committed");
    group.wait_until_equal();
    for place in 0..3 {
        let db = group.database(place);
        assert_eq!(numbers(&db), (0..=101).collect::<Vec<_>>());
        if place != leader {
            let table = db.table("T").expect("a table");
            let refused = insert(&db, &table, 200, Durability::Replicated).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::NotLeader);
        }
    }
}

#[test]
fn another_leads_when_the_leader_is_lost() {
    let mut group = Group::start(3);
    let first = group.leader();
    let db = group.database(first);
    let table = db.create_table(schema()).expect("a table");
    for number in 0..50 {
        insert(&db, &table, number, Durability::Replicated).expect("to be replicated");
    }
    drop((db, table));
    group.nodes[first].take().expect("it runs").stop();
    let second = group.leader();
    let db = group.database(second);
    assert_eq!(numbers(&db), (0..50).collect::<Vec<_>>());
    let table = db.table("T").expect("a table");
    for number in 50..100 {
        insert(&db, &table, number, Durability::Replicated).expect("to be replicated");
    }
    drop((db, table));
    group.open(first);
    group.wait_until_equal();
    assert_eq!(numbers(&group.database(first)), (0..100).collect::<Vec<_>>());
    assert_eq!(group.leader(), second);
}

#[test]
fn who_hears_of_no_leader_names_none() {
    let mut group = Group::start(3);
    let leader = group.leader();
    group.wait_until_equal();
    let (left, other) = ((leader + 1) % 3, (leader + 2) % 3);
    assert_eq!(group.node(left).status().leader.map(|(id, _)| id), Some(leader as u64 + 1));
    for ends in [leader, other] {
        group.nodes[ends].take().expect("it runs").stop();
    }
    let begin = Instant::now();
    while group.node(left).status().leader.is_some() {
        assert!(begin.elapsed() < LONG, "it names one: {:#?}", group.statuses());
        std::thread::sleep(Duration::from_millis(2));
    }
    group.open(other);
    let next = group.leader() as u64 + 1;
    let begin = Instant::now();
    while group.node(left).status().leader.map(|(id, _)| id) != Some(next) {
        assert!(begin.elapsed() < LONG, "it names another: {:#?}", group.statuses());
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn without_a_majority_nothing_is_promised() {
    let mut group = Group::start(3);
    let leader = group.leader();
    let db = group.database(leader);
    let table = db.create_table(schema()).expect("a table");
    insert(&db, &table, 0, Durability::Replicated).expect("to be replicated");
    group.wait_until_equal();
    let others: Vec<usize> = (0..3).filter(|&place| place != leader).collect();
    for &place in &others {
        group.nodes[place].take().expect("it runs").stop();
    }
    // Who waits for a majority is not left to wait; then nothing is begun any more.
    let refused = insert(&db, &table, 1, Durability::Replicated).unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::NotReplicated | ErrorKind::NotLeader), "{refused}");
    let refused = insert(&db, &table, 2, Durability::Buffered).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NotLeader);
    assert!(refused.to_string().contains("no majority"), "{refused}");
    // What it has can be read.
    assert!(numbers(&db).starts_with(&[0]));
    // With the others it is a group again, and has the commit or has not, but everywhere.
    drop((db, table));
    others.iter().for_each(|&place| group.open(place));
    group.wait_until_equal();
    let db = group.database(group.leader());
    insert(&db, &db.table("T").expect("a table"), 3, Durability::Replicated).expect("a majority");
    let all = numbers(&db);
    drop(db);
    assert!(all == [0, 3] || all == [0, 1, 3], "{all:?}");
    group.wait_until_equal();
    for place in 0..3 {
        assert_eq!(numbers(&group.database(place)), all);
    }
}

#[test]
fn a_new_member_joins_with_a_copy_and_one_leaves() {
    let mut group = Group::start(2);
    let leader = group.leader();
    let db = group.database(leader);
    let table = db.create_table(schema()).expect("a table");
    for number in 0..100 {
        insert(&db, &table, number, Durability::Replicated).expect("to be replicated");
    }
    // What is before the image is let go.
    db.checkpoint().expect("an image");
    db.checkpoint().expect("an image");
    drop((db, table));
    group.ports.push(groups::free_port());
    group.nodes.push(None);
    let joining = remanent_replication::GroupOptions::new(3, group.address(2));
    let follower = 1 - leader;
    group.open_with(2, joining.join(group.address(follower)));
    group.wait_until_equal();
    let begin = Instant::now();
    while group.node(2).status().members.iter().filter(|member| member.votes).count() < 3 {
        assert!(begin.elapsed() < LONG, "{:#?}", group.statuses());
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(numbers(&group.database(2)), (0..100).collect::<Vec<_>>());
    // Two of the three are enough now; and who is gone can be let go, but not the last one.
    group.nodes[follower].take().expect("it runs").stop();
    let gone = follower as u64 + 1;
    group.node(2).remove_member(gone).expect("to be removed");
    let left = |group: &Group| group.node(leader).status().members.len();
    assert_eq!(left(&group), 2, "{:#?}", group.statuses());
    assert!(group.node(leader).remove_member(gone).unwrap_err().contains("no member"));
    let db = group.database(leader);
    let table = db.table("T").expect("a table");
    insert(&db, &table, 100, Durability::Replicated).expect("to be replicated");
    drop((db, table));
    group.wait_until_equal();
    assert_eq!(numbers(&group.database(2)).len(), 101);
}

#[test]
fn who_needs_a_copy_makes_the_majority_that_it_waits_for() {
    let mut group = Group::closed(3);
    // Nothing is kept that is before an image; a leader takes changes for a while without others.
    let heartbeat = Duration::from_millis(500);
    let options =
        |group: &Group, place| group.group_options(place).entries_kept(0).heartbeat(heartbeat);
    for place in 0..3 {
        let options = options(&group, place);
        group.open_with(place, options);
    }
    let leader = group.leader();
    let db = group.database(leader);
    let table = db.create_table(schema()).expect("a table");
    insert(&db, &table, 0, Durability::Replicated).expect("to be replicated");
    group.wait_until_equal();
    let (behind, lost) = ((leader + 1) % 3, (leader + 2) % 3);
    let had = group.node(behind).status().last;
    group.nodes[behind].take().expect("it runs").stop();
    for number in 1..50 {
        insert(&db, &table, number, Durability::Replicated).expect("to be replicated");
        if number >= 48 {
            db.checkpoint().expect("an image");
        }
    }
    let begin = Instant::now();
    while Replica::of(&db).expect("a replica").before().index <= had {
        assert!(begin.elapsed() < LONG, "{:#?}", group.statuses());
        std::thread::sleep(Duration::from_millis(5));
    }
    group.nodes[lost].take().expect("it runs").stop();
    insert(&db, &table, 50, Durability::Buffered).expect("it leads so far");
    drop((db, table));
    let options = options(&group, behind);
    group.open_with(behind, options);
    // No majority has the last commit, and none has before there is a copy.
    assert_eq!(group.leader(), leader);
    let db = group.database(leader);
    let table = db.table("T").expect("a table");
    insert(&db, &table, 51, Durability::Replicated).expect("to be replicated");
    drop((db, table));
    group.wait_until_equal();
    assert_eq!(numbers(&group.database(behind)), (0..=51).collect::<Vec<_>>());
    // It votes again.
    let begin = Instant::now();
    while group.node(behind).status().is_unsure {
        assert!(begin.elapsed() < LONG, "{:#?}", group.statuses());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn who_has_a_copy_that_no_majority_has_does_not_vote() {
    let mut group = Group::start(3);
    let leader = group.leader();
    let db = group.database(leader);
    let table = db.create_table(schema()).expect("a table");
    insert(&db, &table, 0, Durability::Replicated).expect("to be replicated");
    group.wait_until_equal();
    let (copied, other) = ((leader + 1) % 3, (leader + 2) % 3);
    for place in [copied, other] {
        group.nodes[place].take().expect("it runs").stop();
    }
    insert(&db, &table, 1, Durability::Buffered).expect("it leads so far");
    // As the leader gives it to a member; then it is gone itself.
    std::fs::remove_dir_all(group.folder(copied)).expect("a folder");
    let folder = Folder::create(group.folder(copied)).expect("a folder");
    let replica = Replica::of(&db).expect("a replica");
    replica.write().expect("to be written");
    replica.copy_for_member(&folder, replica.last().index).expect("a copy");
    drop((db, table));
    group.nodes[leader].take().expect("it runs").stop();
    for _ in 0..2 {
        group.open(copied);
        let begin = Instant::now();
        while group.node(copied).status().role == Role::Opening {
            assert!(begin.elapsed() < LONG, "{:#?}", group.statuses());
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(group.node(copied).status().is_unsure, "{:#?}", group.statuses());
        group.nodes[copied].take().expect("it runs").stop();
    }
    // With a leader it has what the group has, and votes again.
    (0..3).for_each(|place| group.open(place));
    group.wait_until_equal();
    let begin = Instant::now();
    while group.node(copied).status().is_unsure {
        assert!(begin.elapsed() < LONG, "{:#?}", group.statuses());
        std::thread::sleep(Duration::from_millis(5));
    }
    let all = numbers(&group.database(leader));
    assert!((0..3).all(|place| numbers(&group.database(place)) == all), "{all:?}");
}
