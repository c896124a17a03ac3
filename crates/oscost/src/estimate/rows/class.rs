//! The class of a cost: where the work is done, and how much of it (docs/explanation/METHOD.md,
//! section 7).
//!
//! The counts of an op decide first; its cost decides only between two classes with the same
//! mechanism. Limits of cost are ratios to the null call of the same run, so that a class has the
//! same meaning on every machine and with all mitigations.

use oscost_stats::interval::Interval;

/// A call is light up to this multiple of the null call.
const MAX_LIGHT_FACTOR: f64 = 3.0;
/// Work in fewer than one in ten ops is incidental: one or two of 23 counted ops may touch a page
/// for the first time.
const MIN_WORK_SHARE: f64 = 0.1;
/// A count contains up to this many incidental faults, however many ops it has.
const MAX_INCIDENTAL_FAULTS: f64 = 2.5;
/// An op that waits in nine of ten cases is blocking.
const MIN_BLOCKING_SHARE: f64 = 0.9;
/// An instruction takes longer than this only if the processor waits for something else: a trap to
/// the hypervisor, an emulation, memory.
const MAX_INSTRUCTION_NS: f64 = 10.0;

/// Where the work of an op is done, and how much of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The program itself.
    User,
    /// The kernel's code in the program's own address space.
    Vdso,
    /// The kernel, with little more than entry and exit.
    Light,
    /// The kernel, for more than three null calls, or with faults, copies, waits or new tasks.
    Heavy,
    /// The kernel; the op waits.
    Blocking,
}

impl Class {
    /// The name of the class in the record.
    pub fn text(self) -> &'static str {
        match self {
            Class::User => "user",
            Class::Vdso => "vdso",
            Class::Light => "light",
            Class::Heavy => "heavy",
            Class::Blocking => "blocking",
        }
    }
}

/// Counts of an op, each per op; `None` if not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Evidence {
    /// Entries of the kernel.
    pub entries: f64,
    /// Whether the definition names calls.
    pub may_enter: bool,
    /// Whether it runs code of the vDSO.
    pub vdso: Option<bool>,
    /// Instructions in user mode.
    pub instructions: Option<f64>,
    /// Tasks that it makes.
    pub tasks: Option<f64>,
    /// Faults of either kind.
    pub faults: Option<f64>,
    /// The ops that were counted.
    pub counted_ops: f64,
    /// Bytes that it has copied.
    pub bytes: Option<f64>,
    /// Switches because it waits.
    pub voluntary_switches: Option<f64>,
    /// The size of a page: a larger copy is work.
    pub page_bytes: f64,
}

/// A cost in nanoseconds per op.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostNs {
    /// The figure.
    pub median: f64,
    /// Its interval, if there is one.
    pub interval: Option<Interval>,
}

impl CostNs {
    fn bounds(&self) -> [f64; 2] {
        self.interval.map_or([self.median; 2], |interval| [interval.lo, interval.hi])
    }
}

/// The classification of a cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Classification {
    /// Its class; `None` if the evidence does not suffice.
    pub class: Option<Class>,
    /// It is light or heavy by its cost alone, and three null calls are within its uncertainty.
    pub borderline: bool,
    /// Mechanism and cost, or mechanism and definition, contradict each other.
    pub unexpected: bool,
}

/// The class of an op with this evidence and this cost (`None` if its figure is not the cost of a
/// warm op); `null_call` is the cost of the null call.
pub fn classify(
    evidence: &Evidence,
    cost: Option<CostNs>,
    null_call: Option<CostNs>,
) -> Classification {
    let both = cost.zip(null_call);
    if evidence.entries == 0.0 && evidence.enters_by_faults() {
        let class = evidence.class_by_work().or(Some(Class::Heavy));
        return Classification { class, ..Classification::default() };
    }
    if evidence.entries == 0.0 {
        let class = evidence.vdso.map(|vdso| if vdso { Class::Vdso } else { Class::User });
        let unexpected = both.is_some_and(|(cost, null_call)| {
            cost.median >= null_call.median && evidence.is_short(cost)
        });
        return Classification { class, unexpected, borderline: false };
    }
    let unexpected = !evidence.may_enter;
    let (class, borderline) = match (evidence.class_by_work(), both) {
        (Some(class), _) => (Some(class), false),
        (None, Some((cost, null_call))) => {
            let heavy = cost.median > MAX_LIGHT_FACTOR * null_call.median;
            let ([low, high], [null_low, null_high]) = (cost.bounds(), null_call.bounds());
            let borderline =
                low <= MAX_LIGHT_FACTOR * null_high && high >= MAX_LIGHT_FACTOR * null_low;
            (Some(if heavy { Class::Heavy } else { Class::Light }), borderline)
        }
        (None, None) => (None, false),
    };
    Classification { class, borderline, unexpected }
}

