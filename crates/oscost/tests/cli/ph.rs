//! `oscost ph`: profiles are stored, shown, saved, loaded and refused. No test here monitors.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use oscost::ph::constants::Constants;
use oscost::ph::profiles::profile::{Key, Profile, State};
use oscost::ph::profiles::profile_file;
use oscost::ph::profiles::store::{lock, save_all};

use crate::common::{Ran, Sandbox};
use crate::golden::golden;

const VERBS: [&str; 6] = ["train", "status", "profiles", "save", "load", "watch"];

/// Profiles of three executables: one in training, one that is normal, and one with a malformed name.
fn profiles() -> Vec<Profile> {
    let mut dash = Profile::new(Key { device: 2_049, inode: 131 }, "/usr/bin/dash".to_owned());
    (dash.calls, dash.train_count, dash.last_mod_count) = (7_186, 7_186, 1_066);
    for (current, previous, bits) in [(3, 257, 5), (257, 3, 2), (257, 9, 0xff), (511, 0, 1)] {
        dash.train.add(current, previous, bits).unwrap();
    }
    let path = "/usr/lib/gcc/x86_64-linux-gnu/12/cc1".to_owned();
    let mut cc1 = Profile::new(Key { device: 2_049, inode: 900 }, path);
    (cc1.calls, cc1.train_count, cc1.last_mod_count) = (98_765_432_109, 98_765_000_000, 90_000_000);
    (cc1.state, cc1.anomalies, cc1.frozen_at_s) = (State::Normal, 12, Some(1_700_000_000));
    cc1.train.add(12, 12, 3).unwrap();
    cc1.test = cc1.train.clone();
    cc1.learned_with = Constants { window: 6, ..Constants::default() };
    let mut joke = dash.clone();
    (joke.key.inode, joke.executable) = (901, "/tmp/\u{1b}[2Jx\n\u{202e}y".to_owned());
    joke.state = State::Frozen;
    vec![dash, cc1, joke]
}

fn folder(sandbox: &Sandbox) -> PathBuf {
    sandbox.folder("data").join("oscost/ph")
}

/// A sandbox with these profiles.
fn kept() -> Sandbox {
    let sandbox = Sandbox::new();
    save_all(&folder(&sandbox), &profiles()).unwrap();
    sandbox
}

/// The same, readable by other users.
fn sandbox_with_profiles() -> Sandbox {
    let sandbox = kept();
    let folder = folder(&sandbox);
    let open = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
    open(&folder, 0o755).unwrap();
    open(folder.parent().unwrap(), 0o755).unwrap();
    for entry in fs::read_dir(&folder).unwrap() {
        open(&entry.unwrap().path(), 0o644).unwrap();
    }
    sandbox
}

/// The text fits a terminal of 80 columns, and steers none.
fn assert_fits(text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
        assert!(!line.contains(char::is_control), "{line:?}");
    }
}

#[test]
fn the_help_of_every_verb_has_examples_and_fits() {
    let sandbox = Sandbox::new();
    let whole = sandbox.oscost(&["ph", "--help"]).exits(0).stdout;
    golden("ph-help.txt", &whole);
    assert!(!whole.contains("cleanup"), "hidden verbs are shown:\n{whole}");
    for verb in VERBS {
        assert!(whole.contains(&format!("  {verb} ")), "{whole}");
        let help = sandbox.oscost(&["ph", verb, "--help"]).exits(0).stdout;
        assert_fits(&help);
        assert!(help.contains("Examples:"), "{verb}:\n{help}");
        golden(&format!("ph-{verb}-help.txt"), &help);
    }
}

#[test]
fn profiles_are_listed_a_line_each_and_as_json() {
    let sandbox = kept();
    let listed = sandbox.oscost(&["ph", "profiles", "list"]).exits(0).stdout;
    assert_fits(&listed);
    golden("ph-profiles.txt", &listed);
    let json = sandbox.oscost(&["ph", "profiles", "list", "--json"]).exits(0).json();
    assert_eq!(json["schema"], "oscost.ph-profiles/1");
    assert_eq!(json["profiles"].as_array().map(Vec::len), Some(3));
    let dash = &json["profiles"][1];
    assert_eq!(
        (&dash["executable"], &dash["state"]),
        (&"/usr/bin/dash".into(), &"training".into())
    );
    assert_eq!((&dash["train_pairs"], &dash["last_new_at"]), (&12.into(), &6_120.into()));
    assert!(dash["train"].is_null() && dash["frozen_at_s"].is_null());
    let none = Sandbox::new().oscost(&["ph", "profiles", "list"]).exits(0);
    assert_eq!(none.stdout, "no profiles are kept\n");
}

