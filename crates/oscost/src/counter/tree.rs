//! The programs in the kernel that count, and the maps that they share with this process.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, Object, ObjectBuilder};
use oscost_model::call_names::Arch;
use oscost_model::program_calls::ProgramCalls;

use super::clock_probes::{self, ClockProbes};
use super::event_sum::{ClockFunctions, EventSources, EventSum};
use super::form_sum::{FormSum, SUM_BYTES, Slot};
use super::layout::{class_table, other_key};
use super::missing_requirement;
use super::process_times::living_descendants;
use super::skipped_runs::skipped_runs;
use super::totals::{Field, KeySum, State, program_calls};

/// The compiled programs (build.rs).
static PROGRAMS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/count.bpf.o"));

/// The programs in the order in which they are attached, after that of switches: what is followed is known
/// before any call is counted, and the return of a call before its entry.
const PROGRAM_NAMES: [&str; 7] = [
    "count_waking",
    "count_signal",
    "count_exit",
    "count_exec",
    "count_fork",
    "count_return",
    "count_entry",
];

/// The programs that tell the kinds of faults: each needs all of the others. No kernel before Linux
/// 6.12 has the tracepoint of faults in files, and none of another processor than x86 those of faults.
const FAULT_PROGRAMS: [&str; 5] =
    ["see_new_page", "see_file", "see_pages", "begin_kernel_fault", "begin_user_fault"];

/// The program that counts the pages of files that faults map (Linux 6.12).
const MAPPED_PROGRAMS: [&str; 1] = ["see_mapped_pages"];

/// The program that tells whether an idle CPU has stopped its tick.
const TICK_PROGRAMS: [&str; 1] = ["see_tick_stop"];

/// The program that counts softirqs.
const SOFTIRQ_PROGRAMS: [&str; 1] = ["count_softirq"];

/// The programs that count interrupts. A timer of an x86 processor is no interrupt with a handler.
const INTERRUPT_PROGRAMS: &[&str] = if cfg!(target_arch = "x86_64") {
    &["count_interrupt", "count_timer"]
} else {
    &["count_interrupt"]
};

/// Counts calls in the kernel, of one program or process at a time.
pub struct KernelCounter {
    /// Loaded, for the next one.
    next: Option<Programs>,
    /// The C library whose clock reads are counted, too.
    library: Option<PathBuf>,
    current: Option<Counting>,
}

/// What is counted.
struct Counting {
    programs: Programs,
    subject: Subject,
}

enum Subject {
    /// A program that the process with the mark starts.
    Program,
    /// A process that runs, counted from this moment on, and for how long.
    Process { began: Instant, counted: Option<Duration> },
}

impl KernelCounter {
    /// Loads the programs; the error is why they cannot be loaded here. Nothing is attached.
    pub fn load() -> Result<Self, String> {
        if let Some(missing) = missing_requirement() {
            return Err(missing);
        }
        Ok(Self { next: Some(Programs::load(None)?), library: None, current: None })
    }

    /// Counts from now on the calls of the functions of this C library that read a clock, too. While
    /// something is counted, each such call of any process that has mapped the library takes a trap.
    pub fn count_clock_reads(&mut self, library: &Path) -> Result<(), String> {
        let mut programs = Programs::load(Some(library))?;
        // What can be attached now can be later.
        programs.attach_clock_probes(library)?;
        programs.detach();
        (self.next, self.library) = (Some(programs), Some(library.to_owned()));
        Ok(())
    }

    /// Programs that have counted nothing yet.
    fn fresh(&mut self) -> Result<Programs, String> {
        match self.next.take() {
            Some(programs) => Ok(programs),
            None => Programs::load(self.library.as_deref()),
        }
    }

