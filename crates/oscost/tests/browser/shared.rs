//! What tests that run at once share, and the last of them removes.

use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A value that exists while a test uses it: a static would not be dropped, and would leave
/// processes and files behind.
pub(crate) struct Shared<T>(Mutex<Weak<T>>);

impl<T> Shared<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Weak::new()))
    }

    /// The value that another test uses, or a new one; the others wait until it is made.
    pub(crate) fn get(&self, make: impl FnOnce() -> Option<T>) -> Option<Arc<T>> {
        // A test that panicked while making it has made none.
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = shared.upgrade() {
            return Some(value);
        }
        let value = Arc::new(make()?);
        *shared = Arc::downgrade(&value);
        Some(value)
    }
}
