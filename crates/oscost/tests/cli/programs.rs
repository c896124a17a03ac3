//! Whole programs: the user's own, files of workloads, and those that come with oscost.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::ab::assert_fits;
use crate::common::{Ran, Sandbox, has_flag, row, scenario_file};
use crate::golden::golden;

/// A run on a fake host, with the results of its scenario.
fn fake_program(sandbox: &Sandbox, verb: &[&str], command: &[&str]) -> Ran {
    let file = scenario_file("programs");
    let host = format!("fake:{}", file.file_name().unwrap().to_str().unwrap());
    let verb: Vec<String> = verb.iter().map(|word| word.replace("HERE", &host)).collect();
    let verb: Vec<&str> = verb.iter().map(String::as_str).collect();
    let dashes: &[&str] = if command.is_empty() { &[] } else { &["--"] };
    let all = [&verb, dashes, command].concat();
    Ran::of(sandbox.command(&all).current_dir(file.parent().unwrap()))
}

#[test]
fn a_command_is_a_row_with_its_times_and_is_shown_again() {
    let sandbox = Sandbox::new();
    let run = ["run", "--seed", "1", "--at", "HERE"];
    let ran = fake_program(&sandbox, &run, &["gzip", "-kf9", "FILE"]).exits(0);
    assert_fits(&ran.stdout);
    golden("run-command.txt", &ran.stdout);
    assert_eq!(sandbox.oscost(&["runs", "show", "last"]).exits(0).stdout, ran.stdout);
    let record = sandbox.oscost(&["runs", "show", "last", "--json", "-"]).exits(0).json();
    let row = row(&record, "workload/gzip");
    assert_eq!((&row["unit"], &row["primary_metric"]), (&"s".into(), &"real".into()));
    assert_eq!(row["estimate"]["median"], row["metrics"]["real"]["estimate"]["median"]);
    // As many as fit into ten seconds.
    assert_eq!(row["repetitions"].as_array().unwrap().len(), 20);
    for metric in ["cpu", "user", "system", "peak-memory", "minor-faults", "voluntary-switches"] {
        assert!(row["metrics"][metric]["estimate"]["ci95"].is_array(), "{metric}");
    }
}

#[test]
fn targets_are_compared_by_each_time_of_a_program() {
    let sandbox = Sandbox::new();
    let ab = ["ab", "--seed", "1", "--quick", "--base", "HERE", "--new", "ph@HERE"];
    let ran = fake_program(&sandbox, &ab, &["sh", "-c", "true"]).exits(0);
    assert_fits(&ran.stdout);
    golden("ab-command.txt", &ran.stdout);
    let record = sandbox.oscost(&["runs", "show", "last", "--json", "-"]).exits(0).json();
    let of_it = |it: &&Value| it["case"] == "workload/sh";
    let compared: Vec<&Value> = compared(&record).into_iter().filter(of_it).collect();
    let metrics: Vec<&str> = compared.iter().map(|it| it["metric"].as_str().unwrap()).collect();
    assert_eq!(metrics[..4], ["primary", "cpu", "user", "system"]);
    assert!(compared.iter().all(|it| it["design"] == "pairs"));
    // The treatment is attached to the system for each trial: no worker of several trials.
    assert!(compared.iter().all(|it| it["pairs"].as_u64().unwrap() >= 8));
    assert!(compared[..4].iter().all(|it| it["added"]["unit"] == "s"));
}

/// The comparisons of a run, without those of controls.
fn compared(record: &Value) -> Vec<&Value> {
    let all = record["comparisons"].as_array().unwrap().iter();
    all.filter(|it| it["control"] == false).collect()
}

