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
use super::layout::{class_entries, other_key};
use super::missing_requirement;
use super::process_times::living_descendants;
use super::totals::{Field, KeySum, State, program_calls};

/// The compiled programs (build.rs).
static PROGRAMS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/count.bpf.o"));

/// The programs in the order in which they are attached: what is followed and switched is known
/// before any call is counted, and the return of a call before its entry.
const PROGRAM_NAMES: [&str; 8] = [
    "count_switch",
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
        let classes = map("classes")?;
        for (number, entry) in class_entries(native()) {
            let key = number.to_ne_bytes();
            classes.update(&key, &entry, MapFlags::ANY).map_err(failed("insert a class"))?;
        }
        let forms = map("forms")?;
        let cpus = libbpf_rs::num_possible_cpus().map_err(failed("count the CPUs"))?;
        // What has no room is counted here: this entry must be there before.
        forms
            .update_percpu(&other_key(), &vec![vec![0; SUM_BYTES]; cpus], MapFlags::ANY)
            .map_err(failed("insert the last form"))?;
        Ok(Self {
            links: Vec::new(),
            states: map("states")?,
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
        // These find nothing to count before the state is written.
        let clock_functions = match self.library.clone() {
            Some(library) => Some(self.attach_clock_probes(&library)?),
            None => None,
        };
        self.sources = EventSources {
            clock_functions,
            fault_kinds: self.attach_where_possible(&FAULT_PROGRAMS),
            mapped_pages: self.attach_where_possible(&MAPPED_PROGRAMS),
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
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

    use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
    use nix::unistd::Pid;

    use super::*;
    use crate::counter::c_library::c_library_of_process;

    /// A counter; `None` with a message where programs cannot be loaded.
    fn counter() -> Option<KernelCounter> {
        match KernelCounter::load() {
            Ok(counter) => Some(counter),
            Err(why) => {
                assert!(missing_requirement().is_some(), "{why}");
                println!("skipped: {why}");
                None
            }
        }
    }

    /// A shell with pipes to its script.
    struct Shell {
        child: Child,
        input: ChildStdin,
        output: BufReader<ChildStdout>,
    }

    impl Shell {
        fn run(script: &str) -> Self {
            let mut command = Command::new("sh");
            command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = command.spawn().unwrap();
            let input = child.stdin.take().unwrap();
            let output = BufReader::new(child.stdout.take().unwrap());
            Self { child, input, output }
        }

        fn pid(&self) -> u32 {
            self.child.id()
        }

        /// Sends a line, which comes back.
        fn exchange_line(&mut self) {
            self.input.write_all(b"line\n").unwrap();
            let mut answer = String::new();
            self.output.read_line(&mut answer).unwrap();
            assert_eq!(answer, "line\n");
        }

        /// Ends its input, and waits for its end.
        fn end(self) -> ExitStatus {
            let Self { mut child, input, .. } = self;
            drop(input);
            child.wait().unwrap()
        }
    }

    fn times(calls: &ProgramCalls, form: &str, bytes: u64) -> u64 {
        let of_form = calls.forms.iter().filter(|it| it.form == form && it.bytes == Some(bytes));
        of_form.map(|it| it.calls).sum()
    }

    #[test]
    fn the_calls_of_a_running_process_are_counted_and_nothing_is_left() {
        let Some(mut counter) = counter() else { return };
        let script = "while read -r line; do echo \"$line\"; done";
        let mut shell = Shell::run(script);
        let pid = shell.pid();
        let stat = format!("/proc/{pid}/stat");
        let mut exchange = |lines: u32| {
            for _ in 0..lines {
                shell.exchange_line();
                // The shell waits in its next read: its last call has returned.
                while !fs::read_to_string(&stat).unwrap().contains(") S ") {
                    std::thread::yield_now();
                }
            }
        };
        exchange(1);
        counter.begin_process(pid, false).unwrap();
        let programs = &counter.current.as_ref().unwrap().programs;
        let map = programs.states.info().unwrap().info.id;
        exchange(20);
        counter.stop();
        exchange(1);
        let calls = counter.end().unwrap();
        // Each line is read byte by byte, and answered by one write of five bytes. The first byte
        // arrives in a call that had begun before.
        let found = (times(&calls, "read pipe", 1), times(&calls, "write pipe", 8));
        assert_eq!(found, (99, 20), "{calls:?}");
        assert_eq!((calls.lost, calls.killed, calls.unread), (0, 0, 0), "{calls:?}");
        let timed = calls.in_kernel.iter().find(|it| it.form == "read pipe").unwrap();
        let time = timed.time;
        assert_eq!(time.calls, 99);
        assert_eq!(timed.on_cpu_histogram.iter().map(|it| it.calls).sum::<u64>(), 99);
        assert!(time.on_cpu_ns > 0);
        // It waits once for the first byte of each line.
        assert!(time.off_cpu_ns > 0);
        let waits: u64 = timed.off_cpu_histogram.iter().map(|it| it.calls).sum();
        assert!((19..=99).contains(&waits), "{timed:?}");
        let events = calls.events.unwrap();
        assert!(events.voluntary_switches >= waits, "{events:?}");
        let [to_process, to_thread] =
            [events.voluntary_to_process, events.voluntary_to_thread].map(Option::unwrap);
        // The process has one thread: what runs after it is another process, or nothing.
        assert_eq!(to_thread, 0, "{events:?}");
        assert!(to_process <= events.voluntary_switches, "{events:?}");
        // The kernel removes the maps some time after the programs are gone that use them.
        while MapHandle::from_map_id(map).is_ok() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert!(shell.end().success());
    }

    #[test]
    fn what_a_child_does_that_was_there_before_is_counted() {
        let Some(mut counter) = counter() else { return };
        // The shell waits for its child, which answers.
        let mut shell = Shell::run("(while read -r line; do echo \"$line\"; done); exit 0");
        let pid = shell.pid();
        shell.exchange_line();
        let mut calls_of = |children: bool| {
            counter.begin_process(pid, children).unwrap();
            (0..20).for_each(|_| shell.exchange_line());
            counter.end().unwrap()
        };
        let (of_tree, of_shell) = (calls_of(true), calls_of(false));
        // The last write may return later than its line arrives.
        assert!(times(&of_tree, "write pipe", 8) >= 19, "{of_tree:?}");
        assert_eq!(times(&of_shell, "write pipe", 8), 0, "{of_shell:?}");
        assert!(shell.end().success());
    }

    #[test]
    fn nothing_begins_or_wakes_on_another_cpu_where_all_are_on_one() {
        let Some(mut counter) = counter() else { return };
        let script = "read -r line; for i in 1 2 3 4 5; do (:); done; echo \"$line\"; read -r line";
        let mut shell = Shell::run(script);
        let pid = Pid::from_raw(shell.pid().try_into().unwrap());
        let allowed = sched_getaffinity(pid).unwrap();
        let is_allowed = |cpu: &usize| allowed.is_set(*cpu).unwrap_or(false);
        let mut one = CpuSet::new();
        one.set((0..CpuSet::count()).find(is_allowed).unwrap()).unwrap();
        sched_setaffinity(pid, &one).unwrap();
        counter.begin_process(shell.pid(), true).unwrap();
        shell.exchange_line();
        let calls = counter.end().unwrap();
        assert_eq!(calls.forks, 5, "{calls:?}");
        let events = calls.events.unwrap();
        let begun = [events.forks_to_other_cpu, events.starts_on_other_cpu];
        let woken = [events.remote_wakes_after_idle, events.remote_wakes_after_switch];
        assert_eq!((begun, woken), ([Some(0); 2], [Some(0); 2]), "{events:?}");
        shell.end();
    }

    #[test]
    fn children_that_may_run_anywhere_begin_on_another_cpu() {
        let Some(mut counter) = counter() else { return };
        let allowed = sched_getaffinity(Pid::from_raw(0)).unwrap();
        let is_allowed = |cpu: &usize| allowed.is_set(*cpu).unwrap_or(false);
        if (0..CpuSet::count()).filter(is_allowed).count() < 2 {
            return println!("skipped: there is one CPU");
        }
        let script = "read -r line; i=0; while [ $i -lt 200 ]; do (:); i=$((i + 1)); done; \
                      echo \"$line\"; read -r line";
        let mut shell = Shell::run(script);
        counter.begin_process(shell.pid(), true).unwrap();
        shell.exchange_line();
        let calls = counter.end().unwrap();
        let events = calls.events.unwrap();
        let elsewhere = events.forks_to_other_cpu.unwrap();
        // Other tests may keep the other CPUs busy: some find one idle.
        assert!((1..=200).contains(&elsewhere), "{events:?}");
        assert_eq!((calls.forks, events.starts_on_other_cpu), (200, Some(0)), "{events:?}");
        shell.end();
    }

    #[test]
    fn clock_reads_are_counted_at_the_functions_of_the_c_library() {
        let Some(mut counter) = counter() else { return };
        let library = match c_library_of_process(std::process::id()) {
            Ok(library) => library,
            Err(why) => return println!("skipped: {why}"),
        };
        if let Err(why) = counter.count_clock_reads(&library) {
            assert!(!Path::new("/sys/bus/event_source/devices/uprobe").exists(), "{why}");
            return println!("skipped: {why}");
        }
        counter.begin_process(std::process::id(), false).unwrap();
        // From its first call on this thread is followed.
        assert!(fs::read("/proc/self/comm").is_ok());
        for _ in 0..100 {
            std::hint::black_box(Instant::now());
        }
        let reads = counter.end().unwrap().events.unwrap().clock_reads.unwrap();
        // Tests in other threads may read clocks, too.
        assert!(reads.clock_gettime >= 100, "{reads:?}");
    }

    #[test]
    fn a_program_without_a_mark_is_not_counted() {
        let Some(mut counter) = counter() else { return };
        counter.begin_program().unwrap();
        assert!(Command::new("true").status().unwrap().success());
        let why = counter.end().unwrap_err();
        assert!(why.contains("begin"), "{why}");
        assert!(counter.end().is_err());
        // The next one is loaded anew.
        counter.begin_process(std::process::id(), false).unwrap();
        assert!(counter.end().unwrap().calls() > 0);
    }
}
