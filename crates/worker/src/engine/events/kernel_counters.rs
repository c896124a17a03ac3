//! The kernel's counters of the calling thread.

use std::cmp::Reverse;

use oscost_model::counters::{CounterEvent, CounterRead};

use super::source::{CounterSource, CounterTimes, WindowCounts, WindowError, increase};
use super::survey::CounterOpener;
use crate::engine::collect::CounterReads;
use crate::kernel::Errno;
#[cfg(feature = "fault-injection")]
use crate::kernel::cpu::instruction_loop;
use crate::kernel::probe::perf::{
    Counted, Counter, CounterGroup, CounterPage, GROUP_HEADER, Modes, OpenError, PageReading,
    Selection, Start,
};
use crate::kernel::time::clock::monotonic_raw_ns;

/// Which counters to open.
#[derive(Clone, Copy, Debug)]
pub struct CounterRequest<'a> {
    /// The events.
    pub events: &'a [CounterEvent],
    /// The modes, for events that occur in both.
    pub modes: Modes,
    /// The tasks.
    pub counted: Counted,
    /// How they are to be read, if that is possible.
    pub read_by: CounterRead,
    /// Whether the batches avoid system calls: then the kernel's own events, which only a system
    /// call reads, are left out where the others are read by the instruction.
    pub avoids_syscalls: bool,
    /// The processor's counters: see [`Selection::pmu`].
    pub pmu: u32,
}

/// Whether the kernel lets this process count what happens in the kernel: in which modes it counts.
pub fn visible_modes() -> Result<Modes, OpenError> {
    let try_in = |modes| {
        let selection = Selection {
            event: CounterEvent::TaskClock,
            modes,
            counted: Counted::Thread,
            start: Start::Enable,
            pmu: 0,
        };
        Counter::open(&selection).map(|_| modes)
    };
    try_in(Modes::Both).or_else(|_| try_in(Modes::User))
}

/// Opens the kernel's counters, for the survey.
pub struct KernelOpener {
    /// The processor's counters: see [`Selection::pmu`].
    pub pmu: u32,
}

impl CounterOpener for KernelOpener {
    type Source = KernelCounters;

    fn modes(&mut self) -> Result<Modes, OpenError> {
        visible_modes()
    }

    fn open(
        &mut self,
        events: &[CounterEvent],
        modes: Modes,
        read_by: CounterRead,
    ) -> Result<KernelCounters, OpenError> {
        let (counted, avoids_syscalls, pmu) = (Counted::Thread, false, self.pmu);
        KernelCounters::open(&CounterRequest {
            events,
            modes,
            counted,
            read_by,
            avoids_syscalls,
            pmu,
        })
    }

    fn now_ns(&mut self) -> u64 {
        monotonic_raw_ns()
    }
}

/// Open counters, and the way in which they are read.
enum OpenCounters {
    /// A group, by one read(2).
    Group(CounterGroup),
    /// Those of the processor by the instruction; the kernel's own, around them, by read(2).
    Pages { processor: CounterGroup, pages: Vec<CounterPage>, software: Option<CounterGroup> },
    /// Each by a read(2) of its own: counters that descendants inherit are no group.
    Separate(Vec<Counter>),
}

/// Values of one read around a window.
#[derive(Default)]
struct ReadValues {
    /// What read(2) has written: of a group its header and counts, of separate counters three each.
    words: Vec<u64>,
    pages: Vec<PageReading>,
    error: Option<Errno>,
}

/// The kernel's counters of a set of events, of the thread that has opened them.
pub struct KernelCounters {
    events: Vec<CounterEvent>,
    counters: OpenCounters,
    first: ReadValues,
    last: ReadValues,
}

