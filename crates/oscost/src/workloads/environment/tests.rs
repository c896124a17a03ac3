use oscost_model::point::Point;
use proptest::prelude::*;

use super::*;
use crate::workloads::{of_command, parse};

fn here() -> RunEnvironment {
    RunEnvironment {
        cpus: 3,
        start_folder: "/my folder".into(),
        cache: "/no/such/cache".into(),
        quick: false,
        skip_checks: false,
    }
}

fn workload(text: &str, point: &Point, here: &RunEnvironment) -> Result<Workload, Missing> {
    parse(text.as_bytes(), "mine").unwrap().workload(point, here)
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
fn placeholders_are_filled_once_and_all_else_stays() {
    let at = |mode: &str| Point::none().with("n", 20u64).with("mode", mode);
    let told = workload(WORDS, &at("a"), &here()).unwrap().program;
    let words = ["echo", "20", "-j3", "/my folder/x", "{", "{}", "{print}", "a33b"];
    assert_eq!(told.command, words);
    assert_eq!((told.variables["V"].as_str(), &told.before[0]), ("20 ", &vec!["true".to_owned()]));
    let told = workload(WORDS, &at("b"), &here()).unwrap().program;
    assert_eq!(told.command[4..6], ["-x", "{cpus}"]);
    let odd = RunEnvironment { start_folder: "/{cpus}".into(), ..here() };
    assert_eq!(workload(WORDS, &at("a"), &odd).unwrap().program.command[3], "/{cpus}/x");
}

#[test]
fn words_of_the_command_line_are_taken_as_they_stand() {
    let words = ["echo", "{cpus}", "{cache}"].map(str::to_owned);
    let spec = of_command(&words).unwrap();
    assert_eq!(
        (spec.id.as_str(), spec.asks.as_str()),
        ("workload/echo", "What does `echo {cpus} {cache}` cost?")
    );
    let told = spec.workload(&Point::none(), &here()).unwrap();
    assert_eq!(told.program.command, words);
    assert_eq!(told.program.working_directory.as_deref(), Some("/my folder"));
    for (program, id) in [
        ("/usr/bin/Foo_Bar+", "workload/foo-bar"),
        ("./--", "workload/command"),
        ("find", "workload/find-command"),
    ] {
        assert_eq!(of_command(&[program.to_owned()]).unwrap().id, id);
    }
    for bad in [&[][..], &["".to_owned()], &["a".to_owned(), "\u{1b}".to_owned()]] {
        assert!(of_command(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn a_program_that_is_nowhere_is_told_before_anything_runs() {
    let words = ["no-such-program-here".to_owned()];
    let missing = of_command(&words).unwrap().workload(&Point::none(), &here()).unwrap_err();
    assert_eq!(missing.to_string(), "there is no program no-such-program-here");
    // One that is named by its path may be made before the trial.
    let text = "command = [\"./made\"]\nbefore = [[\"cc\", \"-o\", \"made\", \"made.c\"]]";
    assert!(workload(text, &Point::none(), &here()).is_ok());
}

#[test]
fn what_is_lacking_is_told_with_the_line_that_installs_it() {
    let text = r#"
command = ["sh", "{cache}/x"]
need = [
    { program = "no-such-a", package = "pa" }, { program = "sh", package = "dash" },
    { file = "/no/such/b", package = "pb" }, { glob = "/no/such/c-*", package = "pa" },
    { file = "/no/such/d" },
]
prepare = { commands = [["true"]], marker = "x" }
"#;
    let missing = workload(text, &Point::none(), &here()).unwrap_err();
    assert_eq!(
        missing.to_string(),
        "there is no program no-such-a, no file /no/such/b, no file /no/such/c-*, no file \
         /no/such/d, no prepared folder of it: sudo apt-get install --no-install-recommends pa pb, \
         then oscost workload prepare FILE"
    );
    assert_eq!(missing.packages, ["pa", "pb"]);
}

#[test]
fn a_pattern_finds_files_of_one_folder() {
    let folder = tempfile::tempdir().unwrap();
    let glob = RequiredItem::Glob(format!("{}/source-*.tar", folder.path().display()));
    assert!(!is_there(&glob));
    std::fs::write(folder.path().join("source-1.zip"), "").unwrap();
    assert!(!is_there(&glob));
    std::fs::write(folder.path().join("source-1.tar"), "").unwrap();
    assert!(is_there(&glob));
}

#[test]
fn a_program_is_found_on_the_path_or_told_where_it_lies() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().as_os_str();
    std::fs::write(folder.path().join("not-run"), "").unwrap();
    assert_eq!(found_on(Some(path), "not-run"), None);
    let program = folder.path().join("run");
    std::fs::write(&program, "").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(found_on(Some(path), "run"), Some(ProgramLocation::OnPath));
    assert_eq!(found_on(None, "run"), None);
}

#[test]
fn a_quick_run_makes_fewer_trials() {
    let text = "command = [\"sh\"]\ntrials = 30\nmin-trials = 12\nquick-trials = 4";
    let told = |quick| workload(text, &Point::none(), &RunEnvironment { quick, ..here() }).unwrap();
    assert_eq!((told(false).trials, told(false).min_trials), (30, 12));
    assert_eq!((told(true).trials, told(true).min_trials), (4, 4));
}

#[test]
fn figures_are_those_of_the_point() {
    let text = r#"
command = ["sh", "{over}"]
axis = [{ name = "over", sets = "x", points = ["a", "b"] }]
figure = [{ name = "each", unit = "s", per = "line", when = { over = "b" } }]
"#;
    let at = |over: &str| {
        workload(text, &Point::none().with("over", over), &here()).unwrap().figures.len()
    };
    assert_eq!((at("a"), at("b")), (0, 1));
}

#[test]
fn caches_lie_where_the_user_keeps_them() {
    let some = |text: &str| Some(OsString::from(text));
    let told = |xdg, home| cache_below(xdg, home).map(|path| path.display().to_string());
    assert_eq!(told(some("/c"), some("/h")).unwrap(), "/c/oscost");
    assert_eq!(told(some("c"), some("/h")).unwrap(), "/h/.cache/oscost");
    assert_eq!(told(None, some("h")), None);
    assert_eq!(told(None, None), None);
}

proptest! {
    #[test]
    fn no_words_make_the_filling_panic(word in "[{}a-z]{0,20}|\\{cpus\\}\\PC{0,9}") {
        let spec = parse(WORDS.as_bytes(), "mine").unwrap();
        let point = spec.default_point();
        let filler = Placeholders::of(&spec, &point, &here()).unwrap();
        let filled = filler.text(&word);
        let left = ["{cpus}", "{here}"].iter().any(|it| filled.contains(it));
        prop_assert!(!left, "{}", filled);
    }
}
