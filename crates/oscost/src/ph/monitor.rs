//! The BPF programs in the kernel, and the maps that they share with this process.
//!
//! Nothing is pinned: programs and maps live as long as this process's descriptors, however it
//! ends.

mod layout;

use std::cell::RefCell;
use std::mem;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::rc::Rc;

use libbpf_rs::{
    Link, MapCore, MapFlags, MapHandle, Object, ObjectBuilder, OpenObject, RingBuffer,
};

use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::constants::Constants;
use super::event::Event;
use super::profiles::profile::{Key, Pairs, Profile};
pub use layout::{Action, CallCounts, ChangeCounts, Control, Scope};
use layout::{MapSizes, key_bytes, read_key, read_u32s, slot_of_task, u32_bytes};

/// The compiled programs (build.rs).
static PROGRAMS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/ph.bpf.o"));

/// The slot of calls that belong to no profile.
pub const UNTRACKED_SLOT: u32 = 0;
/// Slots for executables without a profile, half a MiB each. Building a program takes ten, a day of
/// desktop use some hundred.
const NEW_EXECUTABLE_SLOTS: usize = 128;

/// An error message.
type Failure = String;

/// The maps of pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairMap {
    /// The learned pairs.
    Train,
    /// The normal pairs.
    Test,
}

/// The slot of an executable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotEntry {
    /// The executable.
    pub key: Key,
    /// The index of its profile in the maps.
    pub slot: u32,
}

/// The programs and their maps.
pub struct Monitor {
    links: Vec<Link>,
    object: Object,
    ring: RingBuffer<'static>,
    received: Rc<RefCell<Vec<Event>>>,
    events: MapHandle,
    train: MapHandle,
    test: MapHandle,
    controls: MapHandle,
    change_counts: MapHandle,
    call_counts: MapHandle,
    next_slot: MapHandle,
    slots: MapHandle,
    stopped: MapHandle,
    tasks: MapHandle,
    slot_count: u32,
}

/// The programs in the order in which they are attached: forks are observed before calls.
const PROGRAM_NAMES: [&str; 3] = ["ph_fork", "ph_exec", "ph_call"];

impl Monitor {
    /// Loads the programs and puts the profiles into their maps: the first profile gets slot 1. No
    /// program runs before [`Monitor::attach`].
    pub fn load(rules: &Constants, scope: Scope, profiles: &[Profile]) -> Result<Self, Failure> {
        // libbpf's errors are returned; its log is for developers of the programs.
        libbpf_rs::set_print(None);
        let slots = u32::try_from(profiles.len() + NEW_EXECUTABLE_SLOTS)
            .map_err(|_| "too many profiles".to_owned())?;
        let cpus = libbpf_rs::num_possible_cpus().map_err(failed("count the CPUs"))?;
        let mut open = ObjectBuilder::default()
            .open_memory(PROGRAMS)
            .map_err(failed("read the programs of pH"))?;
        configure(&mut open, rules, scope, MapSizes { slots, cpus })?;
        let object = open.load().map_err(failed("load the programs of pH"))?;
        let map = |name: &str| {
            let found = object.maps().find(|map| map.name() == name);
            let found = found.ok_or_else(|| format!("the programs of pH have no map `{name}`"))?;
            MapHandle::try_from(&found).map_err(failed("open a map of pH"))
        };
        let received = Rc::new(RefCell::new(Vec::new()));
        let events = map("events")?;
        let mut ring = libbpf_rs::RingBufferBuilder::new();
        let receiver = Rc::clone(&received);
        ring.add(&events, move |bytes| {
            receiver.borrow_mut().extend(Event::parse(bytes));
            0
        })
        .map_err(failed("open the events of pH"))?;
        let ring = ring.build().map_err(failed("open the events of pH"))?;
        let monitor = Self {
            links: Vec::new(),
            ring,
            received,
            events,
            train: map("train")?,
            test: map("test")?,
            controls: map("controls")?,
            change_counts: map("change_counts")?,
            call_counts: map("call_counts")?,
            next_slot: map("next_slot")?,
            slots: map("slots")?,
            stopped: map("stopped")?,
            tasks: map("tasks")?,
            slot_count: slots,
            object,
        };
        monitor.insert(profiles)?;
        Ok(monitor)
    }

    /// Puts profiles into the maps.
    fn insert(&self, profiles: &[Profile]) -> Result<(), Failure> {
        for (slot, profile) in (1..).zip(profiles) {
            self.write(&self.train, slot, profile.train.bytes())?;
            self.write(&self.test, slot, profile.test.bytes())?;
            self.set_control(slot, Control { action: Action::ByState(profile.state), epoch: 0 })?;
            let anomalies = profile.anomalies;
            self.set_change_counts(slot, ChangeCounts { anomalies, ..ChangeCounts::default() })?;
            self.slots
                .update(&key_bytes(profile.key), &u32::to_ne_bytes(slot), MapFlags::ANY)
                .map_err(failed("insert a profile"))?;
        }
        let first_free = u32::try_from(profiles.len() + 1).unwrap_or(u32::MAX);
        self.write(&self.next_slot, 0, &u32_bytes(&[first_free, 0]))
    }

