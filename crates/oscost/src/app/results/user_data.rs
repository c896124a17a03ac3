//! The user's store, and the folder of profiles next to it.

use std::path::PathBuf;

use crate::app::error::UsageError;
use crate::files::user_folder::data_folder;
use crate::store::Store;

/// The user's store, to write it; it is made if there is none.
pub(crate) fn open_store() -> anyhow::Result<Store> {
    Ok(Store::open(&store_path()?)?)
}

/// The user's store, to read it, also where it cannot be written.
pub(crate) fn open_store_to_read() -> anyhow::Result<Store> {
    Ok(Store::open_to_read(&store_path()?)?)
}

/// The user's store, to delete from it, also on a full disk.
pub(crate) fn open_store_to_delete() -> anyhow::Result<Store> {
    Ok(Store::open_to_delete(&store_path()?)?)
}

/// The user's store if there is one, to read it: that is no reason to make it.
pub(crate) fn existing_store() -> anyhow::Result<Option<Store>> {
    match Store::default_path().filter(|path| path.exists()) {
        Some(path) => Ok(Some(Store::open_to_read(&path)?)),
        None => Ok(None),
    }
}

/// What helps where the environment names no folder of the user.
const NO_FOLDER_HINT: &str = "set HOME, or XDG_DATA_HOME, to the absolute path of a folder";

fn store_path() -> Result<PathBuf, UsageError> {
    Store::default_path().ok_or_else(|| {
        let what = "cannot find the store: neither XDG_DATA_HOME nor HOME names a folder";
        UsageError::with_hint(what, NO_FOLDER_HINT)
    })
}

/// The folder of pH's profiles.
pub(crate) fn profile_folder() -> anyhow::Result<PathBuf> {
    data_folder().map(|data| data.join("ph")).ok_or_else(|| {
        let what = "cannot find the profiles: neither XDG_DATA_HOME nor HOME names a folder";
        UsageError::with_hint(what, NO_FOLDER_HINT).into()
    })
}
