//! Twenty runs in a row: the machine is as before, but for the growth of the store.

use crate::attack::{Attack, Effort, Outcome, make};
use crate::common::{Sandbox, rows};
use crate::oracles::{check_end, store_of};
use crate::resources::{self, Load};

const RUNS: u64 = 20;

/// The bytes of a store and its log.
fn store_bytes(sandbox: &Sandbox) -> u64 {
    let store = store_of(sandbox).into_os_string().into_string().unwrap();
    let size =
        |ending: &str| std::fs::metadata(format!("{store}{ending}")).map_or(0, |it| it.len());
    size("") + size("-wal")
}

/// Makes the same run again and again.
fn repeat(sandbox: &Sandbox, arguments: &[&str], looks_at_machine: bool) -> Outcome {
    // The first one makes the store, and what the kernel keeps of a program.
    let run = || {
        let ran = sandbox.oscost(&[arguments, &["--json", "-"]].concat());
        check_end(&ran);
        assert!(matches!(ran.code, Some(0 | 3)), "{:?}: {}", ran.code, ran.stderr);
        sandbox.nothing_is_left();
        rows(&ran.json()).len() as u64
    };
    run();
    let (named, load, bytes) = (resources::named(), Load::now(), store_bytes(sandbox));
    let rows: u64 = (0..RUNS).map(|_| run()).sum();
    let grown = store_bytes(sandbox).saturating_sub(bytes);
    let growth = format!("the store grows by {} bytes a row", grown / rows.max(1));
    if !looks_at_machine {
        return Outcome::Withstood(growth);
    }
    let left: Vec<String> = resources::named().difference(&named).cloned().collect();
    assert!(left.is_empty(), "left on the machine: {left:?}");
    let now = Load::now();
    // A leak of one a run shows; what other programs do is less than that.
    let more = |before: u64, now: u64| now.saturating_sub(before) >= RUNS;
    assert!(!more(load.tasks, now.tasks), "{} tasks, before {}", now.tasks, load.tasks);
    let is_leak = more(load.open_files, now.open_files) && now.open_files > load.open_files + 500;
    assert!(!is_leak, "{} open files, before {}", now.open_files, load.open_files);
    let taken_mib = load.available_kib.saturating_sub(now.available_kib) >> 10;
    assert!(taken_mib < 256, "{taken_mib} MiB of memory are gone");
    Outcome::Withstood(format!("{growth}, {taken_mib} MiB less memory"))
}

#[test]
fn twenty_runs_in_a_row_leave_the_machine_as_it_was() {
    let fake = format!("fake:{}", crate::common::scenario_file("measured").display());
    make([
        Attack::in_sandbox("twenty runs in a row that measure nothing", Effort::Short, move |at| {
            repeat(at, &["run", "--seed", "1", "--at", &fake, "syscall/getppid"], false)
        }),
        Attack::in_sandbox("twenty runs in a row", Effort::Long, |sandbox| {
            repeat(sandbox, &["run", "--quick", "--no-lock", "syscall/getppid:via=raw"], true)
        }),
    ]);
}