#[test]
fn two_commands_are_compared_as_pairs_until_a_look_finds_a_difference() {
    let sandbox = Sandbox::new();
    let ab = ["ab", "--seed", "1", "--base", "HERE"];
    let ran = fake_program(&sandbox, &ab, &["./old", "9", "--", "./new", "9"]).exits(0);
    assert_fits(&ran.stdout);
    golden("ab-commands.txt", &ran.stdout);
    let record = sandbox.oscost(&["runs", "show", "last", "--json", "-"]).exits(0).json();
    let found = compared(&record);
    let metrics: Vec<&str> = found.iter().map(|it| it["metric"].as_str().unwrap()).collect();
    let all =
        ["primary", "cpu", "user", "system", "peak-memory", "minor-faults", "voluntary-switches"];
    assert_eq!(metrics, all, "those that are 0 in a trial have no ratio");
    for it in &found {
        assert_eq!(has_flag(it, "SECONDARY"), it["metric"] != "cpu", "both compute: {it}");
    }
    for it in &found[..4] {
        let [base, new] = ["base", "new"].map(|side| it[side].as_u64().unwrap() as usize);
        let row = |at: usize| &record["results"][at];
        assert_eq!(row(base)["command"], serde_json::json!(["./old", "9"]));
        assert_eq!(row(new)["command"], serde_json::json!(["./new", "9"]));
        assert_eq!((&it["verdict"], &it["design"]), (&"slower".into(), &"pairs".into()));
        // The first look is after 20 s, and a round of both takes 41 ms.
        assert!((400..=500).contains(&it["pairs"].as_u64().unwrap()), "{it}");
        assert!(has_flag(it, "OUTPUT_DIFFERS"), "{it}");
    }
    // Counts that never differ: not for lack of a difference, but of time.
    assert!(found[4..].iter().all(|it| it["verdict"] == "inconclusive"), "{found:?}");
}

