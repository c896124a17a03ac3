use super::*;
use crate::report::ScreenFormat;

#[test]
fn the_size_of_the_store_and_what_was_freed_are_in_one_line_each() {
    let size = StoreSize { runs: 1, bills: 0, with_raw_batches: 0, bytes: 1_500_000 };
    assert!(size_line(&size).starts_with("1 run in 1.5"), "{}", size_line(&size));
    let both = size_line(&StoreSize { bills: 2, ..size });
    assert!(both.starts_with("1 run and 2 bills in 1.5"), "{both}");
    let many = StoreSize { runs: 30_000, bills: 30_000, with_raw_batches: 30_000, ..size };
    assert!(size_line(&many).chars().count().max(PRUNABLE.len()) <= 80, "{}", size_line(&many));
    let none = PrunedBatches {
        kept: "the last 50 runs".to_owned(),
        runs: 0,
        bytes_before: 0,
        bytes_after: 0,
        store_bytes: 1_500_000,
        is_preview: false,
    };
    assert!(pruning_line(&none).starts_with("nothing to prune: "), "{}", pruning_line(&none));
    let two = PrunedBatches { runs: 2, bytes_before: 9_000_000, bytes_after: 60_000, ..none };
    let text = pruning_line(&two);
    assert!(text.starts_with("removed the raw batches of 2 runs: 9"), "{text}");
    let text = pruning_line(&PrunedBatches { is_preview: true, ..two });
    assert!(text.contains("would be removed: their journals take 9"), "{text}");
}

#[test]
fn old_runs_without_an_end_are_counted_and_have_a_next_step() {
    let one = unended_line(1);
    assert!(one.starts_with("1 run without an end keeps its raw batches"), "{one}");
    assert!(one.ends_with("`oscost runs delete` removes one that was killed"), "{one}");
    assert!(unended_line(2).starts_with("2 runs without an end keep their"));
}

#[test]
fn a_fleet_is_one_line_and_no_id_is_that_of_a_visit() {
    let fleet = Line {
        kind: LineKind::Fleet,
        started: "2026-11-22T08:00:00.000Z".to_owned(),
        complete: true,
        fleet: Some("monday".to_owned()),
        visits: 30_000,
        nodes: 10_000,
        ..Line::default()
    };
    let lines = [fleet, line("0197aaaa-1111-x")];
    let unlisted = ["0197aaaa-1122-x".to_owned()];
    let screen = ScreenFormat { columns: 240, ..ScreenFormat::PLAIN };
    let text = crate::report::terminal_table(&table(&lines, &unlisted, false), screen);
    let rows: Vec<&str> = text.lines().collect();
    assert!(rows[0].contains("kind") && !rows[0].contains("system"), "{text}");
    assert!(rows[1].starts_with("- ") && rows[1].contains(" fleet "), "{text}");
    assert!(rows[1].contains("monday: 30000 visits of 10000 nodes"), "{text}");
    assert_eq!(deletion_line("monday", 2), "deleted 2 visits of fleet monday");
    assert!(rows[2].starts_with("0197aaaa-111  "), "{text}");
}

fn line(id: &str) -> Line {
    Line {
        id: id.to_owned(),
        started: "2026-11-21T08:00:00.000Z".to_owned(),
        duration_s: Some(65.5),
        label: Some("a label of thirty characters..".to_owned()),
        processor: Some("Some Processor 3000 with a long name".to_owned()),
        command: vec!["oscost".into(), "run".into(), "x".repeat(60)],
        ..Line::default()
    }
}

#[test]
fn ids_are_as_long_as_they_must_be_and_lines_fit() {
    let lines = [line("0197aaaa-1111-x"), line("0197aaaa-1122-x")];
    let narrow = crate::report::terminal_table(&table(&lines, &[], false), ScreenFormat::PLAIN);
    let (heading, rows) = narrow.split_once('\n').unwrap();
    assert!(heading.starts_with("run ") && heading.ends_with("command"), "{narrow}");
    assert!(heading.contains("  started 2026  ") && heading.contains(" machine "), "{narrow}");
    assert!(rows.starts_with("0197aaaa-111  11-21 08:00 "), "{narrow}");
    assert!(narrow.contains("66 s") || narrow.contains("65 s"), "{narrow}");
    assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
    assert!(rows.contains("Some 3..g name") && rows.contains("a lab..rs.."), "{narrow}");
}

