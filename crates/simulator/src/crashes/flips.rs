//! Single bits that are not what was written: in files of the log and in images.
//!
//! A flipped bit is harmless, or it is noticed: the database opens with all there was, or opens to
//! be read with what had been there at some earlier moment and says what is missing, or refuses to
//! be opened. What it must not do is give something that never was, or lack something in silence.
//! Salvage takes something out of whatever there is, and where it says that nothing is lost, all is
//! there.

use std::sync::Arc;

use remanent_engine::Database;

use super::Wrong;
use super::disk::{Content, Disk};
use super::judge::{Allowed, check_indexes, digest, judge};
use super::work::{Work, options};
use crate::random::Random;

/// Flips of one seed.
const FLIPS: u64 = 500;

/// Flips bits in what a seed's trace has left: how many.
pub(super) fn run(seed: u64) -> Result<u64, Wrong> {
    let disk = Disk::default();
    let fault = |error: remanent_engine::Error| Wrong { state: 0, what: error.to_string() };
    let mut work = Work::begin(&disk, seed).map_err(fault)?;
    work.run().map_err(fault)?;
    let content = disk.content();
    let mut random = Random::new(seed ^ 0xf11b);
    for flip in 1..=FLIPS {
        let tried = flip_one(&content, seed, &work.states, &mut random);
        tried.map_err(|what| Wrong { state: flip, what })?;
    }
    Ok(FLIPS)
}

fn flip_one(
    content: &Content,
    seed: u64,
    states: &[u64],
    random: &mut Random,
) -> Result<(), String> {
    let mut content = content.clone();
    let files = content.iter().filter(|(_, bytes)| !bytes.is_empty());
    let names: Vec<String> = files.map(|(name, _)| name.clone()).collect();
    let name = &names[random.below(names.len() as u64) as usize];
    let Some(bytes) = content.get_mut(name) else { return Ok(()) };
    let used = bytes.iter().rposition(|&byte| byte != 0).map_or(1, |last| last + 1);
    let at = random.below(used as u64) as usize;
    bytes[at] ^= 1 << random.below(8);
    let said = format!("{name}, byte {at}");
    let last = states.len() - 1;
    salvage(&content, seed, &states[last..]).map_err(|what| format!("{said}: salvage: {what}"))?;
    let disk = Disk::with(content);
    match Database::open_in(Arc::new(disk.clone()), options(seed)) {
        Err(error) if error.is_damage() => Ok(()),
        Err(error) => Err(format!("{said}: {error}")),
        Ok(db) => {
            let is_damaged = db.damage().is_some();
            let lowest = if is_damaged { 0 } else { last };
            let judged = judge(&db, states, Allowed { lowest, highest: last });
            let state = judged.map_err(|what| format!("{said}: {what}"))?;
            drop(db);
            if !is_damaged {
                return Ok(());
            }
            let allowed = Allowed { lowest: state, highest: state };
            go_on(&disk, seed, states, allowed).map_err(|what| format!("{said}: {what}"))
        }
    }
}

/// A damaged database is opened to write, with what could be read of it; then it is one like any
/// other.
pub(super) fn go_on(
    disk: &Disk,
    seed: u64,
    states: &[u64],
    allowed: Allowed,
) -> Result<(), String> {
    let words = |error: remanent_engine::Error| format!("accepted: {error}");
    let accepted = options(seed).accept_damage(true);
    let db = Database::open_in(Arc::new(disk.clone()), accepted).map_err(words)?;
    judge(&db, states, allowed)?;
    drop(db);
    let mut work = Work::begin(disk, seed).map_err(words)?;
    work.commit_some(2).map_err(words)?;
    let states = std::mem::take(&mut work.states);
    drop(work);
    let db = Database::open_in(Arc::new(disk.clone()), options(seed)).map_err(words)?;
    if let Some(damage) = db.damage() {
        return Err(format!("accepted, and damaged again: {damage}"));
    }
    let last = states.len() - 1;
    judge(&db, &states, Allowed { lowest: last, highest: last }).map(|_| ())
}

/// Takes out what there is. Where nothing is lost, as it says, it is one of the states `whole`.
pub(super) fn salvage(content: &Content, seed: u64, whole: &[u64]) -> Result<(), String> {
    let words = |error: remanent_engine::Error| error.to_string();
    let disk = Disk::with(content.clone());
    let (db, salvaged) = match Database::salvage(&disk, options(seed)) {
        // There is neither an image nor a log.
        Err(error) if error.is_damage() => return Ok(()),
        salvaged => salvaged.map_err(words)?,
    };
    check_indexes(&db)?;
    if !salvaged.is_less_than_all() && !whole.contains(&digest(&db).map_err(words)?) {
        return Err(format!("it says that nothing is lost: {salvaged:?}"));
    }
    Ok(())
}
