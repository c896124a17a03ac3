//! The programs in the kernel, and what they share with the process that holds them.
//!
//! Descriptors hold them: nothing is pinned, and whoever has this ends, however that comes about,
//! and they are gone.

use std::cell::RefCell;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::rc::Rc;

use libbpf_rs::{
    Link, MapCore, MapFlags, MapHandle, Object, ObjectBuilder, OpenObject, RingBuffer,
};

use nix::libc;
use oscost_model::mark;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::constants::Constants;
use super::event::Event;
use super::profile::{Key, Pairs, Profile, State};

/// The programs, compiled (build.rs).
static PROGRAMS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/ph.bpf.o"));

/// The slot of calls that belong to no profile.
pub const UNTRACKED_SLOT: u32 = 0;
/// Room for executables that are seen for the first time, half a MiB each. A build of a program
/// takes ten, a day at a desk some hundred.
const NEW_EXECUTABLE_SLOTS: usize = 128;

/// Why the programs do not run here.
type Failure = String;

/// Who is looked at, and who is not.
#[derive(Clone, Copy, Debug)]
pub struct Scope {
    /// The process whose tree it is; `None` for all processes.
    pub tree: Option<u32>,
    /// The process that holds the programs, and the one that watches over it.
    pub excluded: [u32; 2],
}

/// What is done with the calls of an executable (`enum state` of the programs).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// What the profile's state says.
    ByState(State),
    /// They are only counted, since the profile is being copied.
    Paused,
    /// They are held against what is normal, and no more is learnt until it is undone.
    Unlearn,
}

/// `struct control`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// What is done.
    pub action: Action,
    /// A new one begins all locality frames anew.
    pub epoch: u32,
}

/// `struct counts`, of all CPUs together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls.
    pub calls: u64,
    /// Those that were looked at to learn.
    pub trained: u64,
    /// Of the stranger: calls for which the kernel had no memory.
    pub lost: u64,
    /// Of the stranger: events and executables for which there was no room.
    pub dropped: u64,
}

/// `struct rare`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RareCounts {
    /// Calls that brought new pairs.
    pub changes: u64,
    /// [`Counts::trained`] at the last of them.
    pub changed_at: u64,
    /// Anomalies since it became normal.
    pub anomalies: u64,
}

/// What was learnt, or what is normal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairMap {
    /// What was learnt.
    Train,
    /// What is normal.
    Test,
}

/// The programs and their maps.
pub struct Monitor {
    links: Vec<Link>,
    /// Attached by name, in this order: who exists is known before who calls.
    object: Object,
    ring: RingBuffer<'static>,
    heard: Rc<RefCell<Vec<Event>>>,
    events: MapHandle,
    train: MapHandle,
    test: MapHandle,
    controls: MapHandle,
    rares: MapHandle,
    counted: MapHandle,
    next: MapHandle,
    slots: MapHandle,
    stopped: MapHandle,
    tasks: MapHandle,
    room: u32,
}

/// The programs, in the order in which they are attached.
const PROGRAMS_BY_NAME: [&str; 3] = ["ph_fork", "ph_exec", "ph_call"];

impl Monitor {
    /// Brings the programs into the kernel, with what is known already: the first profile gets slot
    /// 1. Nothing runs before [`Monitor::attach`].
    pub fn load(rules: &Constants, whom: Scope, known: &[Profile]) -> Result<Self, Failure> {
        // What libbpf has to say is in the error; the rest is for whoever writes a program.
        libbpf_rs::set_print(None);
        let room = u32::try_from(known.len() + NEW_EXECUTABLE_SLOTS)
            .map_err(|_| "too many profiles".to_owned())?;
        let cpus = libbpf_rs::num_possible_cpus().map_err(failed("count the CPUs"))?;
        let mut open = ObjectBuilder::default()
            .open_memory(PROGRAMS)
            .map_err(failed("read the programs of pH"))?;
        prepare(&mut open, &settings(rules, whom, room, cpus), room)?;
        let object = open.load().map_err(failed("load the programs of pH"))?;
        let map = |name: &str| {
            let found = object.maps().find(|map| map.name() == name);
            let found = found.ok_or_else(|| format!("the programs of pH have no map `{name}`"))?;
            MapHandle::try_from(&found).map_err(failed("hold a map"))
        };
        let heard = Rc::new(RefCell::new(Vec::new()));
        let events = map("events")?;
        let mut ring = libbpf_rs::RingBufferBuilder::new();
        let hears = Rc::clone(&heard);
        ring.add(&events, move |bytes| {
            hears.borrow_mut().extend(Event::read(bytes));
            0
        })
        .map_err(failed("listen to the programs of pH"))?;
        let ring = ring.build().map_err(failed("listen to the programs of pH"))?;
        let monitor = Self {
            links: Vec::new(),
            ring,
            heard,
            events,
            train: map("train")?,
            test: map("test")?,
            controls: map("controls")?,
            rares: map("rares")?,
            counted: map("counted")?,
            next: map("next")?,
            slots: map("slots")?,
            stopped: map("stopped")?,
            tasks: map("tasks")?,
            room,
            object,
        };
        monitor.fill(known)?;
        Ok(monitor)
    }

