//! What is not done because of an error, mostly of the store, which several parts of a run meet.

use crate::app::observer::{Observer, Omission};
use crate::store::StoreError;

/// Reports what is not done because of an error.
pub(crate) fn note_omission(observer: &dyn Observer, what: &str, error: &anyhow::Error) {
    let reason = match error.downcast_ref::<StoreError>() {
        // Not what was to be done with it, which differs.
        Some(StoreError { path, cause, .. }) => format!("{}: {cause}", path.display()),
        None => format!("{error:#}"),
    };
    observer.omitted(&Omission { what, error: &format!("{error:#}"), reason: &reason });
}
