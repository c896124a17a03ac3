//! Wake-ups of CPUs that had been idle for microseconds: at the cool end they had stopped their ticks.

use oscost_model::program_calls::{
    KernelEvents, RemoteWakes, RemoteWakesByCall, WakesOfIdle, WakesOfIdleByCall,
};

use super::*;

const MIB: u64 = 1 << 20;

/// The selector of the row that has it.
fn tick_stopped(by: &str) -> String {
    format!("switch/cpu-time:by={by},peer_cpu=other,settle_ms=100")
}

/// A walk before an op of nothing, and round trips of all kinds by one mechanism.
fn rows(by: &str, [other, stopped, idle, same, none]: [f64; 5]) -> Vec<Row> {
    let of = |cpu: &str, ns: f64| row(&format!("switch/cpu-time:by={by},peer_cpu={cpu}"), ns);
    let nothing = ["0", "1M"].map(|walk| {
        let mut row = row("timer/nothing", 0.4);
        row.target.treatments = vec![format!("cool={walk}")];
        row
    });
    let mut rows = nothing.to_vec();
    // The price is that of the tick that is kept, whichever row comes first.
    rows.extend([
        of("other,settle_ms=100", stopped),
        of("other", other),
        of("other,idle_us=300", idle),
        of("other,idle_us=1000", idle),
        of("same", same),
        of("none", none),
    ]);
    rows
}

fn tcp_rows() -> Vec<Row> {
    rows("tcp", [29_000.0, 46_000.0, 36_000.0, 12_000.0, 8_000.0])
}

/// What a program did whose waits end by calls about TCP sockets: after 30 of them the CPU was idle, after
/// 20 it ran another task.
fn woken_by_tcp(tcp: WakesOfIdle) -> ProgramCalls {
    let wakes = RemoteWakes { after_idle: 30, after_switch: 20 };
    let events = KernelEvents {
        remote_wakes_after_idle: Some(wakes.after_idle),
        remote_wakes_after_switch: Some(wakes.after_switch),
        remote_wakes_by: Some(RemoteWakesByCall { tcp: wakes, ..RemoteWakesByCall::default() }),
        remote_wakes_of_idle: Some(WakesOfIdleByCall { tcp, ..WakesOfIdleByCall::default() }),
        ..KernelEvents::default()
    };
    ProgramCalls { events: Some(events), ..calls(Vec::new()) }
}

/// The warm and the cool amount of each item, and where the cool one comes from.
fn amounts(rows: Vec<Row>, calls: &ProgramCalls) -> Vec<(String, f64, f64, Option<String>)> {
    let (records, catalog) = ([record(rows)], catalog());
    let prices = PriceList::new(&records, &catalog);
    let cool = CoolPrices::new(&records, &catalog, &prices, MIB);
    let mut found = charge(calls, Faults::default(), &prices, 1e7);
    charge_cool(&mut found, calls, &prices, &cool);
    let ns = |amount: &Option<Amount>| amount.as_ref().unwrap().ns.round();
    let items = found.items.iter();
    items
        .map(|it| (it.name.clone(), ns(&it.amount), ns(&it.cool_amount), it.cool_source.clone()))
        .collect()
}

#[test]
fn wake_ups_of_cpus_that_were_idle_for_microseconds_pay_half_a_round_trip_with_the_tick_stopped() {
    // Of all 50 the woken CPU was idle for microseconds in 40.
    let calls =
        woken_by_tcp(WakesOfIdle { below_150_us: 40, below_600_us: 5, ..WakesOfIdle::default() });
    let end = Some(tick_stopped("tcp"));
    let [wakes, switches] = [30.0 * 10_500.0, 20.0 * 8_500.0];
    let expected = [
        // Half of 17 us for 24 of the 30, and for 16 of the 20.
        ("wake-up across CPUs by TCP".to_owned(), wakes, wakes + 24.0 * 8_500.0, end.clone()),
        ("switch across CPUs by TCP".to_owned(), switches, switches + 16.0 * 8_500.0, end),
        // What longer idle times add is at one price: their rows are of that state already.
        ("wake-up after 0.3 ms idle by TCP".to_owned(), 35_000.0, 35_000.0, None),
    ];
    assert_eq!(amounts(tcp_rows(), &calls), expected);
}

