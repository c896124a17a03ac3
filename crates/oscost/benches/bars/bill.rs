//! Bars of `oscost bill`, by the program as a user starts it.
//!
//! Each set of bars has a store of its own, which begins with a price list, and prints rows in
//! Markdown. It takes as long as the programs do: an hour with a kernel build. What cannot run here
//! is skipped with its reason, and a bar that then cannot be decided is open.
//!
//! * `bill`: does the range of a bill hold the system time of its program?
//! * `bill-what-if`: how well is predicted what a filter, an empty BPF program and pH add?
//! * `bill-counts`: does the counter in the kernel count what `strace -c -f` counts, and what does it
//!   add to a call?
//! * `bill-ph`: the bills of the programs of table 3 of study ph-2000, and how much of pH's measured
//!   overhead count times added cost explains: rows for the documentation, without a bar.
//! * `bill-limits`: the memory of the tool with large programs, and the wall time of the smallest one.
//!
//! Words after `bill`, `bill-what-if` and `bill-ph` choose programs; a command after `--` is the only one,
//! and `held-out` stands for six commands that were not used while bills were built. `bill-what-if N PROGRAMS`
//! checks each change for N seconds.

mod count_comparison;
mod counter_cost;
mod limits;
mod monitor_overhead;
mod programs;
mod ranges;
mod tally;
mod tool;
mod what_if;

use programs::chosen_programs;
use tool::Tool;

/// A set of bars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BillBars {
    Ranges,
    WhatIf,
    Counts,
    Limits,
    MonitorOverhead,
}

impl BillBars {
    /// The bars of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "bill" => Some(Self::Ranges),
            "bill-what-if" => Some(Self::WhatIf),
            "bill-counts" => Some(Self::Counts),
            "bill-limits" => Some(Self::Limits),
            "bill-ph" => Some(Self::MonitorOverhead),
            _ => None,
        }
    }

    /// Measures them; whether none has failed.
    pub(crate) fn hold(self, program: &'static str, words: &[String]) -> anyhow::Result<bool> {
        let tool = Tool::new(program)?;
        match self {
            Self::Ranges => ranges::holds(&tool, &chosen_programs(words)?),
            Self::WhatIf => {
                let (seconds, words) = match words.split_first() {
                    Some((first, rest)) if first.parse::<u32>().is_ok() => (Some(&first[..]), rest),
                    _ => (None, words),
                };
                what_if::holds(&tool, &chosen_programs(words)?, seconds)
            }
            Self::Counts => {
                let equal = count_comparison::holds(&tool)?;
                Ok(counter_cost::holds(&tool)? && equal)
            }
            Self::Limits => limits::holds(&tool),
            Self::MonitorOverhead => {
                let usual = monitor_overhead::PROGRAMS.map(str::to_owned);
                let words = if words.is_empty() { &usual[..] } else { words };
                monitor_overhead::prints(&tool, &chosen_programs(words)?)
            }
        }
    }
}
