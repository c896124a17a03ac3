//! What the kernel has charged a running process, as /proc tells it.
//!
//! User and system time are those of /proc/PID/stat: the kernel divides the exact CPU time of all
//! threads, those that have ended too, by what clock ticks have interrupted, and tells it in
//! hundredths of a second.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use oscost_model::program::{MAX_COMMAND_BYTES, MAX_COMMAND_WORDS};
use oscost_model::untrusted_text::is_control;

/// The unit of times in /proc/PID/stat: USER_HZ is 100 on every processor that oscost knows.
const TICK_NS: u64 = 10_000_000;
/// How often a process is read, in case it ends: its times are then this old at most.
const INTERVAL: Duration = Duration::from_millis(50);
/// The same of a process with its children, for which all of /proc is read.
const TREE_INTERVAL: Duration = Duration::from_millis(500);
/// The tree of a process is not followed further down: a circle in what /proc tells meanwhile ends.
const MAX_PROCESSES: usize = 100_000;

/// What /proc/PID/stat tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ProcessStat {
    state: char,
    parent: u32,
    usage: ProcessUsage,
    /// That of children that were waited for.
    of_ended_children: ProcessUsage,
    threads: u32,
    /// When it was created, in ticks since the boot: another process with its number has another.
    start: u64,
}

/// Times and faults of one process or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessUsage {
    /// CPU time in user mode, in nanoseconds.
    pub user_ns: u64,
    /// CPU time in the kernel, in nanoseconds.
    pub system_ns: u64,
    /// Page faults without a disk.
    pub minor_faults: u64,
    /// Page faults with a disk.
    pub major_faults: u64,
}

impl ProcessUsage {
    fn plus(self, other: Self) -> Self {
        Self {
            user_ns: self.user_ns.saturating_add(other.user_ns),
            system_ns: self.system_ns.saturating_add(other.system_ns),
            minor_faults: self.minor_faults.saturating_add(other.minor_faults),
            major_faults: self.major_faults.saturating_add(other.major_faults),
        }
    }

    /// Since an earlier reading; `None` if it is smaller: a child has ended that nobody waited for,
    /// and its part is lost.
    pub fn since(self, earlier: Self) -> Option<Self> {
        Some(Self {
            user_ns: self.user_ns.checked_sub(earlier.user_ns)?,
            system_ns: self.system_ns.checked_sub(earlier.system_ns)?,
            minor_faults: self.minor_faults.checked_sub(earlier.minor_faults)?,
            major_faults: self.major_faults.checked_sub(earlier.major_faults)?,
        })
    }
}

/// What a thread was charged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadUsage {
    /// Nanoseconds on a CPU.
    pub on_cpu_ns: u64,
    /// Context switches since it waited.
    pub voluntary_switches: u64,
    /// Context switches since another task was to run.
    pub involuntary_switches: u64,
}

/// A reading of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Reading {
    /// Times and faults, with those of children if these are followed.
    usage: ProcessUsage,
    /// What each of its threads was charged, of those whose files could be read; `None` if they were
    /// not read, as with descendants, whose threads end in the meantime.
    threads: Option<BTreeMap<u32, ThreadUsage>>,
    /// The number of its threads.
    thread_count: u32,
    /// When the process was created.
    start: u64,
    has_ended: bool,
    /// When it was read.
    at: Instant,
}

/// Reads a process, with its descendants if `children`, but not its threads; `None` if it is not there.
fn read(process: u32, children: bool) -> Option<Reading> {
    let stat = stat_of(process)?;
    let usage = if children { tree_usage(process)? } else { stat.usage };
    Some(Reading {
        usage,
        threads: None,
        thread_count: stat.threads,
        start: stat.start,
        has_ended: has_ended(&stat),
        at: Instant::now(),
    })
}

/// Whether a process is this one, or this one's parent, or that one's, and so on.
pub fn is_own_or_ancestor(process: u32) -> bool {
    let mut current = std::process::id();
    let mut seen = BTreeSet::new();
    while current != 0 && seen.insert(current) {
        if current == process {
            return true;
        }
        current = stat_of(current).map_or(0, |stat| stat.parent);
    }
    false
}

/// The process that a task is a thread of; `None` if it is not there.
pub fn process_of(task: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{task}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
}

