//! The folder of profiles: a file for each executable, whole or not there.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::executable_path::is_gone;
use super::profile::{Key, Profile};
use super::profile_file::{self, MAX_FILE_BYTES, MAX_PROFILES, Refusal};

/// Behind the key in the name of a file.
const PROFILE_SUFFIX: &str = ".profile";
/// Behind the name and the writer's process in the name of a file that is being written.
const TEMPORARY_SUFFIX: &str = ".new";
/// Behind the name of a file that was no profile, where one has taken its place.
const SET_ASIDE_SUFFIX: &str = ".refused";
/// The file that whoever changes profiles has locked.
const LOCK_FILE: &str = ".claim";

/// Why profiles could not be kept or read.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The system did not let us.
    #[error("cannot {act} {path}")]
    Io {
        /// What was to be done.
        act: &'static str,
        /// To what.
        path: String,
        /// Why not.
        source: io::Error,
    },
    /// Somebody else changes the profiles.
    #[error("cannot change the profiles in {folder}: a monitor holds them\n  hint: end it first")]
    Claimed {
        /// The folder.
        folder: String,
    },
    /// There are more than can be monitored with.
    #[error(
        "cannot monitor with {count} profiles: at most {MAX_PROFILES} fit\n  hint: \
         `oscost ph profiles delete --gone`, or move files away from {folder}"
    )]
    TooMany {
        /// How many there are.
        count: usize,
        /// Where.
        folder: String,
    },
}

/// What a folder holds.
#[derive(Debug, Default)]
pub struct StoredProfiles {
    /// The profiles, by their keys.
    pub profiles: Vec<Profile>,
    /// The files that are none.
    pub refused: Vec<(PathBuf, Refusal)>,
}

/// Reads the profiles of a folder; without the folder there are none. A file that is no profile, or
/// cannot be read, is refused by itself and stays as it is; files of other names are not looked at.
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
            Err(refusal) => found.refused.push((path, refusal)),
        }
    }
    Ok(found)
}

/// What a monitor begins with: what the folder holds, and how many profiles were removed since
/// more were there than fit. Without a claim none is removed.
pub fn begin(
    folder: &Path,
    claim: Option<&FolderLock>,
) -> Result<(StoredProfiles, usize), StoreError> {
    let mut found = find_all(folder)?;
    let mut removed = Vec::new();
    if let Some(claim) = claim.filter(|_| found.profiles.len() > MAX_PROFILES) {
        removed = prune(folder, claim, &mut found)?;
    }
    match found.profiles.len() {
        count if count > MAX_PROFILES => Err(StoreError::TooMany { count, folder: shown(folder) }),
        _ => Ok((found, removed.len())),
    }
}

/// Removes the profiles whose executable is gone: nothing is where it was, or another file. Whose
/// place is not known stays.
pub fn prune(
    folder: &Path,
    _: &FolderLock,
    found: &mut StoredProfiles,
) -> Result<Vec<Profile>, StoreError> {
    let all = std::mem::take(&mut found.profiles);
    let (gone, left) = all.into_iter().partition(|it| is_gone(it.key, &it.executable));
    found.profiles = left;
    for profile in &gone {
        let profile: &Profile = profile;
        let path = folder.join(name_of(profile.key));
        fs::remove_file(&path).map_err(|error| failed("remove", &path, error))?;
    }
    Ok(gone)
}

/// Keeps profiles, each in the place of the one that its executable had; others stay. What was no
/// profile is set aside first; says under which names.
///
/// What cannot be kept does not keep the rest from it: the first error is told at the end.
pub fn save_all(folder: &Path, profiles: &[Profile]) -> Result<Vec<PathBuf>, StoreError> {
    save_all_except(folder, profiles, &[])
}

/// The same of profiles that began without these files: they are set aside even if they can be read
/// by now, since what is in them is not in the profiles.
pub fn save_all_except(
    folder: &Path,
    profiles: &[Profile],
    unread: &[PathBuf],
) -> Result<Vec<PathBuf>, StoreError> {
    make(folder)?;
    tidy(folder);
    let mut first = Ok(());
    let mut aside = Vec::new();
    for profile in profiles {
        match set_aside(folder, profile.key, unread) {
            Ok(names) => aside.extend(names),
            Err(error) => {
                first = first.and(Err(error));
                continue;
            }
        }
        let kept = save(folder, profile);
        first = first.and(kept);
    }
    // The new names are safe when the folder is.
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    first.and(synced.map_err(|error| failed("write", folder, error)))?;
    Ok(aside)
}

