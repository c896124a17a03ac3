//! Refusals, help, generated texts, and the stream that each is written to.

use std::fs;

use oscost_model::definition::{Catalog, Definition};
use serde_json::Value;

use crate::common::{Ran, Sandbox, until};
use crate::golden::golden;

/// Every verb.
const VERBS: &[&str] = &[
    "run",
    "ab",
    "bill",
    "compare",
    "table",
    "history",
    "list",
    "explain",
    "runs",
    "report",
    "machine",
    "doctor",
    "workload",
    "kernels",
    "study",
    "treat",
    "fleet",
    "predict",
    "ph",
    "fleet",
    "schema",
    "completions",
    "man",
];

/// The words of each verb below a command, with those of the verbs below it; not internal ones.
fn verbs_below(command: &clap::Command, words: &[String]) -> Vec<Vec<String>> {
    let shown = command.get_subcommands().filter(|it| !it.is_hide_set() && it.get_name() != "help");
    let with_own = |verb: &clap::Command| {
        let own = [words, &[verb.get_name().to_owned()]].concat();
        let below = verbs_below(verb, &own);
        std::iter::once(own).chain(below).collect::<Vec<_>>()
    };
    shown.flat_map(with_own).collect()
}

fn catalog() -> Catalog {
    oscost_worker::benchmarks::data()
}

/// Is refused as the user's own mistake, with these words, before anything is measured.
fn refused(arguments: &[&str], words: &[&str]) {
    let sandbox = Sandbox::new();
    let mut ran = sandbox.oscost(arguments).exits(2).no_data();
    for words in words {
        ran = ran.stderr_contains(words);
    }
    assert_eq!(fs::read_dir(sandbox.folder("data")).unwrap().count(), 0, "a run was kept");
    sandbox.nothing_is_left();
}

#[test]
fn an_unknown_selector_is_answered_with_the_nearest_names() {
    let wrong = ["run", "syscall/getpppid"];
    refused(&wrong, &["`syscall/getpppid` is not", "hint:", "`syscall/getppid`"]);
    refused(&["run", "round-trip"], &["`pipe/round-trip`"]);
    refused(&["run", "sycall"], &["`syscall`"]);
    refused(&["list", "zzzzzz"], &["`zzzzzz` is not", "`oscost list` lists all of them"]);
    refused(&["explain", "syscall/open-clos"], &["`syscall/open-close`"]);
}

#[test]
fn a_wrong_axis_or_value_is_answered_with_the_right_ones() {
    refused(
        &["run", "syscall/getppid:via=magic"],
        &["has no value `magic`", "`via` may be `raw`, `libc`"],
    );
    refused(&["run", "syscall/getppid:size=1"], &["no axis `size`", "it has `via`"]);
    refused(&["run", "timer/nothing:size=1"], &["it has no axes"]);
    refused(&["run", "procedure/call:args=8"], &["`args` may be `0`, `1`"]);
    refused(&["run", "syscall/getppid:via"], &["`via` is not `axis=value`", "hint:"]);
}

#[test]
fn a_target_that_cannot_be_reached_is_refused_with_a_hint() {
    refused(&["run", "--at", "ssh:-x"], &["`-x` is not a host", "hint:", "~/.ssh/config"]);
    refused(&["run", "--at", "vm:0.0-none"], &["`0.0-none`", "hint:", "oscost kernels"]);
    refused(&["run", "--at", "nowhere"], &["`nowhere`", "hint:", "`local`"]);
    refused(&["run", "--at", "nice=50+sud@local"], &["`nice=50`", "hint:"]);
    refused(&["run", "--at", "ssh:"], &["`ssh:` names no host"]);
    refused(&["run", "--at", "vm"], &["`vm` names no host", "`vm:KERNEL`", "`slurm:[OPTIONS]`"]);
    refused(&["run", "--at", "wxyz"], &["no such treatment", "`vm:KERNEL`", "`slurm:[OPTIONS]`"]);
    refused(&["run", "--at", ""], &["the target is empty"]);
    refused(&["run", "--at", "LOCAL"], &["`LOCAL`"]);
    refused(&["explain", "--at", "vm:0.0-none", "timer"], &["`0.0-none`", "oscost kernels"]);
    refused(&["explain", "--at", "vm:6.12,smp=2", "timer"], &["smp=2", "hint:"]);
    refused(&["explain", "--at", "nice=5", "timer"], &["cannot treat with `nice=5`", "hint:"]);
}

