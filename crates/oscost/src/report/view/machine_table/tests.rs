use oscost_model::facts::Facts;
use oscost_model::point::Point;
use oscost_model::record::{Machine, Ratio};
use oscost_model::unit::{Better, Unit};

use super::*;
use crate::advice::machine_facts::{DescribedMachine, DescribedRun, machine_facts};
use crate::estimate::machine_table::{
    CaseLine, CountedModes, Finding, MachineTable, TableCell, TableColumn, TableFigure, TableUnit,
};
use crate::report;

/// A machine with this setting of transparent huge pages.
fn machine(name: &str, huge_pages: &str) -> DescribedMachine {
    let mut facts = Facts::default();
    facts.cpu.model_name = Some("Some CPU".to_owned());
    facts.cpu.microcode = Some("0x1".to_owned());
    facts.os.release = Some("6.1.0".to_owned());
    facts.memory.transparent_huge_pages = Some(huge_pages.to_owned());
    let facts = machine_facts(&Machine::new("m0", facts, Vec::new()), None);
    let started = "2026-11-21T08:00:00Z".to_owned();
    let id = format!("0190a0b1-c2d3-{name}");
    DescribedMachine {
        name: name.to_owned(),
        setting_of: None,
        facts,
        runs: vec![DescribedRun { id, started, not_claimable: None }],
    }
}

fn figure(value: f64) -> TableFigure {
    TableFigure {
        value,
        is_exact: false,
        interval: Some([value - 5.0, value + 5.0]),
        is_between_runs: true,
        spread: None,
        machines: 1,
        runs: 1,
        ratio: None,
    }
}

/// Sixteen machines, of which the eighth is slow in page faults and has another setting.
fn machines() -> Vec<DescribedMachine> {
    (0..16)
        .map(|at| machine(&format!("node{at}"), if at == 7 { "never" } else { "always" }))
        .collect()
}

fn table() -> MachineTable {
    let others: Vec<usize> = (0..16).filter(|at| *at != 7).collect();
    let folded =
        TableFigure { interval: None, spread: Some([95.0, 104.0]), machines: 15, ..figure(100.0) };
    let ratio = Some(Ratio { value: 1.31, ci95: Some([1.12, 1.53]) });
    let line = |case: &str, alone: TableCell| CaseLine {
        case: case.to_owned(),
        benchmark: case.to_owned(),
        point: Point::none(),
        treatments: Vec::new(),
        unit: Some(Unit::NsPerOp),
        better: Better::Lower,
        counted: None,
        cells: vec![TableCell::Figure(folded.clone()), alone],
    };
    MachineTable {
        unit: TableUnit::Own,
        columns: vec![TableColumn { machines: others.clone() }, TableColumn { machines: vec![7] }],
        left_out: Vec::new(),
        lines: vec![
            line("fault/zero-fill", TableCell::Figure(TableFigure { ratio, ..figure(131.0) })),
            line("syscall/read", TableCell::Missing("skipped: \u{1b}[2J no <b>|x".to_owned())),
        ],
        findings: vec![Finding {
            machines: vec![7],
            others,
            are_equals: true,
            family: "fault".to_owned(),
            cases: 3,
            slowness: 1.31,
            ci95: Some([1.12, 1.53]),
            q: 0.001,
        }],
        judged: 48,
    }
}

fn first_sentence(table: &MachineTable, machines: &[DescribedMachine]) -> String {
    view(&TableContent { table, machines }).answer.unwrap().findings.remove(0)
}

#[test]
fn the_settings_of_one_machine_are_counted_and_described() {
    let mut machines = [machine("guest", "madvise"), machine("guest-never", "never")];
    machines[1].setting_of = Some("guest".to_owned());
    for (at, machine) in machines.iter_mut().enumerate() {
        let fact = machine.facts.iter_mut().find(|fact| fact.name == "CPU quota").unwrap();
        fact.value = Some(format!("{} CPUs", at + 1));
    }
    let table = MachineTable {
        columns: (0..2).map(|at| TableColumn { machines: vec![at] }).collect(),
        findings: Vec::new(),
        ..table()
    };
    let text = report::terminal(&view(&TableContent { table: &table, machines: &machines }));
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["2 runs of 1 machine in 2 settings", "never", "madvise", "CPU quota 2 CPUs"] {
        assert!(text.contains(part), "`{part}` is missing in\n{text}");
    }
}

