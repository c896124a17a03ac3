//! SIGKILL at a random process of a run at a random moment, as an out-of-memory killer sends it:
//! the store is whole, nothing is left, and the next run works.
//!
//! `OSCOST_KILLS=500 make attacks` makes so many in all; `OSCOST_SEED` gives others.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use oscost::store::Store;
use oscost_model::seed::Seed;

use crate::attack::{Attack, Effort, Outcome, make, number};
use crate::common::{Ran, Sandbox, end_of, scenario_file, until};
use crate::hosts::{Hosts, address};
use crate::machines::{Kernel, in_own_namespaces};
use crate::oracles::{check_database, store_of};
use crate::resources;

const GETPPID: &str = "syscall/getppid:via=raw";

/// The treatments of `ab`: of each kind of design.
const TREATED: [&str; 5] = ["seccomp=allow", "ptrace", "cgroup=own", "ebpf=empty", "ftrace"];

/// The workers of each run in a store, which another process may be writing.
pub(crate) fn stored_workers(store: &Path) -> BTreeMap<String, u64> {
    if !store.is_file() {
        return BTreeMap::new();
    }
    // It may be about to be created.
    let listed = Store::open_to_read(store).and_then(|store| store.list()).unwrap_or_default();
    listed.into_iter().map(|run| (run.id, run.workers)).collect()
}

/// What is killed, and what is looked at afterwards.
struct Victim<'a> {
    /// How long it takes if it is left alone.
    longest: Duration,
    store: PathBuf,
    /// A run to kill.
    run: Box<dyn Fn(&mut Seed) -> Command + 'a>,
    /// A run that measures nothing, on the same store.
    next: Box<dyn Fn() -> Command + 'a>,
    /// The processes of the run, on all of its hosts.
    processes: Box<dyn Fn() -> Vec<u32> + 'a>,
    /// Waits until no process and no file is left.
    wait_until_clean: Box<dyn Fn() + 'a>,
}

impl Victim<'_> {
    /// Kills a run. Whether a process was there to be killed.
    fn kill_once(&self, seed: &mut Seed) -> bool {
        let before = resources::named();
        let mut tool =
            (self.run)(seed).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let delay = self.longest.mul_f64(seed.unit());
        let begun = Instant::now();
        while begun.elapsed() < delay && tool.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let others = (self.processes)();
        // Every second time the tool itself.
        let at_tool = seed.below(2) == 0 || others.is_empty();
        let victim = match at_tool {
            true => tool.id(),
            false => others[seed.below(others.len() as u64) as usize],
        };
        let stored = stored_workers(&self.store);
        let is_there = tool.try_wait().unwrap().is_none();
        let killed = is_there && victim > 1 && send_kill(victim);
        end_of(&mut tool);
        (self.wait_until_clean)();
        check_database(&self.store);
        let kept = stored_workers(&self.store);
        for (run, workers) in stored {
            assert!(kept.get(&run).is_some_and(|&it| it >= workers), "workers of {run} are lost");
        }
        until("nothing of it is on the machine", || resources::named().is_subset(&before));
        Ran::of(&mut (self.next)()).exits(0);
        killed
    }

    /// Kills so many runs.
    fn kill(&self, count: u64, seed: &mut Seed) -> Outcome {
        let killed = (0..count).filter(|_| self.kill_once(seed)).count();
        Outcome::Withstood(format!("{killed} of {count} were still running"))
    }
}

fn send_kill(pid: u32) -> bool {
    kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL).is_ok()
}

/// A target that measures nothing.
fn fake() -> String {
    format!("fake:{}", scenario_file("measured").display())
}

/// A run on this machine or a virtual one, in folders of its own.
fn in_sandbox<'a>(
    sandbox: &'a Sandbox,
    longest: Duration,
    run: impl Fn(&mut Seed) -> Command + 'a,
) -> Victim<'a> {
    Victim {
        longest,
        store: store_of(sandbox),
        run: Box::new(run),
        next: Box::new(|| sandbox.command(&["run", "--at", &fake(), "syscall/getppid"])),
        processes: Box::new(|| sandbox.processes()),
        wait_until_clean: Box::new(|| sandbox.nothing_is_left()),
    }
}

