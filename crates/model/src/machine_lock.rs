//! The lock of a machine: where it is, and who holds it.
//!
//! The tool takes it on its own machine, the supervisor where its session runs on another one. Both
//! judge a holder by these rules; what they have read of it is passed in.

use std::ffi::OsStr;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use crate::untrusted_text::display_text;

/// The folders of the lock's file: it is in the first that all users share, so that all find the
/// same one.
pub const LOCK_FOLDERS: [&str; 2] = ["/run/lock", "/tmp"];

/// The name of the lock's file.
pub const LOCK_FILE: &str = "oscost.lock";

/// The command names (/proc/PID/comm) of holders, whatever their files are called.
pub const HOLDER_NAMES: [&str; 2] = ["oscost", "oscost-worker"];

/// A holder that is not oscost is waited for this long.
pub const OTHER_PROGRAM_PATIENCE: Duration = Duration::from_secs(10);

/// How often a lock is tried whose release cannot be waited for in poll(2).
pub const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// The shortest time between two tries. The end of a connection tells that a holder has released
/// the lock; a process that ends each connection at once would keep those that wait busy.
const MIN_TRY_INTERVAL: Duration = Duration::from_millis(250);

/// How long the next try has to wait, this long after the last one.
pub fn pause_before_next_try(since_last: Duration) -> Duration {
    MIN_TRY_INTERVAL.saturating_sub(since_last)
}

/// More than a command line for a message, or a line of /proc/PID/stat.
pub const MAX_PROC_BYTES: u64 = 4 << 10;

/// More than /proc/locks of a machine with thousands of locked files.
pub const MAX_LOCKS_BYTES: u64 = 4 << 20;

/// Whether a folder of this mode is shared: every user may create files there, and none may remove
/// those of others.
pub fn is_shared_folder(mode: u32) -> bool {
    const STICKY_AND_OPEN: u32 = 0o1003;
    mode & STICKY_AND_OPEN == STICKY_AND_OPEN
}

/// What a holder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HolderKind {
    /// An oscost: it measures.
    Oscost,
    /// An oscost that a signal has stopped: it holds the lock until it is continued.
    StoppedOscost,
    /// Another program, or one that has ended and left the lock to another.
    OtherProgram,
    /// A process of which nothing can be read.
    Unknown,
}

/// The process that holds the lock of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockHolder {
    /// Its process id; 0 if it is not known, or in a PID namespace that is not visible.
    pub pid: i32,
    /// Its user, if known.
    pub uid: Option<u32>,
    /// Its command line, if readable.
    pub command: Option<String>,
    /// What it is.
    pub kind: HolderKind,
}

/// A process as the kernel names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process<'a> {
    /// Its id.
    pub pid: i32,
    /// Its user, if the kernel has named it.
    pub uid: Option<u32>,
    /// Whether a process of this id exists.
    pub exists: bool,
    /// The file that it executes, if readable: that of another user's is not.
    pub executable: Option<&'a Path>,
}

impl LockHolder {
    /// A holder that cannot be found.
    pub const UNKNOWN: Self = Self { pid: 0, uid: None, command: None, kind: HolderKind::Unknown };

    /// A holder of the lock's name that does not listen at it, which every oscost does.
    pub const MUTE: Self =
        Self { pid: 0, uid: None, command: None, kind: HolderKind::OtherProgram };

    /// A holder by its files in /proc, which `read` returns by name.
    ///
    /// A program can take any name: this tells idle and forgotten programs from runs, and is no
    /// protection against one that pretends.
    pub fn new(process: Process<'_>, read: impl Fn(&str) -> Option<String>) -> Self {
        let Process { pid, uid, exists, executable } = process;
        if pid <= 0 {
            return Self::UNKNOWN;
        }
        let file = executable.and_then(Path::file_name).map(OsStr::to_string_lossy);
        // Of a file that was removed or replaced since.
        let file = file.as_deref().map(|file| file.strip_suffix(" (deleted)").unwrap_or(file));
        let name = read("comm").map(|name| name.trim_end().to_owned());
        let names = [file, name.as_deref()];
        let is_oscost = names.iter().flatten().any(|name| HOLDER_NAMES.contains(name));
        let kind = match (is_oscost, file.is_some() || name.is_some()) {
            _ if !exists => HolderKind::OtherProgram,
            (true, _) if read("stat").is_some_and(|stat| is_stopped(&stat)) => {
                HolderKind::StoppedOscost
            }
            (true, _) => HolderKind::Oscost,
            (false, true) => HolderKind::OtherProgram,
            (false, false) => HolderKind::Unknown,
        };
        let command = read("cmdline").map(|text| text.replace('\0', " "));
        let command = command.or(name).map(|text| display_text(&text, MAX_COMMAND_CHARS));
        Self {
            pid,
            uid: uid.or_else(|| user(&read("status")?)),
            command: command.filter(|text| !text.is_empty()),
            kind,
        }
    }

