//! Events that the processor's counters or the kernel count while ops run, per op: instructions,
//! cycles, misses.
//!
//! A timed worker opens no counter, since an open one costs: each context switch saves and restores
//! it, and a fork inherits it. Counted ops run in workers of their own.

use serde::{Deserialize, Serialize};

use crate::batch::{BatchPlan, Disturbance, Sample};

/// An event that is counted, by its name in `perf list`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CounterEvent {
    /// Instructions retired in user mode (`instructions:u`).
    InstructionsUser,
    /// Instructions retired in kernel mode (`instructions:k`).
    InstructionsKernel,
    /// Instructions retired in both modes by one counter (`instructions`), where the processor has too
    /// few for both modes and cycles.
    Instructions,
    /// Core cycles while not halted, in both modes; in user mode alone where the kernel's part is
    /// not visible (`cycles`).
    Cycles,
    /// Mispredicted branches (`branch-misses`).
    BranchMisses,
    /// Loads that missed the first-level data cache (`L1-dcache-load-misses`).
    L1dMisses,
    /// Fetches that missed the first-level instruction cache (`L1-icache-load-misses`).
    L1iMisses,
    /// Accesses that missed the last-level cache (`cache-misses`).
    LastLevelMisses,
    /// Loads that missed the data TLB (`dTLB-load-misses`).
    DtlbMisses,
    /// Fetches that missed the instruction TLB (`iTLB-load-misses`).
    ItlbMisses,
    /// Cycles in which the front end delivered nothing (`stalled-cycles-frontend`).
    StalledCycles,
    /// Time on a CPU by the kernel's accounting, in nanoseconds (`task-clock`).
    TaskClock,
    /// Page faults (`page-faults`).
    PageFaults,
    /// Context switches (`context-switches`).
    ContextSwitches,
    /// Moves to another CPU (`cpu-migrations`).
    Migrations,
}

impl CounterEvent {
    /// All events that are tried by themselves and have metrics of their own, in the order of these.
    /// Instructions in both modes can be counted where those of each can, and are their sum.
    pub const ALL: [CounterEvent; 14] = [
        CounterEvent::InstructionsUser,
        CounterEvent::InstructionsKernel,
        CounterEvent::Cycles,
        CounterEvent::BranchMisses,
        CounterEvent::L1dMisses,
        CounterEvent::L1iMisses,
        CounterEvent::LastLevelMisses,
        CounterEvent::DtlbMisses,
        CounterEvent::ItlbMisses,
        CounterEvent::StalledCycles,
        CounterEvent::TaskClock,
        CounterEvent::PageFaults,
        CounterEvent::ContextSwitches,
        CounterEvent::Migrations,
    ];

    /// The events of work: what an op executes, and how long the core takes for it.
    pub const WORK: [CounterEvent; 3] =
        [CounterEvent::InstructionsUser, CounterEvent::InstructionsKernel, CounterEvent::Cycles];

    /// The events that explain cycles per instruction.
    pub const MISSES: [CounterEvent; 7] = [
        CounterEvent::BranchMisses,
        CounterEvent::L1dMisses,
        CounterEvent::L1iMisses,
        CounterEvent::LastLevelMisses,
        CounterEvent::DtlbMisses,
        CounterEvent::ItlbMisses,
        CounterEvent::StalledCycles,
    ];

    /// The events that the kernel counts by itself, without a counter of the processor.
    pub const SOFTWARE: [CounterEvent; 4] = [
        CounterEvent::TaskClock,
        CounterEvent::PageFaults,
        CounterEvent::ContextSwitches,
        CounterEvent::Migrations,
    ];

