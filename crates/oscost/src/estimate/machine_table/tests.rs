use oscost_model::facts::Facts;
use oscost_model::record::{FileSummary, Machine, MonitorSummary, Ratio, Record, Row, Vm};
use oscost_model::seed::Seed;
use oscost_model::unit::{Better, Unit};

use super::columns::shown_columns;
use super::*;
use crate::estimate::made_up_rows::{conditions, rated_row, row};

mod counted;

/// A run of a machine with these rows.
fn record(id: &str, rows: Vec<Row>) -> Record {
    let text = serde_json::json!({
        "schema": "oscost.run/1", "id": id, "started": "2026-11-21T08:00:00Z", "ended": null,
        "complete": true, "label": null, "command": [],
        "tool": {"version": "", "commit": null, "rustc": null,
                 "worker": {"hash": "", "link": "static-pie", "libc": "", "catalog": ""}},
        "settings": {"seed": 1, "profile": "quick", "precision_pct": null, "nominal": 0.95,
                     "budget_s": null},
        "machines": [], "results": [], "comparisons": [],
        "conditions": conditions([100.0, 100.0]),
    });
    let record: Record = serde_json::from_value(text).unwrap();
    Record { results: rows, ..record }
}

/// A row with an interval between runs of so many per cent on either side.
fn known_to(pct: f64, case: &str, cost: f64) -> Row {
    let mut row = row(case, cost);
    let estimate = row.estimate.as_mut().unwrap();
    estimate.between_run_ci95 = Some([cost * (1.0 - pct / 100.0), cost * (1.0 + pct / 100.0)]);
    row
}

/// Machines of one run each; `class` and `facts` of each.
fn machines<'a>(records: &'a [Record], facts: &[[&str; 2]]) -> Vec<TableMachine<'a>> {
    let machine = |(record, [class, facts]): (&'a Record, &[&str; 2])| TableMachine {
        runs: vec![MachineRun { record, machine: "m0" }],
        class: Some((*class).to_owned()),
        facts: Some((*facts).to_owned()),
    };
    records.iter().zip(facts).map(machine).collect()
}

/// The sum of twelve uniform deviates approximates a normal deviate.
fn normal(seed: &mut Seed) -> f64 {
    (0..12).map(|_| seed.unit()).sum::<f64>() - 6.0
}

const CASES: [&str; 6] =
    ["fault/zero-fill", "fault/file", "fault/fork", "syscall/read", "syscall/stat", "pipe/trip"];

/// Sixteen equal machines whose runs vary by 3 %, with a wide interval as of cases of their class;
/// the eighth is slower by a factor in page faults.
fn fleet(seed: &mut Seed, slow: f64) -> Vec<Record> {
    (0..16)
        .map(|machine| {
            let rows = CASES.iter().enumerate().map(|(at, case)| {
                let is_slow = machine == 7 && case.starts_with("fault/");
                let factor = if is_slow { slow } else { 1.0 };
                let cost = 100.0 * (at + 1) as f64 * factor * (0.03 * normal(seed)).exp();
                known_to(15.0, case, cost)
            });
            let rows = rows.collect();
            record(&machine.to_string(), rows)
        })
        .collect()
}

#[test]
fn one_of_sixteen_equals_that_is_slow_in_a_family_stands_out_in_its_own_column() {
    let records = fleet(&mut Seed::new(7), 1.31);
    let table = machine_table(&machines(&records, &[["c", "f"]; 16]), TableUnit::Own, 0);
    let [found] = &table.findings[..] else { panic!("{:?}", table.findings) };
    assert_eq!((&found.machines[..], found.family.as_str(), found.cases), (&[7][..], "fault", 3));
    assert!(found.are_equals && found.others.len() == 15, "{found:?}");
    assert!((1.25..1.37).contains(&found.slowness), "{found:?}");
    // The others are one column, that of the base.
    let sizes: Vec<usize> = table.columns.iter().map(|it| it.machines.len()).collect();
    assert_eq!(sizes, [15, 1]);
    let first = &table.lines[0];
    assert_eq!(first.family(), "fault", "what differs most comes first: {first:?}");
    let [folded, alone] = &first.cells[..] else { panic!("{first:?}") };
    let (folded, alone) = (folded.figure().unwrap(), alone.figure().unwrap());
    assert_eq!((folded.machines, alone.machines), (15, 1));
    assert!(folded.interval.is_none() && folded.ratio.is_none(), "{folded:?}");
    let [low, high] = folded.spread.unwrap();
    assert!(low < folded.value && folded.value < high && alone.spread.is_none());
    let ratio = alone.ratio.as_ref().unwrap();
    let [low, high] = ratio.ci95.unwrap();
    assert!(low < ratio.value && ratio.value < high && alone.is_between_runs);
}

