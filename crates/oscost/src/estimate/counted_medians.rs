//! What the counting workers of a row found, as medians: what a history needs of them.

use oscost_model::counters::{CPI, CounterEvent, GHZ, INSN};
use oscost_model::record::{CountedMedian, CountedMedians, CountedRepetition, RowCounters};
use oscost_stats::interval::{Nominal, median_hs};
use oscost_stats::order;

/// A number beyond this is no count per op; an imported record may contain one.
const MAX_PLAUSIBLE: f64 = 1e20;

/// The medians of a row's counting workers; `None` if they have no instructions.
pub fn counted_medians(counters: &RowCounters) -> Option<CountedMedians> {
    let values = |of: &dyn Fn(&CountedRepetition) -> Option<f64>| {
        let values = counters.repetitions.iter().filter_map(of);
        let values: Vec<f64> = values.filter(|value| value.abs() <= MAX_PLAUSIBLE).collect();
        order::sorted(&values)
    };
    let figure = |metric: &str| {
        let sorted = values(&|it| it.figures.get(metric).copied());
        let interval = median_hs(&sorted, Nominal::FIXED).map(|it| [it.lo, it.hi]);
        order::median(&sorted).map(|median| CountedMedian { median, interval })
    };
    let insn = figure(INSN);
    let insn_user = figure(CounterEvent::InstructionsUser.metric());
    let has_work = insn.is_some() || insn_user.is_some();
    has_work.then(|| CountedMedians {
        inherited: counters.inherited,
        insn,
        insn_user,
        insn_kernel: figure(CounterEvent::InstructionsKernel.metric()),
        cpi: figure(CPI),
        ghz: figure(GHZ),
        time_ns: order::median(&values(&|it| it.time_ns)),
        running_ns: order::median(&values(&|it| it.running_ns)),
        counted_time_ratio: counters
            .counted_time_ratio
            .filter(|ratio| ratio.abs() <= MAX_PLAUSIBLE),
    })
}
