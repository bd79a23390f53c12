//! FFI: pointers of C become references here and nowhere else.
//!
//! A function's parameters are [`InPtr`] and [`OutPtr`], which are plain pointers to C. What always
//! holds: a null pointer is noticed, memory is read and written only for the length that C gave,
//! and never after the call. That a pointer which is not null refers to so much memory is what C
//! promises and nobody can check. A panic never reaches C: in nearly all functions it ends here as
//! a status; in the *quick* ones, which a program calls for each row or value, nothing is set up to
//! land a panic, and `extern "C"` ends the process with its message.

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A pointer to what C lets the call read; null, or good for as much as C says.
#[repr(transparent)]
#[derive(Debug)]
pub struct InPtr<T>(*const T);

/// A pointer to what the call writes or fills; null, or good for as much as C says.
#[repr(transparent)]
#[derive(Debug)]
pub struct OutPtr<T>(*mut T);

impl<T> Clone for InPtr<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for InPtr<T> {}

impl<T> Clone for OutPtr<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for OutPtr<T> {}

impl<T> From<*const T> for InPtr<T> {
    #[inline]
    fn from(pointer: *const T) -> Self {
        Self(pointer)
    }
}

impl<T> From<*mut T> for OutPtr<T> {
    #[inline]
    fn from(pointer: *mut T) -> Self {
        Self(pointer)
    }
}

impl<T> InPtr<T> {
    /// No pointer.
    pub const NULL: Self = Self(std::ptr::null());

    /// A pointer to this.
    pub fn of(value: &T) -> Self {
        Self(value)
    }

    /// A pointer to the first of these.
    pub fn of_slice(values: &[T]) -> Self {
        Self(values.as_ptr())
    }

    /// The value that it points to, unless it is null.
    #[inline]
    pub(crate) fn get<'a>(self) -> Option<&'a T> {
        // SAFETY: C promises a T behind a pointer that is not null, for the call.
        unsafe { self.0.as_ref() }
    }

    /// The first `len` of what it points to; null will do for none.
    #[inline]
    pub(crate) fn slice<'a>(self, len: usize) -> Option<&'a [T]> {
        if len == 0 {
            return Some(&[]);
        }
        if self.0.is_null() || len > isize::MAX as usize / size_of::<T>().max(1) {
            return None;
        }
        // SAFETY: C promises so many behind a pointer that is not null, for the call.
        Some(unsafe { std::slice::from_raw_parts(self.0, len) })
    }
}

impl InPtr<u8> {
    /// The bytes up to a NUL, of at most `len`: what lies behind the NUL need not be there.
    pub(crate) fn text_within<'a>(self, len: usize) -> Option<&'a [u8]> {
        if self.0.is_null() {
            return None;
        }
        // SAFETY: C promises a text that ends with NUL, or `len` bytes, for the call; nothing
        // behind the NUL is inspected.
        let end = (0..len).find(|&at| unsafe { *self.0.add(at) } == 0).unwrap_or(len);
        // SAFETY: as above.
        Some(unsafe { std::slice::from_raw_parts(self.0, end) })
    }
}

impl<T: Copy> InPtr<T> {
    /// The value at a place of an array, which has so many.
    #[inline]
    pub(crate) fn at(self, place: usize) -> Option<T> {
        if self.0.is_null() {
            return None;
        }
        // SAFETY: C promises an array that reaches so far behind a pointer that is not null.
        Some(unsafe { *self.0.add(place) })
    }
}

impl InPtr<c_char> {
    /// The text, if it is one ASCII letter.
    #[inline]
    pub(crate) fn letter(self) -> Option<u8> {
        let first = self.at(0)? as u8;
        // There is a second place if the first does not end the text.
        (first.is_ascii_alphabetic() && self.at(1)? == 0).then_some(first)
    }

    /// The bytes of a text that ends with NUL.
    pub(crate) fn text<'a>(self) -> Option<&'a [u8]> {
        if self.0.is_null() {
            return None;
        }
        // SAFETY: C promises a text that ends with NUL, for the call.
        Some(unsafe { std::ffi::CStr::from_ptr(self.0) }.to_bytes())
    }

    /// The bytes of a text of this length.
    #[inline]
    pub(crate) fn bytes<'a>(self, len: usize) -> Option<&'a [u8]> {
        InPtr(self.0.cast::<u8>()).slice(len)
    }
}

