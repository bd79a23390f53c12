//! The model: every state that every row ever had, in a `BTreeMap`, and the rules of isolation.
//!
//! A row is a list of states, oldest first; a state was committed at a timestamp or belongs to a
//! transaction in flight. What a transaction sees, and which changes must be refused and why,
//! follows from those lists alone. Rows go by the ids that the engine gave them.

use std::collections::{BTreeMap, BTreeSet};

use remanent_engine::ErrorKind;

use crate::item::Content;
use crate::keys::{ModelIndex, Part};

/// Whose a state is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Begin {
    Committed(u64),
    InFlight(u64),
}

/// What a row was from some moment on; nothing once it was deleted.
#[derive(Clone, Debug)]
struct State {
    begin: Begin,
    content: Option<Content>,
}

/// Who looks: a snapshot, and the number of the transaction if it writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Viewer {
    pub(crate) timestamp: u64,
    pub(crate) own: u64,
}

/// What a viewer sees.
pub(crate) type Visible = BTreeMap<u64, Content>;

#[derive(Default, Debug)]
pub(crate) struct Expected {
    rows: BTreeMap<u64, Vec<State>>,
}

impl Expected {
    /// Ids of rows that are or were there.
    pub(crate) fn ids(&self) -> Vec<u64> {
        self.rows.keys().copied().collect()
    }

    pub(crate) fn visible(&self, viewer: Viewer) -> Visible {
        let seen = |(id, states): (&u64, &Vec<State>)| {
            let content = seen_state(states, viewer)?.content.clone()?;
            Some((*id, content))
        };
        self.rows.iter().filter_map(seen).collect()
    }

    /// The newest committed content of every row.
    pub(crate) fn newest(&self) -> Visible {
        self.visible(Viewer { timestamp: u64::MAX, own: 0 })
    }

    /// The row that a viewer would change, or why it may not.
    pub(crate) fn changeable(&self, id: u64, viewer: Viewer) -> Result<&Content, ErrorKind> {
        let newest = self.rows.get(&id).and_then(|states| states.last());
        let newest = newest.ok_or(ErrorKind::RowNotFound)?;
        match newest.begin {
            Begin::InFlight(owner) if owner != viewer.own => return Err(ErrorKind::Conflict),
            Begin::Committed(at) if at > viewer.timestamp => return Err(ErrorKind::Conflict),
            _ => {}
        }
        newest.content.as_ref().ok_or(ErrorKind::RowNotFound)
    }

    /// Whether a refusal to change a row is right. A row that came and went after the viewer's
    /// snapshot may still be there, or be gone for everybody.
    pub(crate) fn is_refusal(&self, id: u64, viewer: Viewer, refused: ErrorKind) -> bool {
        let expected = self.changeable(id, viewer).err();
        let states = self.rows.get(&id).map_or(&[][..], |states| states);
        let seen = seen_state(states, viewer).is_some_and(|state| state.content.is_some());
        let deleted = states.last().is_some_and(|state| state.content.is_none());
        let gone = deleted && !seen && expected == Some(ErrorKind::Conflict);
        expected == Some(refused) || gone && refused == ErrorKind::RowNotFound
    }

    /// Why no row of this content may be put in place of `old`, or be added; empty if it may be.
    pub(crate) fn refusals(
        &self,
        indexes: &[ModelIndex],
        id: Option<u64>,
        old: Option<&Content>,
        new: &Content,
        viewer: Viewer,
    ) -> BTreeSet<u16> {
        let mut refusals = BTreeSet::new();
        for index in indexes {
            let key = index.key(new);
            let moved = old.is_none_or(|old| index.key(old) != key);
            if !moved || !index.is_exclusive(&key) {
                continue;
            }
            for (_, states) in self.rows.iter().filter(|(other, _)| Some(**other) != id) {
                refusals.extend(refusal(states, index, &key, viewer).map(ErrorKind::code));
            }
            // Indexes are checked in their order, and the first refusal counts.
            if !refusals.is_empty() {
                break;
            }
        }
        refusals
    }

    /// Adds a state to a row. The id of a row that is gone for everybody may be used again.
    pub(crate) fn push(
        &mut self,
        id: u64,
        owner: u64,
        content: Option<Content>,
        is_new: bool,
        held: &[u64],
    ) {
        let states = self.rows.entry(id).or_default();
        if is_new && let Some(last) = states.last() {
            let gone = matches!(last.begin, Begin::Committed(_)) && last.content.is_none();
            let sees = |timestamp: &&u64| {
                let viewer = Viewer { timestamp: **timestamp, own: 0 };
                seen_state(states, viewer).is_some_and(|state| state.content.is_some())
            };
            let viewer = held.iter().find(sees);
            assert!(gone && viewer.is_none(), "row id {id} was used again: {viewer:?}, {states:?}");
            states.clear();
        }
        states.push(State { begin: Begin::InFlight(owner), content });
    }

    /// Takes the newest state off a row.
    pub(crate) fn pop(&mut self, id: u64) {
        let states = self.rows.get_mut(&id).expect("a change is taken back once");
        states.pop();
        if states.is_empty() {
            self.rows.remove(&id);
        }
    }

    /// Makes the states of a transaction committed.
    pub(crate) fn commit(&mut self, owner: u64, timestamp: u64) {
        for state in self.rows.values_mut().flatten() {
            if state.begin == Begin::InFlight(owner) {
                state.begin = Begin::Committed(timestamp);
            }
        }
    }
}

fn seen_state(states: &[State], viewer: Viewer) -> Option<&State> {
    let seen = |state: &&State| match state.begin {
        Begin::Committed(at) => at <= viewer.timestamp,
        Begin::InFlight(owner) => owner == viewer.own,
    };
    states.iter().rev().find(seen)
}

/// Why a viewer may not take `key` as far as one other row is concerned.
fn refusal(
    states: &[State],
    index: &ModelIndex,
    key: &[Part],
    viewer: Viewer,
) -> Option<ErrorKind> {
    let holds = |state: Option<&State>| {
        let content = state.and_then(|state| state.content.as_ref());
        content.is_some_and(|content| index.key(content) == key)
    };
    let newest = states.last()?;
    let seen = seen_state(states, viewer);
    let sees_newest = seen.is_some_and(|seen| std::ptr::eq(seen, newest));
    if sees_newest {
        return holds(seen).then_some(ErrorKind::DuplicateKey);
    }
    // Others changed the row. What they have not committed may come or go; what they committed is
    // there; what they took away, this viewer still sees.
    let pending = |state: &&State| matches!(state.begin, Begin::InFlight(_));
    let committed = states.iter().rev().find(|state| !pending(state));
    let held = states.iter().filter(pending).any(|state| holds(Some(state)));
    (held || holds(committed) || holds(seen)).then_some(ErrorKind::Conflict)
}
