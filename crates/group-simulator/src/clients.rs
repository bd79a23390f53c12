//! Programs that use the group: they append to a list, move money, and read.
//!
//! Every append has a number of its own, and gets the next place of the list within a transaction.
//! So a list is a serial order of all appends that there are, and whatever is acknowledged can be
//! compared with it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::seq::{IteratorRandom, SliceRandom};
use rand::{Rng, SeedableRng};
use remanent_engine::schema::{ColumnType, TableSchema, Value};
use remanent_engine::{
    CommitTicket, Database, Durability, Error, ErrorKind, Replica, Result, Table, WriteTransaction,
};
use remanent_replication::Node;
use tokio::time::Instant;

use crate::machine::{Machines, of};

/// Accounts, and what all of them have together.
pub(crate) const ACCOUNTS: u32 = 8;
pub(crate) const MONEY: i64 = 8000;
/// So many large rows are many.
const FILLING_MAX: u64 = 1500;
/// How long a client waits for a majority.
const PATIENCE: Duration = Duration::from_secs(3);
const LOOK_AFTER: Duration = Duration::from_millis(2);

/// What the clients know.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) acts: Vec<Act>,
    pub(crate) findings: Vec<String>,
    next: u64,
}

/// What a client did, and what it was told.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// An append with this number; when it began, and when it was acknowledged.
    Append { number: u64, begun: Instant, told: Option<Instant>, level: Durability },
    /// A list that was read of a leader that has confirmed that it is one, or of who has asked it
    /// what is committed: so long.
    Read { length: u64, begun: Instant },
    /// A list that was read of a follower.
    Followed { list: Vec<u64> },
}

pub(crate) type Shared = Arc<Mutex<Known>>;

pub(crate) fn lock(known: &Shared) -> MutexGuard<'_, Known> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes the tables, where there are none; the ticket is that of the last commit.
pub(crate) fn define(db: &Database) -> Result<CommitTicket> {
    let list = TableSchema::new("List").column("place", ColumnType::U64);
    db.create_table(list.column("number", ColumnType::U64).primary_key(["place"]))?;
    let filling = TableSchema::new("Filling").column("id", ColumnType::U64);
    db.create_table(filling.column("filling", ColumnType::BLOB).primary_key(["id"]))?;
    let accounts = TableSchema::new("Account").column("id", ColumnType::U32);
    let accounts = accounts.column("money", ColumnType::I64).primary_key(["id"]);
    let accounts = db.create_table(accounts)?;
    let ((), ticket) = db.write_with_ticket(|tx| {
        for id in 0..ACCOUNTS {
            let money = MONEY / i64::from(ACCOUNTS);
            tx.insert_values(&accounts, &[Some(id.into()), Some(Value::I64(money))])?;
        }
        Ok(())
    })?;
    Ok(ticket)
}

/// A list, in order; an error if two have one place or one is missing.
pub(crate) fn list_of(db: &Database) -> Result<Vec<u64>> {
    let table = db.table("List")?;
    let (place, number) = (table.column("place")?, table.column("number")?);
    let tx = db.begin_read()?;
    let mut rows: Vec<(u64, u64)> =
        tx.scan(&table)?.filter_map(|row| Some((row.get(place)?, row.get(number)?))).collect();
    rows.sort_unstable();
    Ok(rows.into_iter().map(|(_, number)| number).collect())
}

/// The sum of all accounts.
pub(crate) fn money_of(db: &Database) -> Result<i64> {
    let table = db.table("Account")?;
    let money = table.column("money")?;
    let tx = db.begin_read()?;
    Ok(tx.scan(&table)?.filter_map(|row| row.get::<i64>(money)).sum())
}

