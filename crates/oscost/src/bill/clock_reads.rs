//! Clock reads through the C library: user time, which stands beside the bill.

use oscost_model::bill::ClockReadItem;
use oscost_model::program_calls::{ClockReads, ProgramCalls};

use super::price_list::PriceList;

/// A function of the C library that reads a clock, and the case that prices a call of it.
struct ClockFunction {
    name: &'static str,
    case: &'static str,
    /// Its calls by the program; or why they are not known.
    of: fn(&ClockReads) -> Result<u64, &'static str>,
    /// Its calls by other functions of the library.
    nested: fn(&ClockReads) -> u64,
}

/// Why the calls of a function are not known.
const LEFT_TO_VDSO: &str = "the library leaves it to the vDSO, which no counter sees";
/// Those that read no clock: gettimeofday(2) with a null pointer.
const TOO_FEW: &str = "fewer calls than those of gettimeofday() and time(), which were to make one \
                       each";

static FUNCTIONS: [ClockFunction; 3] = [
    ClockFunction {
        name: "clock_gettime",
        case: "timer/clock-gettime:clock=monotonic,via=libc",
        of: |reads| reads.clock_gettime.checked_sub(reads.nested).ok_or(TOO_FEW),
        nested: |reads| reads.nested,
    },
    ClockFunction {
        name: "gettimeofday",
        case: "timer/gettimeofday:via=libc",
        of: |reads| reads.gettimeofday.ok_or(LEFT_TO_VDSO),
        nested: |_| 0,
    },
    ClockFunction {
        name: "time",
        case: "timer/time:via=libc",
        of: |reads| reads.time.ok_or(LEFT_TO_VDSO),
        nested: |_| 0,
    },
];

/// The clock reads of a program, a line for each function; none if they were not counted. What the
/// kernel saw as a system call is an item of the bill, and not charged here.
pub fn clock_reads(calls: &ProgramCalls, prices: &PriceList<'_>) -> Vec<ClockReadItem> {
    let reads = calls.events.and_then(|events| events.clock_reads);
    let lines = reads.iter().flat_map(|reads| FUNCTIONS.iter().map(move |it| (it, reads)));
    lines.map(|(function, reads)| function.item(reads, calls, prices)).collect()
}

/// Whether a form is a system call that such a function makes.
pub(super) fn is_of_clock_function(form: &str) -> bool {
    FUNCTIONS.iter().any(|function| function.has_form(form))
}

impl ClockFunction {
    fn has_form(&self, form: &str) -> bool {
        form.split(' ').next() == Some(self.name)
    }

    fn item(
        &self,
        reads: &ClockReads,
        calls: &ProgramCalls,
        prices: &PriceList<'_>,
    ) -> ClockReadItem {
        let times = (self.of)(reads);
        let own = calls.forms.iter().filter(|it| self.has_form(&it.form));
        let system_calls: u64 = own.map(|it| it.calls).sum();
        let unit = prices.price(self.case, None).map(|price| price.amount);
        let in_user_mode = times.ok().and_then(|times| times.checked_sub(system_calls));
        let amount = unit.as_ref().zip(in_user_mode).map(|(unit, it)| unit.times(it as f64));
        let missing = match (times, in_user_mode, &unit) {
            (Err(why), _, _) => Some(why.to_owned()),
            (_, None, _) => Some("more system calls of its name than calls of it".to_owned()),
            (_, _, None) => Some(format!("no price of {}", self.case)),
            _ => None,
        };
        ClockReadItem {
            function: self.name.to_owned(),
            times: times.ok(),
            nested: (self.nested)(reads),
            system_calls,
            case: self.case.to_owned(),
            unit,
            amount,
            missing,
        }
    }
}
