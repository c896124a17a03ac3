//! Users and their programs: root in the home of another, a lock that is held, two networks.

use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::Command;

use oscost_model::protocol::LOCK_NAME;

use crate::attack::{Attack, Effort, Outcome, make, withstood};
use crate::common::{Ran, Sandbox, tool, worker};
use crate::line::{Line, Needs};

/// An id that no user of a test machine has.
const OTHER: u32 = 12_345;

const LINES: &[Line] = &[
    Line {
        name: "a command that does not exist",
        effort: Effort::Long,
        arguments: &["run", "--no-lock", "--", "no-such-command"],
        statuses: &[127],
        check: nothing_is_kept,
        ..Line::DEFAULT
    },
    Line {
        name: "a command that cannot be executed",
        effort: Effort::Long,
        arguments: &["run", "--no-lock", "--", "/etc/passwd"],
        statuses: &[126],
        check: nothing_is_kept,
        ..Line::DEFAULT
    },
    Line {
        name: "two runs in two networks",
        effort: Effort::Long,
        needs: Needs::Network,
        // The abstract socket of the lock is one of each network, its file is one of the machine.
        script: r#"unshare --net "$0" run --no-store --precision 0.001 --budget 60 syscall \
                > "$FILES/first" 2>&1 &
            first=$!
            sleep 3
            unshare --net "$0" "$@"; status=$?
            kill -INT $first
            wait
            exit $status"#,
        arguments: &["run", "--no-wait", "--no-store", "syscall/getppid:via=raw"],
        statuses: &[3],
        stderr: &["is measuring on this machine"],
        ..Line::DEFAULT
    },
    Line {
        name: "a stopped run that holds the lock",
        effort: Effort::Long,
        script: r#""$0" run --no-store --precision 0.001 --budget 60 syscall \
                > "$FILES/first" 2>&1 &
            first=$!
            sleep 3; kill -STOP $first
            "$0" "$@"; status=$?
            "$0" run --quick --no-store --no-lock syscall/getppid:via=raw \
                > "$FILES/beside" 2>&1 || status=99
            kill -CONT $first; kill -INT $first
            wait
            exit $status"#,
        arguments: &["run", "--no-wait", "--no-store", "syscall/getppid:via=raw"],
        statuses: &[3],
        stderr: &["kill -CONT"],
        check: |sandbox, _| {
            let beside = fs::read_to_string(sandbox.file("beside")).unwrap();
            assert!(beside.contains("getppid"), "{beside}");
        },
        ..Line::DEFAULT
    },
];

fn nothing_is_kept(sandbox: &Sandbox, _: &Ran) {
    assert_eq!(sandbox.oscost(&["runs", "list"]).exits(0).stdout, "no runs are kept\n");
}

fn root_leaves_no_folder_of_its_own_in_the_home_of_a_user(sandbox: &Sandbox) -> Outcome {
    if !nix::unistd::geteuid().is_root() {
        return Outcome::NotHere("only root writes into the homes of others".to_owned());
    }
    let home = sandbox.folder("files");
    chown(&home, Some(OTHER), Some(OTHER)).unwrap();
    let mut command = sandbox.command(&["runs", "list"]);
    let ran = Ran::of(command.env_remove("XDG_DATA_HOME")).exits(0);
    assert!(!ran.stderr.contains("note: "), "{}", ran.stderr);
    for made in [".local", ".local/share", ".local/share/oscost", ".local/share/oscost/store.db"] {
        let made = home.join(made).metadata().unwrap();
        assert_eq!((made.uid(), made.gid()), (OTHER, OTHER));
    }
    withstood()
}

fn root_that_cannot_give_files_away_uses_its_own_folders_and_says_so(sandbox: &Sandbox) -> Outcome {
    let home = sandbox.folder("files");
    let mut plain = Command::new("setpriv");
    let without = ["--bounding-set=-chown", "--inh-caps=-chown"];
    if !plain.args(without).arg("true").status().is_ok_and(|status| status.success()) {
        return Outcome::NotHere("setpriv(1) needs root".to_owned());
    }
    chown(&home, Some(OTHER), Some(OTHER)).unwrap();
    let mut command = Command::new("setpriv");
    command.args(without).arg(tool()).arg("list").env_clear().env("HOME", &home);
    command.env("OSCOST_WORKER", worker());
    Ran::of(&mut command)
        .exits(0)
        .stderr_contains("note: root may not create files for the owner of this home")
        .stderr_contains(&format!("instead of {}/.local/share/oscost", home.display()));
    assert!(!home.join(".local").exists());
    withstood()
}

/// A program that is not oscost, this one, holds the name of the lock for ever.
fn lock_of_another_program(sandbox: &Sandbox) -> Outcome {
    let address = SocketAddr::from_abstract_name(LOCK_NAME).unwrap();
    let Ok(_name) = UnixListener::bind_addr(&address) else {
        return Outcome::NotHere("another run holds the lock".to_owned());
    };
    let comm = fs::read_to_string("/proc/self/comm").unwrap();
    assert_ne!(comm.trim_end(), "oscost");
    let ran = sandbox.oscost(&["run", "--quick", "--no-store", "timer/nothing"]);
    let ran = ran.stderr_contains(" (not oscost) holds its lock, and is ignored");
    assert!(ran.stdout.contains("nothing"), "{}", ran.stdout);
    withstood()
}

/// A treatment that an ordinary user may not apply: nothing is measured, and the status says so.
fn a_treatment_without_permission(sandbox: &Sandbox) -> Outcome {
    let ab = ["ab", "--quick", "--no-lock", "--new", "ebpf=empty", "syscall/getppid:via=raw"];
    Ran::of(&mut sandbox.ordinary(&ab)).exits(3);
    withstood()
}

#[test]
fn users_and_their_programs_stand_in_no_other_s_way() {
    let attack = |name: &str, effort: Effort, attempt: fn(&Sandbox) -> Outcome| {
        Attack::in_sandbox(name, effort, attempt)
    };
    make(
        "users",
        LINES.iter().map(|line| line.attack()).chain([
            attack(
                "root in the home of a user",
                Effort::Short,
                root_leaves_no_folder_of_its_own_in_the_home_of_a_user,
            ),
            attack(
                "root that may not give files away",
                Effort::Short,
                root_that_cannot_give_files_away_uses_its_own_folders_and_says_so,
            ),
            attack("a lock that another program holds", Effort::Long, lock_of_another_program),
            attack(
                "a treatment that takes a right of root",
                Effort::Long,
                a_treatment_without_permission,
            ),
        ]),
    );
}
