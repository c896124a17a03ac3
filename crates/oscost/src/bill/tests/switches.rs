//! Switches of programs, on made-up rows and counts.

use oscost_model::program_calls::KernelEvents;

use super::*;

/// What 100 switches to other processes are charged, beside a call that the kernel makes at once.
fn charged_switches(rows: Vec<Row>) -> Charges {
    let record = record(rows);
    let prices = PriceList::new([&record], &catalog());
    let events = KernelEvents {
        voluntary_switches: 130,
        voluntary_to_process: Some(100),
        voluntary_to_thread: Some(0),
        ..KernelEvents::default()
    };
    let calls = ProgramCalls {
        events: Some(events),
        ..calls(vec![form("futex wait", None, 40, 0), form("getppid", None, 1, 0)])
    };
    charge(&calls, Faults::default(), &prices, 100_000.0)
}

#[test]
fn a_switch_pays_half_of_what_a_yield_to_a_peer_takes_more_than_one_without() {
    let same = row("switch/yield:between=processes,peer_cpu=same", 2_000.0);
    let none = row("switch/yield:between=processes,peer_cpu=none", 500.0);
    // 20 of them are in the price of 40 waits.
    let found = charged_switches(vec![same.clone(), none]);
    assert_eq!(amount(&found, "switch to another process"), Some(80.0 * 750.0));
    let item = found.items.iter().find(|it| it.name == "switch to another process").unwrap();
    assert_eq!((item.times, item.family.as_str()), (80.0, "waiting"));
    // With the calls in it the price would be too high.
    let found = charged_switches(vec![same]);
    assert_eq!(amount(&found, "switch to another process"), None);
    let item = found.items.iter().find(|it| it.name == "switch to another process").unwrap();
    let why = "no price of switch/yield:between=processes,peer_cpu=none in these runs";
    assert_eq!(item.missing.as_deref(), Some(why));
}