#[test]
fn equal_commands_are_measured_until_they_can_be_called_equivalent() {
    let sandbox = Sandbox::new();
    let ab = ["ab", "--seed", "1", "--base", "HERE", "--json", "-"];
    let command = ["./old", "9", "--", "./old", "9"];
    let record = fake_program(&sandbox, &ab, &command).exits(0).json();
    let found = compared(&record);
    assert!(found.iter().all(|it| it["verdict"] == "equivalent"), "{found:?}");
    assert!(found.iter().all(|it| it["span_s"].as_f64().unwrap() >= 60.0), "{found:?}");
    let names: Vec<&str> = record["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["case"].as_str().unwrap())
        .collect();
    assert_eq!(names[..2], ["workload/old", "workload/old-2"]);
    let gate = [&ab[..], &["--gate", "2"]].concat();
    fake_program(&sandbox, &gate, &command).exits(0).stderr_contains("gate: passed");
    let gate = [&ab[..], &["--quick", "--gate", "2"]].concat();
    let command = ["./old", "9", "--", "./new", "9"];
    fake_program(&sandbox, &gate, &command).exits(1).stderr_contains("gate: failed");
}

#[test]
fn a_parameter_stands_for_its_values_in_the_words_of_a_command() {
    let sandbox = Sandbox::new();
    let ab = ["ab", "--seed", "1", "--base", "HERE", "--param", "n=1000,2000,4000"];
    let ran = fake_program(&sandbox, &ab, &["./sort", "{n}"]).exits(0);
    assert_fits(&ran.stdout);
    golden("ab-parameter.txt", &ran.stdout);
    let run = ["run", "--at", "HERE", "--param", "n=1000,2000,4000", "--json", "-"];
    let record = fake_program(&sandbox, &run, &["./sort", "{n}"]).exits(0).json();
    for (n, seconds) in [(1000, 0.05), (2000, 0.11), (4000, 0.24)] {
        let row = row(&record, &format!("workload/sort:n={n}"));
        assert_eq!(row["command"], serde_json::json!(["./sort", n.to_string()]));
        let median = row["estimate"]["median"].as_f64().unwrap();
        assert!((median / seconds - 1.0).abs() < 0.01, "{n}: {median}");
    }
}

/// The value of the parameter `n` in each trial of a row, by round.
fn drawn_values(row: &Value) -> Vec<(u64, i64)> {
    let trials = row["repetitions"].as_array().unwrap().iter();
    let value =
        |it: &Value| (it["round"].as_u64().unwrap(), it["parameters"]["n"].as_i64().unwrap());
    trials.map(value).collect()
}

#[test]
fn a_sampled_parameter_has_a_random_value_in_each_round_which_all_commands_share() {
    let sandbox = Sandbox::new();
    let sampled = ["--seed", "1", "--quick", "--param-sample", "n=1..3", "--json", "-"];
    let ab = [&["ab", "--base", "HERE"], &sampled[..]].concat();
    let command = ["./pick", "{n}", "--", "./draw", "{n}"];
    let record = fake_program(&sandbox, &ab, &command).exits(0).json();
    let (base, new) = (row(&record, "workload/pick"), row(&record, "workload/draw"));
    assert_eq!(base["command"], serde_json::json!(["./pick", "{n}"]));
    let range = serde_json::json!([{ "name": "n", "low": 1, "high": 3 }]);
    assert_eq!((&base["sampled_parameters"], &new["sampled_parameters"]), (&range, &range));
    assert_eq!(drawn_values(base), drawn_values(new));
    for n in 1..=3 {
        assert!(drawn_values(base).iter().any(|it| it.1 == n), "{:?}", drawn_values(base));
    }
    for trial in base["repetitions"].as_array().unwrap() {
        let seconds = 0.01 * trial["parameters"]["n"].as_f64().unwrap();
        let ratio = trial["value"].as_f64().unwrap() / seconds;
        assert!((ratio - 1.0).abs() < 0.02, "{trial}");
    }
    let found = compared(&record);
    let ratio = found[0]["ratio"]["value"].as_f64().unwrap();
    assert!((ratio - 1.05).abs() < 0.01, "{}", found[0]);
    assert!(has_flag(found[0], "OUTPUT_DIFFERS"), "both warm-ups had 2: {}", found[0]);
    let again = fake_program(&sandbox, &ab, &command).exits(0).json();
    assert_eq!(drawn_values(row(&again, "workload/pick")), drawn_values(base), "from the seed");
    let shown = sandbox.oscost(&["runs", "show", "last"]).exits(0).stdout;
    let flat = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let words = "`{n}` is 1..3: a random value in each round; in warm-ups the middle, 2";
    assert!(flat.contains(words), "{shown}");
    // Trials that have a worker each, and those of a command alone.
    let at_targets = [&["ab", "--base", "HERE", "--new", "ph@HERE"], &sampled[..]].concat();
    let record = fake_program(&sandbox, &at_targets, &["./pick", "{n}"]).exits(0).json();
    let rows = record["results"].as_array().unwrap().iter();
    let rows: Vec<&Value> = rows.filter(|it| it["case"] == "workload/pick").collect();
    assert_eq!(drawn_values(rows[0]), drawn_values(rows[1]));
    let run = [&["run", "--at", "HERE"], &sampled[..]].concat();
    let ran = fake_program(&sandbox, &run, &["./pick", "{n}"]).exits(0);
    let values = drawn_values(row(&ran.json(), "workload/pick"));
    assert!(values.iter().any(|it| it.1 != values[0].1), "{values:?}");
}

#[test]
fn helpers_and_the_input_of_real_commands_have_the_values_of_their_round() {
    let sandbox = Sandbox::new();
    for n in ["1", "2"] {
        std::fs::write(sandbox.file(&format!("input-{n}")), "x\n").unwrap();
    }
    let input = sandbox.file("input-{n}");
    let log = sandbox.file("log");
    let append = format!("sh -c 'echo {{n}} >>{}'", log.display());
    let ab = ["ab", "--quick", "--budget", "1", "--param-sample", "n=1..2", "--json", "-"];
    let options = ["--stdin", input.to_str().unwrap(), "--cleanup", &append];
    let commands = ["--", "sh", "-c", "test $1 -ge 1", "sh", "{n}", "--", "wc", "-l"];
    let ran = sandbox.oscost(&[&ab[..], &options, &commands].concat()).exits(0);
    let record = ran.json();
    let (base, new) = (row(&record, "workload/sh"), row(&record, "workload/wc"));
    assert_eq!(drawn_values(base), drawn_values(new));
    let log = std::fs::read_to_string(&log).unwrap();
    let runs = |n: &str| log.lines().filter(|line| *line == n).count();
    let trials = |n: i64| 2 * drawn_values(base).iter().filter(|it| it.1 == n).count();
    assert_eq!(runs("1") + runs("2"), log.lines().count(), "{log}");
    assert!(runs("2") >= trials(2), "{log}");
    // The middle, rounded down.
    assert!(runs("1") >= trials(1) + 2 * 6, "warm-ups of each, the first for the caches: {log}");
    sandbox.nothing_is_left();
}

#[test]
fn five_values_of_a_parameter_are_curves_of_both_commands_and_show_where_they_cross() {
    let sandbox = Sandbox::new();
    let ab = ["ab", "--seed", "1", "--base", "HERE", "--param", "n=10,50,100,500,1000"];
    let command = ["./scan", "{n}", "--", "./index", "{n}"];
    let ran = fake_program(&sandbox, &ab, &command).exits(0);
    assert_fits(&ran.stdout);
    let (_, shown) = ran.stdout.split_once("workload/scan and workload/index by n").unwrap();
    let flat = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("command scan index"), "{shown}");
    assert!(flat.contains("workload/scan is cheaper at 50, workload/index from 100 on"), "{shown}");
    // The ratios at each value, below each other.
    assert!(flat.contains("n new base ratio"), "{shown}");
    for (n, verdict) in [(10, "slower"), (50, "slower"), (100, "faster"), (1_000, "faster")] {
        let is_it = |line: &&str| {
            line.trim_start().starts_with(&format!("{n} ")) && line.contains(" index ")
        };
        let line = shown.lines().find(is_it).unwrap_or_else(|| panic!("{n}: {shown}"));
        assert!(line.ends_with(verdict), "{line}");
    }
    let record = sandbox.oscost(&["runs", "show", "last", "--json", "-"]).exits(0).json();
    let [scan, index] = [0, 1].map(|at| &record["curves"][at]);
    assert_eq!(scan["benchmark"], "workload/scan");
    assert_eq!(index["benchmark"], "workload/index");
    let crossing = &record["crossings"][0];
    assert_eq!(crossing["differing_axis"], "benchmark");
    assert_eq!(crossing["costlier"], "workload/scan");
    assert_eq!(crossing["cheaper_wins_from"], 100);
    // One command has one curve, and nothing to cross.
    let ran = fake_program(&sandbox, &ab, &["./scan", "{n}"]).exits(0);
    assert!(ran.stdout.contains("workload/scan by n"), "{}", ran.stdout);
}

