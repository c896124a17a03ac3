//! The store by the command line: stored runs are shown unchanged.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use rusqlite::Connection;
use serde_json::Value;

use crate::common::{Ran, Sandbox, row, rows};

const ASKED: &[&str] = &["timer", "syscall"];

/// The id of the newest run.
fn last_id(sandbox: &Sandbox) -> String {
    let record = sandbox.oscost(&["runs", "show", "last", "--json", "-"]).exits(0).json();
    record["id"].as_str().unwrap().to_owned()
}

/// Two records are the same to the byte; where they are not, the lines that differ are shown.
fn assert_same(now: &str, then: &str) {
    let lines = now.lines().zip(then.lines());
    let differ: Vec<_> = lines.filter(|(now, then)| now != then).take(5).collect();
    assert!(now == then, "the record has changed: {differ:#?}");
}

#[test]
fn show_prints_exactly_what_run_printed() {
    let sandbox = Sandbox::new();
    for (scenario, code) in [("measured", 0), ("all-outcomes", 0), ("interrupted", 130)] {
        let printed = sandbox.fake(scenario, ASKED).exits(code);
        let shown = sandbox.oscost(&["runs", "show", "last"]).exits(0);
        assert_eq!(shown.stdout, printed.stdout, "{scenario}");
        assert_eq!(shown.stderr, "", "{scenario}");
    }
}

#[test]
fn the_kept_record_is_the_printed_record() {
    let sandbox = Sandbox::new();
    for scenario in ["measured", "all-outcomes", "very-noisy"] {
        for samples in [&[][..], &["--samples"]] {
            let arguments = [ASKED, &["--json", "-"], samples].concat();
            let printed = sandbox.fake(scenario, &arguments).exits(0);
            let show = [&["runs", "show", "last", "--json", "-"], samples].concat();
            let shown = sandbox.oscost(&show).exits(0);
            assert_same(&shown.stdout, &printed.stdout);
        }
    }
}

#[test]
fn an_exported_and_imported_run_is_the_same_run() {
    let sandbox = Sandbox::new();
    let printed = sandbox.fake("all-outcomes", &[ASKED, &["--label", "to be sent"]].concat());
    let id = last_id(&sandbox);
    let file = sandbox.file("run.json");
    let file = file.to_str().unwrap();
    sandbox.oscost(&["runs", "export", &id, file]).exits(0).no_data();
    let exported: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let samples = &row(&exported, "syscall/getppid:via=raw")["repetitions"][0]["samples"];
    assert_eq!(samples.as_array().unwrap().len(), 21, "an export holds every raw batch");
    sandbox.oscost(&["runs", "import", file]).exits(2).stderr_contains("is already in the store");

    sandbox.oscost(&["runs", "delete", "last"]).exits(0).stderr_contains(&format!("deleted {id}"));
    let none = sandbox.oscost(&["runs", "list"]).exits(0);
    assert_eq!(none.stdout, "no runs are kept\n");
    none.stderr_contains("`oscost run` measures the price list and keeps it");
    sandbox.oscost(&["runs", "show", "last"]).exits(2).stderr_contains("the store is empty");
    sandbox.oscost(&["runs", "delete", &id]).exits(2).stderr_contains("there is no run");

    sandbox
        .oscost(&["runs", "import", file])
        .exits(0)
        .no_data()
        .stderr_contains(&format!("kept as {id}"));
    assert_eq!(sandbox.oscost(&["runs", "show", &id]).exits(0).stdout, printed.stdout);
    let again = sandbox.oscost(&["runs", "export", "last", "-"]).exits(0);
    assert_same(&again.stdout, &fs::read_to_string(file).unwrap());
    let list = sandbox.oscost(&["runs", "list"]).exits(0).stdout;
    assert!(list.contains("to be sent"), "{list}");
}

#[test]
fn a_record_may_come_through_a_pipe() {
    let (here, there) = (Sandbox::new(), Sandbox::new());
    here.fake("measured", ASKED).exits(0);
    let record = here.oscost(&["runs", "export", "last", "-"]).exits(0).stdout;
    let file = there.file("record.json");
    fs::write(&file, &record).unwrap();
    let mut command = there.command(&["runs", "import", "-"]);
    Ran::of(command.stdin(fs::File::open(&file).unwrap())).exits(0);
    assert_same(&there.oscost(&["runs", "export", "last", "-"]).exits(0).stdout, &record);
}

