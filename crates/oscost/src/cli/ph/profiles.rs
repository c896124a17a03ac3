//! `oscost ph profiles`, `save` and `load`

use std::os::unix::fs::MetadataExt;

use anyhow::Context;

use super::super::output::{Destination, Output, remark};
use super::super::{Done, UsageError, runs};
use super::folder;
use crate::ph::names::Names;
use crate::ph::profile::{Pairs, Profile, State, positions};
use crate::ph::store::{Found, claim, find_all, prune as prune_all, save_all};
use crate::ph::text;
use crate::report::{self, plain};

/// Shows all, or those of one executable with their pairs.
pub(super) fn profiles(
    executable: Option<&str>,
    json: bool,
    output: &mut Output,
) -> anyhow::Result<Done> {
    let mut found = find_all(&folder()?)?;
    found
        .profiles
        .sort_by(|one, other| (&one.executable, one.key).cmp(&(&other.executable, other.key)));
    let names = executable.map(|_| Names::here());
    let rows: Vec<report::ph::Row> = match executable {
        None => found.profiles.iter().map(|profile| row(profile, None)).collect(),
        Some(asked) => {
            let meant = found.profiles.iter().filter(|profile| means(asked, &profile.executable));
            meant.map(|profile| row(profile, names.as_ref())).collect()
        }
    };
    if let Some(asked) = executable.filter(|_| rows.is_empty()) {
        return Err(unknown(asked, &found));
    }
    let refused = refused(&found);
    if json {
        output.write(&report::ph::profiles_json(&rows, &refused)?)?;
        return Ok(Done::Well);
    }
    refused.iter().for_each(|refused| remark(&refused.text()));
    match executable {
        None => output.write(&report::ph::profiles(&rows))?,
        Some(_) => {
            let shown: Vec<String> = rows.iter().map(report::ph::profile).collect();
            output.write(&shown.join("\n"))?;
        }
    }
    Ok(Done::Well)
}

/// Whether an executable is meant: by its path, or by the end of it.
fn means(asked: &str, executable: &str) -> bool {
    let before = executable.strip_suffix(asked);
    before.is_some_and(|before| {
        !asked.is_empty() && (before.is_empty() || before.ends_with('/') || asked.starts_with('/'))
    })
}

fn unknown(asked: &str, found: &Found) -> anyhow::Error {
    const MOST: usize = 5;
    let some: Vec<String> = found
        .profiles
        .iter()
        .take(MOST)
        .map(|profile| report::ph::path(&profile.executable))
        .collect();
    let more = if found.profiles.len() > MOST { ", ..." } else { "" };
    let hint = match some.is_empty() {
        true => "none is kept: `oscost ph train` learns".to_owned(),
        false => format!("kept are {}{more}", some.join(", ")),
    };
    UsageError(format!("cannot show `{}`: no profile is of it\n  hint: {hint}", plain(asked)))
        .into()
}

/// The files that are no profiles, as they are told.
pub(super) fn refused(found: &Found) -> Vec<report::ph::Refused> {
    let told = found.refused.iter().map(|(path, refusal)| report::ph::Refused {
        file: path.to_string_lossy().into_owned(),
        line: refusal.line,
        why: refusal.why.clone(),
    });
    told.collect()
}

fn row(profile: &Profile, names: Option<&Names>) -> report::ph::Row {
    let pairs = |pairs: &Pairs| {
        let names = names?;
        let call = |number| report::ph::Call { number, name: names.name(number).into_owned() };
        let neighbours = pairs.workers().map(|(current, previous, bits)| report::ph::Neighbours {
            current: call(current),
            previous: call(previous),
            positions: positions(bits).collect(),
        });
        Some(neighbours.collect())
    };
    report::ph::Row {
        device: profile.key.device,
        inode: profile.key.inode,
        executable: profile.executable.clone(),
        state: profile.state.text(),
        calls: profile.calls,
        train_count: profile.train_count,
        last_mod_count: profile.last_mod_count,
        last_new_at: profile.last_new_at(),
        anomalies: profile.anomalies,
        frozen_at_s: profile.frozen_at_s,
        train_pairs: profile.train.count(),
        test_pairs: profile.test.count(),
        train: pairs(&profile.train),
        test: pairs(&profile.test),
    }
}

/// Removes the profiles of executables that are gone, and says which.
pub(super) fn prune(output: &mut Output) -> anyhow::Result<Done> {
    let folder = folder()?;
    let claim = claim(&folder)?;
    let gone = prune_all(&folder, &claim, &mut find_all(&folder)?)?;
    let lines = gone.iter().map(|profile| report::ph::path(&profile.executable) + "\n");
    output.write(&lines.collect::<String>())?;
    remark(&format!("removed {} profiles of executables that are gone", gone.len()));
    Ok(Done::Well)
}

/// Writes all that can be read; that something could not is told, and a failure.
pub(super) fn save(file: &str, output: &mut Output) -> anyhow::Result<Done> {
    let found = find_all(&folder()?)?;
    let refused = refused(&found);
    let profiles = found.profiles;
    let text = text::write_all(&profiles).with_context(|| {
        let (most, mib) = (text::MOST_PROFILES, text::MOST_BYTES_OF_ALL >> 20);
        let count = profiles.len();
        format!("cannot save {count} profiles: one file takes {most}, and {mib} MiB of them")
    })?;
    Destination::of(file).write(&text, output)?;
    refused.iter().for_each(|refused| remark(&refused.text()));
    remark(&format!("saved {} profiles", profiles.len()));
    Ok(if refused.is_empty() { Done::Well } else { Done::WithFailures })
}

pub(super) fn load(file: &str) -> anyhow::Result<Done> {
    let bytes = runs::read(file, text::MOST_BYTES_OF_ALL)?;
    let profiles =
        text::read_all(&bytes).with_context(|| format!("cannot load {}", plain(file)))?;
    let folder = folder()?;
    let _claim = claim(&folder)?;
    for path in save_all(&folder, &profiles)? {
        remark(&format!("note: what was no profile is now {}", plain(&path.to_string_lossy())));
    }
    remark(&format!("loaded {} profiles", profiles.len()));
    let strange = profiles.iter().filter(|profile| !is_here(profile)).count();
    if strange > 0 {
        remark(&format!(
            "note: {strange} of them are of files that are not here, or are others by now"
        ));
    }
    let normal = profiles.iter().filter(|profile| profile.state == State::Normal).count();
    if normal > 0 {
        remark(&format!("note: {normal} of them say what is normal: trust whoever saved them"));
    }
    Ok(Done::Well)
}

/// Whether the path leads to the file that the profile is of. Devices are not compared: stat(2)
/// may tell another one than the kernel's programs see, that of a subvolume.
fn is_here(profile: &Profile) -> bool {
    std::fs::metadata(&profile.executable).is_ok_and(|it| it.ino() == profile.key.inode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_executable_is_meant_by_its_path_or_by_whole_names_at_its_end() {
        for (asked, is_meant) in [
            ("/usr/bin/dash", true),
            ("dash", true),
            ("bin/dash", true),
            ("/dash", true),
            ("ash", false),
            ("", false),
            ("/bin/dash/", false),
        ] {
            assert_eq!(means(asked, "/usr/bin/dash"), is_meant, "{asked}");
        }
    }
}