#[test]
fn a_command_without_words_is_refused_with_a_hint() {
    let sandbox = Sandbox::new();
    for (words, what, hint) in [
        (
            &["ab", "--quick", "--", "true", "--"][..],
            "cannot measure a command without words: none follow one of the `--`",
            "hint: write a command behind each `--`",
        ),
        (
            &["ab", "--base-cmd", "true", "--new-cmd", " "][..],
            "cannot measure a command without words: `--base-cmd` or `--new-cmd` is empty",
            "hint: write both",
        ),
    ] {
        sandbox.oscost(words).exits(2).stderr_contains(what).stderr_contains(hint);
    }
}

#[test]
fn commands_and_options_that_mean_nothing_together_are_refused() {
    let sandbox = Sandbox::new();
    let refused = |verb: &[&str], command: &[&str], words: &str| {
        fake_program(&sandbox, verb, command).exits(2).stderr_contains(words);
    };
    let (ab, run) = (["ab", "--base", "HERE"], ["run", "--at", "HERE"]);
    refused(&ab, &["./old"], "nothing to compare the command with");
    refused(&ab, &[], "nothing to compare with the base");
    let texts = ["--new", "HERE", "--base-cmd", "a", "--new-cmd", "b"];
    refused(&[&ab[..], &texts].concat(), &[], "cannot be used with");
    let many = (0..20).map(|it| it.to_string()).collect::<Vec<_>>().join(",");
    let (n, m) = (format!("n={many}"), format!("m={many}"));
    let twice = ["--param", &n, "--param", &m];
    refused(&[&ab[..], &twice].concat(), &["a{n}{m}"], "400 commands and values: at most 32");
    let named_twice = ["--param", "n=1", "--param", "n=2"];
    refused(&[&run[..], &named_twice].concat(), &["a{n}"], "named twice");
    let sampled = |ranges: &[&str], command: &[&str], words: &str| {
        let options = ranges.iter().flat_map(|range| ["--param-sample", *range]);
        refused(&run.into_iter().chain(options).collect::<Vec<_>>(), command, words);
    };
    sampled(&["n=1..2", "n=3..4"], &["a{n}"], "the parameter `n` is named twice");
    let both = ["--param", "n=1", "--param-sample", "n=1..2"];
    refused(&[&run[..], &both].concat(), &["a{n}"], "in `--param` or in `--param-sample`");
    sampled(&["m=1..2"], &["a{n}"], "no command has the parameter `{m}`");
    sampled(&["n=1..2"], &[], "--param-sample belongs to a command");
    sampled(&["n=9..3"], &["a{n}"], "write n=3..9");
    sampled(&["n=9"], &["a{n}"], "NAME=LOW..HIGH");
    let nine: Vec<String> = ('a'..='i').map(|name| format!("{name}=1..2")).collect();
    let nine: Vec<&str> = nine.iter().map(String::as_str).collect();
    sampled(&nine, &["a"], "9 parameters with random values: at most 8");
    refused(&[&run[..], &["--stdin", "/dev/null"]].concat(), &["a"], "it is not a regular file");
    refused(&[&ab[..], &["getppid"]].concat(), &["a", "--", "b"], "leave out the selectors");
    refused(&[&ab[..], &["--param", "m=1"]].concat(), &["a", "--", "b"], "no command has");
    refused(&[&run[..], &["--prepare", "true"]].concat(), &[], "--prepare belongs to a command");
    refused(
        &[&run[..], &["--stdin", "/no/such"]].concat(),
        &["a"],
        "cannot read the standard input",
    );
    for (parameter, why) in [
        ("n", "NAME=VALUE"),
        ("N=1", "lower-case"),
        ("n=1,,2", "1 to 32 letters"),
        ("n=a:b", "1 to 32 letters"),
        ("n=1,1", "a value twice"),
    ] {
        refused(&[&run[..], &["--param", parameter]].concat(), &["a{n}"], why);
    }
}

