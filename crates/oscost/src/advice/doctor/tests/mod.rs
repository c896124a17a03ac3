//! Each rule on simulated machines, on both sides of each threshold.

mod core;
mod cpu;
mod kernel;
mod noise;
mod priority;
mod whole;

use oscost_model::clock::{ClockKind, ClockVerdict};
use oscost_model::facts::{Bound, CgroupVersion, Facts, Limit};
use oscost_model::protocol::CpuProbe;
use oscost_model::record::CoreConditions;
use oscost_model::watch::{
    ClockDiscipline, CpuActivity, InterruptActivity, Pressure, SystemActivity,
};

use super::finding::{Finding, RuleResult, Weight};
use super::{Observations, RULES};

/// A machine and the observations of it.
#[derive(Clone, Debug)]
struct World {
    facts: Facts,
    clocks: Vec<ClockVerdict>,
    probe: Vec<CpuProbe>,
    cpu: Option<u32>,
    watch: Result<SystemActivity, String>,
    uncounted: Option<String>,
    core: Option<CoreConditions>,
}

const SPIN_NS: u64 = 1_000_000_000;

impl World {
    /// A quiet physical machine with two CPUs, on which each rule's result is that all is fine, or
    /// that it does not apply.
    fn quiet() -> World {
        let mut facts = Facts::default();
        facts.cpu.allowed_cpus = Some(vec![0, 1]);
        facts.cpu.logical_online = Some(2);
        facts.memory.swap_total_kib = Some(0);
        facts.memory.swap_free_kib = Some(0);
        facts.memory.transparent_huge_pages = Some("madvise".into());
        facts.os.cmdline = Some("quiet nohz_full=1 isolcpus=1".into());
        facts.os.hz = Some(250);
        facts.os.options = Some(vec!["NO_HZ_FULL".into(), "AUDITSYSCALL".into()]);
        facts.os.init = Some("systemd".into());
        facts.os.run_level = Some("multi-user.target".into());
        facts.limits.open_files = Limit { soft: None, hard: Some(Bound::Max(1 << 20)) };
        facts.virtualization = Some("none".into());
        facts.scheduling.smt_active = Some(false);
        facts.scheduling.isolated_cpus = Some(vec![1]);
        facts.scheduling.nohz_full_cpus = Some(vec![1]);
        facts.scheduling.governor = Some("performance".into());
        facts.scheduling.boost = Some(false);
        facts.scheduling.clocksource = Some("tsc".into());
        facts.scheduling.cgroup_quota_milli_cpus = Some(Bound::UNLIMITED);
        facts.scheduling.cgroup_version = Some(CgroupVersion::V2);
        facts.scheduling.cgroup_cpu_weights = Some(vec![100, 100]);
        facts.scheduling.policy = Some("other".into());
        facts.scheduling.nice = Some(0);
        facts.security.address_randomization = Some(2);
        facts.security.perf_event_paranoid = Some(1);
        facts.security.seccomp_mode = Some(0);
        facts.security.seccomp_filters = Some(0);
        facts.security.is_root = Some(false);
        let probe = |cpu| CpuProbe {
            cpu,
            spin_ns: SPIN_NS,
            gaps_over_1us: 400,
            gaps_over_5us: 300,
            lost_ns: 5_000_000,
            max_gap_ns: 60_000,
            run_delay_ns: Some(1_000_000),
            core_cycles_per_ns: Some(4.0),
        };
        let cpu = |cpu| CpuActivity {
            cpu,
            steal_ticks: Some(0),
            total_ticks: Some(1_000),
            interrupts: Some(300),
        };
        let watch = SystemActivity {
            wall_ns: SPIN_NS,
            cpus: vec![cpu(0), cpu(1)],
            unattributed_cpu_ns: Some(0),
            interrupts: vec![
                device("24", [90, 0], Some(vec![0]), Some(vec![0])),
                InterruptActivity { irq: "LOC".into(), counts: vec![250, 3], ..Default::default() },
            ],
            pressure: Pressure { cpu_pct: Some(0.5), memory_pct: Some(0.0), io_pct: None },
            throttled_periods: Some(0),
            monotonic_rate_offset_ppm: Some(0.01),
            discipline: Some(ClockDiscipline { tick_us: 10_000, ..ClockDiscipline::default() }),
            audit: Some(0),
            ..SystemActivity::default()
        };
        World {
            facts,
            clocks: vec![
                ClockVerdict { kind: ClockKind::Tsc, unusable_reason: None },
                ClockVerdict { kind: ClockKind::Vdso, unusable_reason: None },
                ClockVerdict { kind: ClockKind::Syscall, unusable_reason: None },
            ],
            probe: vec![probe(0), probe(1)],
            cpu: Some(1),
            watch: Ok(watch),
            uncounted: None,
            core: None,
        }
    }

    /// A machine without readable facts.
    fn unknown() -> World {
        World {
            facts: Facts::default(),
            clocks: vec![],
            probe: vec![],
            cpu: None,
            watch: Err("the worker was killed by SIGKILL".into()),
            uncounted: None,
            core: None,
        }
    }

    /// The same machine with a change.
    fn but(mut self, change: impl FnOnce(&mut World)) -> World {
        change(&mut self);
        self
    }

    fn watch(&mut self) -> &mut SystemActivity {
        self.watch.as_mut().unwrap()
    }

    fn observations(&self) -> Observations<'_> {
        Observations {
            facts: &self.facts,
            clocks: &self.clocks,
            probe: &self.probe,
            cpu: self.cpu,
            activity: self.watch.as_ref().map_err(String::as_str),
            uncountable_reason: self.uncounted.as_deref(),
            core: self.core.as_ref(),
        }
    }

    /// The result of one rule.
    fn result(&self, rule: &str) -> RuleResult {
        let (_, judge) = RULES.iter().find(|(name, _)| *name == rule).expect("no such rule");
        judge(&self.observations())
    }

    /// The finding of a rule.
    fn found(&self, rule: &str) -> Finding {
        match self.result(rule) {
            RuleResult::Found(finding) => finding,
            other => panic!("{rule} should have found something: {other:?}"),
        }
    }

    /// The weight of its finding, if there is one.
    fn weight(&self, rule: &str) -> Option<Weight> {
        match self.result(rule) {
            RuleResult::Found(finding) => Some(finding.weight),
            _ => None,
        }
    }

    fn passes(&self, rule: &str) -> bool {
        matches!(self.result(rule), RuleResult::Passed(_))
    }

    fn is_unknown(&self, rule: &str) -> bool {
        matches!(self.result(rule), RuleResult::Unknown(_))
    }
}

/// A device interrupt.
fn device(
    irq: &str,
    times: [u64; 2],
    allowed: Option<Vec<u32>>,
    effective: Option<Vec<u32>>,
) -> InterruptActivity {
    let name = Some(format!("device-{irq}"));
    InterruptActivity { irq: irq.into(), name, counts: times.to_vec(), allowed, effective }
}
