//! Studies: their tables side by side with this machine's figures, their claims, and files of the
//! user.

use std::fs;

use serde_json::Value;

use crate::ab::{assert_fits, fits_width};
use crate::common::{Ran, Sandbox, scenario_file};
use crate::golden::{check_golden, golden};

/// Measures a study with both targets on a fake host.
fn study(sandbox: &Sandbox, study: &str, new: &str, arguments: &[&str]) -> Ran {
    let file = scenario_file("study");
    let host = format!("fake:{}", file.file_name().unwrap().to_str().unwrap());
    let new = format!("{new}@{host}");
    let targets = ["--seed", "1", "--base", &host, "--new", &new];
    let all = [&["ab", "--study", study][..], &targets, arguments].concat();
    // The heading names the target, whose length must not depend on the folder.
    Ran::of(sandbox.command(&all).current_dir(file.parent().unwrap()))
}

/// The text without the time over which pairs were spread, which depends on the machine.
fn timeless(text: &str) -> String {
    let mut parts = text.split("pairs over");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let at = part.find(|letter: char| !letter.is_whitespace()).unwrap();
        let end =
            at + part[at..].find(|letter: char| !letter.is_ascii_digit() && letter != '<').unwrap();
        out.push_str(&format!("pairs over{}N{}", &part[..at], &part[end..]));
    }
    out
}

#[test]
fn the_list_of_studies_as_json_is_that_of_the_text() {
    let sandbox = Sandbox::new();
    let list = sandbox.oscost(&["study", "list", "--json"]).exits(0).json();
    assert_eq!(list["schema"], "oscost.studies/1");
    let text = sandbox.oscost(&["study", "list"]).exits(0).stdout;
    let studies = list["studies"].as_array().unwrap();
    assert_eq!(studies.len(), text.matches(" --study ").count());
    for study in studies {
        let (id, command) = (study["id"].as_str().unwrap(), study["command"].as_str().unwrap());
        assert!(text.contains(&format!("\n  {command}\n")) && command.ends_with(id), "{study}");
        let size = format!("{} rows; {} claims", study["rows"], study["claims"]);
        assert!(text.contains(&size), "{size} of {id} is not in {text}");
    }
}

#[test]
fn a_study_is_shown_side_by_side_with_this_machine_and_shown_again() {
    let sandbox = Sandbox::new();
    let ran = study(&sandbox, "ph-2000", "ph", &["--quick"]).exits(0);
    assert_fits(&ran.stdout);
    golden("study-ph-2000.txt", &timeless(&ran.stdout));
    let again = sandbox.oscost(&["runs", "show", "last"]).exits(0);
    assert_eq!(again.stdout, ran.stdout);
    let record = sandbox.oscost(&["runs", "show", "last", "--json", "-"]).exits(0).json();
    assert_eq!(record["settings"]["study"], "ph-2000");
    let pairs = |it: &Value| it["pairs"].as_u64().unwrap();
    let rows = record["comparisons"].as_array().unwrap();
    let is_program = |it: &&Value| it["case"].as_str().unwrap().starts_with("workload/");
    let (programs, cases): (Vec<&Value>, Vec<&Value>) = rows.iter().partition(is_program);
    assert!(cases.iter().all(|it| pairs(it) >= 10), "as many as the study had runs, also quickly");
    assert!(!programs.is_empty() && programs.iter().all(|it| pairs(it) <= 20), "{programs:?}");
}

#[test]
fn a_missing_monitor_leaves_dashes_and_a_reason() {
    let sandbox = Sandbox::new();
    let ran = study(&sandbox, "ph-2000", "ftrace", &["--quick"]).exits(0);
    assert_fits(&ran.stdout);
    golden("study-refused.txt", &timeless(&ran.stdout));
    // The base is measured as often as in the study even without the other target, since the study
    // published its figures.
    let record = sandbox.oscost(&["runs", "show", "last", "--json", "-"]).exits(0).json();
    let results = record["results"].as_array().unwrap();
    let getpid = results.iter().filter(|row| row["case"] == "syscall/getpid:via=raw");
    let outcomes: Vec<(&Value, u64)> = getpid
        .map(|row| (&row["outcome"], row["estimate"]["repetitions"].as_u64().unwrap_or(0)))
        .collect();
    let [(one, runs), (other, none)] = outcomes[..] else { panic!("{outcomes:?}") };
    assert!(one == "measured" && runs >= 10 && other == "skipped" && none == 0, "{outcomes:?}");
    assert_eq!(record["comparisons"].as_array().unwrap().len(), 0);
}