    /// Begins to count the program that the process with a mark starts; returns the token of the mark.
    pub fn begin_program(&mut self) -> Result<u64, String> {
        // The lower half of a UUID of version 7 is random, but for two bits.
        let (_, token) = uuid::Uuid::now_v7().as_u64_pair();
        let mut programs = self.fresh()?;
        programs.attach(State::of_program(token))?;
        self.current = Some(Counting { programs, subject: Subject::Program });
        Ok(token)
    }

    /// Begins to count a process that runs, with all of its threads; with its descendants if
    /// `children`.
    pub fn begin_process(&mut self, process: u32, children: bool) -> Result<(), String> {
        let mut programs = self.fresh()?;
        programs.attach(State::of_process(process, children))?;
        programs.follow_threads(process)?;
        if children {
            programs.follow_descendants(process)?;
        }
        let subject = Subject::Process { began: Instant::now(), counted: None };
        self.current = Some(Counting { programs, subject });
        Ok(())
    }

    /// Counts no more: what was counted is read later. Nothing stays attached.
    pub fn stop(&mut self) {
        let Some(Counting { programs, subject }) = &mut self.current else { return };
        programs.detach();
        if let Subject::Process { began, counted } = subject {
            counted.get_or_insert_with(|| began.elapsed());
        }
    }

    /// Ends, and returns what was counted. Nothing stays attached.
    pub fn end(&mut self) -> Result<ProgramCalls, String> {
        self.stop();
        let Some(Counting { programs, subject }) = self.current.take() else {
            return Err("nothing was counted".to_owned());
        };
        let state = programs.state()?;
        let events = programs.event_sum()?.events(programs.sources);
        let calls = program_calls(&state, programs.sums()?, events, native());
        let lost = calls.lost.saturating_add(programs.skipped_runs()?);
        let calls = ProgramCalls { lost, ..calls };
        match subject {
            Subject::Program if state.get(Field::Root) == 0 => {
                Err("the counter did not see the program begin".to_owned())
            }
            Subject::Program if state.get(Field::HasEnded) == 0 => {
                Err("the counter did not see the program end".to_owned())
            }
            Subject::Program => Ok(calls),
            Subject::Process { counted, .. } => {
                let counted = counted.unwrap_or_default();
                let real_ns = u64::try_from(counted.as_nanos()).unwrap_or(u64::MAX);
                // What a watched process leaves is not killed.
                Ok(ProgramCalls { real_ns, killed: 0, ..calls })
            }
        }
    }
}

/// The processor that this program was built for: the feature `ebpf` knows no others.
fn native() -> Arch {
    if cfg!(target_arch = "aarch64") { Arch::Aarch64 } else { Arch::X86_64 }
}

/// The programs and their maps.
struct Programs {
    /// Detached first.
    links: Vec<Link>,
    object: Object,
    states: MapHandle,
    /// The tasks of a running process that are followed from the beginning.
    followed: MapHandle,
    /// The sums of most forms,
    slots: MapHandle,
    /// and those of the others.
    forms: MapHandle,
    events: MapHandle,
    sources: EventSources,
    /// The C library whose clock reads are counted.
    library: Option<PathBuf>,
}

impl Programs {
    fn load(library: Option<&Path>) -> Result<Self, String> {
        // libbpf's errors are returned; its log is for developers of the programs.
        libbpf_rs::set_print(None);
        let mut open = ObjectBuilder::default()
            .open_memory(PROGRAMS)
            .map_err(failed("read the programs that count"))?;
        for mut program in open.progs_mut() {
            if library.is_none() && clock_probes::is_probe(program.name()) {
                program.set_autoload(false);
            }
        }
        let object = open.load().map_err(failed("load the programs that count"))?;
        let map = |name: &str| {
            let found = object.maps().find(|map| map.name() == name);
            let found = found.ok_or_else(|| format!("the programs have no map `{name}`"))?;
            MapHandle::try_from(&found).map_err(failed("open a map"))
        };
        // libbpf names the maps of variables by their section.
        map(".data.classes")?
            .update(&0_u32.to_ne_bytes(), &class_table(native()), MapFlags::ANY)
            .map_err(failed("write the classes"))?;
        let forms = map("forms")?;
        let cpus = libbpf_rs::num_possible_cpus().map_err(failed("count the CPUs"))?;
        // What has no room is counted here: this entry must be there before.
        forms
            .update_percpu(&other_key(), &vec![vec![0; SUM_BYTES]; cpus], MapFlags::ANY)
            .map_err(failed("insert the last form"))?;
        Ok(Self {
            links: Vec::new(),
            states: map(".data.state")?,
            followed: map("followed")?,
            slots: map("slots")?,
            forms,
            events: map("events")?,
            sources: EventSources::default(),
            library: library.map(Path::to_owned),
            object,
        })
    }

