//! A buffer for one encoded key: short keys in place, long ones on the heap.
//!
//! Keys of up to 64 bytes, nearly all of them, never leave the buffer itself. The heap is touched
//! only when a key grows beyond; that memory is kept until the buffer is dropped. There is room
//! for the longest key and a row id of 16 bytes behind it.

use std::fmt;

use crate::error::KeyTooLong;

/// The longest encoded key, in bytes, without a row id.
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// let mut key = KeyBuffer::new();
/// key.push(&[b'a'; KEY_LEN_MAX])?;
/// assert!(key.check_len().is_ok());
/// key.push(b"a")?;
/// assert_eq!(key.check_len(), Err(KeyTooLong));
/// # Ok::<(), remanent_schema::KeyTooLong>(())
/// ```
pub const KEY_LEN_MAX: usize = 1024;

const SMALL: usize = 64;
const CAPACITY: usize = KEY_LEN_MAX + 16;

/// The bytes of one key.
///
/// # Examples
/// ```
/// use remanent_schema::KeyBuffer;
/// let mut key = KeyBuffer::new();
/// key.push_u32_be(7)?;
/// assert_eq!(key.as_slice(), [0, 0, 0, 7]);
/// # Ok::<(), remanent_schema::KeyTooLong>(())
/// ```
#[derive(Clone)]
pub struct KeyBuffer {
    len: usize,
    /// The key, while it has at most `SMALL` bytes.
    small: [u8; SMALL],
    /// The key, when it has more.
    large: Option<Box<[u8; CAPACITY]>>,
}

impl KeyBuffer {
    /// An empty buffer.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let key = KeyBuffer::new();
    /// assert_eq!(key.as_slice(), b"");
    /// ```
    #[inline]
    pub const fn new() -> KeyBuffer {
        KeyBuffer { len: 0, small: [0; SMALL], large: None }
    }