#[test]
fn programs_are_exported_as_hyperfine_does() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("hyperfine.json");
    let export = ["--export-hyperfine", file.to_str().unwrap()];
    let run = [&["run", "--seed", "1", "--at", "HERE", "--quick"], &export[..]].concat();
    fake_program(&sandbox, &run, &["gzip", "-kf9", "FILE"]).exits(0);
    let read: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let result = &read["results"][0];
    assert_eq!(result["command"], "gzip -kf9 FILE");
    let times = result["times"].as_array().unwrap();
    let seconds = |value: &Value| value.as_f64().unwrap();
    let mean = times.iter().map(seconds).sum::<f64>() / times.len() as f64;
    assert!((mean / seconds(&result["mean"]) - 1.0).abs() < 1e-9, "{result}");
    assert_eq!(result["exit_codes"].as_array().unwrap().len(), times.len());
    assert!(seconds(&result["min"]) <= seconds(&result["median"]), "{result}");
    assert!((seconds(&result["user"]) / 0.6 / mean - 1.0).abs() < 0.01, "{result}");
}

#[test]
fn parameters_are_exported_as_hyperfine_does() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("hyperfine.json");
    let results = |options: &[&str], command: &[&str]| -> Value {
        let run = ["run", "--seed", "1", "--at", "HERE", "--quick"];
        let export = ["--export-hyperfine", file.to_str().unwrap()];
        fake_program(&sandbox, &[&run[..], &export, options].concat(), command).exits(0);
        serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap()
    };
    let read =
        results(&["--param", "n=1000,2000", "--param", "how=a"], &["./sort", "{n}", "{how}"]);
    for (at, n) in ["1000", "2000"].into_iter().enumerate() {
        let result = &read["results"][at];
        assert_eq!(result["parameters"], serde_json::json!({ "n": n, "how": "a" }), "{result}");
        assert_eq!(result["command"], format!("./sort {n} a"));
    }
    // A value of each trial is none of a result's, and a command without parameters has no such
    // key.
    let sampled = results(&["--param-sample", "n=1..3"], &["./pick", "{n}"]);
    assert!(sampled["results"][0]["times"].is_array(), "{sampled}");
    assert!(sampled["results"][0].get("parameters").is_none(), "{sampled}");
    let plain = results(&[], &["gzip", "-kf9", "FILE"]);
    assert!(plain["results"][0].get("parameters").is_none(), "{plain}");
}