/// The words of the command line of a process, or its name in brackets, as ps(1) shows it. They are
/// within the bounds of a command.
pub fn command_of(process: u32) -> Vec<String> {
    let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let words = words_of(&line);
    if !words.is_empty() {
        return words;
    }
    let name = fs::read(format!("/proc/{process}/comm")).unwrap_or_default();
    vec![format!("[{}]", readable(name.trim_ascii_end()))]
}

/// The words of /proc/PID/cmdline, as many as a command may have. A process writes there what it
/// wants.
fn words_of(line: &[u8]) -> Vec<String> {
    let line = line.get(..MAX_COMMAND_BYTES).unwrap_or(line);
    let mut words: Vec<String> = Vec::new();
    let mut left = MAX_COMMAND_BYTES;
    let found = line.split(|&byte| byte == 0).filter(|word| !word.is_empty());
    for word in found.take(MAX_COMMAND_WORDS) {
        // A replaced character is longer than what it stands for.
        let word = first_bytes(readable(word), left);
        if word.is_empty() {
            break;
        }
        left -= word.len();
        words.push(word);
    }
    words
}

/// The text of these bytes. What is no text, and what controls a terminal except the lines and tabs
/// of scripts, is replaced: a bill with it could not be read back.
fn readable(bytes: &[u8]) -> String {
    let replaced = |letter: char| match letter {
        '\n' | '\t' => letter,
        _ if is_control(letter) => char::REPLACEMENT_CHARACTER,
        _ => letter,
    };
    String::from_utf8_lossy(bytes).chars().map(replaced).collect()
}

/// A text without the characters that end after so many bytes.
fn first_bytes(mut text: String, max_bytes: usize) -> String {
    if text.len() > max_bytes {
        let is_within = |at: &usize| text.is_char_boundary(*at);
        let end = (0..=max_bytes).rev().find(is_within).unwrap_or(0);
        text.truncate(end);
    }
    text
}

fn stat_of(process: u32) -> Option<ProcessStat> {
    parse_stat(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
}

/// Parses proc_pid_stat(5). The name of the process, which may contain anything, is in brackets.
fn parse_stat(text: &str) -> Option<ProcessStat> {
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    // The first one is the third of the manual.
    let field = |number: usize| fields.get(number.checked_sub(3)?).copied();
    let number = |at: usize| field(at)?.parse::<u64>().ok();
    let ns = |at: usize| Some(number(at)?.saturating_mul(TICK_NS));
    Some(ProcessStat {
        state: field(3)?.chars().next()?,
        parent: field(4)?.parse().ok()?,
        usage: ProcessUsage {
            user_ns: ns(14)?,
            system_ns: ns(15)?,
            minor_faults: number(10)?,
            major_faults: number(12)?,
        },
        of_ended_children: ProcessUsage {
            user_ns: ns(16)?,
            system_ns: ns(17)?,
            minor_faults: number(11)?,
            major_faults: number(13)?,
        },
        threads: field(20)?.parse().ok()?,
        start: number(22)?,
    })
}

/// The usage of a process and its descendants, with that of descendants that were waited for: what
/// a child was charged does not get lost when its parent waits for it.
fn tree_usage(root: u32) -> Option<ProcessUsage> {
    usage_below(root, &all_stats()?)
}

/// The descendants of a process that are there, and that have not ended.
pub fn living_descendants(process: u32) -> Vec<u32> {
    let stats = all_stats().unwrap_or_default();
    let mut below = tree_below(process, &stats);
    let lives = |it: &u32| stats.get(it).is_some_and(|stat| !has_ended(stat));
    below.retain(|it| *it != process && lives(it));
    below
}

/// Whether all threads of a process have ended: the first one may end before others.
fn has_ended(stat: &ProcessStat) -> bool {
    matches!(stat.state, 'Z' | 'X') && stat.threads <= 1
}

fn all_stats() -> Option<BTreeMap<u32, ProcessStat>> {
    let entries = fs::read_dir("/proc").ok()?.flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    Some(numbers.filter_map(|process| Some((process, stat_of(process)?))).collect())
}

fn usage_below(root: u32, stats: &BTreeMap<u32, ProcessStat>) -> Option<ProcessUsage> {
    let of_tree = tree_below(root, stats).into_iter().filter_map(|process| stats.get(&process));
    let sum = of_tree.fold(ProcessUsage::default(), |sum, stat| {
        sum.plus(stat.usage).plus(stat.of_ended_children)
    });
    stats.contains_key(&root).then_some(sum)
}

/// A process and its descendants.
fn tree_below(root: u32, stats: &BTreeMap<u32, ProcessStat>) -> Vec<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (&process, stat) in stats {
        children.entry(stat.parent).or_default().push(process);
    }
    let mut tree = Vec::new();
    let mut seen = BTreeSet::new();
    let mut open = vec![root];
    while let Some(process) = open.pop() {
        if !seen.insert(process) || seen.len() > MAX_PROCESSES {
            continue;
        }
        tree.push(process);
        open.extend(children.get(&process).into_iter().flatten());
    }
    tree
}