#[test]
fn the_head_names_machine_family_equals_and_facts() {
    assert_eq!(
        first_sentence(&table(), &machines()),
        "node7 is 1.31 times as slow (1.12 to 1.53) in fault (3 cases) as its 15 equals; \
         processor, kernel and microcode are the same, transparent huge pages (`never`, there \
         `always`) are not."
    );
}

/// Two machines whose cases are counted exactly.
fn counted_table(counts: &[(&str, [f64; 2])]) -> MachineTable {
    let exact = |value: f64, ratio: Option<Ratio>| {
        let interval = Some([value; 2]);
        TableCell::Figure(TableFigure { is_exact: true, interval, ratio, ..figure(value) })
    };
    let made = table();
    let line = |&(case, [base, new]): &(&str, [f64; 2])| {
        let ratio = Ratio { value: new / base, ci95: Some([new / base; 2]) };
        CaseLine {
            case: case.to_owned(),
            unit: Some(Unit::InstructionsPerOp),
            cells: vec![exact(base, None), exact(new, Some(ratio))],
            ..made.lines[0].clone()
        }
    };
    MachineTable {
        columns: (0..2).map(|at| TableColumn { machines: vec![at] }).collect(),
        lines: counts.iter().map(line).collect(),
        findings: Vec::new(),
        judged: 0,
        ..made.clone()
    }
}

#[test]
fn exact_counts_that_differ_are_told_without_a_judgement() {
    let both = [machine("vm-6.1", "never"), machine("vm-6.12", "never")];
    let told = |counts: &[(&str, [f64; 2])]| first_sentence(&counted_table(counts), &both);
    let (stat, getppid) = (("file/stat", [6856.0, 3524.0]), ("syscall/getppid", [311.0, 311.0]));
    let mprotect = ("memory/mprotect", [11322.0, 12597.0]);
    assert_eq!(
        told(&[stat, getppid, mprotect]),
        "vm-6.12 executes more instructions than vm-6.1 in 1 and fewer in 1 of 3 exactly counted \
         cases: from 0.51 times as many in file/stat (3,524 for 6,856) to 1.11 times as many in \
         memory/mprotect (12,597 for 11,322)."
    );
    assert_eq!(
        told(&[getppid, mprotect]),
        "vm-6.12 executes more instructions than vm-6.1 in 1 of 2 exactly counted cases: 1.11 times \
         as many in memory/mprotect (12,597 for 11,322)."
    );
    assert_eq!(
        told(&[getppid]),
        "vm-6.12 executes as many instructions as vm-6.1 in 1 exactly counted case."
    );
    // What no repetition of a machine agrees on is no count, whether it has an interval or not.
    let mut table = counted_table(&[stat]);
    if let TableCell::Figure(figure) = &mut table.lines[0].cells[1] {
        (figure.is_exact, figure.interval) = (false, None);
    }
    assert!(first_sentence(&table, &both).starts_with("Nothing can be judged"));
}