#[cfg(target_arch = "x86_64")]
#[test]
fn the_pairs_of_an_executable_are_shown_by_name() {
    let sandbox = kept();
    let dash = sandbox.oscost(&["ph", "profiles", "show", "dash"]).exits(0).stdout;
    assert_fits(&dash);
    golden("ph-profile.txt", &dash);
    let cc1 = sandbox
        .oscost(&["ph", "profiles", "show", "/usr/lib/gcc/x86_64-linux-gnu/12/cc1"])
        .exits(0);
    golden("ph-profile-normal.txt", &cc1.stdout);
    let json = sandbox.oscost(&["ph", "profiles", "show", "dash", "--json"]).exits(0).json();
    let pair = &json["profiles"][0]["train"][0];
    assert_eq!(
        (&pair["current"]["name"], &pair["previous"]["number"]),
        (&"close".into(), &257.into())
    );
    assert_eq!(pair["positions"], serde_json::json!([1, 3]));
    let refused = sandbox.oscost(&["ph", "profiles", "show", "bash"]).exits(2).no_data();
    refused
        .stderr_contains("cannot show `bash`")
        .stderr_contains("hint: there are profiles of ")
        .stderr_contains("/usr/bin/dash");
}

#[test]
fn profiles_survive_a_save_and_a_load() {
    let sandbox = kept();
    let file = sandbox.file("profiles.txt");
    let name = file.to_str().unwrap();
    sandbox.oscost(&["ph", "save", name]).exits(0).no_data().stderr_contains("saved 3 profiles");
    let piped = sandbox.oscost(&["ph", "save", "-"]).exits(0).stdout;
    assert_eq!(piped, fs::read_to_string(&file).unwrap());
    let other = Sandbox::new();
    let loaded =
        other.oscost(&["ph", "load", name]).exits(0).no_data().stderr_contains("loaded 3 profiles");
    loaded
        .stderr_contains("note: the executables of 3 of them are not here")
        .stderr_contains("1 of them define what is");
    let again = other.oscost(&["ph", "save", "-"]).exits(0).stdout;
    assert_eq!(again, piped);
    assert_eq!(profile_file::read_all(again.as_bytes()).unwrap(), profiles());
}

