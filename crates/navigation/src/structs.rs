//! Between a program's structs and rows.
//!
//! Numbers and arrays have the same bytes in both. Text ends at its first NUL in C and has none in
//! a row; what follows the NUL in a struct is not stored, and read back as zeros. Text that is not
//! UTF-8 is stored as `text` describes. Structs come as bytes of the right length, but for text
//! that ends earlier: the C interface sees to that.

use remanent_ddl::{CField, CKind};
use remanent_engine::schema::Value;
use remanent_engine::{ColumnHandle, Row, RowDraft};

use crate::status::{Outcome, Status};
use crate::text;

/// Puts the leaves of a struct into a draft.
pub(crate) fn write_struct(
    draft: &mut RowDraft,
    columns: &[ColumnHandle],
    leaves: &[CField],
    bytes: &[u8],
) -> Outcome {
    for leaf in leaves {
        let column = columns[leaf.leaf as usize];
        let (start, size) = (leaf.offset as usize, leaf.size as usize);
        let end =
            if leaf.kind == CKind::Text { bytes.len().min(start + size) } else { start + size };
        let place = &bytes[start..end];
        match leaf.kind {
            CKind::Fixed => draft.set_raw(column, place)?,
            CKind::Text => {
                let end = memchr::memchr(0, place).unwrap_or(place.len());
                let mut buffer = Vec::new();
                let text = text::encode(&place[..end], &mut buffer);
                draft.set(column, Value::String(text))?;
            }
            CKind::WideText => draft.set(column, Value::Bytes(narrow(place)?.as_bytes()))?,
            CKind::Counted => draft.set(column, Value::Bytes(counted(place)?))?,
        }
    }
    Ok(())
}

/// Fills the leaves of a struct from a row; what lies between them stays as it is.
///
/// # Errors
/// `BAD_DATA` if a text or a blob, which another interface wrote, is longer than its field; as much
/// as fits is there then.
pub(crate) fn read_struct(
    row: &Row<'_>,
    columns: &[ColumnHandle],
    leaves: &[CField],
    bytes: &mut [u8],
) -> Outcome {
    let mut cut = false;
    for leaf in leaves {
        let stored = row.blob(columns[leaf.leaf as usize]).unwrap_or(&[]);
        let place = &mut bytes[leaf.offset as usize..][..leaf.size as usize];
        match leaf.kind {
            CKind::Fixed if stored.len() == place.len() => place.copy_from_slice(stored),
            CKind::Fixed => cut |= fill(place, stored),
            CKind::Text => cut |= text::decode_padded(stored, place),
            CKind::WideText => cut |= widen(stored, place),
            CKind::Counted => {
                let len = stored.len().min(place.len() - 4);
                place[..4].copy_from_slice(&(len as u32).to_le_bytes());
                cut |= fill(&mut place[4..], stored);
            }
        }
    }
    if cut { Err(Status::BAD_DATA.because("a text is longer than its field")) } else { Ok(()) }
}

/// As many bytes as fit, zeros behind them; whether some did not.
fn fill(place: &mut [u8], bytes: &[u8]) -> bool {
    let len = bytes.len().min(place.len());
    place[..len].copy_from_slice(&bytes[..len]);
    place[len..].fill(0);
    len < bytes.len()
}

fn narrow(place: &[u8]) -> Outcome<String> {
    let (letters, _) = place.as_chunks::<4>();
    let letters = letters.iter().map(|letter| u32::from_le_bytes(*letter));
    letters
        .take_while(|letter| *letter != 0)
        .map(|letter| char::from_u32(letter).ok_or_else(|| Status::BAD_DATA.because("wide text")))
        .collect::<Result<String, _>>()
}

fn widen(stored: &[u8], place: &mut [u8]) -> bool {
    let mut letters = std::str::from_utf8(stored).unwrap_or_default().chars();
    let (places, _) = place.as_chunks_mut::<4>();
    for place in places {
        *place = letters.next().map_or(0, u32::from).to_le_bytes();
    }
    letters.next().is_some()
}

fn counted(place: &[u8]) -> Outcome<&[u8]> {
    let (count, rest) = place.split_at(4);
    let count = u32::from_le_bytes([count[0], count[1], count[2], count[3]]) as usize;
    rest.get(..count).ok_or_else(|| Status::BAD_DATA.because("a count beyond its field"))
}