/// Renames what lies in the place of a profile and is none, or was not read, so that nothing is
/// overwritten that nobody could read.
fn set_aside(folder: &Path, key: Key, unread: &[PathBuf]) -> Result<Option<PathBuf>, StoreError> {
    let name = name_of(key);
    let path = folder.join(&name);
    let is_there = |path: &Path| fs::symlink_metadata(path).is_ok();
    if !is_there(&path) || !unread.contains(&path) && read(&path, key).is_ok() {
        return Ok(None);
    }
    let mut aside = folder.join(format!("{name}{SET_ASIDE_SUFFIX}"));
    for number in 2_u64.. {
        if !is_there(&aside) {
            break;
        }
        aside = folder.join(format!("{name}{SET_ASIDE_SUFFIX}.{number}"));
    }
    fs::rename(&path, &aside).map_err(|error| failed("set aside", &path, error))?;
    Ok(Some(aside))
}

/// The right to change the profiles of a folder, until it is dropped or its process ends.
#[derive(Debug)]
pub struct FolderLock {
    _locked: File,
}

/// Takes the right to change the profiles of a folder: what two monitors have learnt at a time
/// cannot be put together.
pub fn lock(folder: &Path) -> Result<FolderLock, StoreError> {
    make(folder)?;
    let path = folder.join(LOCK_FILE);
    let mut options = OpenOptions::new();
    let opened = options.write(true).create(true).truncate(false).mode(0o600).open(&path);
    let locked = opened.map_err(|error| failed("open", &path, error))?;
    match locked.try_lock() {
        Ok(()) => Ok(FolderLock { _locked: locked }),
        Err(TryLockError::WouldBlock) => Err(StoreError::Claimed { folder: shown(folder) }),
        Err(TryLockError::Error(error)) => Err(failed("lock", &path, error)),
    }
}

/// Reads a file.
fn read(path: &Path, key: Key) -> Result<Profile, Refusal> {
    let mut bytes = Vec::new();
    // Nobody waits for the other end of a pipe that lies there.
    let opened = OpenOptions::new().read(true).custom_flags(nix::libc::O_NONBLOCK).open(path);
    let most = MAX_FILE_BYTES as u64 + 1;
    let refuse = |why| Refusal { line: 1, why };
    opened
        .and_then(|file| file.take(most).read_to_end(&mut bytes))
        .map_err(|error| refuse(format!("it cannot be read: {error}")))?;
    let profile = profile_file::read(&bytes)?;
    if profile.key == key {
        return Ok(profile);
    }
    let Key { device, inode } = profile.key;
    Err(refuse(format!("it is of device {device}, inode {inode}, and its name is not")))
}

/// Writes under a fresh name and renames, so that a full disk or a kill leaves what was there.
fn save(folder: &Path, profile: &Profile) -> Result<(), StoreError> {
    let name = name_of(profile.key);
    let fresh = folder.join(format!(".{name}.{}{TEMPORARY_SUFFIX}", std::process::id()));
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh);
    let written = made.and_then(|mut file| {
        file.write_all(profile_file::write(profile).as_bytes())?;
        file.sync_all()
    });
    let path = folder.join(name);
    let renamed = written.and_then(|()| fs::rename(&fresh, &path));
    if renamed.is_err() {
        // The reason for the failure is what matters; the rest is tidying up.
        let _ = fs::remove_file(&fresh);
    }
    renamed.map_err(|error| failed("write", &path, error))
}

/// Makes the folder for its owner alone: what a machine's programs do is nobody else's business.
fn make(folder: &Path) -> Result<(), StoreError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| failed("make", folder, error))
}

/// Removes what writers left unfinished that were killed, and what this process would stumble
/// over. What cannot be removed does no harm: nobody reads it.
fn tidy(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let writer = name.to_str().and_then(|name| {
            let (of, writer) =
                name.strip_prefix('.')?.strip_suffix(TEMPORARY_SUFFIX)?.rsplit_once('.')?;
            key_of(of).and(writer.parse::<u32>().ok())
        });
        let Some(writer) = writer else { continue };
        let is_at_it = Path::new("/proc").join(writer.to_string()).exists();
        if writer == std::process::id() || !is_at_it {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn name_of(key: Key) -> String {
    format!("{}-{}{PROFILE_SUFFIX}", key.device, key.inode)
}

/// The key in a file's name, if it is the name of a profile's file.
fn key_of(name: &str) -> Option<Key> {
    let (device, inode) = name.strip_suffix(PROFILE_SUFFIX)?.split_once('-')?;
    let key = Key { device: device.parse().ok()?, inode: inode.parse().ok()? };
    (name_of(key) == name).then_some(key)
}

fn failed(act: &'static str, path: &Path, source: io::Error) -> StoreError {
    StoreError::Io { act, path: shown(path), source }
}

/// A path in a message: bounded, and without what steers a terminal.
pub fn shown(path: &Path) -> String {
    const MAX_CHARS: usize = 400;
    let text = path.to_string_lossy();
    let shown: String = text.chars().take(MAX_CHARS).flat_map(char::escape_debug).collect();
    if text.chars().count() > MAX_CHARS { format!("{shown}...") } else { shown }
}

#[cfg(test)]
mod tests;