#[test]
fn a_damaged_or_foreign_file_is_refused_with_a_reason_and_nothing_changes() {
    let sandbox = kept();
    let before = sandbox.oscost(&["ph", "save", "-"]).exits(0).stdout;
    let file = sandbox.file("given");
    let refuse = |bytes: &[u8], words: &str| {
        fs::write(&file, bytes).unwrap();
        let ran = sandbox.oscost(&["ph", "load", file.to_str().unwrap()]).exits(2).no_data();
        let ran = ran.stderr_contains("error: cannot load ").stderr_contains(words);
        ran.stderr_contains("hint: `oscost ph save FILE`");
        assert_eq!(sandbox.oscost(&["ph", "save", "-"]).exits(0).stdout, before);
    };
    refuse(&before.as_bytes()[..before.len() - 1], "the text ends here, and is incomplete");
    refuse(
        before.replace("calls 7186", "calls 7187").as_bytes(),
        "line 30: the hash does not match",
    );
    refuse(
        before.replace("count 3", "count 2").as_bytes(),
        "the text continues after the last profile",
    );
    let arch = format!("arch {}", std::env::consts::ARCH);
    refuse(before.replace(&arch, "arch vax").as_bytes(), "line 4: it was learned on `vax`");
    refuse(b"\x7fELF\x02\x01\x01", "line 1: it contains a byte that profiles never contain");
    refuse(br#"{"defaultAction": "SCMP_ACT_ALLOW"}"#, "expected `oscost ph profiles ...`");
    refuse(b"", "line 1: the text ends here, and is incomplete");
    sandbox
        .oscost(&["ph", "load", "/no/such/file"])
        .exits(2)
        .no_data()
        .stderr_contains("No such file");
    // While a monitor has them, they are its own.
    fs::write(&file, &before).unwrap();
    let claim = lock(&folder(&sandbox)).unwrap();
    let ran = sandbox.oscost(&["ph", "load", file.to_str().unwrap()]).exits(3);
    ran.stderr_contains("a monitor uses them").stderr_contains("hint:");
    drop(claim);
}

#[test]
fn a_damaged_profile_is_reported_and_the_others_are_shown() {
    let sandbox = kept();
    let damaged = folder(&sandbox).join("2049-900.profile");
    fs::write(&damaged, "oscost ph profile 7\n").unwrap();
    let ran = sandbox.oscost(&["ph", "profiles", "list"]).exits(0);
    assert!(ran.stdout.contains("dash") && !ran.stdout.contains("cc1"), "{}", ran.stdout);
    ran.stderr_contains("refused: ")
        .stderr_contains("2049-900.profile: line 1: its version is `7`");
    let json = sandbox.oscost(&["ph", "status", "--json"]).exits(0).json();
    assert_eq!(json["refused"][0]["line"], 1);
    let all = profiles();
    let others = profile_file::write_all(&[all[0].clone(), all[2].clone()]).unwrap();
    let ran = sandbox.oscost(&["ph", "save", "-"]).exits(3);
    assert_eq!(ran.stdout, others, "all others are saved");
    ran.stderr_contains("refused: ").stderr_contains("saved 2 profiles");
    assert_eq!(fs::read_to_string(&damaged).unwrap(), "oscost ph profile 7\n");
    // A loaded profile replaces it without overwriting it.
    let file = sandbox.file("given");
    fs::write(&file, profile_file::write_all(&all).unwrap()).unwrap();
    let ran = sandbox.oscost(&["ph", "load", file.to_str().unwrap()]).exits(0).no_data();
    ran.stderr_contains("note: a file that was not a profile is now ")
        .stderr_contains("2049-900.profile.refused");
    let aside = folder(&sandbox).join("2049-900.profile.refused");
    assert_eq!(fs::read_to_string(aside).unwrap(), "oscost ph profile 7\n");
    assert!(sandbox.oscost(&["ph", "profiles", "list"]).exits(0).stdout.contains("cc1"));
}

#[test]
fn profiles_of_executables_that_are_gone_are_deleted_on_request() {
    let sandbox = kept();
    let here = sandbox.file("program");
    fs::write(&here, "").unwrap();
    let key = Key { device: 2_049, inode: fs::metadata(&here).unwrap().ino() };
    let stays = Profile::new(key, here.to_str().unwrap().to_owned());
    save_all(&folder(&sandbox), std::slice::from_ref(&stays)).unwrap();
    let held = lock(&folder(&sandbox)).unwrap();
    sandbox
        .oscost(&["ph", "profiles", "delete", "--gone"])
        .exits(3)
        .no_data()
        .stderr_contains("a monitor uses them");
    drop(held);
    let ran = sandbox.oscost(&["ph", "profiles", "delete", "--gone"]).exits(0);
    assert_fits(&ran.stdout);
    assert!(ran.stdout.contains("/usr/lib/gcc/x86_64-linux-gnu/12/cc1\n"), "{}", ran.stdout);
    ran.stderr_contains("deleted 3 profiles of executables that are gone");
    let left = sandbox.oscost(&["ph", "profiles", "list", "--json"]).exits(0).json();
    assert_eq!(left["profiles"].as_array().map(Vec::len), Some(1));
    assert_eq!(left["profiles"][0]["inode"], key.inode);
    let again = sandbox.oscost(&["ph", "profiles", "delete", "--gone"]).exits(0).no_data();
    again.stderr_contains("deleted 0 profiles");
    sandbox.oscost(&["ph", "profiles", "delete"]).exits(2).no_data();
}

#[test]
fn the_status_lists_what_is_missing_with_hints_in_lines_that_fit() {
    let sandbox = sandbox_with_profiles();
    let mut ordinary = sandbox.ordinary(&["ph", "status"]);
    let text = Ran::of(&mut ordinary).exits(0).stdout;
    assert_fits(&text.replace(folder(&sandbox).to_str().unwrap(), ""));
    assert!(text.starts_with("pH cannot run here\n"), "{text}");
    assert!(text.contains("\nrights    no   not root: run it with sudo"), "{text}");
    assert!(text.contains("3 profiles are kept: 1 training, 1 frozen, 1 normal\n"), "{text}");
    assert!(text.contains("\nwindow                  9  calls\n"), "{text}");
    let json = sandbox.oscost(&["ph", "status", "--json"]).exits(0).json();
    assert_eq!(json["schema"], "oscost.ph-status/1");
    let needs: Vec<&str> =
        json["needs"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(needs, ["build", "bpf", "btf", "lockdown", "rights"]);
    assert_eq!(json["constants"].as_array().map(Vec::len), Some(10));
}

#[test]
fn without_a_monitor_no_command_runs_and_a_hint_is_shown() {
    let sandbox = Sandbox::new();
    for verb in ["train", "watch"] {
        let ran = Ran::of(&mut sandbox.ordinary(&["ph", verb, "--", "echo", "it ran"]));
        ran.exits(3)
            .no_data()
            .stderr_contains("error: cannot monitor here")
            .stderr_contains("run it with sudo");
    }
    sandbox.nothing_is_left();
}

#[test]
fn a_window_larger_than_that_of_a_profile_is_refused() {
    let sandbox = kept();
    let ran = sandbox.oscost(&["ph", "watch", "--", "echo", "it ran"]).exits(3).no_data();
    ran.stderr_contains("cannot use a window of 9 calls: 1 profiles")
        .stderr_contains("hint: use theirs");
}

#[test]
fn impossible_constants_are_refused() {
    let sandbox = Sandbox::new();
    for (option, words) in [
        ("--window=10", "a number from 2 to 9"),
        ("--locality-frame=0", "a number from 1 to 128"),
        ("--normal-wait=7", "whole seconds such as 7d, 10m or 0s"),
        ("--delay-factor=-1", "a number from 0 to 1000"),
    ] {
        sandbox.oscost(&["ph", "train", option]).exits(2).no_data().stderr_contains(words);
    }
    sandbox.oscost(&["ph"]).exits(2).no_data();
    sandbox.oscost(&["ph", "forget"]).exits(2).no_data();
}