impl KernelCounters {
    /// Opens counters. They do not count yet.
    pub fn open(request: &CounterRequest<'_>) -> Result<Self, OpenError> {
        let selection = |event: CounterEvent| Selection {
            event,
            modes: request.modes,
            counted: request.counted,
            start: Start::Enable,
            pmu: request.pmu,
        };
        let selections: Vec<Selection> = request.events.iter().copied().map(selection).collect();
        if request.counted == Counted::Descendants {
            let counters: Vec<Counter> =
                selections.iter().map(Counter::open).collect::<Result<_, _>>()?;
            let words = GROUP_HEADER * counters.len();
            return Ok(Self::new(request.events.to_vec(), OpenCounters::Separate(counters), words));
        }
        if request.read_by == CounterRead::Rdpmc
            && let Some(counters) = Self::open_pages(request, &selections)?
        {
            return Ok(counters);
        }
        let group = CounterGroup::open(&selections)?;
        let words = GROUP_HEADER + group.event_count();
        Ok(Self::new(request.events.to_vec(), OpenCounters::Group(group), words))
    }

    /// Opens counters that the instruction reads; `None` if the kernel does not allow that.
    fn open_pages(
        request: &CounterRequest<'_>,
        selections: &[Selection],
    ) -> Result<Option<Self>, OpenError> {
        let (software, processor): (Vec<Selection>, Vec<Selection>) =
            selections.iter().partition(|selection| selection.event.is_software());
        if processor.is_empty() {
            return Ok(None);
        }
        let group = CounterGroup::open(&processor)?;
        let pages = (0..group.event_count()).map(|event| CounterPage::of_group(&group, event));
        let Ok(pages) = pages.collect::<Result<Vec<_>, _>>() else { return Ok(None) };
        if !pages.iter().all(CounterPage::can_be_read) {
            return Ok(None);
        }
        let software = match software.is_empty() || request.avoids_syscalls {
            true => Vec::new(),
            false => software,
        };
        let events = processor.iter().chain(&software).map(|selection| selection.event).collect();
        let software = match software.is_empty() {
            true => None,
            false => Some(CounterGroup::open(&software)?),
        };
        let words = software.as_ref().map_or(0, |group| GROUP_HEADER + group.event_count());
        let counters = OpenCounters::Pages { processor: group, pages, software };
        Ok(Some(Self::new(events, counters, words)))
    }

    fn new(events: Vec<CounterEvent>, counters: OpenCounters, words: usize) -> Self {
        let pages = match &counters {
            OpenCounters::Pages { pages, .. } => pages.len(),
            _ => 0,
        };
        let values = || ReadValues {
            words: vec![0; words],
            pages: vec![PageReading::default(); pages],
            error: None,
        };
        Self { events, counters, first: values(), last: values() }
    }

    /// The counts of a window of pages: the processor's, then the kernel's own.
    fn page_window(&self) -> Result<WindowCounts, WindowError> {
        let width = self.width_bits();
        let mut window = WindowCounts::default();
        let pages = self.first.pages.iter().zip(&self.last.pages);
        for (&event, (first, last)) in self.events.iter().zip(pages) {
            let counts = first.count.zip(last.count).ok_or(WindowError::OffProcessor(event))?;
            let count = increase(counts.0, counts.1, width);
            window.counts.push(count.ok_or(WindowError::Backwards(event))?);
            // The kernel updates both times when it moves the event, and only then.
            let enabled_ns = last.enabled_ns.saturating_sub(first.enabled_ns);
            let counting_ns = last.running_ns.saturating_sub(first.running_ns);
            window.add_times(enabled_ns, counting_ns);
        }
        if self.first.words.is_empty() {
            return Ok(window);
        }
        let software = &self.events[window.counts.len()..];
        let own = group_window(software, &self.first.words, &self.last.words)?;
        window.counts.extend(own.counts);
        Ok(window)
    }
}

impl WindowCounts {
    /// Adds the times of another counter: those of the one that missed most are kept.
    fn add_times(&mut self, enabled_ns: u64, counting_ns: u64) {
        let missed = |enabled: u64, counting: u64| enabled.abs_diff(counting);
        let is_first = self.counts.len() <= 1;
        if is_first || missed(enabled_ns, counting_ns) > missed(self.enabled_ns, self.counting_ns) {
            (self.enabled_ns, self.counting_ns) = (enabled_ns, counting_ns);
        }
    }
}