    /// Puts in what is known.
    fn fill(&self, known: &[Profile]) -> Result<(), Failure> {
        for (slot, profile) in (1..).zip(known) {
            self.write(&self.train, slot, profile.train.bytes())?;
            self.write(&self.test, slot, profile.test.bytes())?;
            self.set_control(slot, Control { action: Action::ByState(profile.state), epoch: 0 })?;
            self.set_rare(
                slot,
                RareCounts { anomalies: profile.anomalies, ..RareCounts::default() },
            )?;
            let key = [profile.key.device.to_ne_bytes(), profile.key.inode.to_ne_bytes()].concat();
            self.slots
                .update(&key, &u32::to_ne_bytes(slot), MapFlags::ANY)
                .map_err(failed("put in a profile"))?;
        }
        let first_free = u32::try_from(known.len() + 1).unwrap_or(u32::MAX);
        self.write(&self.next, 0, &words(&[first_free, 0]))
    }

    /// From now on every call is seen.
    pub fn attach(&mut self) -> Result<(), Failure> {
        for name in PROGRAMS_BY_NAME {
            let program = self.object.progs_mut().find(|program| program.name() == name);
            let program = program.ok_or_else(|| format!("pH has no program `{name}`"))?;
            let link = program.attach().map_err(failed("attach a program of pH"))?;
            self.links.push(link);
        }
        Ok(())
    }

    /// From now on none is.
    pub fn detach(&mut self) {
        // The last one first: without it nobody is stopped any more.
        while let Some(link) = self.links.pop() {
            drop(link);
        }
    }

    /// Becomes readable when something was said.
    pub fn readable(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
    }

    /// What was said since.
    pub fn drain_events(&mut self) -> Result<Vec<Event>, Failure> {
        self.ring.consume().map_err(failed("listen to the programs of pH"))?;
        Ok(mem::take(&mut *self.heard.borrow_mut()))
    }

    /// The slots that are given away, from 1.
    pub fn slots_in_use(&self) -> Result<std::ops::Range<u32>, Failure> {
        let [next, _] = halves(&self.read(&self.next, 0)?);
        Ok(1..next.min(self.room))
    }

    /// Which executable has which slot.
    pub fn executables(&self) -> Result<Vec<(Key, u32)>, Failure> {
        let mut all = Vec::new();
        for key in self.slots.keys() {
            let slot = self.slots.lookup(&key, MapFlags::ANY).map_err(failed("read a map"))?;
            let [device, inode] = longs(&key);
            all.extend(slot.map(|slot| (Key { device, inode }, halves::<1>(&slot)[0])));
        }
        Ok(all)
    }

    /// The slot of what a process runs; `None` where none of its calls was looked at.
    pub fn slot_of(&self, process: u32) -> Result<Option<u32>, Failure> {
        /// Where a `struct task` says it: behind five numbers of 64 bits.
        const AT: usize = 40;
        // The storage of tasks is asked for by a descriptor of the process.
        let process = i32::try_from(process).ok().and_then(Pid::from_raw);
        let opened = process.and_then(|it| pidfd_open(it, PidfdFlags::empty()).ok());
        let Some(process) = opened else { return Ok(None) };
        let of = process.as_raw_fd().to_ne_bytes();
        let task = self.tasks.lookup(&of, MapFlags::ANY).map_err(failed("read a map"))?;
        let slot = task.as_deref().and_then(|task| task.get(AT..)).map(|rest| halves::<1>(rest)[0]);
        Ok(slot.filter(|slot| *slot != UNTRACKED_SLOT))
    }

    /// What is done with the calls of a slot.
    pub fn control(&self, slot: u32) -> Result<Control, Failure> {
        let [state, epoch] = halves(&self.read(&self.controls, slot)?);
        let does = match state {
            0 => Action::ByState(State::Training),
            1 => Action::ByState(State::Frozen),
            2 => Action::ByState(State::Normal),
            3 => Action::Paused,
            _ => Action::Unlearn,
        };
        Ok(Control { action: does, epoch })
    }

