//! What is said of the counts of rows, and of the core.

use super::*;

#[test]
fn why_nothing_was_counted_is_said_once_and_not_of_counted_instructions() {
    let text = include_str!("../../../../../tests/store/run-1.json");
    let mut record: Record = serde_json::from_str(text).unwrap();
    let why = format!("{UNCOUNTABLE}permission denied");
    record.machines[0].counters.unavailable = Some(why);
    let said = |record: &Record, unit: Unit| {
        let mut row = Row { unit, counters: None, ..record.results[0].clone() };
        row.metrics.clear();
        let lines = remarks(record, &[&row]);
        lines.into_iter().filter(|line| line.contains("instructions")).collect::<Vec<_>>()
    };
    let timed = said(&record, Unit::NsPerOp);
    assert_eq!(timed, ["No instructions and cycles: permission denied"]);
    assert_eq!(said(&record, Unit::InstructionsPerOp), [""; 0]);
}

#[test]
fn rows_say_that_one_op_does_work_for_many_and_that_counted_ops_took_another_time() {
    let text = include_str!("../../../../../tests/store/run-1.json");
    let record: Record = serde_json::from_str(text).unwrap();
    let counters = |ratio: f64, amortized: bool, inherited: bool| {
        serde_json::json!({"workers": 3, "read_by": "read", "kernel": true,
            "inherited": inherited, "insn_sd_pct": null, "repeats": true,
            "counted_time_ratio": ratio, "running_ns": null, "waiting_ns": null,
            "amortized": amortized, "void": [], "repetitions": []})
    };
    let row = |case: &str, ratio, amortized, inherited| {
        let counters = serde_json::from_value(counters(ratio, amortized, inherited)).unwrap();
        Row { case: case.to_owned(), counters: Some(counters), ..record.results[0].clone() }
    };
    let [near, fast, slow, forks] = [
        row("syscall/a", 1.04, false, false),
        row("syscall/b", 0.88, true, false),
        row("syscall/c", 1.2, false, false),
        row("process/fork", 1.3, true, true),
    ];
    assert_eq!((other_time(&[&near, &forks]), amortized(&[&near])), (None, None));
    let one = other_time(&[&near, &fast]).unwrap();
    assert_eq!(one, "counted ops took 0.88 times as long as the timed ones: syscall/b");
    let two = other_time(&[&fast, &slow]).unwrap();
    assert!(two.contains("took 0.88 to 1.20 times") && two.ends_with("syscall/b and 1 more"));
    let said = amortized(&[&near, &fast, &forks]).unwrap();
    assert!(said.ends_with("interrupts included: syscall/b and 1 more."), "{said}");
}

fn figure(worse_pct: f64, worse_by: Option<f64>) -> Option<CoreFigure> {
    let (best, median) = (1.0, 1.2);
    Some(CoreFigure { case: None, workers: 10, best, median, worse_pct, worse_by })
}

#[test]
fn a_core_that_was_worse_than_its_best_is_named_with_the_best_of_all_rows() {
    let best = BestOfRows {
        cpi: Some(BestFigure { value: 0.312, case: "timer/nothing" }),
        ghz: Some(BestFigure { value: 3.1, case: "syscall/get\u{1b}ppid" }),
    };
    let shared = CoreConditions {
        ghz: figure(0.0, None),
        cpi_of_loop: None,
        cpi_of_kernel_op: figure(40.0, Some(1.4)),
    };
    let lines = core_lines(&shared, best);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("took 1.4 times its own best cycles per instruction"));
    assert!(lines[0].contains(" The best of all rows: 0.31 cycles per instruction (timer/"));
    assert!(lines[0].contains("), 3.10 GHz (syscall/get") && !lines[0].contains('\u{1b}'));
    let bare = core_lines(&shared, BestOfRows::default());
    assert!(bare[0].ends_with("shared core or caches."), "{bare:?}");
    let quiet = CoreConditions { cpi_of_kernel_op: figure(0.0, None), ..shared };
    assert_eq!(core_lines(&quiet, best), [""; 0]);
}