/// The counts of a group between two reads.
fn group_window(
    events: &[CounterEvent],
    first: &[u64],
    last: &[u64],
) -> Result<WindowCounts, WindowError> {
    for words in [first, last] {
        let counts = words.first().copied().unwrap_or(0);
        if counts != events.len() as u64 || words.len() != GROUP_HEADER + events.len() {
            return Err(WindowError::OtherGroup { counts, events: events.len() });
        }
    }
    let difference =
        |at: usize, event| increase(first[at], last[at], None).ok_or(WindowError::Backwards(event));
    let leader = events.first().copied().unwrap_or(CounterEvent::Cycles);
    let counts = events.iter().enumerate().map(|(at, &event)| difference(GROUP_HEADER + at, event));
    Ok(WindowCounts {
        counts: counts.collect::<Result<_, _>>()?,
        enabled_ns: difference(1, leader)?,
        counting_ns: difference(2, leader)?,
    })
}

/// The counts of separate counters between two reads.
fn separate_window(
    events: &[CounterEvent],
    first: &[u64],
    last: &[u64],
) -> Result<WindowCounts, WindowError> {
    for words in [first, last] {
        if words.len() != GROUP_HEADER * events.len() {
            let counts = (words.len() / GROUP_HEADER) as u64;
            return Err(WindowError::OtherGroup { counts, events: events.len() });
        }
    }
    let mut window = WindowCounts::default();
    for (at, &event) in events.iter().enumerate() {
        let difference = |word: usize| {
            let at = GROUP_HEADER * at + word;
            increase(first[at], last[at], None).ok_or(WindowError::Backwards(event))
        };
        window.counts.push(difference(0)?);
        window.add_times(difference(1)?, difference(2)?);
    }
    Ok(window)
}

impl CounterReads for KernelCounters {
    fn makes_syscalls(&self) -> bool {
        !matches!(self.counters, OpenCounters::Pages { software: None, .. })
    }

    #[inline(always)]
    fn before(&mut self) {
        let Self { counters, first, .. } = self;
        let done = match counters {
            OpenCounters::Group(group) => group.read(&mut first.words),
            OpenCounters::Separate(all) => {
                // The first event, which matters most, has the fewest reads inside its window.
                let mut values = first.words.as_chunks_mut::<GROUP_HEADER>().0.iter_mut();
                all.iter()
                    .rev()
                    .zip(values.by_ref().rev())
                    .try_for_each(|(counter, values)| counter.read(values))
            }
            OpenCounters::Pages { pages, software, .. } => {
                let done = software.as_ref().map_or(Ok(()), |group| group.read(&mut first.words));
                for (page, reading) in pages.iter().zip(&mut first.pages).rev() {
                    *reading = page.read();
                }
                done
            }
        };
        first.error = done.err();
    }

    #[inline(always)]
    fn after(&mut self) {
        let Self { counters, last, .. } = self;
        let done = match counters {
            OpenCounters::Group(group) => group.read(&mut last.words),
            OpenCounters::Separate(all) => {
                let values = last.words.as_chunks_mut::<GROUP_HEADER>().0.iter_mut();
                all.iter().zip(values).try_for_each(|(counter, values)| counter.read(values))
            }
            OpenCounters::Pages { pages, software, .. } => {
                for (page, reading) in pages.iter().zip(&mut last.pages) {
                    *reading = page.read();
                }
                software.as_ref().map_or(Ok(()), |group| group.read(&mut last.words))
            }
        };
        last.error = done.err();
    }
}

impl CounterSource for KernelCounters {
    fn events(&self) -> &[CounterEvent] {
        &self.events
    }

    fn is_inherited(&self) -> bool {
        matches!(self.counters, OpenCounters::Separate(_))
    }

    fn read_by(&self) -> CounterRead {
        match self.counters {
            OpenCounters::Pages { .. } => CounterRead::Rdpmc,
            _ => CounterRead::Read,
        }
    }

    fn width_bits(&self) -> Option<u32> {
        match &self.counters {
            OpenCounters::Pages { pages, .. } => pages.first().and_then(CounterPage::width_bits),
            _ => None,
        }
    }

    fn enable(&mut self) -> Result<(), Errno> {
        match &self.counters {
            OpenCounters::Group(group) => group.enable(),
            OpenCounters::Separate(all) => all.iter().try_for_each(Counter::enable),
            OpenCounters::Pages { processor, software, .. } => {
                software.as_ref().map_or(Ok(()), CounterGroup::enable)?;
                processor.enable()
            }
        }
    }

