//! Clock reads through the C library: user time, which stands beside the bill.

use oscost_model::bill::ClockReadItem;
use oscost_model::program_calls::{ClockReads, ProgramCalls};

use super::price_list::PriceList;

/// A function of the C library that reads a clock, and the case that prices a call of it.
struct ClockFunction {
    name: &'static str,
    case: &'static str,
    of: fn(&ClockReads) -> Option<u64>,
}

static FUNCTIONS: [ClockFunction; 3] = [
    ClockFunction {
        name: "clock_gettime",
        case: "timer/clock-gettime:clock=monotonic,via=libc",
        of: |reads| Some(reads.clock_gettime),
    },
    ClockFunction {
        name: "gettimeofday",
        case: "timer/gettimeofday:via=libc",
        of: |reads| reads.gettimeofday,
    },
    ClockFunction { name: "time", case: "timer/time:via=libc", of: |reads| reads.time },
];

/// The clock reads of a program, a line for each function; none if they were not counted. What the
/// kernel saw as a system call is an item of the bill, and not charged here.
pub fn clock_reads(calls: &ProgramCalls, prices: &PriceList<'_>) -> Vec<ClockReadItem> {
    let reads = calls.events.and_then(|events| events.clock_reads);
    let lines = reads.iter().flat_map(|reads| FUNCTIONS.iter().map(move |it| (it, reads)));
    lines.map(|(function, reads)| function.item(reads, calls, prices)).collect()
}

impl ClockFunction {
    fn item(
        &self,
        reads: &ClockReads,
        calls: &ProgramCalls,
        prices: &PriceList<'_>,
    ) -> ClockReadItem {
        let times = (self.of)(reads);
        let is_own = |form: &str| form.split(' ').next() == Some(self.name);
        let own = calls.forms.iter().filter(|it| is_own(&it.form));
        let system_calls: u64 = own.map(|it| it.calls).sum();
        let unit = prices.price(self.case, None).map(|price| price.amount);
        let in_user_mode = times.and_then(|times| times.checked_sub(system_calls));
        let amount = unit.as_ref().zip(in_user_mode).map(|(unit, it)| unit.times(it as f64));
        let missing = match (times, in_user_mode, &unit) {
            (None, _, _) => {
                Some("the library leaves it to the vDSO, which no counter sees".to_owned())
            }
            (_, None, _) => Some("more system calls of its name than calls of it".to_owned()),
            (_, _, None) => Some(format!("no price of {}", self.case)),
            _ => None,
        };
        ClockReadItem {
            function: self.name.to_owned(),
            times,
            system_calls,
            case: self.case.to_owned(),
            unit,
            amount,
            missing,
        }
    }
}
