use oscost_model::program::{FigureSource, MAX_COMMAND_WORDS};
use oscost_model::unit::Unit;
use proptest::prelude::*;

use super::*;

const SMALL: &str = r#"
id = "workload/small"
asks = "What is small?"
op = """all of
  it"""
expected = "little"
source = "made up"
explanation = "because"
command = ["sort", "{mode}", "--parallel={cpus}", "{cache}/words"]
variables = { LC_ALL = "C", WHERE = "{here}" }
folder = "cache"
before = [["rm", "-f", "out"]]
after = [["true"]]
output = "none"
statuses = [0, 1]
limits = { seconds = 60, output-mib = 2, memory-mib = 64, file-mib = 8 }
trials = 20
min-trials = 5
quick-trials = 4
primary = "rate"

[companion]
command = ["server"]
variable = "PORT"
prefix = "port "

[[figure]]
name = "rate"
unit = "op/s"
pattern = 'rate (\d+)'

[[figure]]
name = "each"
unit = "s"
per = "line"
when = { mode = "long" }

[[axis]]
name = "mode"
sets = "how"
points = ["short", "long"]
default = ["short"]
words = { short = [], long = ["-a", "-b"] }

[[need]]
program = "sort"
package = "coreutils"

[[need]]
glob = "/usr/src/linux-*.tar.xz"

[prepare]
commands = [["sh", "-c", "seq 9 > words"]]
marker = "words"
"#;

/// The line and the reason of the error for `SMALL` with `from` replaced by `to`.
fn refused(from: &str, to: &str) -> (usize, String) {
    assert!(SMALL.contains(from), "{from}");
    match parse(SMALL.replacen(from, to, 1).as_bytes(), "stem") {
        Err(ParseError { line, reason: why }) => (line, why),
        Ok(spec) => panic!("{from} -> {to}: {spec:?}"),
    }
}

#[test]
fn every_key_of_a_workload_is_parsed() {
    let spec = parse(SMALL.as_bytes(), "stem").unwrap();
    assert_eq!(
        (spec.id.as_str(), spec.name(), spec.origin),
        ("workload/small", "small", Origin::File)
    );
    assert_eq!((spec.op.as_str(), spec.explanation.as_str()), ("all of it", "because"));
    assert_eq!((spec.trials, spec.min_trials, spec.quick_trials, spec.rev), (20, 5, 4, 1));
    assert_eq!((spec.folder, spec.reads_output), (Folder::Cache, false));
    assert_eq!(spec.statuses, [0, 1]);
    let limits =
        ProgramLimits { seconds: 60, output_mib: 2, memory_mib: Some(64), file_mib: Some(8) };
    assert_eq!(spec.limits, limits);
    let figures: Vec<&FigureSource> = spec.figures.iter().map(|it| &it.figure.source).collect();
    assert_eq!(figures, [&FigureSource::Pattern(r"rate (\d+)".into()), &FigureSource::PerLine]);
    assert_eq!(spec.figures[1].when.to_string(), "mode=long");
    assert_eq!(spec.companion.as_ref().unwrap().prefix, "port");
    assert_eq!(spec.axes[0].words["long"], ["-a", "-b"]);
    let definition = spec.definition();
    assert_eq!((definition.unit, definition.family()), (Unit::OpsPerSecond, "workload"));
    assert!(definition.switches && !definition.in_price_list && definition.calls.is_empty());
    assert_eq!(definition.axes[0].default_points.len(), 1);
}

#[test]
fn only_the_command_is_required() {
    let spec = parse(b"command = [\"ls\", \"a b\"]", "My List.v2").unwrap();
    assert_eq!(spec.id, "workload/my-list-v2");
    assert_eq!(spec.asks, "What does `ls 'a b'` cost?");
    assert_eq!((spec.trials, spec.min_trials, spec.quick_trials), (10, 10, 3));
    assert_eq!((spec.folder, spec.reads_output), (Folder::Here, false));
    assert_eq!((spec.statuses.as_slice(), spec.primary.as_str()), (&[0][..], "real"));
    let few = parse(b"command = [\"ls\"]\ntrials = 2", "x").unwrap();
    assert_eq!((few.trials, few.min_trials, few.quick_trials), (2, 2, 2));
    let text = "command = [\"ls\"]\nfigure = [{ name = \"n\", unit = \"B\", pattern = '(.)' }]";
    assert!(parse(text.as_bytes(), "x").unwrap().reads_output);
}

