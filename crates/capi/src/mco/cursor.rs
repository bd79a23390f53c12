//! Cursors: positions in an index or in a class's list, within one transaction.
//!
//! What C holds is a token; the position lies in the transaction's slot. A position on one object,
//! as a search by a whole key gives it, costs no more than finding the object: the engine's cursor
//! is made when the program first moves. Objects with equal keys in a hash index, and the objects
//! of a list, are noted as they are met, so that a position can move back.

use remanent_engine::schema::Value;
use remanent_engine::{Find, Scan};
use std::sync::atomic::Ordering::{Acquire, Relaxed};

use super::dictionary::Index;
use super::index::{Cursor, index_of, key_of_row};
use super::object::{Context, Object};
use super::session::find_session;
use super::status::*;
use crate::ffi::{InPtr, OutPtr};
use crate::row_at::RowAt;

/// The index number of a list.
const LIST: u32 = u32::MAX;
/// Cursors of one transaction that are remembered, at most.
const CURSORS_MAX: usize = 1 << 16;

/// The position of a cursor.
pub(super) struct Position {
    number: u32,
    class_id: u32,
    index: u32,
    current: Option<RowAt>,
    way: Way,
}

/// How a cursor moves.
enum Way {
    /// Not yet: it stands on one object, or nowhere.
    Still,
    /// Along an ordered index.
    Ordered(Box<remanent_engine::Cursor<'static>>),
    /// The current object is gone; the engine's cursor stands on the one that was behind it.
    Before(Box<remanent_engine::Cursor<'static>>),
    /// Over rows that were noted, and those that a scan has still to give.
    Noted(Box<Noted>),
}

/// Rows that were noted. (Apart, so that a position is small: most are made and never moved.)
struct Noted {
    rows: Vec<RowAt>,
    at: usize,
    scan: Option<Scan<'static>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Move {
    First,
    Last,
    Next,
    Previous,
}

impl Position {
    #[inline]
    pub(super) fn new(class_id: u32, index: u32) -> Self {
        Self { number: 0, class_id, index, current: None, way: Way::Still }
    }

    /// The object that it stands on.
    #[inline]
    pub(super) fn current(&self) -> Outcome<RowAt> {
        self.current.ok_or(MCO_E_CURSOR_INVALID)
    }

    /// Stands on what was found, if anything was.
    #[inline(always)]
    pub(super) fn stand(&mut self, found: Option<RowAt>) -> Outcome {
        self.current = found;
        if !matches!(self.way, Way::Still) {
            self.forget_way();
        }
        if found.is_some() { Ok(()) } else { Err(MCO_S_NOTFOUND) }
    }

    #[cold]
    fn forget_way(&mut self) {
        self.way = Way::Still;
    }

    pub(super) fn stand_on(&mut self, row: RowAt) {
        (self.current, self.way) = (Some(row), Way::Still);
    }

    /// Goes to the object nearest to a key.
    #[inline]
    pub(super) fn search(
        &mut self,
        context: Context,
        index: &Index,
        way: Find,
        values: &[Value<'_>],
    ) -> Outcome {
        let table = &context.class.table;
        let held = context.slot.held();
        let reading = held.reading().ok_or(MCO_E_TRANSACT)?;
        (self.current, self.way) = (None, Way::Still);
        if !index.ordered {
            return self.search_hash(context, index, way, values);
        }
        if way == Find::Equal && values.len() == index.parts.len() {
            let row = reading.find(table, index.handle, values).map_err(status_of)?;
            self.current = row.as_ref().map(RowAt::of);
        } else {
            // SAFETY: it lies in the slot and is dropped before the transaction ends.
            let cursor = unsafe { held.cursor(table, index.handle) }.map_err(status_of)?;
            let mut cursor = Box::new(cursor.ok_or(MCO_E_TRANSACT)?);
            let row = cursor.find(way, values).map_err(status_of)?;
            self.current = row.as_ref().map(RowAt::of);
            self.way = Way::Ordered(cursor);
        }
        self.current.map(|_| ()).ok_or(MCO_S_NOTFOUND)
    }

    fn search_hash(
        &mut self,
        context: Context,
        index: &Index,
        way: Find,
        values: &[Value<'_>],
    ) -> Outcome {
        if way != Find::Equal {
            return Err(MCO_E_ILLEGAL_PARAM);
        }
        let reading = context.slot.held().reading().ok_or(MCO_E_TRANSACT)?;
        let mut rows = Vec::new();
        let found = reading.each(&context.class.table, index.handle, values, |row| {
            rows.push(RowAt::of(&row));
            Ok(())
        });
        found.map_err(status_of)?;
        self.current = rows.first().copied();
        self.way = Way::Noted(Box::new(Noted { rows, at: 0, scan: None }));
        self.current.map(|_| ()).ok_or(MCO_S_NOTFOUND)
    }

    /// Moves; returns where it then stands.
    fn step(&mut self, context: Context, step: Move) -> Outcome {
        let indexed = self.index != LIST && index_of(context, self.index)?.ordered;
        let found = if indexed {
            self.step_ordered(context, step)?
        } else {
            self.step_noted(context, step)?
        };
        self.current = found;
        if found.is_none() {
            // There are no more, or one could not be read.
            let reading = context.slot.held().reading().ok_or(MCO_E_TRANSACT)?;
            reading.status().map_err(status_of)?;
        }
        let ends = matches!(step, Move::First | Move::Last);
        let missing = if ends { MCO_S_CURSOR_EMPTY } else { MCO_S_CURSOR_END };
        found.map(|_| ()).ok_or(missing)
    }

    fn step_ordered(&mut self, context: Context, step: Move) -> Outcome<Option<RowAt>> {
        if matches!(self.way, Way::Still) {
            self.make_ordered(context, step)?;
        }
        let (cursor, before) = match &mut self.way {
            Way::Ordered(cursor) => (cursor, false),
            Way::Before(cursor) => (cursor, true),
            _ => return Err(MCO_E_CURSOR_INVALID),
        };
        let row = match step {
            Move::First => cursor.first(),
            Move::Last => cursor.last(),
            Move::Previous => cursor.previous(),
            // It stands on the next already.
            Move::Next if before => {
                let index = index_of(context, self.index)?;
                let at = self.current.ok_or(MCO_E_CURSOR_INVALID)?;
                // SAFETY: the row was read in this transaction.
                let (values, count) = key_of_row(context, index, unsafe { at.bytes() });
                cursor.find(Find::AtLeast, &values[..count]).map_err(status_of)?
            }
            Move::Next => cursor.next(),
        };
        let row = row.as_ref().map(RowAt::of);
        if before && let Way::Before(cursor) = std::mem::replace(&mut self.way, Way::Still) {
            self.way = Way::Ordered(cursor);
        }
        Ok(row)
    }

    /// Makes the engine's cursor and puts it where this one stands.
    fn make_ordered(&mut self, context: Context, step: Move) -> Outcome {
        let index = index_of(context, self.index)?;
        // SAFETY: it lies in the slot and is dropped before the transaction ends.
        let made = unsafe { context.slot.held().cursor(&context.class.table, index.handle) };
        let mut cursor = Box::new(made.map_err(status_of)?.ok_or(MCO_E_TRANSACT)?);
        if matches!(step, Move::First | Move::Last) {
            self.way = Way::Ordered(cursor);
            return Ok(());
        }
        let at = self.current()?;
        // SAFETY: the row was read in this transaction.
        let (values, count) = key_of_row(context, index, unsafe { at.bytes() });
        let mut row = cursor.find(Find::Equal, &values[..count]).map_err(status_of)?;
        while let Some(other) = row
            && other.id().number() != u64::from(at.id)
        {
            row = cursor.next();
        }
        self.way = match row {
            Some(_) => Way::Ordered(cursor),
            None => {
                cursor.find(Find::AtLeast, &values[..count]).map_err(status_of)?;
                Way::Before(cursor)
            }
        };
        Ok(())
    }

    fn step_noted(&mut self, context: Context, step: Move) -> Outcome<Option<RowAt>> {
        if matches!(self.way, Way::Still) {
            // SAFETY: it lies in the slot and is dropped before the transaction ends.
            let scan =
                unsafe { context.slot.held().scan(&context.class.table) }.map_err(status_of)?;
            self.way = Way::Noted(Box::new(Noted { rows: Vec::new(), at: 0, scan }));
        }
        let class_id = self.class_id;
        let Way::Noted(noted) = &mut self.way else {
            return Err(MCO_E_CURSOR_INVALID);
        };
        let Noted { rows, at, scan } = &mut **noted;
        let drafts = context.slot.drafts.borrow();
        let is_there = |row: &RowAt| !drafts.is_deleted(class_id, row.id);
        let stands = self.current.is_some();
        let mut next = match step {
            Move::First => Some(0),
            Move::Last => {
                while fetch(rows, scan) {}
                rows.len().checked_sub(1)
            }
            Move::Next if stands => Some(*at + 1),
            Move::Previous if stands => at.checked_sub(1),
            Move::Next | Move::Previous => return Err(MCO_E_CURSOR_INVALID),
        };
        let forward = matches!(step, Move::First | Move::Next);
        while let Some(number) = next {
            while number >= rows.len() && fetch(rows, scan) {}
            let Some(row) = rows.get(number) else { return Ok(None) };
            if is_there(row) {
                *at = number;
                return Ok(Some(*row));
            }
            next = if forward { Some(number + 1) } else { number.checked_sub(1) };
        }
        Ok(None)
    }
}

/// Notes the next rows of a scan; whether there were any.
fn fetch(rows: &mut Vec<RowAt>, scan: &mut Option<Scan<'static>>) -> bool {
    let batch = scan.as_mut().and_then(Scan::next_batch).unwrap_or_default();
    rows.extend(batch.iter().map(RowAt::of));
    !batch.is_empty()
}

/// Keeps a position and makes the cursor that C holds for it.
#[inline(always)]
pub(super) fn put_cursor(context: Context, position: Position) -> Cursor {
    let slot = context.slot;
    let number = slot.cursor_number.get().wrapping_add(1);
    slot.cursor_number.set(number);
    let mut cursors = slot.cursors.borrow_mut();
    let (class_id, index) = (position.class_id, position.index);
    let position = Position { number, ..position };
    let mut place = cursors.len();
    if place >= CURSORS_MAX {
        let closed = cursors.iter().position(|position| position.number == 0);
        place = closed.unwrap_or(place);
    }
    if place < cursors.len() {
        cursors[place] = position;
    } else {
        cursors.push(position);
    }
    Cursor { transaction: slot.token(), slot: place as u32, number, class_id, index }
}

/// The position of a cursor of this class and index.
#[inline]
pub(super) fn cursor_at<'c>(
    cursors: &'c mut [Position],
    context: Context,
    cursor: &Cursor,
    index: u32,
) -> Outcome<&'c mut Position> {
    let position = position_at(cursors, context.slot.token(), cursor)?;
    let same_class = std::ptr::eq(
        &raw const context.instance.classes[position.class_id as usize],
        context.class,
    );
    if same_class && position.index == index { Ok(position) } else { Err(MCO_E_CURSOR_MISMATCH) }
}

#[inline]
fn position_at<'c>(
    cursors: &'c mut [Position],
    token: u64,
    cursor: &Cursor,
) -> Outcome<&'c mut Position> {
    let position = cursors.get_mut(cursor.slot as usize).filter(|position| {
        cursor.transaction == token && cursor.number != 0 && position.number == cursor.number
    });
    position.ok_or(MCO_E_CURSOR_INVALID)
}

