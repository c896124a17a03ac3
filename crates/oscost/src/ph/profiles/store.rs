//! The directory of profiles: one file per executable, always complete.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::files::lock::{FileLock, LockError};
use crate::files::open_folder::OpenFolder;
use crate::files::user_folder::create_private;
use crate::ph::executable_path::is_gone;
use crate::ph::profiles::profile::{Key, Profile};
use crate::ph::profiles::profile_file::{self, MAX_FILE_BYTES, MAX_PROFILES, Refusal};

/// The suffix of profile files, after the key.
const PROFILE_SUFFIX: &str = ".profile";
/// The suffix of files that are being written, after the name and the id of the writing process.
const TEMPORARY_SUFFIX: &str = ".new";
/// The suffix of invalid files that a profile replaced.
const SET_ASIDE_SUFFIX: &str = ".refused";
/// The file that a process locks to change profiles.
const LOCK_FILE: &str = ".claim";

/// Why profiles could not be saved or read.
#[derive(Debug, Error)]
pub enum StoreError {
    /// A file operation failed.
    #[error("cannot {act} {path}")]
    Io {
        /// The operation.
        act: &'static str,
        /// Its path.
        path: String,
        /// The cause.
        source: io::Error,
    },
    /// Another process has locked the profiles.
    #[error("cannot change the profiles in {folder}: a monitor uses them\n  hint: end it first")]
    Locked {
        /// The directory.
        folder: String,
    },
    /// There are more than the monitor can load.
    #[error(
        "cannot monitor with {count} profiles: at most {MAX_PROFILES} fit\n  hint: \
         `oscost ph profiles delete --gone`, or move files away from {folder}"
    )]
    TooMany {
        /// Their number.
        count: usize,
        /// The directory.
        folder: String,
    },
}

/// The profiles of a directory.
#[derive(Debug, Default)]
pub struct StoredProfiles {
    /// The profiles, by their keys.
    pub profiles: Vec<Profile>,
    /// The invalid files.
    pub refused: Vec<RefusedFile>,
}

/// An invalid file in the directory of profiles.
#[derive(Debug)]
pub struct RefusedFile {
    /// Its path.
    pub path: PathBuf,
    /// Why it is invalid.
    pub refusal: Refusal,
}

/// Reads the profiles of a directory; if it does not exist, there are none. Invalid and unreadable
/// files are returned, and not changed; files with other names are ignored.
pub fn find_all(folder: &Path) -> Result<StoredProfiles, StoreError> {
    let mut found = StoredProfiles::default();
    let names = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(found),
        names => names.map_err(|error| failed("read", folder, error))?,
    };
    let mut files: Vec<(Key, PathBuf)> = Vec::new();
    for entry in names {
        let entry = entry.map_err(|error| failed("read", folder, error))?;
        if let Some(key) = entry.file_name().to_str().and_then(key_of) {
            files.push((key, entry.path()));
        }
    }
    files.sort();
    for (key, path) in files {
        match read(&path, key) {
            Ok(profile) => found.profiles.push(profile),
            Err(refusal) => found.refused.push(RefusedFile { path, refusal }),
        }
    }
    Ok(found)
}

/// The profiles that a monitor begins with.
#[derive(Debug)]
pub struct LoadedProfiles {
    /// The profiles of the directory.
    pub found: StoredProfiles,
    /// The number of profiles of deleted executables that were removed to make room.
    pub removed: usize,
}

/// Reads the profiles that a monitor begins with. If there are too many, those of deleted
/// executables are removed; only the owner of the lock removes any.
pub fn load(folder: &Path, lock: Option<&FolderLock>) -> Result<LoadedProfiles, StoreError> {
    let mut found = find_all(folder)?;
    let mut removed = Vec::new();
    if let Some(lock) = lock.filter(|_| found.profiles.len() > MAX_PROFILES) {
        removed = prune(folder, lock, &mut found)?;
    }
    match found.profiles.len() {
        count if count > MAX_PROFILES => {
            Err(StoreError::TooMany { count, folder: display_path(folder) })
        }
        _ => Ok(LoadedProfiles { found, removed: removed.len() }),
    }
}

/// Removes the profiles of deleted executables: at their path is nothing, or another file. Profiles
/// without a complete path are kept.
pub fn prune(
    folder: &Path,
    _: &FolderLock,
    found: &mut StoredProfiles,
) -> Result<Vec<Profile>, StoreError> {
    let all = std::mem::take(&mut found.profiles);
    let (deleted, kept) = all.into_iter().partition(|it| is_gone(it.key, &it.executable));
    found.profiles = kept;
    for profile in &deleted {
        let profile: &Profile = profile;
        let path = folder.join(name_of(profile.key));
        fs::remove_file(&path).map_err(|error| failed("remove", &path, error))?;
    }
    Ok(deleted)
}

/// Saves profiles, each replacing the earlier one of its executable. Invalid files in their place
/// are renamed first; returns their new paths.
///
/// After an error the other profiles are saved nevertheless, and the first error is returned.
pub fn save_all(folder: &Path, profiles: &[Profile]) -> Result<Vec<PathBuf>, StoreError> {
    save_all_except(folder, profiles, &[])
}

