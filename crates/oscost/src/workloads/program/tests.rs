use oscost_model::point::Point;
use proptest::prelude::*;

use super::*;
use crate::workloads::command::of_command;
use crate::workloads::files::parser::parse;

fn environment() -> RunEnvironment {
    RunEnvironment {
        cpus: 3,
        start_folder: "/my folder".into(),
        cache: "/no/such/cache".into(),
        quick: false,
        skip_checks: false,
    }
}

fn workload(
    text: &str,
    point: &Point,
    environment: &RunEnvironment,
) -> Result<Workload, MissingItems> {
    parse(text.as_bytes(), "mine").unwrap().workload(point, environment)
}

const WORDS: &str = r#"
command = ["echo", "{n}", "-j{cpus}", "{here}/x", "{mode}", "{", "{}", "{print}", "a{cpus}{cpus}b"]
variables = { V = "{n} {mode}" }
before = [["true", "{mode}"]]
axis = [
    { name = "n", sets = "x", points = [1, 20] },
    { name = "mode", sets = "x", points = ["a", "b"], words = { a = [], b = ["-x", "{cpus}"] } },
]
"#;

#[test]
fn placeholders_are_replaced_once_and_other_text_is_kept() {
    let at = |mode: &str| Point::none().with("n", 20u64).with("mode", mode);
    let program = workload(WORDS, &at("a"), &environment()).unwrap().program;
    let words = ["echo", "20", "-j3", "/my folder/x", "{", "{}", "{print}", "a33b"];
    assert_eq!(program.command, words);
    assert_eq!(
        (program.variables["V"].as_str(), &program.before[0]),
        ("20 ", &vec!["true".to_owned()])
    );
    let program = workload(WORDS, &at("b"), &environment()).unwrap().program;
    assert_eq!(program.command[4..6], ["-x", "{cpus}"]);
    let odd = RunEnvironment { start_folder: "/{cpus}".into(), ..environment() };
    assert_eq!(workload(WORDS, &at("a"), &odd).unwrap().program.command[3], "/{cpus}/x");
}

#[test]
fn words_of_the_command_line_are_literal() {
    let words = ["echo", "{cpus}", "{cache}"].map(str::to_owned);
    let spec = of_command(&words, &[]).unwrap();
    assert_eq!(
        (spec.id.as_str(), spec.asks.as_str()),
        ("workload/echo", "What does `echo {cpus} {cache}` cost?")
    );
    let workload = spec.workload(&Point::none(), &environment()).unwrap();
    assert_eq!(workload.program.command, words);
    assert_eq!(workload.program.working_directory.as_deref(), Some("/my folder"));
    for (program, id) in [
        ("/usr/bin/Foo_Bar+", "workload/foo-bar"),
        ("./--", "workload/command"),
        ("find", "workload/find-command"),
    ] {
        assert_eq!(of_command(&[program.to_owned()], &[]).unwrap().id, id);
    }
    for bad in [&[][..], &["".to_owned()], &["a".to_owned(), "\u{1b}".to_owned()]] {
        assert!(of_command(bad, &[]).is_err(), "{bad:?}");
    }
}

#[test]
fn a_missing_program_is_reported() {
    let words = ["no-such-program-here".to_owned()];
    let missing =
        of_command(&words, &[]).unwrap().workload(&Point::none(), &environment()).unwrap_err();
    assert_eq!(missing.to_string(), "there is no program no-such-program-here");
    // A program named by a path may be created before the trial.
    let text = "command = [\"./made\"]\nbefore = [[\"cc\", \"-o\", \"made\", \"made.c\"]]";
    assert!(workload(text, &Point::none(), &environment()).is_ok());
}

#[test]
fn missing_needs_are_reported_with_the_command_that_installs_them() {
    let text = r#"
command = ["sh", "{cache}/x"]
need = [
    { program = "no-such-a", package = "pa" }, { program = "sh", package = "dash" },
    { file = "/no/such/b", package = "pb" }, { glob = "/no/such/c-*", package = "pa" },
    { file = "/no/such/d" },
]
prepare = { commands = [["true"]], marker = "x" }
"#;
    let missing = workload(text, &Point::none(), &environment()).unwrap_err();
    assert_eq!(
        missing.to_string(),
        "there is no program no-such-a, no file /no/such/b, no file /no/such/c-*, no file \
         /no/such/d, no prepared directory: sudo apt-get install --no-install-recommends pa pb, \
         then oscost workload prepare FILE"
    );
    assert_eq!(missing.packages, ["pa", "pb"]);
}

#[test]
fn a_quick_run_makes_fewer_trials() {
    let text = "command = [\"sh\"]\ntrials = 30\nmin-trials = 12\nquick-trials = 4";
    let trials =
        |quick| workload(text, &Point::none(), &RunEnvironment { quick, ..environment() }).unwrap();
    assert_eq!((trials(false).trials, trials(false).min_trials), (30, 12));
    assert_eq!((trials(true).trials, trials(true).min_trials), (4, 4));
}

#[test]
fn figures_of_other_points_are_left_out() {
    let text = r#"
command = ["sh", "{over}"]
axis = [{ name = "over", sets = "x", points = ["a", "b"] }]
figure = [{ name = "each", unit = "s", per = "line", when = { over = "b" } }]
"#;
    let at = |over: &str| {
        workload(text, &Point::none().with("over", over), &environment()).unwrap().figures.len()
    };
    assert_eq!((at("a"), at("b")), (0, 1));
}

proptest! {
    #[test]
    fn no_text_panics(word in "[{}a-z]{0,20}|\\{cpus\\}\\PC{0,9}") {
        let spec = parse(WORDS.as_bytes(), "mine").unwrap();
        let point = spec.default_point();
        let placeholders = Placeholders::new(&spec, &point, &environment()).unwrap();
        let replaced = placeholders.text(&word);
        let has_placeholder = ["{cpus}", "{here}"].iter().any(|it| replaced.contains(it));
        prop_assert!(!has_placeholder, "{}", replaced);
    }
}
