//! The survey of machines that a test describes.

use super::*;
use crate::engine::collect::CounterReads;
use crate::engine::events::source::WindowError;
use crate::kernel::cpu::instruction_loop::LOOP_INSTRUCTIONS;

/// A machine whose counters behave as described.
#[derive(Clone)]
struct Machine {
    /// The error of an event in these modes.
    refuses: fn(CounterEvent, Modes) -> Option<Errno>,
    modes: Modes,
    /// Counters of the processor.
    counters: usize,
    /// Whether the kernel allows the instruction.
    rdpmc: bool,
    /// The cost of a read by each way.
    read_ns: [u64; 2],
    /// What a count of the known loop is multiplied with.
    scale: fn(CounterEvent) -> f64,
    /// The share of the time in which another user has the counters.
    taken: f64,
}

const GOOD: Machine = Machine {
    refuses: |_, _| None,
    modes: Modes::Both,
    counters: 6,
    rdpmc: true,
    read_ns: [700, 90],
    scale: |_| 1.0,
    taken: 0.0,
};

const CIRCUMSTANCES: Circumstances<'_> =
    Circumstances { paranoid: Some(2), is_filtered: false, hypervisor: None };

struct Opener {
    machine: Machine,
    now_ns: std::rc::Rc<std::cell::Cell<u64>>,
}

struct Source {
    machine: Machine,
    now_ns: std::rc::Rc<std::cell::Cell<u64>>,
    events: Vec<CounterEvent>,
    read_by: CounterRead,
    loops: u64,
    windows: u64,
}

impl CounterOpener for Opener {
    type Source = Source;

    fn modes(&mut self) -> Result<Modes, OpenError> {
        Ok(self.machine.modes)
    }

    fn open(
        &mut self,
        events: &[CounterEvent],
        modes: Modes,
        read_by: CounterRead,
    ) -> Result<Source, OpenError> {
        let refused = events.iter().find_map(|&event| {
            let errno = (self.machine.refuses)(event, modes)?;
            Some(OpenError { event, errno })
        });
        let processor = events.iter().filter(|event| !event.is_software()).count();
        let too_many = (processor > self.machine.counters)
            .then_some(OpenError { event: events[0], errno: Errno::EINVAL });
        match refused.or(too_many) {
            Some(error) => Err(error),
            None => Ok(Source {
                machine: self.machine.clone(),
                now_ns: self.now_ns.clone(),
                events: events.to_vec(),
                read_by: if self.machine.rdpmc && processor > 0 {
                    read_by
                } else {
                    CounterRead::Read
                },
                loops: 0,
                windows: 0,
            }),
        }
    }

    fn now_ns(&mut self) -> u64 {
        self.now_ns.get()
    }
}

impl Source {
    fn read(&self) {
        let cost = self.machine.read_ns[usize::from(self.read_by == CounterRead::Rdpmc)];
        self.now_ns.set(self.now_ns.get() + cost);
    }
}

impl CounterReads for Source {
    fn makes_syscalls(&self) -> bool {
        self.read_by == CounterRead::Read
    }

    fn before(&mut self) {
        self.read();
        self.loops = 0;
    }

    fn after(&mut self) {
        self.read();
        self.windows += 1;
    }
}

impl CounterSource for Source {
    fn events(&self) -> &[CounterEvent] {
        &self.events
    }

    fn is_inherited(&self) -> bool {
        false
    }

    fn enable(&mut self) -> Result<(), Errno> {
        Ok(())
    }

    fn disable(&mut self) -> Result<(), Errno> {
        Ok(())
    }

    fn window(&self) -> Result<WindowCounts, WindowError> {
        let count = |&event: &CounterEvent| {
            let instructions = (self.loops * LOOP_INSTRUCTIONS).max(5_000) as f64;
            let jitter = if event == CounterEvent::Cycles { self.windows as f64 } else { 0.0 };
            ((instructions + jitter) * (self.machine.scale)(event)) as u64
        };
        let counting_ns = (1_000.0 * (1.0 - self.machine.taken)) as u64;
        let counts = self.events.iter().map(count).collect();
        Ok(WindowCounts { counts, enabled_ns: 1_000, counting_ns })
    }

    fn read_by(&self) -> CounterRead {
        self.read_by
    }

    fn width_bits(&self) -> Option<u32> {
        (self.read_by == CounterRead::Rdpmc).then_some(48)
    }

    fn run_known_loop(&mut self, iterations: u64) {
        self.loops += iterations;
    }
}

fn surveyed(machine: Machine) -> CounterFacts {
    let mut opener = Opener { machine, now_ns: std::rc::Rc::default() };
    survey(CounterFacts::default(), &mut opener, &CIRCUMSTANCES)
}

