//! Whole pieces that are gone: files removed, renamed, cut, exchanged, or the ones of yesterday;
//! beginnings and blocks that read as zeros; single bits.
//!
//! A trace ends cleanly, or it is stopped at some call, and then each of its files is damaged in
//! each way. Either all that was acknowledged is there, or damage is told and the database is read
//! only, as it was at some earlier moment. One thing nobody can know: whether the last frames of a
//! log that was not closed were there. So of what was acknowledged out of the newest file, the
//! newest may be missing in silence, where what is damaged is the frames of this very file, and not
//! its name, its beginning, or its length.

use std::sync::Arc;

use remanent_engine::{Database, Durability, ErrorKind};

use super::Wrong;
use super::disk::{Call, Content, Disk, Note};
use super::flips::{go_on, salvage};
use super::judge::{Allowed, judge};
use super::survival::{Manner, Survival};
use super::work::{Work, default_level, options};
use crate::random::Random;

/// Ends of one trace that are not its own, and how often a form is tried that depends on chance.
const STOPS: u64 = 3;
const TRIES: u64 = 3;
/// One damaged database of so many goes on.
const GO_ON_EVERY: u64 = 6;

/// A damage to a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Removed,
    Renamed,
    /// So many bytes at its beginning are zero.
    Beheaded(usize),
    Cut,
    CutToNothing,
    Flipped,
    /// A block of so many bytes is zero.
    Zeroed(usize),
    /// It is what it was some time ago.
    Older,
    /// It and another one have each other's names.
    Exchanged,
}

const FORMS: &[(u64, Form)] = &[
    (1, Form::Removed),
    (1, Form::Renamed),
    (1, Form::Beheaded(64)),
    (1, Form::Beheaded(128)),
    (1, Form::Beheaded(512)),
    (1, Form::Beheaded(4096)),
    (TRIES, Form::Cut),
    (1, Form::CutToNothing),
    (TRIES, Form::Flipped),
    (TRIES, Form::Zeroed(512)),
    (TRIES, Form::Zeroed(4096)),
    (1, Form::Older),
    (TRIES, Form::Exchanged),
];

/// Damages what a seed's trace has left, and what it has left at some earlier calls: how often.
pub(super) fn run(seed: u64) -> Result<u64, Wrong> {
    let disk = Disk::default();
    let fault = |error: remanent_engine::Error| Wrong { state: 0, what: error.to_string() };
    let mut work = Work::begin(&disk, seed).map_err(fault)?;
    work.run().map_err(fault)?;
    let (calls, mut random) = (disk.calls(), Random::new(seed ^ 0xda3a));
    let mut count = 0;
    for stop in 0..=STOPS {
        let end = match stop {
            0 => calls.len(),
            _ => random.below(calls.len() as u64) as usize,
        };
        let older = random.below(end as u64 + 1) as usize;
        let older = left_by(&calls[..older], Manner::Kept, &mut random).0;
        let manner = [Manner::Kept, Manner::Lost, Manner::Torn][stop as usize % 3];
        let (content, known) = left_by(&calls[..end], manner, &mut random);
        let left = Left { seed, states: &work.states, content, older, known, is_closed: stop == 0 };
        left.damage_all(&mut random, &mut count)?;
    }
    Ok(count)
}

/// The content of a disk after the calls of a trace.
fn left_by(calls: &[Call], manner: Manner, random: &mut Random) -> (Content, Known) {
    let (mut survival, mut known) = (Survival::default(), Known::default());
    for call in calls {
        match call {
            Call::Note(note) => known.note(*note),
            Call::Create { name, .. } | Call::Rename { to: name, .. } if is_log(name) => {
                known.logs.push((name.clone(), known.synced));
            }
            _ => {}
        }
        survival.call(call);
    }
    (survival.after(manner, random), known)
}

/// The state of a trace up to some call.
#[derive(Clone, Debug, Default)]
struct Known {
    begun: usize,
    synced: usize,
    /// The files of the log, each with the state that was acknowledged when it was made.
    logs: Vec<(String, usize)>,
    /// How many of them there were when something was acknowledged last.
    promised: usize,
}

impl Known {
    fn note(&mut self, note: Note) {
        match note {
            Note::Begun(state) => self.begun = self.begun.max(state),
            Note::Synced(state) if state > self.synced => {
                (self.synced, self.promised) = (state, self.logs.len());
            }
            Note::Written(_) | Note::Synced(_) => {}
        }
    }

    /// The state that was acknowledged before any that is in this file alone.
    fn before(&self, name: &str) -> usize {
        match self.logs.iter().rposition(|(known, _)| known == name) {
            Some(at) if at + 1 >= self.promised => self.logs[at].1,
            _ => self.synced,
        }
    }
}

/// The result of a trace.
struct Left<'w> {
    seed: u64,
    states: &'w [u64],
    content: Content,
    older: Content,
    known: Known,
    is_closed: bool,
}