    fn set_state(&self, state: State) -> Result<(), String> {
        let key = 0_u32.to_ne_bytes();
        self.states.update(&key, &state.bytes(), MapFlags::ANY).map_err(failed("write to a map"))
    }

    fn state(&self) -> Result<State, String> {
        let key = 0_u32.to_ne_bytes();
        let value = self.states.lookup(&key, MapFlags::ANY).map_err(failed("read a map"))?;
        value.as_deref().map(State::from_bytes).ok_or_else(|| "a map is empty".to_owned())
    }

    /// Attaches the programs, which then count what `state` says.
    fn attach(&mut self, state: State) -> Result<(), String> {
        // Detached last: what a task does is at its CPU until a switch takes it off.
        let switches = self.link("count_switch")?;
        self.links.push(switches);
        // These find nothing to count before the state is written.
        let clock_functions = match self.library.clone() {
            Some(library) => Some(self.attach_clock_probes(&library)?),
            None => None,
        };
        self.sources = EventSources {
            clock_functions,
            fault_kinds: self.attach_where_possible(&FAULT_PROGRAMS),
            mapped_pages: self.attach_where_possible(&MAPPED_PROGRAMS),
            ticks: self.attach_where_possible(&TICK_PROGRAMS),
            softirqs: self.attach_where_possible(&SOFTIRQ_PROGRAMS),
            interrupts: self.attach_where_possible(INTERRUPT_PROGRAMS),
        };
        self.set_state(state.with(Field::TellsKinds, self.sources.fault_kinds.into()))?;
        for name in PROGRAM_NAMES {
            let link = self.link(name)?;
            self.links.push(link);
        }
        Ok(())
    }

    /// Attaches all of these programs, or none if the kernel lacks a tracepoint of one; whether it did.
    fn attach_where_possible(&mut self, names: &[&str]) -> bool {
        let links: Result<Vec<Link>, String> = names.iter().map(|name| self.link(name)).collect();
        let is_attached = links.is_ok();
        self.links.extend(links.into_iter().flatten());
        is_attached
    }

    /// Attaches the programs that count clock reads; at which functions beside clock_gettime(2).
    fn attach_clock_probes(&mut self, library: &Path) -> Result<ClockFunctions, String> {
        let ClockProbes { links, functions } = clock_probes::attach(&self.object, library)?;
        self.links.extend(links);
        Ok(functions)
    }

    fn link(&self, name: &str) -> Result<Link, String> {
        let program = self.object.progs_mut().find(|program| program.name() == name);
        let program = program.ok_or_else(|| format!("there is no program `{name}`"))?;
        program.attach().map_err(failed("attach a program that counts"))
    }

    /// Detaches the programs, the last one first.
    fn detach(&mut self) {
        while let Some(link) = self.links.pop() {
            drop(link);
        }
    }

