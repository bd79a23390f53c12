//! A stack for statements that are nested deeply.
//!
//! What parses, binds, plans, runs and drops a statement does it by recursion. How deep that goes
//! is known from the text before it is parsed ([`crate::statement`]), and again of the plan; here
//! the thread gets a stack on which so many levels have room, if its own has not enough left.
//! DataFusion's guards of its own recursions do the same for these; this is for all others.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// What a statement of one level needs.
const FIRST_BYTES: usize = 1 << 20;

/// What each further level needs: a query within a query takes most, in the parser. What is not
/// touched of it is no memory.
const LEVEL_BYTES: usize = if cfg!(debug_assertions) { 256 << 10 } else { 64 << 10 };

/// Runs something that recurses so many levels deep.
pub(crate) fn with_room<T>(levels: usize, run: impl FnOnce() -> T) -> T {
    let bytes = FIRST_BYTES + levels * LEVEL_BYTES;
    stacker::maybe_grow(bytes, bytes, run)
}

/// A future that has room for so many levels each time it is polled, and when it is dropped.
pub(crate) struct WithRoom<F> {
    levels: usize,
    /// There until it is dropped.
    future: Option<Pin<Box<F>>>,
}

impl<F> WithRoom<F> {
    pub(crate) fn new(levels: usize, future: F) -> Self {
        Self { levels, future: Some(Box::pin(future)) }
    }
}

impl<F: Future> Future for WithRoom<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let levels = self.levels;
        match &mut self.future {
            Some(future) => with_room(levels, || future.as_mut().poll(context)),
            None => Poll::Pending,
        }
    }
}

impl<F> Drop for WithRoom<F> {
    fn drop(&mut self) {
        let future = self.future.take();
        with_room(self.levels, || drop(future));
    }
}
