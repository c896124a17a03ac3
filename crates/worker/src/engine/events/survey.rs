//! Which events can be counted here: each is tried, and none is assumed.

use oscost_model::counters::{
    CountedBatch, CountedSet, CounterEvent, CounterFacts, CounterProbe, CounterRead,
    CounterReadCost,
};

use super::refusal::{Circumstances, one_mode, refusal, too_few, unavailable};
use super::source::{CounterSource, WindowCounts};
use super::validity::{KNOWN_ITERATIONS, loop_problem};
use crate::engine::calibrate::median;
use crate::engine::collect::CounterReads;
use crate::kernel::Errno;
use crate::kernel::cpu::instruction_loop;
use crate::kernel::probe::perf::{Modes, OpenError, is_kernel_event};
use crate::kernel::syscall;

/// The most counters that are tried at once: sets are no larger, and some processors have fewer.
const MAX_AT_ONCE: usize = 8;
/// Windows of a check, of which the median is taken.
const WINDOWS: usize = 5;
/// Cycles per instruction of the known loop, of one cycle an iteration on most cores: beyond these
/// bounds cycles are not cycles of this core.
const LOOP_CPI: std::ops::Range<f64> = 0.05..20.0;

/// Opens counters, as the survey and workers need them.
pub trait CounterOpener {
    /// The counters that it opens.
    type Source: CounterSource;

    /// The modes in which this process may count.
    fn modes(&mut self) -> Result<Modes, OpenError>;

    /// Opens a set that counts the calling thread.
    fn open(
        &mut self,
        events: &[CounterEvent],
        modes: Modes,
        read_by: CounterRead,
    ) -> Result<Self::Source, OpenError>;

    /// A clock, in nanoseconds.
    fn now_ns(&mut self) -> u64;
}

/// Adds what trying shows to what files show.
pub fn survey<O: CounterOpener>(
    files: CounterFacts,
    opener: &mut O,
    circumstances: &Circumstances<'_>,
) -> CounterFacts {
    let modes = opener.modes();
    let mut attempt = Survey { opener, modes: modes.unwrap_or(Modes::User) };
    let mut facts = files;
    // Of events of the processor: the error of the first, and what was wrong with one that opened.
    let (mut first_error, mut first_defect) = (None, None);
    for event in CounterEvent::ALL {
        let refused = match attempt.probe(event) {
            Ok(()) => None,
            Err(Obstacle::Error(errno)) => {
                if !event.is_software() {
                    first_error = first_error.or(Some(errno));
                }
                Some(refusal(errno, circumstances))
            }
            Err(Obstacle::Defect(reason)) => {
                if !event.is_software() {
                    let named = || format!("{}: {reason}", event.perf_name());
                    let _ = first_defect.get_or_insert_with(named);
                }
                Some(reason)
            }
            Err(Obstacle::HiddenKernel) => Some(circumstances.hidden_kernel()),
        };
        facts.events.push(CounterProbe { event, refused });
    }
    if !facts.can_count_each_of_work() {
        let defect = |reason| format!("instructions and cycles cannot be counted: {reason}");
        facts.unavailable = first_defect
            .map(defect)
            .or_else(|| first_error.map(|errno| unavailable(errno, circumstances)));
    }
    // Where both modes are visible cycles are those of both, and belong to no instructions of one.
    let in_one_mode = attempt.modes == Modes::Both && !facts.sees_kernel();
    if facts.can_count_each_of_work() && in_one_mode {
        facts.unavailable = Some(one_mode(refused(&facts, CounterEvent::InstructionsKernel)));
        attempt.read_costs(&mut facts);
        return facts;
    }
    facts.distrusted = facts.can_count_each_of_work().then(|| attempt.distrust()).flatten();
    if facts.can_count_each_of_work() {
        facts.simultaneous = attempt.simultaneous(&facts);
        facts.unavailable = (!facts.can_count_work()).then(|| too_few(facts.simultaneous));
    }
    attempt.read_costs(&mut facts);
    facts
}

/// Why an event was refused, in words.
fn refused(facts: &CounterFacts, event: CounterEvent) -> &str {
    let probe = facts.events.iter().find(|it| it.event == event);
    probe.and_then(|it| it.refused.as_deref()).unwrap_or_default()
}

