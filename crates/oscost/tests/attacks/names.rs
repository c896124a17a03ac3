//! Names that another user chose, and files that are none.

use std::fs;

use crate::attack::{Attack, Effort, Outcome, make, withstood};
use crate::common::Sandbox;

fn what_is_no_regular_file_is_refused_and_not_waited_for(sandbox: &Sandbox) -> Outcome {
    let fifo = sandbox.file("fifo");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let fifo = fifo.to_str().unwrap();
    let folder = sandbox.folder("files");
    for arguments in [
        &["report", fifo][..],
        &["compare", fifo, fifo],
        &["runs", "import", fifo],
        &["study", "show", fifo],
        &["run", "--workload", fifo],
        &["ph", "load", fifo],
        &["treat", &format!("seccomp={fifo}"), "--", "true"],
        &["run", "--at", &format!("fake:{fifo}"), "timer"],
    ] {
        let ran = sandbox.oscost(arguments).no_data();
        assert!(matches!(ran.code, Some(2 | 3)), "{arguments:?}: {:?}\n{}", ran.code, ran.stderr);
        ran.stderr_contains("it is a named pipe, not a regular file; copy what it gives to a file");
    }
    let ran = sandbox.oscost(&["runs", "import", folder.to_str().unwrap()]).exits(2);
    ran.stderr_contains("it is a directory, not a regular file; name a file in it");
    withstood()
}

/// Devices never end, or are the memory of the machine.
fn a_device_is_refused_as_a_record(sandbox: &Sandbox) -> Outcome {
    for device in ["/dev/zero", "/dev/full", "/dev/urandom", "/dev/tty"] {
        for arguments in [&["runs", "import", device][..], &["report", device]] {
            let ran = sandbox.oscost(arguments).exits(2).no_data();
            ran.stderr_contains(device);
        }
    }
    withstood()
}

fn a_name_that_another_user_chose_does_not_control_the_terminal(sandbox: &Sandbox) -> Outcome {
    let name = "\u{1b}[2J\u{9b}31m.json";
    let file = sandbox.file(name);
    fs::write(&file, "{}").unwrap();
    for arguments in [
        &["runs", "import", file.to_str().unwrap()][..],
        &["runs", "show", name],
        &["report", name],
        &["compare", name, "last"],
        &["run", name],
        &["explain", name],
        &["history", name],
        &["study", "show", name],
        &["run", "--at", name],
        &["man", name],
        &[name],
        &["run", &format!("--{name}")],
        &["run", "--budget", name],
        &["run", "-o", &format!("/no/such/folder/{name}")],
    ] {
        let ran = sandbox.oscost(arguments).exits(2).no_data();
        let is_control = |c: char| c.is_control() && c != '\n' && c != '\t';
        assert!(!ran.stderr.contains(is_control), "{arguments:?}: {:?}", ran.stderr);
        // The parser of arguments leaves whole sequences out.
        assert!(ran.stderr.contains("31m.json"), "{arguments:?}: {:?}", ran.stderr);
    }
    withstood()
}

#[test]
fn a_name_is_a_name_and_a_file_ends() {
    let short = |name: &str, attempt: fn(&Sandbox) -> Outcome| {
        Attack::in_sandbox(name, Effort::Short, attempt)
    };
    make(
        "names",
        [
            short(
                "a named pipe in place of a file",
                what_is_no_regular_file_is_refused_and_not_waited_for,
            ),
            short("a device in place of a record", a_device_is_refused_as_a_record),
            short(
                "escape sequences in names",
                a_name_that_another_user_chose_does_not_control_the_terminal,
            ),
        ],
    );
}
