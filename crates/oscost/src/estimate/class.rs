//! The class of a cost: who does the work, and how much of it (docs/explanation/METHOD.md, section 7).
//!
//! Mechanism first, cost second: what was counted on an op decides, and its figure only where two
//! classes share a mechanism. Limits of cost are ratios to the bare door of the same run, so that a
//! class means the same on every machine and under every mitigation.

use oscost_stats::interval::Interval;

/// Up to so many bare doors a call is light.
const MAX_LIGHT_FACTOR: f64 = 3.0;
/// Work that fewer ops than one in ten have is the machine's, not the op's: of 23 counted ops one or
/// two may meet a page for the first time.
const MIN_WORK_SHARE: f64 = 0.1;
/// So many faults a count meets that are the machine's, however many ops it has.
const MAX_INCIDENTAL_FAULTS: f64 = 2.5;
/// An op that waits in nine of ten cases is one that waits.
const MIN_BLOCKING_SHARE: f64 = 0.9;
/// A processor takes so long for one instruction only when something else does the work: a trap to
/// the hypervisor, an emulation, a wait for memory.
const MAX_INSTRUCTION_NS: f64 = 10.0;

/// Who does the work of an op, and how much of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The program itself.
    User,
    /// The kernel's code in the program's own address space.
    Vdso,
    /// The kernel, and little more than coming and going.
    Light,
    /// The kernel, at more than three bare doors, or with faults, copies, waits or new tasks.
    Heavy,
    /// The kernel, and the op waits.
    Blocking,
}

impl Class {
    /// The class as the record spells it.
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

/// What is known of an op beside its cost; all of it an op. What nobody could look at is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Evidence {
    /// Entries of the kernel.
    pub entries: f64,
    /// Whether the definition names calls at all.
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
    /// Bytes of a page, of which more than one is a copy worth the name.
    pub page_bytes: f64,
}

/// A cost in nanoseconds an op.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostNs {
    /// The figure.
    pub median: f64,
    /// Its interval, where there is one.
    pub interval: Option<Interval>,
}

impl CostNs {
    fn bounds(&self) -> [f64; 2] {
        self.interval.map_or([self.median; 2], |interval| [interval.lo, interval.hi])
    }
}

/// What is said of a cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Classification {
    /// Its class; `None` where the evidence does not suffice.
    pub class: Option<Class>,
    /// It is light or heavy by its cost alone, and three bare doors lie within its uncertainty.
    pub borderline: bool,
    /// Mechanism and cost, or mechanism and definition, contradict each other.
    pub unexpected: bool,
}

/// The class of an op with this evidence and this cost (`None` where its figure is no cost of a
/// warm op), where the kernel's bare door costs `door`.
pub fn classify(evidence: &Evidence, cost: Option<CostNs>, door: Option<CostNs>) -> Classification {
    let both = cost.zip(door);
    if evidence.entries == 0.0 && evidence.enters_by_faults() {
        let class = evidence.class_by_work().or(Some(Class::Heavy));
        return Classification { class, ..Classification::default() };
    }
    if evidence.entries == 0.0 {
        let class = evidence.vdso.map(|vdso| if vdso { Class::Vdso } else { Class::User });
        let unexpected =
            both.is_some_and(|(cost, door)| cost.median >= door.median && evidence.is_short(cost));
        return Classification { class, unexpected, borderline: false };
    }
    let unexpected = !evidence.may_enter;
    let (class, borderline) = match (evidence.class_by_work(), both) {
        (Some(class), _) => (Some(class), false),
        (None, Some((cost, door))) => {
            let heavy = cost.median > MAX_LIGHT_FACTOR * door.median;
            let ([low, high], [door_low, door_high]) = (cost.bounds(), door.bounds());
            let borderline =
                low <= MAX_LIGHT_FACTOR * door_high && high >= MAX_LIGHT_FACTOR * door_low;
            (Some(if heavy { Class::Heavy } else { Class::Light }), borderline)
        }
        (None, None) => (None, false),
    };
    Classification { class, borderline, unexpected }
}

impl Evidence {
    /// The class that the work of an op proves by itself. One that makes a task and waits for its
    /// end waits for work of its own: it is heavy.
    fn class_by_work(&self) -> Option<Class> {
        let beyond = |measure: Option<f64>, limit: f64| measure.is_some_and(|it| it >= limit);
        let makes_tasks = beyond(self.tasks, MIN_WORK_SHARE);
        if beyond(self.voluntary_switches, MIN_BLOCKING_SHARE) && !makes_tasks {
            return Some(Class::Blocking);
        }
        let works = [self.voluntary_switches, self.faults, self.tasks]
            .iter()
            .any(|&measure| beyond(measure, MIN_WORK_SHARE));
        let copies = self.bytes.is_some_and(|bytes| bytes > self.page_bytes);
        (works || copies).then_some(Class::Heavy)
    }

