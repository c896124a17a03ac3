//! The kept profiles.

use std::os::unix::fs::MetadataExt;

use anyhow::Context;
use oscost_model::untrusted_text::display_text;

use crate::app::error::UsageError;
use crate::app::observer::Observer;
use crate::app::results::profile_files::{Unreadable, unreadable};
use crate::app::results::records::read_file;
use crate::app::results::user_data::profile_folder;
use crate::ph::profiles::profile::{Profile, State};
use crate::ph::profiles::profile_file;
use crate::ph::profiles::store::{StoredProfiles, find_all, lock, prune, save_all};

/// The maximum length of text from files that is shown.
const MAX_LETTERS: usize = 400;

/// Some of the profiles that are kept.
pub struct Profiles {
    /// By executable.
    pub profiles: Vec<Profile>,
    /// Files that are not profiles.
    pub unreadable: Vec<Unreadable>,
}

/// All profiles.
pub fn list() -> anyhow::Result<Profiles> {
    let found = sorted(find_all(&profile_folder()?)?);
    Ok(Profiles { unreadable: unreadable(&found), profiles: found.profiles })
}

/// The profiles of an executable, named by its path or the end of it.
pub fn show(executable: &str) -> anyhow::Result<Profiles> {
    let mut found = sorted(find_all(&profile_folder()?)?);
    let unreadable = unreadable(&found);
    let is_it = |profile: &Profile| is_named(&profile.executable, executable);
    if !found.profiles.iter().any(is_it) {
        return Err(unknown(executable, &found));
    }
    found.profiles.retain(is_it);
    Ok(Profiles { profiles: found.profiles, unreadable })
}

fn sorted(mut found: StoredProfiles) -> StoredProfiles {
    found
        .profiles
        .sort_by(|one, other| (&one.executable, one.key).cmp(&(&other.executable, other.key)));
    found
}

/// Whether `name` is the path of an executable, or the end of it.
fn is_named(executable: &str, name: &str) -> bool {
    let before = executable.strip_suffix(name);
    before.is_some_and(|before| {
        !name.is_empty() && (before.is_empty() || before.ends_with('/') || name.starts_with('/'))
    })
}

fn unknown(name: &str, found: &StoredProfiles) -> anyhow::Error {
    const MAX_NAMES: usize = 5;
    let shown = |text: &str| display_text(text, MAX_LETTERS);
    let names = found.profiles.iter().take(MAX_NAMES).map(|profile| match &*profile.executable {
        "" => "an unknown path".to_owned(),
        path => shown(path),
    });
    let names: Vec<String> = names.collect();
    let more = if found.profiles.len() > MAX_NAMES { ", ..." } else { "" };
    let hint = match names.is_empty() {
        true => "no profiles are kept: `oscost ph train` learns".to_owned(),
        false => format!("there are profiles of {}{more}", names.join(", ")),
    };
    let what = format!("cannot show `{}`: there is no profile of it", shown(name));
    UsageError::with_hint(&what, &hint).into()
}

/// Deletes the profiles of executables that are gone; returns them.
pub fn delete_gone() -> anyhow::Result<Vec<Profile>> {
    let folder = profile_folder()?;
    let lock = lock(&folder)?;
    Ok(prune(&folder, &lock, &mut find_all(&folder)?)?)
}

/// Profiles as one text.
pub struct ProfileText {
    /// The text.
    pub text: String,
    /// How many profiles it has.
    pub count: usize,
    /// Files that are not profiles, and are not in it.
    pub unreadable: Vec<Unreadable>,
}

/// All profiles that can be read, as one text.
pub fn save() -> anyhow::Result<ProfileText> {
    let found = find_all(&profile_folder()?)?;
    let unreadable = unreadable(&found);
    let profiles = found.profiles;
    let count = profiles.len();
    let text = profile_file::write_all(&profiles).with_context(|| {
        let (most, mib) = (profile_file::MAX_PROFILES, profile_file::MAX_COLLECTION_BYTES >> 20);
        format!("cannot save {count} profiles: one file takes {most}, and {mib} MiB of them")
    })?;
    Ok(ProfileText { text, count, unreadable })
}

/// Profiles that were loaded.
pub struct LoadSummary {
    /// How many.
    pub count: usize,
    /// How many of them belong to files that do not exist here, or have changed.
    pub foreign: usize,
    /// How many of them define what is normal.
    pub normal: usize,
}

/// Keeps the profiles of such a text.
pub fn load(file: &str, observer: &dyn Observer) -> anyhow::Result<LoadSummary> {
    let shown = |text: &str| display_text(text, MAX_LETTERS);
    let bytes = read_file(file, profile_file::MAX_COLLECTION_BYTES)
        .map_err(|error| UsageError(error.to_string()))?;
    let profiles = profile_file::read_all(&bytes).with_context(|| {
        let hint = "`oscost ph save FILE` writes a file that can be loaded";
        UsageError::with_hint(&format!("cannot load {}", shown(file)), hint)
    })?;
    let folder = profile_folder()?;
    let _lock = lock(&folder)?;
    for path in save_all(&folder, &profiles)? {
        let path = shown(&path.to_string_lossy());
        observer.note(&format!("a file that was not a profile is now {path}"));
    }
    Ok(LoadSummary {
        count: profiles.len(),
        foreign: profiles.iter().filter(|profile| !is_here(profile)).count(),
        normal: profiles.iter().filter(|profile| profile.state == State::Normal).count(),
    })
}

/// Whether the path leads to the file of the profile. Devices are not compared: stat(2) may report
/// another one than BPF programs see, that of a subvolume.
fn is_here(profile: &Profile) -> bool {
    std::fs::metadata(&profile.executable).is_ok_and(|it| it.ino() == profile.key.inode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_executable_is_named_by_its_path_or_by_whole_names_at_its_end() {
        for (name, expected) in [
            ("/usr/bin/dash", true),
            ("dash", true),
            ("bin/dash", true),
            ("/dash", true),
            ("ash", false),
            ("", false),
            ("/bin/dash/", false),
        ] {
            assert_eq!(is_named("/usr/bin/dash", name), expected, "{name}");
        }
    }
}
