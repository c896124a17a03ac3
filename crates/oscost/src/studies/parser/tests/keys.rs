//! Each key of a study file: what it accepts, what it refuses, and that its page describes it.

use std::collections::BTreeSet;

use oscost_model::study_method::{ClockCost, Statistic, StudyMethod, TimingScope};

use super::systems::COMPARED;
use super::*;
use crate::studies::Study;
use crate::studies::figures::unit::TableUnit;

const PAGE: &str = include_str!("../../../../../../docs/reference/STUDY-FILES.md");

/// `text` with `to` instead of the first `from`.
fn with(text: &str, from: &str, to: &str) -> Result<Study, ParseError> {
    assert!(text.contains(from), "{from}");
    parse(text.replacen(from, to, 1).as_bytes())
}

/// The words between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// What the parser expected after `at`, where an unknown key follows.
fn accepted_keys(text: &str, at: &str) -> BTreeSet<String> {
    let separator = if at.ends_with('\n') { "\n" } else { ", " };
    let why = with(text, at, &format!("{at}zz = 1{separator}")).unwrap_err().reason;
    let keys = why.strip_prefix("unknown field `zz`, expected ");
    quoted(keys.unwrap_or_else(|| panic!("{at}: {why}"))).map(str::to_owned).collect()
}

/// The keys that the page has for a part of the file.
fn documented_keys(part: &str) -> BTreeSet<String> {
    let start = format!("| {part} |");
    let line = PAGE.lines().find_map(|line| line.strip_prefix(&start));
    let line = line.unwrap_or_else(|| panic!("{part} is not documented"));
    let name = |word: &str| {
        let word = word.trim_matches(['[', ']']);
        word.rsplit('.').next().unwrap_or(word).to_owned()
    };
    quoted(line).map(name).collect()
}

#[test]
fn the_page_has_each_key_and_no_other() {
    let machine = ALONE.replacen("[[table]]", "[[machine]]\n\n[[table]]", 1);
    for (part, text, at) in [
        ("head", ALONE, "\n"),
        ("`[[system]]`", COMPARED, "[[system]]\n"),
        ("`duration`", ALONE, "duration = { "),
        ("`budget`", ALONE, "budget = { "),
        ("`[protocol]`", ALONE, "[protocol]\n"),
        ("`[[column]]`", SMALL, "column = [{ "),
        ("`[[machine]]`", &machine, "[[machine]]\n"),
        ("`[[condition]]`", ALONE, "[[condition]]\n"),
        ("`[[table]]`", ALONE, "[[table]]\n"),
        ("`[[table.column]]`", ALONE, "[[table.column]]\n"),
        ("`[[table.row]]`", ALONE, "[[table.row]]\n"),
        ("`[[table.series]]`", ALONE, "[[table.series]]\n"),
        ("a note", SMALL, "note = [{ "),
        ("`predicted`", ALONE, "predicted = { "),
        ("`same-as` of a series", COMPARED, "same-as = { "),
        ("`[[claim]]`", ALONE, "[[claim]]\n"),
    ] {
        assert_eq!(documented_keys(part), accepted_keys(text, at), "{part}");
    }
}

#[test]
fn the_page_has_each_kind_of_claim_and_condition_and_each_fact() {
    let machine = ALONE.replacen("[[table]]", "[[machine]]\nfact = \"zz\"\n[[table]]", 1);
    for (text, word, is_row) in [
        (ALONE.to_owned(), "grows", true),
        (ALONE.to_owned(), "single-user", true),
        (machine, "zz", false),
    ] {
        let why = with(&text, &format!("\"{word}\""), "\"zz\"").unwrap_err().reason;
        let words = why.strip_prefix("unknown variant `zz`, expected one of ").unwrap();
        // A long list is shortened: its last word may be half of one.
        let words: Vec<&str> = words.split(", ").filter(|it| it.ends_with('`')).collect();
        assert!(words.len() >= 11, "{why}");
        for word in words {
            let is_there = match is_row {
                true => PAGE.contains(&format!("\n| {word} |")),
                false => PAGE.contains(word),
            };
            assert!(is_there, "{word} is not documented");
        }
    }
}

#[test]
fn a_row_and_a_series_override_each_part_of_the_method() {
    let keys = "timed = \"together\"\niterations = 7\nexperiments = 3\noverhead = \"included\"\n\
                statistic = \"mean-and-deviation\"";
    let expected = StudyMethod {
        timed: TimingScope::Together,
        iterations: 7,
        experiments: 3,
        statistic: Statistic::MeanAndDeviation,
        clock: ClockCost::Included,
    };
    let study = with(ALONE, "statistic = \"minimum\"", keys).unwrap();
    assert_eq!(study.tables[0].rows[0].study_method, Some(expected));
    let study = with(ALONE, "statistic = \"none\"", keys).unwrap();
    assert!(study.tables[1].rows.iter().all(|row| row.study_method == Some(expected)));
    for (line, words) in [
        ("timed = \"often\"", "unknown variant `often`"),
        ("iterations = 0", "iterations must be 1 to 100000000"),
        ("experiments = 100001", "experiments must be 1 to 100000"),
        ("statistic = \"mode\"", "unknown variant `mode`"),
        ("overhead = \"half\"", "unknown variant `half`"),
        ("runs = 1", "runs must be 2 to 100"),
    ] {
        for instead_of in ["statistic = \"minimum\"", "statistic = \"none\""] {
            let at = ALONE[..ALONE.find(instead_of).unwrap()].lines().count() + 1;
            let refusal = with(ALONE, instead_of, line).unwrap_err();
            assert!(refusal.reason.contains(words), "{line}: {refusal}");
            assert_eq!(refusal.line, at, "{line}: {refusal}");
        }
    }
    let own = with(SMALL, "name = \"first\"", "name = \"first\"\ntimed = \"each\"").unwrap_err();
    assert!(own.reason.contains("a study method needs timed"), "{own}");
}

