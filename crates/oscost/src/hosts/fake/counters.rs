//! The counters of a fake host: instructions, clock and waiting are the scenario's, cycles follow
//! from them and from the cost of the op.

use std::collections::{BTreeMap, BTreeSet};

use oscost_model::counters::{
    CountedBatch, CountedSet, CounterEvent, CounterFacts, CounterProbe, CounterRead,
    CounterReadCost, CountingPlan, EventCounts, EventTotal, TreeCounts,
};
use oscost_model::seed::Seed;
use oscost_model::worker::{Disturbance, Sample};
use serde::Deserialize;

/// The counters of a scenario.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FakeCounters {
    /// Why no event of the processor can be counted; then only the kernel's own can.
    pub unavailable: Option<String>,
    /// Whether only user mode is visible, as with `perf_event_paranoid` 2.
    pub user_only: bool,
    /// The hash of the boot.
    pub boot: Option<String>,
    /// What ops execute, by case or command; 20 instructions in user mode and 280 in the kernel for
    /// others.
    pub ops: BTreeMap<String, FakeOp>,
    /// Instructions that treatments add to each op in kernel mode, by their protocol names.
    pub added_insn: BTreeMap<String, f64>,
    /// Cases whose sets are void, with the reason.
    pub void: BTreeMap<String, String>,
    /// Cases whose counted batches are too short, by these factors.
    pub short_by: BTreeMap<String, u64>,
    /// Cases of which one op does work for many.
    pub amortized: BTreeSet<String>,
    /// How many events of the processor are counted at once; null for six.
    pub at_once: Option<u32>,
    /// After so many counting workers of a case another program has the processor's counters: from
    /// then on none of its events can be opened. Null for never.
    pub taken_after: Option<u32>,
}

/// What an op executes.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FakeOp {
    /// Instructions in user mode.
    pub insn_user: f64,
    /// Instructions in kernel mode.
    pub insn_kernel: f64,
    /// Cycles per nanosecond.
    pub ghz: f64,
    /// The part of the cost that no task is on a CPU, in nanoseconds.
    pub waiting_ns: f64,
    /// The standard deviation of the instructions between workers, as a share.
    pub insn_sd: f64,
    /// The share of the batches that an interrupt of 6,000 instructions hits.
    pub interrupted: f64,
}

impl Default for FakeOp {
    fn default() -> Self {
        Self {
            insn_user: 20.0,
            insn_kernel: 280.0,
            ghz: 3.0,
            waiting_ns: 0.0,
            insn_sd: 0.0,
            interrupted: 0.0,
        }
    }
}

/// An op whose events are counted, with what treatments add to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct CountedOp {
    pub(super) op: FakeOp,
    /// The cost of an op, in nanoseconds.
    pub(super) cost_ns: f64,
    pub(super) added_insn: f64,
}

impl CountedOp {
    /// The counts of so many ops; an interrupt adds `extra` instructions.
    fn count(self, event: CounterEvent, ops: f64, extra: f64) -> u64 {
        let Self { op, cost_ns, added_insn } = self;
        let running_ns = (cost_ns - op.waiting_ns) * ops;
        let kernel = (op.insn_kernel + added_insn) * ops + extra;
        let count = match event {
            CounterEvent::InstructionsUser => op.insn_user * ops,
            CounterEvent::InstructionsKernel => kernel,
            CounterEvent::Instructions => op.insn_user * ops + kernel,
            CounterEvent::Cycles => running_ns * op.ghz + extra,
            CounterEvent::TaskClock => running_ns + extra / op.ghz,
            // One in a hundred instructions misses something.
            _ if !event.is_software() => (op.insn_user * ops + kernel) / 100.0,
            _ => 0.0,
        };
        count.round() as u64
    }
}

impl FakeCounters {
    /// The counters as its worker would find them.
    pub(super) fn facts(&self) -> CounterFacts {
        let refused = |event: CounterEvent| match event {
            _ if event.is_software() => None,
            CounterEvent::InstructionsKernel if self.user_only => {
                Some("perf_event_paranoid is 2: needs 1 or less, or CAP_PERFMON".to_owned())
            }
            _ => self.unavailable.clone(),
        };
        let probe = |&event: &CounterEvent| CounterProbe { event, refused: refused(event) };
        let has_pmu = self.unavailable.is_none();
        let cost = CounterReadCost { by: CounterRead::Read, ns: 400.0 };
        CounterFacts {
            pmus: if has_pmu { vec!["cpu".to_owned()] } else { Vec::new() },
            paranoid: Some(if self.user_only { 2 } else { -1 }),
            rdpmc: Some(false),
            width_bits: has_pmu.then_some(48),
            simultaneous: has_pmu.then_some(self.at_once.unwrap_or(6)),
            read_by: Some(CounterRead::Read),
            read_ns: if has_pmu { vec![cost] } else { Vec::new() },
            distrusted: None,
            events: CounterEvent::ALL.iter().map(probe).collect(),
            unavailable: self.unavailable.clone(),
            boot: self.boot.clone(),
        }
    }

