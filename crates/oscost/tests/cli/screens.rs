//! Screens: lines of 60 to 160 columns, colours, and progress.

use anstream::adapter::strip_str;

use crate::common::day_series::{CASE, forty_days};
use crate::common::{Ran, Sandbox, scenario_file};
use crate::golden::golden;

/// The widths of the golden files.
const WIDTHS: [usize; 5] = [60, 80, 100, 140, 160];

const ASKED: &[&str] = &[
    "timer/nothing",
    "timer/clock-gettime",
    "procedure/call",
    "syscall/getppid",
    "syscall/open-close",
    "pipe/round-trip",
];

/// A store with two runs, and with one that compared two targets, which is the last one.
fn with_runs() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.fake("measured", &[ASKED, &["--label", "alone"]].concat()).exits(0);
    sandbox.fake("measured", &[ASKED, &["--label", "again"]].concat()).exits(0);
    // Titles would contain a path of this machine, of any length.
    let (base, new) = ("fake:treated.json", "sud@fake:treated.json");
    let ab = ["ab", "--seed", "1", "--quick", "--base", base, "--new", new];
    let mut command = sandbox.command(&[&ab[..], &ASKED[..4]].concat());
    Ran::of(command.current_dir(scenario_file("treated").parent().unwrap())).exits(0);
    sandbox
}

/// What a command prints on a screen of so many columns.
fn shown(sandbox: &Sandbox, arguments: &[&str], columns: usize) -> String {
    let mut command = sandbox.command(arguments);
    Ran::of(command.env("COLUMNS", columns.to_string())).exits(0).stdout
}

/// The lines that are wider than a screen.
fn too_wide(text: &str, columns: usize) -> Vec<&str> {
    text.lines().filter(|line| line.chars().count() > columns).collect()
}

/// Commands that print tables, lists and pictures of the store or the catalog.
const PRINTING: &[&[&str]] = &[
    &["runs", "show", "@alone"],
    &["runs", "show", "@alone", "--in", "cycles"],
    &["runs", "show", "last"],
    &["runs", "list"],
    &["compare", "@alone", "@again"],
    &["list"],
    &["list", "-v", "pipe"],
    &["study", "list"],
    &["study", "claims"],
    &["explain", "floor"],
    &["explain", "NOT_CONVERGED"],
    &["predict", "list"],
    &["ph", "status"],
];

#[test]
fn a_run_uses_the_columns_of_the_screen() {
    let sandbox = with_runs();
    for columns in WIDTHS {
        for (run, name) in [("@alone", "run"), ("last", "ab")] {
            let text = shown(&sandbox, &["runs", "show", run], columns);
            assert_eq!(too_wide(&text, columns), [""; 0], "{columns} columns");
            let timeless = without_spans(&text);
            golden(&format!("screen-{name}-{columns}.txt"), &timeless);
        }
    }
}

/// The text without the seconds over which pairs were spread.
fn without_spans(text: &str) -> String {
    let mut parts = text.split(" pairs over ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |out, part| {
        let rest = part.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '<');
        out + " pairs over N" + rest
    })
}

#[test]
fn no_line_is_wider_than_the_screen() {
    let sandbox = with_runs();
    for arguments in PRINTING {
        for columns in [60, 77, 80, 120, 160] {
            let text = shown(&sandbox, arguments, columns);
            // A list is cut at the end of a line; the texts of studies are folded.
            assert_eq!(too_wide(&text, columns), [""; 0], "{arguments:?} in {columns} columns");
        }
    }
    let history = forty_days();
    for columns in [60, 80, 160] {
        for arguments in [&["history"][..], &["history", CASE]] {
            let text = shown(&history, arguments, columns);
            assert_eq!(too_wide(&text, columns), [""; 0], "{arguments:?} in {columns} columns");
        }
    }
}

#[test]
fn widths_beyond_the_limits_are_those_of_the_limits() {
    let sandbox = with_runs();
    let show = ["runs", "show", "@alone"];
    let of = |columns: usize| shown(&sandbox, &show, columns);
    assert_eq!(of(10), of(60));
    assert_eq!(of(500), of(160));
    for nonsense in ["", "0", "-3", "wide"] {
        let ran = Ran::of(sandbox.command(&show).env("COLUMNS", nonsense)).exits(0);
        assert_eq!(ran.stdout, of(80), "COLUMNS={nonsense}");
    }
}

