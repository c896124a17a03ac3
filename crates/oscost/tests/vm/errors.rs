//! Invalid targets are refused before anything is booted; a missing emulator skips the rows.

use std::fs;

use crate::common::{Sandbox, rows};
use crate::machines::{spinning_target, with};

#[test]
fn without_qemu_every_row_is_skipped_with_the_package_to_install() {
    let sandbox = Sandbox::new();
    let target = spinning_target(&sandbox, "");
    let arguments = ["run", "--quick", "--at", &target, "syscall/getppid", "--json", "-"];
    let nowhere = with(&sandbox, "/nonexistent/qemu".as_ref(), &arguments);
    // It is not found in an empty PATH either.
    let empty = sandbox.folder("tmp");
    let unfound = crate::common::Ran::of(sandbox.command(&arguments).env("PATH", empty));
    for ran in [nowhere, unfound] {
        let record = ran.exits(3).json();
        assert!(!rows(&record).is_empty());
        for row in rows(&record) {
            assert_eq!(row["outcome"], "skipped", "{row}");
            let reason = row["reason"].as_str().unwrap();
            assert!(reason.contains("sudo apt-get install qemu-system-x86"), "{reason}");
        }
    }
    let arguments = ["ab", "--base", &target, "--new", &target, "syscall/getppid"];
    let ran = with(&sandbox, "/nonexistent/qemu".as_ref(), &arguments).exits(3);
    assert!(ran.stdout.contains("qemu-system-x86"), "{}", ran.stdout);
    sandbox.nothing_is_left();
}

#[test]
fn a_file_that_is_not_a_kernel_is_refused() {
    let sandbox = Sandbox::new();
    for (name, bytes, words) in [
        ("text", &b"hello"[..], "it is not a kernel"),
        ("empty", b"", "it is empty"),
        ("vmlinux", b"\x7fELF\x02\x01\x01", "it is an ELF file, such as a vmlinux"),
    ] {
        let file = sandbox.file(name);
        fs::write(&file, bytes).unwrap();
        let target = format!("vm:{}", file.display());
        for arguments in [
            &["run", "--at", &target][..],
            &["ab", "--base", &target, "--new", &target],
            &["machine", "--at", &target],
        ] {
            let ran = sandbox.oscost(arguments).exits(2).no_data();
            ran.stderr_contains(words).stderr_contains("hint:");
        }
    }
    let gone = sandbox.file("gone");
    let ran = sandbox.oscost(&["run", "--at", &format!("vm:{}", gone.display())]).exits(2);
    ran.no_data().stderr_contains("cannot read").stderr_contains("hint:");
    sandbox.nothing_is_left();
}

#[test]
fn invalid_parameters_of_a_machine_are_refused() {
    let sandbox = Sandbox::new();
    for (parameters, message) in [
        (",smp=2", "`smp=2` is unknown"),
        (",mem=1", "from 128 to 65536 MiB"),
        (",accel=hvf", "`accel=hvf` is unknown"),
        (",cpu=-x", "`cpu=-x` is unknown"),
        (",append=a\nb", "append"),
    ] {
        let target = spinning_target(&sandbox, parameters);
        let ran = sandbox.oscost(&["run", "--at", &target, "syscall/getppid"]).exits(2).no_data();
        ran.stderr_contains(message);
    }
    sandbox.oscost(&["run", "--at", "vm:", "syscall/getppid"]).exits(2).no_data();
}

#[test]
fn options_without_a_meaning_for_counted_instructions_are_refused() {
    let sandbox = Sandbox::new();
    let target = spinning_target(&sandbox, "");
    for option in [
        ["--cpu", "1"],
        ["--budget", "10"],
        ["--precision", "1"],
        ["--peer", "ssh:db1"],
        ["--peer-cpu", "1"],
        ["--seed", "1"],
    ] {
        let ran = sandbox.oscost(&[&["run", "--at", &target][..], &option].concat()).exits(2);
        ran.no_data()
            .stderr_contains(&format!("cannot use `{}` where", option[0]))
            .stderr_contains("accel=kvm");
    }
    let ab = ["ab", "--base", &target, "--new", &target];
    for option in [["--cpu", "1"], ["--budget", "10"], ["--seed", "1"]] {
        let ran = sandbox.oscost(&[&ab[..], &option].concat()).exits(2);
        ran.no_data().stderr_contains(&format!("cannot use `{}` where", option[0]));
    }
    for (base, new) in [("local", target.as_str()), (target.as_str(), "local")] {
        let ran = sandbox.oscost(&["ab", "--base", base, "--new", new]).exits(2).no_data();
        ran.stderr_contains("instructions are counted at the first");
    }
    sandbox.nothing_is_left();
}
