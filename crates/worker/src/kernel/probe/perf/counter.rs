//! Counters as descriptors: opened, enabled, read.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use oscost_model::counters::CounterEvent;

use super::attribute::{Attribute, Place, Selection};
use super::stand_in::StandIns;
use crate::kernel::Errno;

/// PERF_FLAG_FD_CLOEXEC of perf_event_open(2).
const CLOSE_ON_EXEC: u64 = 1 << 3;
/// PERF_EVENT_IOC_ENABLE and PERF_EVENT_IOC_DISABLE. The members of a group follow their leader.
const ENABLE: libc::Ioctl = 0x2400;
const DISABLE: libc::Ioctl = 0x2401;

/// Numbers before the counts of a group: how many there are, the time enabled, the time counted.
pub const GROUP_HEADER: usize = 3;

/// A counter that could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenError {
    /// Its event.
    pub event: CounterEvent,
    /// Why.
    pub errno: Errno,
}

/// A counter that is read by itself. Closed when dropped, and at exec(2).
pub struct Counter {
    fd: OwnedFd,
    stand_ins: StandIns,
}

impl Counter {
    /// Opens a counter for the calling thread, on any CPU. It does not count yet.
    pub fn open(selection: &Selection) -> Result<Self, OpenError> {
        let fd = open(selection, &selection.attribute(Place::Alone), None)?;
        Ok(Self { fd, stand_ins: StandIns::of(std::iter::once(selection.event)) })
    }

    /// Starts counting, in all tasks that inherited the counter too.
    pub fn enable(&self) -> Result<(), Errno> {
        control(&self.fd, ENABLE)
    }

    /// Stops counting.
    pub fn disable(&self) -> Result<(), Errno> {
        control(&self.fd, DISABLE)
    }

    /// Reads count, time enabled and time counted, in nanoseconds; with those of descendants, living
    /// or not.
    #[inline(always)]
    pub fn read(&self, into: &mut [u64; GROUP_HEADER]) -> Result<(), Errno> {
        read_exactly(&self.fd, into)?;
        self.stand_ins.falsify(into, 0);
        Ok(())
    }

    /// Runs as long as so many instructions by the clock that stands in for them; `false` if none
    /// does.
    #[cfg(feature = "fault-injection")]
    pub fn run_stand_in_loop(&self, instructions: u64) -> bool {
        self.stand_ins.run_loop(instructions, || {
            let mut words = [0; GROUP_HEADER];
            read_exactly(&self.fd, &mut words).ok().map(|()| words[0])
        })
    }
}

/// Counters of one thread that are on the processor together or not at all, and read at once.
pub struct CounterGroup {
    leader: OwnedFd,
    members: Vec<OwnedFd>,
    stand_ins: StandIns,
}

impl CounterGroup {
    /// Opens a group for the calling thread. The kernel refuses one with more events than the
    /// processor has counters for.
    pub fn open(selections: &[Selection]) -> Result<Self, OpenError> {
        let nothing = OpenError { event: CounterEvent::Cycles, errno: Errno::EINVAL };
        let (first, rest) = selections.split_first().ok_or(nothing)?;
        let leader = open(first, &first.attribute(Place::Leader), None)?;
        let members = rest
            .iter()
            .map(|selection| open(selection, &selection.attribute(Place::Member), Some(&leader)))
            .collect::<Result<_, _>>()?;
        let stand_ins = StandIns::of(selections.iter().map(|selection| selection.event));
        Ok(Self { leader, members, stand_ins })
    }

    /// The number of its events.
    pub fn event_count(&self) -> usize {
        self.members.len() + 1
    }

    /// Starts counting.
    pub fn enable(&self) -> Result<(), Errno> {
        control(&self.leader, ENABLE)
    }

    /// Stops counting.
    pub fn disable(&self) -> Result<(), Errno> {
        control(&self.leader, DISABLE)
    }

    /// Reads the header and a count for each event; `into` has room for just these.
    #[inline(always)]
    pub fn read(&self, into: &mut [u64]) -> Result<(), Errno> {
        read_exactly(&self.leader, into)?;
        self.stand_ins.falsify(into, GROUP_HEADER);
        Ok(())
    }

    /// Runs as long as so many instructions by the clock that stands in for them; `false` if none
    /// does.
    #[cfg(feature = "fault-injection")]
    pub fn run_stand_in_loop(&self, instructions: u64) -> bool {
        let mut words = vec![0; GROUP_HEADER + self.event_count()];
        self.stand_ins.run_loop(instructions, || {
            read_exactly(&self.leader, &mut words).ok().map(|()| words[GROUP_HEADER])
        })
    }

    /// The descriptor of an event.
    pub(super) fn fd(&self, event: usize) -> Option<&OwnedFd> {
        match event {
            0 => Some(&self.leader),
            _ => self.members.get(event - 1),
        }
    }
}

fn open(
    selection: &Selection,
    attribute: &Attribute,
    leader: Option<&OwnedFd>,
) -> Result<OwnedFd, OpenError> {
    const CALLING_THREAD: i32 = 0;
    const ANY_CPU: i32 = -1;
    let leader = leader.map_or(-1, AsRawFd::as_raw_fd);
    // SAFETY: the kernel reads as many bytes as the attribute says, which are its own.
    let opened = Errno::check(unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            std::ptr::from_ref(attribute),
            CALLING_THREAD,
            ANY_CPU,
            leader,
            CLOSE_ON_EXEC,
        )
    } as i32);
    let fd = opened.map_err(|errno| OpenError { event: selection.event, errno })?;
    // SAFETY: a new descriptor, owned here.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn control(fd: &OwnedFd, request: libc::Ioctl) -> Result<(), Errno> {
    const THIS_EVENT: libc::c_ulong = 0;
    // SAFETY: both requests take a plain number.
    Errno::check(unsafe { libc::ioctl(fd.as_raw_fd(), request, THIS_EVENT) }).map(drop)
}