/// One client, until it is dropped. It does not wait for ever for a machine that says nothing,
/// whose session may go on later nevertheless.
pub(crate) async fn run(seed: u64, machines: Machines, known: Shared, fills: bool) {
    let mut random = StdRng::seed_from_u64(seed);
    loop {
        tokio::time::sleep(Duration::from_micros(random.gen_range(500..20_000))).await;
        let running = (0..machines.len()).filter(|&place| of(&machines[place]).node().is_some());
        let any = running.choose(&mut random);
        // More than one may take itself for the leader.
        let leading = machines.iter().enumerate().filter(|(_, machine)| of(machine).leads());
        let leading: Vec<usize> = leading.map(|(place, _)| place).collect();
        let leader = leading.choose(&mut random).copied();
        let (wanted, place) = match random.gen_range(0..100) {
            0..30 if fills => (Wanted::Fill, leader),
            0..60 => (Wanted::Append, leader),
            60..80 => (Wanted::Transfer, leader),
            80..84 => (Wanted::ReadConfirmed, leader.or(any)),
            84..92 => (Wanted::ReadNewest, any),
            _ => (Wanted::Read, any),
        };
        let (seed, known) = (random.r#gen(), Arc::clone(&known));
        let Some(place) = place else { continue };
        let session = of(&machines[place]).session(|node| serve(wanted, seed, node, known));
        if let Some(answered) = session {
            let _ = tokio::time::timeout(PATIENCE, answered).await;
        }
    }
}

/// What a client asks for.
#[derive(Clone, Copy, Debug)]
enum Wanted {
    Append,
    Fill,
    Transfer,
    ReadConfirmed,
    ReadNewest,
    Read,
}

/// Waits, as whoever commits would in a thread, while a member comes or goes. Whether it still
/// runs.
pub(crate) async fn may_write(node: &Node) -> bool {
    while let Some(db) = node.database() {
        let is_paused = Replica::of(&db).is_ok_and(|replica| replica.is_paused());
        drop(db);
        if !is_paused {
            return true;
        }
        tokio::time::sleep(LOOK_AFTER).await;
    }
    false
}

async fn serve(wanted: Wanted, seed: u64, node: Arc<Node>, known: Shared) {
    let mut random = StdRng::seed_from_u64(seed);
    if !may_write(&node).await {
        return;
    }
    let done = match wanted {
        Wanted::Append => append(&mut random, &node, &known).await,
        Wanted::Fill => fill(&mut random, &node),
        Wanted::Transfer => transfer(&mut random, &node),
        Wanted::ReadConfirmed => read_confirmed(&node, &known).await,
        Wanted::ReadNewest => read_newest(&node, &known).await,
        Wanted::Read => read_anywhere(&node, &known),
    };
    if let Err(error) = done
        && !is_expected(&error)
    {
        lock(&known).findings.push(format!("a client was told: {error}"));
    }
}

/// Whether it is what a client of a group has to expect, of which one may have less memory.
pub(crate) fn is_expected(error: &Error) -> bool {
    error.is_out_of_memory()
        || matches!(
            error.kind(),
            ErrorKind::NotLeader
                | ErrorKind::NotReplicated
                | ErrorKind::Conflict
                | ErrorKind::UnknownTable
                | ErrorKind::LogFailed
                | ErrorKind::DuplicateKey
                | ErrorKind::TableBusy
        )
}

async fn append(random: &mut StdRng, node: &Node, known: &Shared) -> Result<()> {
    let level = match random.gen_range(0..10) {
        0 => Durability::Buffered,
        1..8 => Durability::Replicated,
        _ => Durability::ReplicatedDisk,
    };
    let Some(db) = node.database() else { return Ok(()) };
    let (begun, number, act) = {
        let mut known = lock(known);
        known.next += 1;
        let (begun, number) = (Instant::now(), known.next);
        known.acts.push(Act::Append { number, begun, told: None, level });
        (begun, number, known.acts.len() - 1)
    };
    let table = db.table("List")?;
    let ((), ticket) = db.write_with_ticket(|tx| append_to(tx, &table, number))?;
    if level == Durability::Buffered {
        return Ok(());
    }
    drop(table);
    if wait_for(node, db, &ticket, level).await {
        lock(known).acts[act] = Act::Append { number, begun, told: Some(Instant::now()), level };
    }
    Ok(())
}

fn append_to(tx: &WriteTransaction<'_>, table: &Table, number: u64) -> Result<()> {
    let last = tx.cursor(table, table.index("primary")?)?.last();
    let place = table.column("place")?;
    let next = last.and_then(|row| row.get::<u64>(place)).map_or(0, |last| last + 1);
    tx.insert_values(table, &[Some(Value::U64(next)), Some(Value::U64(number))]).map(drop)
}

/// Waits as a thread would that commits at this level.
pub(crate) async fn wait_for(
    node: &Node,
    db: Arc<Database>,
    ticket: &CommitTicket,
    level: Durability,
) -> bool {
    let until = Instant::now() + PATIENCE;
    let db_now = Arc::downgrade(&db);
    drop(db);
    loop {
        let Some(db) = db_now.upgrade() else { return false };
        let is_open = node.database().is_some_and(|now| Arc::ptr_eq(&now, &db));
        if !is_open {
            return false;
        }
        if db.replication_of(ticket) >= Some(level) {
            return true;
        }
        let Ok(replica) = Replica::of(&db) else { return false };
        if !replica.leads() || replica.write().is_err() {
            return false;
        }
        if level == Durability::ReplicatedDisk {
            replica.want_on_disk();
        }
        drop(db);
        if Instant::now() >= until {
            return false;
        }
        tokio::time::sleep(LOOK_AFTER).await;
    }
}

fn transfer(random: &mut StdRng, node: &Node) -> Result<()> {
    let Some(db) = node.database() else { return Ok(()) };
    let table = db.table("Account")?;
    let (money, primary) = (table.column("money")?, table.index("primary")?);
    let (from, to) = (random.gen_range(0..ACCOUNTS), random.gen_range(0..ACCOUNTS));
    let amount = random.gen_range(1..100_i64);
    db.write(|tx| {
        for (id, change) in [(from, -amount), (to, amount)] {
            let Some(row) = tx.find(&table, primary, &[id.into()])? else { continue };
            let (row_id, now) = (row.id(), row.get::<i64>(money).unwrap_or_default());
            // Now and then as another row, which may get the number of one that is gone.
            if random.gen_bool(0.3) {
                tx.delete(&table, row_id)?;
                tx.insert_values(&table, &[Some(id.into()), Some(Value::I64(now + change))])?;
            } else {
                tx.update_values(&table, row_id, &[(money, Value::I64(now + change))])?;
            }
        }
        Ok(())
    })
}

/// Inserts large rows, or, when there are many, deletes some.
fn fill(random: &mut StdRng, node: &Node) -> Result<()> {
    let Some(db) = node.database() else { return Ok(()) };
    let table = db.table("Filling")?;
    let (id, primary) = (table.column("id")?, table.index("primary")?);
    db.write(|tx| {
        let ends = [tx.cursor(&table, primary)?.first(), tx.cursor(&table, primary)?.last()];
        let ends = ends.map(|row| row.and_then(|row| row.get::<u64>(id)));
        let [first, last] = ends.map(Option::unwrap_or_default);
        for number in 0..random.gen_range(1..8) {
            if last - first < FILLING_MAX {
                let (id, filling) = (Value::U64(last + 1 + number), [number as u8; 2000]);
                tx.insert_values(&table, &[Some(id), Some(Value::Bytes(&filling))])?;
            } else if let Some(row) = tx.find(&table, primary, &[(first + number).into()])? {
                let row = row.id();
                tx.delete(&table, row)?;
            }
        }
        Ok(())
    })
}

async fn read_confirmed(node: &Node, known: &Shared) -> Result<()> {
    let begun = Instant::now();
    let confirmed = tokio::time::timeout(PATIENCE, node.confirm_leadership()).await;
    if !matches!(confirmed, Ok(Ok(()))) {
        return Ok(());
    }
    let Some(db) = node.database().filter(|_| node.leads()) else { return Ok(()) };
    let length = list_of(&db)?.len() as u64;
    lock(known).acts.push(Act::Read { length, begun });
    Ok(())
}

/// Reads on any replica, once that has what the leader says is committed by now.
async fn read_newest(node: &Node, known: &Shared) -> Result<()> {
    let begun = Instant::now();
    let newest = tokio::time::timeout(PATIENCE, node.newest_commit()).await;
    let Ok(Ok(newest)) = newest else { return Ok(()) };
    while begun.elapsed() < PATIENCE {
        // Where it is opened again meanwhile, it may have less than before.
        let Some(db) = node.database() else { return Ok(()) };
        if db.newest_timestamp() >= newest {
            let length = list_of(&db)?.len() as u64;
            lock(known).acts.push(Act::Read { length, begun });
            return Ok(());
        }
        drop(db);
        tokio::time::sleep(LOOK_AFTER).await;
    }
    Ok(())
}

fn read_anywhere(node: &Node, known: &Shared) -> Result<()> {
    let Some(db) = node.database() else { return Ok(()) };
    let (list, money) = (list_of(&db)?, money_of(&db)?);
    let mut known = lock(known);
    if money != MONEY {
        known.findings.push(format!("a reader saw {money} in all accounts"));
    }
    // What leads, or has led, may show what a failover takes back.
    let is_follower = Replica::of(&db)
        .is_ok_and(|replica| !replica.leads() && replica.applied().index <= replica.replicated());
    if is_follower {
        known.acts.push(Act::Followed { list });
    }
    Ok(())
}
