//! The hash of key bytes, for hash indexes and for partitioning.
//!
//! A folded multiply (64 by 64 to 128 bits, halves xored) over the bytes, after wyhash (Wang Yi,
//! 2019) and rapidhash (De Carli, 2024), whose constants these are: two dependent multiplies for
//! keys of up to 16 bytes. Every operand of a multiply that comes of the key is blinded by the
//! seed, so who does not know the seed cannot choose keys with equal hashes; it is no hash of
//! cryptography. The values are part of no stored format and may change with the version.

const SECRET: [u64; 3] = [0x2d35_8dcc_aa6c_78a5, 0x8bb8_4b93_962e_acc9, 0x4b33_a62e_d433_d4a3];

/// A 64-bit hash of a key; all bits are good, the high and the low alike. Where others choose the
/// keys, the seed is one that they do not know.
///
/// # Examples
/// ```
/// assert_ne!(remanent_schema::hash_key(7, b"a"), remanent_schema::hash_key(7, b"b"));
/// assert_ne!(remanent_schema::hash_key(7, b"a"), remanent_schema::hash_key(8, b"a"));
/// ```
#[inline]
pub fn hash_key(seed: u64, bytes: &[u8]) -> u64 {
    let len = bytes.len();
    let blind = SECRET[1] ^ seed;
    let first = SECRET[2] ^ seed.rotate_left(32);
    let (a, b, before) = if len <= 16 {
        let (a, b) = short_words(bytes);
        (a, b, first)
    } else {
        long_words(bytes, blind, first)
    };
    let (low, high) = multiply(a ^ blind, b ^ before);
    fold(low ^ SECRET[0] ^ len as u64, high ^ blind)
}

/// Two words that between them hold all of up to 16 bytes.
#[inline]
fn short_words(bytes: &[u8]) -> (u64, u64) {
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        return (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        return (u64::from(u32::from_le_bytes(*first)), u64::from(u32::from_le_bytes(*last)));
    }
    match bytes {
        [] => (0, 0),
        [.., last] => {
            let (first, middle) = (bytes[0], bytes[bytes.len() / 2]);
            (u64::from(first) << 16 | u64::from(middle) << 8 | u64::from(*last), 0)
        }
    }
}

/// The last 16 bytes, and what all before them come to.
fn long_words(bytes: &[u8], blind: u64, first: u64) -> (u64, u64, u64) {
    let mut before = first;
    let mut rest = bytes;
    while let Some((block, after)) = rest.split_first_chunk::<16>() {
        if after.is_empty() {
            break;
        }
        let (a, b) = short_words(block);
        before = fold(a ^ blind, b ^ before);
        rest = after;
    }
    let (a, b) = short_words(&bytes[bytes.len() - 16..]);
    (a, b, before)
}

#[inline]
fn multiply(a: u64, b: u64) -> (u64, u64) {
    let product = u128::from(a) * u128::from(b);
    (product as u64, (product >> 64) as u64)
}

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let (low, high) = multiply(a, b);
    low ^ high
}

#[cfg(test)]
mod tests;
