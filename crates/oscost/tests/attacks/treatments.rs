//! Treated commands that are ended: what was done to them and to the system is undone. And workers under
//! profiles that forbid what they need.

use std::fs;
use std::path::PathBuf;

use crate::attack::{Attack, Effort, Outcome, make, withstood};
use crate::common::treated::{kill, sleeper};
use crate::common::{Ran, Sandbox, end_of, rows, until};
use crate::oracles::check_end;

const INSTANCES: &str = "/sys/kernel/tracing/instances";

/// Treatments of a sleeping command, and when they are attacked.
const TREATMENTS: &[(&str, Effort)] = &[
    ("ebpf=empty+ftrace+antagonist=syscalls+cgroup=own", Effort::Short),
    ("ptrace", Effort::Short),
    ("seccomp-notify", Effort::Short),
    ("seccomp-trace", Effort::Long),
    ("seccomp=allow", Effort::Long),
    ("nice=5", Effort::Long),
    ("env=A=b", Effort::Long),
    ("cgroup=own", Effort::Long),
    ("antagonist=cpu", Effort::Long),
    ("antagonist=memory", Effort::Long),
    ("ebpf=count", Effort::Long),
    ("ftrace", Effort::Long),
];

/// The signals that end a treated command, and its status; KILL leaves none.
const SIGNALS: [(&str, Option<i32>); 3] = [("TERM", Some(143)), ("INT", Some(130)), ("KILL", None)];

/// What a treated command of this number may leave in the kernel's folders.
fn leftovers(pid: u32) -> Vec<PathBuf> {
    let groups = fs::read_dir("/sys/fs/cgroup").into_iter().flatten().flatten();
    let folders =
        groups.map(|entry| entry.path()).chain([INSTANCES, "/sys/fs/cgroup"].map(PathBuf::from));
    let name = format!("oscost-alone-{pid}");
    let entries = folders.filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    let is_ours = |path: &PathBuf| {
        let its = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        its == name || its.starts_with(&format!("{name}."))
    };
    entries.map(|entry| entry.path()).filter(is_ours).collect()
}

fn end(sandbox: &Sandbox, treatments: &str, signal: &str, status: Option<i32>) -> Outcome {
    let Some(mut child) = sleeper(sandbox, treatments) else {
        return Outcome::NotHere("it cannot be applied".to_owned());
    };
    let pid = child.id();
    if treatments.contains("+ftrace") {
        assert!(leftovers(pid).len() >= 2, "{:?}", leftovers(pid));
    }
    kill(signal, pid);
    // Where nothing has to be undone the command is executed in place of the tool, and is ended by the
    // signal itself.
    let code = end_of(&mut child).code();
    assert!(code == status || code.is_none(), "{treatments}, {signal}: {code:?}");
    until("what was done is undone", || leftovers(pid).is_empty());
    withstood()
}

/// Profiles in OCI JSON: what they are, and their text.
const PROFILES: [(&str, &str); 3] = [
    (
        "that allows its end alone",
        r#"{"defaultAction": "SCMP_ACT_ERRNO",
            "syscalls": [{"names": ["exit_group"], "action": "SCMP_ACT_ALLOW"}]}"#,
    ),
    ("that kills it for any call", r#"{"defaultAction": "SCMP_ACT_KILL_PROCESS"}"#),
    ("that is cut short", r#"{"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [{"names""#),
];

/// A worker under such a profile measures nothing, and the reason is told.
fn strict_profile(sandbox: &Sandbox, text: &str) -> Outcome {
    let profile = sandbox.file("profile.json");
    fs::write(&profile, text).unwrap();
    let treatment = format!("seccomp={}", profile.display());
    let case = "syscall/getppid:via=raw";
    let arguments = ["run", "--quick", "--no-lock", "--treat", &treatment, "--json", "-", case];
    let ran = Ran::of(&mut sandbox.command(&arguments));
    check_end(&ran);
    match ran.code {
        Some(2) => Outcome::Withstood("refused".to_owned()),
        _ => {
            let record = ran.exits(3).json();
            let requested = rows(&record).iter().filter(|row| row["case"] == case);
            let has_reason: Vec<bool> = requested.map(|row| row["reason"].is_string()).collect();
            assert!(!has_reason.is_empty() && has_reason.iter().all(|it| *it), "{record}");
            Outcome::Withstood("its rows have the reason".to_owned())
        }
    }
}

#[test]
fn nothing_of_a_treatment_is_left_however_it_ends() {
    let attacks = TREATMENTS.iter().flat_map(|&(treatments, effort)| {
        SIGNALS.map(move |(signal, status)| {
            let name = format!("SIG{signal} at a command under {treatments}");
            Attack::in_sandbox(name, effort, move |sandbox| {
                end(sandbox, treatments, signal, status)
            })
        })
    });
    let profiles = PROFILES.map(|(what, text)| {
        Attack::in_sandbox(format!("a profile {what}"), Effort::Long, move |sandbox| {
            strict_profile(sandbox, text)
        })
    });
    make("treatments", attacks.chain(profiles));
}