#[test]
fn runs_are_listed_newest_first_and_named_by_the_beginning_of_their_ids() {
    let sandbox = Sandbox::new();
    for label in ["first", "second", "third"] {
        sandbox.fake("measured", &["syscall/getppid", "--label", label]).exits(0);
    }
    let list = sandbox.oscost(&["runs", "list"]).exits(0).stdout;
    let (heading, lines) = list.split_once('\n').unwrap();
    for title in ["run", "started", "took", "trust", "label", "command"] {
        assert!(heading.split_whitespace().any(|it| it == title), "`{title}` is not in {heading}");
    }
    let lines: Vec<&str> = lines.lines().collect();
    assert_eq!(lines.len(), 3, "{list}");
    for (line, label) in lines.iter().zip(["third", "second", "first"]) {
        assert!(line.contains(label) && line.chars().count() <= 80, "{list}");
        let beginning = line.split_whitespace().next().unwrap();
        let shown = sandbox.oscost(&["runs", "show", beginning, "--json", "-"]).exits(0).json();
        assert_eq!(shown["label"], label);
    }
    sandbox
        .oscost(&["runs", "show", "0"])
        .exits(2)
        .no_data()
        .stderr_contains("`0` is ambiguous: 3 run ids start with it");
    sandbox
        .oscost(&["runs", "show", "zzz"])
        .exits(2)
        .no_data()
        .stderr_contains("there is no run `zzz`");
}

#[test]
fn a_run_is_found_by_its_label_and_of_several_the_newest() {
    let sandbox = Sandbox::new();
    for label in ["before", "after", "after"] {
        sandbox.fake("measured", &["syscall/getppid", "--label", label]).exits(0);
    }
    let newest = last_id(&sandbox);
    let shown = |name: &str| sandbox.oscost(&["runs", "show", name, "--json", "-"]);
    assert_eq!(shown("@after").exits(0).json()["id"], newest.as_str());
    assert_eq!(shown("@before").exits(0).json()["label"], "before");
    let unknown = shown("@later").exits(2).no_data();
    let unknown = unknown.stderr_contains("no run has the label `later`");
    unknown.stderr_contains("hint: the newest labels are `@after`, `@before`");
    let bare = sandbox.oscost(&["runs", "show", "before"]).exits(2).no_data();
    bare.stderr_contains("`@before` is the newest with that label");
    sandbox.oscost(&["compare", "@before", "@after"]).exits(0);
}

#[test]
fn the_list_of_runs_as_json_has_their_times_and_grades() {
    let sandbox = Sandbox::new();
    let empty = sandbox.oscost(&["runs", "list", "--json"]).exits(0).json();
    assert_eq!(empty["schema"], "oscost.runs/1");
    assert_eq!(empty["runs"].as_array().map(Vec::len), Some(0));
    sandbox.fake("measured", &[ASKED, &["--label", "quiet"]].concat()).exits(0);
    sandbox.fake("very-noisy", &[ASKED, &["--label", "noisy"]].concat()).exits(0);
    let list = sandbox.oscost(&["runs", "list", "--json"]).exits(0).json();
    let [noisy, quiet] = &list["runs"].as_array().unwrap()[..] else { panic!("{list}") };
    assert_eq!((noisy["label"].as_str(), noisy["trust"].as_str()), (Some("noisy"), Some("poor")));
    let reasons = noisy["trust_reasons"].as_array().unwrap();
    assert!(reasons.iter().any(|it| it.as_str().unwrap().contains("very noisy")), "{noisy}");
    assert!(["good", "fair"].contains(&quiet["trust"].as_str().unwrap()), "{quiet}");
    let holds = |key: &str| quiet[key].as_bool() == Some(true);
    assert!(holds("complete") && holds("has_raw_batches"), "{quiet}");
    assert!(quiet["duration_s"].is_number() && quiet["id"].is_string(), "{quiet}");
    // They are those of the records.
    for (name, listed) in [("last", noisy), ("last~1", quiet)] {
        let record = sandbox.oscost(&["runs", "show", name, "--json", "-"]).exits(0).json();
        for key in ["trust", "trust_reasons"] {
            assert_eq!(listed[key], record[key], "{name}");
        }
    }
}

