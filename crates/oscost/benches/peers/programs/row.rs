//! The rows of a comparison with a peer's program.

use super::super::tools::PeerCpu;
use super::reading::{Figure, Found, Is};

/// An act that a peer's program times, and what it is here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// Its name in the table.
    pub(super) name: &'static str,
    /// The program, and the package that has it.
    pub(super) program: &'static str,
    pub(super) package: &'static str,
    /// Its arguments, and those that all acts of this program have. `PORT` is a free port.
    pub(super) words: &'static [&'static str],
    pub(super) common_words: &'static [&'static str],
    /// Its other end, if it needs one.
    pub(super) server: Option<ServerEnd>,
    pub(super) figure: Figure,
    /// What its figure contains.
    pub(super) parts: &'static [Part],
    /// Why the ratio may be beyond 10 %; empty where it must not be.
    pub(super) differs: &'static str,
}

/// The other end of a program, which is started first.
#[derive(Clone, Copy, Debug)]
pub(super) struct ServerEnd {
    pub(super) cpu: PeerCpu,
    pub(super) words: &'static [&'static str],
}

/// A case that the peer's act contains.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    Once(&'static str),
    /// So many times.
    Times(f64, &'static str),
}

impl Part {
    pub(super) fn case(self) -> &'static str {
        match self {
            Part::Once(case) | Part::Times(_, case) => case,
        }
    }

    pub(super) fn times(self) -> f64 {
        match self {
            Part::Once(_) => 1.0,
            Part::Times(times, _) => times,
        }
    }
}

/// Stands for a free port.
pub(super) const PORT: &str = "PORT";

/// Defaults of a row.
pub(super) const ROW: Row = Row {
    name: "",
    program: "",
    package: "",
    words: &[],
    common_words: &[],
    server: None,
    figure: Figure { found: Found::After(""), is: Is::Time(1.0) },
    parts: &[],
    differs: "",
};

/// A number in front of these words, in nanoseconds.
pub(super) const fn ns_before(words: &'static str) -> Figure {
    Figure { found: Found::Before(words), is: Is::Time(1.0) }
}

/// A rate in front of these words, of which so many nanoseconds are an act.
pub(super) const fn rate_before(words: &'static str, act_ns: f64) -> Figure {
    Figure { found: Found::Before(words), is: Is::Rate(act_ns) }
}

/// A number behind these words, in microseconds.
pub(super) const fn us_after(words: &'static str) -> Figure {
    Figure { found: Found::After(words), is: Is::Time(1e3) }
}