    /// Whether it is no run, and is ignored after [`OTHER_PROGRAM_PATIENCE`].
    pub fn is_other_program(&self) -> bool {
        self.kind == HolderKind::OtherProgram
    }

    /// The holder while a run waits for it.
    pub fn awaited(&self) -> String {
        match self.is_other_program() {
            true => format!("{self}, for at most {} s", OTHER_PROGRAM_PATIENCE.as_secs()),
            false => self.to_string(),
        }
    }

    /// What a run without this part of the lock does not exclude.
    pub fn ignored(&self) -> String {
        format!("{self} holds its lock, and is ignored")
    }
}

/// A command line in a message.
const MAX_COMMAND_CHARS: usize = 120;

impl fmt::Display for LockHolder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pid, uid, command, kind } = self;
        match (pid, kind) {
            (0, HolderKind::OtherProgram) => out.write_str("a process that does not answer")?,
            (0, _) => out.write_str("a process that is not visible here")?,
            _ => {
                let command = command.as_deref().unwrap_or("its command line is not readable");
                write!(out, "process {pid} ({command})")?;
            }
        }
        match (kind, uid) {
            (HolderKind::OtherProgram, Some(uid)) => write!(out, " of user {uid} (not oscost)"),
            (HolderKind::OtherProgram, None) => out.write_str(" (not oscost)"),
            (HolderKind::StoppedOscost, _) => {
                write!(out, " (stopped: `kill -CONT {pid}` continues it)")
            }
            (HolderKind::Oscost | HolderKind::Unknown, _) => Ok(()),
        }
    }
}

/// Whether a process is stopped by a signal, by its line in /proc/PID/stat. The name in parentheses
/// may contain any characters.
fn is_stopped(stat: &str) -> bool {
    stat.rsplit_once(')').is_some_and(|(_, fields)| fields.trim_start().starts_with('T'))
}

/// The effective user of a process, by its /proc/PID/status: real, effective, saved, file system.
fn user(status: &str) -> Option<u32> {
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    users.split_whitespace().nth(1)?.parse().ok()
}

/// A file as /proc/locks names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileNumber {
    /// The major number of its device.
    pub major: u32,
    /// The minor number.
    pub minor: u32,
    /// Its inode.
    pub inode: u64,
}

impl FileNumber {
    /// The process that holds the file's lock (flock(2)), by /proc/locks:
    /// `1: FLOCK  ADVISORY  WRITE 1234 00:1a:5678 0 EOF`. A waiter has `->` before `FLOCK`.
    pub fn holder_in(self, locks: &str) -> Option<i32> {
        let Self { major, minor, inode } = self;
        let file = format!("{major:02x}:{minor:02x}:{inode}");
        locks.lines().find_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                [_, "FLOCK", _, _, pid, at, ..] if at == file => pid.parse().ok(),
                _ => None,
            }
        })
    }
}

