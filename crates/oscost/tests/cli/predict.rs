//! `oscost predict`: predictions before a run, and their results.

use std::fs;

use serde_json::{Value, json};

use crate::ab::assert_fits;
use crate::common::Sandbox;
use crate::golden::golden;

const RAW: &str = "syscall/getppid:via=raw";
const LIBC: &str = "syscall/getppid:via=libc";
const PAIR: &str = "syscall/open-close:via=raw";
const FUNCTION: &str = "procedure/call:args=0,chain=independent";

/// Keeps a prediction.
fn predict(sandbox: &Sandbox, arguments: &[&str]) {
    sandbox
        .oscost(&[&["predict"], arguments].concat())
        .exits(0)
        .no_data()
        .stderr_contains("kept as");
}

/// Is refused as the user's own mistake, with these words, and nothing is kept.
fn refused(arguments: &[&str], words: &[&str]) {
    let sandbox = Sandbox::new();
    let mut ran = sandbox.oscost(&[&["predict"], arguments].concat()).exits(2).no_data();
    for words in words {
        ran = ran.stderr_contains(words);
    }
    assert_eq!(fs::read_dir(sandbox.folder("data")).unwrap().count(), 0, "something was kept");
}

#[test]
fn the_list_of_predictions_as_json_has_what_was_typed_and_their_numbers() {
    let sandbox = Sandbox::new();
    let list = || sandbox.oscost(&["predict", "list", "--json"]).exits(0).json();
    assert_eq!(list(), json!({ "schema": "oscost.predictions/1", "predictions": [] }));
    predict(&sandbox, &[RAW, "120", "ns"]);
    predict(&sandbox, &[LIBC, "--below", PAIR]);
    let listed = list();
    let [first, second] = &listed["predictions"].as_array().unwrap()[..] else {
        panic!("{listed}")
    };
    assert_eq!((&first["case"], &first["estimate"]), (&json!(RAW), &json!("120 ns")));
    assert_eq!((&second["below"], &second["estimate"]), (&json!(PAIR), &Value::Null));
    let number = first["number"].as_i64().unwrap().to_string();
    sandbox.oscost(&["predict", "delete", &number]).exits(0);
    assert_eq!(list()["predictions"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_prediction_is_shown_with_expectation_floor_figure_and_whether_it_held() {
    let sandbox = Sandbox::new();
    predict(&sandbox, &[RAW, "120", "ns"]);
    predict(&sandbox, &[RAW, "<100 ns", "--hardware", "80 ns", "--software", "40..60 ns"]);
    predict(&sandbox, &[PAIR, "--hardware", "<1 us", "--software", "1..2 us"]);
    predict(&sandbox, &[PAIR, ">3000 ticks"]);
    predict(&sandbox, &[FUNCTION, "<1.5 ns"]);
    predict(&sandbox, &[FUNCTION, "~5 cycles"]);
    predict(&sandbox, &[RAW, "--below", PAIR]);
    predict(&sandbox, &[RAW, "--below", FUNCTION]);
    predict(&sandbox, &[RAW, "--below", LIBC]);
    predict(&sandbox, &[RAW, "--below", "syscall/invalid"]);
    predict(&sandbox, &["timer/tsc:read=rdtsc", "10 ns"]);
    let list = sandbox.oscost(&["predict", "list"]).exits(0).stdout;
    assert_eq!(
        list.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())).count(),
        11
    );
    assert!(list.contains("syscall/getppid:via=raw: <100 ns, hardware 80 ns,"), "{list}");
    assert_fits(&list);

    let selectors = [RAW, PAIR, FUNCTION];
    let ran = sandbox.fake("measured", &selectors).exits(0);
    assert_fits(&ran.stdout);
    let (_, table) = ran.stdout.split_once("Predictions, made before the run\n").unwrap();
    golden("predictions.txt", &format!("Predictions, made before the run\n{table}"));
    let checked = sandbox.oscost(&["predict", "check"]).exits(0).stdout;
    assert!(ran.stdout.contains(&checked), "{checked}");
    assert_eq!(sandbox.oscost(&["runs", "show", "last"]).exits(0).stdout, ran.stdout);
}

#[test]
fn a_record_has_the_earlier_predictions_of_its_cases_only() {
    let sandbox = Sandbox::new();
    let run = |options: &[&str]| {
        let arguments = [&[RAW, "--quick", "--json", "-"], options].concat();
        sandbox.fake("measured", &arguments).exits(0).json()
    };
    assert_eq!(run(&[])["settings"]["predictions"], json!([]));
    sandbox.oscost(&["predict", "check"]).exits(0).no_data().stderr_contains("has no predictions");
    predict(&sandbox, &[RAW, " <0.12us"]);
    predict(&sandbox, &[PAIR, "2 us"]);
    let record = run(&[]);
    let [one] = &record["settings"]["predictions"].as_array().unwrap()[..] else {
        panic!("{}", record["settings"]);
    };
    let made = one["made_at"].as_str().unwrap();
    assert!(made < record["started"].as_str().unwrap() && made.ends_with('Z'), "{made}");
    let text = |key: &str| one[key].as_str();
    assert_eq!([text("case"), text("estimate")], [Some(RAW), Some("<0.12 us")]);
    let nothing = ["hardware", "software", "below"].map(|key| one[key].is_null());
    assert_eq!(nothing, [true; 3]);
    // A run with --no-store still uses the stored predictions; a record is judged without them.
    assert_eq!(run(&["--no-store"])["settings"]["predictions"][0]["case"], RAW);
    let before = sandbox.oscost(&["predict", "check"]).exits(0).stdout;
    sandbox.oscost(&["predict", "delete", "all"]).exits(0).stderr_contains("deleted 2 predictions");
    assert_eq!(sandbox.oscost(&["predict", "check"]).exits(0).stdout, before);
    let old = sandbox.oscost(&["predict", "check", "last~1"]).exits(0);
    old.no_data().stderr_contains("has no predictions");
    assert_eq!(run(&[])["settings"]["predictions"], json!([]));
}

#[test]
fn a_comparison_keeps_the_predictions_of_its_base() {
    let sandbox = Sandbox::new();
    predict(&sandbox, &[RAW, "<1 us"]);
    let file = crate::common::scenario_file("treated");
    let host = format!("fake:{}", file.display());
    let new = format!("nice=5@{host}");
    let targets = ["ab", "--base", &host, "--new", &new, RAW, "--quick", "--json", "-"];
    let record = sandbox.oscost(&targets).exits(0).json();
    assert_eq!(record["settings"]["predictions"][0]["estimate"], "<1 us");
    let table = sandbox.oscost(&["predict", "check"]).exits(0).stdout;
    // However long the name of the folder is that this runs in.
    let words = table.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(&format!("measured at {host}")), "{table}");
}