#[test]
fn a_good_machine_counts_everything_by_the_cheaper_way() {
    let facts = surveyed(GOOD);
    assert!(facts.events.iter().all(|probe| probe.refused.is_none()), "{facts:?}");
    assert_eq!((facts.distrusted, facts.unavailable), (None, None));
    assert_eq!(
        (facts.simultaneous, facts.width_bits, facts.rdpmc),
        (Some(6), Some(48), Some(true))
    );
    assert_eq!(facts.read_by, Some(CounterRead::Rdpmc));
    assert_eq!(facts.read_ns.iter().map(|cost| cost.ns).collect::<Vec<_>>(), [700.0, 90.0]);
}

#[test]
fn an_instruction_that_traps_is_slower_than_read_and_not_chosen() {
    let facts = surveyed(Machine { read_ns: [700, 1_900], ..GOOD });
    assert_eq!((facts.read_by, facts.rdpmc), (Some(CounterRead::Read), Some(true)));
    let facts = surveyed(Machine { rdpmc: false, ..GOOD });
    assert_eq!((facts.read_by, facts.rdpmc), (Some(CounterRead::Read), Some(false)));
    assert_eq!((facts.read_ns.len(), facts.width_bits), (1, None));
}

#[test]
fn an_ordinary_user_sees_only_user_mode_and_each_hidden_event_says_why() {
    let refuses = |_, modes| (modes == Modes::Both).then_some(Errno::EACCES);
    let facts = surveyed(Machine { refuses, modes: Modes::User, ..GOOD });
    let hidden: Vec<CounterEvent> =
        facts.events.iter().filter(|it| it.refused.is_some()).map(|it| it.event).collect();
    let expected =
        [CounterEvent::InstructionsKernel, CounterEvent::ContextSwitches, CounterEvent::Migrations];
    assert_eq!(hidden, expected);
    let reason = facts.events[1].refused.as_deref();
    assert_eq!(reason, Some("perf_event_paranoid is 2: needs 1 or less, or CAP_PERFMON"));
    assert!(facts.can_count_work() && !facts.sees_kernel());
}

#[test]
fn without_a_pmu_the_kernels_own_events_remain() {
    let refuses = |event: CounterEvent, _| (!event.is_software()).then_some(Errno::ENOENT);
    let facts = surveyed(Machine { refuses, ..GOOD });
    assert!(
        facts.unavailable.as_deref().unwrap().ends_with("no driver for this processor's counters")
    );
    assert_eq!(facts.sets(), [CounterEvent::SOFTWARE.to_vec()]);
    assert_eq!((facts.simultaneous, facts.rdpmc), (None, None));
    assert_eq!(facts.read_by, Some(CounterRead::Read));
    // As an ordinary user the kernel's part is hidden, but there is nothing to see either.
    let facts = surveyed(Machine { refuses, modes: Modes::User, ..GOOD });
    let refused = facts.events[1].refused.as_deref().unwrap();
    assert!(refused.starts_with("perf_event_open: ENOENT"), "{refused}");
}

#[test]
fn where_the_call_is_forbidden_nothing_is_counted_and_the_reason_is_said() {
    let facts =
        surveyed(Machine { refuses: |_, _| Some(Errno::EPERM), modes: Modes::User, ..GOOD });
    assert!(facts.sets().is_empty());
    assert!(facts.unavailable.as_deref().unwrap().contains("perf_event_open: EPERM"));
    assert_eq!((facts.read_by, facts.read_ns), (None, Vec::new()));
}

#[test]
fn counters_that_lie_are_found_by_the_loop_of_known_length() {
    type Scale = fn(CounterEvent) -> f64;
    let lies: [(Scale, &str); 4] = [
        (|event| if event == CounterEvent::InstructionsUser { 0.5 } else { 1.0 }, "was counted as"),
        (
            |event| if event == CounterEvent::InstructionsUser { 1.01 } else { 1.0 },
            "was counted as",
        ),
        (|event| if event == CounterEvent::Cycles { 1e-9 } else { 1.0 }, "stands still"),
        (|event| if event == CounterEvent::Cycles { 100.0 } else { 1.0 }, "cycles/instruction"),
    ];
    for (scale, shown) in lies {
        let facts = surveyed(Machine { scale, ..GOOD });
        assert!(!facts.can_count_work(), "{shown}");
        let reasons = facts.events.iter().filter_map(|probe| probe.refused.clone());
        let reasons: Vec<String> = reasons.chain(facts.distrusted).collect();
        assert!(reasons.iter().any(|reason| reason.contains(shown)), "{shown}: {reasons:?}");
    }
    let facts = surveyed(Machine { scale: |_| 0.0, ..GOOD });
    assert!(facts.unavailable.as_deref().unwrap().contains("instructions:u: its counter stands"));
}