impl<T> OutPtr<T> {
    /// No pointer.
    pub const NULL: Self = Self(std::ptr::null_mut());

    /// A pointer to this.
    pub fn to(value: &mut T) -> Self {
        Self(value)
    }

    /// A pointer to the first of these.
    pub fn to_slice(values: &mut [T]) -> Self {
        Self(values.as_mut_ptr())
    }

    #[inline]
    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Writes there; `None` if the pointer is null.
    #[inline]
    pub(crate) fn set(self, value: T) -> Option<()> {
        self.put(value).then_some(())
    }

    /// Writes there; says whether there is anywhere to write.
    #[inline]
    pub(crate) fn put(self, value: T) -> bool {
        if self.0.is_null() {
            return false;
        }
        // SAFETY: C promises room for a T behind a pointer that is not null.
        unsafe { self.0.write(value) };
        true
    }

    /// The state, to be changed.
    #[inline]
    pub(crate) fn get<'a>(self) -> Option<&'a mut T> {
        // SAFETY: C promises a T behind a pointer that is not null, for the call, and that
        // nothing else touches it meanwhile.
        unsafe { self.0.as_mut() }
    }
}

impl<T: Copy> OutPtr<T> {
    /// Fills the first places; says whether there is anywhere to write.
    #[inline]
    pub(crate) fn fill(self, values: &[T]) -> bool {
        if self.0.is_null() {
            return values.is_empty();
        }
        // SAFETY: C promises room for as many as it asked for. The regions cannot overlap: the
        // values are the database's.
        unsafe { self.0.copy_from_nonoverlapping(values.as_ptr(), values.len()) };
        true
    }

    /// The first `len` places, which may hold anything; null will do for none.
    #[inline]
    pub(crate) fn uninit_slice<'a>(self, len: usize) -> Option<&'a mut [MaybeUninit<T>]> {
        if len == 0 {
            return Some(&mut []);
        }
        if self.0.is_null() || len > isize::MAX as usize / size_of::<T>().max(1) {
            return None;
        }
        // SAFETY: C promises so much room behind a pointer that is not null, for the call.
        Some(unsafe { std::slice::from_raw_parts_mut(self.0.cast(), len) })
    }
}

impl OutPtr<u8> {
    /// Writes as many bytes as there are, of numbers for the most part; `false` for null.
    #[inline(always)]
    pub(crate) fn fill_number(self, bytes: &[u8]) -> bool {
        if self.0.is_null() {
            return false;
        }
        // SAFETY: as `fill`. A call to copy four bytes would cost more than the rest.
        unsafe {
            match bytes.len() {
                2 => self.0.copy_from_nonoverlapping(bytes.as_ptr(), 2),
                4 => self.0.copy_from_nonoverlapping(bytes.as_ptr(), 4),
                8 => self.0.copy_from_nonoverlapping(bytes.as_ptr(), 8),
                len => self.0.copy_from_nonoverlapping(bytes.as_ptr(), len),
            }
        }
        true
    }

    /// The first `len` bytes, to be read and changed: whatever C has there are bytes.
    #[inline]
    pub(crate) fn slice<'a>(self, len: usize) -> Option<&'a mut [u8]> {
        if self.0.is_null() || len > isize::MAX as usize {
            return None;
        }
        // SAFETY: C promises so many bytes behind a pointer that is not null, for the call, and
        // that nothing else touches them meanwhile.
        Some(unsafe { std::slice::from_raw_parts_mut(self.0, len) })
    }
}

impl<T> OutPtr<T> {
    pub(crate) fn cast<U>(self) -> OutPtr<U> {
        OutPtr(self.0.cast())
    }

    pub(crate) fn address(self) -> *mut T {
        self.0
    }
}

impl<T> InPtr<T> {
    pub(crate) fn cast<U>(self) -> InPtr<U> {
        InPtr(self.0.cast())
    }
}

/// Runs a call's work; if it panics, the answer is `fault`.
#[inline]
pub(crate) fn catch_panic<T>(fault: T, work: impl FnOnce() -> T) -> T {
    // What a panic may leave half done is the transaction's own; the program has to end it.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(fault)
}

#[cfg(test)]
thread_local! {
    static PLANTED: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Panics if a test has asked for it, once.
#[cfg(test)]
pub(crate) fn panic_if_planted() {
    assert!(!PLANTED.take(), "a planted panic");
}

#[cfg(test)]
mod tests;