#[test]
fn a_quiet_run_says_nothing_but_notes() {
    // Two stores: intervals depend on earlier runs.
    let loud = Sandbox::new().fake("measured", ASKED).exits(0);
    let quiet = Sandbox::new().fake("measured", &[ASKED, &["-q"]].concat()).exits(0);
    assert_eq!(quiet.stdout, loud.stdout);
    assert!(loud.stderr.contains("kept as ") && !quiet.stderr.contains("kept as "));
    let is_note = |line: &str| line.starts_with("note: ");
    assert!(quiet.stderr.lines().all(is_note), "{}", quiet.stderr);
}

#[test]
fn an_invalid_record_is_not_imported() {
    let sandbox = Sandbox::new();
    for (text, words) in [
        ("", "the file is not a record"),
        ("garbage", "the file is not a record"),
        ("{}", "the file is not a record"),
        (r#"{"schema":"oscost.run/2"}"#, "newer schema"),
        (r#"{"schema":"something/1"}"#, "its schema is"),
    ] {
        let file = sandbox.file("record.json");
        fs::write(&file, text).unwrap();
        let ran = sandbox.oscost(&["runs", "import", file.to_str().unwrap()]).exits(2).no_data();
        ran.stderr_contains("cannot import").stderr_contains(words);
    }
    let missing = sandbox.file("missing.json");
    let ran = sandbox.oscost(&["runs", "import", missing.to_str().unwrap()]).exits(2);
    ran.stderr_contains("missing.json").stderr_contains("No such file");
    assert_eq!(sandbox.oscost(&["runs", "list"]).exits(0).stdout, "no runs are kept\n");
}

#[test]
fn a_run_goes_on_if_the_store_cannot_be_written() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("a-file");
    fs::write(&file, "").unwrap();
    let target = format!("fake:{}", crate::common::scenario_file("measured").display());
    let arguments = ["run", "--seed", "1", "--at", &target, "syscall"];
    let mut command = sandbox.command(&arguments);
    let ran = Ran::of(command.env("XDG_DATA_HOME", file.join("below"))).exits(0);
    let kept = sandbox.oscost(&arguments).exits(0);
    assert_eq!(ran.stdout, kept.stdout);
    let ran = ran.stderr_contains("note: this run is not kept: cannot open the store");
    assert!(!ran.stderr.contains("kept as"), "{}", ran.stderr);

    let mut command = sandbox.command(&arguments);
    let ran = Ran::of(command.env_remove("XDG_DATA_HOME").env_remove("HOME")).exits(0);
    ran.stderr_contains("neither XDG_DATA_HOME nor HOME names a folder");
    let mut command = sandbox.command(&["runs", "list"]);
    let ran = Ran::of(command.env("XDG_DATA_HOME", file.join("below"))).exits(2).no_data();
    ran.stderr_contains("cannot open the store");
}

#[test]
fn a_damaged_store_is_left_as_it_is_and_the_run_goes_on() {
    let sandbox = Sandbox::new();
    let folder = sandbox.folder("data").join("oscost");
    fs::create_dir(&folder).unwrap();
    let store = folder.join("store.db");
    let garbage = "this is not a database\n".repeat(500);
    fs::write(&store, &garbage).unwrap();
    let ran = sandbox.fake("measured", &["syscall"]).exits(0);
    assert!(ran.stdout.contains("getppid"), "{}", ran.stdout);
    assert_eq!(ran.stderr.matches("  hint: ").count(), 1, "once: {}", ran.stderr);
    ran.stderr_contains("note: this run is not kept")
        .stderr_contains("store.db")
        .stderr_contains("is not a SQLite database");
    assert_eq!(fs::read_to_string(&store).unwrap(), garbage);
    let ran = sandbox.oscost(&["runs", "list"]).exits(2).no_data();
    ran.stderr_contains("error: cannot open the store").stderr_contains("is not a SQLite database");
}

#[test]
fn the_store_of_another_user_is_distinguished_from_a_damaged_one() {
    let sandbox = Sandbox::new();
    sandbox.fake("measured", &["syscall/getppid"]).exits(0);
    let store = sandbox.folder("data").join("oscost/store.db");
    let mode = fs::metadata(&store).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600, "the store is its owner's alone");
    fs::set_permissions(&store, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(&store).is_ok() {
        eprintln!("cannot run here: this user may open every file");
        return;
    }
    let ran = sandbox.fake("measured", &["syscall/getppid"]).exits(0);
    ran.stderr_contains("note: this run is not kept").stderr_contains("permission denied");
}

#[test]
fn a_program_gets_back_the_signal_of_the_limit_of_file_sizes() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("large");
    let script = format!("head -c 100000 /dev/zero > {}; echo $?", file.display());
    let arguments = ["treat", "env=A=1", "--", "sh", "-c", &script];
    let mut command = sandbox.command_in_shell("ulimit -f 8; exec \"$0\" \"$@\"", &arguments);
    // 128 and SIGXFSZ.
    assert_eq!(Ran::of(&mut command).exits(0).stdout, "153\n");
}