#[test]
fn a_row_has_a_metric_a_unit_and_a_prediction_of_its_own() {
    let study = with(SMALL, "\"process/shell\"", "\"process/shell\"\nmetric = \"system\"");
    // The claim names the row without its metric.
    assert!(study.unwrap_err().reason.contains("not in any table"));
    let of_metric = SMALL
        .replacen("\"process/shell\"", "\"workload/tar\"\nmetric = \"system\"\nunit = \"s\"", 1)
        .replace("\"process/shell\"", "\"workload/tar system\"");
    let study = parse(of_metric.as_bytes()).unwrap();
    let row = &study.tables[0].rows[1];
    assert_eq!((row.metric.as_deref(), row.unit), (Some("system"), TableUnit::Seconds));
    assert_eq!(row.key(), "workload/tar system");
    let study = parse(ALONE.as_bytes()).unwrap();
    let predicted = study.tables[0].rows[0].predicted.as_ref().unwrap();
    assert!(predicted.hardware.as_ref().is_some_and(|it| it.is_bound && it.high == 20.0));
    assert_eq!(predicted.software, None);
    for (from, to, line, words) in [
        ("\"minimum\"", "\"minimum\"\nmetric = \"Sys time\"", 44, "a metric consists of"),
        ("\"minimum\"", "\"minimum\"\nunit = \"us\"", 39, "may not have its own unit"),
        ("hardware = \"<20\"", "hardware = \"few\"", 42, "`few` is not a figure"),
        ("hardware = \"<20\"", "luck = \"<20\"", 42, "unknown field `luck`"),
    ] {
        let refusal = with(ALONE, from, to).unwrap_err();
        assert!(refusal.reason.contains(words), "{to}: {refusal}");
        assert_eq!(refusal.line, line, "{to}: {refusal}");
    }
}

#[test]
fn the_length_of_each_list_is_limited() {
    let columns = "[[table.column]]\nname = \"x\"\nunit = \"ns\"\n".repeat(5);
    let series = "[[table.series]]\nname = \"s\"\naxis = \"size\"\nvalues = [4, 64]\n\
                  case = \"pipe/round-trip:by=pipe,size={},peer_cpu=other\"\n"
        .repeat(8);
    let values: Vec<String> = (1..=41).map(|value| value.to_string()).collect();
    let notes = "[[table.note]]\ntext = \"n\"\n".repeat(5);
    let condition = "[[condition]]\ntext = \"x\"\nkind = \"other\"\n".repeat(16);
    let fact = "[[machine]]\nname = \"x\"\npublished = \"y\"\nno-fact = \"z\"\n".repeat(33);
    let authors = format!("[{}]", "\"A\", ".repeat(13));
    for (from, to, words) in [
        ("[[table.row]]", format!("{columns}[[table.row]]"), "at most 4 columns and 8 series"),
        ("[[table.series]]", format!("{series}[[table.series]]"), "at most 4 columns and 8 series"),
        ("[4, 64]", format!("[{}]", values.join(", ")), "2 to 40 ascending values"),
        ("[[table.row]]", format!("{notes}[[table.row]]"), "more than 4 notes"),
        ("[[table]]", format!("{condition}[[table]]"), "17 conditions, allowed: 0 to 16"),
        ("[[table]]", format!("{fact}[[table]]"), "33 facts of its machine, allowed: 0 to 32"),
        ("[\"A\"]", authors, "13 authors, allowed: 1 to 12"),
    ] {
        let refusal = with(ALONE, from, &to).unwrap_err();
        assert!(refusal.reason.contains(words), "{words}: {refusal}");
    }
}

#[test]
fn each_kind_of_claim_on_two_targets_is_parsed_and_requires_its_keys() {
    let claim = |keys: &str| with(SMALL, "kind = \"equal-added\"", keys);
    let study = claim("kind = \"added\"\nunit = \"us\"\nmin = 3.5\nmax = 7.0").unwrap();
    let added = Criterion::Added { min: 3.5, max: 7.0, unit: TableUnit::Microseconds };
    assert_eq!(study.claims[0].criterion, added);
    let study = claim("kind = \"ratio\"\nmin = 1.5\nmax = 2.0").unwrap();
    assert_eq!(study.claims[0].criterion, Criterion::Ratio { min: 1.5, max: 2.0 });
    let study = claim("kind = \"largest-ratio\"").unwrap();
    assert_eq!(study.claims[0].criterion, Criterion::LargestRatio);
    for (keys, words) in [
        ("kind = \"added\"\nmin = 3.5\nmax = 7.0", "added needs unit: ns, us, ms or s"),
        ("kind = \"added\"\nunit = \"cycle\"\nmin = 1\nmax = 2", "added needs unit"),
        ("kind = \"added\"\nunit = \"us\"\nmin = 7.0", "added needs min < max"),
        ("kind = \"ratio\"\nmin = 0.0\nmax = 2.0", "a ratio needs 0 < min < max"),
        ("kind = \"largest-ratio\"\nmax = 2.0", "(largest-ratio) has no key `max`"),
        ("kind = \"order\"", "a claim of a study with two columns is"),
    ] {
        let refusal = claim(keys).unwrap_err();
        assert!(refusal.reason.contains(words), "{keys}: {refusal}");
        assert_eq!(refusal.line, 30, "{keys}: {refusal}");
    }
}