#[test]
fn rows_of_exact_counts_have_their_differences() {
    let counts =
        [("file/stat", [6856.0, 3524.0]), ("syscall/read", [645.0, 645.0]), ("x/y", [3.0, 4.25])];
    let (table, both) =
        (counted_table(&counts), [machine("vm-6.1", "never"), machine("vm-6.12", "never")]);
    let content = TableContent { table: &table, machines: &both };
    let shown = view(&content);
    let Block::Table(grid) = &shown.sections[0].blocks[0] else { panic!("no table") };
    let row = |at: usize| -> Vec<&str> { grid.rows[at].cells.iter().map(|it| &*it.text).collect() };
    assert_eq!(
        row(0),
        ["file/stat", "6,856 insn [exact]", "3,524 insn [exact] x 0.51, 3,332 fewer"]
    );
    assert_eq!(row(1)[2], "645 insn [exact] x 1.00, equal");
    assert_eq!(row(2)[2], "4.25 insn [exact] x 1.42, 1.25 more");
    let short = |at: usize| grid.rows[at].cells[2].short.as_deref();
    assert_eq!([short(0), short(1)], [Some("3,524 insn x 0.51"), Some("645 insn equal")]);
    assert!(grid.notes[0].starts_with("[exact]: ") && grid.notes.len() == 2, "{:?}", grid.notes);
    let csv = String::from_utf8(report::table_csv(&figures(&content)).unwrap()).unwrap();
    assert!(csv.contains(",insn/op,3524,3524,3524,exact,"), "{csv}");
    let document: serde_json::Value = serde_json::from_str(&json(&content).unwrap()).unwrap();
    assert_eq!(document["cases"][0]["cells"][1]["is_exact"], true);
}

#[test]
fn a_faster_machine_of_another_kind_and_one_without_another_fact_are_told_so() {
    let mut table = table();
    let found = &mut table.findings[0];
    (found.slowness, found.ci95, found.are_equals) = (0.5, Some([0.4, 0.8]), false);
    let told = first_sentence(&table, &machines());
    let fast = "node7 is 2.00 times as fast (1.25 to 2.50) in fault (3 cases) as node0 +14; ";
    assert!(told.starts_with(fast), "{told}");
    let equal: Vec<DescribedMachine> =
        (0..16).map(|at| machine(&format!("node{at}"), "always")).collect();
    let told = first_sentence(&table, &equal);
    assert!(told.ends_with("are the same, and no other recorded fact differs."), "{told}");
    let unknown: Vec<DescribedMachine> =
        equal.into_iter().map(|it| DescribedMachine { facts: Vec::new(), ..it }).collect();
    assert!(first_sentence(&table, &unknown).ends_with("; no recorded fact tells them apart."));
}

#[test]
fn without_a_finding_the_head_says_what_was_judged() {
    let without = |judged| MachineTable { findings: Vec::new(), judged, ..table() };
    assert_eq!(
        first_sentence(&without(48), &machines()),
        "No difference stands out among 16 machines: 48 differences judged, each of a family of \
         cases."
    );
    assert!(first_sentence(&without(0), &machines()).starts_with("Nothing can be judged"));
    assert!(first_sentence(&without(0), &machines()[..1]).contains("are of one machine"));
}