    /// Follows the descendants of a process that is followed: what one has created before it was
    /// followed is found by the next look.
    fn follow_descendants(&self, process: u32) -> Result<(), String> {
        let mut seen = BTreeSet::new();
        loop {
            let descendants = living_descendants(process).into_iter();
            let fresh: Vec<u32> = descendants.filter(|&it| seen.insert(it)).collect();
            if fresh.is_empty() {
                return Ok(());
            }
            for descendant in fresh {
                let followed = self.follow_threads(descendant);
                // One that has ended is not missed.
                if followed.is_err() && Path::new(&format!("/proc/{descendant}")).exists() {
                    followed?;
                }
            }
        }
    }

    /// Follows the threads of a process, which may create others meanwhile: those of followed ones are
    /// followed by the programs.
    fn follow_threads(&self, process: u32) -> Result<(), String> {
        let entry = 1_u32.to_ne_bytes();
        let mut seen = BTreeSet::new();
        loop {
            let threads = threads(process)?;
            let fresh: Vec<u32> = threads.into_iter().filter(|&it| seen.insert(it)).collect();
            if fresh.is_empty() {
                return Ok(());
            }
            for thread in fresh {
                let key = thread.to_ne_bytes();
                let inserted = self.followed.update(&key, &entry, MapFlags::NO_EXIST);
                let found = self.followed.lookup(&key, MapFlags::ANY);
                let is_there = found.is_ok_and(|it| it.is_some());
                if let (Err(error), false) = (inserted, is_there) {
                    return Err(format!("cannot follow thread {thread}: {error:#}"));
                }
                // One that had ended before leaves its number to others.
                if !Path::new(&format!("/proc/{process}/task/{thread}")).exists() {
                    let _ = self.followed.delete(&key);
                }
            }
        }
    }

    /// What was counted besides calls.
    fn event_sum(&self) -> Result<EventSum, String> {
        let key = 0_u32.to_ne_bytes();
        let values = self.events.lookup_percpu(&key, MapFlags::ANY);
        let values = values.map_err(failed("read a map"))?.unwrap_or_default();
        let of_cpus = values.iter().map(|value| EventSum::from_bytes(value));
        Ok(of_cpus.fold(EventSum::default(), EventSum::plus))
    }

    /// How often the kernel has left out one of the programs.
    fn skipped_runs(&self) -> Result<u64, String> {
        let mut skipped: u64 = 0;
        for program in self.object.progs() {
            // What was not loaded has no descriptor.
            if self.library.is_some() || !clock_probes::is_probe(program.name()) {
                skipped = skipped.saturating_add(skipped_runs(&program)?);
            }
        }
        Ok(skipped)
    }

    /// What was counted, by form: a form may be in a slot of one CPU and not in that of another one.
    fn sums(&self) -> Result<Vec<KeySum>, String> {
        let mut sums = Vec::new();
        for slot in 0..self.slots.max_entries() {
            let values = self.slots.lookup_percpu(&slot.to_ne_bytes(), MapFlags::ANY);
            let values = values.map_err(failed("read a map"))?.unwrap_or_default();
            let slots = values.iter().filter_map(|value| Slot::parse(value));
            sums.extend(slots.map(|Slot { key, sum }| KeySum {
                key: key.to_vec(),
                sum: FormSum::from_bytes(sum),
            }));
        }
        for key in self.forms.keys() {
            let values = self.forms.lookup_percpu(&key, MapFlags::ANY);
            let values = values.map_err(failed("read a map"))?.unwrap_or_default();
            let of_cpus = values.iter().map(|value| FormSum::from_bytes(value));
            sums.push(KeySum { key, sum: of_cpus.fold(FormSum::default(), FormSum::plus) });
        }
        Ok(sums)
    }
}

fn threads(process: u32) -> Result<Vec<u32>, String> {
    let entries = fs::read_dir(format!("/proc/{process}/task"))
        .map_err(|error| format!("the threads of process {process} cannot be listed: {error}"))?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}

fn failed(act: &'static str) -> impl Fn(libbpf_rs::Error) -> String {
    move |error| format!("cannot {act}: {error:#}")
}

#[cfg(test)]
mod tests;