#[test]
fn predictions_are_shown_below_the_tables_of_a_study_too() {
    let sandbox = Sandbox::new();
    predict(&sandbox, &["syscall/getuid", "<1 ms"]);
    let ran = sandbox.fake("measured", &["--study", "cs736-2019", "--quick"]).exits(0);
    let checked = sandbox.oscost(&["predict", "check"]).exits(0).stdout;
    assert!(checked.contains("1 held.") && ran.stdout.contains(&checked), "{}", ran.stdout);
    assert_eq!(ran.stdout.matches("Predictions, made before the run").count(), 1);
    assert_eq!(sandbox.oscost(&["runs", "show", "last"]).exits(0).stdout, ran.stdout);
}

#[test]
fn cycles_need_an_estimate_of_the_core_in_the_same_run() {
    let sandbox = Sandbox::new();
    predict(&sandbox, &[RAW, "<1000 cycles"]);
    let ran = sandbox.fake("cycles", &[RAW]).exits(0);
    for words in ["undecided: the length of a cycle in ns is not known", "1 undecided."] {
        assert!(ran.stdout.contains(words), "{words}: {}", ran.stdout);
    }
    let ran = sandbox.fake("cycles", &[RAW, "timer/ticks-per-cycle"]).exits(0);
    for words in ["ticks per estimated cycle", "1 held."] {
        assert!(ran.stdout.contains(words), "{words}: {}", ran.stdout);
    }
}

#[test]
fn an_interrupted_run_decides_no_prediction() {
    let sandbox = Sandbox::new();
    predict(&sandbox, &[RAW, "<1 us"]);
    predict(&sandbox, &[RAW, "--below", PAIR]);
    let ran = sandbox.fake("interrupted-early", &[RAW, PAIR]).exits(130);
    for words in [
        "undecided: fewer than six repetitions have no interval",
        "the case has no",
        "2 undecided.",
    ] {
        assert!(ran.stdout.contains(words), "{words}: {}", ran.stdout);
    }
}

