//! Full and read-only disks, limits of file sizes, and many tools at once on one store.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::attack::{Attack, Effort, Outcome, make, withstood};
use crate::common::{Ran, Sandbox, scenario_file};
use crate::line::Line;
use crate::oracles::{check_end, check_store};

const ASKED: &[&str] = &["timer", "syscall"];

/// 1 KiB, or 2 in some shells: less than a page of the store, and than the table.
const SMALL_FILES: &str = r#"ulimit -f 2; exec "$0" "$@""#;

/// A measurement of this machine that takes its 5 s.
const MEASURE: &[&str] =
    &["run", "--no-lock", "--precision", "0.001", "--budget", "5", "syscall/getppid:via=raw"];

/// Both act a second after the store was made, when some workers are in it.
const DELETED_MEANWHILE: &str = r#""$0" "$@" & tool=$!
    for at in $(seq 200); do [ -s "$DATA/oscost/store.db" ] && break; sleep 0.1; done
    sleep 1; rm -rf "$DATA/oscost"; wait $tool"#;
const REPLACED_MEANWHILE: &str = r#""$0" "$@" & tool=$!
    for at in $(seq 200); do [ -s "$DATA/oscost/store.db" ] && break; sleep 0.1; done
    sleep 1; mv "$DATA/oscost" "$DATA/gone"; : > "$DATA/oscost"; wait $tool"#;

const LINES: &[Line] = &[
    Line {
        name: "a run under a limit of file sizes",
        script: SMALL_FILES,
        arguments: &["run", "--seed", "1", "--at", "FAKE", "syscall"],
        stderr: &[
            "note: this run is not kept",
            "limit of file sizes",
            "hint: `ulimit -f unlimited`",
        ],
        check: |sandbox, ran| {
            let arguments = ["syscall", "--no-store"];
            assert_eq!(ran.stdout, sandbox.fake("measured", &arguments).exits(0).stdout);
        },
        ..Line::DEFAULT
    },
    Line {
        name: "a reader under a limit of file sizes",
        has_run: true,
        script: SMALL_FILES,
        arguments: &["runs", "show", "last"],
        check: |_, ran| assert!(ran.stdout.contains("getppid"), "{}", ran.stdout),
        ..Line::DEFAULT
    },
    Line {
        name: "a table under a limit of file sizes",
        has_run: true,
        script: SMALL_FILES,
        arguments: &["report", "last", "--csv", "FILES/table.csv"],
        statuses: &[4],
        stderr: &["cannot write"],
        check: |sandbox, _| assert!(!sandbox.file("table.csv").exists(), "half of a table"),
        ..Line::DEFAULT
    },
    Line {
        name: "a named pipe in place of the store",
        script: r#"mkdir "$DATA/oscost"; mkfifo "$DATA/oscost/store.db"; exec "$0" "$@""#,
        arguments: &["runs", "list"],
        statuses: &[2],
        stderr: &["store.db"],
        ..Line::DEFAULT
    },
    Line {
        name: "a folder in place of the store",
        script: r#"mkdir -p "$DATA/oscost/store.db"; exec "$0" "$@""#,
        arguments: &["runs", "list"],
        statuses: &[2],
        stderr: &["store.db"],
        ..Line::DEFAULT
    },
    Line {
        name: "a link to nothing in place of the store",
        script: r#"mkdir "$DATA/oscost"; ln -s "$FILES/absent" "$DATA/oscost/store.db"
            exec "$0" "$@""#,
        arguments: &["run", "--seed", "1", "--at", "FAKE", "syscall/getppid"],
        stderr: &["note: this run is not kept"],
        check: |sandbox, _| assert!(!sandbox.file("absent").exists(), "the link was followed"),
        ..Line::DEFAULT
    },
    Line {
        name: "a record of a terabyte",
        script: r#"truncate -s 1T "$FILES/huge.json"; exec "$0" "$@""#,
        arguments: &["runs", "import", "FILES/huge.json"],
        statuses: &[2],
        stderr: &["huge.json"],
        ..Line::DEFAULT
    },
    Line {
        name: "a store whose folder is deleted during a run",
        effort: Effort::Long,
        script: DELETED_MEANWHILE,
        arguments: MEASURE,
        stderr: &["was deleted or replaced during this run", "kept as "],
        check: |sandbox, _| {
            assert!(sandbox.oscost(&["runs", "show", "last"]).exits(0).stdout.contains("getppid"));
        },
        ..Line::DEFAULT
    },
    Line {
        name: "a store whose folder becomes a file during a run",
        effort: Effort::Long,
        script: REPLACED_MEANWHILE,
        arguments: MEASURE,
        stderr: &["this run is not kept: the store "],
        check: |sandbox, ran| {
            assert!(!ran.stderr.contains("kept as"), "{}", ran.stderr);
            assert!(ran.stdout.contains("getppid"), "{}", ran.stdout);
            fs::remove_file(sandbox.folder("data").join("oscost")).unwrap();
        },
        ..Line::DEFAULT
    },
    Line {
        name: "no byte may be written",
        has_run: true,
        script: r#"ulimit -f 0; exec "$0" "$@""#,
        arguments: &["runs", "list"],
        ..Line::DEFAULT
    },
];