#[test]
fn a_study_passes_its_gate_and_writes_its_record() {
    let sandbox = Sandbox::new();
    let ran = study(&sandbox, "ph-2000", "sud", &["--quick", "--gate"]).exits(3);
    ran.stderr_contains("gate: not judged");
    let arguments = ["--quick", "--gate", "50", "--json", "-"];
    let ran = study(&sandbox, "ph-2000", "ph", &arguments).exits(1);
    assert_eq!(ran.json()["settings"]["study"], "ph-2000");
    assert!(ran.stderr.contains("syscall/getpid:via=raw: slower"), "{}", ran.stderr);
}

const MINE: &str = r#"
id = "mine"
title = "An unasked question"
authors = ["A. Author"]
year = 2026
source = "a desk"
measured-on = "this machine"
protocol = { runs = 3, statistic = "mean-and-deviation", original = "by hand", replication = "again" }
column = [{ name = "before", target = "local" }, { name = "after", target = "sud" }]

[[table]]
name = "Table A"
title = "Calls"
unit = "ns"
row = [{ name = "getpid as all call it", case = "syscall/getpid:via=raw" }]

[[claim]]
text = "nothing becomes more expensive"
location = "page 1"
kind = "ratio"
min = 0.99
max = 1.01
cases = ["syscall/getpid:via=raw"]
"#;

#[test]
fn a_study_may_be_a_file_of_the_user() {
    let sandbox = Sandbox::new();
    let path = sandbox.file("mine.toml");
    fs::write(&path, MINE).unwrap();
    let path = path.to_str().unwrap();
    let ran = study(&sandbox, path, "sud", &["--quick", "--label", "mine"]).exits(0);
    fits_width(&ran.stdout);
    let shown = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        shown.contains("Study mine, published in 2026: An unasked question. A. Author. a desk."),
        "{shown}"
    );
    assert!(shown.contains("after is sud@fake:study.json (of the study: sud)"), "{shown}");
    assert!(shown.contains("here: holds"), "{shown}");
    let record = sandbox.oscost(&["runs", "show", "last", "--json", "-"]).exits(0).json();
    assert_eq!(record["settings"]["study"], path);
    // The file may have changed since: its run is shown like any other.
    let again = sandbox.oscost(&["runs", "show", "last"]).exits(0);
    assert!(again.stdout.contains("twins"), "{}", again.stdout);
    assert!(!again.stdout.contains("Table A"), "{}", again.stdout);
}