fn threads_of(process: u32) -> BTreeMap<u32, ThreadUsage> {
    let entries = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers.filter_map(|thread| Some((thread, thread_usage(process, thread)?))).collect()
}

fn thread_usage(process: u32, thread: u32) -> Option<ThreadUsage> {
    let folder = format!("/proc/{process}/task/{thread}");
    let read = |file: &str| fs::read_to_string(format!("{folder}/{file}")).ok();
    parse_thread(&read("schedstat")?, &read("status")?)
}

/// Parses schedstat, whose first number is the time on a CPU, and proc_pid_status(5).
fn parse_thread(schedstat: &str, status: &str) -> Option<ThreadUsage> {
    let switches = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key))?;
        line.trim().parse::<u64>().ok()
    };
    Some(ThreadUsage {
        on_cpu_ns: schedstat.split_whitespace().next()?.parse().ok()?,
        voluntary_switches: switches("voluntary_ctxt_switches:")?,
        involuntary_switches: switches("nonvoluntary_ctxt_switches:")?,
    })
}

/// What a process was charged between two readings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charge {
    /// Times and faults.
    pub usage: ProcessUsage,
    /// That of its threads, all together; `None` if one of the first reading has ended, or their files
    /// cannot be read: what a thread was charged is lost when it ends. `None` with descendants.
    pub threads: Option<ThreadUsage>,
    /// The time between the readings.
    pub time: Duration,
    /// Whether the process has ended meanwhile.
    pub has_ended: bool,
}

/// The difference of two readings; `None` if the second is smaller.
fn charge(first: &Reading, last: &Reading, has_ended: bool) -> Option<Charge> {
    let threads = first.threads.as_ref().zip(last.threads.as_ref());
    Some(Charge {
        usage: last.usage.since(first.usage)?,
        threads: threads.and_then(|(first, last)| charge_of_threads(first, last)),
        time: last.at.saturating_duration_since(first.at),
        has_ended,
    })
}

fn charge_of_threads(
    first: &BTreeMap<u32, ThreadUsage>,
    last: &BTreeMap<u32, ThreadUsage>,
) -> Option<ThreadUsage> {
    if first.is_empty() || first.keys().any(|thread| !last.contains_key(thread)) {
        return None;
    }
    let mut sum = ThreadUsage::default();
    for (thread, now) in last {
        let then = first.get(thread).copied().unwrap_or_default();
        sum.on_cpu_ns += now.on_cpu_ns.checked_sub(then.on_cpu_ns)?;
        sum.voluntary_switches += now.voluntary_switches.checked_sub(then.voluntary_switches)?;
        sum.involuntary_switches +=
            now.involuntary_switches.checked_sub(then.involuntary_switches)?;
    }
    Some(sum)
}

/// Reads a process again and again, in a thread of its own, so that its last times are known when
/// it has ended.
pub struct ProcessSampler {
    process: u32,
    children: bool,
    first: Reading,
    shared: Arc<Shared>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    last: Mutex<Reading>,
    has_ended: AtomicBool,
}

impl Shared {
    /// Reads once; says whether the process is still there.
    fn update(&self, process: u32, children: bool, start: u64) -> bool {
        let now = read(process, children).filter(|reading| reading.start == start);
        let lives = now.as_ref().is_some_and(|reading| !reading.has_ended);
        if let Some(reading) = now {
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) = reading;
        }
        if !lives {
            self.has_ended.store(true, Ordering::Relaxed);
        }
        lives
    }
}

impl ProcessSampler {
    /// Begins with a reading; the error says that the process is not there, or why it cannot be read
    /// again and again.
    pub fn start(process: u32, children: bool) -> Result<Self, String> {
        Self::start_after(process, children, || Ok(()))
    }