/// The same for a monitor that began without the files `unread`: these are renamed even if they are
/// valid by now, since the profiles do not contain their content.
pub fn save_all_except(
    folder: &Path,
    profiles: &[Profile],
    unread: &[PathBuf],
) -> Result<Vec<PathBuf>, StoreError> {
    create(folder)?;
    tidy(folder);
    let mut first_error = Ok(());
    let mut renamed = Vec::new();
    for profile in profiles {
        match set_aside(folder, profile.key, unread) {
            Ok(path) => renamed.extend(path),
            Err(error) => {
                first_error = first_error.and(Err(error));
                continue;
            }
        }
        let saved = save(folder, profile);
        first_error = first_error.and(saved);
    }
    // Makes the renames durable.
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    first_error.and(synced.map_err(|error| failed("write", folder, error)))?;
    Ok(renamed)
}

/// Renames an invalid or unread file in the place of a profile, so that it is not overwritten.
fn set_aside(folder: &Path, key: Key, unread: &[PathBuf]) -> Result<Option<PathBuf>, StoreError> {
    let name = name_of(key);
    let path = folder.join(&name);
    let exists = |path: &Path| fs::symlink_metadata(path).is_ok();
    if !exists(&path) || !unread.contains(&path) && read(&path, key).is_ok() {
        return Ok(None);
    }
    let mut aside = folder.join(format!("{name}{SET_ASIDE_SUFFIX}"));
    for number in 2_u64.. {
        if !exists(&aside) {
            break;
        }
        aside = folder.join(format!("{name}{SET_ASIDE_SUFFIX}.{number}"));
    }
    fs::rename(&path, &aside).map_err(|error| failed("set aside", &path, error))?;
    Ok(Some(aside))
}

/// The right to change the profiles of a directory, until it is dropped or the process ends.
#[derive(Debug)]
pub struct FolderLock {
    _file: FileLock,
}

/// Locks a directory to change its profiles: what two monitors learn at the same time cannot be
/// merged.
pub fn lock(folder: &Path) -> Result<FolderLock, StoreError> {
    create(folder)?;
    let path = folder.join(LOCK_FILE);
    match FileLock::acquire(&path) {
        Ok(file) => Ok(FolderLock { _file: file }),
        Err(LockError::Held) => Err(StoreError::Locked { folder: display_path(folder) }),
        Err(LockError::Io(error)) => Err(failed("lock", &path, error)),
    }
}

/// Reads a file.
fn read(path: &Path, key: Key) -> Result<Profile, Refusal> {
    let mut bytes = Vec::new();
    // Non-blocking, since the file may be a pipe without a writer.
    let opened = OpenOptions::new().read(true).custom_flags(nix::libc::O_NONBLOCK).open(path);
    let limit = MAX_FILE_BYTES as u64 + 1;
    let refuse = |why| Refusal { line: 1, why };
    opened
        .and_then(|file| file.take(limit).read_to_end(&mut bytes))
        .map_err(|error| refuse(format!("it cannot be read: {error}")))?;
    let profile = profile_file::read(&bytes)?;
    if profile.key == key {
        return Ok(profile);
    }
    let Key { device, inode } = profile.key;
    Err(refuse(format!("it belongs to device {device}, inode {inode}, unlike its name")))
}

/// Writes under a temporary name and renames, so that a full disk or a kill keeps the old file.
fn save(folder: &Path, profile: &Profile) -> Result<(), StoreError> {
    let name = OsString::from(name_of(profile.key));
    let mut temporary = OsString::from(".");
    temporary.push(&name);
    temporary.push(format!(".{}{TEMPORARY_SUFFIX}", std::process::id()));
    let saved = OpenFolder::open(folder).and_then(|open| {
        let written = open.create_file(&temporary).and_then(|mut file| {
            file.write_all(profile_file::write(profile).as_bytes())?;
            file.sync_all()
        });
        let renamed = written.and_then(|()| open.rename(&temporary, &name));
        if renamed.is_err() {
            // The error of writing is reported, not one of this.
            let _ = open.remove(&temporary);
        }
        renamed
    });
    saved.map_err(|error| failed("write", &folder.join(name), error))
}

/// Creates the directory, readable by its owner only: profiles reveal the behaviour of programs.
fn create(folder: &Path) -> Result<(), StoreError> {
    create_private(folder).map_err(|error| failed("create", folder, error))
}

/// Removes unfinished files of killed processes and of this one. Files that cannot be removed do no
/// harm: they are not read.
fn tidy(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let writer = name.to_str().and_then(|name| {
            let (of, writer) =
                name.strip_prefix('.')?.strip_suffix(TEMPORARY_SUFFIX)?.rsplit_once('.')?;
            key_of(of).and(writer.parse::<u32>().ok())
        });
        let Some(writer) = writer else { continue };
        let is_running = Path::new("/proc").join(writer.to_string()).exists();
        if writer == std::process::id() || !is_running {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn name_of(key: Key) -> String {
    format!("{}-{}{PROFILE_SUFFIX}", key.device, key.inode)
}

/// The key in a file name, if that is the name of a profile.
fn key_of(name: &str) -> Option<Key> {
    let (device, inode) = name.strip_suffix(PROFILE_SUFFIX)?.split_once('-')?;
    let key = Key { device: device.parse().ok()?, inode: inode.parse().ok()? };
    (name_of(key) == name).then_some(key)
}

fn failed(act: &'static str, path: &Path, source: io::Error) -> StoreError {
    StoreError::Io { act, path: display_path(path), source }
}

/// A path for a message: bounded, and without control characters.
pub fn display_path(path: &Path) -> String {
    const MAX_CHARS: usize = 400;
    let text = path.to_string_lossy();
    let shown: String = text.chars().take(MAX_CHARS).flat_map(char::escape_debug).collect();
    if text.chars().count() > MAX_CHARS { format!("{shown}...") } else { shown }
}

#[cfg(test)]
mod tests;