    /// Attaches the programs: they observe every call from now on.
    pub fn attach(&mut self) -> Result<(), Failure> {
        for name in PROGRAM_NAMES {
            let program = self.object.progs_mut().find(|program| program.name() == name);
            let program = program.ok_or_else(|| format!("pH has no program `{name}`"))?;
            let link = program.attach().map_err(failed("attach a program of pH"))?;
            self.links.push(link);
        }
        Ok(())
    }

    /// Detaches the programs.
    pub fn detach(&mut self) {
        // The last one first: without it no process is stopped any more.
        while let Some(link) = self.links.pop() {
            drop(link);
        }
    }

    /// The descriptor that becomes readable when there are events.
    pub fn readable(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
    }

    /// The events since the last call of this function.
    pub fn drain_events(&mut self) -> Result<Vec<Event>, Failure> {
        self.ring.consume().map_err(failed("read the events of pH"))?;
        Ok(mem::take(&mut *self.received.borrow_mut()))
    }

    /// The slots that belong to executables, from 1.
    pub fn slots_in_use(&self) -> Result<Range<u32>, Failure> {
        let [next, _] = read_u32s(&self.read(&self.next_slot, 0)?);
        Ok(1..next.min(self.slot_count))
    }

    /// The executables and their slots.
    pub fn executables(&self) -> Result<Vec<SlotEntry>, Failure> {
        let mut entries = Vec::new();
        for key in self.slots.keys() {
            let slot =
                self.slots.lookup(&key, MapFlags::ANY).map_err(failed("read a map of pH"))?;
            let entry =
                |slot: Vec<u8>| SlotEntry { key: read_key(&key), slot: read_u32s::<1>(&slot)[0] };
            entries.extend(slot.map(entry));
        }
        Ok(entries)
    }

    /// The slot of a process's executable; `None` if none of its calls was examined.
    pub fn slot_of(&self, process: u32) -> Result<Option<u32>, Failure> {
        let process = i32::try_from(process).ok().and_then(Pid::from_raw);
        let opened = process.and_then(|it| pidfd_open(it, PidfdFlags::empty()).ok());
        let Some(process) = opened else { return Ok(None) };
        // The key of task storage is a pidfd.
        let key = process.as_raw_fd().to_ne_bytes();
        let task = self.tasks.lookup(&key, MapFlags::ANY).map_err(failed("read a map of pH"))?;
        let slot = task.as_deref().and_then(slot_of_task);
        Ok(slot.filter(|slot| *slot != UNTRACKED_SLOT))
    }

    /// What is done with the calls of a slot.
    pub fn control(&self, slot: u32) -> Result<Control, Failure> {
        Ok(Control::from_bytes(&self.read(&self.controls, slot)?))
    }

    /// Sets what is done with the calls of a slot.
    pub fn set_control(&self, slot: u32, to: Control) -> Result<(), Failure> {
        self.write(&self.controls, slot, &to.bytes())
    }

    /// The counts of a slot that change only when something is new.
    pub fn change_counts(&self, slot: u32) -> Result<ChangeCounts, Failure> {
        Ok(ChangeCounts::from_bytes(&self.read(&self.change_counts, slot)?))
    }

    /// Sets them.
    pub fn set_change_counts(&self, slot: u32, to: ChangeCounts) -> Result<(), Failure> {
        self.write(&self.change_counts, slot, &to.bytes())
    }

    /// The counts of a slot's calls, summed over CPUs.
    pub fn call_counts(&self, slot: u32) -> Result<CallCounts, Failure> {
        let key = slot.to_ne_bytes();
        let values = self.call_counts.lookup_percpu(&key, MapFlags::ANY);
        let mut sum = CallCounts::default();
        for value in values.map_err(failed("read a map of pH"))?.unwrap_or_default() {
            sum.add(CallCounts::from_bytes(&value));
        }
        Ok(sum)
    }

    /// The pairs of a slot.
    pub fn pairs(&self, which: PairMap, slot: u32) -> Result<Pairs, Failure> {
        let bytes = self.read(self.pair_map(which), slot)?;
        Pairs::from_bytes(&bytes).ok_or_else(|| "the pairs of pH have another size".to_owned())
    }

    /// Copies the pairs of a slot from one map to the other.
    pub fn copy(&self, from: PairMap, to: PairMap, slot: u32) -> Result<(), Failure> {
        let bytes = self.read(self.pair_map(from), slot)?;
        self.write(self.pair_map(to), slot, &bytes)
    }

    /// The id of the map of stopped processes, by which another process can open it.
    pub fn stopped_id(&self) -> Result<u32, Failure> {
        Ok(self.stopped.info().map_err(failed("query a map of pH"))?.info.id)
    }

