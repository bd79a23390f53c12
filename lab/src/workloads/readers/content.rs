//! What the rows of the workload hold, as a function of id and generation.
//!
//! A generation numbers the transactions of the writer over all cycles: each cycle has a range of
//! its own, inserts have its first number and each update transaction the next one. The payload
//! is 25 words: id and generation, then words that both determine, then the word that makes the
//! exclusive or of all of them zero. A row that was half written or half copied has words of two
//! generations, and the sum gives it away for the price of reading it.

use lab_harness::readers::{PAYLOAD_LEN, Row, RowView};

const WORDS: usize = PAYLOAD_LEN / 8;
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

const _: () = assert!(PAYLOAD_LEN.is_multiple_of(8));

/// The row of an id in a generation.
#[inline]
pub(crate) fn row(id: i32, generation: u32) -> Row {
    let head = u64::from(id as u32) << 32 | u64::from(generation);
    let seed = (head ^ head >> 29).wrapping_add(1).wrapping_mul(ODD);
    let mut payload = [0; PAYLOAD_LEN];
    let mut sum = 0;
    let (words, last) = payload.split_at_mut(PAYLOAD_LEN - 8);
    for (place, word) in words.chunks_exact_mut(8).enumerate() {
        let value = match place {
            0 => head,
            _ => seed.wrapping_mul(2 * place as u64 + 1),
        };
        sum ^= value;
        word.copy_from_slice(&value.to_le_bytes());
    }
    last.copy_from_slice(&sum.to_le_bytes());
    Row { id, hexkey: hexkey(id), payload }
}

/// The generation of a row that is whole and has this id; `None` of any other.
#[inline]
pub(crate) fn generation_of(id: i32, view: &RowView<'_>) -> Option<u32> {
    let payload: &[u8; PAYLOAD_LEN] = view.payload.try_into().ok()?;
    let mut sum = 0;
    for word in payload.as_chunks::<8>().0 {
        sum ^= u64::from_le_bytes(*word);
    }
    let head = u64::from_le_bytes(*payload.first_chunk()?);
    let whole =
        sum == 0 && (head >> 32) as u32 == id as u32 && view.id == id && view.hexkey == hexkey(id);
    whole.then_some(head as u32)
}

fn hexkey(id: i32) -> [i16; 3] {
    [id as i16, (id >> 4) as i16, !id as i16]
}

const _: () = assert!(WORDS == 25);

#[cfg(test)]
#[path = "content_tests.rs"]
mod tests;
