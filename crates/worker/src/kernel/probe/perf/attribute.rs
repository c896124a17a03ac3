//! What a counter counts: the event, the modes of the processor, and which tasks.

use oscost_model::counters::CounterEvent;

use super::stand_in;

/// `perf_event_attr` in its first version (PERF_ATTR_SIZE_VER0), which every kernel accepts.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Attribute {
    kind: u32,
    bytes: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_kind: u32,
    config1: u64,
}

/// Kinds of events (`perf_type_id` of linux/perf_event.h).
const HARDWARE: u32 = 0;
const SOFTWARE: u32 = 1;
const HARDWARE_CACHE: u32 = 3;

/// Flags of the attribute, by their bits.
const DISABLED: u64 = 1 << 0;
const INHERIT: u64 = 1 << 1;
const EXCLUDE_USER: u64 = 1 << 4;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const ENABLE_ON_EXEC: u64 = 1 << 12;
/// Guests of this machine's hypervisor: a processor whose counters serve a guest refuses others.
const EXCLUDE_GUEST: u64 = 1 << 20;

/// What read(2) returns beside counts (`perf_event_read_format`).
const TOTAL_TIME_ENABLED: u64 = 1 << 0;
const TOTAL_TIME_RUNNING: u64 = 1 << 1;
const GROUP: u64 = 1 << 3;

/// The modes of the processor in which an event is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modes {
    /// In user mode and in the kernel.
    Both,
    /// In user mode alone: all that an ordinary user sees with `perf_event_paranoid` 2.
    User,
}

/// The tasks whose events are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Those of the calling thread.
    Thread,
    /// Those of the processes and threads that it creates from now on, too.
    Descendants,
}

/// When counting starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// When the counter is enabled.
    Enable,
    /// In each descendant when it executes a program.
    Exec,
}

/// The place of a counter among others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// It is read by itself.
    Alone,
    /// It leads a group.
    Leader,
    /// It follows the leader of its group, and is enabled from the beginning: the kernel (seen in
    /// 6.18) does not put a member of another kind than its leader on the processor when that member
    /// is enabled later.
    Member,
}

/// Which events a counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selection {
    /// The event.
    pub event: CounterEvent,
    /// The modes, for events that occur in both.
    pub modes: Modes,
    /// The tasks.
    pub counted: Counted,
    /// When it starts.
    pub start: Start,
    /// The number of the processor's counters in sysfs (`.../devices/NAME/type`), where there are
    /// several; 0 for the only ones.
    pub pmu: u32,
}

/// Whether an event occurs in the kernel, so that one who cannot see the kernel counts none.
pub fn is_kernel_event(event: CounterEvent) -> bool {
    matches!(
        event,
        CounterEvent::InstructionsKernel | CounterEvent::ContextSwitches | CounterEvent::Migrations
    )
}

impl Selection {
    /// The attribute.
    pub(super) fn attribute(&self, place: Place) -> Attribute {
        let (kind, number) = kind_and_number(stand_in::opened(self.event));
        // The extended form of linux/perf_event.h: which of several kinds of counters is meant.
        let pmu = if kind == SOFTWARE { 0 } else { u64::from(self.pmu) << 32 };
        let excluded = match (self.event, self.modes) {
            (CounterEvent::InstructionsUser, _) => EXCLUDE_KERNEL,
            (CounterEvent::InstructionsKernel, _) => EXCLUDE_USER,
            (_, Modes::User) => EXCLUDE_KERNEL,
            (_, Modes::Both) => 0,
        };
        let inherit = if self.counted == Counted::Descendants { INHERIT } else { 0 };
        let on_exec = if self.start == Start::Exec { ENABLE_ON_EXEC } else { 0 };
        let group = if place == Place::Alone { 0 } else { GROUP };
        let disabled = if place == Place::Member { 0 } else { DISABLED };
        Attribute {
            kind,
            bytes: size_of::<Attribute>() as u32,
            config: pmu | number,
            read_format: TOTAL_TIME_ENABLED | TOTAL_TIME_RUNNING | group,
            flags: disabled | EXCLUDE_HYPERVISOR | EXCLUDE_GUEST | excluded | inherit | on_exec,
            ..Attribute::default()
        }
    }
}