#[test]
fn cells_have_figures_spreads_and_ratios_and_foreign_text_does_nothing() {
    let (table, machines) = (table(), machines());
    let content = TableContent { table: &table, machines: &machines };
    let text = report::terminal(&view(&content));
    for words in ["100.0 ns", "131.0 ns", "x 1.31", "node0 +14", "median"] {
        assert!(text.contains(words), "`{words}` is not in:\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80 && line.is_ascii()), "{text}");
    assert!(text.contains("Not on every machine") && !text.contains('\u{1b}'), "{text}");
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "columns of several machines: node0 +14 is node[0-6,8-15]",
        "15 machines: node[0-6,8-15]; 15 runs of ",
    ] {
        assert!(flat.contains(words), "`{words}` is not in:\n{text}");
    }
    let page = report::html(&view(&content)).unwrap();
    assert!(page.contains("[2J no ") && !page.contains("no <b>"), "it is escaped");
    let link = "<a href=\"#w-machine\" aria-label=\"What node0 +14 means\">?</a>";
    assert!(page.contains(link), "the columns of machines are explained: {page}");
    assert!(!report::markdown_page(&view(&content)).contains("no <b>"));
}

#[test]
fn every_figure_has_a_line_for_other_programs_and_what_is_missing_a_reason() {
    let (table, machines) = (table(), machines());
    let content = TableContent { table: &table, machines: &machines };
    let csv = String::from_utf8(report::table_csv(&figures(&content)).unwrap()).unwrap();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 5, "{csv}");
    // All machines of a column are named, and those are counted that have the case.
    let others: Vec<String> = (0..16).filter(|at| *at != 7).map(|at| format!("node{at}")).collect();
    let folded = format!("fault/zero-fill,fault,,{},", others.join(" "));
    let figure = lines[1].strip_prefix(&folded).unwrap_or_else(|| panic!("{csv}"));
    assert!(figure.starts_with("15,1,ns/op,100,,,,95,104,,,,"), "{csv}");
    assert!(lines[2].contains(",131,126,136,between-runs,,,1.31,1.12,1.53,"), "{csv}");
    let missing = "syscall/read,syscall,,node7,0,,ns/op,,,,,,,,,,skipped: ";
    assert!(lines[4].starts_with(missing), "{csv}");
    let document: serde_json::Value = serde_json::from_str(&json(&content).unwrap()).unwrap();
    assert_eq!(document["schema"], SCHEMA);
    assert_eq!(document["columns"][1], serde_json::json!([7]));
    assert_eq!(document["cases"][0]["cells"][1]["ratio"]["value"], 1.31);
    assert!(document["cases"][1]["cells"][1]["median"].is_null());
    assert_eq!(document["findings"][0]["family"], "fault");
    assert_eq!(document["machines"][7]["facts"][4]["value"], "never");
}

#[test]
fn the_treatments_of_one_machine_are_columns_and_cases_are_in_the_order_of_their_names() {
    let machines = [machine("node0", "always")];
    let line = |case: &str, treatments: &[&str], value: f64| CaseLine {
        case: case.to_owned(),
        treatments: treatments.iter().map(|it| (*it).to_owned()).collect(),
        cells: vec![TableCell::Figure(figure(value))],
        ..table().lines.remove(0)
    };
    let mut table = MachineTable {
        columns: vec![TableColumn { machines: vec![0] }],
        findings: Vec::new(),
        judged: 0,
        lines: vec![
            line("syscall/read", &[], 150.0),
            line("syscall/read", &["seccomp=docker"], 190.0),
            line("fault/zero-fill", &["seccomp=docker"], 800.0),
        ],
        ..table()
    };
    let shown = |table: &MachineTable| view(&TableContent { table, machines: &machines });
    let found = shown(&table);
    let Block::Table(grid) = &found.sections[0].blocks[0] else { panic!("no table") };
    assert_eq!(grid.caption, "Cases by their names");
    let titles: Vec<&str> = grid.columns.iter().map(|column| &*column.title).collect();
    assert_eq!(titles, ["case", "no treatment", "seccomp=docker"]);
    let row = |at: usize| -> Vec<&str> { grid.rows[at].cells.iter().map(|it| &*it.text).collect() };
    assert_eq!(row(0), ["fault/zero-fill", "-", "800.0 ns [795.0 .. 805.0]"]);
    assert_eq!(row(1)[0], "syscall/read");
    assert!(row(1)[1].starts_with("150.0 ns") && row(1)[2].starts_with("190.0 ns"));
    assert!(!found.lead[0].text.contains("ratios"), "there are none: {}", found.lead[0].text);
    let answer = found.answer.unwrap();
    assert_eq!(answer.findings, ["These runs are of one machine, with 2 sets of treatments."]);
    assert!(answer.next[0].contains("`oscost ab --new TREATMENT`"), "{answer:?}");
    // A machine without a figure beside it is named below the table, and not a column of dashes.
    let mut beside = table.clone();
    beside.columns.push(TableColumn { machines: vec![1] });
    for line in &mut beside.lines {
        line.cells.push(TableCell::Missing("another unit: ns/op and insn/op".to_owned()));
    }
    let both = [machine("node0", "always"), machine("vm-6.12", "never")];
    let found = view(&TableContent { table: &beside, machines: &both });
    let Block::Table(grid) = &found.sections[0].blocks[0] else { panic!("no table") };
    let titles: Vec<&str> = grid.columns.iter().map(|column| &*column.title).collect();
    assert_eq!(titles, ["case", "no treatment", "seccomp=docker"]);
    let note = "vm-6.12 has no figure to show here: another unit: ns/op and insn/op in 3 cases";
    assert_eq!(grid.notes.last().map(String::as_str), Some(note));
    assert!(!found.sections.iter().any(|section| section.id == "missing"));
    // Of one treatment there are no columns to compare.
    table.lines.truncate(1);
    let found = shown(&table);
    let Block::Table(grid) = &found.sections[0].blocks[0] else { panic!("no table") };
    assert_eq!((grid.columns.len(), &*grid.caption), (2, "Cases by their names"));
    assert!(found.answer.unwrap().next[0].contains("`oscost compare BASE NEW`"));
}