    fn disable(&mut self) -> Result<(), Errno> {
        match &self.counters {
            OpenCounters::Group(group) => group.disable(),
            OpenCounters::Separate(all) => all.iter().try_for_each(Counter::disable),
            OpenCounters::Pages { processor, software, .. } => {
                processor.disable()?;
                software.as_ref().map_or(Ok(()), CounterGroup::disable)
            }
        }
    }

    fn window(&self) -> Result<WindowCounts, WindowError> {
        if let Some(error) = self.first.error.or(self.last.error) {
            return Err(WindowError::Unread(error));
        }
        match self.counters {
            OpenCounters::Group(_) => {
                group_window(&self.events, &self.first.words, &self.last.words)
            }
            OpenCounters::Separate(_) => {
                separate_window(&self.events, &self.first.words, &self.last.words)
            }
            OpenCounters::Pages { .. } => self.page_window(),
        }
    }

    #[cfg(feature = "fault-injection")]
    fn run_known_loop(&mut self, iterations: u64) {
        let instructions = iterations * instruction_loop::LOOP_INSTRUCTIONS;
        let is_run = match &self.counters {
            OpenCounters::Group(group) | OpenCounters::Pages { processor: group, .. } => {
                group.run_stand_in_loop(instructions)
            }
            OpenCounters::Separate(all) => {
                all.first().is_some_and(|counter| counter.run_stand_in_loop(instructions))
            }
        };
        if !is_run {
            instruction_loop::run(iterations);
        }
    }