/// What a run does not exclude without the lock's file.
pub fn without_file(why: impl fmt::Display) -> String {
    format!("those in other network namespaces are not seen: {why}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process of that command name and command line, in this state.
    fn holder(name: &str, command: &str, state: char, executable: Option<&str>) -> LockHolder {
        let process =
            Process { pid: 12, uid: None, exists: true, executable: executable.map(Path::new) };
        LockHolder::new(process, |file| match file {
            "comm" => Some(format!("{name}\n")),
            "cmdline" => Some(command.to_owned()),
            "stat" => Some(format!("12 (a) b) {state} 1 12 12")),
            "status" => Some("Name:\tx\nUid:\t0\t1000\t0\t0\n".to_owned()),
            _ => None,
        })
    }

    #[test]
    fn an_oscost_is_recognised_by_its_command_name_or_its_file() {
        for (name, file) in [
            ("oscost", None),
            ("oscost-worker", Some("/cache/worker-12ab")),
            ("peers-77", Some("/usr/bin/oscost (deleted)")),
        ] {
            let found = holder(name, "oscost\0run\0", 'S', file);
            assert_eq!(found.kind, HolderKind::Oscost, "{name}");
            assert_eq!(found.to_string(), "process 12 (oscost run)");
        }
        let found = holder("oscost", "oscost\0run\0", 'T', None);
        assert_eq!(found.kind, HolderKind::StoppedOscost);
        assert!(found.to_string().ends_with(" (stopped: `kill -CONT 12` continues it)"));
    }

    #[test]
    fn another_program_is_named_with_its_user() {
        let found = holder("python3", "python3\0hold.py\0", 'S', Some("/usr/bin/python3"));
        assert!(found.is_other_program());
        let named = "process 12 (python3 hold.py) of user 1000 (not oscost)";
        assert_eq!(found.to_string(), named);
        assert_eq!(found.awaited(), format!("{named}, for at most 10 s"));
        // A stopped one is no run either.
        assert!(holder("sh", "", 'T', None).is_other_program());
        // Neither is one whose file only begins like it; a kernel thread has no command line.
        let named = holder("oscost-test", "", 'S', Some("/bin/oscost-test")).to_string();
        assert!(named.starts_with("process 12 (its command line is not readable)"), "{named}");
        let long = holder("sh", &format!("a\u{1b}[2J\n{}", "b".repeat(500)), 'S', None);
        let command = long.command.unwrap();
        assert!(command.starts_with("a[2J b") && command.chars().count() <= 123, "{command}");
    }

    #[test]
    fn a_holder_that_has_ended_is_another_program_and_a_hidden_one_is_unknown() {
        let hidden = Process { pid: 12, uid: Some(7), exists: true, executable: None };
        let nothing = |_: &str| None;
        assert_eq!(LockHolder::new(hidden, nothing).kind, HolderKind::Unknown);
        let ended = Process { exists: false, ..hidden };
        assert!(LockHolder::new(ended, nothing).is_other_program());
        assert_eq!(LockHolder::new(Process { pid: 0, ..ended }, nothing), LockHolder::UNKNOWN);
        assert_eq!(LockHolder::UNKNOWN.to_string(), "a process that is not visible here");
        let mute = LockHolder::MUTE.to_string();
        assert_eq!(mute, "a process that does not answer (not oscost)");
    }

    #[test]
    fn the_holder_of_a_file_is_found_in_the_list_of_locks() {
        let locks = "1: POSIX  ADVISORY  WRITE 9 00:1a:77 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 1234 00:1a:77 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 5 00:1a:78 0 EOF\n\
                     3: FLOCK  ADVISORY  WRITE 6 103:02:77 0 EOF\nx\n";
        let file = FileNumber { major: 0, minor: 0x1a, inode: 77 };
        assert_eq!(file.holder_in(locks), Some(1234));
        assert_eq!(FileNumber { inode: 78, ..file }.holder_in(locks), None);
        let wide = FileNumber { major: 0x103, minor: 2, inode: 77 };
        assert_eq!(wide.holder_in(locks), Some(6));
    }

    #[test]
    fn a_lock_is_tried_at_most_four_times_a_second() {
        let pause_ms =
            |since_ms| pause_before_next_try(Duration::from_millis(since_ms)).as_millis();
        assert_eq!([0, 1, 249, 250, 9_000].map(pause_ms), [250, 249, 1, 0, 0]);
    }

    #[test]
    fn a_shared_folder_is_open_and_sticky() {
        assert!(is_shared_folder(0o41777));
        for mode in [0o40755, 0o40777, 0o41755] {
            assert!(!is_shared_folder(mode), "{mode:o}");
        }
    }
}
