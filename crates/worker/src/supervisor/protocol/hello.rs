//! The first event of a session: the worker's identity, its clocks, and facts about the machine.

use std::path::Path;

use oscost_model::clock::{ClockKind, ClockVerdict};
use oscost_model::facts::Facts;
use oscost_model::hash;
use oscost_model::protocol::{Hello, PROTOCOL, SshEndpoints, WorkerBuild};

use crate::benchmarks;
use crate::engine::clock::{Tsc, Vdso};
use crate::engine::clock_check;
use crate::facts::{self, Roots};
use crate::kernel::process::{self, libc_version};
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
    let facts = facts::gather(&roots);
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
    }
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