#[test]
fn every_width_from_eighty_on_has_labels_machines_and_at_most_three_lines_of_a_command() {
    let long = ["argument-of-a-command"; 120].join(" ");
    let with = |label: &str, command: &str, line: Line| Line {
        label: (!label.is_empty()).then(|| label.to_owned()),
        command: vec!["oscost".to_owned(), "run".to_owned(), command.to_owned()],
        complete: true,
        ..line
    };
    let lists = [
        ("", ""),
        ("before", "syscall"),
        ("a label of more than thirty characters", "process"),
        ("after", long.as_str()),
    ];
    for (label, command) in lists {
        let lines = ["0197aaaa-1111-x", "0197aaaa-1122-x"].map(|id| with(label, command, line(id)));
        let table = table(&lines, &[], false);
        for columns in 60..=160 {
            let screen = ScreenFormat { columns, ..ScreenFormat::PLAIN };
            let text = crate::report::terminal_table(&table, screen);
            assert!(text.lines().all(|line| line.chars().count() <= columns), "{text}");
            let rows = text.lines().count() - 1;
            let most = if columns < 120 { 2 } else { 2 * 3 };
            assert!((2..=most).contains(&rows), "{columns} columns:\n{text}");
            assert_eq!(text.matches(" run").count(), 2, "{columns} columns:\n{text}");
            if columns >= 80 {
                assert!(text.contains(" machine") && text.contains("Some"), "{columns}:\n{text}");
                assert_eq!(text.contains(" label"), !label.is_empty(), "{columns}:\n{text}");
            }
            assert!(command != long || text.contains("..."), "{columns}:\n{text}");
        }
    }
}

#[test]
fn starts_keep_their_year_where_they_have_not_one() {
    let later = Line { started: "2027-01-02T08:00:00.000Z".to_owned(), ..line("0197aaaa-1122-x") };
    let text = crate::report::terminal_table(
        &table(&[later, line("0197aaaa-1111-x")], &[], false),
        ScreenFormat::PLAIN,
    );
    assert!(text.contains(" started ") && text.contains("  2027-01-02 08:00  "), "{text}");
    assert!(text.contains("  2026-11-21 08:00  "), "{text}");
    let unknown = [Line::default(), Line { started: "so".to_owned(), ..Line::default() }];
    assert_eq!(common_year(&unknown), None);
    assert_eq!(common_year(&unknown[1..]), None);
}

#[test]
fn a_wide_terminal_shows_the_machine_the_label_and_the_whole_command() {
    let wide = crate::report::terminal_table(
        &table(&[line("0197aaaa-1111-x")], &[], false),
        ScreenFormat { columns: 240, ..ScreenFormat::PLAIN },
    );
    for part in ["machine", "Some Process", "a label of thirty", &"x".repeat(60)] {
        assert!(wide.contains(part), "`{part}` is missing in\n{wide}");
    }
    let whole = crate::report::terminal_table(
        &table(&[line("0197aaaa-1111-x")], &[], true),
        ScreenFormat::PLAIN,
    );
    assert_eq!(whole.matches('x').count(), 60, "{whole}");
}

