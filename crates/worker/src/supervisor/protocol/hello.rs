//! The first event of a session: the worker's identity, its clocks, and facts about the machine.

use std::path::Path;

use oscost_model::clock::{ClockKind, ClockVerdict};
use oscost_model::counters::CounterFacts;
use oscost_model::facts::Facts;
use oscost_model::fault_injection::STAND_IN;
use oscost_model::hash;
use oscost_model::protocol::{Hello, PROTOCOL, SlurmNode, SshEndpoints, WorkerBuild};

use crate::benchmarks;
use crate::engine::clock::{Tsc, Vdso};
use crate::engine::clock_check;
use crate::engine::events::kernel_counters::KernelOpener;
use crate::engine::events::refusal::Circumstances;
use crate::engine::events::survey::survey;
use crate::facts::{self, Roots, counter_files};
use crate::kernel::cpu::affinity;
use crate::kernel::probe::perf::are_counters_replaced;
use crate::kernel::process::{self, libc_version, privileges};
use crate::kernel::time::clock;
use crate::kernel::{counter, syscall};

pub(crate) fn hello(scratch: Option<&Path>) -> Hello {
    let mut roots = Roots::machine();
    if let Some(tick_ns) = clock::tick_ns() {
        roots = roots.with_tick_ns(tick_ns);
    }
    if let Ok(ids) = syscall::lsm_list_modules() {
        roots = roots.with_lsm(ids.into_iter().map(security_module).collect());
    }
    let mut facts = facts::gather(&roots);
    facts.counters = counter_survey(&roots, &facts);
    facts.security.worker_capabilities = privileges::of_plain_worker();
    Hello {
        protocol: PROTOCOL,
        catalog_hash: hash::content(&catalog_json()),
        worker_hash: own_hash(),
        build: build(),
        clocks: clocks(&facts),
        facts,
        scratch_directory: scratch.map(|folder| folder.to_string_lossy().into_owned()),
        ssh_endpoints: std::env::var("SSH_CONNECTION")
            .ok()
            .and_then(|text| SshEndpoints::parse(&text)),
        slurm_node: slurm_node(),
    }
}

/// The node of a task of Slurm.
fn slurm_node() -> Option<SlurmNode> {
    let name = std::env::var("SLURMD_NODENAME").ok()?;
    let launched_from = std::env::var("SLURM_LAUNCH_NODE_IPADDR").unwrap_or_default();
    Some(SlurmNode { name, launched_from })
}

/// The counters, as found by trying. Where kinds of cores have counters of their own, it stays on one
/// core meanwhile.
fn counter_survey(roots: &Roots, facts: &Facts) -> CounterFacts {
    let mut files = facts.counters.clone();
    if are_counters_replaced() {
        files.pmus = vec![STAND_IN.to_owned()];
    }
    let circumstances = Circumstances {
        paranoid: files.paranoid,
        is_filtered: facts.security.seccomp_filters.is_some_and(|filters| filters > 0)
            || facts.security.seccomp_mode.is_some_and(|mode| mode > 0),
        hypervisor: facts.virtualization.as_deref().filter(|name| *name != "none"),
    };
    if files.pmus.len() < 2 {
        return survey(files, &mut KernelOpener { pmu: 0 }, &circumstances);
    }
    let cpu = u32::try_from(affinity::current_cpu()).ok();
    let pinned = || {
        cpu.and_then(|cpu| affinity::pin(cpu).ok())?;
        let pmu = counter_files::pmu_of(roots, cpu);
        Some(survey(files.clone(), &mut KernelOpener { pmu }, &circumstances))
    };
    let surveyed = std::thread::scope(|scope| {
        let started = std::thread::Builder::new().spawn_scoped(scope, pinned);
        started.ok().and_then(|thread| thread.join().ok()).flatten()
    });
    surveyed.unwrap_or_else(|| CounterFacts {
        unavailable: Some("no thread could be pinned to a core to try its counters".to_owned()),
        ..files
    })
}

/// The content hash of this program's own file.
pub fn own_hash() -> String {
    hash::content(&std::fs::read(process::own_executable()).unwrap_or_default())
}

/// A security module by its number (`LSM_ID_*` of linux/lsm.h), as the kernel's list spells it.
fn security_module(id: u64) -> String {
    const FIRST: u64 = 100;
    const NAMES: &[&str] = &[
        "capability",
        "selinux",
        "smack",
        "tomoyo",
        "apparmor",
        "yama",
        "loadpin",
        "safesetid",
        "lockdown",
        "bpf",
        "landlock",
        "ima",
        "evm",
        "ipe",
    ];
    let at = id.checked_sub(FIRST).and_then(|at| usize::try_from(at).ok());
    at.and_then(|at| NAMES.get(at)).map_or_else(|| format!("module {id}"), |&name| name.to_owned())
}

/// The catalog as JSON; its hash identifies it.
pub fn catalog_json() -> Vec<u8> {
    // Plain data with text keys: serialisation cannot fail.
    serde_json::to_vec(&benchmarks::data()).unwrap_or_default()
}

fn build() -> WorkerBuild {
    let link = if cfg!(target_feature = "crt-static") { "static-pie" } else { "dynamic" };
    WorkerBuild {
        link: link.to_owned(),
        libc: libc_version(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// The clocks, best first: the tool uses the first usable one.
fn clocks(facts: &Facts) -> Vec<ClockVerdict> {
    let tsc = counter::unusable_reason().or_else(|| {
        clock_check::counter_problem(&mut Tsc, facts.scheduling.clocksource.as_deref())
    });
    let vdso = match Vdso::find() {
        Err(_) => Some("the kernel maps no vDSO with clock_gettime".to_owned()),
        Ok(mut vdso) => clock_check::vdso_problem(&mut vdso),
    };
    vec![
        ClockVerdict { kind: ClockKind::Tsc, unusable_reason: tsc },
        ClockVerdict { kind: ClockKind::Vdso, unusable_reason: vdso },
        ClockVerdict { kind: ClockKind::Syscall, unusable_reason: None },
    ]
}