#[test]
fn options_that_make_no_sense_are_refused() {
    refused(&["run", "--budget", "0"], &["above 0"]);
    refused(&["run", "--budget", "soon"], &["above 0"]);
    refused(&["run", "--precision=-1"], &["above 0"]);
    refused(&["run", "--precision", "NaN"], &["above 0"]);
    refused(&["run", "--quick", "--thorough"], &["cannot be used with"]);
    refused(&["run", "--quick", "--precision", "1"], &["cannot be used with"]);
    refused(&["run", "--cpu", "first"], &["--cpu"]);
    refused(&["run", "--label", "two\nlines"], &["one line"]);
    refused(&["run", "--no-such-option"], &["--no-such-option"]);
    refused(&["no-such-verb"], &["no-such-verb"]);
    refused(&["completions", "no-such-shell"], &["bash", "zsh", "fish"]);
    refused(&["man", "no-such-verb"], &["there is no subcommand `oscost no-such-verb`"]);
    refused(&["man", "runs", "x"], &["no subcommand `oscost runs x`", "`oscost runs --help`"]);
    refused(&["man", "ph", "monitor"], &["there is no subcommand `oscost ph monitor`"]);
    refused(&["man", ""], &["there is no subcommand `oscost `"]);
    refused(&["explain"], &["NAME"]);
    refused(&["runs"], &["list", "show", "delete", "export", "import"]);
}

