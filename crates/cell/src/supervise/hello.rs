//! The first event of a session: who speaks, and where it stands.

use std::path::Path;

use oscost_model::clock::{ClockKind, ClockVerdict};
use oscost_model::facts::Facts;
use oscost_model::hash;
use oscost_model::protocol::{CellBuild, Hello, PROTOCOL};

use crate::catalog;
use crate::engine::clock::{Tsc, Vdso};
use crate::engine::usable;
use crate::facts::{self, Roots};
use crate::sys::process::{self, libc_version};
use crate::sys::{clock, counter};

pub(super) fn hello(scratch: Option<&Path>) -> Hello {
    let roots = match clock::tick_ns() {
        Some(tick_ns) => Roots::machine().with_tick_ns(tick_ns),
        None => Roots::machine(),
    };
    let facts = facts::gather(&roots);
    Hello {
        protocol: PROTOCOL,
        catalog_hash: hash::content(&catalog_json()),
        cell_hash: hash::content(&std::fs::read(process::own_program()).unwrap_or_default()),
        build: build(),
        clocks: clocks(&facts),
        facts,
        scratch: scratch.map(|folder| folder.to_string_lossy().into_owned()),
    }
}

/// The catalog as it travels; its hash stands for it.
pub fn catalog_json() -> Vec<u8> {
    // Plain data with text keys: it always serialises.
    serde_json::to_vec(&catalog::data()).unwrap_or_default()
}

fn build() -> CellBuild {
    let link = if cfg!(target_feature = "crt-static") { "static-pie" } else { "dynamic" };
    CellBuild {
        link: link.to_owned(),
        libc: libc_version(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// The ladder of clocks, best first: the first one that may be used is used.
fn clocks(facts: &Facts) -> Vec<ClockVerdict> {
    let tsc = counter::declared_unusable()
        .or_else(|| usable::judge_counter(&mut Tsc, facts.scheduling.clocksource.as_deref()));
    let vdso = match Vdso::find() {
        Err(_) => Some("the kernel maps no vDSO with clock_gettime".to_owned()),
        Ok(mut vdso) => usable::judge_vdso(&mut vdso),
    };
    vec![
        ClockVerdict { kind: ClockKind::Tsc, unusable_because: tsc },
        ClockVerdict { kind: ClockKind::Vdso, unusable_because: vdso },
        ClockVerdict { kind: ClockKind::Syscall, unusable_because: None },
    ]
}