#[test]
fn cases_without_any_figure_are_counted_and_have_no_row() {
    let mut table = table();
    let missing = || TableCell::Missing("skipped: it needs root".to_owned());
    table.lines[1].cells = vec![missing(), missing()];
    let mut machines = machines();
    let another = machines[7].runs[0].clone();
    machines[7].runs.push(DescribedRun { id: "another".to_owned(), ..another });
    table.lines[0].cells[1] = missing();
    let found = view(&TableContent { table: &table, machines: &machines });
    let Block::Table(grid) = &found.sections[0].blocks[0] else { panic!("no table") };
    assert_eq!(grid.rows.len(), 1);
    let lead = &found.lead[0].text;
    assert!(lead.contains("1 case (1 more without a figure), "), "{lead}");
    // Which of its runs skipped the case is not known here.
    table.lines[0].cells[1] = TableCell::Figure(figure(131.0));
    let content = TableContent { table: &table, machines: &machines };
    let reasons: Vec<String> = grid::missing(&content).into_iter().map(|it| it.reason).collect();
    assert_eq!(
        reasons,
        ["node0 +14: skipped: it needs root", "node7 (2 runs): skipped: it needs root"]
    );
}

#[test]
fn without_any_figure_the_answer_has_the_reason() {
    let (mut table, machines) = (table(), machines());
    table.unit = TableUnit::Instructions;
    (table.findings, table.judged) = (Vec::new(), 0);
    for line in &mut table.lines {
        let why = "its instructions were not counted: no counters here";
        line.cells.fill(TableCell::Missing(why.to_owned()));
    }
    let content = TableContent { table: &table, machines: &machines };
    assert!(!content.has_figures());
    let found = view(&content);
    assert!(found.sections.iter().all(|it| it.id != "cases" && it.id != "missing"));
    let answer = found.answer.unwrap();
    assert_eq!(
        answer.findings,
        [
            "No case of these runs has a count of instructions: its instructions were not counted: no \
             counters here."
        ]
    );
    assert!(answer.next[0].contains("`oscost run --counters`"), "{answer:?}");
}

#[test]
fn long_names_that_look_alike_are_numbered_on_a_screen_and_whole_for_other_programs() {
    let long = |at: usize| format!("rack-of-the-second-hall-{at:02}-of-the-fleet");
    let machines: Vec<DescribedMachine> =
        (0..16).map(|at| machine(&long(at), if at == 7 { "never" } else { "always" })).collect();
    let mut table = table();
    table.columns = vec![TableColumn { machines: vec![0, 1] }, TableColumn { machines: vec![7] }];
    let content = TableContent { table: &table, machines: &machines };
    assert_eq!(content.name(0), "rack-of-the..f-the-fleet");
    assert_eq!(content.name(7), "rack-of-the..f-the-fleet (8)");
    assert_eq!(content.column_name(&table.columns[0]), "rack-of-the..f-the-fleet +1");
    let csv = String::from_utf8(report::table_csv(&figures(&content)).unwrap()).unwrap();
    let lines: Vec<&str> = csv.lines().collect();
    assert!(lines[1].contains(&format!(",{} {},", long(0), long(1))), "{csv}");
    assert!(lines[2].contains(&format!(",{},", long(7))), "{csv}");
}

