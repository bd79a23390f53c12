//! What a session was told and has not taken yet.
//!
//! What waits in all inboxes of a database is counted in one place.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Notification;

/// Wakes whoever waits for a session's notifications.
type Wake = Box<dyn Fn() + Send + Sync>;

/// The inbox of a session.
pub(crate) struct Inbox {
    waiting: Mutex<VecDeque<Arc<Notification>>>,
    wake: Mutex<Option<Wake>>,
    /// Bytes that wait in all inboxes of the database.
    bytes: Arc<AtomicUsize>,
}

impl Inbox {
    /// An empty one; what waits in it counts here.
    pub(crate) fn counting(bytes: &Arc<AtomicUsize>) -> Self {
        let (waiting, wake) = (Mutex::default(), Mutex::default());
        Self { waiting, wake, bytes: Arc::clone(bytes) }
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Arc<Notification>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on, this is called whenever something has come.
    pub(crate) fn wake_by(&self, wake: Wake) {
        *self.wake.lock().unwrap_or_else(PoisonError::into_inner) = Some(wake);
    }

    /// Puts something in.
    pub(super) fn put(&self, notification: &Arc<Notification>) {
        self.bytes.fetch_add(notification.bytes(), Ordering::Relaxed);
        self.waiting().push_back(Arc::clone(notification));
        self.call();
    }

    /// Puts something in, in the place of what waits for the same channel.
    pub(super) fn put_newest(&self, notification: &Arc<Notification>) {
        let mut waiting = self.waiting();
        waiting.retain(|other| {
            let stays = other.channel != notification.channel;
            if !stays {
                self.bytes.fetch_sub(other.bytes(), Ordering::Relaxed);
            }
            stays
        });
        drop(waiting);
        self.put(notification);
    }

    /// Takes all that waits.
    pub(crate) fn take(&self) -> Vec<Arc<Notification>> {
        let taken: Vec<_> = self.waiting().drain(..).collect();
        let bytes = taken.iter().map(|it| it.bytes()).sum();
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        taken
    }

    fn call(&self) {
        if let Some(wake) = &*self.wake.lock().unwrap_or_else(PoisonError::into_inner) {
            wake();
        }
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        self.take();
    }
}
