//! Machines that do not boot: the rows give the reason, after a bounded time, without leftovers.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::{Ran, Sandbox, rows};
use crate::machines::{Kernel, emulator, in_own_namespaces, spinning_target, with};

/// Runs on a machine that does not boot; returns the reason with which all rows fail.
fn fails(sandbox: &Sandbox, target: &str, emulator: Option<&Path>, seconds: &str) -> String {
    let arguments = ["run", "--quick", "--at", target, "syscall/getppid:via=raw", "--json", "-"];
    let mut command = in_own_namespaces(sandbox, &arguments);
    command.env("OSCOST_BOOT_SECONDS", seconds);
    if let Some(emulator) = emulator {
        command.env("OSCOST_QEMU", emulator);
    }
    let record = Ran::of(&mut command).exits(3).json();
    assert_eq!(record["complete"], false);
    let mut reasons = Vec::new();
    for row in rows(&record) {
        assert_eq!(row["outcome"], "failed", "{row}");
        reasons.push(row["reason"].as_str().unwrap().to_owned());
    }
    reasons.dedup();
    assert_eq!(reasons.len(), 1, "{reasons:?}");
    sandbox.nothing_is_left();
    reasons.remove(0)
}

#[test]
fn a_kernel_panic_is_reported_with_its_console_line() {
    let Some(kernel) = Kernel::some() else { return };
    let sandbox = Sandbox::new();
    let nowhere = kernel.target(",append=rdinit=/nowhere init=/nowhere");
    let reason = fails(&sandbox, &nowhere, None, "60");
    let line = "its kernel panicked: [";
    assert!(reason.contains(line) && reason.contains("Kernel panic - not syncing: "), "{reason}");
    assert!(reason.chars().all(|it| it == '\n' || !it.is_control()), "{reason}");
}

#[test]
fn a_processor_without_rdtscp_is_reported_at_once() {
    let Some(kernel) = Kernel::some() else { return };
    let sandbox = Sandbox::new();
    let reason = fails(&sandbox, &kernel.target(",cpu=Nehalem"), None, "60");
    assert!(reason.contains("its processor lacks `rdtscp`"), "{reason}");
    assert!(reason.contains("\n  hint: choose another `cpu=`"), "{reason}");
}

#[test]
fn a_kernel_that_spins_is_ended_after_the_boot_timeout() {
    let Some(_turn) = Kernel::some() else { return };
    let sandbox = Sandbox::new();
    let target = spinning_target(&sandbox, "");
    let begun = Instant::now();
    let reason = fails(&sandbox, &target, None, "3");
    assert!(begun.elapsed() >= Duration::from_secs(3), "it did not wait");
    assert!(reason.contains("no event within 3s; its console is empty"), "{reason}");
    assert!(reason.contains("\n  hint: the kernel must be for x86-64"), "{reason}");
}

#[test]
fn an_emulator_that_sends_no_events_is_ended() {
    let sandbox = Sandbox::new();
    let target = spinning_target(&sandbox, "");
    let silent = emulator(&sandbox, "exec sleep 1000");
    let reason = fails(&sandbox, &target, Some(&silent), "1");
    assert!(reason.contains("no event within 1s"), "{reason}");
}

#[test]
fn the_message_of_an_emulator_that_ends_at_once_is_the_reason() {
    let sandbox = Sandbox::new();
    let target = spinning_target(&sandbox, "");
    let broken = "echo \"qemu: invalid accelerator $(printf '\\033[2J')\" >&2; exit 3";
    let reason = fails(&sandbox, &target, Some(&emulator(&sandbox, broken)), "60");
    let words = "the emulator ended with exit status: 3: qemu: invalid accelerator \\u{1b}[2J";
    assert!(reason.contains(words), "{reason}");
    let quiet = fails(&sandbox, &target, Some(&emulator(&sandbox, "exit 0")), "60");
    assert!(quiet.contains("the machine ended before it had executed all its orders"), "{quiet}");
}

#[test]
fn invalid_events_of_a_machine_are_an_error() {
    let sandbox = Sandbox::new();
    let target = spinning_target(&sandbox, "");
    // The file for its events is in its arguments.
    let script = "for word; do case $word in file,id=events,path=*) \
                printf 'SeaBIOS\\n' > \"${word#*path=}\";; esac; done; exec sleep 1000";
    let reason = fails(&sandbox, &target, Some(&emulator(&sandbox, script)), "60");
    assert!(reason.contains("expected"), "{reason}");
}

#[test]
fn a_program_without_a_qemu_version_is_not_an_emulator() {
    let sandbox = Sandbox::new();
    let target = spinning_target(&sandbox, "");
    let arguments = ["run", "--quick", "--at", &target, "syscall/getppid:via=raw", "--json", "-"];
    // The output of this program holds a version, that of its licence.
    let record = with(&sandbox, "/bin/true".as_ref(), &arguments).exits(3).json();
    for row in rows(&record) {
        assert_eq!(row["outcome"], "skipped");
        assert!(row["reason"].as_str().unwrap().contains("is not QEMU"), "{row}");
    }
}
