//! The user's store, and the folder of profiles next to it.

use std::path::PathBuf;

use crate::app::error::UsageError;
use crate::files::user_folder::data_folder;
use crate::store::Store;

/// The user's store; it is made if there is none.
pub(crate) fn open_store() -> anyhow::Result<Store> {
    let path = Store::default_path().ok_or_else(|| {
        UsageError(
            "cannot find the store: neither XDG_DATA_HOME nor HOME names a folder".to_owned(),
        )
    })?;
    Ok(Store::open(&path)?)
}

/// The user's store if there is one: reading it is no reason to make it.
pub(crate) fn existing_store() -> anyhow::Result<Option<Store>> {
    match Store::default_path().filter(|path| path.exists()) {
        Some(path) => Ok(Some(Store::open(&path)?)),
        None => Ok(None),
    }
}

/// The folder of pH's profiles.
pub(crate) fn profile_folder() -> anyhow::Result<PathBuf> {
    data_folder().map(|data| data.join("ph")).ok_or_else(|| {
        let what = "cannot find the profiles: neither XDG_DATA_HOME nor HOME names a folder";
        UsageError(what.to_owned()).into()
    })
}
