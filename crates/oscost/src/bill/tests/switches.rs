//! Switches of programs, on made-up rows and counts.

use oscost_model::program_calls::{
    KernelEvents, OutsideWakes, OutsideWakesByCall, RemoteWakes, RemoteWakesByCall, WakesOfIdle,
    WakesOfIdleByCall,
};

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
    let (mut flagged, mut also_flagged) = (same.clone(), none);
    flagged.flags = vec!["DRIFT".to_owned(), "UNRELIABLE".to_owned()];
    also_flagged.flags = vec!["UNRELIABLE".to_owned()];
    let found = charged_switches(vec![flagged, also_flagged]);
    assert_eq!(amount(&found, "switch to another process"), Some(80.0 * 750.0));
    let item = found.items.iter().find(|it| it.name == "switch to another process").unwrap();
    assert_eq!((item.times, item.family.as_str()), (80.0, "waiting"));
    assert_eq!(item.flags, ["DRIFT", "UNRELIABLE"], "of all rows, each once");
    // With the calls in it the price would be too high.
    let found = charged_switches(vec![same]);
    assert_eq!(amount(&found, "switch to another process"), None);
    let item = found.items.iter().find(|it| it.name == "switch to another process").unwrap();
    let why = "no price of switch/yield:between=processes,peer_cpu=none in these runs";
    assert_eq!(item.missing.as_deref(), Some(why));
}

#[test]
fn a_fork_to_another_cpu_pays_what_its_op_takes_more_there_and_once() {
    let rows = vec![
        row("process/fork-exit:touched_mib=0,peer_cpu=same", 100_000.0),
        row("process/exit:touched_mib=0", 30_000.0),
        row("process/wait", 2_000.0),
        row("process/fork-cpu-time:peer_cpu=same", 110_000.0),
        row("process/fork-cpu-time:peer_cpu=other", 170_000.0),
        row("switch/cpu-time:peer_cpu=same", 3_000.0),
        row("switch/cpu-time:peer_cpu=other", 9_000.0),
        row("switch/cpu-time:peer_cpu=none", 1_000.0),
    ];
    let events = KernelEvents {
        forks_to_other_cpu: Some(8),
        starts_on_other_cpu: Some(1),
        remote_wakes_after_idle: Some(20),
        remote_wakes_after_switch: Some(4),
        ..KernelEvents::default()
    };
    let forms = vec![
        form("clone process", None, 10, 0),
        form("exit_group", None, 10, 0),
        form("wait4", None, 10, 0),
    ];
    let charged = |rows: &[Row], events: KernelEvents| {
        let record = record(rows.to_vec());
        let prices = PriceList::new([&record], &catalog());
        let calls = ProgramCalls { events: Some(events), ..calls(forms.clone()) };
        charge(&calls, Faults::default(), &prices, 1e6)
    };
    let found = charged(&rows, events);
    // Ten ops of 100 us, eight of which take 60 us more.
    let ops = ["clone process", "exit_group", "wait4", "child on another CPU"];
    let sum: f64 = ops.iter().filter_map(|name| amount(&found, name)).sum();
    assert_eq!(sum, 10.0 * 100_000.0 + 8.0 * 60_000.0);
    // Of the 20 waits eight are for these children, and two in the price of the other forks.
    assert_eq!(amount(&found, "wake-up across CPUs"), Some(10.0 * 4_000.0));
    assert_eq!(amount(&found, "switch across CPUs"), Some((2.0 + 4.0 + 1.0) * 3_000.0));
    let child = found.items.iter().find(|it| it.name == "child on another CPU").unwrap();
    assert_eq!((child.times, child.family.as_str()), (8.0, "processes"));
    assert_eq!(child.rows, ["process/fork-cpu-time:peer_cpu=other"]);
    assert_eq!(child.less, ["process/fork-cpu-time:peer_cpu=same"]);
    // On one CPU there is no such item.
    let alone = charged(&rows, KernelEvents::default());
    let names: Vec<&str> = alone.items.iter().map(|it| it.name.as_str()).collect();
    assert_eq!((names.len(), alone.charged.ns.round()), (3, 1e6), "{names:?}");
    // Without a part of the price there is none, and the run that measures it is named.
    let lacking = charged(&rows[..4], events);
    let missing = |name: &str| {
        let item = lacking.items.iter().find(|it| it.name == name).unwrap();
        (item.amount.is_none(), item.missing.clone())
    };
    let why = "no price of process/fork-cpu-time:peer_cpu=other in these runs".to_owned();
    assert_eq!(missing("child on another CPU"), (true, Some(why)));
    assert!(missing("wake-up across CPUs").0);
    assert!(lacking.missing.contains(&"process/fork-cpu-time:peer_cpu=other".to_owned()));
}

