//! Commands that are refused, that are not there, or that fail.

use serde_json::Value;

use super::fake_programs::fake_program;
use crate::common::{Sandbox, row};

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

#[test]
fn a_failing_command_is_reported_with_its_output_and_leaves_nothing() {
    let sandbox = Sandbox::new();
    let mark = format!("{}", 1_000_000 + std::process::id());
    let script = format!("sleep {mark} & echo it broke >&2; exit 3");
    let ran = sandbox.oscost(&["run", "--quick", "--", "/bin/sh", "-c", &script]).exits(3);
    assert!(ran.stdout.contains("it broke") && ran.stdout.contains("status 3"), "{}", ran.stdout);
    assert!(ran.stdout.contains("--ignore-failure"), "{}", ran.stdout);
    let left = std::fs::read_dir("/proc").unwrap().flatten().filter(|entry| {
        let words = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        words == format!("sleep\0{mark}\0").into_bytes()
    });
    assert_eq!(left.count(), 0);
    sandbox.nothing_is_left();
}