/// read(2) by the library's wrapper: it is made outside the clock.
#[inline(always)]
fn read_exactly(fd: &OwnedFd, into: &mut [u64]) -> Result<(), Errno> {
    let bytes = size_of_val(into);
    // SAFETY: the kernel writes at most as many bytes as the slice has.
    let read = Errno::check(unsafe { libc::read(fd.as_raw_fd(), into.as_mut_ptr().cast(), bytes) });
    // At the end of file (0 bytes) the event is in an error state: it was pinned and lost its counter.
    if read? as usize == bytes { Ok(()) } else { Err(Errno::EPROTO) }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::super::{Counted, Modes, Start, is_kernel_event};
    use super::*;
    use crate::kernel::memory::region::{Access, PAGE_BYTES, PageKind, Region};
    use crate::kernel::process::spawn;
    use crate::kernel::time::stopwatch::Stopwatch;

    const TASK_CLOCK: Selection = Selection {
        event: CounterEvent::TaskClock,
        modes: Modes::User,
        counted: Counted::Thread,
        start: Start::Enable,
        pmu: 0,
    };

    fn burn() {
        std::hint::black_box((0..3_000_000u64).fold(0, |sum, it| std::hint::black_box(sum ^ it)));
    }

    /// `None`, with a message, where the call is forbidden.
    fn opened<T>(counter: Result<T, OpenError>) -> Option<T> {
        counter.inspect_err(|error| eprintln!("not tested: perf_event_open: {error:?}")).ok()
    }

    /// Touches pages that no page of this size was mapped for, so that each is a fault.
    fn touch_pages(pages: usize) {
        let region = Region::anonymous(pages * PAGE_BYTES, PageKind::Small).unwrap();
        region.touch_all(Access::Write);
    }

    #[test]
    fn every_member_of_a_group_counts_whichever_leads() {
        let faults = Selection { event: CounterEvent::PageFaults, ..TASK_CLOCK };
        for (order, at) in [([TASK_CLOCK, faults], 1), ([faults, TASK_CLOCK], 0)] {
            let Some(group) = opened(CounterGroup::open(&order)) else { return };
            for round in 1..=2 {
                group.enable().unwrap();
                touch_pages(64);
                group.disable().unwrap();
                touch_pages(64);
                let mut values = [0; GROUP_HEADER + 2];
                group.read(&mut values).unwrap();
                let counts = &values[GROUP_HEADER..];
                assert!((64 * round..90 * round).contains(&counts[at]), "{values:?}");
                assert!(counts[1 - at] > 0, "{values:?}");
            }
        }
    }

    #[test]
    fn a_group_counts_only_while_it_is_enabled() {
        let faults = Selection { event: CounterEvent::PageFaults, ..TASK_CLOCK };
        let Some(group) = opened(CounterGroup::open(&[TASK_CLOCK, faults])) else { return };
        let mut values = [0; GROUP_HEADER + 2];
        burn();
        group.read(&mut values).unwrap();
        assert_eq!(values, [2, 0, 0, 0, 0]);
        group.enable().unwrap();
        burn();
        group.read(&mut values).unwrap();
        let [count, enabled, running, clock, _] = values;
        assert_eq!((count, enabled), (2, running));
        assert!(clock > 0 && enabled > 0, "{values:?}");
        group.disable().unwrap();
        group.read(&mut values).unwrap();
        let stopped = values;
        burn();
        group.read(&mut values).unwrap();
        assert_eq!(values, stopped);
        assert_eq!(group.read(&mut [0; 4]), Err(Errno(libc::ENOSPC)), "no room for all counts");
    }

    #[test]
    fn what_a_fork_does_is_counted_with_inheritance_alone() {
        const PAGES: usize = 512;
        let [thread, descendants] = [Counted::Thread, Counted::Descendants].map(|counted| {
            let faults = Selection { event: CounterEvent::PageFaults, counted, ..TASK_CLOCK };
            let counter = opened(Counter::open(&faults))?;
            counter.enable().unwrap();
            let pid = spawn::raw_fork(Stopwatch::Syscall, |_| {
                touch_pages(PAGES);
                0
            });
            spawn::reap(pid.unwrap()).unwrap();
            let mut values = [0; GROUP_HEADER];
            counter.read(&mut values).unwrap();
            assert_eq!(values[1], values[2], "never multiplexed");
            Some(values[0] as usize)
        });
        let (Some(thread), Some(descendants)) = (thread, descendants) else { return };
        assert!(thread < PAGES && descendants >= PAGES, "{thread} and {descendants}");
    }

    #[test]
    fn descriptors_are_closed_at_exec() {
        let Some(counter) = opened(Counter::open(&TASK_CLOCK)) else { return };
        // SAFETY: F_GETFD takes no argument.
        let flags = unsafe { libc::fcntl(counter.fd.as_raw_fd(), libc::F_GETFD) };
        assert_eq!(flags, libc::FD_CLOEXEC);
    }

    #[test]
    fn an_event_that_cannot_be_counted_is_named_with_the_error() {
        // No such kind of counters.
        let unknown = Selection { event: CounterEvent::Cycles, pmu: 0x7fff, ..TASK_CLOCK };
        let error = Counter::open(&unknown).err().unwrap();
        assert_eq!(error.event, CounterEvent::Cycles);
        assert!(CounterGroup::open(&[]).is_err());
        assert!(is_kernel_event(CounterEvent::Migrations) && !is_kernel_event(unknown.event));
    }
}