/// Whether a class has objects that the transaction can see.
#[inline]
pub(super) fn has_objects(context: Context) -> Outcome<bool> {
    let class = context.class;
    let filled = class.filled.load(Acquire);
    if filled != u64::MAX && !class.deleted.load(Relaxed) {
        // A transaction that writes is not asked when it began: it would have to remember that.
        let reading = context.slot.held().reading().ok_or(MCO_E_TRANSACT)?;
        if context.slot.writes.get() || reading.timestamp() >= filled {
            return Ok(true);
        }
    }
    look_for_objects(context)
}

#[cold]
fn look_for_objects(context: Context) -> Outcome<bool> {
    let reading = context.slot.held().reading().ok_or(MCO_E_TRANSACT)?;
    Ok(reading.scan(&context.class.table).map_err(status_of)?.next().is_some())
}

/// Opens a cursor on the list of a class.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_list_cursor(
    transaction: u64,
    class_id: u32,
    out: OutPtr<Cursor>,
) -> MCO_RET {
    call(|| {
        let context = Context::of(find_session(transaction)?, class_id)?;
        out.set(put_cursor(context, Position::new(class_id, LIST))).ok_or(MCO_E_ILLEGAL_PARAM)?;
        if has_objects(context)? { Ok(()) } else { Err(MCO_S_CURSOR_EMPTY) }
    })
}