#[test]
fn a_pruned_run_is_shown_and_compared_as_before_and_says_what_it_lacks() {
    let sandbox = Sandbox::new();
    let printed = sandbox.fake("all-outcomes", ASKED).exits(0);
    sandbox.fake("measured", ASKED).exits(0);
    let show = |run: &str| {
        let shown = sandbox.oscost(&["runs", "show", run, "--json", "-"]).exits(0);
        assert_eq!(shown.stderr, "", "the raw batches are not needed");
        shown.stdout
    };
    let before = [show("last~1"), show("last")];
    let compared = sandbox.oscost(&["compare", "last~1", "last"]).stdout;
    let prune = ["runs", "prune", "--keep-days", "0", "--keep-runs", "1"];
    sandbox
        .oscost(&[&prune[..], &["--dry-run"]].concat())
        .exits(0)
        .no_data()
        .stderr_contains("the raw batches of 1 run would be removed");
    sandbox.oscost(&["runs", "list"]).exits(0).stderr_contains("2 with raw batches");
    sandbox
        .oscost(&prune)
        .exits(0)
        .no_data()
        .stderr_contains("removed the raw batches of 1 run: ")
        .stderr_contains("the last run and those of the last 0 days keep theirs");
    sandbox.oscost(&["runs", "list"]).exits(0).stderr_contains("2 runs in ");
    sandbox.oscost(&["runs", "list"]).exits(0).stderr_contains(", 1 with raw batches");
    sandbox.oscost(&prune).exits(0).stderr_contains("nothing to prune");

    for (run, before) in ["last~1", "last"].iter().zip(&before) {
        assert_same(&show(run), before);
    }
    let shown = sandbox.oscost(&["runs", "show", "last~1"]).exits(0);
    assert_eq!((shown.stdout, shown.stderr), (printed.stdout, String::new()));
    assert_eq!(sandbox.oscost(&["compare", "last~1", "last"]).stdout, compared);
    let page = sandbox.file("page.html");
    for needing in [
        &["runs", "export", "last~1", "-"][..],
        &["runs", "show", "last~1", "--samples", "--json", "-"],
        &["report", "last~1", "--html", page.to_str().unwrap()],
    ] {
        let ran = sandbox.oscost(needing).exits(0);
        ran.stderr_contains("note: the raw batches of this run were pruned on 20");
    }
    let exported = sandbox.oscost(&["runs", "export", "last", "-"]).exits(0);
    assert!(!exported.stderr.contains("pruned"), "{}", exported.stderr);
}

#[test]
fn the_estimates_of_a_price_list_take_less_than_100_kb() {
    const MAX_BYTES: u64 = 100_000;
    let sandbox = Sandbox::new();
    sandbox.oscost(&["runs", "list"]).exits(0);
    let bytes = || -> u64 {
        let files =
            ["store.db", "store.db-wal"].map(|name| sandbox.folder("data/oscost").join(name));
        files.iter().filter_map(|file| Some(fs::metadata(file).ok()?.len())).sum()
    };
    let empty = bytes();
    let record = sandbox.fake("measured", &["--json", "-"]).exits(0).json();
    assert!(rows(&record).len() > 80, "it is no price list");
    assert!(bytes() > empty + MAX_BYTES, "raw batches are kept");
    sandbox.oscost(&["runs", "prune", "--keep-runs", "0", "--keep-days", "0"]).exits(0);
    let taken = bytes() - empty;
    assert!(taken < MAX_BYTES, "a run takes {taken} bytes");
}