#[test]
fn what_is_not_a_study_is_refused_with_a_hint() {
    let sandbox = Sandbox::new();
    let file = |name: &str, text: &str| {
        let path = sandbox.file(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let unknown = file("unknown.toml", &MINE.replace("year = 2026", "yaer = 2026"));
    let nothing = file("nothing.toml", &MINE.replace("syscall/getpid:via=raw", "no/such"));
    let open = file("open.toml", &MINE.replace("getpid:via=raw", "getpid"));
    let turned = file("turned.toml", &MINE.replace("An unasked", "\\u202eAn unasked"));
    let target = file("target.toml", &MINE.replace("\"sud\"", "\"sudd\""));
    let missing = sandbox.file("missing.toml");
    for (arguments, words) in [
        (
            &["ab", "--study", "ph2000"][..],
            &["did you mean ph-2000", "there is sunos-1999, ph-2000"][..],
        ),
        (&["ab", "--study", "zzz"], &["`zzz` is not a study\n", "there is sunos-1999"]),
        (&["ab", "--study", "ph-2000", "syscall"], &["cannot be used with"]),
        (
            &["ab", "--study", "ph-2000", "--new", "sud", "--new", "ph"],
            &["2 new targets: a study with two columns"],
        ),
        (&["ab", "--study", missing.to_str().unwrap()], &["missing.toml", "No such file", "hint:"]),
        (&["ab", "--study", "./"], &["cannot read the study", "hint:"]),
        (&["ab", "--study", &unknown], &["line 5: ", "`yaer`", "hint:"]),
        (&["ab", "--study", &nothing], &["line 15: ", "`no/such`"]),
        (
            &["ab", "--study", &open],
            &["line 15: ", "`syscall/getpid` is not the full name of a single case"],
        ),
        (&["ab", "--study", &turned], &["line 3: ", "control character"]),
        (&["ab", "--study", &target], &["did you mean sud"]),
        (&["ab", "--base", "local"], &["--new"]),
    ] {
        let mut ran = sandbox.oscost(arguments).exits(2).no_data();
        for words in words {
            ran = ran.stderr_contains(words);
        }
    }
}

/// A study of one target: columns by formula, a prediction, a curve, a row without a case.
const ALONE: &str = r#"
id = "alone"
title = "Calls and pipes"
authors = ["A. Author", "B. Author"]
year = 1999
source = "a desk"
measured-on = "a machine of 300 MHz"
core-ghz = 0.3

[protocol]
original = "each call was timed by itself"
replication = "the same"
timed = "each"
iterations = 500
experiments = 4
statistic = "mean-and-deviation"
overhead = "included"

[[condition]]
text = "one measurement at a time"
kind = "alone"

[[condition]]
text = "interrupts were off"
kind = "interrupts-off"

[[table]]
name = "Table 1"
title = "Calls"
unit = "ns"

[[table.column]]
name = "time"
unit = "ns"

[[table.column]]
name = "slowdown"
unit = "x"
figure = 'this / "null call"'

[[table.column]]
name = "lines"
unit = "calls"
figure = "calls * 1000000 + 30"

[[table.row]]
name = "null call"
case = "syscall/getppid:via=raw"
published = ["1,867.89", "1x", "1000030"]

[[table.row]]
name = "getpid"
case = "syscall/getpid:via=raw"
published = ["1,888.95 (12.50)", "1.01x", "-"]
predicted = { hardware = "<1500", software = "<300", total = "<1700" }

[[table.row.note]]
text = "the text calls it the fastest"

[[table.row]]
name = "a seek"
unmeasurable = "it is a disk's"

[[table]]
name = "Figure 1"
title = "Half of a round trip"
unit = "us"

[[table.column]]
name = "half"
unit = "us"
figure = "this / 2"

[[table.series]]
name = "pipe"
axis = "size"
values = [4, 64, 1024, 65536]
case = "pipe/round-trip:by=pipe,size={},peer_cpu=same"
statistic = "none"
published = ["4-6", "4-6", "-", "-"]
statement = "from 4 to 6 us where messages are small"

[[table.series]]
name = "far"
axis = "size"
values = [4, 64]
case = "socket/round-trip:by=tcp,size={},peer_cpu=other"
peer = true

[[claim]]
text = "getpid costs more than the null call"
location = "section 1"
kind = "order"
cases = ["syscall/getppid:via=raw", "syscall/getpid:via=raw"]

[[claim]]
text = "a call is made each time"
location = "section 1"
kind = "calls"
cases = ["syscall/getpid:via=raw"]
min = 1
max = 1

[[claim]]
text = "small messages cost the same"
location = "figure 1"
kind = "flat"
series = ["pipe"]
max = 1.5

[[claim]]
text = "they do so between machines"
location = "figure 1"
kind = "flat"
series = ["far"]
max = 1.5
"#;

/// Runs oscost with the study of one target in a file, given as ALONE.
fn alone(sandbox: &Sandbox, arguments: &[&str]) -> Ran {
    let path = sandbox.file("alone.toml");
    fs::write(&path, ALONE).unwrap();
    // A relative path, since it is printed.
    let arguments: Vec<&str> =
        arguments.iter().map(|word| if *word == "ALONE" { "./alone.toml" } else { word }).collect();
    Ran::of(sandbox.command(&arguments).current_dir(path.parent().unwrap()))
}

#[test]
fn a_study_of_one_target_is_shown_side_by_side_with_this_machine() {
    let sandbox = Sandbox::new();
    let host = format!("fake:{}", scenario_file("study").display());
    let all = ["run", "--study", "ALONE", "--quick", "--seed", "1", "--at", &host];
    let ran = alone(&sandbox, &all).exits(0);
    fits_width(&ran.stdout);
    golden("study-alone.txt", &ran.stdout);
    let record = sandbox.oscost(&["runs", "show", "last", "--json", "-"]).exits(0).json();
    let requested = record["results"].as_array().unwrap();
    let skipped = requested.iter().filter(|row| row["outcome"] == "skipped").count();
    assert_eq!(skipped, 2, "rows that need another machine are skipped with the reason");
}

#[test]
fn claims_are_judged_by_all_runs_of_a_study_and_say_so() {
    let sandbox = Sandbox::new();
    let host = format!("fake:{}", scenario_file("study").display());
    let shown = |more: &[&str]| {
        let all = ["run", "--study", "ALONE", "--quick", "--at", &host];
        alone(&sandbox, &[&all[..], more].concat()).exits(0).stdout
    };
    assert!(shown(&["--seed", "1"]).contains("here: does not hold\n"));
    assert!(shown(&["--seed", "2"]).contains("here: does not hold over 2 runs"));
    shown(&["--seed", "3"]);
    let fourth = shown(&["--seed", "4"]);
    fits_width(&fourth);
    assert!(fourth.contains("here: does not hold over 4 runs"), "{fourth}");
    // Counts repeat: one run decides.
    assert!(fourth.contains("here: holds\n"), "{fourth}");
    // A run that is not kept has no place among the others.
    let apart = shown(&["--seed", "5", "--no-store"]);
    assert!(apart.contains("here: does not hold\n"), "{apart}");
}

#[test]
fn a_study_is_shown_as_published_without_measuring() {
    let sandbox = Sandbox::new();
    let ran = alone(&sandbox, &["study", "show", "ALONE"]).exits(0);
    fits_width(&ran.stdout);
    golden("study-show.txt", &ran.stdout);
    let listed = sandbox.oscost(&["study", "list"]).exits(0);
    golden("study-list.txt", &listed.stdout);
    for name in ["sunos-1999", "ph-2000", "cs161-syscalls", "cse221-2014", "cs736-2019"] {
        let shown = sandbox.oscost(&["study", "show", name]).exits(0);
        fits_width(&shown.stdout);
        assert!(
            shown.stdout.starts_with(&format!("Study {name}, ")) && listed.stdout.contains(name),
            "{name}"
        );
        let text = shown.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("(kept in every run: "), "{name}");
        if name == "cs736-2019" {
            let claim = "\"the latency of TCP on one host is two to four times as much at 64 KB\"";
            assert!(text.contains(&format!("{claim} (section 4.4): printed: 2-4x")), "{text}");
        }
        // The code of its programs stands at the end.
        let last = match name {
            "sunos-1999" => "cc -O2 output.c",
            "ph-2000" => "cc -O2 hello.c",
            "cs161-syscalls" => "cc -O2 -shared -fPIC cs161-pid.c",
            "cse221-2014" => "cc -O0 -pthread cse221.c -lm",
            _ => continue,
        };
        let code = shown.stdout.rsplit("Program of the study, by ").next().unwrap();
        assert!(code.starts_with(&format!("{last}\n")) && code.ends_with("\n}\n"), "{code}");
    }
    sandbox
        .oscost(&["study", "show", "zzz"])
        .exits(2)
        .no_data()
        .stderr_contains("`zzz` is not a study");
}

#[test]
fn the_claims_of_all_studies_are_judged_by_the_last_run_of_each() {
    let sandbox = Sandbox::new();
    let none =
        sandbox.oscost(&["study", "claims"]).exits(0).stderr_contains("no run of a study is kept");
    assert!(none.stdout.contains("cs161-syscalls: not measured here"), "{}", none.stdout);
    let host = format!("fake:{}", scenario_file("study").display());
    let arguments =
        ["run", "--study", "cs161-syscalls", "--quick", "--seed", "1", "--at", &host, "--json"];
    let file = sandbox.file("out.json");
    let all = [&arguments[..], &[file.to_str().unwrap()]].concat();
    let ran = sandbox.oscost(&all);
    fits_width(&ran.stdout);
    let claims = sandbox.oscost(&["study", "claims"]).exits(0);
    fits_width(&claims.stdout);
    let judged = ["holds: ", "does not hold: ", "no difference: ", "undecided: ", "not measured: "];
    let lines = claims.stdout.lines().map(str::trim_start);
    let judged = lines.filter(|line| judged.iter().any(|words| line.starts_with(words))).count();
    assert_eq!(judged, 23, "{}", claims.stdout);
    let coloured = sandbox.oscost(&["study", "claims", "--color=always"]).exits(0).stdout;
    let is_painted =
        |line: &&str| line.trim_start().starts_with('\u{1b}') && line.contains("\u{1b}[0m:");
    assert_eq!(coloured.lines().filter(is_painted).count(), 23, "{coloured:?}");
    let list = sandbox.oscost(&["study", "claims", "--json"]).exits(0).json();
    assert_eq!(list["schema"], "oscost.claims/1");
    let run = sandbox.oscost(&["runs", "show", "last", "--json", "-"]).exits(0).json();
    let mut listed = 0;
    for study in list["studies"].as_array().unwrap() {
        let is_measured = study["id"] == "cs161-syscalls";
        assert_eq!(study["run"], if is_measured { run["id"].clone() } else { Value::Null });
        for claim in study["claims"].as_array().unwrap() {
            let (verdict, runs) = (claim["verdict"].as_str().unwrap(), &claim["runs"]);
            assert!(claims.stdout.contains(&format!("{verdict}: ")) && *runs == 1, "{claim}");
            assert!(claim["evidence"].is_string(), "{claim}");
            listed += 1;
        }
    }
    assert_eq!(listed, 23, "{list}");
    assert!(claims.stdout.contains(&format!("oscost runs show {}", run["id"].as_str().unwrap())));
}

#[test]
fn a_book_of_the_studies_has_pages_pictures_and_the_checklist_of_the_documentation() {
    let sandbox = Sandbox::new();
    let host = format!("fake:{}", scenario_file("study").display());
    let study = ["run", "--study", "cs161-syscalls", "--quick", "--seed", "1", "--at", &host];
    sandbox.oscost(&study);
    let folder = sandbox.file("book");
    sandbox.oscost(&["study", "book", folder.to_str().unwrap()]).exits(0).no_data();
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let page = text("cs161-syscalls.md");
    assert!(page.contains("\n## Times: ") && page.contains("](cs161-syscalls-"), "{page}");
    assert!(text("sunos-1999.md").contains("Not measured here: oscost run --study sunos-1999."));
    let names = fs::read_dir(&folder).unwrap().map(|it| it.unwrap().file_name());
    let names: Vec<String> = names.map(|it| it.to_string_lossy().into_owned()).collect();
    let html = text("book.html");
    for picture in names.iter().filter(|name| name.ends_with(".svg")) {
        let link = format!("]({picture})");
        let pages = names.iter().filter(|name| name.ends_with(".md"));
        let uses: usize = pages.map(|name| text(name).matches(&link).count()).sum();
        assert_eq!(uses, 1, "{picture} is in one page");
        assert!(html.contains(text(picture).trim_end()), "{picture} is in the page of all");
    }
    for name in names.iter().filter(|name| name.ends_with(".md")) {
        let long = |line: &&str| line.len() > 130 && !line.starts_with(['|', '#', '!', ' ']);
        let text = text(name);
        assert_eq!(text.lines().find(long), None, "{name}");
    }
    // The first page is made from the files of the studies alone: it is the same on all machines.
    let documented = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/studies/README.md");
    check_golden(documented.as_ref(), &text("README.md"));
}

#[test]
fn a_book_without_runs_names_the_command_and_a_folder_that_cannot_be_made_is_named() {
    let sandbox = Sandbox::new();
    let folder = sandbox.file("book");
    fs::create_dir(&folder).unwrap();
    let own = folder.join("own.md");
    fs::write(&own, "mine").unwrap();
    let written = sandbox.oscost(&["study", "book", folder.to_str().unwrap()]).exits(0);
    assert!(written.stderr.contains("`oscost run --study NAME` makes one"), "{}", written.stderr);
    assert_eq!(fs::read_to_string(&own).unwrap(), "mine");
    let first = fs::read(folder.join("book.html")).unwrap();
    sandbox.oscost(&["study", "book", folder.to_str().unwrap()]).exits(0);
    assert_eq!(fs::read(folder.join("book.html")).unwrap(), first, "equal stores, equal bytes");
    let below_a_file = own.join("book");
    let refused = sandbox.oscost(&["study", "book", below_a_file.to_str().unwrap()]).exits(2);
    assert!(refused.stderr.contains("cannot make") && refused.stderr.contains("own.md"));
}