/// The object that a cursor stands on.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_from_cursor(
    transaction: u64,
    cursor: InPtr<Cursor>,
    class_id: u32,
    out: OutPtr<Object>,
) -> MCO_RET {
    status(from_cursor(transaction, cursor, class_id, out))
}

#[inline]
fn from_cursor(
    transaction: u64,
    cursor: InPtr<Cursor>,
    class_id: u32,
    out: OutPtr<Object>,
) -> Outcome {
    let slot = find_session(transaction)?;
    let cursor = cursor.get().ok_or(MCO_E_ILLEGAL_PARAM)?;
    let mut cursors = slot.cursors.borrow_mut();
    let position = position_at(&mut cursors, slot.token(), cursor)?;
    if position.class_id != class_id {
        return Err(MCO_E_CURSOR_MISMATCH);
    }
    Object::put_row(slot, class_id, position.current()?, out)
}

/// Goes to the first object.
#[unsafe(no_mangle)]
pub extern "C" fn mco_cursor_first(transaction: u64, cursor: InPtr<Cursor>) -> MCO_RET {
    step(transaction, cursor, Move::First)
}

/// Goes to the last object.
#[unsafe(no_mangle)]
pub extern "C" fn mco_cursor_last(transaction: u64, cursor: InPtr<Cursor>) -> MCO_RET {
    step(transaction, cursor, Move::Last)
}

