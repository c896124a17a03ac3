//! Untrusted kernels and emulators: a run on them ends in bounded time, with a reason, and
//! leaves nothing.

use std::fs;
use std::process::Command;

use oscost_model::seed::Seed;

use crate::attack::{Attack, Effort, Outcome, make, number};
use crate::common::{Ran, Sandbox};
use crate::machines::{Kernel, emulator, in_own_namespaces, spinning, spinning_target};
use crate::oracles::{check_end, next_step_fault};

/// An emulator: its name, and its script. The file for events is `$events`.
const EMULATORS: &[(&str, &str)] = &[
    ("ends at once", "exit 0"),
    ("ends with a status", "exit 3"),
    ("is killed", "kill -KILL $$"),
    ("is aborted", "kill -ABRT $$"),
    ("stops itself", "kill -STOP $$"),
    ("is silent", "exec sleep 1000"),
    ("ignores every signal that it can", "trap '' HUP INT TERM QUIT; sleep 1000"),
    ("leaves a process behind", "sleep 1000 & exit 0"),
    ("leaves a process of another session behind", "setsid sleep 1000 & exit 0"),
    ("controls the terminal", "printf '\\033[2J\\033]0;x\\007' >&2; exit 3"),
    ("writes a megabyte of messages", "head -c 1000000 /dev/zero | tr '\\0' x >&2; exit 3"),
    ("never stops to write messages", "exec yes >&2"),
    ("sends an event that is no JSON", "echo SeaBIOS > \"$events\"; exec sleep 1000"),
    ("sends an event of no kind", "echo '{\"event\":\"other\"}' > \"$events\"; exec sleep 1000"),
    ("sends half an event", "printf '{\"event\":' > \"$events\"; exec sleep 1000"),
    ("sends a line of 16 MiB", "head -c 16777216 /dev/zero | tr '\\0' x > \"$events\"; sleep 1000"),
    ("sends NUL bytes", "head -c 4096 /dev/zero > \"$events\"; exec sleep 1000"),
    (
        "sends brackets",
        "head -c 100000 /dev/zero | tr '\\0' '[' > \"$events\"; echo >> \"$events\"",
    ),
    ("deletes its file of events", "rm -f \"$events\"; exec sleep 1000"),
    ("makes a link of its file of events", "ln -sf /dev/zero \"$events\"; exec sleep 1000"),
];

/// A script that finds the file for events in the arguments.
fn with_events(script: &str) -> String {
    format!(
        "for word; do case $word in file,id=events,path=*) events=${{word#*path=}};; esac; done\n\
         {script}"
    )
}

const GETPPID: &str = "syscall/getppid:via=raw";

/// Runs on a target under an emulator, which gets a second to boot.
fn run_on(sandbox: &Sandbox, target: &str, emulator: Option<&str>, seconds: &str) -> Ran {
    let arguments = ["run", "--quick", "--at", target, GETPPID];
    let mut command = in_own_namespaces(sandbox, &arguments);
    command.env("OSCOST_BOOT_SECONDS", seconds);
    if let Some(emulator) = emulator {
        command.env("OSCOST_QEMU", emulator);
    }
    let ran = Ran::of(&mut command);
    check_end(&ran);
    assert!(ran.stderr.len() + ran.stdout.len() < 100_000, "it repeats what it was sent");
    let is_control = |it: char| it.is_control() && it != '\n';
    assert!(!ran.stdout.contains(is_control), "{:?}", ran.stdout);
    ran
}

fn fake(sandbox: &Sandbox, script: &str) -> Outcome {
    let target = spinning_target(sandbox, "");
    let emulator = emulator(sandbox, &with_events(script));
    run_on(sandbox, &target, emulator.to_str(), "1").exits(3);
    end_strays(sandbox);
    Outcome::Withstood("the rows fail".to_owned())
}

/// Ends what an emulator itself has left: it is no process of the tool's, but of this test's.
fn end_strays(sandbox: &Sandbox) {
    for pid in sandbox.processes() {
        let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        if line.starts_with("sleep\0") {
            let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
        }
    }
}