#[test]
fn the_name_of_a_built_in_workload_is_refused() {
    assert_eq!(parse(b"command = [\"ls\"]", "find").unwrap().id, "workload/find-command");
    let (line, why) = refused("workload/small", "workload/find");
    assert_eq!((line, why.as_str()), (2, "`workload/find` comes with oscost; choose another name"));
    assert!(parse_built_in(b"id = \"workload/find\"\ncommand = [\"ls\"]", "find").is_ok());
}

#[test]
fn an_error_names_the_line_and_the_reason() {
    let long = "x".repeat(601);
    for (from, to, line, words) in [
        ("\"workload/small\"", "\"small\"", 2, "an id is workload/NAME"),
        ("\"workload/small\"", "\"workload/Small\"", 2, "an id is workload/NAME"),
        ("What is small?", "Small", 3, "a question ends with `?`"),
        ("expected", "gess", 6, "unknown field `gess`"),
        ("\"made up\"", &format!("\"{long}\""), 7, "the source has more than 600 characters"),
        ("\"made up\"", "\"a\\u001b[31mb\"", 7, "the source has a control character"),
        ("\"made up\"", "\"a\\u202eb\"", 7, "the source has a control character"),
        ("[\"sort\"", "[\"\"", 9, "has no name"),
        ("[\"sort\", \"{mode}\"", "[\"so\\u0000rt\"", 9, "a word of a command has a control"),
        (
            "[\"sort\", \"{mode}\", \"--parallel={cpus}\", \"{cache}/words\"]",
            "\"sort\"",
            9,
            "sequence",
        ),
        ("LC_ALL", "LC-ALL", 10, "`LC-ALL` is not a variable name"),
        ("\"cache\"", "\"there\"", 11, "unknown variant `there`"),
        ("[[\"rm\", \"-f\", \"out\"]]", "[[]]", 12, "a command has words"),
        ("\"none\"", "\"all\"", 14, "unknown variant `all`"),
        ("[0, 1]", "[]", 15, "1 to 8 statuses"),
        ("[0, 1]", "[256]", 15, "0 to 255"),
        ("seconds = 60", "seconds = 0", 16, "seconds: 1 to 86400"),
        ("file-mib = 8", "file-mib = 0", 16, "MiB of a file: 1 to"),
        ("trials = 20", "trials = 0", 17, "trials: 1 to 1000"),
        ("min-trials = 5", "min-trials = 21", 18, "min-trials: 1 to 20"),
        ("quick-trials = 4", "quick-trials = 0", 19, "quick-trials: 1 to 20"),
        ("primary = \"rate\"", "primary = \"user\"", 20, "`real` or one of the figures"),
        ("primary = \"rate\"", "primary = \"each\"", 20, "exist at every point"),
        ("\"PORT\"", "\"9\"", 24, "is not a variable name"),
        ("name = \"rate\"", "name = \"system\"", 28, "a metric `system` already"),
        ("name = \"rate\"", "name = \"Rate\"", 28, "a figure's name consists of lower-case"),
        ("\"op/s\"", "\"furlong\"", 29, "unknown variant `furlong`"),
        (
            "\"op/s\"",
            "\"cycle/op\"",
            29,
            "`cycle/op` is no unit of a figure: choose of s, op/s, B/s",
        ),
        ("rate (\\d+)", "rate (\\d+", 30, "not a regular expression: unclosed group"),
        ("rate (\\d+)", "rate \\d+", 30, "one group for the number, not 0"),
        ("rate (\\d+)", "(r)ate (\\d+)", 30, "one group for the number, not 2"),
        ("rate (\\d+)", "(\\w{999})", 30, "too large once compiled"),
        ("name = \"each\"", "name = \"rate\"", 33, "this figure is defined twice"),
        ("unit = \"s\"", "unit = \"B\"", 35, "has the unit s, ns/op or op/s"),
        ("per = \"line\"\n", "\n", 33, "a pattern, or per = \"line\""),
        ("mode = \"long\" }", "mode = \"wide\" }", 33, "`when` has points of the axes"),
        ("name = \"mode\"", "name = \"cpus\"", 39, "`{cpus}` is a placeholder already"),
        ("name = \"mode\"", "name = \"how\"", 33, "`when` has points"),
        ("sets = \"how\"", "sets = \"\"", 40, "what an axis sets is empty"),
        ("[\"short\", \"long\"]", "[\"long\", \"long\"]", 41, "a point is listed twice"),
        ("[\"short\", \"long\"]", "[\"a=b\", \"long\"]", 41, "`a=b` is not a point"),
        ("[\"short\", \"long\"]", "[\"4Ki\", \"long\"]", 41, "`4Ki` is not a point"),
        ("default = [\"short\"]", "default = [\"wide\"]", 42, "one of the points of the axis"),
        ("short = [], ", "", 39, "words for all its points, or for none"),
        ("short = []", "wide = []", 43, "`wide` is not a point of its axis"),
        ("\"{mode}\"", "\"{mod}\"", 39, "no word contains `{mode}`"),
        ("\"{mode}\"", "\"-{mode}\"", 39, "must be a word of its own"),
        ("program = \"sort\"", "program = \"/bin/sort\"", 45, "a name without a path"),
        ("program = \"sort\"\n", "\n", 45, "one of: program, file, glob"),
        ("\"coreutils\"", "\"core utils; ls\"", 47, "not a package name"),
        ("\"/usr/src/linux-*.tar.xz\"", "\"linux-*\"", 49, "an absolute path"),
        ("\"/usr/src/linux-*.tar.xz\"", "\"/usr/*/linux\"", 49, "in the last component"),
        ("[[\"sh\", \"-c\", \"seq 9 > words\"]]", "[]", 53, "a preparation has commands"),
        ("seq 9 > words", "seq 9 > {cache}", 53, "gets its name only afterwards"),
        ("marker = \"words\"", "marker = \"../words\"", 54, "within the cache directory"),
        ("marker = \"words\"", "marker = \"/etc/passwd\"", 54, "within the cache directory"),
    ] {
        let (at, why) = refused(from, to);
        assert!(why.contains(words), "{from} -> {to}: line {at}: {why}");
        assert_eq!(at, line, "{from} -> {to}: {why}");
    }
    let prepare = SMALL.find("[prepare]").unwrap();
    let without = parse(&SMALL.as_bytes()[..prepare], "x").unwrap_err();
    assert_eq!((without.line, without.reason.contains("requires [prepare]")), (9, true));
}