    /// The map of stopped processes.
    pub fn stopped_map(&self) -> &MapHandle {
        &self.stopped
    }

    fn pair_map(&self, which: PairMap) -> &MapHandle {
        match which {
            PairMap::Train => &self.train,
            PairMap::Test => &self.test,
        }
    }

    fn read(&self, map: &MapHandle, slot: u32) -> Result<Vec<u8>, Failure> {
        let value = map.lookup(&slot.to_ne_bytes(), MapFlags::ANY);
        let value = value.map_err(failed("read a map of pH"))?;
        value.ok_or_else(|| format!("a map of pH has no slot {slot}"))
    }

    fn write(&self, map: &MapHandle, slot: u32, value: &[u8]) -> Result<(), Failure> {
        let key = slot.to_ne_bytes();
        map.update(&key, value, MapFlags::ANY).map_err(failed("write to a map of pH"))
    }
}

/// The processes in a map of stopped processes.
pub fn stopped_pids(stopped: &MapHandle) -> Vec<u32> {
    stopped.keys().map(|key| read_u32s::<1>(&key)[0]).collect()
}

/// Removes a process from a map of stopped processes, if it is there.
pub fn remove_stopped(stopped: &MapHandle, process: u32) {
    let _ = stopped.delete(&process.to_ne_bytes());
}

/// Opens the map of stopped processes of another process by its id.
pub fn stopped_map_by_id(id: u32) -> Result<MapHandle, Failure> {
    MapHandle::from_map_id(id).map_err(failed("open the map of stopped processes"))
}

/// Sets the sizes of the maps, and the constants of the programs.
fn configure(
    open: &mut OpenObject,
    constants: &Constants,
    scope: Scope,
    sizes: MapSizes,
) -> Result<(), Failure> {
    let rules = layout::rules(constants, scope, sizes);
    let mut is_set = false;
    for mut map in open.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        match name.as_str() {
            "train" | "test" | "controls" | "change_counts" | "call_counts" | "slots" => {
                map.set_max_entries(sizes.slots).map_err(failed("size a map of pH"))?;
            }
            ".rodata.rules" => {
                if let Some(value) = map.initial_value_mut()
                    && value.len() == rules.len()
                {
                    value.copy_from_slice(&rules);
                    is_set = true;
                }
            }
            _ => {}
        }
    }
    is_set.then_some(()).ok_or_else(|| "the programs of pH have other constants".to_owned())
}

fn failed(act: &'static str) -> impl Fn(libbpf_rs::Error) -> Failure {
    move |error| format!("cannot {act}: {error:#}")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::ph::profiles::profile::State;
    use crate::ph::requirements::{Availability, BUILD, check_requirements};

    /// Why programs cannot be loaded here; `None` if they can.
    fn missing_requirement() -> Option<String> {
        check_requirements(BUILD, Path::new("/"))
            .into_iter()
            .find(|it| it.availability == Availability::No)
            .map(|it| it.detail)
    }

    fn loaded(profiles: &[Profile]) -> Option<Monitor> {
        if let Some(why) = missing_requirement() {
            println!("skipped: {why}");
            return None;
        }
        let own = std::process::id();
        let scope = Scope { tree: Some(1), monitor_pid: own, cleanup_pid: own };
        Some(Monitor::load(&Constants::default(), scope, profiles).unwrap())
    }

    #[test]
    fn the_kernel_accepts_the_programs_and_the_maps_contain_the_profiles() {
        let mut profile = Profile::new(Key { device: 5, inode: 6 }, "/x".to_owned());
        profile.train.add(59, 12, 3).unwrap();
        profile.test.add(59, 12, 1).unwrap();
        (profile.state, profile.anomalies) = (State::Normal, 4);
        let Some(monitor) = loaded(&[profile.clone()]) else { return };
        assert_eq!(monitor.slots_in_use().unwrap(), 1..2);
        assert_eq!(monitor.executables().unwrap(), [SlotEntry { key: profile.key, slot: 1 }]);
        assert_eq!(monitor.pairs(PairMap::Train, 1).unwrap(), profile.train);
        assert_eq!(monitor.pairs(PairMap::Test, 1).unwrap(), profile.test);
        let counts = ChangeCounts { anomalies: 4, ..ChangeCounts::default() };
        assert_eq!(monitor.change_counts(1).unwrap(), counts);
        let control = Control { action: Action::ByState(State::Normal), epoch: 0 };
        assert_eq!(monitor.control(1).unwrap(), control);
        assert_eq!(monitor.call_counts(1).unwrap(), CallCounts::default());
        monitor.copy(PairMap::Test, PairMap::Train, 1).unwrap();
        assert_eq!(monitor.pairs(PairMap::Train, 1).unwrap(), profile.test);
        assert!(stopped_pids(monitor.stopped_map()).is_empty());
        assert!(stopped_map_by_id(monitor.stopped_id().unwrap()).is_ok());
    }
}