    /// Whether ops without a call enter the kernel by faults: more than the one or two that the
    /// machine makes, however many ops share one.
    fn enters_by_faults(&self) -> bool {
        self.faults.is_some_and(|faults| faults * self.counted_ops > MAX_INCIDENTAL_FAULTS)
    }

    /// Whether an op that stays out of the kernel does so little that its cost is none of its own:
    /// a read of a clock, or a few instructions. A long computation may cost what it likes.
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

    /// A cost that is known to 2 %.
    fn ns(median: f64) -> Option<CostNs> {
        let interval = Some(Interval { lo: 0.98 * median, hi: 1.02 * median });
        Some(CostNs { median, interval })
    }

    fn class(evidence: Evidence, cost: f64) -> Option<Class> {
        classify(&evidence, ns(cost), ns(120.0)).class
    }

    #[test]
    fn without_an_entry_only_the_place_of_the_code_decides() {
        for cost in [0.4, 23.0, 119.0, 5e6] {
            assert_eq!(class(NO_ENTRY, cost), Some(Class::User), "{cost}");
            let vdso = Evidence { vdso: Some(true), ..NO_ENTRY };
            assert_eq!(class(vdso, cost), Some(Class::Vdso), "{cost}");
            let unseen = Evidence { vdso: None, ..NO_ENTRY };
            assert_eq!(class(unseen, cost), None, "{cost}");
        }
    }

    #[test]
    fn an_entry_is_light_up_to_three_doors_and_heavy_beyond() {
        assert_eq!(class(ENTRY, 120.0), Some(Class::Light));
        assert_eq!(class(ENTRY, 359.0), Some(Class::Light));
        assert_eq!(class(ENTRY, 361.0), Some(Class::Heavy));
        let shared = Evidence { entries: 1.0 / 32.0, ..ENTRY };
        assert_eq!(class(shared, 40.0), Some(Class::Light), "one entry for 32 ops is an entry");
    }

    #[test]
    fn work_is_heavy_however_cheap_it_is() {
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
    fn ops_that_enter_by_faults_alone_are_heavy_though_many_share_one() {
        for (counted_ops, faults) in [(23.0, 23.0), (11_776.0, 23.0), (23.0, 3.0)] {
            let traps = Evidence { counted_ops, faults: Some(faults / counted_ops), ..NO_ENTRY };
            let verdict = classify(&traps, ns(700.0), ns(120.0));
            let heavy = Classification { class: Some(Class::Heavy), ..Classification::default() };
            assert_eq!(verdict, heavy, "{faults} faults in {counted_ops}: nothing unexpected");
        }
        let strays = Evidence { faults: Some(2.0 / 23.0), ..NO_ENTRY };
        assert_eq!(class(strays, 0.4), Some(Class::User), "two faults are the machine's");
        let waits = Evidence { voluntary_switches: Some(1.0), faults: Some(1.0), ..NO_ENTRY };
        assert_eq!(class(waits, 9e3), Some(Class::Blocking), "a fault that another resolves");
    }

    #[test]
    fn an_op_that_waits_is_blocking() {
        let waits = Evidence { voluntary_switches: Some(0.98), faults: Some(1.0), ..ENTRY };
        assert_eq!(class(waits, 200.0), Some(Class::Blocking));
        assert_eq!(class(waits, 2e6), Some(Class::Blocking));
        let forks = Evidence { tasks: Some(1.0), ..waits };
        assert_eq!(class(forks, 90_000.0), Some(Class::Heavy), "it waits for what it has made");
    }

    #[test]
    fn without_a_cost_or_a_door_only_work_has_a_class() {
        let heavy = Evidence { faults: Some(1.0), ..ENTRY };
        for (cost, door) in [(None, ns(120.0)), (ns(120.0), None), (None, None)] {
            assert_eq!(classify(&ENTRY, cost, door), Classification::default());
            assert_eq!(classify(&heavy, cost, door).class, Some(Class::Heavy));
            assert_eq!(classify(&NO_ENTRY, cost, door).class, Some(Class::User));
        }
    }

    #[test]
    fn three_doors_within_the_uncertainty_are_borderline_and_work_never_is() {
        let borderline =
            |evidence: Evidence, cost: f64| classify(&evidence, ns(cost), ns(120.0)).borderline;
        for (cost, expected) in [(300.0, false), (350.0, true), (370.0, true), (400.0, false)] {
            assert_eq!(borderline(ENTRY, cost), expected, "{cost}");
            assert!(!borderline(Evidence { faults: Some(1.0), ..ENTRY }, cost));
            assert!(!borderline(NO_ENTRY, cost));
        }
    }

    #[test]
    fn a_clock_or_an_instruction_at_the_price_of_a_call_is_a_finding() {
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
        assert!(unexpected(fallen_back, 170.0), "a clock that was to stay out of the kernel");
        assert!(!unexpected(Evidence { vdso: Some(true), ..ENTRY }, 170.0), "a CPU-time clock");
    }
}