fn local(count: u64, seed: &mut Seed) -> Outcome {
    let sandbox = Sandbox::new();
    let run = |_: &mut Seed| sandbox.command(&["run", "--quick", "--no-lock", GETPPID]);
    in_sandbox(&sandbox, Duration::from_secs(3), run).kill(count, seed)
}

fn ab(count: u64, seed: &mut Seed) -> Outcome {
    let sandbox = Sandbox::new();
    let run = |seed: &mut Seed| {
        let treated = TREATED[seed.below(TREATED.len() as u64) as usize];
        sandbox.command(&["ab", "--quick", "--no-lock", "--new", treated, GETPPID])
    };
    in_sandbox(&sandbox, Duration::from_secs(4), run).kill(count, seed)
}

fn ph(count: u64, seed: &mut Seed) -> Outcome {
    let sandbox = Sandbox::new();
    let status = sandbox.oscost(&["ph", "status"]);
    if status.code != Some(0) || !nix::unistd::geteuid().is_root() {
        return Outcome::NotHere("pH takes root and eBPF".to_owned());
    }
    let run =
        |_: &mut Seed| sandbox.command(&["run", "--quick", "--no-lock", "--treat", "ph", GETPPID]);
    in_sandbox(&sandbox, Duration::from_secs(4), run).kill(count, seed)
}

fn vm(count: u64, seed: &mut Seed) -> Outcome {
    let Some(kernel) = Kernel::some() else {
        return Outcome::NotHere("no kernel or no QEMU: `make vm`".to_owned());
    };
    let sandbox = Sandbox::new();
    let target = kernel.target("");
    let run =
        |_: &mut Seed| in_own_namespaces(&sandbox, &["run", "--quick", "--at", &target, GETPPID]);
    in_sandbox(&sandbox, Duration::from_secs(12), run).kill(count, seed)
}

fn remote(count: u64, seed: &mut Seed) -> Outcome {
    let Some(hosts) = Hosts::some(2) else {
        return Outcome::NotHere("no hosts of network namespaces: `make hosts`".to_owned());
    };
    let host = format!("ssh:{}", address(2));
    let arguments = ["run", "--quick", "--at", &host, GETPPID];
    let victim = Victim {
        longest: Duration::from_secs(5),
        store: hosts.host_folder(1).join("store/oscost/store.db"),
        run: Box::new(|_| hosts.tool(1, &arguments)),
        next: Box::new(|| {
            let mut next = hosts.tool(1, &["run", "--at", &fake(), "syscall/getppid"]);
            next.stdout(Stdio::piped()).stderr(Stdio::piped());
            next
        }),
        processes: Box::new(|| [hosts.processes(1), hosts.processes(2)].concat()),
        wait_until_clean: Box::new(|| hosts.nothing_is_left()),
    };
    victim.kill(count, seed)
}

/// What is killed: its name, and how.
type Kind = (&'static str, fn(u64, &mut Seed) -> Outcome);

const KINDS: [Kind; 5] = [("run", local), ("ab", ab), ("ph", ph), ("vm", vm), ("remote", remote)];

#[test]
fn a_kill_loses_no_finished_worker_and_leaves_nothing() {
    let kills = number("OSCOST_KILLS", 10);
    let number_of_kinds = KINDS.len() as u64;
    let attacks = (0..).zip(KINDS).map(|(at, (name, kind))| {
        let count = kills / number_of_kinds + u64::from(at < kills % number_of_kinds);
        let seed = number("OSCOST_SEED", 29) + at;
        Attack::new(format!("{count} SIGKILLs over {name}"), Effort::Long, move || {
            kind(count, &mut Seed::new(seed))
        })
    });
    make(attacks);
}