/// Round trips of this mechanism on two CPUs, on one, and without a wait.
fn cpu_time_rows(by: &str, [other, same, none]: [f64; 3]) -> [Row; 3] {
    // A case does not name the implied value.
    let by = if by == "eventfd" { String::new() } else { format!("by={by},") };
    [("other", other), ("same", same), ("none", none)]
        .map(|(cpu, ns)| row(&format!("switch/cpu-time:{by}peer_cpu={cpu}"), ns))
}

#[test]
fn a_send_that_wakes_a_task_on_another_cpu_pays_a_round_trip_by_its_socket_in_all() {
    let tcp = cpu_time_rows("tcp", [34_000.0, 12_000.0, 8_000.0]);
    let eventfd = cpu_time_rows("eventfd", [20_000.0, 4_000.0, 1_000.0]);
    let round_trip = row("socket/round-trip:by=tcp,size=64,peer_cpu=same", 12_000.0);
    let rows: Vec<Row> = tcp.iter().chain(&eventfd).chain([&round_trip]).cloned().collect();
    let wakes = |after_idle| RemoteWakes { after_idle, after_switch: 0 };
    let charged = |rows: &[Row], of_tcp: u64| {
        let record = record(rows.to_vec());
        let prices = PriceList::new([&record], &catalog());
        let by = RemoteWakesByCall { tcp: wakes(of_tcp), ..RemoteWakesByCall::default() };
        let events = KernelEvents {
            remote_wakes_after_idle: Some(200),
            remote_wakes_after_switch: Some(0),
            remote_wakes_by: Some(by),
            ..KernelEvents::default()
        };
        let forms = vec![
            form("sendto tcp", Some(64), 200, 12_800),
            form("recvfrom tcp", Some(64), 200, 12_800),
        ];
        let calls = ProgramCalls { events: Some(events), ..calls(forms) };
        charge(&calls, Faults::default(), &prices, 1e7)
    };
    // A hundred round trips by TCP, all on two CPUs: what they take there, and no wake-up besides.
    let found = charged(&rows, 200);
    assert_eq!(amount(&found, "switch across CPUs by TCP"), Some(200.0 * 11_000.0));
    let names: Vec<&str> = found.items.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names.len(), 3, "{names:?}");
    assert_eq!(found.charged.ns.round(), 100.0 * 34_000.0);
    // Those by something else pay the round trip by eventfd.
    let found = charged(&rows, 50);
    assert_eq!(amount(&found, "switch across CPUs by TCP"), Some(50.0 * 11_000.0));
    assert_eq!(amount(&found, "switch across CPUs"), Some(150.0 * 8_000.0));
    let item = found.items.iter().find(|it| it.name == "switch across CPUs by TCP").unwrap();
    assert_eq!((item.times, item.family.as_str()), (50.0, "waiting"));
    assert_eq!(item.rows, ["switch/cpu-time:by=tcp,peer_cpu=other"]);
    assert_eq!(item.less, ["switch/cpu-time:by=tcp,peer_cpu=same"]);
    // The price of another mechanism is none of theirs, in either direction.
    let by_eventfd: Vec<Row> = eventfd.iter().chain([&round_trip]).cloned().collect();
    let by_tcp: Vec<Row> = tcp.iter().chain([&round_trip]).cloned().collect();
    assert_eq!(amount(&charged(&by_eventfd, 50), "switch across CPUs by TCP"), None);
    assert_eq!(amount(&charged(&by_tcp, 50), "switch across CPUs"), None);
}