#[test]
fn a_pipe_is_read_once_and_given_to_each_trial() {
    let sandbox = Sandbox::new();
    let piped = |script: &str, arguments: &[&str]| {
        let script = format!("{script} | exec \"$0\" \"$@\"");
        Ran::of(&mut sandbox.command_in_shell(&script, arguments))
    };
    let check = ["--", "sh", "-c", "test $(wc -l) = 1000"];
    for stdin in ["-", "/dev/stdin"] {
        let run = [&["run", "--quick", "--stdin", stdin, "--json", "-"], &check[..]].concat();
        let record = piped("seq 1000", &run).exits(0).json();
        let found = row(&record, "workload/sh");
        assert!(found["repetitions"].as_array().unwrap().len() >= 3, "{found}");
    }
    let refused = |script: &str, stdin: &str| {
        let run = [&["run", "--quick", "--stdin", stdin], &check[..]].concat();
        piped(script, &run).exits(2)
    };
    refused("head -c 70000000 /dev/zero", "-").stderr_contains("more than 64 MiB");
    let pipe = sandbox.file("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    refused(":", pipe.to_str().unwrap()).stderr_contains("--stdin - <PIPE");
    sandbox.nothing_is_left();
}

#[test]
fn real_commands_take_turns_and_are_read_from_text_and_files() {
    let sandbox = Sandbox::new();
    let input = sandbox.file("input");
    std::fs::write(&input, "x\n".repeat(1000)).unwrap();
    let input = input.to_str().unwrap();
    let counts = sandbox.file("counts");
    let append = format!("sh -c 'echo x >>{}'", counts.display());
    let ab =
        ["ab", "--quick", "--budget", "1", "--stdin", input, "--cleanup", &append, "--json", "-"];
    let texts = ["--base-cmd", "wc -l", "--new-cmd", "sh -c 'wc -l; wc -c </dev/null'"];
    let record = sandbox.oscost(&[&ab[..], &texts].concat()).exits(0).json();
    let found = compared(&record);
    assert!(found.iter().all(|it| it["pairs"].as_u64().unwrap() >= 8), "{found:?}");
    assert!(found.iter().all(|it| has_flag(it, "OUTPUT_DIFFERS")), "{found:?}");
    assert_eq!(found[0]["verdict"], "slower", "it starts two more processes: {}", found[0]);
    let trials: u64 = 2 * found[0]["pairs"].as_u64().unwrap();
    let runs = std::fs::read_to_string(&counts).unwrap().lines().count() as u64;
    assert_eq!(runs, trials + 2 * 6, "warm-ups of each, the first for the caches");
    sandbox.nothing_is_left();
}

#[test]
fn a_command_that_is_not_there_ends_as_in_a_shell_and_nothing_is_kept() {
    let sandbox = Sandbox::new();
    let script = sandbox.file("script");
    std::fs::write(&script, "#!/bin/sh\n").unwrap();
    let script = script.to_str().unwrap();
    for (command, status, words) in [
        ("nosuchcommand", 127, "no such program"),
        ("/no/such/command", 127, "no such program"),
        (script, 126, "it is not executable"),
    ] {
        for verb in [&["run", "--quick", "--", command][..], &["ab", "--", "true", "--", command]] {
            let ran = sandbox.oscost(verb).exits(status).stderr_contains(words);
            assert_eq!(ran.stdout, "");
        }
    }
    assert!(!sandbox.oscost(&["runs", "list"]).exits(0).stdout.contains("command"));
}

#[test]
fn a_command_with_two_dashes_of_its_own_is_one_at_two_targets() {
    let sandbox = Sandbox::new();
    let ab =
        ["ab", "--quick", "--budget", "1", "--base", "local", "--new", "nice=5", "--json", "-"];
    let command = ["--", "sh", "-c", "test $1 = --", "sh", "--"];
    let record = sandbox.oscost(&[&ab[..], &command].concat()).exits(0).json();
    let row = row(&record, "workload/sh");
    assert_eq!(row["command"], serde_json::json!(command[1..]));
    sandbox.nothing_is_left();
}

#[test]
fn one_command_of_several_that_fails_leaves_the_others_compared() {
    let sandbox = Sandbox::new();
    let marker = sandbox.file("runs");
    // Its warm-ups succeed.
    let script = format!("echo x >>{0}; [ $(wc -l <{0}) -lt 9 ]", marker.display());
    let ab = ["ab", "--quick", "--budget", "1", "--json", "-", "--"];
    let commands = ["true", "--", "sh", "-c", &script, "--", "sh", "-c", "sleep 0.002"];
    let ran = sandbox.oscost(&[&ab[..], &commands].concat()).exits(3);
    let record = ran.json();
    let failed = row(&record, "workload/sh");
    assert_eq!(failed["outcome"], "failed", "{failed}");
    assert!(failed["reason"].as_str().unwrap().contains("--ignore-failure"), "{failed}");
    let found = compared(&record);
    assert!(found.iter().all(|it| it["pairs"].as_u64().unwrap() >= 8), "{found:?}");
    assert_eq!(found[0]["verdict"], "slower", "{}", found[0]);
    sandbox.nothing_is_left();
}

#[test]
fn a_command_may_fail_if_that_is_said_and_its_statuses_are_then_unknown() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("hyperfine.json");
    let export = ["--export-hyperfine", file.to_str().unwrap()];
    let run = ["run", "--quick", "--budget", "1", "--ignore-failure", "--json", "-"];
    let command = ["--", "sh", "-c", "exit 3"];
    let record = sandbox.oscost(&[&run[..], &export, &command].concat()).exits(0).json();
    assert_eq!(row(&record, "workload/sh")["outcome"], "measured");
    let read: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert!(read["results"][0]["exit_codes"].is_null(), "{read}");
    sandbox.nothing_is_left();
}