#[test]
fn of_equal_machines_none_stands_out() {
    let mut seed = Seed::new(11);
    let mut alarms = 0;
    for _ in 0..40 {
        let records = fleet(&mut seed, 1.0);
        let table = machine_table(&machines(&records, &[["c", "f"]; 16]), TableUnit::Own, 0);
        assert_eq!(table.judged, 16 * 3);
        alarms += usize::from(!table.findings.is_empty());
    }
    assert!(alarms <= 6, "{alarms} of 40");
}

#[test]
fn a_machine_with_another_fact_has_a_column_of_its_own_and_the_base_is_first() {
    let records = fleet(&mut Seed::new(3), 1.0);
    let mut facts = vec![["c", "thp=never"]; 4];
    facts[2] = ["c", "thp=always"];
    let all = machines(&records[..4], &facts);
    let columns = |base: usize| -> Vec<Vec<usize>> {
        let table = machine_table(&all, TableUnit::Own, base);
        table.columns.into_iter().map(|it| it.machines).collect()
    };
    assert_eq!(columns(0), [vec![0, 1, 3], vec![2]]);
    assert_eq!(columns(2), [vec![2], vec![0, 1, 3]]);
    // What is not known is equal to nothing.
    let unknown: Vec<TableMachine<'_>> =
        all.into_iter().map(|it| TableMachine { facts: None, class: None, ..it }).collect();
    let table = machine_table(&unknown, TableUnit::Own, 0);
    assert_eq!(table.columns.len(), 4);
    assert!(table.findings.iter().all(|it| !it.are_equals), "{:?}", table.findings);
}

#[test]
fn another_class_is_compared_with_the_first_column_and_a_higher_rate_is_faster() {
    let rate = |value: f64| {
        let unit = Unit::BytesPerSecond;
        Row { unit, better: Better::Higher, ..known_to(2.0, "memory/bandwidth", value) }
    };
    let run = |id: &str, scale: f64| {
        record(id, vec![known_to(2.0, "syscall/read", 100.0 * scale), rate(1e9 * scale)])
    };
    let records = [run("one", 1.0), run("other", 2.0)];
    let all = machines(&records, &[["one", "one"], ["other", "other"]]);
    let table = machine_table(&all, TableUnit::Own, 0);
    let found: Vec<(&str, bool, f64)> =
        table.findings.iter().map(|it| (it.family.as_str(), it.are_equals, it.slowness)).collect();
    assert_eq!(found.len(), 2, "{found:?}");
    for (family, are_equals, slowness) in found {
        let expected = if family == "memory" { 0.5 } else { 2.0 };
        assert!(!are_equals && (slowness - expected).abs() < 1e-9, "{family}: {slowness}");
    }
}

#[test]
fn of_two_equals_the_slower_one_is_told_and_their_difference_is_judged_once() {
    let run = |id: &str, cost: f64| record(id, vec![known_to(2.0, "syscall/read", cost)]);
    for (costs, slow, fast) in [([150.0, 100.0], 0, 1), ([100.0, 150.0], 1, 0)] {
        let records = [run("one", costs[0]), run("other", costs[1])];
        let table = machine_table(&machines(&records, &[["c", "f"]; 2]), TableUnit::Own, 0);
        let [found] = &table.findings[..] else { panic!("{:?}", table.findings) };
        assert_eq!((&found.machines[..], &found.others[..]), (&[slow][..], &[fast][..]));
        let [low, high] = found.ci95.unwrap();
        assert!((found.slowness - 1.5).abs() < 1e-9 && low > 1.4 && high < 1.6, "{found:?}");
        assert_eq!((table.judged, table.columns.len()), (1, 2));
    }
}

