//! Twenty runs in a row: the machine is as before, but for the growth of the store. And a store of many
//! runs.

use std::time::Instant;

use oscost::store::Store;

use crate::attack::{Attack, Effort, Outcome, make};
use crate::common::{Sandbox, rows};
use crate::oracles::{check_end, store_of};
use crate::resources::{self, Load};

const RUNS: u64 = 20;

/// The most that a store may grow by a row of a quick run of one case, twice what it does
/// (docs/reference/RECORDS.md).
const MAX_BYTES_OF_ROW: u64 = 40_000;
/// The most that a run may take without its raw batches.
const MAX_BYTES_OF_PRUNED_RUN: u64 = 100_000;

/// Longer is a hang.
const MAX_HISTORY_SECONDS: f64 = 60.0;

/// The bytes of a store and its log.
fn store_bytes(sandbox: &Sandbox) -> u64 {
    let store = store_of(sandbox).into_os_string().into_string().unwrap();
    let size =
        |ending: &str| std::fs::metadata(format!("{store}{ending}")).map_or(0, |it| it.len());
    size("") + size("-wal")
}

/// The bytes of a store before.
struct Before {
    first_run: u64,
    other_runs: u64,
}

/// How a store has grown by the rows of all runs but the first, with raw batches and without.
#[track_caller]
fn growth(sandbox: &Sandbox, before: &Before, rows: u64) -> String {
    let grown = store_bytes(sandbox).saturating_sub(before.other_runs);
    let of_row = grown / rows.max(1);
    assert!(of_row < MAX_BYTES_OF_ROW, "the store grows by {of_row} bytes a row");
    sandbox.oscost(&["runs", "prune", "--keep-runs", "0", "--keep-days", "0"]).exits(0);
    let of_run = store_bytes(sandbox).saturating_sub(before.first_run) / (RUNS + 1);
    assert!(of_run < MAX_BYTES_OF_PRUNED_RUN, "a pruned run takes {of_run} bytes");
    format!(
        "{rows} rows: the store grows by {of_row} bytes a row; pruned, by {of_run} bytes a run of {}",
        rows / RUNS
    )
}

/// Makes the same run again and again.
fn repeat(sandbox: &Sandbox, arguments: &[&str], looks_at_machine: bool) -> Outcome {
    sandbox.oscost(&["runs", "list"]).exits(0);
    let first_run = store_bytes(sandbox);
    // The first one makes what the kernel keeps of a program.
    let run = || {
        let ran = sandbox.oscost(&[arguments, &["--json", "-"]].concat());
        check_end(&ran);
        assert!(matches!(ran.code, Some(0 | 3)), "{:?}: {}", ran.code, ran.stderr);
        sandbox.nothing_is_left();
        rows(&ran.json()).len() as u64
    };
    run();
    let (named, load) = (resources::named(), Load::now());
    let before = Before { first_run, other_runs: store_bytes(sandbox) };
    let rows: u64 = (0..RUNS).map(|_| run()).sum();
    let now = Load::now();
    let growth = growth(sandbox, &before, rows);
    if !looks_at_machine {
        return Outcome::Withstood(growth);
    }
    let left: Vec<String> = resources::named().difference(&named).cloned().collect();
    assert!(left.is_empty(), "left on the machine: {left:?}");
    // A leak of one a run shows; what other programs do is less than that.
    let more = |before: u64, now: u64| now.saturating_sub(before) >= RUNS;
    assert!(!more(load.tasks, now.tasks), "{} tasks, before {}", now.tasks, load.tasks);
    let is_leak = more(load.open_files, now.open_files) && now.open_files > load.open_files + 500;
    assert!(!is_leak, "{} open files, before {}", now.open_files, load.open_files);
    let taken_mib = load.available_kib.saturating_sub(now.available_kib) >> 10;
    assert!(taken_mib < 256, "{taken_mib} MiB of memory are gone");
    Outcome::Withstood(format!("{growth}, {taken_mib} MiB less memory"))
}

/// The first history of so many runs, none of whose figures are kept yet, as older versions left them.
fn first_history(sandbox: &Sandbox, runs: u64) -> Outcome {
    let mut record = sandbox.fake("measured", &["syscall/getppid", "--json", "-"]).exits(0).json();
    let mut store = Store::open(&store_of(sandbox)).unwrap();
    for number in 0..runs {
        record["id"] = format!("0190a0b1-c2d3-7e4f-8a9b-{number:012x}").into();
        store.import(record.to_string().as_bytes()).unwrap();
    }
    drop(store);
    let begun = Instant::now();
    let first = sandbox.oscost(&["history", "syscall/getppid"]).exits(0);
    let seconds = begun.elapsed().as_secs_f64();
    assert!(seconds < MAX_HISTORY_SECONDS, "it takes {seconds:.0} s");
    let again = sandbox.oscost(&["history", "syscall/getppid"]).exits(0);
    assert_eq!(first.stdout, again.stdout, "by the figures that were kept");
    Outcome::Withstood(format!("{seconds:.1} s"))
}

#[test]
fn twenty_runs_in_a_row_leave_the_machine_as_it_was() {
    let fake = format!("fake:{}", crate::common::scenario_file("measured").display());
    make(
        "repetition",
        [
            Attack::in_sandbox(
                "twenty runs in a row that measure nothing",
                Effort::Short,
                move |at| {
                    repeat(at, &["run", "--seed", "1", "--at", &fake, "syscall/getppid"], false)
                },
            ),
            Attack::in_sandbox("twenty runs in a row", Effort::Long, |sandbox| {
                repeat(sandbox, &["run", "--quick", "--no-lock", "syscall/getppid:via=raw"], true)
            }),
            Attack::in_sandbox("a first history of 2000 runs", Effort::Long, |sandbox| {
                first_history(sandbox, 2_000)
            }),
        ],
    );
}