#[test]
fn a_program_that_fails_misses_something_or_takes_too_long_is_reported() {
    let sandbox = Sandbox::new();
    let run = ["run", "--at", "HERE", "--quick"];
    for (command, outcome, words) in [
        ("broken", "failed", "exited with status 2: no such option"),
        ("absent", "skipped", "is not installed"),
        ("slow", "timed-out", "600000 ms"),
    ] {
        let ran = fake_program(&sandbox, &run, &[command]).exits(3);
        assert!(ran.stdout.contains("Not measured\n"), "{}", ran.stdout);
        assert!(ran.stdout.contains(outcome), "{}", ran.stdout);
        let flat = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(words), "{}", ran.stdout);
    }
}

/// A file of the user's.
const MINE: &str = r#"
command = ["report", "--fast"]
output = "read"
trials = 6
min-trials = 6
quick-trials = 6
primary = "speed"

[[figure]]
name = "speed"
unit = "op/s"
pattern = 'did ([0-9.]+) a second'
"#;

#[test]
fn a_figure_is_read_from_what_a_program_writes() {
    let sandbox = Sandbox::new();
    let path = sandbox.file("mine.toml");
    std::fs::write(&path, MINE).unwrap();
    let path = path.to_str().unwrap();
    let run = ["run", "--at", "HERE", "--workload", path, "--json", "-"];
    let record = fake_program(&sandbox, &run, &[]).exits(0).json();
    let found = row(&record, "workload/mine");
    assert_eq!((&found["unit"], &found["estimate"]["median"]), (&"op/s".into(), &1234.5.into()));
    assert!(found["metrics"]["real"]["estimate"]["median"].is_number());
    // A missing figure is reported with the output.
    std::fs::write(path, MINE.replace("did (", "made (")).unwrap();
    let ran = fake_program(&sandbox, &run[..5], &[]).exits(3);
    assert!(ran.stdout.contains("did 1234.5 a second"), "{}", ran.stdout);
    // A file that is none is refused with its line.
    std::fs::write(path, MINE.replace("\ntrials = 6", "\ntrails = 6")).unwrap();
    let ran = fake_program(&sandbox, &run[..5], &[]).exits(2);
    assert!(ran.stderr.contains("line 4") && ran.stderr.contains("trails"), "{}", ran.stderr);
}

#[test]
fn a_real_command_is_run_and_its_times_add_up() {
    let sandbox = Sandbox::new();
    let command = ["/bin/sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"];
    let run = ["run", "--quick", "--json", "-", "--"];
    let record = sandbox.oscost(&[&run[..], &command].concat()).exits(0).json();
    let row = row(&record, "workload/sh");
    let median = |metric: &str| row["metrics"][metric]["estimate"]["median"].as_f64().unwrap();
    assert!(median("user") + median("system") <= 1.1 * median("real") + 0.004, "{row}");
    assert!(median("peak-memory") > 100_000.0 && median("minor-faults") > 10.0, "{row}");
    sandbox.nothing_is_left();
}