    /// What an op of this name executes.
    pub(super) fn op(&self, name: &str) -> FakeOp {
        self.ops.get(name).copied().unwrap_or_default()
    }

    /// The counts of a worker.
    pub(super) fn counts(
        &self,
        name: &str,
        op: CountedOp,
        plan: &CountingPlan,
        seed: &mut Seed,
    ) -> EventCounts {
        let deviation = (0..12).map(|_| seed.unit()).sum::<f64>() - 6.0;
        let work = 1.0 + op.op.insn_sd * deviation;
        let varied = FakeOp {
            insn_user: op.op.insn_user * work,
            insn_kernel: op.op.insn_kernel * work,
            ..op.op
        };
        let op = CountedOp { op: varied, ..op };
        let factors: Vec<u64> = match plan.batches.unroll_factors.is_empty() {
            true => vec![1],
            false => plan.batches.unroll_factors.iter().map(|&it| it.into()).collect(),
        };
        // What reading adds to every batch, with or without ops.
        let reads = CountedOp {
            op: FakeOp { insn_user: 50.0, insn_kernel: 1_000.0, ..FakeOp::default() },
            cost_ns: 400.0,
            added_insn: 0.0,
        };
        let mut batch = |events: &[CounterEvent], round: u32, ops: u64| {
            let hit = ops > 0 && seed.unit() < op.op.interrupted;
            let extra = if hit { 6_000.0 } else { 0.0 };
            let count = |&event: &CounterEvent| {
                op.count(event, ops as f64, extra) + reads.count(event, 1.0, 0.0)
            };
            let noise = 1.0 + 0.01 * (seed.unit() - 0.5);
            CountedBatch {
                sample: Sample {
                    round,
                    n: ops,
                    ticks: (op.cost_ns * ops as f64 * noise) as i64,
                    cpu_ns: Some(((op.cost_ns - op.op.waiting_ns) * ops as f64) as u64),
                    ..Sample::default()
                },
                counts: events.iter().map(count).collect(),
                enabled_ns: 1_000,
                counting_ns: 1_000,
            }
        };
        let set = |events: &Vec<CounterEvent>| {
            let void = self.void.get(name).cloned();
            let rounds = (0..plan.batches.groups)
                .flat_map(|round| factors.iter().map(move |factor| (round, *factor)));
            let batches = rounds
                .map(|(round, factor)| batch(events, round, factor * plan.batches.iterations));
            CountedSet {
                events: events.clone(),
                batches: batches.collect(),
                empty: (0..9).map(|round| batch(events, round, 0)).collect(),
                added_per_process: None,
                short_by: self.short_by.get(name).copied(),
                amortized: self.amortized.contains(name),
                spans_ticks: false,
                void,
            }
        };
        EventCounts {
            read_by: CounterRead::Read,
            inherited: plan.inherits,
            times_itself: false,
            kernel: !self.user_only,
            sets: plan.sets.iter().map(set).collect(),
            disturbance: Box::new(Disturbance::default()),
        }
    }

    /// What a worker answers, by how many of its case have counted before.
    pub(super) fn openable_counts(&self, counts: EventCounts, before: u32) -> EventCounts {
        if self.taken_after.is_none_or(|after| before < after) {
            return counts;
        }
        let open = |set: CountedSet| {
            let Some(event) = set.events.iter().find(|event| !event.is_software()) else {
                return set;
            };
            let void = format!("cannot count {}: perf_event_open: EBUSY", event.perf_name());
            CountedSet { events: set.events, void: Some(void), ..CountedSet::default() }
        };
        EventCounts { sets: counts.sets.into_iter().map(open).collect(), ..counts }
    }

    /// The counts of a program's process tree.
    pub(super) fn tree(&self, name: &str, op: CountedOp, events: &[CounterEvent]) -> TreeCounts {
        let total = |&event: &CounterEvent| EventTotal { event, count: op.count(event, 1.0, 0.0) };
        TreeCounts {
            counts: events.iter().map(total).collect(),
            kernel: !self.user_only,
            void: self.void.get(name).cloned(),
            real_ns: None,
        }
    }
}
