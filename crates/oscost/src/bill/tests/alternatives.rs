//! What would help programs, on made-up rows and counts.

use oscost_model::bill::Alternative;
use oscost_model::program_calls::{FaultCounts, KernelEvents};

use super::*;

/// A system time that shares are of.
const SYSTEM_NS: f64 = 1e6;

/// What would help a program that made these calls, and executed two programs.
fn found(rows: Vec<Row>, forms: Vec<FormCount>) -> Vec<Alternative> {
    let calls = ProgramCalls { execs: 2, ..calls(forms) };
    of_program(rows, &calls, Faults::default())
}

fn of_program(rows: Vec<Row>, calls: &ProgramCalls, faults: Faults) -> Vec<Alternative> {
    let record = record(rows);
    let prices = PriceList::new([&record], &catalog());
    let charges = charge(calls, faults, &prices, SYSTEM_NS);
    alternatives(&charges.items, calls, &prices, SYSTEM_NS)
}

fn change<'a>(found: &'a [Alternative], begin: &str) -> &'a Alternative {
    found.iter().find(|it| it.change.starts_with(begin)).unwrap()
}

#[test]
fn what_is_saved_is_how_often_times_the_difference_of_two_rows() {
    let rows = vec![
        row("file/read:via=read,size=4096", 1_000.0),
        row("file/read:via=mmap,size=4096", 400.0),
        row("file/read:via=read,size=65536", 6_400.0),
    ];
    let found = found(rows, vec![form("read file", Some(4_096), 100, 409_600)]);
    let [first, second] = &found[..] else { panic!("{found:?}") };
    // 1,000 - 400 ns, and 1,000 - 6,400 / 16 ns.
    for it in [first, second] {
        assert_eq!((it.item.as_str(), it.times, it.is_whole_item), ("read file", 100.0, false));
        let saving = it.saving.as_ref().unwrap();
        assert_eq!(saving.ns.round(), 60_000.0);
        let [low, high] = saving.ci95.unwrap();
        assert_eq!([low.round(), high.round()], [46_000.0, 74_000.0]);
        assert_eq!(it.share_pct.map(f64::round), Some(6.0));
    }
}

#[test]
fn calls_whose_sizes_were_not_measured_save_nothing_that_is_known() {
    let rows = vec![
        row("file/read:via=read,size=512", 700.0),
        row("file/read:via=read,size=4096", 1_000.0),
        row("file/read:via=mmap,size=4096", 400.0),
    ];
    let forms =
        vec![form("read file", Some(4_096), 10, 40_960), form("read file", Some(64), 90, 5_760)];
    let found = found(rows.clone(), forms);
    let mapped = change(&found, "as copies");
    assert_eq!((mapped.times, mapped.saving.as_ref().map(|it| it.ns.round())), (10.0, Some(6e3)));
    let larger = change(&found, "in reads");
    let why = "no price of file/read:via=read,size=65536 in these runs";
    assert_eq!((larger.saving.as_ref(), larger.missing.as_deref()), (None, Some(why)));
    assert_eq!(larger.unpriced, ["file/read:via=read,size=65536"]);
    let small = self::found(rows, vec![form("read file", Some(64), 90, 5_760)]);
    let why = "no price of file/read:via=read for calls of these sizes";
    assert_eq!(change(&small, "as copies").missing.as_deref(), Some(why));
}

#[test]
fn nothing_saves_more_than_its_item_is_charged() {
    let rows = vec![
        row("process/fork-exec:link=static", 200_000.0),
        row("process/fork-exit:touched_mib=0,peer_cpu=same", 50_000.0),
        row("process/posix-spawn", 120_000.0),
    ];
    // One of these processes executes a program.
    for (processes, saving, is_whole_item) in [(4, 80_000.0, false), (1, 50_000.0, true)] {
        let found = found(rows.clone(), vec![form("clone process", None, processes, 0)]);
        let spawned = change(&found, "by posix_spawn");
        let saved = spawned.saving.as_ref().map(|it| it.ns.round());
        assert_eq!((saved, spawned.is_whole_item), (Some(saving), is_whole_item), "{processes}");
        assert_eq!(spawned.times, 1.0);
    }
}

#[test]
fn a_program_that_is_linked_statically_saves_what_the_kernel_does_for_a_loader() {
    let rows = vec![
        row("process/fork-exec:link=static", 200_000.0),
        row("process/fork-exec:link=loader", 260_000.0),
        // What its loader does is in other items.
        row("process/fork-exec:link=dynamic", 900_000.0),
        row("process/fork-exit:touched_mib=0,peer_cpu=same", 100_000.0),
    ];
    let found = found(rows, vec![form("execve dynamic", None, 2, 0)]);
    let linked = change(&found, "with these programs linked statically instead");
    // Of 2 x (260 - 100) us.
    let saving = linked.saving.as_ref().map(|it| it.ns.round());
    assert_eq!((saving, linked.is_whole_item), (Some(120_000.0), false));
}

#[test]
fn what_is_not_charged_has_no_alternative() {
    assert!(found(Vec::new(), vec![form("read file", Some(64), 90, 5_760)]).is_empty());
    let rows = vec![row("process/fork-exit:touched_mib=0,peer_cpu=same", 100_000.0)];
    let of_processes = found(rows, vec![form("clone process", None, 4, 0)]);
    let why = "no price of process/fork-exec:link=static in these runs";
    assert_eq!(of_processes[0].missing.as_deref(), Some(why));
}

#[test]
fn pages_that_fill_no_huge_page_have_no_alternative() {
    let of_faults = |zero_fill: u64| {
        let rows = vec![
            row("fault/zero-fill:access=write,pages=4k", 2_000.0),
            row("fault/zero-fill:access=write,pages=thp", 100.0),
        ];
        let faults = FaultCounts { zero_fill, ..FaultCounts::default() };
        let events = Some(KernelEvents { faults, ..KernelEvents::default() });
        let calls = ProgramCalls { events, ..calls(Vec::new()) };
        of_program(rows, &calls, Faults { minor: zero_fill as f64, major: 0.0 })
    };
    assert!(of_faults(511).is_empty());
    let found = of_faults(512);
    let saving = change(&found, "in huge pages").saving.as_ref().map(|it| it.ns.round());
    assert_eq!(saving, Some(512.0 * 1_900.0));
}