#[test]
fn wake_ups_of_cpus_that_are_known_to_have_stopped_their_ticks_pay_that_and_have_no_range() {
    let calls = woken_by_tcp(WakesOfIdle {
        below_150_us: 40,
        below_600_us: 5,
        below_150_us_tickless: Some(8),
        ..WakesOfIdle::default()
    });
    let at = |name: &str, ns: f64| (name.to_owned(), ns, ns, None);
    let expected = [
        at("wake-up across CPUs by TCP", 30.0 * 10_500.0),
        at("switch across CPUs by TCP", 20.0 * 8_500.0),
        at("wake-up of a tickless CPU by TCP", 8.0 * 8_500.0),
        at("wake-up after 0.3 ms idle by TCP", 35_000.0),
    ];
    assert_eq!(amounts(tcp_rows(), &calls), expected);
}

#[test]
fn a_wake_up_has_no_such_range_without_both_rows_or_where_no_cpu_was_idle_so_briefly() {
    let at_one_price = |rows: Vec<Row>, of_idle: WakesOfIdle| {
        let found = amounts(rows, &woken_by_tcp(of_idle));
        assert!(!found.is_empty());
        found.iter().all(|(_, warm, cool, source)| warm == cool && source.is_none())
    };
    let briefly = WakesOfIdle { below_150_us: 40, ..WakesOfIdle::default() };
    assert!(!at_one_price(tcp_rows(), briefly));
    let mut without = tcp_rows();
    without.retain(|row| !row.case.contains("settle_ms"));
    assert!(at_one_price(without, briefly));
    assert!(at_one_price(tcp_rows(), WakesOfIdle { longer: 50, ..WakesOfIdle::default() }));
    assert!(at_one_price(tcp_rows(), WakesOfIdle::default()));
}

#[test]
fn the_row_with_the_tick_stopped_is_lacking_for_its_share_and_is_no_price() {
    let catalog = catalog();
    let calls = woken_by_tcp(WakesOfIdle { below_150_us: 40, ..WakesOfIdle::default() });
    let lacking = |without: &str| {
        let mut rows = tcp_rows();
        rows.retain(|row| row.case != without);
        let records = [record(rows)];
        let prices = PriceList::new(&records, &catalog);
        let found = lacking_prices(&calls, Faults::default(), &prices, &prices, &catalog);
        let found = found.into_iter();
        found.map(|it| (it.selector, it.amount_ns, it.is_of_range)).collect::<Vec<_>>()
    };
    assert!(lacking("").is_empty());
    // Half of what 40 wake-ups are expected to take more: half of 17 us each.
    let expected = (tick_stopped("tcp"), Some(40.0 * 8_500.0 / 2.0), true);
    assert_eq!(lacking(&tick_stopped("tcp")), [expected]);
    // A row with the tick stopped is no price of the other.
    let found = lacking("switch/cpu-time:by=tcp,peer_cpu=other");
    let price = "switch/cpu-time:by=tcp,peer_cpu=other,idle_us=none,settle_ms=none";
    assert_eq!(found.iter().map(|it| (it.0.as_str(), it.2)).collect::<Vec<_>>(), [(price, false)]);
}

#[test]
fn each_mechanism_has_the_range_of_its_own_rows() {
    for (name, by) in [
        ("", "eventfd"),
        (" by TCP", "tcp"),
        (" by unix socket", "unix"),
        (" by futex", "futex"),
        (" by pipe", "pipe"),
    ] {
        for begin in ["wake-up across CPUs", "switch across CPUs"] {
            let rule = rules::rule_of(&format!("{begin}{name}")).unwrap();
            let range = rule.tick_range.as_ref().unwrap();
            assert_eq!((&range.from, range.part), (&rule.case, rule.part), "{begin}{name}");
            assert_eq!(range.to, tick_stopped(by));
        }
    }
}