#[test]
fn predictions_are_deleted_by_their_numbers() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.oscost(&["predict", "list"]).exits(0).stdout, "there are no predictions\n");
    assert_eq!(fs::read_dir(sandbox.folder("data")).unwrap().count(), 0, "a look keeps nothing");
    predict(&sandbox, &[RAW, "120 ns"]);
    predict(&sandbox, &[RAW, "130 ns"]);
    sandbox.oscost(&["predict", "delete", "3"]).exits(2).stderr_contains("it has no prediction 3");
    sandbox.oscost(&["predict", "delete", "1"]).exits(0).stderr_contains("deleted 1 prediction");
    let list = sandbox.oscost(&["predict", "list"]).exits(0).stdout;
    assert!(
        list.starts_with("2 ") && list.contains("130 ns") && !list.contains("120 ns"),
        "{list}"
    );
}

#[test]
fn invalid_estimates_and_cases_are_refused() {
    refused(&[RAW], &["without an estimate of the whole", "hint:"]);
    refused(&[RAW, "--hardware", "20 ns"], &["without an estimate of the whole"]);
    refused(&[RAW, "120"], &["`120` has no unit", "cycles"]);
    refused(&[RAW, "0 ns"], &["above 0"]);
    refused(&[RAW, "200..100 ns"], &["ends before it begins"]);
    refused(&[RAW, "1e9 ns"], &["has no unit"]);
    refused(&[RAW, "1\u{1b}[2J ns"], &["`1\\u{1b}[2J ns` has no unit"]);
    refused(&[RAW, "1.2.3 ns"], &["`1.2.3` is not a number"]);
    refused(
        &[RAW, "9 ns", "--hardware", "soon"],
        &["--hardware", "`soon` is not an estimate\n  hint: try `120 ns`"],
    );
    refused(&[RAW, "9 ns", "--below", PAIR], &["cannot be used with"]);
    refused(&[RAW, "--below", RAW], &["cannot cost less than itself"]);
    refused(&[RAW, "--below", "syscall/getppid"], &["is not the full name of a single case"]);
    refused(
        &["syscall/getppid", "9 ns"],
        &["is not the full name of a single case", "via=raw` is one"],
    );
    refused(&["syscall/getpppid", "9 ns"], &["`syscall/getpppid` is no", "`syscall/getppid`"]);
    refused(&["timer/ticks-per-cycle", "9 ns"], &["its unit is tick/cycle"]);
    refused(&["delete", "some"], &["it must be a number or `all`"]);
    refused(&[], &["CASE"]);
}

#[test]
fn an_imported_record_cannot_control_the_terminal() {
    let sandbox = Sandbox::new();
    predict(&sandbox, &[RAW, "120 ns"]);
    let run = [RAW, "--quick", "--no-store", "--json", "-"];
    let mut record = sandbox.fake("measured", &run).exits(0).json();
    let one = record["settings"]["predictions"][0].take();
    let odd = |key: &str, value: &str| {
        let mut odd = one.clone();
        odd[key] = value.into();
        odd
    };
    let import = |sandbox: &Sandbox, record: &Value, code: i32| {
        fs::write(sandbox.file("run.json"), record.to_string()).unwrap();
        let file = sandbox.file("run.json");
        sandbox.oscost(&["runs", "import", file.to_str().unwrap()]).exits(code)
    };
    record["settings"]["predictions"] = json!([odd("estimate", "\u{1b}[2J ns")]);
    import(&sandbox, &record, 2).stderr_contains("control character");
    record["settings"]["predictions"] = json!(vec![one.clone(); 1_001]);
    import(&sandbox, &record, 2).stderr_contains("the maximum is 1000");
    record["settings"]["predictions"] =
        json!([odd("estimate", "very\nlittle"), odd("case", "no such"), odd("below", "no such")]);
    import(&sandbox, &record, 0);
    let table = sandbox.oscost(&["predict", "check"]).exits(0).stdout;
    assert!(table.contains("3 undecided."), "{table}");
    assert_fits(&table);
}
