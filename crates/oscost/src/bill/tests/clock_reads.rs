//! Clock reads beside a bill, on made-up rows and counts.

use oscost_model::bill::ClockReadItem;
use oscost_model::program_calls::{ClockReads, KernelEvents};

use super::*;

/// The clock reads of a program in which clock_gettime(2) of the C library was called so often, and
/// time(2) three times, and which made ten system calls of the first name.
fn found(clock_gettime: u64, rows: Vec<Row>) -> Vec<ClockReadItem> {
    let record = record(rows);
    let prices = PriceList::new([&record], &catalog());
    // Three calls of the first one are those of time(2).
    let reads = ClockReads { clock_gettime, gettimeofday: None, time: Some(3), nested: 3 };
    let events = Some(KernelEvents { clock_reads: Some(reads), ..KernelEvents::default() });
    let forms = vec![form("clock_gettime", None, 7, 0), form("clock_gettime EINVAL", None, 3, 0)];
    clock_reads(&ProgramCalls { events, ..calls(forms) }, &prices)
}

fn row_of_clock() -> Row {
    row("timer/clock-gettime:clock=monotonic,via=libc", 20.0)
}

#[test]
fn a_read_that_is_no_system_call_pays_its_case() {
    let found = found(113, vec![row_of_clock()]);
    let [clock_gettime, gettimeofday, time] = &found[..] else { panic!("{found:?}") };
    assert_eq!((clock_gettime.times, clock_gettime.system_calls), (Some(110), 10));
    assert_eq!([clock_gettime, gettimeofday, time].map(|it| it.nested), [3, 0, 0]);
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
    let few = found(12, vec![row_of_clock()]);
    assert_eq!((few[0].times, &few[0].amount), (Some(9), &None));
    assert!(few[0].missing.as_ref().unwrap().starts_with("more system calls"), "{few:?}");
    let none = found(2, vec![row_of_clock()]);
    assert_eq!((none[0].times, &none[0].amount), (None, &None));
    let why = none[0].missing.as_ref().unwrap();
    assert!(why.starts_with("fewer calls than those of gettimeofday()"), "{why}");
    let prices = PriceList::new([], &catalog());
    let none = clock_reads(&calls(vec![form("clock_gettime", None, 7, 0)]), &prices);
    assert!(none.is_empty(), "they were not counted");
}

#[test]
fn clock_reads_and_the_system_calls_of_their_names_are_of_one_run() {
    let run = |getppid, clock_gettime, reads: Option<u64>| {
        let forms =
            vec![form("clock_gettime", None, clock_gettime, 0), form("getppid", None, getppid, 0)];
        let clock_reads =
            reads.map(|clock_gettime| ClockReads { clock_gettime, ..ClockReads::default() });
        let events = Some(KernelEvents { clock_reads, ..KernelEvents::default() });
        ProgramCalls { events, ..calls(forms) }
    };
    let combined = |reads: [Option<u64>; 3]| {
        let [first, second, third] = reads;
        let runs = [run(100, 5, first), run(200, 9, second), run(300, 1, third)];
        let calls = combine(&runs).unwrap().calls;
        let [clock_gettime, getppid] = ["clock_gettime", "getppid"]
            .map(|name| calls.forms.iter().find(|it| it.form == name).unwrap().calls);
        let reads = calls.events.unwrap().clock_reads.map(|it| it.clock_gettime);
        (clock_gettime, getppid, reads)
    };
    // The run with the median number of all calls made nine.
    assert_eq!(combined([Some(50), Some(90), Some(10)]), (9, 200, Some(90)));
    assert_eq!(combined([None; 3]), (5, 200, None), "the median of each form");
}