/// A file system in memory for a store, which is taken away with the value.
struct StoreDisk(PathBuf);

impl StoreDisk {
    /// Mounts it in place of the data of a test, or says why it cannot.
    fn mount(sandbox: &Sandbox) -> Result<Self, Outcome> {
        let folder = sandbox.folder("data");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=8m", "oscost-test"]).arg(&folder);
        match mount.output() {
            Ok(ran) if ran.status.success() => Ok(Self(folder)),
            _ => Err(Outcome::NotHere("mounting a disk takes root".to_owned())),
        }
    }

    /// Leaves no byte of it free.
    fn fill(&self) {
        let rest = vec![0; 16 << 20];
        let error = fs::write(self.0.join("rest"), rest).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    }

    fn make_read_only(&self) {
        let mut mount = Command::new("mount");
        assert!(mount.args(["-o", "remount,ro"]).arg(&self.0).status().unwrap().success());
    }
}

impl Drop for StoreDisk {
    fn drop(&mut self) {
        let gone = Command::new("umount").arg(&self.0).status();
        assert!(gone.is_ok_and(|status| status.success()) || std::thread::panicking());
    }
}

/// Checks that a store of two runs can be read: the last of them printed this.
fn check_readable(sandbox: &Sandbox, printed: &str) {
    let record = sandbox.oscost(&["runs", "show", "last", "--json", "-"]).exits(0).json();
    let id = record["id"].as_str().unwrap();
    assert!(sandbox.oscost(&["runs", "list"]).exits(0).stdout.contains(&id[..8]));
    assert_eq!(sandbox.oscost(&["runs", "show", "last"]).exits(0).stdout, printed);
    sandbox.oscost(&["compare", "last~1", "last"]).exits(0);
    sandbox.oscost(&["history"]).exits(0);
}

fn a_store_on_a_read_only_disk_is_read_and_the_next_step_is_named(sandbox: &Sandbox) -> Outcome {
    let disk = match StoreDisk::mount(sandbox) {
        Ok(disk) => disk,
        Err(not_here) => return not_here,
    };
    sandbox.fake("measured", ASKED).exits(0);
    let printed = sandbox.fake("measured", ASKED).exits(0).stdout;
    disk.make_read_only();
    check_readable(sandbox, &printed);
    let deleted = sandbox.oscost(&["runs", "delete", "last"]).exits(2).no_data();
    deleted.stderr_contains("is read-only").stderr_contains("hint: ");
    let ran = sandbox.fake("measured", ASKED).exits(0);
    ran.stderr_contains("note: this run is not kept").stderr_contains("XDG_DATA_HOME names");
    withstood()
}

