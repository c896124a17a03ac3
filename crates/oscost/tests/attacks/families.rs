//! Families of benchmarks on machines that offer little: a container without privileges, system
//! calls that are forbidden or missing, no user namespaces, no locked memory, a full folder of
//! temporary files. Each row is measured, or skipped for a reason that it says; none fails.

use std::fs;
use std::process::{Command, Stdio};

use oscost_worker::benchmarks::FAMILIES;

use crate::attack::{Attack, Effort, Outcome, make};
use crate::common::{Ran, Sandbox, rows};
use crate::oracles::check_end;
use crate::resources;

/// Six repetitions of each row, within 200 s: a command that takes five minutes is one that hangs.
const RUN: [&str; 7] = ["run", "--quick", "--no-lock", "--budget", "200", "--json", "-"];

/// The reason of a row that a run has not reached in its time.
const LATE: &str = "the run ended before its first repetition";

/// A case that runs everywhere: where all rows are skipped, the exit status is another one.
const GETPPID: &str = "syscall/getppid:via=raw";

/// What filters the system calls of the workers.
#[derive(Clone, Copy)]
enum Filter {
    Nothing,
    Docker,
    /// A profile in OCI JSON.
    Profile(&'static str),
}

/// A machine that offers little.
#[derive(Clone, Copy)]
struct Machine {
    name: &'static str,
    /// What a shell does to it: the tool is `"$0"`, its arguments are `"$@"`.
    script: &'static str,
    /// Whether the script needs root, and executes the tool as `nobody`.
    is_of_nobody: bool,
    filter: Filter,
    /// The families and benchmarks that are run, each by a command; all families if none is named.
    runs: &'static [&'static str],
    /// The benchmarks that it cannot run: the names of their cases begin so.
    skips: &'static [&'static str],
}

impl Machine {
    /// As it is.
    const DEFAULT: Machine = Machine {
        name: "",
        script: r#"exec "$0" "$@""#,
        is_of_nobody: false,
        filter: Filter::Nothing,
        runs: &[],
        skips: &[],
    };
}

