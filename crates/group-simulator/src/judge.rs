//! Compares what clients were told with what there is at the end.
//!
//! The list says in which order appends took place. What was acknowledged is in it, once; what was
//! acknowledged before another one began stands before it (strict serialisability: Herlihy and
//! Wing, 1990). What a follower showed is a beginning of it. And all replicas have the same rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use remanent_engine::{Database, Durability};
use tokio::time::Instant;

use crate::clients::{Act, Known, MONEY, list_of, money_of};

/// A table, the number of a row, and the row.
type TableRow = (String, u64, Vec<u8>);

/// How many appends there were, and how many were acknowledged.
pub(crate) fn counts(known: &Known) -> (usize, usize) {
    let appends = known.acts.iter().filter(|act| matches!(act, Act::Append { .. }));
    let told = |act: &&Act| matches!(act, Act::Append { told: Some(_), .. });
    (appends.clone().count(), appends.filter(told).count())
}

/// Adds what is wrong to the findings. What was in memory alone before a blackout may be lost.
pub(crate) fn judge(databases: &[Arc<Database>], known: &mut Known, blackout: Option<Instant>) {
    let mut findings = Vec::new();
    if databases.is_empty() {
        findings.push("no database is open".to_owned());
    }
    let lists: Vec<Vec<u64>> = databases.iter().map(|db| list_of(db).unwrap_or_default()).collect();
    let list = lists.first().cloned().unwrap_or_default();
    for (place, db) in databases.iter().enumerate() {
        if lists[place] != list {
            findings.push(format!("lists differ: {list:?} and {:?}", lists[place]));
        }
        if money_of(db).unwrap_or_default() != MONEY {
            findings.push(format!("replica {place} has {:?} in all accounts", money_of(db)));
        }
        let (first, other) = (rows(&databases[0]), rows(db));
        if first != other {
            let only = |a: &[TableRow], b: &[TableRow]| -> Vec<TableRow> {
                a.iter().filter(|row| !b.contains(row)).take(5).cloned().collect()
            };
            let (first, other) = (only(&first, &other), only(&other, &first));
            findings.push(format!("rows differ: {first:?} and {other:?} of replica {place}"));
        }
    }
    let places: BTreeMap<u64, usize> =
        list.iter().enumerate().map(|(place, &number)| (number, place)).collect();
    if places.len() != list.len() {
        findings.push(format!("an append is there twice: {list:?}"));
    }
    in_order(known, &places, blackout, &mut findings);
    for act in &known.acts {
        if let Act::Followed { list: seen } = act
            && !list.starts_with(seen)
            && blackout.is_none()
        {
            findings.push(format!("a follower showed {seen:?}, and in the end there is {list:?}"));
        }
    }
    known.findings.append(&mut findings);
}

/// What was acknowledged is there, and in the order of real time.
fn in_order(
    known: &Known,
    places: &BTreeMap<u64, usize>,
    blackout: Option<Instant>,
    findings: &mut Vec<String>,
) {
    // By the time at which they were acknowledged, the last place that was.
    let mut told_by: Vec<(Instant, usize, u64)> = Vec::new();
    for act in &known.acts {
        let Act::Append { number, told: Some(told), level, .. } = act else { continue };
        match places.get(number) {
            Some(&place) => told_by.push((*told, place, *number)),
            None => {
                let may_be_lost = blackout.is_some_and(|at| *told <= at);
                if *level == Durability::ReplicatedDisk || !may_be_lost {
                    findings
                        .push(format!("append {number}, {level:?}, was acknowledged and is lost"));
                }
            }
        }
    }
    told_by.sort_unstable();
    let mut last = None;
    let mut latest: Vec<(Instant, usize, u64)> = Vec::new();
    for (told, place, number) in told_by {
        if last.is_none_or(|(before, _)| place > before) {
            last = Some((place, number));
        }
        if let Some((place, number)) = last {
            latest.push((told, place, number));
        }
    }
    let before = |begun: Instant| {
        let count = latest.partition_point(|&(told, ..)| told < begun);
        count.checked_sub(1).map(|at| (latest[at].1, latest[at].2))
    };
    for act in &known.acts {
        match act {
            Act::Append { number, begun, .. } => {
                if let (Some(&place), Some((earlier, other))) = (places.get(number), before(*begun))
                    && place < earlier
                {
                    findings.push(format!(
                        "append {number} stands before {other}, which was acknowledged before it \
                         began"
                    ));
                }
            }
            Act::Read { length, begun, .. } => {
                if let Some((earlier, other)) = before(*begun)
                    && *length <= earlier as u64
                    && blackout.is_none()
                {
                    findings.push(format!(
                        "a confirmed leader showed {length} appends, and not {other}, which was \
                         acknowledged before"
                    ));
                }
            }
            Act::Followed { .. } => {}
        }
    }
}

/// All rows of all tables, with their numbers.
fn rows(db: &Database) -> Vec<TableRow> {
    let Ok(tx) = db.begin_read() else { return Vec::new() };
    let mut all = Vec::new();
    for name in db.table_names() {
        let Ok(table) = db.table(&name) else { continue };
        let Ok(scan) = tx.scan(&table) else { continue };
        all.extend(scan.map(|row| (name.clone(), row.id().number(), row.bytes().to_vec())));
    }
    all.sort_unstable();
    all
}