    /// The same right after something else begins, whose error is returned.
    pub fn start_after(
        process: u32,
        children: bool,
        begin: impl FnOnce() -> Result<(), String>,
    ) -> Result<Self, String> {
        // The files of many threads are read outside of the time between the readings, and at both
        // ends alone: it takes a while.
        let threads = (!children).then(|| threads_of(process));
        begin()?;
        let first = read(process, children).filter(|reading| !reading.has_ended);
        let first = first.ok_or_else(|| format!("there is no process {process}"))?;
        let last = Mutex::new(first.clone());
        let first = Reading { threads, ..first };
        let shared = Arc::new(Shared { last, has_ended: AtomicBool::new(false) });
        let (stop, stopped) = channel();
        let interval = if children { TREE_INTERVAL } else { INTERVAL };
        let (of_thread, start) = (Arc::clone(&shared), first.start);
        let thread =
            std::thread::Builder::new().name("process-times".to_owned()).spawn(move || {
                while stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                    if !of_thread.update(process, children, start) {
                        break;
                    }
                }
            });
        let thread = thread.map_err(|error| format!("cannot start a thread: {error}"))?;
        Ok(Self { process, children, first, shared, stop: Some(stop), thread: Some(thread) })
    }

    /// Whether the process has ended.
    pub fn has_ended(&self) -> bool {
        self.shared.has_ended.load(Ordering::Relaxed)
    }

    /// The threads of the process when it began.
    pub fn thread_count(&self) -> u32 {
        self.first.thread_count
    }

    /// Ends with a reading, and returns what was charged meanwhile; `None` if times have become
    /// smaller.
    pub fn end(self) -> Option<Charge> {
        self.end_before(|| ())
    }

    /// The same, and something else ends right after the reading.
    pub fn end_before(mut self, end: impl FnOnce()) -> Option<Charge> {
        self.join();
        let lives =
            !self.has_ended() && self.shared.update(self.process, self.children, self.first.start);
        end();
        let mut last = self.shared.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        last.threads = (lives && !self.children).then(|| threads_of(self.process));
        charge(&self.first, &last, !lives)
    }

    fn join(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It does not panic, and its result is in what is shared.
            let _ = thread.join();
        }
    }
}