    fn times(&self) -> Option<CounterTimes> {
        match &self.counters {
            // On a page the kernel writes them only when it moves the event.
            OpenCounters::Group(group) | OpenCounters::Pages { processor: group, .. } => {
                let mut words = vec![0; GROUP_HEADER + group.event_count()];
                group.read(&mut words).ok()?;
                Some(CounterTimes { enabled_ns: words[1], counting_ns: words[2] })
            }
            OpenCounters::Separate(all) => {
                let times = |counter: &Counter| {
                    let mut words = [0; GROUP_HEADER];
                    counter.read(&mut words).ok()?;
                    let [_, enabled_ns, counting_ns] = words;
                    Some(CounterTimes { enabled_ns, counting_ns })
                };
                let times = all.iter().map(times).collect::<Option<Vec<_>>>()?;
                let missed = |it: &CounterTimes| it.enabled_ns.abs_diff(it.counting_ns);
                times.into_iter().max_by_key(|it| (missed(it), Reverse(it.enabled_ns)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::memory::region::{Access, PAGE_BYTES, PageKind, Region};

    const EVENTS: [CounterEvent; 2] = [CounterEvent::InstructionsUser, CounterEvent::Cycles];

    #[test]
    fn counts_of_a_group_are_differences_between_two_reads() {
        let window = group_window(&EVENTS, &[2, 100, 100, 7, 9], &[2, 160, 150, 1_007, 2_009]);
        let expected = WindowCounts { counts: vec![1_000, 2_000], enabled_ns: 60, counting_ns: 50 };
        assert_eq!(window, Ok(expected));
        let backwards = group_window(&EVENTS, &[2, 100, 100, 7, 9], &[2, 160, 160, 8, 8]);
        assert_eq!(backwards, Err(WindowError::Backwards(CounterEvent::Cycles)));
    }

    #[test]
    fn of_separate_counters_the_times_are_those_of_the_one_that_missed_most() {
        let first = [5, 100, 100, 9, 100, 100];
        let window = separate_window(&EVENTS, &first, &[15, 200, 200, 29, 210, 150]).unwrap();
        assert_eq!(window.counts, [10, 20]);
        assert_eq!((window.enabled_ns, window.counting_ns), (110, 50));
        let window = separate_window(&EVENTS, &first, &[15, 200, 120, 29, 210, 210]).unwrap();
        assert_eq!((window.enabled_ns, window.counting_ns), (100, 20));
    }

    #[test]
    fn reads_of_another_length_or_number_of_events_have_no_counts() {
        let good: &[u64] = &[2, 100, 100, 7, 9];
        let bad: [&[u64]; 8] = [
            &[],
            &[2],
            &[2, 100, 100],
            &[2, 100, 100, 7],
            &[2, 100, 100, 7, 9, 9],
            &[1, 100, 100, 7, 9],
            &[0, 0, 0, 0, 0],
            &[u64::MAX, 100, 100, 7, 9],
        ];
        for bad in bad {
            for (first, last) in [(good, bad), (bad, good)] {
                let window = group_window(&EVENTS, first, last);
                let is_refused = matches!(window, Err(WindowError::OtherGroup { events: 2, .. }));
                assert!(is_refused, "{bad:?}: {window:?}");
            }
        }
        let six: &[u64] = &[5, 100, 100, 9, 100, 100];
        for bad in [&six[..0], &six[..3], &six[..5], &[6; 7], &[6; 9]] {
            for (first, last) in [(six, bad), (bad, six)] {
                let window = separate_window(&EVENTS, first, last);
                let is_refused = matches!(window, Err(WindowError::OtherGroup { events: 2, .. }));
                assert!(is_refused, "{bad:?}: {window:?}");
            }
        }
    }

    #[test]
    fn times_that_go_backwards_have_no_counts() {
        let user = WindowError::Backwards(CounterEvent::InstructionsUser);
        let first = [2, 100, 100, 7, 9];
        for last in [[2, 99, 100, 8, 10], [2, 100, 99, 8, 10], [2, 0, 0, u64::MAX, u64::MAX]] {
            assert_eq!(group_window(&EVENTS, &first, &last), Err(user), "{last:?}");
        }
        let first = [5, 100, 100, 9, 100, 100];
        let last = [6, 100, 100, 10, 100, 99];
        let cycles = WindowError::Backwards(CounterEvent::Cycles);
        assert_eq!(separate_window(&EVENTS, &first, &last), Err(cycles));
    }

    fn request(events: &[CounterEvent], counted: Counted) -> Option<KernelCounters> {
        let request = CounterRequest {
            events,
            modes: Modes::User,
            counted,
            read_by: CounterRead::Rdpmc,
            avoids_syscalls: false,
            pmu: 0,
        };
        // Where the call is forbidden there is nothing to test.
        KernelCounters::open(&request)
            .inspect_err(|error| eprintln!("not tested: perf_event_open: {error:?}"))
            .ok()
    }

    #[test]
    fn events_of_the_kernel_are_counted_by_read_and_only_while_enabled() {
        let events = [CounterEvent::TaskClock, CounterEvent::PageFaults];
        for counted in [Counted::Thread, Counted::Descendants] {
            let Some(mut counters) = request(&events, counted) else { return };
            assert_eq!(counters.read_by(), CounterRead::Read);
            assert_eq!(counters.is_inherited(), counted == Counted::Descendants);
            let touch_new_pages = |counters: &mut KernelCounters| {
                counters.before();
                let region = Region::anonymous(64 * PAGE_BYTES, PageKind::Small).unwrap();
                region.touch_all(Access::Write);
                counters.after();
                counters.window().unwrap()
            };
            assert_eq!(touch_new_pages(&mut counters).counts, [0, 0], "not enabled yet");
            let never = CounterTimes { enabled_ns: 0, counting_ns: 0 };
            assert_eq!(counters.times(), Some(never));
            counters.enable().unwrap();
            let window = touch_new_pages(&mut counters);
            assert!(window.counts[0] > 0 && window.enabled_ns > 0, "{window:?}");
            assert_eq!(window.enabled_ns, window.counting_ns);
            // A page table and the like may fault as well.
            assert!((64..90).contains(&window.counts[1]), "{window:?}");
            counters.disable().unwrap();
            let times = counters.times().unwrap();
            assert!(times.enabled_ns >= window.enabled_ns, "{times:?} and {window:?}");
            assert_eq!(times.enabled_ns, times.counting_ns);
            assert_eq!(touch_new_pages(&mut counters).counts, [0, 0]);
            assert_eq!(counters.times(), Some(times), "none is added while they are disabled");
        }
    }
}