    /// Its name in `perf list`.
    pub fn perf_name(self) -> &'static str {
        match self {
            CounterEvent::InstructionsUser => "instructions:u",
            CounterEvent::InstructionsKernel => "instructions:k",
            CounterEvent::Instructions => "instructions",
            CounterEvent::Cycles => "cycles",
            CounterEvent::BranchMisses => "branch-misses",
            CounterEvent::L1dMisses => "L1-dcache-load-misses",
            CounterEvent::L1iMisses => "L1-icache-load-misses",
            CounterEvent::LastLevelMisses => "cache-misses",
            CounterEvent::DtlbMisses => "dTLB-load-misses",
            CounterEvent::ItlbMisses => "iTLB-load-misses",
            CounterEvent::StalledCycles => "stalled-cycles-frontend",
            CounterEvent::TaskClock => "task-clock",
            CounterEvent::PageFaults => "page-faults",
            CounterEvent::ContextSwitches => "context-switches",
            CounterEvent::Migrations => "cpu-migrations",
        }
    }

    /// The name of its metric in a row.
    pub fn metric(self) -> &'static str {
        match self {
            CounterEvent::InstructionsUser => "insn_user",
            CounterEvent::InstructionsKernel => "insn_kernel",
            CounterEvent::Instructions => INSN,
            CounterEvent::Cycles => "cycles",
            CounterEvent::BranchMisses => "branch_misses",
            CounterEvent::L1dMisses => "l1d_misses",
            CounterEvent::L1iMisses => "l1i_misses",
            CounterEvent::LastLevelMisses => "llc_misses",
            CounterEvent::DtlbMisses => "dtlb_misses",
            CounterEvent::ItlbMisses => "itlb_misses",
            CounterEvent::StalledCycles => "stalled_cycles",
            CounterEvent::TaskClock => "task_clock",
            CounterEvent::PageFaults => "page_faults",
            CounterEvent::ContextSwitches => "context_switches",
            CounterEvent::Migrations => "migrations",
        }
    }

    /// Whether the kernel counts it by itself.
    pub fn is_software(self) -> bool {
        Self::SOFTWARE.contains(&self)
    }
}

/// The metric for instructions in both modes, the work of an op.
pub const INSN: &str = "insn";
/// The metric for cycles per instruction.
pub const CPI: &str = "cpi";
/// The metric for cycles per nanosecond of running time.
pub const GHZ: &str = "ghz";

/// The metric for the figure of a row that follows the core's rate in cycles of the core, by the rate
/// that each worker measured.
pub const CORE_CYCLES: &str = "core-cycles";

/// Whether a metric is a number of instructions, which repeats.
pub fn is_work(metric: &str) -> bool {
    metric == INSN || metric == CounterEvent::InstructionsUser.metric()
}

/// The counters of a machine, as its worker found them by trying.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CounterFacts {
    /// The processor's counters in sysfs (`/sys/bus/event_source/devices`): `cpu`; on a hybrid
    /// processor one for each kind of core.
    pub pmus: Vec<String>,
    /// `/proc/sys/kernel/perf_event_paranoid`; null if it could not be read.
    pub paranoid: Option<i32>,
    /// Whether the kernel lets a program read counters by `rdpmc` (`.../devices/cpu/rdpmc`, and
    /// `cap_user_rdpmc` of the counter's page).
    pub rdpmc: Option<bool>,
    /// The width of a counter in bits (`pmc_width`); null if the kernel does not say.
    pub width_bits: Option<u32>,
    /// How many events of the processor are counted at once without multiplexing, by trying up to
    /// eight; null if none can be.
    pub simultaneous: Option<u32>,
    /// How counters are read.
    pub read_by: Option<CounterRead>,
    /// The cost of reading a group of three, in nanoseconds, by each way that works.
    pub read_ns: Vec<CounterReadCost>,
    /// What the calibration loop showed: why the counters are not used, although they open. Null if
    /// they are, or if none opens.
    pub distrusted: Option<String>,
    /// Every event, and whether it can be counted here.
    pub events: Vec<CounterProbe>,
    /// Why the processor's instructions and cycles cannot be counted, and what would change that;
    /// null if they can.
    pub unavailable: Option<String>,
    /// A hash of the boot's id (`/proc/sys/kernel/random/boot_id`): counts of stored runs are only
    /// compared within one boot, since a kernel places its code and patches its branches anew in
    /// each. Null if unknown.
    #[serde(default)]
    pub boot: Option<String>,
}

impl CounterFacts {
    /// Whether this event can be counted, by counters that are trusted.
    pub fn can_count(&self, event: CounterEvent) -> bool {
        (event.is_software() || self.distrusted.is_none())
            && self.events.iter().any(|it| it.event == event && it.refused.is_none())
    }

    /// Whether instructions and cycles can be counted, at least in user mode and each by itself.
    pub fn can_count_each_of_work(&self) -> bool {
        self.can_count(CounterEvent::InstructionsUser) && self.can_count(CounterEvent::Cycles)
    }

    /// Whether the work of an op can be counted: instructions and cycles together, at least in user
    /// mode.
    pub fn can_count_work(&self) -> bool {
        self.can_count_each_of_work() && self.simultaneous.is_some_and(|events| events >= 2)
    }

