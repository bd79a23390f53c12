//! Circular records: so many of them, and a new one takes the place of the oldest.

use std::sync::Arc;

use remanent_engine::schema::IndexSchema;
use remanent_engine::{Database, Options};
use remanent_navigation::{CURR_DB, Declared, Outcome, Status, Task, attach, detach, register};

const SCHEMA: &str = "database ring {
    data file \"ring.dat\" maxslots = 5 contains Event;
    data file \"kept.dat\" contains Kept;
    circular record Event { unique key long id; long at; }
    record Kept { long id; }
}";
const EVENT: i32 = 10_000;
const EVENT_ID: i64 = 0;

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let (name, text) = ("ring".to_owned(), SCHEMA.to_owned());
        register(Declared { name, text, records: Vec::new() });
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn open(&self, mode: &str) -> Outcome<Task> {
        let mut task = Task::new();
        task.open(&format!("{}/ring", self.0.path().display()), mode)?;
        Ok(task)
    }
}

fn event(id: i64, at: i64) -> Vec<u8> {
    [id.to_le_bytes(), at.to_le_bytes()].concat()
}

fn add(task: &mut Task, id: i64) -> Outcome {
    task.fill_new(EVENT, &event(id, id * 10), CURR_DB)
}

/// The ids that are there, in their order.
fn ids(task: &mut Task) -> Outcome<Vec<i64>> {
    let mut ids = Vec::new();
    let mut found = task.key_first(EVENT_ID, CURR_DB);
    while found.is_ok() {
        let mut bytes = [0; 16];
        task.record_read(&mut bytes, CURR_DB)?;
        let (id, at) = bytes.split_at(8);
        let number = |bytes: &[u8]| i64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        assert_eq!(number(id) * 10, number(at));
        ids.push(number(id));
        found = task.key_next(EVENT_ID, CURR_DB);
    }
    assert_eq!(found.map_err(|fault| fault.status), Err(Status::NOT_FOUND));
    Ok(ids)
}

#[test]
fn the_oldest_go() -> Outcome {
    let place = Place::new();
    let mut task = place.open("o")?;
    // Not in the order of the key, which says nothing of age.
    for id in [50, 40, 30, 20, 10] {
        add(&mut task, id)?;
    }
    assert_eq!(ids(&mut task)?, [10, 20, 30, 40, 50]);
    add(&mut task, 60)?;
    assert_eq!(ids(&mut task)?, [10, 20, 30, 40, 60]);
    add(&mut task, 5)?;
    assert_eq!(ids(&mut task)?, [5, 10, 20, 30, 60]);
    // The place of a record that was deleted is taken in its turn.
    task.key_find(EVENT_ID, Some(&20_i64.to_le_bytes()), CURR_DB)?;
    task.delete(CURR_DB)?;
    add(&mut task, 70)?;
    assert_eq!(ids(&mut task)?, [5, 10, 60, 70]);
    // They are counted on when the database is opened again.
    task.close()?;
    let mut task = place.open("o")?;
    add(&mut task, 80)?;
    add(&mut task, 90)?;
    assert_eq!(ids(&mut task)?, [5, 60, 70, 80, 90]);
    task.close()
}

#[test]
fn the_oldest_may_have_the_key_of_the_new_one() -> Outcome {
    let place = Place::new();
    let mut task = place.open("o")?;
    (1..=5).try_for_each(|id| add(&mut task, id))?;
    // Any other record's key is refused, and then the oldest is still there.
    assert_eq!(add(&mut task, 3).map_err(|fault| fault.status), Err(Status::DUPLICATE));
    assert_eq!(ids(&mut task)?, [1, 2, 3, 4, 5]);
    add(&mut task, 1)?;
    assert_eq!(ids(&mut task)?, [1, 2, 3, 4, 5]);
    add(&mut task, 2)?;
    assert_eq!(add(&mut task, 1).map_err(|fault| fault.status), Err(Status::DUPLICATE));
    task.close()
}

#[test]
fn numbers_that_others_have_used_up_are_a_status() -> Outcome {
    let place = Place::new();
    place.open("o")?.close()?;
    let db = Arc::new(Database::open(Options::new())?);
    attach("ring", Arc::clone(&db));
    let mut task = Task::new();
    task.open("ring", "o")?;
    add(&mut task, 1)?;
    // Another index behind its own, and the last number.
    let table = db.table("Event")?;
    db.create_index(&table, IndexSchema::new("more", ["at"]))?;
    let (id, at) = (Some(2_i64.into()), Some(20_i64.into()));
    db.write(|tx| tx.insert_values(&table, &[id, at, Some(u64::MAX.into())]).map(|_| ()))?;
    assert_eq!(add(&mut task, 3).map_err(|fault| fault.status), Err(Status::DUPLICATE));
    assert_eq!(ids(&mut task)?, [1, 2]);
    task.close()?;
    detach("ring");
    Ok(())
}

#[test]
fn what_a_transaction_gives_up_is_as_before() -> Outcome {
    let place = Place::new();
    let mut task = place.open("s")?;
    let locked = |task: &mut Task| task.record_lock(EVENT, "w", CURR_DB);
    task.transaction_begin("fill")?;
    locked(&mut task)?;
    (1..=5).try_for_each(|id| add(&mut task, id))?;
    task.transaction_end()?;
    task.transaction_begin("given up")?;
    locked(&mut task)?;
    (6..=20).try_for_each(|id| add(&mut task, id))?;
    assert_eq!(ids(&mut task)?, [16, 17, 18, 19, 20]);
    task.transaction_abort()?;
    assert_eq!(ids(&mut task)?, [1, 2, 3, 4, 5]);
    task.close()
}
