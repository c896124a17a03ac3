//! What the programs say, as bytes: see `struct event` in bpf/ph.bpf.c.

use super::profile::{Key, Pair};

/// Something that happened to a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What.
    pub kind: Kind,
    /// The profile's place in the maps.
    pub slot: u32,
    /// Its process.
    pub process: u32,
    /// Its thread: the task whose calls are looked at.
    pub thread: u32,
    /// The task's calls until then.
    pub calls: u64,
    /// Anomalies in the task's locality frame.
    pub locality_count: u8,
    /// The most that there ever were in it.
    pub most: u8,
    /// The task's name, as it calls itself: anything but a zero byte.
    pub comm: String,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An executable was seen for the first time.
    Born {
        /// Which one.
        key: Key,
        /// Its path in its file system, as far as it is known.
        path: String,
    },
    /// A call was not normal.
    Anomaly {
        /// Its first new pair.
        pair: Pair,
        /// How many positions had a new pair.
        pairs: u32,
        /// Anomalies of the executable, since it became normal.
        anomalies: u64,
    },
    /// A process was stopped.
    Stopped,
    /// A task had more anomalies in its frame than are taken up: what was learnt meanwhile is to be
    /// forgotten.
    Tolerised,
    /// An executable had more anomalies than a normal one has: it is trained again.
    Aborted {
        /// How many.
        anomalies: u64,
    },
    /// A process whose calls are counted by a tracer came to its second mark.
    Marked {
        /// The calls between its marks, of it and of what it started there.
        calls: u64,
    },
}

/// The bytes of `struct event`, of a name in `struct born`, and how many names there are.
const EVENT: usize = 56;
const PART: usize = 48;
const PARTS: usize = 12;

impl Event {
    /// Reads what a program has said; `None` for what none of ours says.
    pub fn read(bytes: &[u8]) -> Option<Event> {
        let word = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let long = |at: usize| Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let half = |at: usize| Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
        let byte = |at: usize| bytes.get(at).copied();
        let anomalies = long(24)?;
        let missing = byte(37)?;
        let kind = match word(0)? {
            1 => {
                let key = Key { device: long(EVENT)?, inode: long(EVENT + 8)? };
                let parts = bytes.get(EVENT + 16..)?.get(..PARTS * PART)?;
                Kind::Born { key, path: path(parts) }
            }
            2 => {
                let pair = Pair { current: half(32)?, previous: half(34)?, position: byte(36)? };
                Kind::Anomaly { pair, pairs: missing.count_ones(), anomalies }
            }
            3 => Kind::Stopped,
            4 => Kind::Tolerised,
            5 => Kind::Aborted { anomalies },
            6 => Kind::Marked { calls: anomalies },
            _ => return None,
        };
        Some(Event {
            kind,
            slot: word(4)?,
            process: word(8)?,
            thread: word(12)?,
            calls: long(16)?,
            locality_count: byte(38)?,
            most: byte(39)?,
            comm: text(bytes.get(40..56)?),
        })
    }
}

/// Up to the first zero byte.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
}

/// A path of names, the last one first. Of one that is longer than what was noted, the end.
fn path(parts: &[u8]) -> String {
    let mut names: Vec<String> =
        parts.chunks_exact(PART).map(text).take_while(|name| !name.is_empty()).collect();
    let whole = names.len() < PARTS;
    names.reverse();
    let joined = names.join("/");
    match (joined.is_empty(), whole) {
        (true, _) => joined,
        (false, true) => format!("/{joined}"),
        (false, false) => format!(".../{joined}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An event as the programs lay it out.
    fn said(kind: u32) -> Vec<u8> {
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

    fn born(names: &[&str]) -> Vec<u8> {
        let mut bytes = said(1);
        bytes.extend(u64::to_ne_bytes(0x10_0002));
        bytes.extend(u64::to_ne_bytes(99));
        for at in 0..PARTS {
            let mut part = [0; PART];
            let name = names.get(at).map_or(&b""[..], |name| name.as_bytes());
            part[..name.len()].copy_from_slice(name);
            bytes.extend(part);
        }
        bytes
    }

    #[test]
    fn an_anomaly_names_its_process_its_pair_and_its_counts() {
        let event = Event::read(&said(2)).unwrap();
        let pair = Pair { current: 59, previous: 12, position: 2 };
        assert_eq!(event.kind, Kind::Anomaly { pair, pairs: 2, anomalies: 3 });
        assert_eq!((event.slot, event.process, event.thread), (7, 1_234, 1_235));
        assert_eq!((event.calls, event.locality_count, event.most), (900, 4, 5));
        assert_eq!(event.comm, "sh\x1b[2J");
    }

    #[test]
    fn a_mark_says_how_many_calls_there_were_since_the_first() {
        assert_eq!(Event::read(&said(6)).unwrap().kind, Kind::Marked { calls: 3 });
    }

    #[test]
    fn a_birth_names_the_file_and_its_path_from_the_end() {
        let path_of = |names: &[&str]| match Event::read(&born(names)).unwrap().kind {
            Kind::Born { key, path } => {
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
    fn what_none_of_our_programs_says_is_nothing() {
        assert_eq!(Event::read(&[]), None);
        assert_eq!(Event::read(&said(0)), None);
        assert_eq!(Event::read(&said(7)), None);
        for kind in 0..9 {
            let whole = born(&["x"]);
            for length in 0..whole.len() {
                let mut cut = whole[..length].to_vec();
                cut.iter_mut().zip(u32::to_ne_bytes(kind)).for_each(|(byte, new)| *byte = new);
                let _ = Event::read(&cut);
            }
        }
    }
}