    /// Whether the kernel's part can be counted.
    pub fn sees_kernel(&self) -> bool {
        self.can_count(CounterEvent::InstructionsKernel)
    }

    /// The sets that the work of an op is counted in, the first with the time on a CPU of just the ops
    /// whose cycles are counted; none if it cannot be counted.
    ///
    /// Two counters at once cannot have the instructions of each mode and the cycles. Then cycles are
    /// counted together with the instructions of both modes as one count, from which cycles per
    /// instruction and clock are, and those of each mode in batches of their own.
    pub fn work_sets(&self) -> Vec<Vec<CounterEvent>> {
        if !self.can_count_work() {
            return Vec::new();
        }
        let work = self.usable(&CounterEvent::WORK);
        let [user, kernel, cycles] = CounterEvent::WORK;
        let mut sets = match self.simultaneous {
            Some(2) if work.len() > 2 => {
                vec![vec![CounterEvent::Instructions, cycles], vec![user, kernel]]
            }
            _ => vec![work],
        };
        // The task clock has no hook in the kernel's code: it adds no instructions.
        sets[0].extend(self.usable(&[CounterEvent::TaskClock]));
        sets
    }

    /// Those of these events that can be counted.
    fn usable(&self, events: &[CounterEvent]) -> Vec<CounterEvent> {
        events.iter().copied().filter(|&event| self.can_count(event)).collect()
    }

    /// The sets of events that are counted together, each small enough not to be multiplexed: first
    /// those of the work, then misses, then the kernel's own events; these alone if there are no others.
    pub fn sets(&self) -> Vec<Vec<CounterEvent>> {
        let mut software = self.usable(&CounterEvent::SOFTWARE);
        let mut sets = self.work_sets();
        if sets.is_empty() {
            return if software.is_empty() { Vec::new() } else { vec![software] };
        }
        let at_once = self.simultaneous.unwrap_or(1).max(1) as usize;
        let misses = self.usable(&CounterEvent::MISSES);
        sets.extend(misses.chunks(at_once).map(<[CounterEvent]>::to_vec));
        // The task clock is with the work. The others have hooks: while they are open, each fault and
        // each switch executes more instructions.
        software.retain(|event| *event != CounterEvent::TaskClock);
        sets.extend((!software.is_empty()).then_some(software));
        sets
    }
}

/// Whether an event can be counted here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CounterProbe {
    /// The event.
    pub event: CounterEvent,
    /// Why it cannot be counted; null if it can.
    pub refused: Option<String>,
}

/// A way to read counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CounterRead {
    /// By the instruction, through the counter's page.
    Rdpmc,
    /// By read(2).
    Read,
}

impl CounterRead {
    /// Its name in the record.
    pub fn text(self) -> &'static str {
        match self {
            CounterRead::Rdpmc => "rdpmc",
            CounterRead::Read => "read",
        }
    }
}

/// The cost of reading a group of three counters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CounterReadCost {
    /// The way.
    pub by: CounterRead,
    /// The median cost of a read, in nanoseconds.
    pub ns: f64,
}

/// What a counting worker counts, and in which batches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CountingPlan {
    /// Its batches: mode, iterations and unroll factors of the timed workers, with fewer groups.
    pub batches: BatchPlan,
    /// The sets of events, each counted in groups of batches of its own.
    pub sets: Vec<Vec<CounterEvent>>,
    /// Whether the events of the processes and threads that the op creates or wakes belong to it.
    /// Then every open event costs at each fork, also one of another set.
    pub inherits: bool,
    /// How counters are to be read; null for read(2).
    #[serde(default)]
    pub read_by: Option<CounterRead>,
    /// For how long ops of which a batch has few are counted, in nanoseconds, so that what the kernel
    /// defers for many of them is counted; null for not longer than others.
    #[serde(default)]
    pub deferred_work_ns: Option<f64>,
}

/// The counts of a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EventCounts {
    /// How the counters were read.
    pub read_by: CounterRead,
    /// Whether those of other tasks are included.
    pub inherited: bool,
    /// Whether the op takes its own time, of a part of what is counted.
    #[serde(default)]
    pub times_itself: bool,
    /// Whether cycles and misses include the kernel's part; if not, they are those of user mode.
    #[serde(default)]
    pub kernel: bool,
    /// The sets, in the order of the plan.
    pub sets: Vec<CountedSet>,
    /// What disturbed the worker.
    pub disturbance: Box<Disturbance>,
}

