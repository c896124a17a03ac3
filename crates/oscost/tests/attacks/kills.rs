//! SIGKILL at a random process of a run at a random moment, as an out-of-memory killer sends it:
//! the store is whole, nothing is left, and the next run works.
//!
//! `OSCOST_KILLS=500 make attacks` makes so many in all, `OSCOST_FAMILY_KILLS=200` so many over the
//! families of benchmarks; `OSCOST_SEED` gives others.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use oscost::store::Store;
use oscost_model::seed::Seed;
use oscost_worker::bench::Family;
use oscost_worker::benchmarks::FAMILIES;

use crate::attack::{Attack, Effort, Outcome, make, number};
use crate::common::{Ran, Sandbox, end_of, scenario_file, until};
use crate::hosts::{Hosts, address};
use crate::machines::{Kernel, in_own_namespaces};
use crate::oracles::{check_database, store_of};
use crate::resources;

const GETPPID: &str = "syscall/getppid:via=raw";

/// The treatments of `ab`: of each kind of design.
const TREATED: [&str; 5] = ["seccomp=allow", "ptrace", "cgroup=own", "ebpf=empty", "ftrace"];

/// A run of benchmarks of a family, and how long it takes at most, but for its last worker.
const FAMILY_RUN: [&str; 5] = ["run", "--quick", "--no-lock", "--budget", "2"];
const FAMILY_RUN_TIME: Duration = Duration::from_secs(3);

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
        // A run in which nothing was measured is not kept.
        for (run, workers) in stored.into_iter().filter(|&(_, workers)| workers > 0) {
            assert!(kept.get(&run).is_some_and(|&it| it >= workers), "workers of {run} are lost");
        }
        resources::nothing_is_new(&before);
        Ran::of(&mut (self.next)()).exits(0);
        killed
    }

    /// Kills so many runs.
    fn kill(&self, count: u64, seed: &mut Seed) -> Outcome {
        let killed = (0..count).filter(|_| self.kill_once(seed)).count();
        Outcome::Withstood(format!("{killed} of {count} were still running"))
    }
}

pub(crate) fn send_kill(pid: u32) -> bool {
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

/// Two benchmarks of a family, random ones: all of them take longer than a kill should.
fn two_of(family: &Family, seed: &mut Seed) -> Vec<&'static str> {
    let count = family.benches.len();
    let first = seed.below(count as u64) as usize;
    let from_first = family.benches.iter().cycle().skip(first);
    from_first.take(count.min(2)).map(|bench| bench.id).collect()
}

fn family(family: &Family, count: u64, seed: &mut Seed) -> Outcome {
    let sandbox = Sandbox::new();
    // Where the tool is started, benchmarks make files.
    let here = sandbox.file("here");
    fs::create_dir(&here).unwrap();
    let run = |seed: &mut Seed| {
        let mut run = sandbox.command(&FAMILY_RUN);
        run.args(two_of(family, seed)).current_dir(&here);
        run
    };
    let wait_until_clean = || {
        sandbox.nothing_is_left();
        until("its folder is empty", || fs::read_dir(&here).unwrap().next().is_none());
    };
    let victim = Victim {
        wait_until_clean: Box::new(wait_until_clean),
        ..in_sandbox(&sandbox, FAMILY_RUN_TIME, run)
    };
    victim.kill(count, seed)
}

/// What is killed: its name, and how.
type Kind = (&'static str, fn(u64, &mut Seed) -> Outcome);

const KINDS: [Kind; 5] = [("run", local), ("ab", ab), ("ph", ph), ("vm", vm), ("remote", remote)];

/// The part of all kills that is made on one of so many.
pub(crate) fn share(all: u64, number: u64, at: u64) -> u64 {
    all / number + u64::from(at < all % number)
}

#[test]
fn a_kill_loses_no_finished_worker_and_leaves_nothing() {
    let kills = number("OSCOST_KILLS", 10);
    let number_of_kinds = KINDS.len() as u64;
    let attacks = (0..).zip(KINDS).map(|(at, (name, kind))| {
        let count = share(kills, number_of_kinds, at);
        let seed = number("OSCOST_SEED", 29) + at;
        Attack::new(format!("{count} SIGKILLs over {name}"), Effort::Long, move || {
            kind(count, &mut Seed::new(seed))
        })
    });
    make("kills", attacks);
}

#[test]
fn a_kill_leaves_nothing_of_any_family() {
    let families = FAMILIES.len() as u64;
    let kills = number("OSCOST_FAMILY_KILLS", families);
    // From the last one on: the first ones change little but themselves.
    let attacks = (0..kills.min(families)).zip(FAMILIES.iter().rev()).map(|(at, victims)| {
        let count = share(kills, families, at);
        let seed = number("OSCOST_SEED", 29) + at;
        let name = format!("{count} SIGKILLs over the family {}", victims.name);
        Attack::new(name, Effort::Long, move || family(victims, count, &mut Seed::new(seed)))
    });
    make("kills of families", attacks);
}
