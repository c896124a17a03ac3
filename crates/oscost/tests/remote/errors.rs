//! Machines that cannot be reached or used: the message names the cause and the next step.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::hosts::{Hosts, Kind, PORT, address, files_below, until};

fn refused(hosts: &Hosts, host: &str, words: &[&str]) {
    let at = format!("ssh:{host}");
    let ran = hosts.oscost(&["run", "syscall/getppid", "--quick", "--no-store", "--at", &at]);
    let ran = ran
        .exits(3)
        .stderr_contains(&["error: cannot reach `ssh:", "hint: "])
        .stderr_contains(words);
    assert!(ran.stdout.is_empty(), "{}", ran.stdout);
    hosts.nothing_is_left();
}

#[test]
fn an_unreachable_host_an_unknown_key_and_a_refused_login_have_different_messages() {
    let Some(hosts) = Hosts::some(2) else { return };
    let there = address(2);
    refused(&hosts, "no-such-host.invalid", &["no such host", "`ssh no-such-host.invalid true`"]);
    // The tool's own machine has no sshd on that address.
    fs::write(hosts.file("ssh.conf.old"), fs::read(hosts.file("ssh.conf")).unwrap()).unwrap();
    let configuration = fs::read_to_string(hosts.file("ssh.conf")).unwrap();
    let other_port = configuration.replace(&format!("Port {PORT}"), "Port 1");
    fs::write(hosts.file("ssh.conf"), other_port).unwrap();
    refused(&hosts, &there, &["Connection refused", "ssh_config(5)"]);
    fs::write(hosts.file("ssh.conf"), &configuration).unwrap();

    let known_hosts = fs::read_to_string(hosts.file("known")).unwrap();
    fs::write(hosts.file("known"), "").unwrap();
    refused(&hosts, &there, &["host key is not known", "in a terminal to accept the key"]);
    // Swap the keys of the two machines.
    let lines: Vec<&str> = known_hosts.lines().collect();
    let key = |line: &str| line.split_once(' ').unwrap().1.to_owned();
    let wrong = format!("[{there}]:{PORT} {}\n", key(lines[0]));
    fs::write(hosts.file("known"), wrong).unwrap();
    refused(&hosts, &there, &["host key has changed", "ssh-keygen -R"]);
    fs::write(hosts.file("known"), &known_hosts).unwrap();

    fs::write(hosts.file("user.pub"), "").unwrap();
    refused(&hosts, &there, &["the login was refused", "ssh-copy-id"]);
}

#[test]
fn a_login_without_a_shell_reports_what_is_missing() {
    let no_login = Kind { sshd: "ForceCommand echo not available >&2; exit 1", ..Kind::default() };
    let no_shell = Kind { sshd: "ForceCommand exec no-such-shell", ..Kind::default() };
    let Some(hosts) = Hosts::like(&[Kind::default(), no_login, no_shell]) else { return };
    refused(&hosts, &address(2), &["no reply from the remote shell", "not available", "mkdir"]);
    refused(&hosts, &address(3), &["no reply from the remote shell", "no-such-shell"]);
}

#[test]
fn another_architecture_is_refused_before_anything_is_copied() {
    let strange = Kind { path: "FOLDER/bin:", ..Kind::default() };
    let Some(hosts) = Hosts::like(&[Kind::default(), strange]) else { return };
    let bin = hosts.host_folder(2).join("bin");
    fs::create_dir(&bin).unwrap();
    let uname = "#!/bin/sh\n[ \"$1\" = -m ] && echo sparc64 || exec /bin/uname \"$@\"\n";
    fs::write(bin.join("uname"), uname).unwrap();
    fs::set_permissions(bin.join("uname"), fs::Permissions::from_mode(0o755)).unwrap();
    refused(&hosts, &address(2), &["its processor is sparc64", "run oscost on that machine"]);
    assert!(files_below(&hosts.host_folder(2).join("home")).is_empty());
}

#[test]
fn a_host_without_free_space_is_reported_and_left_clean() {
    const FULL: &str = "for there in \"$1/home\" \"$1/tmp\" /var/tmp /dev/shm; do \
                        mount -t tmpfs -o size=512k none \"$there\"; done";
    let full = Kind { before: FULL, ..Kind::default() };
    let Some(hosts) = Hosts::like(&[Kind::default(), full]) else { return };
    let words = ["the worker cannot be stored there", "No space left on device", "4 MiB"];
    refused(&hosts, &address(2), &words);
    let root = format!("/proc/{}/root", hosts.sshd(2));
    let own = hosts.host_folder(2).display().to_string();
    for folder in [&format!("{own}/home"), &format!("{own}/tmp"), "/var/tmp", "/dev/shm"] {
        let left = files_below(format!("{root}{folder}").as_ref());
        assert_eq!(left, Vec::<std::path::PathBuf>::new());
    }
    until("its processes are gone", || hosts.processes(2).is_empty());
}

#[test]
fn remote_text_is_shown_without_control_characters() {
    let rude = Kind {
        sshd: "ForceCommand printf '\\033[2J\\033]0;mine\\007 gone' >&2; exit 3",
        ..Kind::default()
    };
    let Some(hosts) = Hosts::like(&[Kind::default(), rude]) else { return };
    let ran = hosts.oscost(&["machine", "--at", &format!("ssh:{}", address(2))]).exits(3);
    assert!(!ran.stderr.contains('\u{1b}') && !ran.stderr.contains('\u{7}'), "{:?}", ran.stderr);
    assert!(ran.stderr.contains("\\u{1b}[2J"), "{:?}", ran.stderr);
}