#[test]
fn a_failing_command_is_reported_with_its_output_and_leaves_nothing() {
    let sandbox = Sandbox::new();
    let mark = format!("{}", 1_000_000 + std::process::id());
    let script = format!("sleep {mark} & echo it broke >&2; exit 3");
    let ran = sandbox.oscost(&["run", "--quick", "--", "/bin/sh", "-c", &script]).exits(3);
    assert!(ran.stdout.contains("it broke") && ran.stdout.contains("status 3"), "{}", ran.stdout);
    let left = std::fs::read_dir("/proc").unwrap().flatten().filter(|entry| {
        let words = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        words == format!("sleep\0{mark}\0").into_bytes()
    });
    assert_eq!(left.count(), 0);
    sandbox.nothing_is_left();
}

/// Programs by these names, each a script of a shell, in a folder that is the whole path.
fn prepare_all(sandbox: &Sandbox, programs: &[(&str, &str)]) -> Ran {
    let folder = sandbox.folder("path");
    std::fs::create_dir_all(&folder).unwrap();
    for (name, script) in programs {
        let path = folder.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    Ran::of(sandbox.command(&["workload", "prepare", "--all"]).env("PATH", folder))
}

#[test]
fn all_workloads_are_prepared_by_one_command_as_far_as_the_machine_allows() {
    let sandbox = Sandbox::new();
    let tools = [("sh", ""), ("tar", ""), ("gzip", "")];
    // A preparation that fails does not hide what came of the others.
    let broken = [&tools[..], &[("awk", "echo no space; exit 3")]].concat();
    let ran = prepare_all(&sandbox, &broken).exits(3).no_data();
    let ran = ran.stderr_contains("no space").stderr_contains("workload/tar: not prepared: ");
    let ran = ran.stderr_contains("ended with exit status: 3");
    let ran = ran.stderr_contains("workload/kernel-build: not ready: there is ");
    ran.stderr_contains("workload/cs161: ready, needs no preparation");
    // What the machine lacks is named with the packages that have it, and is no failure.
    let works = [("awk", "/bin/mkdir -p tree/19 && : > tree/19/49")];
    let ran = prepare_all(&sandbox, &works).exits(0).no_data();
    let ran = ran.stderr_contains("workload/tar: prepared in ");
    let ran = ran.stderr_contains("workload/kernel-build: not ready: there is ");
    let ran = ran.stderr_contains("hint: sudo apt-get install --no-install-recommends ");
    ran.stderr_contains(", then oscost workload prepare --all");
    prepare_all(&sandbox, &[]).exits(0).stderr_contains("workload/tar: already prepared, in ");
    let usage = |words: &[&str]| sandbox.oscost(&[&["workload", "prepare"], words].concat());
    usage(&["--all", "tar"]).exits(2).stderr_contains("cannot be used with");
    usage(&[]).exits(2).stderr_contains("<NAME>");
}

#[test]
fn the_programs_of_studies_run_check_themselves_and_leave_nothing() {
    let sandbox = Sandbox::new();
    let cases = [
        "workload/cs161:call=none",
        "workload/cs161:call=time",
        "workload/cs161:call=sbrk",
        "workload/cs161-kept-pid",
        "workload/cse221:act=loop",
        "workload/cse221-call:args=7",
        "workload/output:via=fwrite,size=8",
    ];
    let run = ["run", "--quick", "--calls", "--json", "-"];
    let record = sandbox.oscost(&[&run[..], &cases].concat()).exits(0).json();
    for case in cases {
        let row = row(&record, case);
        assert_eq!((&row["outcome"], &row["unit"]), (&"measured".into(), &"ns/op".into()), "{row}");
    }
    let calls = |case: &str| row(&record, case)["calls"]["per_op"].clone();
    // A dynamic program maps its libraries; its million calls are no system calls.
    for case in &cases[..4] {
        let calls = calls(case);
        assert!(calls["mmap"].as_f64().unwrap() >= 4.0, "{case}: {calls}");
        let sum: f64 = calls.as_object().unwrap().values().map(|it| it.as_f64().unwrap()).sum();
        assert!((10.0..200.0).contains(&sum), "{case}: {calls}");
    }
    // Once by the library that keeps it, once by the check of the program.
    assert_eq!(calls("workload/cs161-kept-pid")["getpid"], 2.0);
    // Of 500,000 records of 8 bytes, a buffer of some KiB at a time.
    let writes = calls("workload/output:via=fwrite,size=8")["write"].as_f64().unwrap();
    assert!((4.0..=4_000.0).contains(&writes), "{writes}");
    sandbox.nothing_is_left();
}