#[test]
fn too_large_files_and_invalid_text_are_refused() {
    let refused = |bytes: &[u8]| parse(bytes, "x").unwrap_err();
    assert!(refused(&vec![b'#'; MAX_FILE_BYTES + 1]).reason.contains("64 KiB"));
    assert_eq!(
        refused(b"# one\n# \xff"),
        ParseError { line: 2, reason: "it is not UTF-8 text".into() }
    );
    assert!(refused(b"").reason.contains("missing field `command`"));
    let words = format!("command = [{}]", "\"a\",".repeat(MAX_COMMAND_WORDS + 1));
    assert!(refused(words.as_bytes()).reason.contains("at most 1024 words"));
    let need = "[[need]]\nprogram = \"a\"\n".repeat(MAX_NEEDS + 1);
    let needs = refused(format!("command = [\"a\"]\n{need}").as_bytes());
    assert!(needs.reason.contains("33 needs; at most 32"));
    let deep = "[".repeat(50_000);
    assert!(refused(format!("command = {deep}").as_bytes()).line >= 1);
}

proptest! {
    #[test]
    fn a_changed_file_is_parsed_or_refused_in_one_line(
        at in 0..SMALL.len(),
        length in 0usize..20,
        instead in "\\PC{0,12}|[\\x00-\\x7f]{0,12}",
    ) {
        let mut text = SMALL.to_owned();
        text.replace_range(at..(at + length).min(SMALL.len()), &instead);
        match parse(text.as_bytes(), "x") {
            Ok(spec) => prop_assert!(!spec.command.is_empty() && spec.min_trials <= spec.trials),
            Err(refusal) => {
                let words = refusal.to_string();
                prop_assert!(words.len() < 4_000 && !words.chars().any(is_control), "{words:?}");
                prop_assert!(refusal.line >= 1 && refusal.line <= text.lines().count() + 1);
            }
        }
    }

    #[test]
    fn arbitrary_bytes_are_parsed_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        stem in "\\PC{0,40}",
    ) {
        let _ = parse(&bytes, &stem);
        let own = parse(b"command = [\"a\"]", &stem).unwrap();
        prop_assert!(is_benchmark_id(&own.id) && !is_built_in(own.name()), "{}", own.id);
    }
}

#[test]
fn the_examples_of_the_manual_can_be_parsed() {
    let manual = include_str!("../../../../../../docs/reference/WORKLOADS.md");
    let examples: Vec<Spec> = manual
        .split("```toml\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .map(|text| parse(text.as_bytes(), "words").unwrap_or_else(|it| panic!("{it}:\n{text}")))
        .collect();
    assert_eq!(examples.len(), 2);
    assert_eq!((examples[0].id.as_str(), examples[1].axes.len()), ("workload/words", 2));
}