/// A hundred round trips over unix sockets on two CPUs by one of both ends, or by both.
fn billed_ends(rows: &[Row], both: bool) -> Charges {
    let record = record(rows.to_vec());
    let prices = PriceList::new([&record], &catalog());
    let long = |longer| WakesOfIdle { longer, ..WakesOfIdle::default() };
    let unix = OutsideWakes { wakes: 100, of_idle: long(30) };
    let outside = Some(OutsideWakesByCall { unix, ..OutsideWakesByCall::default() });
    let wakes = RemoteWakes { after_idle: 200, after_switch: 0 };
    let events = match both {
        false => KernelEvents {
            remote_wakes_of_idle: Some(WakesOfIdleByCall::default()),
            remote_wakes_of_outside: outside,
            remote_wakes_by_outside: outside,
            ..KernelEvents::default()
        },
        true => KernelEvents {
            remote_wakes_after_idle: Some(wakes.after_idle),
            remote_wakes_after_switch: Some(wakes.after_switch),
            remote_wakes_by: Some(RemoteWakesByCall { unix: wakes, ..Default::default() }),
            remote_wakes_of_idle: Some(WakesOfIdleByCall { unix: long(60), ..Default::default() }),
            ..KernelEvents::default()
        },
    };
    let ends = if both { 2 } else { 1 };
    let forms = ["sendto unix", "recvfrom unix"];
    let forms = forms.map(|name| form(name, Some(64), ends * 100, ends * 6_400)).to_vec();
    let calls = ProgramCalls { events: Some(events), ..calls(forms) };
    charge(&calls, Faults::default(), &prices, 1e7)
}

#[test]
fn a_round_trip_with_another_program_is_split_between_its_ends() {
    let mut rows = cpu_time_rows("unix", [34_000.0, 12_000.0, 8_000.0]).to_vec();
    rows.push(row("switch/cpu-time:by=unix,peer_cpu=other,idle_us=1000", 54_000.0));
    rows.push(row("socket/round-trip:by=unix-stream,size=64,peer_cpu=same", 12_000.0));
    let (one, both) = (billed_ends(&rows, false), billed_ends(&rows, true));
    let [of, from] = ["of", "from"].map(|which| {
        let name = format!("wake-up {which} another program by unix socket");
        let item = one.items.iter().find(|it| it.name == name).unwrap();
        assert_eq!((item.times, item.family.as_str()), (100.0, "waiting"));
        assert_eq!(item.rows, ["switch/cpu-time:by=unix,peer_cpu=other"]);
        assert_eq!(item.less, ["switch/cpu-time:by=unix,peer_cpu=same"]);
        amount(&one, &name)
    });
    assert_eq!((of, from), (Some(100.0 * 5_500.0), Some(100.0 * 5_500.0)));
    // Half of 30 in each direction.
    let idle = "wake-up after 1 ms idle by unix socket";
    assert_eq!(amount(&one, idle), Some(30.0 * 20_000.0));
    assert_eq!(amount(&both, idle), Some(60.0 * 20_000.0));
    // Both ends together are charged what the bill of both is.
    assert_eq!((2.0 * one.charged.ns).round(), both.charged.ns.round());
    assert_eq!(both.charged.ns.round(), 100.0 * 34_000.0 + 60.0 * 20_000.0);
    // Without its price it is an item without an amount.
    let without = billed_ends(&rows[1..], false);
    assert_eq!(amount(&without, "wake-up of another program by unix socket"), None);
    assert!(without.missing.iter().any(|it| it.starts_with("switch/cpu-time:by=unix")));
}

#[test]
fn a_futex_that_wakes_a_waiter_pays_more_than_one_that_wakes_nobody() {
    let rows = vec![
        row("syscall/futex-wake", 150.0),
        row("switch/futex:between=processes,peer_cpu=same", 4_000.0),
    ];
    let forms = vec![
        form("futex wait", None, 10, 0),
        form("futex wait EAGAIN", None, 4, 0),
        form("futex wake waiter", None, 10, 0),
        form("futex wake", None, 10, 0),
    ];
    let found = charges(rows, forms, Faults::default());
    assert_eq!(amount(&found, "futex wake"), Some(1_500.0));
    assert_eq!(amount(&found, "futex wait EAGAIN"), Some(600.0), "they have not waited");
    // Ten one-way messages: five round trips.
    let both = ["futex wait", "futex wake waiter"].map(|name| amount(&found, name).unwrap());
    assert_eq!(both, [10_000.0; 2]);
}