impl Left<'_> {
    fn damage_all(&self, random: &mut Random, count: &mut u64) -> Result<(), Wrong> {
        for name in self.content.keys() {
            for &(tries, form) in FORMS {
                for _ in 0..tries {
                    let Some((content, said)) = self.damaged(name, form, random) else { continue };
                    *count += 1;
                    let goes_on = random.below(GO_ON_EVERY) == 0;
                    let lowest = self.lowest(name, form);
                    let judged = self.judge(content, lowest, heals(name, form), goes_on);
                    judged.map_err(|what| {
                        let end = if self.is_closed { "closed" } else { "stopped" };
                        Wrong { state: *count, what: format!("{end}, {name}, {said}: {what}") }
                    })?;
                }
            }
        }
        Ok(())
    }

    /// The oldest state that may be found in silence.
    fn lowest(&self, name: &str, form: Form) -> usize {
        // Files are filled with zeros before they are used where a commit waits for the disk.
        let is_cut = form == Form::Cut && default_level(self.seed) != Durability::Disk;
        let is_of_frames = matches!(form, Form::Flipped | Form::Zeroed(_) | Form::Older) || is_cut;
        if is_of_frames && !self.is_closed && is_log(name) {
            return self.known.before(name);
        }
        self.known.synced
    }

    /// The files with one of them damaged, and how; `None` if that changes nothing.
    fn damaged(&self, name: &str, form: Form, random: &mut Random) -> Option<(Content, String)> {
        let mut content = self.content.clone();
        let mut said = format!("{form:?}");
        let bytes = content.get_mut(name)?;
        let used = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        let at = random.below(used as u64 + 1) as usize;
        match form {
            Form::Removed | Form::Renamed => {
                let bytes = content.remove(name)?;
                if form == Form::Renamed {
                    content.insert(other_name(name), bytes);
                }
            }
            Form::Beheaded(length) => bytes.iter_mut().take(length).for_each(|byte| *byte = 0),
            Form::Cut => bytes.truncate(at),
            Form::CutToNothing => bytes.clear(),
            Form::Flipped => *bytes.get_mut(at)? ^= 1 << random.below(8),
            Form::Zeroed(length) => {
                let block = bytes.iter_mut().skip(at / length * length).take(length);
                block.for_each(|byte| *byte = 0);
            }
            Form::Older => *bytes = self.older.get(name)?.clone(),
            Form::Exchanged => {
                let names: Vec<&String> = self.content.keys().collect();
                let other = names[random.below(names.len() as u64) as usize];
                content.insert(name.to_owned(), self.content[other].clone());
                content.insert(other.clone(), self.content[name].clone());
                said = format!("exchanged with {other}");
            }
        }
        if matches!(form, Form::Cut | Form::Flipped | Form::Zeroed(_)) {
            said = format!("{said} at {at}");
        }
        (content != self.content).then_some((content, said))
    }

    fn judge(
        &self,
        content: Content,
        lowest: usize,
        heals: bool,
        goes_on: bool,
    ) -> Result<(), String> {
        let highest = self.known.begun.min(self.states.len() - 1);
        // What was salvaged with nothing lost, as it says, is what is found in silence.
        let silent = self.states[lowest..=highest].to_vec();
        salvage(&content, self.seed, &silent).map_err(|what| format!("salvage: {what}"))?;
        let disk = Disk::with(content);
        let db = match Database::open_in(Arc::new(disk.clone()), options(self.seed)) {
            Err(error) if error.is_damage() => return Ok(()),
            Err(error) => return Err(error.to_string()),
            Ok(db) => db,
        };
        let Some(damage) = db.damage() else {
            return judge(&db, self.states, Allowed { lowest, highest }).map(|_| ());
        };
        if heals {
            return Err(format!("one copy of the header is enough, but: {damage}"));
        }
        let is_there = disk.content().contains_key(&damage.file);
        let state = judge(&db, self.states, Allowed { lowest: 0, highest })?;
        match db.begin_write().map(|_| ()) {
            Err(error) if error.kind() == ErrorKind::DatabaseReadOnly => {}
            written => return Err(format!("damaged, and to be written: {written:?}")),
        }
        drop(db);
        let shown = Database::read_log(&disk, &mut |_| std::ops::ControlFlow::Continue(()));
        // It is shown from the first file on that is there.
        if is_there && matches!(shown, Ok(None)) {
            return Err("whoever looks at the log is told of no damage".to_owned());
        }
        match goes_on {
            true => go_on(&disk, self.seed, self.states, Allowed { lowest: state, highest: state }),
            false => Ok(()),
        }
    }
}

/// Whether it is the name of a file of the log.
fn is_log(name: &str) -> bool {
    name.strip_prefix("log-").is_some_and(|digits| u64::from_str_radix(digits, 16).is_ok())
}

/// Whether nothing is lost and nothing need be told: the second copy of a header is farther away.
fn heals(name: &str, form: Form) -> bool {
    is_log(name) && matches!(form, Form::Beheaded(..=512))
}

/// A name of the same kind that another file may have, but none has.
fn other_name(name: &str) -> String {
    match name.split_once('-') {
        Some((kind, digits)) => match u64::from_str_radix(digits, 16) {
            Ok(number) => format!("{kind}-{:016x}", number + 7),
            Err(_) => format!("{name}.old"),
        },
        None => format!("{name}.old"),
    }
}
