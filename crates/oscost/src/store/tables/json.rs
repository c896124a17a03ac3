//! Values as JSON.

use serde::Serialize;

use crate::store::error::Cause;

/// A value as JSON.
pub(in crate::store) fn to_json<T: Serialize + ?Sized>(value: &T) -> Result<String, Cause> {
    serde_json::to_string(value).map_err(|error| Cause::Invalid(error.to_string()))
}
