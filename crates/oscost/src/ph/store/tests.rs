//! The folder of profiles: what is kept is found again, and what is none stays where it is.

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

/// What is kept, where all of it can be read.
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
fn what_is_kept_is_found_again_and_is_its_owners_alone() {
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
fn a_damaged_or_foreign_file_is_refused_by_name_line_and_reason_and_stays() {
    let (_temporary, folder) = folder();
    save_all(&folder, &[profile(1), profile(2), profile(3)]).unwrap();
    let damaged = folder.join("5-2.profile");
    fs::write(&damaged, "oscost ph profile 1\narch x86_64").unwrap();
    fs::rename(folder.join("5-3.profile"), folder.join("5-4.profile")).unwrap();
    fs::write(folder.join("notes.txt"), "not looked at").unwrap();
    fs::write(folder.join("05-3.profile"), "nor is this").unwrap();
    let found = find_all(&folder).unwrap();
    assert_eq!(found.profiles, [profile(1)]);
    let told: Vec<String> = found.refused.iter().map(|(_, refusal)| refusal.to_string()).collect();
    assert_eq!(
        told,
        [
            "line 2: the text is cut off here",
            "line 1: it is of device 5, inode 3, and its name is not"
        ]
    );
    assert_eq!(fs::read_to_string(&damaged).unwrap(), "oscost ph profile 1\narch x86_64");
}

#[test]
fn what_a_killed_writer_left_is_removed_and_what_a_living_one_writes_is_not() {
    let (_temporary, folder) = folder();
    save_all(&folder, &[profile(1)]).unwrap();
    // No process has the number: the largest that the kernel can be told is 2^22.
    fs::write(folder.join(".5-1.profile.99999999.new"), "half").unwrap();
    fs::write(folder.join(format!(".5-1.profile.{}.new", std::process::id())), "half").unwrap();
    fs::write(folder.join(".5-1.profile.1.new"), "at it").unwrap();
    fs::write(folder.join(".vimrc.1.new"), "somebody else's").unwrap();
    save_all(&folder, &[profile(1)]).unwrap();
    assert_eq!(names(&folder), [".5-1.profile.1.new", ".vimrc.1.new", "5-1.profile"]);
}

#[test]
fn what_is_no_profile_is_set_aside_and_never_overwritten() {
    let (_temporary, folder) = folder();
    save_all(&folder, &[profile(1), profile(2)]).unwrap();
    let target = folder.join("5-1.profile");
    for (round, aside) in ["", ".2", ".3"].iter().enumerate() {
        fs::write(&target, format!("damage {round}\n")).unwrap();
        let said = save_all(&folder, &[profile(1), profile(2)]).unwrap();
        assert_eq!(said, [folder.join(format!("5-1.profile.refused{aside}"))]);
        assert_eq!(fs::read_to_string(&said[0]).unwrap(), format!("damage {round}\n"));
        assert_eq!(load_all(&folder).unwrap(), [profile(1), profile(2)]);
    }
    // One that can be read by now was not there when these were begun.
    let unread = [target.clone(), folder.join("5-7.profile")];
    let said = save_all_except(&folder, &[profile(1), profile(2)], &unread).unwrap();
    assert_eq!(said, [folder.join("5-1.profile.refused.4")]);
    // What nobody can read is no profile either.
    fs::remove_file(&target).unwrap();
    fs::create_dir_all(target.join("full")).unwrap();
    let found = find_all(&folder).unwrap();
    assert_eq!(found.profiles, [profile(2)]);
    let why = &found.refused[0].1.why;
    assert!(why.starts_with("it cannot be read: Is a directory"), "{why}");
    assert_eq!(save_all(&folder, &[profile(1)]).unwrap(), [folder.join("5-1.profile.refused.5")]);
    assert!(folder.join("5-1.profile.refused.5/full").is_dir());
}

#[test]
fn one_that_cannot_be_kept_is_told_and_keeps_no_other_from_it() {
    let (_temporary, folder) = folder();
    let own = std::process::id();
    // A folder is no file that was left unfinished.
    fs::create_dir_all(folder.join(format!(".5-1.profile.{own}.new/full"))).unwrap();
    let error = save_all(&folder, &[profile(1), profile(2)]).unwrap_err().to_string();
    assert!(error.starts_with("cannot write ") && error.ends_with("5-1.profile"), "{error}");
    assert_eq!(load_all(&folder).unwrap(), [profile(2)]);
}

#[test]
fn profiles_of_executables_that_are_gone_are_removed_and_no_others() {
    use std::os::unix::fs::MetadataExt;
    let (temporary, folder) = folder();
    let executable = temporary.path().join("program");
    fs::write(&executable, "").unwrap();
    let here = executable.to_str().unwrap();
    let inode = fs::metadata(&executable).unwrap().ino();
    let of = |inode, path: &str| Profile::new(Key { device: 5, inode }, path.to_owned());
    let stays = [of(inode, here), of(inode + 1, ""), of(inode + 2, ".../some/where")];
    let goes = [of(inode + 3, here), of(inode + 4, "/no/such/program")];
    save_all(&folder, &stays).unwrap();
    save_all(&folder, &goes).unwrap();
    let damaged = folder.join("5-1.profile");
    fs::write(&damaged, "damage").unwrap();
    let held = lock(&folder).unwrap();
    let (mut found, removed) = begin(&folder, Some(&held)).unwrap();
    assert_eq!((found.profiles.len(), removed), (5, 0), "there is room for all of them");
    assert_eq!(prune(&folder, &held, &mut found).unwrap(), goes);
    assert_eq!(found.profiles, stays);
    assert_eq!(find_all(&folder).unwrap().profiles, stays);
    assert_eq!(fs::read_to_string(&damaged).unwrap(), "damage");
}

#[test]
fn where_more_are_kept_than_fit_those_that_are_gone_make_room() {
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
    assert!(begin(&folder, None).is_err(), "who only reads removes none");
    let (found, removed) = begin(&folder, Some(&held)).unwrap();
    assert_eq!((found.profiles.len(), removed), (MAX_PROFILES, 1));
    one(MAX_PROFILES, "").unwrap();
    let error = begin(&folder, Some(&held)).unwrap_err().to_string();
    assert!(error.contains("cannot monitor with 1025 profiles: at most 1024 fit"), "{error}");
    assert!(error.contains("\n  hint: `oscost ph profiles delete --gone`, or move"), "{error}");
    assert_eq!(find_all(&folder).unwrap().profiles.len(), MAX_PROFILES + 1);
}

#[test]
fn only_one_at_a_time_changes_profiles() {
    let (_temporary, folder) = folder();
    let first = lock(&folder).unwrap();
    let error = lock(&folder).unwrap_err().to_string();
    assert!(error.contains("a monitor holds them\n  hint:"), "{error}");
    drop(first);
    lock(&folder).unwrap();
    assert_eq!(load_all(&folder).unwrap(), []);
}
