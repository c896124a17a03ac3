//! The events of the BPF programs: see `struct event` in bpf/ph.bpf.c.

use super::profiles::profile::{Key, Pair};

/// An event of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What happened.
    pub kind: EventKind,
    /// The slot of the profile in the maps.
    pub slot: u32,
    /// The process.
    pub process: u32,
    /// The thread, which is the task.
    pub thread: u32,
    /// The number of the task's calls so far.
    pub calls: u64,
    /// The number of anomalies in the task's locality frame.
    pub locality_count: u8,
    /// The maximum of that number so far.
    pub max_locality_count: u8,
    /// The command name of the task, which may contain any character except a zero byte.
    pub comm: String,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// An executable without a profile was observed.
    NewExecutable {
        /// Its file.
        key: Key,
        /// Its path in its file system, as far as known.
        path: String,
    },
    /// A call is not normal.
    Anomaly {
        /// Its nearest new pair.
        pair: Pair,
        /// The number of positions with a new pair.
        new_pairs: u32,
        /// The number of anomalies of the executable since it became normal.
        anomalies: u64,
    },
    /// The process was stopped.
    Stopped,
    /// A task had too many anomalies in its frame: what was learned since the profile became normal
    /// must be discarded.
    Tolerised,
    /// An executable had too many anomalies: it is trained again.
    Retrained {
        /// Their number.
        anomalies: u64,
    },
    /// A process whose calls a tracer counts made its second mark.
    Marked {
        /// The number of calls between its marks, including those of processes started in between.
        calls: u64,
    },
}

/// The size of `struct event`.
const EVENT_BYTES: usize = 56;
/// The size of a name in the path of a `struct executable_event`, and the number of names.
const NAME_BYTES: usize = 48;
const PATH_NAMES: usize = 12;

impl Event {
    /// Parses an event; `None` if it is not one of the programs' events.
    pub fn parse(bytes: &[u8]) -> Option<Event> {
        let u16_at = |at: usize| Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
        let u32_at = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let u64_at = |at: usize| Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let byte_at = |at: usize| bytes.get(at).copied();
        let anomalies = u64_at(24)?;
        let new_positions = byte_at(37)?;
        let kind = match u32_at(0)? {
            1 => {
                let key = Key { device: u64_at(EVENT_BYTES)?, inode: u64_at(EVENT_BYTES + 8)? };
                let names = bytes.get(EVENT_BYTES + 16..)?.get(..PATH_NAMES * NAME_BYTES)?;
                EventKind::NewExecutable { key, path: path(names) }
            }
            2 => {
                let pair =
                    Pair { current: u16_at(32)?, previous: u16_at(34)?, position: byte_at(36)? };
                EventKind::Anomaly { pair, new_pairs: new_positions.count_ones(), anomalies }
            }
            3 => EventKind::Stopped,
            4 => EventKind::Tolerised,
            5 => EventKind::Retrained { anomalies },
            6 => EventKind::Marked { calls: anomalies },
            _ => return None,
        };
        Some(Event {
            kind,
            slot: u32_at(4)?,
            process: u32_at(8)?,
            thread: u32_at(12)?,
            calls: u64_at(16)?,
            locality_count: byte_at(38)?,
            max_locality_count: byte_at(39)?,
            comm: text(bytes.get(40..56)?),
        })
    }
}

/// The text up to the first zero byte.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
}

/// The path of names that begin with the last one. `...` replaces the beginning of a longer path.
fn path(names: &[u8]) -> String {
    let mut names: Vec<String> =
        names.chunks_exact(NAME_BYTES).map(text).take_while(|name| !name.is_empty()).collect();
    let is_complete = names.len() < PATH_NAMES;
    names.reverse();
    let joined = names.join("/");
    match (joined.is_empty(), is_complete) {
        (true, _) => joined,
        (false, true) => format!("/{joined}"),
        (false, false) => format!(".../{joined}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An event in the layout of the programs.
    fn event_bytes(kind: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        for word in [kind, 7, 1_234, 1_235] {
            bytes.extend(u32::to_ne_bytes(word));
        }
        bytes.extend(u64::to_ne_bytes(900));
        bytes.extend(u64::to_ne_bytes(3));
        bytes.extend(u16::to_ne_bytes(59));
        bytes.extend(u16::to_ne_bytes(12));
        bytes.extend([2, 0b0000_0110, 4, 5]);
        bytes.extend(*b"sh\x1b[2J\0garbage__");
        bytes
    }

    fn executable_event(names: &[&str]) -> Vec<u8> {
        let mut bytes = event_bytes(1);
        bytes.extend(u64::to_ne_bytes(0x10_0002));
        bytes.extend(u64::to_ne_bytes(99));
        for index in 0..PATH_NAMES {
            let mut field = [0; NAME_BYTES];
            let name = names.get(index).map_or(&b""[..], |name| name.as_bytes());
            field[..name.len()].copy_from_slice(name);
            bytes.extend(field);
        }
        bytes
    }

    #[test]
    fn an_anomaly_has_its_process_its_pair_and_its_counts() {
        let event = Event::parse(&event_bytes(2)).unwrap();
        let pair = Pair { current: 59, previous: 12, position: 2 };
        assert_eq!(event.kind, EventKind::Anomaly { pair, new_pairs: 2, anomalies: 3 });
        assert_eq!((event.slot, event.process, event.thread), (7, 1_234, 1_235));
        assert_eq!((event.calls, event.locality_count, event.max_locality_count), (900, 4, 5));
        assert_eq!(event.comm, "sh\x1b[2J");
    }

    #[test]
    fn a_mark_has_the_number_of_calls_since_the_first() {
        assert_eq!(Event::parse(&event_bytes(6)).unwrap().kind, EventKind::Marked { calls: 3 });
    }

    #[test]
    fn a_new_executable_has_its_file_and_its_path() {
        let path_of = |names: &[&str]| match Event::parse(&executable_event(names)).unwrap().kind {
            EventKind::NewExecutable { key, path } => {
                assert_eq!(key, Key { device: 0x10_0002, inode: 99 });
                path
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(path_of(&["dash", "bin", "usr"]), "/usr/bin/dash");
        assert_eq!(path_of(&[]), "");
        assert_eq!(path_of(&["n"; 12]), format!("...{}", "/n".repeat(12)));
    }

    #[test]
    fn bytes_that_are_not_an_event_are_refused_without_a_panic() {
        assert_eq!(Event::parse(&[]), None);
        assert_eq!(Event::parse(&event_bytes(0)), None);
        assert_eq!(Event::parse(&event_bytes(7)), None);
        for kind in 0..9 {
            let whole = executable_event(&["x"]);
            for length in 0..whole.len() {
                let mut cut = whole[..length].to_vec();
                cut.iter_mut().zip(u32::to_ne_bytes(kind)).for_each(|(byte, new)| *byte = new);
                let _ = Event::parse(&cut);
            }
        }
    }
}