impl Drop for ProcessSampler {
    fn drop(&mut self) {
        self.join();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of /proc/PID/stat with these times in ticks.
    fn line(name: &str, parent: u32, [user, system, of_user, of_system]: [u64; 4]) -> String {
        format!(
            "7 ({name}) S {parent} 7 7 0 -1 4194304 11 12 13 14 {user} {system} {of_user} \
             {of_system} 20 0 3 0 99 1 2 3"
        )
    }

    #[test]
    fn the_line_of_a_process_is_read_whatever_its_name() {
        let stat = parse_stat(&line("a) S 1 (b", 5, [1, 2, 3, 4])).unwrap();
        assert_eq!((stat.state, stat.parent, stat.threads, stat.start), ('S', 5, 3, 99));
        let own = ProcessUsage {
            user_ns: 10_000_000,
            system_ns: 20_000_000,
            minor_faults: 11,
            major_faults: 13,
        };
        assert_eq!(stat.usage, own);
        assert_eq!(stat.of_ended_children.system_ns, 40_000_000);
        assert_eq!((parse_stat("7 (x) S 1 2"), parse_stat("")), (None, None));
        // Its first thread has ended, and two others have not.
        let first_ended = ProcessStat { state: 'Z', ..stat };
        assert!(!has_ended(&stat) && !has_ended(&first_ended));
        assert!(has_ended(&ProcessStat { threads: 1, ..first_ended }));
    }

    #[test]
    fn a_tree_has_the_times_of_all_that_live_and_of_all_that_were_waited_for() {
        let stat = |parent, times| parse_stat(&line("x", parent, times)).unwrap();
        let stats = BTreeMap::from([
            (10, stat(1, [1, 0, 2, 0])),
            (11, stat(10, [4, 0, 8, 0])),
            (12, stat(11, [16, 0, 0, 0])),
            (13, stat(1, [32, 0, 0, 0])),
        ]);
        let user = |root| usage_below(root, &stats).map(|usage| usage.user_ns / TICK_NS);
        assert_eq!([user(10), user(12), user(14)], [Some(31), Some(16), None]);
        assert_eq!(tree_below(10, &stats), [10, 11, 12]);
    }

    #[test]
    fn threads_that_end_take_their_times_with_them() {
        let thread = |on_cpu_ns| ThreadUsage { on_cpu_ns, ..ThreadUsage::default() };
        let reading = |threads: &[(u32, u64)], user_ns| Reading {
            usage: ProcessUsage { user_ns, ..ProcessUsage::default() },
            threads: Some(threads.iter().map(|&(id, ns)| (id, thread(ns))).collect()),
            thread_count: threads.len() as u32,
            start: 0,
            has_ended: false,
            at: Instant::now(),
        };
        let first = reading(&[(1, 100), (2, 200)], 5);
        let more = reading(&[(1, 110), (2, 220), (3, 7)], 9);
        let found = charge(&first, &more, false).unwrap();
        assert_eq!((found.usage.user_ns, found.threads), (4, Some(thread(37))));
        let less = reading(&[(1, 110)], 9);
        assert_eq!(charge(&first, &less, true).unwrap().threads, None);
        assert_eq!(charge(&more, &first, false), None);
        let unread = Reading { threads: None, ..more };
        assert_eq!(charge(&first, &unread, true).unwrap().threads, None);
    }

    #[test]
    fn schedstat_and_status_tell_of_a_thread() {
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t6\n";
        let found = parse_thread("123 4 5\n", status).unwrap();
        let expected =
            ThreadUsage { on_cpu_ns: 123, voluntary_switches: 5, involuntary_switches: 6 };
        assert_eq!(found, expected);
        assert_eq!((parse_thread("", status), parse_thread("1 2 3", "")), (None, None));
    }

    #[test]
    fn this_process_is_read_and_its_parents_are_known() {
        let me = std::process::id();
        let sampler = ProcessSampler::start(me, false).unwrap();
        assert!(sampler.thread_count() > 0 && !sampler.has_ended());
        assert!(!sampler.end().unwrap().has_ended);
        // A parent in another namespace of processes is 0.
        let parent = std::os::unix::process::parent_id();
        assert!(is_own_or_ancestor(me) && (parent == 0 || is_own_or_ancestor(parent)));
        assert!(!is_own_or_ancestor(0) && !command_of(me).is_empty());
        assert_eq!((process_of(me), process_of(u32::MAX)), (Some(me), None));
        assert!(ProcessSampler::start(u32::MAX, false).is_err());
    }

    /// A shell that ends when its input does.
    fn shell() -> std::process::Child {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "read -r line"]).stdin(std::process::Stdio::piped()).spawn().unwrap()
    }

    #[test]
    fn what_threads_were_charged_is_known_of_a_process_alone() {
        let mut child = shell();
        let is_told = std::path::Path::new("/proc/self/schedstat").exists();
        for children in [false, true] {
            let mut begun = false;
            let begin = || {
                begun = true;
                Ok(())
            };
            let sampler = ProcessSampler::start_after(child.id(), children, begin).unwrap();
            let mut ended = false;
            let charge = sampler.end_before(|| ended = true).unwrap();
            assert_eq!(charge.threads.is_some(), is_told && !children);
            assert!(!charge.has_ended);
            assert!(begun && ended);
        }
        let refused = ProcessSampler::start_after(child.id(), false, || Err("no".to_owned()));
        assert_eq!(refused.err().as_deref(), Some("no"));
        drop(child.stdin.take());
        child.wait().unwrap();
    }

    #[test]
    fn the_words_of_a_command_line_are_text_within_the_bounds_of_a_command() {
        let line = b"sh\0-c\0echo 1\n\techo 2\0\x1b[31m\r\xff\xe2\x80\xae\xe2\x81\xa6.\0\0";
        let last = "\u{fffd}[31m\u{fffd}\u{fffd}\u{fffd}\u{fffd}.";
        assert_eq!(words_of(line), ["sh", "-c", "echo 1\n\techo 2", last]);
        assert_eq!(words_of(b""), Vec::<String>::new());
        let many = words_of(&b"a\0".repeat(MAX_COMMAND_WORDS + 1));
        assert_eq!(many.len(), MAX_COMMAND_WORDS);
        // Each of these bytes becomes a character of three.
        let mut long = b"a\0".to_vec();
        long.resize(MAX_COMMAND_BYTES, 0xff);
        let sizes: Vec<usize> = words_of(&long).iter().map(String::len).collect();
        assert_eq!(sizes, [1, MAX_COMMAND_BYTES - 1]);
    }

    #[test]
    fn the_end_of_a_process_is_noticed() {
        let mut child = shell();
        let sampler = ProcessSampler::start(child.id(), false).unwrap();
        drop(child.stdin.take());
        while !sampler.has_ended() {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(sampler.end().unwrap().has_ended);
        child.wait().unwrap();
    }
}