/// Goes to the next object.
#[unsafe(no_mangle)]
pub extern "C" fn mco_cursor_next(transaction: u64, cursor: InPtr<Cursor>) -> MCO_RET {
    step(transaction, cursor, Move::Next)
}

/// Goes to the previous object.
#[unsafe(no_mangle)]
pub extern "C" fn mco_cursor_prev(transaction: u64, cursor: InPtr<Cursor>) -> MCO_RET {
    step(transaction, cursor, Move::Previous)
}

fn step(transaction: u64, cursor: InPtr<Cursor>, step: Move) -> MCO_RET {
    call(|| {
        let slot = find_session(transaction)?;
        let cursor = cursor.get().ok_or(MCO_E_ILLEGAL_PARAM)?;
        let mut cursors = slot.cursors.borrow_mut();
        let position = position_at(&mut cursors, slot.token(), cursor)?;
        let context = Context::of(slot, position.class_id)?;
        position.step(context, step)
    })
}

/// Gives a cursor up.
#[unsafe(no_mangle)]
pub extern "C" fn mco_cursor_close(transaction: u64, cursor: InPtr<Cursor>) -> MCO_RET {
    call(|| {
        let slot = find_session(transaction)?;
        let cursor = cursor.get().ok_or(MCO_E_ILLEGAL_PARAM)?;
        let mut cursors = slot.cursors.borrow_mut();
        let position = position_at(&mut cursors, slot.token(), cursor)?;
        *position = Position::new(position.class_id, position.index);
        Ok(())
    })
}