/// Why an event cannot be counted.
enum Obstacle {
    Error(Errno),
    Defect(String),
    HiddenKernel,
}

struct Survey<'a, O> {
    opener: &'a mut O,
    modes: Modes,
}

impl<O: CounterOpener> Survey<'_, O> {
    fn open(&mut self, events: &[CounterEvent], by: CounterRead) -> Result<O::Source, OpenError> {
        self.opener.open(events, self.modes, by)
    }

    /// Tries an event by itself.
    fn probe(&mut self, event: CounterEvent) -> Result<(), Obstacle> {
        if self.modes == Modes::User && is_kernel_event(event) {
            // It could be opened in user mode, and would never count. Where nothing can be opened,
            // the error says more.
            let other = if event.is_software() {
                CounterEvent::TaskClock
            } else {
                CounterEvent::InstructionsUser
            };
            let opened = self.open(&[other], CounterRead::Read);
            return Err(opened
                .map_or_else(|error| Obstacle::Error(error.errno), |_| Obstacle::HiddenKernel));
        }
        let mut source =
            self.open(&[event], CounterRead::Read).map_err(|error| Obstacle::Error(error.errno))?;
        let window = window(&mut source, |_| exercise(event)).map_err(Obstacle::Defect)?;
        if must_move(event) && window.counts[0] == 0 {
            return Err(Obstacle::Defect("its counter stands still".to_owned()));
        }
        Ok(())
    }

    /// Why counters are not to be trusted: what the loop of known length shows.
    fn distrust(&mut self) -> Option<String> {
        let events = vec![CounterEvent::InstructionsUser, CounterEvent::Cycles];
        // Two that cannot be counted at once are counted one after the other.
        let mut medians = Vec::new();
        for &event in &events {
            let mut source = match self.open(&[event], CounterRead::Read) {
                Ok(source) => source,
                Err(error) => return Some(format!("{}: {}", event.perf_name(), error.errno)),
            };
            let mut counts = Vec::new();
            for _ in 0..WINDOWS {
                match window(&mut source, |source| source.run_known_loop(KNOWN_ITERATIONS)) {
                    Ok(window) => counts.push(window.counts[0] as f64),
                    Err(reason) => return Some(reason),
                }
            }
            if counts.iter().all(|&count| count == counts[0]) && event == CounterEvent::Cycles {
                return Some(format!("{WINDOWS} runs of a loop all took {} cycles", counts[0]));
            }
            medians.push(median(counts) as u64);
        }
        let known = |counts: Vec<u64>| CountedBatch { counts, ..CountedBatch::default() };
        let cpi = medians[1] as f64 / medians[0].max(1) as f64;
        let set = CountedSet { events, ..CountedSet::default() };
        let wrong = loop_problem(&set, Some(&known(medians)), false);
        wrong.or_else(|| {
            (!LOOP_CPI.contains(&cpi)).then(|| {
                format!("a loop of one cycle an iteration took {cpi:.3} cycles/instruction")
            })
        })
    }

    /// How many events of the processor are counted at once, such that all sets can be.
    fn simultaneous(&mut self, facts: &CounterFacts) -> Option<u32> {
        // Any counter counts this one; instructions and cycles may have counters of their own.
        let general = match facts.can_count(CounterEvent::BranchMisses) {
            true => CounterEvent::BranchMisses,
            false => CounterEvent::InstructionsUser,
        };
        let mut at_once =
            (1..=MAX_AT_ONCE).take_while(|&events| self.can_count(&vec![general; events])).count();
        while at_once > 0 {
            let simultaneous = u32::try_from(at_once).ok();
            let sets = CounterFacts { simultaneous, ..facts.clone() }.sets();
            if sets.iter().all(|set| self.can_count(set)) {
                return simultaneous;
            }
            // Some events are counted by certain counters alone.
            at_once -= 1;
        }
        None
    }

    /// Whether these events are counted together, all the time.
    fn can_count(&mut self, events: &[CounterEvent]) -> bool {
        let Ok(mut source) = self.open(events, CounterRead::Read) else { return false };
        window(&mut source, |source| source.run_known_loop(KNOWN_ITERATIONS / 100)).is_ok()
    }

    /// Measures each way to read a group of three, and chooses.
    fn read_costs(&mut self, facts: &mut CounterFacts) {
        let work: Vec<CounterEvent> =
            CounterEvent::WORK.into_iter().filter(|&event| facts.can_count(event)).collect();
        let software: Vec<CounterEvent> =
            CounterEvent::SOFTWARE.into_iter().filter(|&event| facts.can_count(event)).collect();
        let at_once = facts.simultaneous.unwrap_or(0) as usize;
        let events = if at_once > 0 { work } else { software };
        let events = &events[..events.len().min(if at_once > 0 { at_once } else { 3 })];
        if events.is_empty() {
            return;
        }
        let mut allowed = false;
        for by in [CounterRead::Read, CounterRead::Rdpmc] {
            let Ok(mut source) = self.open(events, by) else { continue };
            if source.read_by() != by || source.enable().is_err() {
                continue;
            }
            facts.read_ns.push(CounterReadCost { by, ns: self.read_ns(&mut source) });
            if by == CounterRead::Rdpmc && source.window().is_ok() {
                allowed = true;
                facts.width_bits = source.width_bits();
            }
        }
        if at_once > 0 {
            facts.rdpmc = Some(allowed);
        }
        let cheapest = facts.read_ns.iter().min_by(|one, other| one.ns.total_cmp(&other.ns));
        facts.read_by = cheapest.map(|cost| cost.by);
    }

    /// The median cost of a read, in nanoseconds.
    fn read_ns(&mut self, source: &mut O::Source) -> f64 {
        const READS: u32 = 16;
        const ROUNDS: usize = 31;
        let rounds = (0..ROUNDS).map(|_| {
            let begun = self.opener.now_ns();
            for _ in 0..READS / 2 {
                source.before();
                source.after();
            }
            self.opener.now_ns().saturating_sub(begun) as f64 / f64::from(READS)
        });
        median(rounds.collect())
    }
}