#[test]
fn lines_without_labels_have_the_machine_in_eighty_columns_and_wide_ones_the_whole_command() {
    let long = "y".repeat(40) + " " + &"z".repeat(40);
    let run = Line {
        label: None,
        processor: Some("Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz".to_owned()),
        command: vec!["oscost".into(), "run".into(), long],
        ..line("0197aaaa-1111-x")
    };
    let shown = |columns: usize| {
        let screen = ScreenFormat { columns, ..ScreenFormat::PLAIN };
        crate::report::terminal_table(&table(std::slice::from_ref(&run), &[], false), screen)
    };
    let usual = shown(80);
    assert!(usual.contains("machine") && usual.contains("Xeon P.. 8375C"), "{usual}");
    assert!(usual.lines().all(|line| line.chars().count() <= 80), "{usual}");
    let wide = shown(140);
    assert!(wide.contains(&"y".repeat(40)) && wide.contains(&"z".repeat(40)), "{wide}");
    assert!(wide.lines().all(|line| line.chars().count() <= 140), "{wide}");
    assert_eq!(short_processor("AMD EPYC 7R13 48-Core Processor"), "AMD EPYC 7R13");
}

#[test]
fn a_list_with_bills_says_which_lines_they_are_and_their_system_time() {
    let bill = Line {
        kind: LineKind::Bill,
        system_ns: Some(12_340_000.0),
        trust: None,
        ..line("0197aaaa-1122-x")
    };
    let lines = [line("0197aaaa-1111-x"), bill];
    let text = crate::report::terminal_table(&table(&lines, &[], false), ScreenFormat::PLAIN);
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert!(rows[0].contains(&"kind") && rows[1].contains(&"run"), "{text}");
    assert!(rows[2].contains(&"bill") && rows[2].contains(&"12.3"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let listed = json(&lines, 7);
    let kinds = [&listed["runs"][0]["kind"], &listed["runs"][1]["kind"]];
    assert_eq!(kinds, ["run", "bill"]);
    assert_eq!(listed["runs"][1]["system_ns"], json!(12_340_000.0));
    assert!(listed["runs"][0]["system_ns"].is_null(), "a run has none, and not 0");
}

#[test]
fn a_run_of_two_sides_is_told_from_others() {
    let of_ab = Line { kind: LineKind::Ab, ..line("0197aaaa-1122-x") };
    let lines = [of_ab, line("0197aaaa-1111-x")];
    let text = crate::report::terminal_table(&table(&lines, &[], false), ScreenFormat::PLAIN);
    let rows: Vec<&str> = text.lines().collect();
    assert!(rows[0].contains(" kind ") && rows[1].contains(" ab "), "{text}");
    assert!(!rows[2].contains(" ab "), "{text}");
    assert_eq!(json(&lines, 7)["runs"][0]["kind"], "run", "the kind of the record");
}

#[test]
fn a_run_that_a_bill_has_started_is_told_from_others() {
    let of_bill = Line { kind: LineKind::BillRun, ..line("0197aaaa-1122-x") };
    let lines = [of_bill, line("0197aaaa-1111-x")];
    let text = crate::report::terminal_table(&table(&lines, &[], false), ScreenFormat::PLAIN);
    let rows: Vec<&str> = text.lines().collect();
    assert!(rows[0].contains(" kind ") && rows[1].contains(" bill run "), "{text}");
    assert!(!rows[2].contains("bill"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let listed = json(&lines, 7);
    let kinds = [&listed["runs"][0]["kind"], &listed["runs"][1]["kind"]];
    assert_eq!(kinds, ["run", "run"], "the kind of the record");
    let of_bills = [&listed["runs"][0]["of_bill"], &listed["runs"][1]["of_bill"]];
    assert_eq!(of_bills, [&json!(true), &json!(false)]);
}

#[test]
fn what_is_unknown_is_null_in_json_and_a_dash_in_the_table() {
    let unknown = Line { id: "0197aaaa-1111-x".to_owned(), ..Line::default() };
    let json = json(std::slice::from_ref(&unknown), 7);
    assert_eq!((&json["schema"], &json["store_bytes"]), (&json!("oscost.runs/1"), &json!(7)));
    for key in ["ended", "duration_s", "label", "cpu_model", "class", "trust"] {
        assert_eq!(json["runs"][0].get(key), Some(&serde_json::Value::Null), "{key}");
    }
    let text = crate::report::terminal_table(&table(&[unknown], &[], false), ScreenFormat::PLAIN);
    assert!(text.lines().nth(1).unwrap().matches(" -").count() >= 2, "{text}");
}