#[test]
fn equals_and_others_are_judged_together() {
    let table = |third: f64| {
        let run = |id: &str, cost: f64| record(id, vec![known_to(4.0, "syscall/read", cost)]);
        let records = [run("one", 100.0), run("equal", 106.4), run("other", third)];
        let facts = [["c", "f"], ["c", "f"], ["d", "g"]];
        machine_table(&machines(&records, &facts), TableUnit::Own, 0)
    };
    // The two equals differ by 2.1 standard errors: p is 0.035, and q twice that beside one that is
    // as the first column.
    let found = table(103.15);
    assert!(found.findings.is_empty() && found.judged == 2, "{:?}", found.findings);
    assert_eq!(found.columns.len(), 2);
    // Beside one that differs much, q is no more than p.
    let found = table(206.0);
    let told: Vec<(&[usize], bool)> =
        found.findings.iter().map(|it| (&it.machines[..], it.are_equals)).collect();
    assert_eq!(told, [(&[1][..], true), (&[2][..], false)]);
    assert_eq!((found.judged, found.columns.len()), (2, 3));
}

#[test]
fn an_interval_within_a_run_says_nothing_of_another_machine_unless_it_is_of_a_count() {
    // Known to half a per cent within the run, and 4 % apart.
    let found = |unit: Unit| {
        let run = |id: &str, cost: f64| {
            let mut row = Row { unit, ..row("syscall/read", cost) };
            let estimate = row.estimate.as_mut().unwrap();
            estimate.ci95 = Some([cost * 0.995, cost * 1.005]);
            assert_eq!(estimate.between_run_ci95, None);
            record(id, vec![row])
        };
        let records = [run("one", 100.0), run("other", 104.0)];
        machine_table(&machines(&records, &[["c", "f"], ["c", "g"]]), TableUnit::Own, 0)
    };
    let timed = found(Unit::NsPerOp);
    assert!(timed.findings.is_empty() && timed.judged == 0, "{:?}", timed.findings);
    let cell = timed.lines[0].cells[1].figure().unwrap();
    assert!(cell.interval.is_some() && !cell.is_between_runs, "{cell:?}");
    let ratio = cell.ratio.as_ref().unwrap();
    assert!((ratio.value - 1.04).abs() < 1e-9 && ratio.ci95.is_none(), "{ratio:?}");
    let counted = found(Unit::InstructionsPerOp);
    assert_eq!((counted.findings.len(), counted.judged), (1, 1));
}

#[test]
fn exact_counts_are_compared_as_they_are_if_one_emulator_and_worker_counted_them() {
    let table = |rows: [Vec<Row>; 2], cpus: [&str; 2]| {
        let [one, other] = rows;
        let mut records = [record("one", one), record("other", other)];
        for (record, cpu) in records.iter_mut().zip(cpus) {
            let mut machine = Machine::new("m0", Facts::default(), Vec::new());
            machine.vm = Some(Vm {
                kernel: String::new(),
                image: String::new(),
                emulator: "QEMU 7.2.22".to_owned(),
                accel: "tcg".to_owned(),
                cpu: cpu.to_owned(),
                mem_mib: 512,
                append: None,
            });
            record.machines = vec![machine];
        }
        machine_table(&machines(&records, &[["c", "f"], ["d", "g"]]), TableUnit::Own, 0)
    };
    let counted = |case: &str, count: f64, exact: bool| {
        let mut row = Row { unit: Unit::InstructionsPerOp, ..row(case, count) };
        let estimate = row.estimate.as_mut().unwrap();
        (estimate.exact, estimate.ci95) = (exact, exact.then_some([count; 2]));
        row
    };
    let rows =
        |stat: f64| vec![counted("file/stat", stat, true), counted("file/read", stat, false)];
    let cells = |table: &MachineTable, case: &str| -> Vec<TableFigure> {
        let line = table.lines.iter().find(|it| it.case == case).unwrap();
        line.cells.iter().map(|it| it.figure().unwrap().clone()).collect()
    };
    let found = table([rows(6856.0), rows(3524.0)], ["max"; 2]);
    assert!(found.findings.is_empty() && found.judged == 0, "it is no sample: {found:?}");
    let exact = cells(&found, "file/stat");
    assert!(exact.iter().all(|it| it.is_exact) && exact[0].value == 6856.0, "{exact:?}");
    let expected = 3524.0 / 6856.0;
    assert_eq!(exact[1].ratio, Some(Ratio { value: expected, ci95: Some([expected; 2]) }));
    assert!(cells(&found, "file/read").iter().all(|it| !it.is_exact), "its repetitions differ");
    // Another emulated processor executes other instructions.
    let found = table([rows(6856.0), rows(3524.0)], ["max", "qemu64"]);
    let others = cells(&found, "file/stat");
    assert_eq!([others[0].is_exact, others[1].is_exact], [true, false]);
}