    /// Changes it.
    pub fn set_control(&self, slot: u32, to: Control) -> Result<(), Failure> {
        let state = match to.action {
            Action::ByState(State::Training) => 0,
            Action::ByState(State::Frozen) => 1,
            Action::ByState(State::Normal) => 2,
            Action::Paused => 3,
            Action::Unlearn => 4,
        };
        self.write(&self.controls, slot, &words(&[state, to.epoch]))
    }

    /// How often something new came to a slot.
    pub fn rare(&self, slot: u32) -> Result<RareCounts, Failure> {
        let [changes, changed_at, anomalies] = longs(&self.read(&self.rares, slot)?);
        Ok(RareCounts { changes, changed_at, anomalies })
    }

    /// Changes it.
    pub fn set_rare(&self, slot: u32, to: RareCounts) -> Result<(), Failure> {
        let all = [to.changes, to.changed_at, to.anomalies, 0, 0, 0, 0, 0];
        self.write(&self.rares, slot, &all.map(u64::to_ne_bytes).concat())
    }

    /// The calls of a slot, of all CPUs.
    pub fn counts(&self, slot: u32) -> Result<Counts, Failure> {
        let key = slot.to_ne_bytes();
        let values = self.counted.lookup_percpu(&key, MapFlags::ANY).map_err(failed("count"))?;
        let mut sum = Counts::default();
        for value in values.unwrap_or_default() {
            let [calls, trained, lost, unsaid] = longs(&value);
            sum.calls += calls;
            sum.trained += trained;
            sum.lost += lost;
            sum.dropped += unsaid;
        }
        Ok(sum)
    }

    /// The pairs of a slot.
    pub fn pairs(&self, which: PairMap, slot: u32) -> Result<Pairs, Failure> {
        let bytes = self.read(self.map(which), slot)?;
        Pairs::from_bytes(&bytes).ok_or_else(|| "the pairs of pH have another size".to_owned())
    }

    /// Makes one of the two like the other.
    pub fn copy(&self, from: PairMap, to: PairMap, slot: u32) -> Result<(), Failure> {
        let bytes = self.read(self.map(from), slot)?;
        self.write(self.map(to), slot, &bytes)
    }

    /// The number by which another process finds the list of those that are stopped.
    pub fn stopped_id(&self) -> Result<u32, Failure> {
        Ok(self.stopped.info().map_err(failed("look at a map"))?.info.id)
    }

    /// The list of those that are stopped.
    pub fn stopped(&self) -> &MapHandle {
        &self.stopped
    }

    fn map(&self, which: PairMap) -> &MapHandle {
        match which {
            PairMap::Train => &self.train,
            PairMap::Test => &self.test,
        }
    }

    fn read(&self, map: &MapHandle, slot: u32) -> Result<Vec<u8>, Failure> {
        let value = map.lookup(&slot.to_ne_bytes(), MapFlags::ANY).map_err(failed("read a map"))?;
        value.ok_or_else(|| format!("a map of pH has no slot {slot}"))
    }

    fn write(&self, map: &MapHandle, slot: u32, value: &[u8]) -> Result<(), Failure> {
        map.update(&slot.to_ne_bytes(), value, MapFlags::ANY).map_err(failed("write to a map"))
    }
}

/// The processes that stand on a list of those that are stopped.
pub fn stopped_pids(stopped: &MapHandle) -> Vec<u32> {
    stopped.keys().map(|key| halves::<1>(&key)[0]).collect()
}

/// Takes a process off it. That it is gone from there is as good.
pub fn remove_stopped(stopped: &MapHandle, process: u32) {
    let _ = stopped.delete(&process.to_ne_bytes());
}

/// Another process's list, by its number.
pub fn stopped_map_by_id(id: u32) -> Result<MapHandle, Failure> {
    MapHandle::from_map_id(id).map_err(failed("find the list of stopped processes"))
}

/// `struct rules`.
fn settings(rules: &Constants, whom: Scope, slots: u32, cpus: usize) -> Vec<u8> {
    let [holder, guard] = whom.excluded;
    words(&[
        rules.window.saturating_sub(1),
        rules.locality_frame,
        rules.anomaly_limit,
        rules.tolerise_limit,
        u32::from(rules.delay_factor > 0),
        whom.tree.unwrap_or(0),
        holder,
        guard,
        slots,
        u32::try_from(cpus).unwrap_or(u32::MAX),
        libc::SYS_prctl as u32,
        mark::OPTION,
        mark::BEGIN,
        mark::END,
    ])
}