/// The kind and the number of an event (`perf_hw_id`, `perf_hw_cache_id`, `perf_sw_ids`).
fn kind_and_number(event: CounterEvent) -> (u32, u64) {
    /// Read accesses that missed, of a cache.
    const fn read_misses(cache: u64) -> (u32, u64) {
        (HARDWARE_CACHE, cache | 1 << 16)
    }
    match event {
        CounterEvent::Cycles => (HARDWARE, 0),
        CounterEvent::InstructionsUser
        | CounterEvent::InstructionsKernel
        | CounterEvent::Instructions => (HARDWARE, 1),
        CounterEvent::LastLevelMisses => (HARDWARE, 3),
        CounterEvent::BranchMisses => (HARDWARE, 5),
        CounterEvent::StalledCycles => (HARDWARE, 7),
        CounterEvent::L1dMisses => read_misses(0),
        CounterEvent::L1iMisses => read_misses(1),
        CounterEvent::DtlbMisses => read_misses(3),
        CounterEvent::ItlbMisses => read_misses(4),
        CounterEvent::TaskClock => (SOFTWARE, 1),
        CounterEvent::PageFaults => (SOFTWARE, 2),
        CounterEvent::ContextSwitches => (SOFTWARE, 3),
        CounterEvent::Migrations => (SOFTWARE, 4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SELECTION: Selection = Selection {
        event: CounterEvent::Cycles,
        modes: Modes::Both,
        counted: Counted::Thread,
        start: Start::Enable,
        pmu: 0,
    };

    fn attribute(event: CounterEvent, modes: Modes) -> Attribute {
        Selection { event, modes, ..SELECTION }.attribute(Place::Leader)
    }

    #[test]
    fn an_attribute_has_the_layout_of_its_first_version() {
        assert_eq!(size_of::<Attribute>(), 64);
        assert_eq!(std::mem::offset_of!(Attribute, flags), 40);
        let own = SELECTION.attribute(Place::Alone);
        assert_eq!((own.bytes, own.read_format), (64, 3));
        assert_eq!(SELECTION.attribute(Place::Leader).read_format, 11);
        let disabled = |place| SELECTION.attribute(place).flags & DISABLED != 0;
        assert!(disabled(Place::Alone) && disabled(Place::Leader) && !disabled(Place::Member));
    }

    #[test]
    fn each_event_is_counted_in_its_own_modes() {
        let modes = |event, modes| attribute(event, modes).flags & (EXCLUDE_USER | EXCLUDE_KERNEL);
        assert_eq!(modes(CounterEvent::Cycles, Modes::Both), 0);
        assert_eq!(modes(CounterEvent::Cycles, Modes::User), EXCLUDE_KERNEL);
        assert_eq!(modes(CounterEvent::InstructionsUser, Modes::Both), EXCLUDE_KERNEL);
        assert_eq!(modes(CounterEvent::InstructionsKernel, Modes::Both), EXCLUDE_USER);
        assert_eq!(modes(CounterEvent::Instructions, Modes::Both), 0);
    }

    #[test]
    fn events_have_the_numbers_of_the_kernels_header() {
        let number = |event| {
            let attribute = attribute(event, Modes::Both);
            (attribute.kind, attribute.config)
        };
        assert_eq!(number(CounterEvent::BranchMisses), (HARDWARE, 5));
        assert_eq!(number(CounterEvent::ItlbMisses), (HARDWARE_CACHE, 0x1_0004));
        assert_eq!(number(CounterEvent::PageFaults), (SOFTWARE, 2));
        let numbers: std::collections::BTreeSet<_> =
            CounterEvent::ALL.into_iter().map(number).collect();
        assert_eq!(numbers.len(), CounterEvent::ALL.len() - 1, "instructions in two modes are one");
    }

    #[test]
    fn one_kind_of_several_kinds_of_counters_is_named_and_software_events_have_none() {
        let on = |event| Selection { event, pmu: 10, ..SELECTION }.attribute(Place::Alone).config;
        assert_eq!(on(CounterEvent::InstructionsUser), 10 << 32 | 1);
        assert_eq!(on(CounterEvent::TaskClock), 1);
    }
}
