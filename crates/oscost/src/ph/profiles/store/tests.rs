//! The directory of profiles: saved profiles are found again, invalid files are not changed.

use std::os::unix::fs::PermissionsExt;

use tempfile::TempDir;

use super::*;

fn profile(inode: u64) -> Profile {
    let mut profile = Profile::new(Key { device: 5, inode }, format!("/bin/p{inode}"));
    profile.train.add(1, 2, 3).unwrap();
    profile
}

fn folder() -> (TempDir, PathBuf) {
    let temporary = TempDir::with_prefix("oscost-test-").unwrap();
    let folder = temporary.path().join("not/there/yet");
    (temporary, folder)
}

/// The profiles of a directory whose files are all valid.
fn load_all(folder: &Path) -> Result<Vec<Profile>, StoreError> {
    let StoredProfiles { profiles, refused } = find_all(folder)?;
    assert!(refused.is_empty(), "{refused:?}");
    Ok(profiles)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn saved_profiles_are_found_again_and_readable_by_their_owner_only() {
    let (_temporary, folder) = folder();
    assert_eq!(load_all(&folder).unwrap(), []);
    save_all(&folder, &[profile(9), profile(10)]).unwrap();
    let mut newer = profile(9);
    newer.calls = 77;
    save_all(&folder, std::slice::from_ref(&newer)).unwrap();
    assert_eq!(load_all(&folder).unwrap(), [newer, profile(10)]);
    assert_eq!(names(&folder), ["5-10.profile", "5-9.profile"]);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(mode(&folder.join("5-9.profile")), 0o600);
}

#[test]
fn an_invalid_file_is_refused_with_its_line_and_reason_and_not_changed() {
    let (_temporary, folder) = folder();
    save_all(&folder, &[profile(1), profile(2), profile(3)]).unwrap();
    let damaged = folder.join("5-2.profile");
    fs::write(&damaged, "oscost ph profile 1\narch x86_64").unwrap();
    fs::rename(folder.join("5-3.profile"), folder.join("5-4.profile")).unwrap();
    fs::write(folder.join("notes.txt"), "ignored").unwrap();
    fs::write(folder.join("05-3.profile"), "ignored too").unwrap();
    let found = find_all(&folder).unwrap();
    assert_eq!(found.profiles, [profile(1)]);
    let errors: Vec<String> = found.refused.iter().map(|file| file.refusal.to_string()).collect();
    assert_eq!(
        errors,
        [
            "line 2: the text ends here, and is incomplete",
            "line 1: it belongs to device 5, inode 3, unlike its name"
        ]
    );
    assert_eq!(fs::read_to_string(&damaged).unwrap(), "oscost ph profile 1\narch x86_64");
}

#[test]
fn files_of_killed_writers_are_removed_and_those_of_running_ones_are_not() {
    let (_temporary, folder) = folder();
    save_all(&folder, &[profile(1)]).unwrap();
    // No process has this id: the largest pid_max is 2^22.
    fs::write(folder.join(".5-1.profile.99999999.new"), "half").unwrap();
    fs::write(folder.join(format!(".5-1.profile.{}.new", std::process::id())), "half").unwrap();
    fs::write(folder.join(".5-1.profile.1.new"), "in progress").unwrap();
    fs::write(folder.join(".vimrc.1.new"), "of another program").unwrap();
    save_all(&folder, &[profile(1)]).unwrap();
    assert_eq!(names(&folder), [".5-1.profile.1.new", ".vimrc.1.new", "5-1.profile"]);
}

#[test]
fn an_invalid_file_is_renamed_and_never_overwritten() {
    let (_temporary, folder) = folder();
    save_all(&folder, &[profile(1), profile(2)]).unwrap();
    let target = folder.join("5-1.profile");
    for (round, aside) in ["", ".2", ".3"].iter().enumerate() {
        fs::write(&target, format!("damage {round}\n")).unwrap();
        let renamed = save_all(&folder, &[profile(1), profile(2)]).unwrap();
        assert_eq!(renamed, [folder.join(format!("5-1.profile.refused{aside}"))]);
        assert_eq!(fs::read_to_string(&renamed[0]).unwrap(), format!("damage {round}\n"));
        assert_eq!(load_all(&folder).unwrap(), [profile(1), profile(2)]);
    }
    // A file that was unreadable at the beginning is renamed even if it is valid by now.
    let unread = [target.clone(), folder.join("5-7.profile")];
    let renamed = save_all_except(&folder, &[profile(1), profile(2)], &unread).unwrap();
    assert_eq!(renamed, [folder.join("5-1.profile.refused.4")]);
    // A directory is an invalid file too.
    fs::remove_file(&target).unwrap();
    fs::create_dir_all(target.join("full")).unwrap();
    let found = find_all(&folder).unwrap();
    assert_eq!(found.profiles, [profile(2)]);
    let why = &found.refused[0].refusal.why;
    assert!(why.starts_with("it cannot be read: Is a directory"), "{why}");
    assert_eq!(save_all(&folder, &[profile(1)]).unwrap(), [folder.join("5-1.profile.refused.5")]);
    assert!(folder.join("5-1.profile.refused.5/full").is_dir());
}

#[test]
fn an_error_is_reported_and_the_other_profiles_are_saved() {
    let (_temporary, folder) = folder();
    let own = std::process::id();
    // A directory cannot be removed like an unfinished file.
    fs::create_dir_all(folder.join(format!(".5-1.profile.{own}.new/full"))).unwrap();
    let error = save_all(&folder, &[profile(1), profile(2)]).unwrap_err().to_string();
    assert!(error.starts_with("cannot write ") && error.ends_with("5-1.profile"), "{error}");
    assert_eq!(load_all(&folder).unwrap(), [profile(2)]);
}

#[test]
fn profiles_of_deleted_executables_are_removed() {
    use std::os::unix::fs::MetadataExt;
    let (temporary, folder) = folder();
    let executable = temporary.path().join("program");
    fs::write(&executable, "").unwrap();
    let here = executable.to_str().unwrap();
    let inode = fs::metadata(&executable).unwrap().ino();
    let of = |inode, path: &str| Profile::new(Key { device: 5, inode }, path.to_owned());
    let kept = [of(inode, here), of(inode + 1, ""), of(inode + 2, ".../some/where")];
    let deleted = [of(inode + 3, here), of(inode + 4, "/no/such/program")];
    save_all(&folder, &kept).unwrap();
    save_all(&folder, &deleted).unwrap();
    let damaged = folder.join("5-1.profile");
    fs::write(&damaged, "damage").unwrap();
    let held = lock(&folder).unwrap();
    let LoadedProfiles { mut found, removed } = load(&folder, Some(&held)).unwrap();
    assert_eq!((found.profiles.len(), removed), (5, 0), "there is room for all of them");
    assert_eq!(prune(&folder, &held, &mut found).unwrap(), deleted);
    assert_eq!(found.profiles, kept);
    assert_eq!(find_all(&folder).unwrap().profiles, kept);
    assert_eq!(fs::read_to_string(&damaged).unwrap(), "damage");
}

#[test]
fn profiles_of_deleted_executables_are_removed_to_make_room() {
    let (_temporary, folder) = folder();
    let one = |inode: usize, path: &str| {
        let key = Key { device: 5, inode: inode as u64 };
        fs::write(
            folder.join(name_of(key)),
            profile_file::write(&Profile::new(key, path.to_owned())),
        )
    };
    let held = lock(&folder).unwrap();
    for inode in 0..MAX_PROFILES {
        one(inode, "").unwrap();
    }
    one(MAX_PROFILES, "/no/such/program").unwrap();
    assert_eq!(find_all(&folder).unwrap().profiles.len(), MAX_PROFILES + 1);
    assert!(load(&folder, None).is_err(), "without the lock none is removed");
    let LoadedProfiles { found, removed } = load(&folder, Some(&held)).unwrap();
    assert_eq!((found.profiles.len(), removed), (MAX_PROFILES, 1));
    one(MAX_PROFILES, "").unwrap();
    let error = load(&folder, Some(&held)).unwrap_err().to_string();
    assert!(error.contains("cannot monitor with 1025 profiles: at most 1024 fit"), "{error}");
    assert!(error.contains("\n  hint: `oscost ph profiles delete --gone`, or move"), "{error}");
    assert_eq!(find_all(&folder).unwrap().profiles.len(), MAX_PROFILES + 1);
}

#[test]
fn only_one_process_at_a_time_changes_profiles() {
    let (_temporary, folder) = folder();
    let first = lock(&folder).unwrap();
    let error = lock(&folder).unwrap_err().to_string();
    assert!(error.contains("a monitor uses them\n  hint:"), "{error}");
    drop(first);
    lock(&folder).unwrap();
    assert_eq!(load_all(&folder).unwrap(), []);
}