fn a_store_on_a_full_disk_is_read_and_a_run_is_deleted_from_it(sandbox: &Sandbox) -> Outcome {
    let disk = match StoreDisk::mount(sandbox) {
        Ok(disk) => disk,
        Err(not_here) => return not_here,
    };
    sandbox.fake("measured", ASKED).exits(0);
    let printed = sandbox.fake("measured", ASKED).exits(0).stdout;
    disk.fill();
    check_readable(sandbox, &printed);
    let ran = sandbox.fake("measured", ASKED).exits(0);
    ran.stderr_contains("no space left on its disk").stderr_contains("`oscost runs delete RUN`");
    for _ in 0..2 {
        sandbox.oscost(&["runs", "delete", "last"]).exits(0).stderr_contains("deleted ");
    }
    assert_eq!(sandbox.oscost(&["runs", "list"]).exits(0).stdout, "no runs are kept\n");
    withstood()
}

fn a_store_on_a_full_disk_is_pruned(sandbox: &Sandbox) -> Outcome {
    let disk = match StoreDisk::mount(sandbox) {
        Ok(disk) => disk,
        Err(not_here) => return not_here,
    };
    for _ in 0..2 {
        sandbox.fake("measured", ASKED).exits(0);
    }
    disk.fill();
    let prune = ["runs", "prune", "--keep-runs", "0", "--keep-days", "0"];
    let ran = sandbox.oscost(&[&prune[..], &["--dry-run"]].concat()).exits(0);
    ran.stderr_contains("the raw batches of 2 runs would be removed");
    sandbox.oscost(&prune).exits(0).stderr_contains("removed the raw batches of 2 runs");
    check_store(sandbox);
    let printed = sandbox.oscost(&["runs", "show", "last"]).exits(0).stdout;
    check_readable(sandbox, &printed);
    // There is room now.
    sandbox.oscost(&["runs", "delete", "last"]).exits(0);
    withstood()
}

/// So many tools keep a run at once, beside as many that read and prune.
fn crowd(sandbox: &Sandbox, tools: usize) -> Outcome {
    let fake = format!("fake:{}", scenario_file("measured").display());
    let start = |arguments: &[&str]| {
        let mut command = sandbox.command(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let run = ["run", "--seed", "1", "--at", &fake, "syscall/getppid"];
    let readers = [&["runs", "list"][..], &["history"], &["runs", "prune", "--keep-runs", "1"]];
    let children: Vec<_> =
        (0..tools).flat_map(|at| [start(&run), start(readers[at % readers.len()])]).collect();
    for child in children {
        let ran = Ran::of_child(child);
        check_end(&ran);
        ran.exits(0);
    }
    let list = sandbox.oscost(&["runs", "list"]).exits(0).stdout;
    assert_eq!(list.matches("run --seed 1").count(), tools, "{list}");
    withstood()
}

#[test]
fn a_disk_that_takes_nothing_loses_nothing() {
    let short = |name: &str, attempt: fn(&Sandbox) -> Outcome| {
        Attack::in_sandbox(name, Effort::Short, attempt)
    };
    let crowds =
        [(2, Effort::Short), (8, Effort::Long), (20, Effort::Long)].map(|(tools, effort)| {
            let name = format!("{tools} tools and {tools} readers at once on one store");
            Attack::in_sandbox(name, effort, move |sandbox| crowd(sandbox, tools))
        });
    let disks = [
        short(
            "a store on a read-only disk",
            a_store_on_a_read_only_disk_is_read_and_the_next_step_is_named,
        ),
        short(
            "a store on a full disk",
            a_store_on_a_full_disk_is_read_and_a_run_is_deleted_from_it,
        ),
        short("pruning a store on a full disk", a_store_on_a_full_disk_is_pruned),
    ];
    make("disks", LINES.iter().map(|line| line.attack()).chain(disks).chain(crowds));
}