/// The counts over an action, if the counters counted all the time.
fn window<S: CounterSource>(
    source: &mut S,
    action: impl FnOnce(&mut S),
) -> Result<WindowCounts, String> {
    source.enable().map_err(|error| format!("it cannot be enabled: {error}"))?;
    source.before();
    action(source);
    source.after();
    let window = source.window().map_err(|error| error.to_string())?;
    source.disable().map_err(|error| format!("it cannot be disabled: {error}"))?;
    let wrong = match (window.enabled_ns, window.counting_ns) {
        (enabled_ns, counting_ns) if counting_ns == enabled_ns => return Ok(window),
        (enabled_ns, counting_ns) if counting_ns > enabled_ns => {
            "it counted for longer than it was enabled"
        }
        (_, 0) => "another user of the counters has them: it was not scheduled",
        _ => "another user of the counters has them: it was multiplexed",
    };
    Err(wrong.to_owned())
}

/// Whether [`exercise`] must move the counter of an event. Misses that depend on sizes of caches
/// need not occur, and page faults, switches and migrations should not.
fn must_move(event: CounterEvent) -> bool {
    matches!(
        event,
        CounterEvent::InstructionsUser
            | CounterEvent::InstructionsKernel
            | CounterEvent::Cycles
            | CounterEvent::BranchMisses
            | CounterEvent::L1dMisses
            | CounterEvent::TaskClock
    )
}

/// Work that an event must occur in.
fn exercise(event: CounterEvent) {
    const STEPS: u64 = 20_000;
    /// Larger than any first-level cache.
    const WORDS: usize = 1 << 17;
    match event {
        CounterEvent::InstructionsKernel => {
            for _ in 0..100 {
                let _ = syscall::getppid();
            }
        }
        CounterEvent::BranchMisses | CounterEvent::L1dMisses => {
            let mut memory = vec![0_u64; WORDS];
            let mut state = 0x9e37_79b9_7f4a_7c15_u64;
            for _ in 0..STEPS {
                // Xorshift: no predictor learns it in so few steps.
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                let word = &mut memory[(state >> 40) as usize % WORDS];
                if state & 1 == 0 {
                    *word = std::hint::black_box(*word + 1);
                } else {
                    *word = std::hint::black_box(*word ^ state);
                }
            }
        }
        _ => instruction_loop::run(KNOWN_ITERATIONS / 10),
    }
}

#[cfg(test)]
mod tests;