#[test]
fn an_old_run_without_an_end_keeps_its_batches_and_is_counted() {
    let sandbox = Sandbox::new();
    sandbox.fake("measured", ASKED).exits(0);
    let conn = Connection::open(sandbox.folder("data").join("oscost/store.db")).unwrap();
    conn.execute("UPDATE run SET ended = NULL, started = '2001-01-01T00:00:00Z'", []).unwrap();
    let entries = || conn.query_row("SELECT count(*) FROM entry", [], |row| row.get::<_, i64>(0));
    let before = entries().unwrap();
    for preview in [&["--dry-run"][..], &[]] {
        let prune = ["runs", "prune", "--keep-days", "0", "--keep-runs", "0"];
        let ran = sandbox.oscost(&[&prune[..], preview].concat()).exits(0).no_data();
        ran.stderr_contains("nothing to prune")
            .stderr_contains("note: 1 run without an end keeps its raw batches");
    }
    assert_eq!(entries().unwrap(), before);
}

#[test]
fn a_run_prunes_those_that_are_beyond_the_limits_of_the_environment() {
    let sandbox = Sandbox::new();
    let run = |variables: &[(&str, &str)]| {
        let target = format!("fake:{}", crate::common::scenario_file("measured").display());
        let mut command = sandbox.command(&["run", "--seed", "1", "--at", &target, "syscall"]);
        Ran::of(command.envs(variables.iter().copied())).exits(0)
    };
    let words = "removed the raw batches of old runs";
    assert!(!run(&[]).stderr.contains(words));
    let young = run(&[("OSCOST_KEEP_RUNS", "1")]);
    assert!(!young.stderr.contains(words), "its month is not over");
    let all = run(&[("OSCOST_KEEP_RUNS", "all"), ("OSCOST_KEEP_DAYS", "0")]);
    assert!(!all.stderr.contains(words));
    run(&[("OSCOST_KEEP_RUNS", "2"), ("OSCOST_KEEP_DAYS", "0")])
        .stderr_contains(&format!("note: {words}: 2;"));
    run(&[("OSCOST_KEEP_RUNS", "many")])
        .stderr_contains("note: the raw batches of old runs are kept: OSCOST_KEEP_RUNS is");
    let mut command = sandbox.command(&["runs", "prune"]);
    let ran = Ran::of(command.env("OSCOST_KEEP_DAYS", "-1")).exits(2).no_data();
    ran.stderr_contains("OSCOST_KEEP_DAYS is \"-1\"").stderr_contains("hint: unset it");
    let ran = sandbox.oscost(&["runs", "prune", "--keep-runs", "some"]).exits(2);
    ran.stderr_contains("neither a number");
}

#[test]
fn an_error_about_a_name_has_a_next_step() {
    let sandbox = Sandbox::new();
    sandbox.fake("measured", &["syscall/getppid"]).exits(0);
    let folder = sandbox.folder("files");
    for (arguments, words) in [
        (&["runs", "show", "zzz"][..], "hint: `oscost runs list` lists all"),
        (&["run", "--at", "nonsense"], "`oscost treat list` lists all treatments"),
        (&["run", "--at", "ssh:"], "hint: hosts are `local`, `ssh:[user@]HOST`"),
        (&["man", "nonsense"], "hint: `oscost --help` lists the subcommands"),
        (&["predict", "syscall/getppid:via=raw", "120"], "write one of ns, us, ms"),
        (&["run", "--csv", folder.to_str().unwrap()], "hint: name a file in it"),
        (&["run", "--csv", "/no/such/folder/x.csv"], "hint: make the folder"),
    ] {
        sandbox.oscost(arguments).exits(2).no_data().stderr_contains(words);
    }
}