/// What people type who do not know oscost, and a part of the sentence that helps.
const WRONG_INPUTS: &[(&[&str], &str)] = &[
    (&["show"], "did you mean 'oscost runs show'"),
    (&["prune"], "did you mean 'oscost runs prune'?"),
    (&["diff"], "did you mean 'oscost compare BASE NEW'?"),
    (&["bench"], "did you mean 'oscost run'?"),
    (&["ls"], "did you mean 'oscost list'?"),
    (&["search", "fork"], "did you mean 'oscost list -k TEXT'?"),
    (&["getppid"], "'oscost run getppid'"),
    (&["timer"], "'oscost explain timer'"),
    (&["NOT_CONVERGED"], "'oscost explain NOT_CONVERGED'"),
    (&["comapre"], "'compare'"),
    (&["runs", "shwo"], "'show'"),
    (&["runs"], "import"),
    (&["list", "--quick"], "'--quick' is an option of 'oscost run'"),
    (&["explain", "getppid", "--json", "-"], "'--json' is an option of"),
    (&["run", "--precison", "1"], "'--precision'"),
    (&["run", "--precision", "0"], "above 0"),
    (&["run", "--budget", "soon"], "above 0"),
    (&["run", "--quick", "--thorough"], "cannot be used with"),
    (&["run", "--cpu", "first"], "--cpu"),
    (&["run", "--label", "two\nlines"], "one line"),
    (&["run", "-o", "run.txt"], "must end in one of .html"),
    (&["run", "-o", "x.json", "--json", "x.json"], "hint: name another file for one of them"),
    (&["run", "--treat", "cmd=a\tb"], "hint: write it in one line"),
    (&["run", "--csv", "/no/such/folder/x.csv"], "make the folder"),
    (&["run", "syscall/getpppid"], "`syscall/getppid`"),
    (&["run", "sycall"], "`syscall`"),
    (&["run", "SYSCALL"], "`syscall`"),
    (&["run", "round-trip"], "`round-trip` names"),
    (&["run", "syscall/getppid:via=magic"], "`via` may be `raw`"),
    (&["run", "syscall/getppid:size=1"], "it has `via`"),
    (&["run", "timer/nothing:size=1"], "hint: write `timer/nothing` alone"),
    (&["run", "syscall/getppid:via"], "`axis=a|b` selects two points"),
    (&["run", "pipe/round-trip:size=64kb"], "`size` may be"),
    (&["run", "syscall/{getppid,getpid"], "`{a,b}` stands for two names"),
    (&["run", "--at", "nowhere"], "`local`"),
    (&["run", "--at", ""], "the target is empty"),
    (&["run", "--at", "ssh:"], "hosts are `local`, `ssh:[user@]HOST`"),
    (&["run", "--at", "nice=50+sud@local"], "`nice=50`"),
    (&["explain", "NOT_CONVERGD"], "`NOT_CONVERGED`"),
    (&["explain", "spraed"], "`spread`"),
    (&["explain", "--precison"], "`--precision`"),
    (&["explain", "peer_cqu"], "`peer_cpu`"),
    (&["explain", "round-trip"], "`pipe/round-trip`"),
    (&["explain", "zzzzzzzzz"], "`oscost list -k TEXT` searches benchmarks"),
    (&["list", "zzzzzz"], "`oscost list` lists all of them"),
    (&["list", "-k", "zzzzzzz"], "`zzzzzzz` is in no name"),
    (&["list", "-k", ""], "it is empty, and would find everything"),
    (&["list", "--calls", " "], "it is empty, and would find everything"),
    (&["list", "--calls", "opennat"], "`openat`"),
    (&["runs", "show", "zzz"], "`oscost run` measures one"),
    (&["runs", "show", "@before"], "`oscost run --label TEXT` gives a run a label"),
    (&["man", "nonsense"], "`oscost --help` lists the subcommands"),
    (&["completions", "tcsh"], "bash"),
    (&["predict", "syscall/getppid:via=raw", "120"], "write one of ns, us, ms"),
    (&["compare", "A"], "'oscost compare last~1 last'"),
    (&["compare", "A", "B", "C"], "'oscost compare A,B C'"),
    (&["table"], "'oscost table last~1 last'"),
    (&["table", "last"], "for example `last~1 last`"),
    (&["history", "--since", "yesterday"], "'oscost history --last N'"),
    (&["study", "sunos"], "'oscost study show sunos-1999'"),
    (&["help", "runz"], "'runs'"),
    (&["install"], "'oscost --help' lists its subcommands"),
    (&["fleet", "list"], "'oscost fleet status FOLDER'"),
    (&["run", ""], "the name of a benchmark is empty"),
    (&["explain", ""], "the name to explain is empty"),
    (&["explain"], "'oscost explain getppid'"),
    (&["report"], "'last' is the newest run"),
    (&["run", "syscall/{getpid,getuid}:via=raw"], "all must have the axis"),
    (&["runs", "show", "@"], "the label behind `@` is empty"),
    (&["runs", "show", ""], "the name of the run is empty"),
    (&["report", "./Cargo.toml"], "`oscost runs export RUN FILE` writes a record"),
    (&["report", "Cargo.toml"], "`./Cargo.toml` is the file of that name"),
    (&["run", "--json", "getppid"], "`--json -` before the name"),
    (&["run", "--csv", "syscall/getppid:via=raw"], "`--csv -` before the name"),
    (&["compare", "last~1", "last", "--markdown", "timer"], "`--markdown ./timer` to that file"),
];