    /// The key.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let (mut small, mut large) = (KeyBuffer::new(), KeyBuffer::new());
    /// small.push_u32_be(255)?;
    /// large.push_u32_be(256)?;
    /// // The order of the bytes is the order of the numbers.
    /// assert!(small.as_slice() < large.as_slice());
    /// # Ok::<(), remanent_schema::KeyTooLong>(())
    /// ```
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        match &self.large {
            Some(large) if self.len > SMALL => &large[..self.len],
            _ => &self.small[..self.len],
        }
    }

    /// Its length in bytes.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let mut key = KeyBuffer::new();
    /// key.push(b"Ulm")?;
    /// key.push_u64_be(7)?;
    /// assert_eq!(key.len(), 3 + 8);
    /// # Ok::<(), remanent_schema::KeyTooLong>(())
    /// ```
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bytes.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let mut key = KeyBuffer::new();
    /// assert!(key.is_empty());
    /// key.push(b"Ulm")?;
    /// assert!(!key.is_empty());
    /// # Ok::<(), remanent_schema::KeyTooLong>(())
    /// ```
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Makes the key empty.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let mut key = KeyBuffer::new();
    /// for name in ["Bonn", "Ulm"] {
    ///     key.clear();
    ///     key.push(name.as_bytes())?;
    /// }
    /// assert_eq!(key.as_slice(), b"Ulm");
    /// # Ok::<(), remanent_schema::KeyTooLong>(())
    /// ```
    #[inline]
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Cuts the key down to its first `len` bytes, if it has more.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let mut key = KeyBuffer::new();
    /// key.push(b"Ulm")?;
    /// key.push_u32_be(7)?;
    /// key.truncate(3);
    /// assert_eq!(key.as_slice(), b"Ulm");
    /// key.truncate(100);
    /// assert_eq!(key.len(), 3);
    /// # Ok::<(), remanent_schema::KeyTooLong>(())
    /// ```
    pub fn truncate(&mut self, len: usize) {
        if len >= self.len {
            return;
        }
        if let Some(large) = self.large.as_ref().filter(|_| self.len > SMALL && len <= SMALL) {
            self.small[..len].copy_from_slice(&large[..len]);
        }
        self.len = len;
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// [`KeyTooLong`] if the key would have more than [`KEY_LEN_MAX`] + 16 bytes; it is unchanged.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let mut key = KeyBuffer::new();
    /// key.push(b"Ulm")?;
    /// key.push(&[0; 1000])?;
    /// // What does not fit changes nothing.
    /// assert_eq!(key.push(&[0; 100]), Err(KeyTooLong));
    /// assert_eq!(key.len(), 1003);
    /// # Ok::<(), remanent_schema::KeyTooLong>(())
    /// ```
    #[inline]
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), KeyTooLong> {
        let end = self.len + bytes.len();
        let Some(place) = self.small.get_mut(self.len..end) else {
            return self.push_large(bytes);
        };
        place.copy_from_slice(bytes);
        self.len = end;
        Ok(())
    }

    /// Appends a number, most significant byte first.
    ///
    /// # Errors
    /// As [`push`](KeyBuffer::push).
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let mut key = KeyBuffer::new();
    /// key.push_u32_be(0x0102_0304)?;
    /// assert_eq!(key.as_slice(), [1, 2, 3, 4]);
    /// # Ok::<(), remanent_schema::KeyTooLong>(())
    /// ```
    #[inline]
    pub fn push_u32_be(&mut self, number: u32) -> Result<(), KeyTooLong> {
        self.push(&number.to_be_bytes())
    }

    /// Appends a number, most significant byte first.
    ///
    /// # Errors
    /// As [`push`](KeyBuffer::push).
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let mut key = KeyBuffer::new();
    /// key.push_u64_be(258)?;
    /// assert_eq!(key.as_slice(), [0, 0, 0, 0, 0, 0, 1, 2]);
    /// # Ok::<(), remanent_schema::KeyTooLong>(())
    /// ```
    #[inline]
    pub fn push_u64_be(&mut self, number: u64) -> Result<(), KeyTooLong> {
        self.push(&number.to_be_bytes())
    }

    /// Checks that the key, without a row id, is not too long.
    ///
    /// # Errors
    /// [`KeyTooLong`] if it has more than [`KEY_LEN_MAX`] bytes.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let mut key = KeyBuffer::new();
    /// key.push(&[0; KEY_LEN_MAX])?;
    /// assert_eq!(key.check_len(), Ok(()));
    /// // There is room for a row id behind it, which is no part of the key.
    /// key.push_u32_be(7)?;
    /// assert_eq!(key.check_len(), Err(KeyTooLong));
    /// # Ok::<(), remanent_schema::KeyTooLong>(())
    /// ```
    #[inline]
    pub fn check_len(&self) -> Result<(), KeyTooLong> {
        if self.len > KEY_LEN_MAX { Err(KeyTooLong) } else { Ok(()) }
    }

    /// Adds short text as keys have it: a zero byte as 00 FF, then 00 01. `None` if there may be no
    /// room for it in the buffer itself; then nothing is added.
    #[inline]
    pub(crate) fn push_escaped(&mut self, text: &[u8]) -> Option<()> {
        let most = text.len().checked_mul(2)?.checked_add(self.len + 2)?;
        if most > SMALL {
            return None;
        }
        // Masked, since the compiler cannot know that all of it fits; and written for every byte,
        // kept for zeros, so that no branch depends on the text.
        let mut end = self.len;
        for byte in text {
            self.small[end % SMALL] = *byte;
            self.small[(end + 1) % SMALL] = 0xff;
            end += 1 + usize::from(*byte == 0);
        }
        self.small[end % SMALL] = 0;
        self.small[(end + 1) % SMALL] = 1;
        self.len = end + 2;
        Some(())
    }

    /// Replaces the bytes from `start` on by their complements.
    #[inline]
    pub(crate) fn complement_from(&mut self, start: usize) {
        let len = self.len;
        let bytes = match &mut self.large {
            Some(large) if len > SMALL => &mut large[..len],
            _ => &mut self.small[..len],
        };
        bytes[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }

    #[cold]
    fn push_large(&mut self, bytes: &[u8]) -> Result<(), KeyTooLong> {
        let end = self.len + bytes.len();
        if end > CAPACITY {
            return Err(KeyTooLong);
        }
        let large = self.large.get_or_insert_with(|| Box::new([0; CAPACITY]));
        if self.len <= SMALL {
            large[..self.len].copy_from_slice(&self.small[..self.len]);
        }
        large[self.len..end].copy_from_slice(bytes);
        self.len = end;
        Ok(())
    }
}

impl Default for KeyBuffer {
    fn default() -> KeyBuffer {
        KeyBuffer::new()
    }
}

impl AsRef<[u8]> for KeyBuffer {
    fn as_ref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl PartialEq for KeyBuffer {
    fn eq(&self, other: &KeyBuffer) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for KeyBuffer {}

impl fmt::Debug for KeyBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyBuffer(")?;
        self.as_slice().iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str(")")
    }
}

#[cfg(test)]
mod tests;
