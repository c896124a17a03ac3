//! How the figure of a peer's program is read from what it prints.

use anyhow::{Context, bail};

/// A figure: a number among the words of a program, and what it says of the act.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figure {
    pub(super) found: Found,
    pub(super) is: Is,
}

/// Where the number is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found {
    /// In front of these words.
    Before(&'static str),
    /// Behind the last of these words.
    After(&'static str),
    /// In the table of stress-ng, in the line of this stressor: bogus ops per second of real time.
    BogusOps(&'static str),
    /// Bytes per second, with a prefix of 1024: perf bench mem.
    Bytes,
    /// Events over the time of all: sysbench.
    Events,
    /// At this place of a JSON document.
    Json(&'static str),
}

/// What a number is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Is {
    /// A time in units of so many nanoseconds.
    Time(f64),
    /// A rate: so many nanoseconds over it are the time of the act.
    Rate(f64),
}

/// What a program has printed.
pub(super) struct Printed {
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// What programs say of acts that this version, this system or this user does not have.
const REFUSALS: [&str; 12] = [
    "Unknown benchmark",
    "Unknown collection",
    "unrecognized option",
    "unrecognised option",
    "unknown option",
    "invalid option",
    "must be one of",
    "skipping stressor",
    "will be skipped",
    "not permitted",
    "Permission denied",
    "run as root",
];

impl Printed {
    fn lines(&self) -> impl Iterator<Item = &str> {
        self.stdout.lines().chain(self.stderr.lines())
    }

    /// The line that says that the act is not to be had.
    pub(super) fn refusal(&self) -> Option<&str> {
        self.lines().map(str::trim).find(|line| REFUSALS.iter().any(|words| line.contains(words)))
    }

    /// The last line that is not empty.
    pub(super) fn last_line(&self) -> &str {
        self.lines().map(str::trim).filter(|line| !line.is_empty()).last().unwrap_or("")
    }

    /// The time of the act, in nanoseconds.
    pub(super) fn nanoseconds(&self, figure: Figure) -> anyhow::Result<f64> {
        let number = match figure.found {
            Found::Before(words) => self.before(words),
            Found::After(words) => self.after(words),
            Found::BogusOps(stressor) => self.bogus_ops(stressor),
            Found::Bytes => self.bytes(),
            Found::Events => self.events(),
            Found::Json(place) => {
                let document: serde_json::Value = serde_json::from_str(&self.stdout)?;
                document.pointer(place).and_then(serde_json::Value::as_f64)
            }
        };
        let number = number
            .with_context(|| format!("no figure ({:?}) in: {}", figure.found, self.last_line()))?;
        if number <= 0.0 {
            bail!("the figure ({:?}) is {number}", figure.found);
        }
        Ok(match figure.is {
            Is::Time(unit_ns) => number * unit_ns,
            Is::Rate(act_ns) => act_ns / number,
        })
    }

    fn before(&self, words: &str) -> Option<f64> {
        let (before, _) = self.lines().find_map(|line| line.split_once(words))?;
        before.split_whitespace().next_back()?.parse().ok()
    }

    fn after(&self, words: &str) -> Option<f64> {
        let (_, after) = self.lines().filter_map(|line| line.rsplit_once(words)).last()?;
        let after = after.trim_start_matches([':', '=', ' ', '\t']);
        let end = after.find(|it: char| !it.is_ascii_digit() && it != '.').unwrap_or(after.len());
        after[..end].parse().ok()
    }

    fn bogus_ops(&self, stressor: &str) -> Option<f64> {
        self.lines().find_map(|line| {
            let columns: Vec<&str> = line.split_once("] ")?.1.split_whitespace().collect();
            if columns.first() != Some(&stressor) {
                return None;
            }
            columns.get(5)?.parse().ok()
        })
    }

    fn bytes(&self) -> Option<f64> {
        self.lines().find_map(|line| {
            let mut words = line.split_whitespace();
            let (number, unit) = (words.next()?.parse::<f64>().ok()?, words.next()?);
            let units = ["B/sec", "KB/sec", "MB/sec", "GB/sec"];
            let exponent = units.iter().position(|it| *it == unit)?;
            Some(number * 1_024_f64.powi(exponent as i32))
        })
    }

    fn events(&self) -> Option<f64> {
        let seconds = self.after("total time:").or_else(|| self.after("time elapsed:"))?;
        Some(self.after("total number of events:")? / seconds)
    }
}