#[test]
fn each_of_forty_wrong_inputs_is_answered_with_a_sentence_that_helps() {
    assert!(WRONG_INPUTS.len() >= 40);
    let sandbox = Sandbox::new();
    for (arguments, words) in WRONG_INPUTS {
        let ran = sandbox.oscost(arguments).no_data();
        assert_eq!(ran.code, Some(2), "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(words), "{arguments:?}: `{words}` is not in:\n{}", ran.stderr);
        // Advice of the parser of arguments that would measure the option as a command.
        assert!(!ran.stderr.contains("as a value, use"), "{arguments:?}: {}", ran.stderr);
    }
    sandbox.nothing_is_left();
}

#[test]
fn help_names_every_verb_has_examples_and_fits_into_eighty_columns() {
    let sandbox = Sandbox::new();
    let assert_fits = |text: &str, of: &str| {
        let long: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
        assert!(long.is_empty(), "{of}: {long:#?}");
    };
    let whole = sandbox.oscost(&["--help"]).exits(0).stdout;
    assert_fits(&whole, "oscost");
    let (_, verbs) = whole.split_once("Commands:").unwrap();
    let (verbs, _) = verbs.split_once("Options:").unwrap();
    let named: Vec<&str> =
        verbs.lines().filter_map(|line| line.split_whitespace().next()).collect();
    for verb in VERBS {
        assert!(named.contains(verb), "--help does not name `{verb}`");
    }
    let verbs = verbs_below(&oscost::cli::command(), &[]);
    assert!(verbs.len() > VERBS.len(), "the verbs of `runs` and others are missing: {verbs:?}");
    for verb in verbs {
        let words: Vec<&str> = verb.iter().map(String::as_str).chain(["--help"]).collect();
        let help = sandbox.oscost(&words).exits(0).stdout;
        let name = verb.join(" ");
        assert_fits(&help, &name);
        let examples = help.split_once("\nExamples:\n").map(|(_, examples)| examples);
        let shows_itself = examples.is_some_and(|it| it.contains(&format!("oscost {name}")));
        assert!(shows_itself, "`oscost {name}` shows no example of itself:\n{help}");
    }
    for name in named {
        assert!(VERBS.contains(&name) || name == "help", "no test covers `oscost {name}`");
    }
    let version = sandbox.oscost(&["--version"]).exits(0).stdout;
    assert_eq!(version, format!("oscost {}\n", env!("CARGO_PKG_VERSION")));
    sandbox.oscost(&[]).exits(2).no_data().stderr_contains("Usage:");
}

#[test]
fn list_names_every_family_and_benchmark_and_selects() {
    let sandbox = Sandbox::new();
    let all = sandbox.oscost(&["list"]).exits(0).stdout;
    for family in &catalog().families {
        assert!(all.contains(&format!("{}: {}", family.name, family.about)), "{all}");
    }
    for definition in &catalog().benchmarks {
        // A dash marks a case that is not in the price list.
        let dash = if definition.in_price_list { "" } else { "-" };
        let named = format!("{dash}{}", definition.id);
        assert!(
            all.lines().any(|line| line.split_whitespace().any(|word| word == named)),
            "{named}"
        );
    }
    assert!(all.lines().all(|line| line.chars().count() <= 80), "{all}");
    let some = sandbox.oscost(&["list", "*/getppid"]).exits(0).stdout;
    assert!(some.contains("syscall/getppid") && !some.contains("open-close"), "{some}");
    let none = sandbox.oscost(&["list", "timer"]).exits(0).stdout;
    assert!(!none.contains("syscall/"), "{none}");
}

#[test]
fn list_as_json_is_the_definitions() {
    let sandbox = Sandbox::new();
    let all: Vec<Definition> =
        serde_json::from_str(&sandbox.oscost(&["list", "--json"]).exits(0).stdout).unwrap();
    let of_worker = catalog().benchmarks;
    assert_eq!(all[..of_worker.len()], of_worker);
    let programs: Vec<&str> = all[of_worker.len()..].iter().map(|it| it.id.as_str()).collect();
    assert!(programs.len() >= 7 && programs.iter().all(|id| id.starts_with("workload/")));
    let some = sandbox.oscost(&["list", "--json", "syscall/getppid:via=raw"]).exits(0).json();
    assert_eq!(some.as_array().map(Vec::len), Some(1));
    assert_eq!(some[0]["id"], "syscall/getppid");
}

/// Explains every second benchmark, from this one on.
fn explained(from: usize) {
    let sandbox = Sandbox::new();
    for definition in catalog().benchmarks.iter().skip(from).step_by(2) {
        let text = sandbox.oscost(&["explain", &definition.id]).exits(0).stdout;
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let parts = [&definition.asks, &definition.op, &definition.expected, &definition.source];
        for part in parts {
            let part = part.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(flat.contains(&part), "`{part}` is not in:\n{text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}

#[test]
fn explain_shows_all_of_one_half_of_the_benchmarks_within_eighty_columns() {
    explained(0);
}

#[test]
fn explain_shows_all_of_the_other_half_of_the_benchmarks_within_eighty_columns() {
    explained(1);
}

#[test]
fn explain_lists_the_benchmarks_of_a_family() {
    let family = Sandbox::new().oscost(&["explain", "syscall"]).exits(0).stdout;
    let names = ["syscall/getppid", "syscall/open-close"];
    for name in names {
        let is_its =
            |line: &&str| line.trim_start_matches([' ', '-']).split(' ').next() == Some(name);
        assert_eq!(family.lines().filter(is_its).count(), 1, "{family}");
    }
    let all = Sandbox::new().oscost(&["explain", "syscall", "--full"]).exits(0).stdout;
    assert!(names.iter().all(|name| all.contains(&format!("{name}\n"))), "{all}");
    assert!(5 * family.lines().count() < all.lines().count(), "{family}");
}

/// The part of an explanation that is of the machine at hand.
fn here(ran: &Ran) -> &str {
    ran.stdout.split_once("\nOn this machine\n").map_or("", |(_, here)| here)
}

#[test]
fn explain_shows_counted_calls_and_the_last_figure_of_this_target() {
    let sandbox = Sandbox::new();
    let at = format!("fake:{}", crate::common::scenario_file("classes").display());
    let explain = |case: &str| sandbox.oscost(&["explain", "--at", &at, case]).exits(0);
    let ran = explain("timer/clock-gettime");
    golden("explain-here.txt", here(&ran));
    assert!(!sandbox.folder("data").join("oscost").exists(), "a store was made for nothing");
    sandbox.fake("classes", &["timer", "syscall/getppid", "procedure"]).exits(0);
    let ran = explain("timer/clock-gettime");
    // The day of the run is today's.
    let today = &humantime_day(&sandbox);
    golden("explain-last.txt", &here(&ran).replace(today, "2026-11-21 08:15"));
    // Another target has other figures, and none is stored.
    let other = format!("fake:{}", crate::common::scenario_file("measured").display());
    let ran = sandbox.oscost(&["explain", "--at", &other, "timer/clock-gettime"]).exits(0);
    assert!(here(&ran).contains("not measured on this machine yet"), "{}", here(&ran));
}

/// When the last run began, to the minute, as shown.
fn humantime_day(sandbox: &Sandbox) -> String {
    let record = sandbox.oscost(&["runs", "show", "last", "--json", "-"]).exits(0).json();
    record["started"].as_str().unwrap()[..16].replace('T', " ")
}

#[test]
fn explain_prefers_an_older_figure_with_an_interval_to_one_of_an_interrupted_run() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("scenario.json");
    let at = format!("fake:{}", file.display());
    let explain = || sandbox.oscost(&["explain", "--at", &at, "syscall/getppid:via=raw"]).exits(0);
    let run = |scenario: &str, code: i32| {
        fs::write(&file, scenario).unwrap();
        sandbox.oscost(&["run", "--at", &at, "syscall/getppid:via=raw"]).exits(code);
    };
    run(
        r#"{"costs_ns": {"syscall/getppid:via=raw": 300.0}, "interrupted_after_workers": 20}"#,
        130,
    );
    let cut = explain();
    let cut = here(&cut);
    assert!(cut.contains("last figure: ") && !cut.contains(" ns ("), "no interval yet: {cut}");
    run(r#"{"costs_ns": {"syscall/getppid:via=raw": 200.0}, "between_sd": 0.01}"#, 0);
    run(
        r#"{"costs_ns": {"syscall/getppid:via=raw": 300.0}, "interrupted_after_workers": 20}"#,
        130,
    );
    let sure = explain();
    let sure = here(&sure);
    assert!(sure.contains("last figure: 2") || sure.contains("last figure: 1"), "200 ns: {sure}");
    assert!(sure.contains(" ns ("), "{sure}");
}

#[test]
fn a_word_of_the_glossary_is_explained_before_other_meanings_of_it() {
    let sandbox = Sandbox::new();
    let at = format!("fake:{}", crate::common::scenario_file("measured").display());
    let explain = |word: &str| sandbox.oscost(&["explain", "--at", &at, word]).exits(0).stdout;
    for word in ["run", "record", "store", "estimate", "bill", "batch", "sample", "round", "pair"] {
        assert!(explain(word).contains(": word of the glossary\n"), "{word}: {}", explain(word));
    }
    let batch = explain("batch");
    assert!(batch.starts_with("batch, sample: word of the glossary\n"), "{batch}");
    assert!(batch.contains("\n\nsocket/batch\n"), "{batch}");
    let store = explain("store");
    assert!(store.starts_with("run, record, store: word of the glossary\n"), "{store}");
    assert!(store.contains("\nstore: value of the axis `op`\n"), "{store}");
    assert!(explain("socket/batch").starts_with("socket/batch\n"));
}

#[test]
fn explain_of_a_word_shows_the_rows_of_the_last_run_that_have_it() {
    let sandbox = Sandbox::new();
    let explain = |word: &str| {
        let text = sandbox.oscost(&["explain", word]).exits(0).stdout;
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let before = explain("light");
    assert!(before.starts_with("light: class of a cost"), "{before}");
    assert!(!before.contains("the last run"), "no run is kept: {before}");
    assert!(!sandbox.folder("data").join("oscost").exists(), "a store was made for nothing");
    sandbox.fake("measured", &["syscall/getppid"]).exits(0);
    let outcome = explain("measured");
    assert!(outcome.contains("rows of the last run"), "{outcome}");
    assert!(outcome.contains("syscall/getppid:via=raw"), "{outcome}");
    assert!(explain("lost").starts_with("lost: term means of the time of a run"));
    assert!(explain("page cache").starts_with("page cache: term"));
    let words = sandbox.oscost(&["explain", "cost", "group"]).exits(0).stdout;
    assert!(words.starts_with("cost group: word of the glossary"), "{words}");
    assert!(explain("VOID").starts_with("VOID: flag of a comparison"));
    assert!(explain("WORKER_LOST").contains("no row of the last run"));
    let column = explain("per op");
    assert!(column.contains("in the last run (") && column.contains("getppid"), "{column}");
    // A word in several places has all its meanings, and an option is found by either name.
    let verdict = explain("verdict");
    for part in ["verdict: column of a table", "key of the record", "comparisons[].verdict"] {
        assert!(verdict.contains(part), "`{part}` is not in {verdict}");
    }
    for option in ["precision", "--precision"] {
        let text = explain(option);
        assert!(text.contains("--precision PCT: option of the command line"), "{text}");
    }
    assert!(explain("peer_cpu=other").starts_with("other: value of the axis `peer_cpu`"));
    assert!(explain("vm:6.12").starts_with("vm: host"));
    assert!(explain("list").starts_with("oscost list: subcommand"));
    assert!(explain("fleet").starts_with("oscost fleet: subcommand"));
    assert!(explain("instructions").starts_with("instructions: unit"));
    assert!(explain("p99").starts_with("p99: metric of a row means 99 of 100"));
    assert!(explain("64Ki").starts_with("Ki: unit means times 1024"));
    assert!(!explain("--quick").contains("values"), "an option without a value has none");
    for (target, kind, host) in [
        ("seccomp=docker", "seccomp=", ""),
        ("nice=5", "nice=", ""),
        ("sud@local", "sud", "local: host"),
        ("sud@ssh:user@db1", "sud", "ssh: host"),
    ] {
        let text = explain(target);
        assert!(text.starts_with(kind) && text.contains(host), "{target}: {text}");
    }
    assert!(explain("sunos-1999").contains("oscost study show sunos-1999"));
}

#[test]
fn explain_shows_a_benchmark_before_a_word_of_the_same_name() {
    let text = Sandbox::new().oscost(&["explain", "timer"]).exits(0).stdout;
    let benchmark = text.find("timer/nothing ").unwrap();
    let word = text.find("timer: column of a table\n").unwrap();
    assert!(benchmark < word, "{text}");
}

#[test]
fn list_searches_names_questions_and_calls_and_names_axes_on_request() {
    let sandbox = Sandbox::new();
    let list =
        |arguments: &[&str]| sandbox.oscost(&[&["list"], arguments].concat()).exits(0).stdout;
    assert!(list(&["-k", "fork"]).contains("process/fork-exit"));
    let opening = list(&["--calls", "openat"]);
    assert!(opening.contains("syscall/open-close") && !opening.contains("syscall/getppid"));
    assert!(list(&["-v", "pipe"]).contains("axes: "));
    assert!(list(&[]).starts_with("family "));
    assert_eq!(list(&["all"]), list(&[]), "through a pipe");
    assert!(list(&[]).ends_with("measures if nothing is named\n"), "what the dash means");
}

#[test]
fn explain_gives_the_reason_why_nothing_was_counted_in_one_line() {
    let sandbox = Sandbox::new();
    let at = format!("fake:{}", crate::common::scenario_file("uncounted").display());
    let ran = sandbox.oscost(&["explain", "--at", &at, "syscall/getppid"]).exits(0);
    let count = here(&ran).matches("Nothing was counted: ptrace is refused").count();
    assert_eq!(count, 1, "{}", here(&ran));
    let nowhere = sandbox.oscost(&["explain", "--at", "fake:/no/such/file", "syscall/getppid"]);
    let nowhere = nowhere.exits(0);
    assert!(here(&nowhere).contains("Nothing was counted: cannot read"), "{}", nowhere.stdout);
}

#[test]
fn explain_of_a_family_counts_nothing() {
    let ran = Sandbox::new().oscost(&["explain", "timer"]).exits(0);
    assert!(ran.stdout.contains("timer/nothing ") && here(&ran).is_empty(), "{}", ran.stdout);
}

#[test]
fn completions_know_the_verbs_and_the_benchmarks() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = sandbox.oscost(&["completions", shell]).exits(0).stdout;
        // What fish makes of it names no values of arguments without a dash.
        let names = if shell == "fish" { &[][..] } else { &["syscall/getppid", "procedure"] };
        for word in [&["precision", "explain"], names].concat() {
            assert!(script.contains(word), "{shell} does not know `{word}`");
        }
    }
    // Without a worker the names of benchmarks are missing, the rest is there.
    let mut command = sandbox.command(&["completions", "bash"]);
    let ran = Ran::of(command.env("OSCOST_WORKER", "/no/such/worker")).exits(0);
    assert!(ran.stdout.contains("--precision") && !ran.stdout.contains("syscall/getppid"));
}

#[test]
fn manual_pages_are_made_for_the_tool_and_for_each_verb() {
    let sandbox = Sandbox::new();
    let mut verbs = verbs_below(&oscost::cli::command(), &[]);
    verbs.push(Vec::new());
    for verb in verbs {
        let words: Vec<&str> = ["man"].into_iter().chain(verb.iter().map(String::as_str)).collect();
        let page = sandbox.oscost(&words).exits(0).stdout;
        let name = [vec!["oscost".to_owned()], verb].concat().join("-");
        let version = concat!("\"oscost ", env!("CARGO_PKG_VERSION"), "\"");
        assert!(page.contains(&format!(".TH {name} 1  {version}")), "{page}");
    }
    assert!(sandbox.oscost(&["man", "run"]).stdout.contains("precision"));
    let page = |words: &[&str]| sandbox.oscost(&[&["man"], words].concat()).exits(0).stdout;
    assert_eq!(page(&["runs list"]), page(&["runs", "list"]));
    assert!(page(&["runs", "list"]).contains("fleet"));
}

#[test]
fn the_schema_is_json() {
    let schema: Value = Sandbox::new().oscost(&["schema"]).exits(0).json();
    assert_eq!(schema["title"], "Record");
    let schema: Value = Sandbox::new().oscost(&["schema", "bill"]).exits(0).json();
    assert_eq!(schema["title"], "Bill");
}

#[test]
fn piped_output_has_no_colours() {
    let sandbox = Sandbox::new();
    let no_escape = |ran: Ran, of: &str| {
        assert!(!ran.stdout.contains('\u{1b}'), "{of}: {:?}", ran.stdout);
        assert!(!ran.stderr.contains('\u{1b}'), "{of}: {:?}", ran.stderr);
    };
    for arguments in
        [&["--help"][..], &["run", "--help"], &["run", "no/such"], &["list"], &["no-such-verb"]]
    {
        no_escape(sandbox.oscost(arguments), &arguments.join(" "));
        let mut command = sandbox.command(arguments);
        no_escape(Ran::of(command.env("NO_COLOR", "1").env("TERM", "xterm-256color")), "NO_COLOR");
    }
    no_escape(sandbox.fake("all-outcomes", &["syscall"]), "run");
}

#[test]
fn a_missing_or_foreign_worker_is_reported_with_a_hint() {
    let sandbox = Sandbox::new();
    let with = |worker: &str, arguments: &[&str]| {
        Ran::of(sandbox.command(arguments).env("OSCOST_WORKER", worker)).exits(3).no_data()
    };
    for arguments in [&["run"][..], &["list"], &["explain", "timer"], &["machine"], &["doctor"]] {
        let ran = with("/no/such/worker", arguments);
        ran.stderr_contains("cannot find the program `oscost-worker`: tried /no/such/worker")
            .stderr_contains("hint:");
    }
    let silent = sandbox.file("silent");
    fs::write(&silent, "not a program").unwrap();
    with(silent.to_str().unwrap(), &["list"])
        .stderr_contains("cannot start")
        .stderr_contains("silent");
    for (name, script, words) in [
        ("fails", "echo it hurts >&2; exit 3", "`catalog` failed: it hurts"),
        ("babbles", "echo hello", "its catalog cannot be read"),
    ] {
        let program = sandbox.file(name);
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&program, mode).unwrap();
        // A file that was just written may still be open in a child of another test.
        until("the script can be run", || {
            !sandbox.oscost_with(&program, &["list"]).stderr.contains("Text file busy")
        });
        with(program.to_str().unwrap(), &["list"]).stderr_contains(words).stderr_contains(name);
    }
}

#[test]
fn a_login_that_floods_is_ended_and_not_waited_for() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new();
    let (ssh, mark) = (sandbox.file("ssh"), sandbox.file("mark"));
    // One that goes on at the end of its input: it is asked to end, and not waited for.
    let script = format!(
        "#!/bin/sh\ni=0\nwhile [ $i -lt 1001 ]; do echo hello; i=$((i + 1)); done\n\
         cat > /dev/null\ntrap 'kill $!; : > {}; exit' TERM\nsleep 1000 & wait\n",
        mark.display()
    );
    fs::write(&ssh, script).unwrap();
    fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = sandbox.command(&["machine", "--at", "ssh:host"]);
    let ran = Ran::of(command.env("OSCOST_SSH", &ssh)).exits(3).no_data();
    ran.stderr_contains("its login prints too much").stderr_contains("hint:");
    assert!(mark.exists(), "it was waited for, and killed");
}