/// A kernel of the tests with some of its bytes changed: refused, or given to an emulator.
fn mutated_header(sandbox: &Sandbox, seed: u64) -> Outcome {
    let mut seed = Seed::new(seed);
    let mut image = spinning();
    for _ in 0..=seed.below(16) {
        // The header that is read is in the first 1.5 KiB.
        let at = seed.below(0x600) as usize;
        image[at] = seed.bits() as u8;
    }
    image.truncate(image.len() >> seed.below(4));
    let file = sandbox.file("bzImage");
    fs::write(&file, image).unwrap();
    let silent = emulator(sandbox, "exit 0");
    let target = format!("vm:{}", file.display());
    let ran = run_on(sandbox, &target, silent.to_str(), "1");
    let code = ran.code.unwrap_or_default();
    assert!(matches!(code, 2 | 3), "{code}: {}", ran.stderr);
    assert!(code == 3 || next_step_fault(&ran.stderr).is_none(), "{}", ran.stderr);
    Outcome::Withstood(if code == 2 { "refused" } else { "not booted" }.to_owned())
}

/// A real kernel with some of its bytes changed, under a real emulator.
fn mutated_kernel(sandbox: &Sandbox, seed: u64) -> Outcome {
    let Some(kernel) = Kernel::some() else {
        return Outcome::NotHere("no kernel or no QEMU: `make vm`".to_owned());
    };
    let mut seed = Seed::new(seed);
    let mut image = fs::read(&kernel.file).unwrap();
    for _ in 0..=seed.below(64) {
        let at = seed.below(image.len() as u64) as usize;
        image[at] ^= 1 << seed.below(8);
    }
    let file = sandbox.file("bzImage");
    fs::write(&file, image).unwrap();
    let ran = run_on(sandbox, &format!("vm:{},mem=256", file.display()), None, "5");
    let code = ran.code.unwrap_or_default();
    assert!(matches!(code, 0 | 2 | 3), "{code}: {}", ran.stderr);
    Outcome::Withstood(format!("status {code}"))
}

/// A file in the cache of kernels that has the name of a package and is none: it is not called
/// usable, and nothing boots it.
fn damaged_package(sandbox: &Sandbox) -> Outcome {
    const VERSION: &str = "6.99.0-1-cloud-amd64";
    let cache = sandbox.file("cache");
    let folder = cache.join("oscost/kernels");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join(format!("linux-image-{VERSION}_6.99.1-1_amd64.deb"));
    for damaged in [&b"!<arch>\n"[..], &[0x5a; 5_000][..], &b""[..]] {
        fs::write(&file, damaged).unwrap();
        let mut list = sandbox.command(&["kernels", "list", "--json"]);
        let listed = Ran::of(list.env("XDG_CACHE_HOME", &cache)).exits(0).json();
        let rows = listed["kernels"].as_array().unwrap().iter();
        let downloaded: Vec<_> = rows.filter(|row| row["state"] == "downloaded").collect();
        assert_eq!(downloaded.len(), 1, "{listed}");
        assert!(downloaded[0]["reason"].is_string(), "it is called usable: {listed}");
        let target = format!("vm:{VERSION}");
        let mut run = in_own_namespaces(sandbox, &["run", "--quick", "--at", &target, GETPPID]);
        let ran = Ran::of(run.env("XDG_CACHE_HOME", &cache));
        check_end(&ran);
        let code = ran.code.unwrap_or_default();
        assert!(matches!(code, 2 | 3), "{code}: {}", ran.stderr);
        assert!(code == 3 || next_step_fault(&ran.stderr).is_none(), "{}", ran.stderr);
    }
    Outcome::Withstood("it is named as unusable".to_owned())
}

#[test]
fn a_kernel_or_an_emulator_that_is_none_ends_in_a_reason() {
    let emulators = EMULATORS.iter().enumerate().map(|(at, &(name, script))| {
        // The others take the second that they get to boot.
        let effort = if at < 2 { Effort::Short } else { Effort::Long };
        Attack::in_sandbox(format!("an emulator that {name}"), effort, move |sandbox| {
            fake(sandbox, script)
        })
    });
    let headers = (0..number("OSCOST_KERNELS", 160)).map(|seed| {
        let effort = if seed < 4 { Effort::Short } else { Effort::Long };
        Attack::in_sandbox(format!("a kernel with other bytes, seed {seed}"), effort, move |at| {
            mutated_header(at, seed)
        })
    });
    let kernels = (0..10).map(|seed| {
        let name = format!("a real kernel with other bits, seed {seed}");
        Attack::in_sandbox(name, Effort::Long, move |at| mutated_kernel(at, seed))
    });
    let package =
        Attack::in_sandbox("a damaged package of a kernel", Effort::Long, damaged_package);
    make("emulators", emulators.chain(headers).chain(kernels).chain([package]));
}