/// As docker makes one for `--user nobody --cap-drop all --security-opt no-new-privileges
/// --read-only --tmpfs /tmp`; the folder of the test is a volume. The tool is its process 1.
const CONTAINER: &str = r#"exec unshare --mount --pid --fork --kill-child --mount-proc --ipc --uts \
    sh -c '
        set -e
        volume=${TMPDIR%/*}
        mount --bind "$volume" "$volume"
        mount -t tmpfs -o mode=1777 tmpfs "$TMPDIR"
        mount -t tmpfs -o mode=1777 tmpfs /dev/shm
        while read -r _ folder kind _; do
            case $kind in cgroup*) mount -o remount,bind,ro "$folder" ;; esac
        done < /proc/self/mounts
        mount -o remount,bind,ro /
        mount --bind /proc/sys /proc/sys
        mount -o remount,bind,ro /proc/sys
        cd /
        exec setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all \
            --bounding-set=-all --no-new-privs "$0" "$@"' "$0" "$@""#;

/// All of a small tmpfs is one file.
const FULL_TMPDIR: &str = r#"exec unshare --mount sh -c '
    mount -t tmpfs -o size=64k,mode=1777 tmpfs "$TMPDIR" || exit
    cat /dev/zero > "$TMPDIR/full" 2> /dev/null
    exec "$0" "$@"' "$0" "$@""#;

/// Root of a user namespace in which no other one may be made.
const NO_USER_NAMESPACES: &str = r#"exec unshare --user --map-root-user sh -c '
    echo 0 > /proc/sys/user/max_user_namespaces && exec "$0" "$@"' "$0" "$@""#;

/// As containerd's profile since 2023: EPERM.
const WITHOUT_IO_URING: &str = r#"{
    "defaultAction": "SCMP_ACT_ALLOW",
    "syscalls": [{
        "names": ["io_uring_setup", "io_uring_enter", "io_uring_register"],
        "action": "SCMP_ACT_ERRNO",
        "errnoRet": 1
    }]
}"#;

/// CLONE_NEWUSER is 268435456. The flags of clone3(2) are in memory, where no filter reads them.
const WITHOUT_USER_NAMESPACES: &str = r#"{
    "defaultAction": "SCMP_ACT_ALLOW",
    "syscalls": [{
        "names": ["clone", "unshare"],
        "action": "SCMP_ACT_ERRNO",
        "errnoRet": 1,
        "args": [{
            "index": 0, "value": 268435456, "valueTwo": 268435456, "op": "SCMP_CMP_MASKED_EQ"
        }]
    }, {
        "names": ["clone3"],
        "action": "SCMP_ACT_ERRNO",
        "errnoRet": 38
    }]
}"#;

/// What came with Linux 5.1 and later: ENOSYS.
const OF_LINUX_5_0: &str = r#"{
    "defaultAction": "SCMP_ACT_ALLOW",
    "syscalls": [{
        "names": [
            "io_uring_setup", "io_uring_enter", "io_uring_register", "pidfd_send_signal",
            "open_tree", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick",
            "pidfd_open", "clone3", "close_range", "openat2", "pidfd_getfd", "faccessat2",
            "process_madvise", "epoll_pwait2", "mount_setattr", "landlock_create_ruleset",
            "landlock_add_rule", "landlock_restrict_self", "memfd_secret", "process_mrelease",
            "futex_waitv", "cachestat", "fchmodat2", "futex_wake", "futex_wait", "futex_requeue",
            "statmount", "listmount", "mseal"
        ],
        "action": "SCMP_ACT_ERRNO",
        "errnoRet": 38
    }]
}"#;

const UNPRIVILEGED: Machine = Machine {
    name: "a container without privileges",
    script: CONTAINER,
    is_of_nobody: true,
    filter: Filter::Docker,
    skips: &["io-uring/", "mount/bind", "namespace/maps", "cgroup/create-delete"],
    ..Machine::DEFAULT
};

const LACKING: &[Machine] = &[
    Machine {
        name: "io_uring forbidden by a filter",
        filter: Filter::Profile(WITHOUT_IO_URING),
        runs: &["io-uring", "syscall/io-uring"],
        skips: &["io-uring/", "syscall/io-uring"],
        ..Machine::DEFAULT
    },
    Machine {
        name: "user namespaces forbidden by a filter",
        filter: Filter::Profile(WITHOUT_USER_NAMESPACES),
        runs: &["namespace", "mount", "process", "security"],
        skips: &["namespace/maps"],
        ..Machine::DEFAULT
    },
    Machine {
        name: "root of the last user namespace",
        script: NO_USER_NAMESPACES,
        runs: &["namespace", "mount", "cgroup", "process", "sched", "security"],
        skips: &["namespace/maps"],
        ..Machine::DEFAULT
    },
    Machine {
        name: "no locked memory",
        script: r#"ulimit -l 0; exec "$0" "$@""#,
        runs: &["bpf", "fault", "io-uring", "memory", "syscall/io-uring"],
        ..Machine::DEFAULT
    },
    Machine {
        name: "a full folder of temporary files",
        script: FULL_TMPDIR,
        runs: &["descriptor", "directory", "lock", "mount", "process", "socket"],
        ..Machine::DEFAULT
    },
    Machine {
        name: "a kernel of 2019",
        filter: Filter::Profile(OF_LINUX_5_0),
        runs: &[
            "descriptor",
            "directory",
            "io-uring",
            "lock",
            "mount",
            "namespace",
            "process",
            "sched",
            "security",
            "signal",
            "sync",
        ],
        skips: &[
            "io-uring/",
            "security/landlock-restrict",
            "descriptor/pidfd",
            "descriptor/close-range",
        ],
        ..Machine::DEFAULT
    },
];

impl Machine {
    /// An attack for each of its runs.
    fn attacks(self) -> impl Iterator<Item = Attack> {
        let runs: Vec<&str> = match self.runs {
            [] => FAMILIES.iter().map(|family| family.name).collect(),
            named => named.to_vec(),
        };
        runs.into_iter().map(move |what| {
            let name = format!("{}: {what}", self.name);
            Attack::in_sandbox(name, Effort::Long, move |sandbox| self.attempt(what, sandbox))
        })
    }

    fn attempt(&self, what: &str, sandbox: &Sandbox) -> Outcome {
        if self.is_of_nobody && !nix::unistd::geteuid().is_root() {
            return Outcome::NotHere("only root may become another user".to_owned());
        }
        if let Some(why) = self.lacking(sandbox) {
            return Outcome::NotHere(why);
        }
        let treatment = match self.filter {
            Filter::Nothing => None,
            Filter::Docker => Some("seccomp=docker".to_owned()),
            Filter::Profile(text) => {
                let profile = sandbox.file("profile.json");
                fs::write(&profile, text).unwrap();
                Some(format!("seccomp={}", profile.display()))
            }
        };
        let mut arguments = RUN.to_vec();
        if let Some(treatment) = treatment.as_deref() {
            arguments.extend(["--treat", treatment]);
        }
        arguments.extend([GETPPID, what]);
        let before = resources::named();
        let ran = Ran::of(&mut self.command(sandbox, &arguments));
        check_end(&ran);
        let outcome = self.check(&ran);
        assert_eq!(left_files(sandbox), Vec::<String>::new());
        resources::nothing_is_new(&before);
        outcome
    }

    /// Why it cannot be made here.
    fn lacking(&self, sandbox: &Sandbox) -> Option<String> {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", self.script, "true"]).env("TMPDIR", sandbox.folder("tmp"));
        let tried = shell.stdin(Stdio::null()).output().unwrap();
        let why = || String::from_utf8_lossy(&tried.stderr).trim().replace('\n', "; ");
        (!tried.status.success()).then(why)
    }

    /// The tool on it. Benchmarks make files where it is started.
    fn command(&self, sandbox: &Sandbox, arguments: &[&str]) -> Command {
        // Of the user, the script takes care.
        let tool = match self.is_of_nobody {
            true => sandbox.ordinary(arguments),
            false => sandbox.command(arguments),
        };
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", self.script]).arg(tool.get_program()).args(tool.get_args()).env_clear();
        shell.envs(tool.get_envs().filter_map(|(name, value)| Some((name, value?))));
        shell.current_dir(sandbox.folder("files")).stdin(Stdio::null());
        shell
    }

    /// Checks that each row was measured, or skipped for a reason; says how many were.
    fn check(&self, ran: &Ran) -> Outcome {
        let record = ran.json();
        let (mut measured, mut skipped, mut others) = (0, 0, 0);
        let mut wrong = Vec::new();
        for row in rows(&record) {
            let text = |key: &str| row[key].as_str().unwrap_or_default();
            let (case, outcome, reason) = (text("case"), text("outcome"), text("reason"));
            let cannot_run = self.skips.iter().any(|&one| case.starts_with(one));
            match outcome {
                "measured" if !cannot_run => measured += 1,
                "skipped" if reason.starts_with(LATE) => others += 1,
                "skipped" if !reason.trim().is_empty() => skipped += 1,
                // Other programs disturbed it.
                "unmeasurable" if !cannot_run => others += 1,
                _ => wrong.push(format!("{case}: {outcome}: {reason}")),
            }
        }
        assert!(wrong.is_empty(), "{}\n{}", wrong.join("\n"), ran.stderr);
        assert!(measured > 0, "nothing was measured: {}", ran.stderr);
        let is_right = ran.code == Some(0) || (others > 0 && ran.code == Some(3));
        assert!(is_right, "status {:?}: {}", ran.code, ran.stderr);
        let words = format!("{measured} measured, {skipped} skipped");
        Outcome::Withstood(match others {
            0 => words,
            _ => format!("{words}, {others} disturbed or not reached"),
        })
    }
}

/// What benchmarks have left in the folder where the tool was started.
fn left_files(sandbox: &Sandbox) -> Vec<String> {
    let entries = fs::read_dir(sandbox.folder("files")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    // The programs are there, where another user may execute them.
    names.filter(|name| name.starts_with("oscost-") && name != "oscost-worker").collect()
}

#[test]
fn no_row_fails_in_a_container_without_privileges() {
    make("families in a container", UNPRIVILEGED.attacks());
}

#[test]
fn no_row_fails_where_something_is_forbidden_missing_or_full() {
    make("families on lacking machines", LACKING.iter().flat_map(|machine| machine.attacks()));
}

#[test]
fn machines_name_families_benchmarks_and_system_calls_that_exist() {
    use oscost::treatments::seccomp::compile::compile;
    use oscost::treatments::seccomp::profile::Profile;
    use oscost_model::call_names::Arch;

    let is_family = |name: &str| FAMILIES.iter().any(|family| family.name == name);
    let has_case = |begin: &str| {
        let mut benches = FAMILIES.iter().flat_map(|family| family.benches);
        benches.any(|bench| bench.id.starts_with(begin))
    };
    for machine in LACKING.iter().chain([&UNPRIVILEGED]) {
        for &name in machine.runs {
            assert!(is_family(name) || name.contains('/') && has_case(name), "{name}");
        }
        for &begin in machine.skips {
            assert!(has_case(begin), "{begin}");
        }
        if let Filter::Profile(text) = machine.filter {
            for arch in [Arch::X86_64, Arch::Aarch64] {
                let profile = Profile::parse(text.as_bytes(), arch).unwrap();
                let compiled = compile(&profile, arch).unwrap();
                assert_eq!(compiled.unknown, 0, "{}", machine.name);
            }
        }
    }
}
