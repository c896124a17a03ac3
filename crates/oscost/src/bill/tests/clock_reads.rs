//! Clock reads beside a bill, on made-up rows and counts.

use oscost_model::bill::ClockReadItem;
use oscost_model::program_calls::{ClockReads, KernelEvents};

use super::*;

/// The clock reads of a program that called clock_gettime(2) of the C library so often, and time(2)
/// three times, and made ten system calls of the first name.
fn found(clock_gettime: u64, rows: Vec<Row>) -> Vec<ClockReadItem> {
    let record = record(rows);
    let prices = PriceList::new([&record], &catalog());
    let reads = ClockReads { clock_gettime, gettimeofday: None, time: Some(3) };
    let events = Some(KernelEvents { clock_reads: Some(reads), ..KernelEvents::default() });
    let forms = vec![form("clock_gettime", None, 7, 0), form("clock_gettime EINVAL", None, 3, 0)];
    clock_reads(&ProgramCalls { events, ..calls(forms) }, &prices)
}

fn row_of_clock() -> Row {
    row("timer/clock-gettime:clock=monotonic,via=libc", 20.0)
}

#[test]
fn a_read_that_is_no_system_call_pays_its_case() {
    let found = found(110, vec![row_of_clock()]);
    let [clock_gettime, gettimeofday, time] = &found[..] else { panic!("{found:?}") };
    assert_eq!((clock_gettime.times, clock_gettime.system_calls), (Some(110), 10));
    let amount = clock_gettime.amount.as_ref().unwrap();
    assert_eq!(amount.ns, 100.0 * 20.0);
    assert!(amount.ci95.is_some() && clock_gettime.missing.is_none());
    assert_eq!((gettimeofday.times, &gettimeofday.amount), (None, &None));
    assert!(gettimeofday.missing.as_ref().unwrap().contains("leaves it to the vDSO"));
    assert_eq!((time.times, time.system_calls, &time.amount), (Some(3), 0, &None));
    assert_eq!(time.missing.as_deref(), Some("no price of timer/time:via=libc"));
}

#[test]
fn more_system_calls_than_calls_of_the_library_have_no_amount() {
    let found = found(9, vec![row_of_clock()]);
    assert_eq!(found[0].amount, None);
    assert!(found[0].missing.as_ref().unwrap().starts_with("more system calls"), "{found:?}");
    let prices = PriceList::new([], &catalog());
    let none = clock_reads(&calls(vec![form("clock_gettime", None, 7, 0)]), &prices);
    assert!(none.is_empty(), "they were not counted");
}
