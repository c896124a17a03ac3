//! Bills in instructions, on made-up rows and counts.

use oscost_model::bill::InstructionBill;
use oscost_model::counters::{CounterEvent, EventTotal, TreeCounts};
use oscost_model::program_calls::KernelEvents;
use oscost_model::record::{Metric, RowCounters};
use oscost_model::unit::Better;

use super::*;

/// A row of 100 ns whose op executes so many instructions of the kernel; one that takes its own time
/// of a part of what is counted has no ratio of times.
fn counted_row(case: &str, instructions: f64, counted_time_ratio: Option<f64>) -> Row {
    let mut row = row(case, 100.0);
    let estimate = Estimate { median: instructions, ci95: None, ..row.estimate.clone().unwrap() };
    let metric = Metric { unit: Unit::InstructionsPerOp, better: Better::Lower, estimate };
    row.metrics.insert(CounterEvent::InstructionsKernel.metric().to_owned(), metric);
    row.counters = Some(RowCounters {
        workers: 3,
        read_by: None,
        kernel: true,
        inherited: false,
        insn_sd_pct: None,
        repeats: None,
        counted_time_ratio,
        running_ns: None,
        waiting_ns: None,
        short_by: None,
        amortized: false,
        over_ticks: false,
        void: Vec::new(),
        repetitions: Vec::new(),
    });
    row
}

/// A run that executed so many instructions of the kernel, four times as many of its own, and as many
/// cycles as both, 2.5 in a nanosecond.
fn run(kernel: u64) -> TreeCounts {
    let total = |event, count| EventTotal { event, count };
    TreeCounts {
        counts: vec![
            total(CounterEvent::InstructionsUser, 4 * kernel),
            total(CounterEvent::InstructionsKernel, kernel),
            total(CounterEvent::Cycles, 5 * kernel),
            total(CounterEvent::TaskClock, 2 * kernel),
        ],
        kernel: true,
        ..TreeCounts::default()
    }
}

fn billed(rows: Vec<Row>, runs: &[TreeCounts]) -> Result<InstructionBill, String> {
    let record = record(rows);
    let prices = PriceList::of_kernel_instructions(&[], [&record], &catalog());
    let forms = vec![form("getppid", None, 10, 0), form("exit_group", None, 1, 0)];
    // What happens across CPUs has no price in instructions, and is no item.
    let events = KernelEvents {
        forks_to_other_cpu: Some(3),
        remote_wakes_after_idle: Some(3),
        ..KernelEvents::default()
    };
    let calls = ProgramCalls { events: Some(events), ..calls(forms) };
    instruction_bill(runs, &calls, Faults::default(), &prices, Some(3.0))
}

#[test]
fn counts_times_instructions_stand_beside_those_of_the_program() {
    let rows = vec![
        counted_row("syscall/getppid:via=raw", 300.0, Some(1.0)),
        // Its counts have the fork before it, too.
        counted_row("process/exit:touched_mib=0", 90_000.0, None),
    ];
    let found = billed(rows, &[run(4_100), run(4_000), run(3_900)]).unwrap();
    assert_eq!((found.runs, found.kernel, found.kernel_range), (3, 4_000.0, [3_900.0, 4_100.0]));
    assert_eq!((found.user, found.cycles_per_instruction), (Some(16_000.0), Some(1.0)));
    assert_eq!((found.cycles_per_ns, found.price_cycles_per_ns), (Some(2.5), Some(3.0)));
    assert_eq!((found.charged, found.difference), (3_000.0, 1_000.0));
    let exit = found.items.iter().find(|item| item.name == "exit_group").unwrap();
    assert_eq!((exit.amount, exit.missing.is_some()), (None, true));
    assert_eq!(found.items.len(), 2, "{:?}", found.items);
}

#[test]
fn without_counts_of_the_kernel_there_is_a_reason() {
    let rows = || vec![counted_row("syscall/getppid:via=raw", 300.0, Some(1.0))];
    let void = TreeCounts { void: Some("it was multiplexed".to_owned()), ..TreeCounts::default() };
    assert_eq!(billed(rows(), &[void]).unwrap_err(), "it was multiplexed");
    let of_user = TreeCounts { kernel: false, ..run(1) };
    assert!(billed(rows(), &[of_user]).unwrap_err().contains("not visible"));
    let why = billed(vec![row("syscall/getppid:via=raw", 100.0)], &[run(1)]).unwrap_err();
    assert!(why.starts_with("no price has counted instructions"), "{why}");
}