#[test]
fn figures_in_calls_have_no_unit_of_the_record() {
    let (mut table, machines) = (table(), machines());
    table.unit = TableUnit::Calls;
    table.lines.iter_mut().for_each(|line| line.unit = None);
    let text = report::terminal(&view(&TableContent { table: &table, machines: &machines }));
    assert!(text.contains("100 calls (95 to 104)") && text.contains("131 calls"), "{text}");
}

#[test]
fn columns_beyond_the_bound_are_told_with_their_machines() {
    let machines: Vec<DescribedMachine> =
        (0..30).map(|at| machine(&format!("node{at}"), "always")).collect();
    let further = |machines: &[usize]| TableColumn { machines: machines.to_vec() };
    let mut left_out: Vec<TableColumn> = (16..28).map(|at| further(&[at])).collect();
    left_out.push(further(&[28, 29]));
    let table = MachineTable { left_out, ..table() };
    let content = TableContent { table: &table, machines: &machines };
    let text = report::terminal(&view(&content));
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let told = "13 columns of 14 machines are left out, since a table has at most 2: those in which \
                something stands out stay, then those of the most machines. They are node16, node17, \
                node18, node19, node20, node21, node22, node23 and 5 more";
    assert!(text.contains(told), "{text}");
    let json: serde_json::Value = serde_json::from_str(&json(&content).unwrap()).unwrap();
    assert_eq!(json["left_out"].as_array().unwrap().len(), 13);
    assert_eq!(json["left_out"][12], serde_json::json!([28, 29]));
}

#[test]
fn instructions_have_the_digits_that_repeat_and_a_sentence_of_their_own() {
    let (mut table, machines) = (table(), machines());
    table.unit = TableUnit::Instructions;
    for line in &mut table.lines {
        (line.unit, line.counted) = (Some(Unit::InstructionsPerOp), Some(CountedModes::User));
    }
    if let TableCell::Figure(figure) = &mut table.lines[0].cells[1] {
        (figure.value, figure.interval) = (131.072_34, Some([130.967_5, 131.177_2]));
    }
    let shown = |table: &MachineTable| view(&TableContent { table, machines: &machines });
    let found = shown(&table);
    let Block::Table(grid) = &found.sections[0].blocks[0] else { panic!("no table") };
    let cells: Vec<&str> = grid.rows[0].cells.iter().map(|it| &*it.text).collect();
    let own = "131.1 insn u [131 .. 131.2] x 1.310 [1.120 .. 1.530]";
    assert_eq!(cells, ["fault/zero-fill", "100 insn u (95 to 104)", own]);
    assert!(
        grid.notes.iter().any(|note| note.starts_with("u: in user mode alone")),
        "{:?}",
        grid.notes
    );
    assert!(found.answer.unwrap().findings[0].starts_with(
        "node7 executes 1.31 times as many instructions (1.12 to 1.53) in fault (3 cases) as its \
             15 equals; "
    ));
    let content = TableContent { table: &table, machines: &machines };
    let document: serde_json::Value = serde_json::from_str(&json(&content).unwrap()).unwrap();
    assert_eq!(document["unit"], "insn");
    assert_eq!(document["cases"][0]["counted_metric"], "insn_user");
    let csv = String::from_utf8(report::table_csv(&figures(&content)).unwrap()).unwrap();
    assert!(csv.lines().nth(1).unwrap().ends_with(",insn_user"), "{csv}");
    (table.findings, table.judged) = (Vec::new(), 0);
    let answer = shown(&table).answer.unwrap();
    assert!(
        answer.findings[0].starts_with("Nothing is judged: no case has counts of several boots"),
        "{answer:?}"
    );
}
