//! Rows whose numbers are the same, compared by the rest of their keys.
//!
//! Long runs are sorted in pieces, which are put together in pairs: so somebody can stop it.

use std::cmp::Ordering;
use std::mem::swap;

use super::radix::Word;
use crate::sources::account::Refused;

/// Rows that are sorted by comparing before anybody asks whether to stop.
const CHUNK: usize = 1 << 12;

/// Sorts the rows of each run of the same key; `compare` says how two rows stand to each other, and
/// those that are equal keep their order. `stop` is asked now and then.
///
/// # Errors
/// `stop` says so.
pub(super) fn sort_ties<W: Word>(
    words: &mut [W],
    row_bits: u32,
    compare: &impl Fn(u32, u32) -> Ordering,
    stop: &mut dyn FnMut() -> bool,
) -> Result<(), Refused> {
    let mut asked = 0;
    for run in words.chunk_by_mut(|one, other| one.has_key_of(*other, row_bits)) {
        asked += run.len();
        if asked >= CHUNK {
            asked = 0;
            if stop() {
                return Err(Refused);
            }
        }
        if run.len() > 1 {
            sort_run(run, row_bits, compare, stop)?;
        }
    }
    Ok(())
}

fn sort_run<W: Word>(
    run: &mut [W],
    row_bits: u32,
    compare: &impl Fn(u32, u32) -> Ordering,
    stop: &mut dyn FnMut() -> bool,
) -> Result<(), Refused> {
    let order = |one: &W, other: &W| {
        let (one, other) = (one.row(row_bits), other.row(row_bits));
        compare(one, other).then(one.cmp(&other))
    };
    for chunk in run.chunks_mut(CHUNK) {
        chunk.sort_unstable_by(order);
        if chunk.len() == CHUNK && stop() {
            return Err(Refused);
        }
    }
    let mut merged = Vec::new();
    let mut width = CHUNK;
    while width < run.len() {
        merged.clear();
        for pair in run.chunks(2 * width) {
            let (one, other) = pair.split_at(width.min(pair.len()));
            if stop() {
                return Err(Refused);
            }
            merge(one, other, &mut merged, order);
        }
        run.copy_from_slice(&merged);
        width *= 2;
    }
    Ok(())
}

/// Puts two sorted parts together.
fn merge<'w, W: Copy>(
    mut one: &'w [W],
    mut other: &'w [W],
    into: &mut Vec<W>,
    order: impl Fn(&W, &W) -> Ordering,
) {
    while let (Some(first), Some(second)) = (one.first(), other.first()) {
        if order(first, second).is_gt() {
            swap(&mut one, &mut other);
            continue;
        }
        into.push(*first);
        one = &one[1..];
    }
    into.extend_from_slice(one);
    into.extend_from_slice(other);
}
