//! Refusals, help, lists, generated texts, and the stream that each is written to.

use std::fs;

use oscost_model::definition::{Catalog, Definition};
use serde_json::Value;

use crate::common::{Ran, Sandbox, until};

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

pub(crate) fn catalog() -> Catalog {
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
fn several_nodes_where_one_is_meant_are_refused_with_the_next_step() {
    let several = "slurm:partition=debug,nodes=n[1-2]";
    let run = |options: &[&'static str], words: &[&str]| {
        refused(&[&["run", "getppid", "--at", several][..], options].concat(), words);
    };
    run(&["--peer", "slurm:nodes=n3"], &["with one peer", "`oscost fleet links`"]);
    run(&["--samples"], &["cannot use `--samples` at several nodes", "`oscost report`"]);
    run(&["--no-plot"], &["cannot use `--no-plot` at several nodes"]);
    run(&["--export-hyperfine", "x.json"], &["cannot use `--export-hyperfine` at several nodes"]);
    run(&["no/such"], &["`no/such` is not", "hint: "]);
    refused(&["run", "--study", "cse221-2014", "--at", several], &["for a study", "one node"]);
    let one = ["it names 2 nodes, where one is meant", "`nodes=NAME` names one"];
    refused(&["ab", "--base", several, "--new", several, "getppid"], &one);
    refused(&["run", "getppid", "--at", "slurm:nodes=n3", "--peer", several], &one);
    refused(&["explain", "getppid", "--at", several], &one);
    let many = "slurm:nodes=n[1-13]";
    for verb in ["run", "machine", "doctor"] {
        refused(&[verb, "--at", many], &["13 nodes in turn", "at most 12", "`oscost fleet run`"]);
    }
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
    let twice = ["ab", "--new", "nice=5", "--new", "nice=5@local", "getppid"];
    refused(&twice, &["cannot compare `nice=5` twice in one run", "`--base X --new X`"]);
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
    (&["run", "--budget", "-1"], "it must be a number above 0"),
    (&["run", "--precision", "-0.5"], "it must be a number above 0"),
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
    (&["run", "getppid,read"], "an argument of its own: `getppid read`"),
    (&["run", "getppid,via=raw"], "axes stand behind a colon: `getppid:via=raw`"),
    (&["run", "syscall/"], "`syscall`"),
    (&["run", "true"], "a command to measure stands behind `--`"),
    (&["run", "ls", "-l"], "'oscost run -- ls -l'"),
    (&["bill", "find", "/usr"], "`oscost bill -- COMMAND` makes one"),
    (&["run", "--at", "docker"], "did you mean seccomp=docker?"),
    (&["runs", "import", "a.json", "b.json"], "it imports one file at a time"),
    (&["report", "last", "--interactive"], "it is live wherever scripts run"),
    (&["baseline", "list"], "'oscost compare @LABEL last'"),
    (&["report", "last", "--json"], "'--json -' prints it"),
    (&["run", "getppid", "-o"], "its ending is the format"),
    (&["list", "-k"], "'oscost list -k fork'"),
    (&["run", "-n", "10"], "decide how often a row is measured"),
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