#[test]
fn what_a_machine_lacks_has_a_reason_and_no_ratio() {
    let missing = |outcome: &str, reason: &str| {
        let mut row = serde_json::to_value(row("syscall/read", 1.0)).unwrap();
        (row["outcome"], row["reason"]) = (outcome.into(), reason.into());
        row["estimate"] = serde_json::Value::Null;
        serde_json::from_value::<Row>(row).unwrap()
    };
    let with_flag =
        |flag: &str| Row { flags: vec![flag.to_owned()], ..known_to(2.0, "syscall/read", 100.0) };
    let own = || known_to(2.0, "syscall/read", 100.0);
    for (other, words) in [
        (vec![], "not measured"),
        (vec![missing("skipped", "needs root")], "skipped: needs root"),
        (vec![Row { rev: 2, ..own() }], "another revision"),
        (vec![Row { unit: Unit::Seconds, ..own() }], "another unit: ns/op and s"),
        (vec![Row { command: Some(vec!["ls".to_owned()]), ..own() }], "another command"),
        (vec![with_flag("BELOW_DETECTION")], "cannot be told from 0"),
    ] {
        let records = [record("one", vec![own()]), record("other", other)];
        let all = machines(&records, &[["c", "f"], ["c", "g"]]);
        let table = machine_table(&all, TableUnit::Own, 0);
        let [line] = &table.lines[..] else { panic!("{:?}", table.lines) };
        let TableCell::Missing(why) = &line.cells[1] else { panic!("{:?}", line.cells) };
        assert!(why.contains(words), "{why}");
        assert!(line.cells[0].figure().is_some() && table.judged == 0);
    }
    // Nothing rests on what was disturbed, but it is shown.
    let records = [record("one", vec![own()]), record("other", vec![with_flag("UNRELIABLE")])];
    let table = machine_table(&machines(&records, &[["c", "f"]; 2]), TableUnit::Own, 0);
    assert!(table.judged == 0 && table.columns.len() == 1, "{table:?}");
    // No reference cases, which nobody asked for.
    let records = [record("one", vec![with_flag("REFERENCE")])];
    assert!(machine_table(&machines(&records, &[["c", "f"]]), TableUnit::Own, 0).lines.is_empty());
}

#[test]
fn a_row_on_another_file_system_or_under_a_monitor_in_another_state_is_not_compared() {
    let own = || known_to(2.0, "file/read", 100.0);
    let on = |filesystem: &str| {
        let (filesystem, backing) = (filesystem.to_owned(), "disk".to_owned());
        let file =
            FileSummary { filesystem, backing, cold: false, pages: 1, checks: 1, cached: [1, 1] };
        Row { file: Some(file), ..own() }
    };
    let under = |state: &str| {
        let profile_states = vec![state.to_owned()];
        let monitor = MonitorSummary { profile_states, observed_calls: 1, anomalies: 0 };
        Row { monitor: Some(monitor), ..own() }
    };
    for (one, other, expected) in [
        (on("ext4"), on("tmpfs"), Some("on another file system: tmpfs (disk), not ext4 (disk)")),
        (
            under("frozen"),
            under("training"),
            Some("under a monitor in another state: training, not frozen"),
        ),
        (on("ext4"), on("ext4"), None),
        (under("frozen"), under("frozen"), None),
        (on("ext4"), own(), None),
    ] {
        let records = [record("one", vec![one]), record("other", vec![other])];
        let all = machines(&records, &[["c", "f"], ["c", "g"]]);
        let table = machine_table(&all, TableUnit::Own, 0);
        let missing = match &table.lines[0].cells[1] {
            TableCell::Missing(why) => Some(why.as_str()),
            TableCell::Figure(_) => None,
        };
        assert_eq!(missing, expected);
    }
}

