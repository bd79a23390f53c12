//! Stopping a trace at every call, and opening what is left.
//!
//! Of each point there are as many states as there are manners of survival, those that depend on
//! chance several times. Now and then the database that was opened goes on: it commits, is closed
//! and opened again; or it crashes once more while it is being opened or goes on.

use std::sync::Arc;

use remanent_engine::Database;

use super::Wrong;
use super::disk::{Call, Content, Disk, Note};
use super::judge::{Allowed, judge};
use super::survival::{Manner, Survival};
use super::work::{Work, options};
use crate::random::Random;

/// How often a manner is tried that depends on chance.
const TRIES: u64 = 12;
/// One state of so many goes on after it was opened.
const GO_ON_EVERY: u64 = 8;

/// All crash states of a seed: how many there were.
pub(super) fn run(seed: u64) -> Result<u64, Wrong> {
    let disk = Disk::default();
    let fault = |what: String| Wrong { state: 0, what };
    let mut work = Work::begin(&disk, seed).map_err(|error| fault(error.to_string()))?;
    work.run().map_err(|error| fault(format!("without a crash: {error}")))?;
    let mut point = Point {
        seed,
        random: Random::new(seed ^ 0x0c4a_54e5),
        states: &work.states,
        begun: 0,
        written: 0,
        synced: 0,
        count: 0,
    };
    let mut survival = Survival::default();
    for call in disk.calls() {
        if let Call::Note(note) = call {
            point.note(note);
            continue;
        }
        // As if the machine stopped in the middle of it, and right behind it.
        let mut within = survival.clone();
        within.call(&call);
        point.try_all(if matches!(call, Call::Sync { .. } | Call::SyncNames) {
            &survival
        } else {
            &within
        })?;
        survival = within;
    }
    point.try_all(&survival)?;
    Ok(point.count)
}

/// A point of a trace, and what is known there.
struct Point<'w> {
    seed: u64,
    random: Random,
    states: &'w [u64],
    begun: usize,
    written: usize,
    synced: usize,
    count: u64,
}

impl Point<'_> {
    fn note(&mut self, note: Note) {
        match note {
            Note::Begun(state) => self.begun = self.begun.max(state),
            Note::Written(state) => self.written = self.written.max(state),
            Note::Synced(state) => self.synced = self.synced.max(state),
        }
    }

    fn try_all(&mut self, survival: &Survival) -> Result<(), Wrong> {
        for manner in Manner::ALL {
            let tries = if matches!(manner, Manner::Kept | Manner::Lost) { 1 } else { TRIES };
            for _ in 0..tries {
                self.count += 1;
                let content = survival.after(manner, &mut self.random);
                let goes_on = self.random.below(GO_ON_EVERY) == 0;
                let mut tried = self.try_one(content, manner, goes_on);
                if goes_on && manner == Manner::Kept {
                    tried = tried.and_then(|()| self.go_on_and_crash(survival));
                }
                tried.map_err(|what| Wrong {
                    state: self.count,
                    what: format!("{manner:?}: {what}"),
                })?;
            }
        }
        Ok(())
    }

    fn try_one(&mut self, content: Content, manner: Manner, goes_on: bool) -> Result<(), String> {
        let lowest = match manner {
            Manner::Kept => self.written.max(self.synced),
            _ => self.synced,
        };
        // A state that was begun and refused never came to be.
        let highest = self.begun.min(self.states.len() - 1);
        let allowed = Allowed { lowest, highest };
        let disk = Disk::with(content.clone());
        let db = open(&disk, self.seed)?;
        let state = judge(&db, self.states, allowed)?;
        drop(db);
        if !goes_on {
            return Ok(());
        }
        self.crash_again(content, &disk, Allowed { lowest: state, highest: state })?;
        go_on(&disk, self.seed)
    }

    /// The process died and another goes on, with what the system has in memory; then the machine
    /// stops. What the first had not synced is lost then, unless the second saw to it.
    fn go_on_and_crash(&mut self, survival: &Survival) -> Result<(), String> {
        let disk = survival.disk();
        let states = commit_some(&disk, self.seed)?;
        let mut survival = survival.clone();
        disk.calls().iter().for_each(|call| survival.call(call));
        let last = states.len() - 1;
        for manner in [Manner::Lost, Manner::Torn] {
            let db = open(&Disk::with(survival.after(manner, &mut self.random)), self.seed)?;
            judge(&db, &states, Allowed { lowest: last, highest: last })
                .map_err(|error| format!("another process went on: {error}"))?;
        }
        Ok(())
    }

    /// Stops the machine once more, while the database was opened and closed.
    fn crash_again(
        &mut self,
        content: Content,
        disk: &Disk,
        allowed: Allowed,
    ) -> Result<(), String> {
        let calls = disk.calls();
        let stop = self.random.below(calls.len() as u64 + 1) as usize;
        let mut survival = Survival::with(&content);
        calls[..stop].iter().for_each(|call| survival.call(call));
        let manner = self.random.pick(&Manner::ALL).unwrap_or(Manner::Torn);
        let after = survival.after(manner, &mut self.random);
        let disk = Disk::with(after);
        let db = open(&disk, self.seed).map_err(|error| format!("crashed again: {error}"))?;
        let judged = judge(&db, self.states, allowed);
        judged.map_err(|error| format!("crashed again: {error}"))?;
        Ok(())
    }
}

/// Opens what a crash has left: nothing may be missing.
fn open(disk: &Disk, seed: u64) -> Result<Database, String> {
    let db = Database::open_in(Arc::new(disk.clone()), options(seed));
    let db = db.map_err(|error| format!("it cannot be opened: {error}"))?;
    match db.damage() {
        Some(damage) => Err(format!("it is said to be damaged: {damage}")),
        None => Ok(db),
    }
}

/// A database that was opened after a crash is one like any other.
fn go_on(disk: &Disk, seed: u64) -> Result<(), String> {
    let states = commit_some(disk, seed)?;
    let last = states.len() - 1;
    let db = open(&Disk::with(disk.content()), seed)?;
    let allowed = Allowed { lowest: last, highest: last };
    judge(&db, &states, allowed).map_err(|error| format!("going on: {error}"))?;
    Ok(())
}

/// Opens the database, makes a few commits that are synced, and closes it: all its states.
fn commit_some(disk: &Disk, seed: u64) -> Result<Vec<u64>, String> {
    let words = |error: remanent_engine::Error| format!("going on: {error}");
    let mut work = Work::begin(disk, seed).map_err(words)?;
    work.commit_some(3).map_err(words)?;
    Ok(std::mem::take(&mut work.states))
}
