//! The bill in instructions of the kernel: counts times the instructions of each op, beside those of
//! the program.
//!
//! Instructions repeat where times do not: what is missing here is a missing or wrong price, and no
//! state of the caches. The arithmetic is that of times; in it a [`PriceList`] of instructions has
//! numbers of them where others have nanoseconds.

use oscost_model::bill::{BillItem, InstructionBill, InstructionItem};
use oscost_model::counters::{CounterEvent, TreeCounts};
use oscost_model::program_calls::ProgramCalls;

use super::charges::charge;
use super::fault_items::Faults;
use super::price_list::PriceList;
use super::switch_items::on_one_cpu;

/// The bill of a program in instructions, by the counts of some runs of it; or why there is none. Beside
/// its cycles in a nanosecond stand those of the rows that have the prices.
pub fn instruction_bill(
    counted: &[TreeCounts],
    calls: &ProgramCalls,
    faults: Faults,
    prices: &PriceList<'_>,
    price_cycles_per_ns: Option<f64>,
) -> Result<InstructionBill, String> {
    let totals = |event: CounterEvent| -> Vec<f64> {
        let whole = counted.iter().filter(|it| it.void.is_none() && it.kernel);
        let found = whole.filter_map(|it| it.counts.iter().find(|total| total.event == event));
        found.map(|total| total.count as f64).collect()
    };
    let of_kernel = totals(CounterEvent::InstructionsKernel);
    let Some([least, kernel, most]) = spread(of_kernel.clone()) else {
        let void = counted.iter().find_map(|it| it.void.clone());
        return Err(void.unwrap_or_else(|| "instructions of the kernel are not visible".to_owned()));
    };
    let user = spread(totals(CounterEvent::InstructionsUser)).map(|[_, median, _]| median);
    let cycles = spread(totals(CounterEvent::Cycles)).map(|[_, median, _]| median);
    let clock_ns = spread(totals(CounterEvent::TaskClock)).map(|[_, median, _]| median);
    // The ops of prices across CPUs take their own time: nobody has counted their instructions.
    let charges = charge(&on_one_cpu(calls), faults, prices, kernel);
    if !charges.items.iter().any(|item| !item.rows.is_empty()) {
        return Err("no price has counted instructions: `oscost run` counts them where the \
                    processor's counters are visible"
            .to_owned());
    }
    Ok(InstructionBill {
        runs: of_kernel.len() as u32,
        kernel,
        kernel_range: [least, most],
        user,
        cycles_per_instruction: cycles
            .zip(user)
            .map(|(cycles, user)| cycles / (user + kernel).max(1.0)),
        cycles_per_ns: cycles.zip(clock_ns).map(|(cycles, ns)| cycles / ns.max(1.0)),
        price_cycles_per_ns,
        charged: charges.charged.ns,
        charged_ci95: charges.charged.ci95,
        difference: kernel - charges.charged.ns,
        items: charges.items.into_iter().map(instruction_item).collect(),
    })
}

fn instruction_item(item: BillItem) -> InstructionItem {
    InstructionItem {
        name: item.name,
        times: item.times,
        case: item.case,
        each: item.unit.map(|unit| unit.ns),
        amount: item.amount.map(|amount| amount.ns),
        missing: item.missing,
    }
}

/// The least, the median (the lower one of two) and the most; `None` without any.
fn spread(mut values: Vec<f64>) -> Option<[f64; 3]> {
    values.sort_by(f64::total_cmp);
    let median = *values.get(values.len().checked_sub(1)? / 2)?;
    Some([*values.first()?, median, *values.last()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_two_is_the_lower_one() {
        assert_eq!(spread(vec![3.0, 1.0]), Some([1.0, 1.0, 3.0]));
        assert_eq!(spread(vec![3.0, 1.0, 2.0]), Some([1.0, 2.0, 3.0]));
        assert_eq!(spread(Vec::new()), None);
    }
}