#[test]
fn cycles_are_those_of_each_core_and_calls_those_of_each_machine() {
    // The same cycles at half of the rate: twice the time.
    let run = |id: &str, rate: f64| {
        let mut read = rated_row("syscall/read", 600.0, &[rate; 10], 1.0);
        let mut call = rated_row("procedure/call:args=0", 6.0, &[rate; 10], 1.0);
        let median = |row: &Row| row.estimate.as_ref().unwrap().median;
        let multiple = median(&read) / median(&call);
        read.multiples.insert("procedure/call:args=0".to_owned(), multiple);
        call.multiples.insert("procedure/call:args=0".to_owned(), 1.0);
        record(id, vec![read, call, known_to(2.0, "pipe/trip", 5.0)])
    };
    let records = [run("one", 3.0), run("other", 1.5)];
    let all = machines(&records, &[["one", "one"], ["other", "other"]]);
    let ratio = |unit: TableUnit, case: &str| {
        let table = machine_table(&all, unit, 0);
        let line = table.lines.iter().find(|it| it.case == case).unwrap().clone();
        match &line.cells[1] {
            TableCell::Figure(figure) => Ok((figure.ratio.as_ref().unwrap().value, line.unit)),
            TableCell::Missing(why) => Err(why.clone()),
        }
    };
    let (time, unit) = ratio(TableUnit::Own, "syscall/read").unwrap();
    assert!((time - 2.0).abs() < 1e-9 && unit == Some(Unit::NsPerOp));
    let (cycles, unit) = ratio(TableUnit::Cycles, "syscall/read").unwrap();
    assert!((cycles - 1.0).abs() < 1e-9 && unit == Some(Unit::CyclesPerOp));
    let (calls, unit) = ratio(TableUnit::Calls, "syscall/read").unwrap();
    assert!((calls - 1.0).abs() < 1e-9 && unit.is_none());
    assert!(ratio(TableUnit::Cycles, "pipe/trip").unwrap_err().contains("no rate of the core"));
    assert!(ratio(TableUnit::Calls, "pipe/trip").unwrap_err().contains("no function call"));
}

#[test]
fn several_runs_of_a_machine_are_one_column_whose_interval_is_between_runs() {
    let varied = |cost: f64| {
        let mut row = row("syscall/read", cost);
        let estimate = row.estimate.as_mut().unwrap();
        estimate.ci95 = Some([cost * 0.995, cost * 1.005]);
        estimate.between_run_ci95 = Some([cost * 0.9, cost * 1.1]);
        row
    };
    let costs = [100.0, 102.0, 98.0];
    let records: Vec<Record> =
        costs.iter().map(|cost| record(&cost.to_string(), vec![varied(*cost)])).collect();
    let runs = records.iter().map(|record| MachineRun { record, machine: "m0" }).collect();
    let one = TableMachine { runs, class: None, facts: None };
    let table = machine_table(&[one], TableUnit::Own, 0);
    let figure = table.lines[0].cells[0].figure().unwrap();
    assert_eq!((figure.runs, figure.machines, figure.is_between_runs), (3, 1, true));
    assert!((figure.value - 100.0).abs() < 0.1, "{figure:?}");
    let [low, high] = figure.interval.unwrap();
    assert!(low < 98.0 && high > 102.0, "cases of this class vary by more than these: {figure:?}");
    assert!(table.findings.is_empty() && table.judged == 0);
}

#[test]
fn of_more_columns_than_are_shown_those_that_stand_out_and_those_of_most_machines_stay() {
    let alone = (0..70).map(|machine| TableColumn { machines: vec![machine] });
    let all: Vec<TableColumn> = alone.chain([TableColumn { machines: vec![70, 71] }]).collect();
    let finding = Finding {
        machines: vec![69],
        others: vec![0],
        are_equals: true,
        family: "fault".to_owned(),
        cases: 1,
        slowness: 2.0,
        ci95: None,
        q: 0.01,
    };
    let found = shown_columns(all.clone(), &[finding]);
    let firsts = |of: &[TableColumn]| of.iter().map(|it| it.machines[0]).collect::<Vec<_>>();
    let expected: Vec<usize> = (0..62).chain([69, 70]).collect();
    assert_eq!(firsts(&found.shown), expected);
    assert_eq!(firsts(&found.left_out), (62..69).collect::<Vec<_>>());
    let few = shown_columns(all[..64].to_vec(), &[]);
    assert_eq!((few.shown, few.left_out), (all[..64].to_vec(), Vec::new()));
}