#[test]
fn colours_add_nothing_but_escape_sequences() {
    let sandbox = with_runs();
    let mut coloured = 0;
    for arguments in PRINTING {
        let with = |when: &str| {
            sandbox.oscost(&[arguments, &["--color", when][..]].concat()).exits(0).stdout
        };
        let (plain, colours) = (with("never"), with("always"));
        assert!(!plain.contains('\u{1b}'), "{arguments:?}");
        assert_eq!(strip_str(&colours).to_string(), plain, "{arguments:?}");
        coloured += usize::from(colours.contains('\u{1b}'));
    }
    assert!(coloured > 4, "{coloured} commands have colours");
    let colours = sandbox.oscost(&["runs", "show", "last", "--color=always"]).exits(0).stdout;
    assert!(colours.contains("\u{1b}[31mslower\u{1b}[0m"), "{colours:?}");
    let colours = sandbox.oscost(&["--color", "always", "runs", "show", "@alone"]).exits(0).stdout;
    assert!(colours.contains("\u{1b}[33mheavy\u{1b}[0m"), "{colours:?}");
}

#[test]
fn a_pipe_has_colours_only_if_they_are_asked_for() {
    let sandbox = with_runs();
    let has_colours = |option: Option<&str>, variables: &[(&str, &str)]| {
        let mut command = sandbox.command(&["runs", "show", "last"]);
        command.args(option).env("TERM", "xterm-256color").envs(variables.iter().copied());
        Ran::of(&mut command).exits(0).stdout.contains('\u{1b}')
    };
    assert!(!has_colours(None, &[]));
    assert!(!has_colours(None, &[("CLICOLOR", "1")]));
    assert!(has_colours(None, &[("CLICOLOR_FORCE", "1")]));
    assert!(!has_colours(None, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    assert!(has_colours(Some("--color=always"), &[("NO_COLOR", "1")]));
    assert!(!has_colours(Some("--color=never"), &[("CLICOLOR_FORCE", "1")]));
    // Documents have none, whatever is asked for.
    let json = sandbox.oscost(&["report", "last", "--json", "-", "--color=always"]).exits(0);
    assert!(!json.stdout.contains('\u{1b}'));
    let help = sandbox.oscost(&["run", "--help", "--color=always"]).exits(0).stdout;
    assert!(help.contains('\u{1b}'));
}

#[test]
fn progress_is_in_lines_where_it_is_asked_for_and_nowhere_else() {
    let sandbox = Sandbox::new();
    let stderr =
        |options: &[&str]| sandbox.fake("measured", &[ASKED, options].concat()).exits(0).stderr;
    let is_kept = |line: &str| line.starts_with("kept as ");
    for options in [&[][..], &["--progress=none"], &["--progress=auto"]] {
        let text = stderr(options);
        assert!(text.lines().all(is_kept), "{options:?}: {text}");
    }
    let lines = stderr(&["--progress=plain"]);
    assert!(lines.starts_with("looking for the quietest CPU\n"), "{lines}");
    assert!(!lines.contains('\u{1b}') && !lines.contains('\r'), "{lines:?}");
    assert_eq!(stderr(&["--progress=plain", "--quiet"]), "");
    let refused = sandbox.oscost(&["run", "--progress=loud"]).exits(2).no_data();
    refused.stderr_contains("possible values: auto, plain, none");
}

/// A run on this machine: on a made-up one it is over before the second line.
#[test]
fn a_line_of_progress_says_how_much_is_done_and_how_long_the_rest_takes_at_most() {
    let sandbox = Sandbox::new();
    let arguments = ["run", "syscall/getppid", "pipe/round-trip", "--no-store", "--progress=plain"];
    let ran = sandbox.oscost(&arguments).exits(0);
    let steps: Vec<&str> = ran.stderr.lines().filter(|line| line.contains(" %, ")).collect();
    assert!(!steps.is_empty(), "{}", ran.stderr);
    for step in steps {
        let count = step.split(", ").find(|part| part.contains(" of ")).unwrap();
        let words: Vec<&str> = count.split(' ').collect();
        let [done, all] = [words[0], words[2]].map(|word| word.parse::<u32>().unwrap());
        assert!(done <= all, "{step}");
        let per_cent = step.split(" %").next().unwrap().parse::<u32>();
        assert!(per_cent.is_err() || per_cent.is_ok_and(|it| it <= 100), "{step}");
        assert_eq!(step.contains(" %, "), step.contains("at most "), "{step}");
    }
}