impl Evidence {
    /// The class that follows from the work of an op alone. An op that creates a task and waits for
    /// its end waits for its own work: it is heavy.
    fn class_by_work(&self) -> Option<Class> {
        let reaches = |measure: Option<f64>, limit: f64| measure.is_some_and(|it| it >= limit);
        let creates_tasks = reaches(self.tasks, MIN_WORK_SHARE);
        if reaches(self.voluntary_switches, MIN_BLOCKING_SHARE) && !creates_tasks {
            return Some(Class::Blocking);
        }
        let works = [self.voluntary_switches, self.faults, self.tasks]
            .iter()
            .any(|&measure| reaches(measure, MIN_WORK_SHARE));
        let copies = self.bytes.is_some_and(|bytes| bytes > self.page_bytes);
        (works || copies).then_some(Class::Heavy)
    }

    /// Whether ops without a call enter the kernel by faults: by more than the incidental one or
    /// two.
    fn enters_by_faults(&self) -> bool {
        self.faults.is_some_and(|faults| faults * self.counted_ops > MAX_INCIDENTAL_FAULTS)
    }

    /// Whether an op outside the kernel is so short that it cannot explain its cost: a read of a
    /// clock, or a few instructions.
    fn is_short(&self, cost: CostNs) -> bool {
        let few = |instructions: f64| cost.median > MAX_INSTRUCTION_NS * instructions;
        self.vdso == Some(true) || self.instructions.is_some_and(few)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An op that enters the kernel once and does nothing there.
    const ENTRY: Evidence = Evidence {
        entries: 1.0,
        may_enter: true,
        vdso: Some(false),
        instructions: Some(6.0),
        tasks: Some(0.0),
        faults: Some(0.0),
        counted_ops: 23.0,
        bytes: Some(0.0),
        voluntary_switches: Some(0.0),
        page_bytes: 4_096.0,
    };
    const NO_ENTRY: Evidence = Evidence { entries: 0.0, may_enter: false, ..ENTRY };

    /// A cost known to 2 %.
    fn ns(median: f64) -> Option<CostNs> {
        let interval = Some(Interval { lo: 0.98 * median, hi: 1.02 * median });
        Some(CostNs { median, interval })
    }

    fn class(evidence: Evidence, cost: f64) -> Option<Class> {
        classify(&evidence, ns(cost), ns(120.0)).class
    }

    #[test]
    fn without_an_entry_the_location_of_the_code_decides() {
        for cost in [0.4, 23.0, 119.0, 5e6] {
            assert_eq!(class(NO_ENTRY, cost), Some(Class::User), "{cost}");
            let vdso = Evidence { vdso: Some(true), ..NO_ENTRY };
            assert_eq!(class(vdso, cost), Some(Class::Vdso), "{cost}");
            let unknown = Evidence { vdso: None, ..NO_ENTRY };
            assert_eq!(class(unknown, cost), None, "{cost}");
        }
    }

    #[test]
    fn an_entry_is_light_up_to_three_null_calls_and_heavy_beyond() {
        assert_eq!(class(ENTRY, 120.0), Some(Class::Light));
        assert_eq!(class(ENTRY, 359.0), Some(Class::Light));
        assert_eq!(class(ENTRY, 361.0), Some(Class::Heavy));
        let shared = Evidence { entries: 1.0 / 32.0, ..ENTRY };
        assert_eq!(class(shared, 40.0), Some(Class::Light), "one entry for 32 ops is an entry");
    }

    #[test]
    fn work_is_heavy_at_any_cost() {
        for heavy in [
            Evidence { faults: Some(1.0), ..ENTRY },
            Evidence { tasks: Some(1.0), ..ENTRY },
            Evidence { bytes: Some(4_097.0), ..ENTRY },
            Evidence { voluntary_switches: Some(0.5), ..ENTRY },
        ] {
            assert_eq!(class(heavy, 130.0), Some(Class::Heavy), "{heavy:?}");
        }
        for light in [
            Evidence { faults: Some(2.0 / 23.0), ..ENTRY },
            Evidence { bytes: Some(4_096.0), ..ENTRY },
            Evidence { tasks: None, faults: None, bytes: None, voluntary_switches: None, ..ENTRY },
        ] {
            assert_eq!(class(light, 130.0), Some(Class::Light), "{light:?}");
        }
    }

    #[test]
    fn ops_that_enter_by_faults_alone_are_heavy_even_if_many_share_a_fault() {
        for (counted_ops, faults) in [(23.0, 23.0), (11_776.0, 23.0), (23.0, 3.0)] {
            let traps = Evidence { counted_ops, faults: Some(faults / counted_ops), ..NO_ENTRY };
            let verdict = classify(&traps, ns(700.0), ns(120.0));
            let heavy = Classification { class: Some(Class::Heavy), ..Classification::default() };
            assert_eq!(verdict, heavy, "{faults} faults in {counted_ops}: nothing unexpected");
        }
        let incidental = Evidence { faults: Some(2.0 / 23.0), ..NO_ENTRY };
        assert_eq!(class(incidental, 0.4), Some(Class::User), "two faults are incidental");
        let waits = Evidence { voluntary_switches: Some(1.0), faults: Some(1.0), ..NO_ENTRY };
        assert_eq!(class(waits, 9e3), Some(Class::Blocking), "a fault that another resolves");
    }

    #[test]
    fn an_op_that_waits_is_blocking() {
        let waits = Evidence { voluntary_switches: Some(0.98), faults: Some(1.0), ..ENTRY };
        assert_eq!(class(waits, 200.0), Some(Class::Blocking));
        assert_eq!(class(waits, 2e6), Some(Class::Blocking));
        let forks = Evidence { tasks: Some(1.0), ..waits };
        assert_eq!(class(forks, 90_000.0), Some(Class::Heavy), "it waits for its own task");
    }

    #[test]
    fn without_a_cost_or_a_null_call_only_work_has_a_class() {
        let heavy = Evidence { faults: Some(1.0), ..ENTRY };
        for (cost, null_call) in [(None, ns(120.0)), (ns(120.0), None), (None, None)] {
            assert_eq!(classify(&ENTRY, cost, null_call), Classification::default());
            assert_eq!(classify(&heavy, cost, null_call).class, Some(Class::Heavy));
            assert_eq!(classify(&NO_ENTRY, cost, null_call).class, Some(Class::User));
        }
    }

    #[test]
    fn three_null_calls_within_the_uncertainty_are_borderline_and_work_never_is() {
        let borderline =
            |evidence: Evidence, cost: f64| classify(&evidence, ns(cost), ns(120.0)).borderline;
        for (cost, expected) in [(300.0, false), (350.0, true), (370.0, true), (400.0, false)] {
            assert_eq!(borderline(ENTRY, cost), expected, "{cost}");
            assert!(!borderline(Evidence { faults: Some(1.0), ..ENTRY }, cost));
            assert!(!borderline(NO_ENTRY, cost));
        }
    }

    #[test]
    fn a_clock_or_an_instruction_at_the_cost_of_a_call_is_unexpected() {
        let unexpected =
            |evidence: Evidence, cost: f64| classify(&evidence, ns(cost), ns(120.0)).unexpected;
        let vdso = Evidence { vdso: Some(true), instructions: Some(90.0), ..NO_ENTRY };
        assert!(!unexpected(vdso, 23.0));
        assert!(unexpected(vdso, 170.0), "a vDSO clock at the cost of a system call");
        let trapped = Evidence { instructions: Some(8.0), ..NO_ENTRY };
        assert!(unexpected(trapped, 4_000.0), "CPUID under a hypervisor");
        let long = Evidence { instructions: Some(4_000.0), ..NO_ENTRY };
        assert!(!unexpected(long, 1_000.0), "a long computation");
        assert!(!unexpected(Evidence { instructions: None, ..NO_ENTRY }, 4_000.0));
        let fallen_back = Evidence { may_enter: false, vdso: Some(true), ..ENTRY };
        assert!(unexpected(fallen_back, 170.0), "a clock that should not enter the kernel");
        assert!(!unexpected(Evidence { vdso: Some(true), ..ENTRY }, 170.0), "a CPU-time clock");
    }
}