/// Events that were counted together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CountedSet {
    /// The events; fewer than in the plan where the kernel's own are left out, because reading them
    /// takes a system call and the plan avoids those.
    pub events: Vec<CounterEvent>,
    /// Why it has no counts: it could not be opened, it was multiplexed, a counter stood still.
    pub void: Option<String>,
    /// Its batches.
    pub batches: Vec<CountedBatch>,
    /// Batches without an op: what reading the clock and the counters adds to each of the others.
    pub empty: Vec<CountedBatch>,
    /// What inheriting the counters of this set adds to each count for each process that an op
    /// creates, as a second set of them adds it to an empty process; null unless they are inherited,
    /// or if it could not be measured.
    #[serde(default)]
    pub added_per_process: Option<Vec<f64>>,
    /// How many times longer its batches would have to be, although they are as long as they may be,
    /// for what counting adds to be told apart from what their ops add; null if they are long enough,
    /// and of single ops and transfers, whose batches have one length.
    #[serde(default)]
    pub short_by: Option<u64>,
    /// Whether one op does work for many, or the kernel does it later for many: then its batches are
    /// longer than those of the plan, and of each count the mean is the op's. False also where it could
    /// not be seen: of single ops, transfers, ops that are prepared or long, and sets without
    /// instructions.
    #[serde(default)]
    pub amortized: bool,
    /// Whether its batches are together over so many ticks of the kernel that they have what it defers
    /// for many ops. Those in which the task lost its CPU count, too: counters are the task's own, and the
    /// kernel does such work where it interrupts the task.
    #[serde(default)]
    pub spans_ticks: bool,
}

impl CountedSet {
    /// The most events of a set, since none is in it twice.
    pub const MAX_EVENTS: usize = CounterEvent::ALL.len();

    /// What in it contradicts itself; `None` if nothing does. It may be from a worker on another
    /// machine, or from a damaged store.
    pub fn contradiction(&self) -> Option<String> {
        let events = self.events.len();
        if events > Self::MAX_EVENTS {
            return Some(format!(
                "a set names {events} events, and there are {}",
                Self::MAX_EVENTS
            ));
        }
        let is_again = |(at, event): &(usize, &CounterEvent)| self.events[..*at].contains(event);
        if let Some((_, event)) = self.events.iter().enumerate().find(is_again) {
            return Some(format!("a set names {} twice", event.perf_name()));
        }
        if self.batches.iter().chain(&self.empty).any(|batch| batch.counts.len() != events) {
            return Some("a batch does not have a count for each event".to_owned());
        }
        let has_others = self.added_per_process.as_ref().is_some_and(|added| added.len() != events);
        has_others.then(|| "what inheriting adds is not known of each event".to_owned())
    }
}

/// A batch whose events were counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CountedBatch {
    /// Its ops, its ticks between two clock reads inside the counter reads, and its disturbance.
    pub sample: Sample,
    /// The count of each event of the set.
    pub counts: Vec<u64>,
    /// How long the counters were enabled, in nanoseconds.
    pub enabled_ns: u64,
    /// How long they counted; if less, they were multiplexed, and the set is void.
    pub counting_ns: u64,
}

/// The counts of a program's process tree over one trial.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TreeCounts {
    /// The events and their counts.
    pub counts: Vec<EventTotal>,
    /// Whether cycles and misses include the kernel's part; if not, they are those of user mode.
    #[serde(default)]
    pub kernel: bool,
    /// Why there are none.
    pub void: Option<String>,
    /// The time of the trial that was counted, in nanoseconds, as the tool puts it here from the
    /// trial's result; null if unknown.
    #[serde(default)]
    pub real_ns: Option<u64>,
}