/// Sizes the maps, and fixes what to do.
fn prepare(open: &mut OpenObject, settings: &[u8], room: u32) -> Result<(), Failure> {
    let mut is_set = false;
    for mut map in open.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        match name.as_str() {
            "train" | "test" | "controls" | "rares" | "counted" | "slots" => {
                map.set_max_entries(room).map_err(failed("size a map"))?;
            }
            ".rodata.rules" => {
                if let Some(value) = map.initial_value_mut()
                    && value.len() == settings.len()
                {
                    value.copy_from_slice(settings);
                    is_set = true;
                }
            }
            _ => {}
        }
    }
    is_set.then_some(()).ok_or_else(|| "the programs of pH take other settings".to_owned())
}

fn failed(act: &'static str) -> impl Fn(libbpf_rs::Error) -> Failure {
    move |error| format!("cannot {act}: {error:#}")
}

fn words(all: &[u32]) -> Vec<u8> {
    all.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// The first numbers in some bytes; 0 for those that are not there.
fn halves<const N: usize>(bytes: &[u8]) -> [u32; N] {
    let mut all =
        bytes.chunks_exact(4).filter_map(|it| Some(u32::from_ne_bytes(it.try_into().ok()?)));
    [(); N].map(|()| all.next().unwrap_or(0))
}

fn longs<const N: usize>(bytes: &[u8]) -> [u64; N] {
    let mut all =
        bytes.chunks_exact(8).filter_map(|it| Some(u64::from_ne_bytes(it.try_into().ok()?)));
    [(); N].map(|()| all.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::ph::requirements::{Availability, BUILD, check_requirements};

    /// Why no program can be loaded here, if none can.
    fn lacking() -> Option<String> {
        check_requirements(BUILD, Path::new("/"))
            .into_iter()
            .find(|it| it.availability == Availability::No)
            .map(|it| it.detail)
    }

    fn loaded(known: &[Profile]) -> Option<Monitor> {
        if let Some(why) = lacking() {
            println!("skipped: {why}");
            return None;
        }
        let never = [std::process::id(); 2];
        Some(
            Monitor::load(&Constants::default(), Scope { tree: Some(1), excluded: never }, known)
                .unwrap(),
        )
    }

    #[test]
    fn settings_are_laid_out_as_the_programs_read_them() {
        let whom = Scope { tree: Some(7), excluded: [8, 9] };
        let bytes = settings(&Constants::default(), whom, 10, 11);
        assert_eq!(halves(&bytes), [8, 128, 30, 12, 0, 7, 8, 9, 10, 11]);
        let marks = [libc::SYS_prctl as u32, mark::OPTION, mark::BEGIN, mark::END];
        assert_eq!(halves(&bytes[40..]), marks);
        assert_eq!(bytes.len(), 56);
        let delays = Constants { delay_factor: 3, window: 2, ..Constants::default() };
        let all = Scope { tree: None, ..whom };
        assert_eq!(halves(&settings(&delays, all, 10, 11)), [1, 128, 30, 12, 1, 0]);
    }

    #[test]
    fn numbers_are_read_from_as_many_bytes_as_there_are() {
        assert_eq!(halves::<2>(&[1, 0, 0]), [0, 0]);
        assert_eq!(longs::<2>(&words(&[1, 0])), [1, 0]);
    }

    #[test]
    fn the_kernel_takes_the_programs_and_keeps_what_is_known() {
        let mut known = Profile::new(Key { device: 5, inode: 6 }, "/x".to_owned());
        known.train.add(59, 12, 3).unwrap();
        known.test.add(59, 12, 1).unwrap();
        (known.state, known.anomalies) = (State::Normal, 4);
        let Some(monitor) = loaded(&[known.clone()]) else { return };
        assert_eq!(monitor.slots_in_use().unwrap(), 1..2);
        assert_eq!(monitor.executables().unwrap(), [(known.key, 1)]);
        assert_eq!(monitor.pairs(PairMap::Train, 1).unwrap(), known.train);
        assert_eq!(monitor.pairs(PairMap::Test, 1).unwrap(), known.test);
        assert_eq!(monitor.rare(1).unwrap(), RareCounts { anomalies: 4, ..RareCounts::default() });
        let plainly = Control { action: Action::ByState(State::Normal), epoch: 0 };
        assert_eq!(monitor.control(1).unwrap(), plainly);
        assert_eq!(monitor.counts(1).unwrap(), Counts::default());
        monitor.copy(PairMap::Test, PairMap::Train, 1).unwrap();
        assert_eq!(monitor.pairs(PairMap::Train, 1).unwrap(), known.test);
        assert!(stopped_pids(monitor.stopped()).is_empty());
        assert!(stopped_map_by_id(monitor.stopped_id().unwrap()).is_ok());
    }
}
