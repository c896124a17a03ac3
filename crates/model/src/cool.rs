//! Cool caches: ops that are timed one by one, each after a walk through memory.
//!
//! The treatment `cool=SIZE` walks through so much memory between two ops; `cool=0` walks through
//! none: an op that is timed alone, and warm. The difference between both is that of the caches.
//! A walk reads each line of its memory. `cool=16M` reads one line of each KiB: what it displaces is
//! the translations of addresses, too, as a program does that computes on its own data for 50 us and more.
//! `cool=32M` reads each line of as much memory as a last-level cache has: what a call that is made rarely
//! needs has left that, too.

/// The name of the treatment.
pub const COOL: &str = "cool";
/// Between `cool=0` and the shortest walk: a page.
const MIN_WALK_BYTES: u64 = 4 << 10;
/// Each line of more would take tens of milliseconds before each op, which no plan of a run expects.
const MAX_WHOLE_WALK_BYTES: u64 = 8 << 20;
/// The walk through one line of each KiB: 16,384 lines in 4,096 pages.
pub const SPREAD_WALK_BYTES: u64 = 16 << 20;
/// The walk through each line of as much memory as a last-level cache has.
pub const LAST_LEVEL_WALK_BYTES: u64 = 32 << 20;
const MIB: u64 = 1 << 20;

/// Which lines a walk reads, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkKind {
    /// Each line, one after the other.
    Whole,
    /// One line of each KiB, several at a time.
    Spread,
    /// Each line of as much memory as a last-level cache has, several at a time.
    LastLevel,
}

impl WalkKind {
    /// That of a walk through so many bytes.
    pub fn of(walk_bytes: u64) -> Self {
        match walk_bytes {
            SPREAD_WALK_BYTES => Self::Spread,
            LAST_LEVEL_WALK_BYTES => Self::LastLevel,
            _ => Self::Whole,
        }
    }
}

/// The bytes of a walk: `0`, a number of KiB or MiB (`256K`, `1M`) from 4K to 8M, `16M` or `32M`.
pub fn parse_walk(text: &str) -> Option<u64> {
    if text == "0" {
        return Some(0);
    }
    let (number, unit) = match text.strip_suffix('K') {
        Some(number) => (number, 1 << 10),
        None => (text.strip_suffix('M')?, 1 << 20),
    };
    // `parse` accepts a leading `+`.
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
    let bytes = number.parse::<u64>().ok().filter(|_| is_number)?.checked_mul(unit)?;
    let is_whole = (MIN_WALK_BYTES..=MAX_WHOLE_WALK_BYTES).contains(&bytes);
    (is_whole || WalkKind::of(bytes) != WalkKind::Whole).then_some(bytes)
}

/// The treatment of a walk of so many bytes, a multiple of 1,024, as it is typed: `cool=1M`.
pub fn treatment_text(walk_bytes: u64) -> String {
    format!("{COOL}={}", walk_text(walk_bytes))
}

/// The value of that treatment: `1M`.
pub fn walk_text(walk_bytes: u64) -> String {
    match walk_bytes {
        0 => "0".to_owned(),
        bytes if bytes.is_multiple_of(MIB) => format!("{}M", bytes / MIB),
        bytes => format!("{}K", bytes >> 10),
    }
}

/// The walk of a target that has this treatment alone; `None` of any other target.
pub fn walk_of(treatments: &[String]) -> Option<u64> {
    let [only] = treatments else { return None };
    parse_walk(only.strip_prefix(COOL)?.strip_prefix('=')?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_is_read_as_it_is_written() {
        for (text, bytes) in [
            ("0", 0),
            ("4K", 4_096),
            ("256K", 1 << 18),
            ("8M", 8 << 20),
            ("16M", 1 << 24),
            ("32M", 1 << 25),
        ] {
            assert_eq!(parse_walk(text), Some(bytes), "{text}");
            assert_eq!(treatment_text(bytes), format!("cool={text}"));
            assert_eq!(walk_of(&[treatment_text(bytes)]), Some(bytes));
        }
        assert_eq!(treatment_text(1_536 << 10), "cool=1536K");
        for odd in
            ["", "1", "3K", "9M", "64M", "8193K", "+4K", "-1M", "1m", "K", "99999999999999999999M"]
        {
            assert_eq!(parse_walk(odd), None, "{odd}");
        }
    }

    #[test]
    fn a_target_with_another_treatment_has_no_walk() {
        let of = |texts: &[&str]| {
            walk_of(&texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&["cool=1M", "nice=1"]), None);
        assert_eq!(of(&["cooler=1M"]), None);
        assert_eq!(of(&["nice=1"]), None);
    }
}