#[test]
fn counters_that_another_user_has_are_not_used() {
    let facts = surveyed(Machine { taken: 0.3, ..GOOD });
    let refused = facts.events[0].refused.as_deref().unwrap();
    assert!(refused.contains("multiplexed"), "{refused}");
    assert!(facts.unavailable.as_deref().unwrap().contains("another user of the counters"));
    let facts = surveyed(Machine { taken: 1.0, ..GOOD });
    let refused = facts.events[0].refused.as_deref().unwrap();
    assert!(refused.ends_with("has them: it was not scheduled"), "{refused}");
    let facts = surveyed(Machine { taken: -1.0, ..GOOD });
    let refused = facts.events[0].refused.as_deref().unwrap();
    assert_eq!(refused, "it counted for longer than it was enabled");
}

#[test]
fn no_more_events_are_counted_at_once_than_there_are_counters() {
    for counters in [1, 2, 3, 4, 8, 20] {
        let facts = surveyed(Machine { counters, ..GOOD });
        assert_eq!(facts.simultaneous, Some(counters.min(MAX_AT_ONCE) as u32));
        assert_eq!(facts.can_count_work(), counters >= 2);
        assert_eq!(facts.unavailable.is_none(), counters >= 2);
    }
    // Two have cycles beside the instructions of both modes, if the processor counts these as one.
    let two = surveyed(Machine { counters: 2, ..GOOD });
    assert_eq!(two.sets()[0][..2], [CounterEvent::Instructions, CounterEvent::Cycles]);
    let refuses =
        |event: CounterEvent, _| (event == CounterEvent::Instructions).then_some(Errno::EINVAL);
    let refused = surveyed(Machine { counters: 2, refuses, ..GOOD });
    assert!(!refused.can_count_work() && refused.unavailable.is_some(), "{refused:?}");
    let why = surveyed(Machine { counters: 1, ..GOOD }).unavailable.unwrap();
    assert!(why.contains("of the two that are needed 1 can be counted at once"), "{why}");
    assert!(why.contains("another user may have the other counters"), "{why}");
}

#[test]
fn counters_that_cannot_exclude_a_mode_are_not_used_and_say_why() {
    // As of a driver that refuses every counter which is to exclude something.
    let refuses = |event: CounterEvent, _| {
        let is_of_one =
            [CounterEvent::InstructionsUser, CounterEvent::InstructionsKernel].contains(&event);
        is_of_one.then_some(Errno::EINVAL)
    };
    let facts = surveyed(Machine { refuses, ..GOOD });
    assert!(!facts.can_count_work() && facts.can_count(CounterEvent::Cycles));
    assert_eq!(facts.sets(), [CounterEvent::SOFTWARE.to_vec()]);
    let why = facts.unavailable.unwrap();
    assert!(why.contains("EINVAL") && why.contains("cannot count one mode"), "{why}");
    // Cycles of both modes over the instructions of user mode are nothing.
    let refuses = |event: CounterEvent, _| {
        (event == CounterEvent::InstructionsKernel).then_some(Errno::EINVAL)
    };
    let facts = surveyed(Machine { refuses, ..GOOD });
    assert!(!facts.can_count_work() && facts.simultaneous.is_none(), "{facts:?}");
    assert_eq!(facts.sets(), [CounterEvent::SOFTWARE.to_vec()]);
    let why = facts.unavailable.unwrap();
    assert!(why.contains("in kernel mode cannot be told") && why.contains("EINVAL"), "{why}");
    assert_eq!(facts.read_by, Some(CounterRead::Read));
}

#[test]
fn events_that_a_processor_lacks_are_absent_with_their_reason_and_the_others_are_counted() {
    let refuses = |event: CounterEvent, _| {
        let is_cache = CounterEvent::MISSES[1..].contains(&event);
        is_cache.then_some(Errno::ENOENT)
    };
    let facts = surveyed(Machine { refuses, ..GOOD });
    assert!(facts.can_count_work() && facts.unavailable.is_none(), "{facts:?}");
    for probe in &facts.events {
        let is_cache = CounterEvent::MISSES[1..].contains(&probe.event);
        let has_reason = probe.refused.as_deref().is_some_and(|why| why.contains("ENOENT"));
        assert_eq!(has_reason, is_cache, "{probe:?}");
    }
    assert_eq!(facts.sets()[1], [CounterEvent::BranchMisses]);
    // Without that one, too, instructions show how many are counted at once.
    let refuses =
        |event: CounterEvent, _| CounterEvent::MISSES.contains(&event).then_some(Errno::EOPNOTSUPP);
    let facts = surveyed(Machine { refuses, ..GOOD });
    assert_eq!((facts.simultaneous, facts.sets().len()), (Some(6), 2));
}