/// The total of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EventTotal {
    /// The event.
    pub event: CounterEvent,
    /// Its count.
    pub count: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(refused: &[CounterEvent], simultaneous: Option<u32>) -> CounterFacts {
        let probe = |&event: &CounterEvent| CounterProbe {
            event,
            refused: refused.contains(&event).then(|| "No such file or directory".to_owned()),
        };
        let events = CounterEvent::ALL.iter().map(probe).collect();
        CounterFacts { events, simultaneous, ..CounterFacts::default() }
    }

    #[test]
    fn sets_are_no_larger_than_what_is_counted_at_once() {
        let sets = facts(&[], Some(6)).sets();
        let sizes: Vec<usize> = sets
            .iter()
            .map(|set| set.iter().filter(|event| !event.is_software()).count())
            .collect();
        assert_eq!(sizes, [3, 6, 1, 0]);
        assert_eq!(sets[0][..3], CounterEvent::WORK);
        assert_eq!(sets[0][3..], [CounterEvent::TaskClock]);
        assert_eq!(sets[3], CounterEvent::SOFTWARE[1..]);
        let sizes: Vec<usize> = facts(&[], Some(2)).sets().iter().map(Vec::len).collect();
        assert_eq!(sizes, [2 + 1, 2, 2, 2, 2, 1, 3]);
    }

    #[test]
    fn two_counters_have_cycles_beside_the_instructions_of_both_modes_and_each_mode_elsewhere() {
        let [user, kernel, cycles] = CounterEvent::WORK;
        let together = vec![CounterEvent::Instructions, cycles, CounterEvent::TaskClock];
        assert_eq!(facts(&[], Some(2)).work_sets(), [together, vec![user, kernel]]);
        // Without the kernel's part two are enough, and three are for all.
        let of_user = vec![user, cycles, CounterEvent::TaskClock];
        assert_eq!(facts(&[kernel], Some(2)).work_sets(), [of_user]);
        let of_all = vec![user, kernel, cycles, CounterEvent::TaskClock];
        assert_eq!(facts(&[], Some(3)).work_sets(), [of_all]);
        assert!(facts(&[], Some(1)).work_sets().is_empty());
    }

    #[test]
    fn without_counters_of_the_processor_the_kernels_own_events_are_counted() {
        let refused = [&CounterEvent::WORK[..], &CounterEvent::MISSES[..]].concat();
        let none = facts(&refused, None);
        assert!(!none.can_count_work());
        assert_eq!(none.sets(), [CounterEvent::SOFTWARE.to_vec()]);
        assert!(CounterFacts::default().sets().is_empty());
    }

    #[test]
    fn a_counter_that_another_user_has_left_is_not_used_alone() {
        for simultaneous in [None, Some(1)] {
            let left = facts(&[], simultaneous);
            assert!(left.can_count_each_of_work() && !left.can_count_work());
            assert_eq!(left.sets(), [CounterEvent::SOFTWARE.to_vec()]);
        }
    }

    #[test]
    fn distrusted_counters_are_not_used() {
        let counters = CounterFacts {
            distrusted: Some("a loop of 1,000,000 instructions showed 0".to_owned()),
            ..facts(&[], Some(6))
        };
        assert!(!counters.can_count_work() && !counters.sees_kernel());
        assert_eq!(counters.sets(), [CounterEvent::SOFTWARE.to_vec()]);
    }

    #[test]
    fn a_set_names_each_event_once_and_has_a_count_for_each() {
        let set = |events: &[CounterEvent], counts: &[u64]| {
            let batch = CountedBatch { counts: counts.to_vec(), ..CountedBatch::default() };
            CountedSet {
                events: events.to_vec(),
                batches: vec![batch.clone()],
                empty: vec![batch],
                ..CountedSet::default()
            }
        };
        let why = |set: CountedSet| set.contradiction().unwrap_or_default();
        assert_eq!(set(&CounterEvent::WORK, &[1, 2, u64::MAX]).contradiction(), None);
        assert_eq!(set(&CounterEvent::ALL, &[0; 14]).contradiction(), None);
        let twice = [CounterEvent::Cycles, CounterEvent::PageFaults, CounterEvent::Cycles];
        assert_eq!(why(set(&twice, &[1; 3])), "a set names cycles twice");
        let many = vec![CounterEvent::Cycles; 100_000];
        assert_eq!(why(set(&many, &[])), "a set names 100000 events, and there are 14");
        for counts in [&[1, 2][..], &[1, 2, 3, 4], &[]] {
            let why = why(set(&CounterEvent::WORK, counts));
            assert_eq!(why, "a batch does not have a count for each event");
        }
        let added_per_process = Some(vec![1.0]);
        let added = CountedSet { added_per_process, ..set(&CounterEvent::WORK, &[1; 3]) };
        assert_eq!(why(added), "what inheriting adds is not known of each event");
    }

    #[test]
    fn names_of_events_and_metrics_are_unique() {
        for name in [CounterEvent::perf_name, CounterEvent::metric] {
            let names: std::collections::BTreeSet<&str> =
                CounterEvent::ALL.into_iter().map(name).collect();
            assert_eq!(names.len(), CounterEvent::ALL.len());
        }
    }
}
