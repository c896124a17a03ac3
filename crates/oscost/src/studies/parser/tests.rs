use oscost_model::untrusted_text::is_control;
use proptest::prelude::*;

use crate::studies::claims::claim::Criterion;
use crate::studies::study::{NoteCondition, TableRow};

use super::*;

mod keys;
mod systems;

const SMALL: &str = r#"
id = "small"
title = """A title
  of two lines"""
authors = ["A", "B"]
year = 2001
source = "somewhere"
measured-on = "something"
protocol = { runs = 10, statistic = "mean-and-deviation", original = "x", replication = "y" }
column = [{ name = "one", target = "local" }, { name = "two", target = "sud" }]

[[table]]
name = "Table 1"
title = "Costs"
unit = "us"

[[table.row]]
name = "first"
case = "syscall/getpid:via=raw"
published = ["00.618", "-"]

[[table.row]]
name = "second"
case = "process/shell"
note = [{ text = "always" }, { when = "no-calls", text = "rarely" }]

[[claim]]
text = "both pay the same"
location = "page 3"
kind = "equal-added"
cases = ["syscall/getpid:via=raw", "process/shell"]
"#;

/// The error for the text with `from` replaced by `to`.
fn refused(from: &str, to: &str) -> (usize, String) {
    assert!(SMALL.contains(from), "{from}");
    match parse(SMALL.replacen(from, to, 1).as_bytes()) {
        Err(ParseError { line, reason: why }) => (line, why),
        Ok(study) => panic!("{from} -> {to}: {study:?}"),
    }
}

#[test]
fn a_study_is_parsed_as_published() {
    let study = parse(SMALL.as_bytes()).unwrap();
    assert_eq!(study.title, "A title of two lines");
    let [first, second] = &study.tables[0].rows[..] else { panic!("{study:?}") };
    let Some(printed) = &first.published[0] else { panic!("{first:?}") };
    assert_eq!(
        (printed.text.as_str(), printed.single(), printed.decimals),
        ("00.618", Some(0.618), 3)
    );
    assert_eq!((printed.deviation_decimals, &first.published[1]), (None, &None));
    assert_eq!((second.line, &second.published), (24, &vec![None, None]));
    let when: Vec<NoteCondition> = second.notes.iter().map(|note| note.when).collect();
    assert_eq!(when, [NoteCondition::Always, NoteCondition::NoCalls]);
    assert_eq!(study.claims[0].criterion, Criterion::EqualAdded);
    let cases: Vec<&str> = study.requested_cases().iter().map(|requested| requested.case).collect();
    assert_eq!(cases, ["syscall/getpid:via=raw", "process/shell"]);
}

#[test]
fn an_error_names_the_line_and_the_reason() {
    let long = "x".repeat(401);
    for (from, to, line, words) in [
        ("year = 2001", "year = \"soon\"", 6, "invalid type"),
        ("year = 2001", "year = 2001\nyear = 2002", 7, "duplicate key"),
        ("source", "sauce", 7, "unknown field `sauce`"),
        ("\"small\"", "\"Small one\"", 2, "an id consists of lower-case letters"),
        ("\"small\"", "\"\"", 2, "the id is empty"),
        ("\"somewhere\"", &format!("\"{long}\""), 7, "the source has more than 400 characters"),
        ("\"somewhere\"", "\"a\\u001b[31mb\"", 7, "the source has a control character"),
        ("\"somewhere\"", "\"a\\u202eb\"", 7, "the source has a control character"),
        ("runs = 10", "runs = 1", 9, "runs must be 2 to 100"),
        ("mean-and-deviation", "median", 9, "unknown variant `median`"),
        (", { name = \"two\", target = \"sud\" }", "", 1, "the study has 1 columns, allowed: 2"),
        ("\"sud\"", "\"SUD\"", 10, "SUD"),
        ("unit = \"us\"", "unit = \"min\"", 15, "unknown variant `min`"),
        ("syscall/getpid", "getpid", 19, "`getpid:via=raw` is not a case"),
        ("\"-\"", "\"-\", \"1\"", 20, "a figure for each column"),
        ("\"00.618\"", "\"0.6.18\"", 20, "`0.6.18` is not a figure"),
        ("\"00.618\"", "\"-0.6\"", 20, "`-0.6` is not a figure"),
        ("\"00.618\"", "\"1.0 (0.1\"", 20, "is not a figure"),
        ("\"00.618\"", "\"0.000\"", 20, "is not a figure"),
        ("\"00.618\"", "\"1234567890 (12345.6)\"", 20, "at most 18 characters"),
        ("no-calls", "sometimes", 25, "unknown variant `sometimes`"),
        ("equal-added", "greater", 30, "unknown variant `greater`"),
        ("kind = \"equal-added\"", "kind = \"ratio\"", 30, "0 < min < max"),
        (
            "kind",
            "max = 2.0\nkind",
            31,
            "a claim of this kind (equal-added) has no key `max`, only cases",
        ),
        (", \"process/shell\"]", ", \"process/exit\"]", 31, "not in any table"),
        (", \"process/shell\"]", "]", 30, "at least two cases"),
    ] {
        let (at, why) = refused(from, to);
        assert!(why.contains(words), "{from} -> {to}: line {at}: {why}");
        assert_eq!(at, line, "{from} -> {to}: {why}");
    }
    let (line, why) = refused("[\"A\", \"B\"]", "[]");
    assert_eq!((line, why.as_str()), (1, "the study has 0 authors, allowed: 1 to 12"));
}

#[test]
fn a_file_that_is_too_large_or_not_text_is_refused() {
    let refused = |bytes: &[u8]| parse(bytes).unwrap_err();
    assert!(refused(&vec![b'#'; MAX_FILE_BYTES + 1]).reason.contains("256 KiB"));
    assert_eq!(
        refused(b"# one\n# \xff"),
        ParseError { line: 2, reason: "it is not UTF-8 text".into() }
    );
    assert!(refused(b"").reason.contains("missing field"));
    let row = "[[table.row]]\nname = \"n\"\ncase = \"process/shell\"\n";
    let many = SMALL.replace("[[claim]]", &format!("{}[[claim]]", row.repeat(MAX_ROWS)));
    assert!(refused(many.as_bytes()).reason.contains("202 rows, allowed: 1 to 200"));
    let deep = "[".repeat(100_000);
    assert!(refused(format!("id = {deep}").as_bytes()).line >= 1);
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_refused_in_one_line(
        at in 0..SMALL.len(),
        length in 0usize..20,
        instead in "\\PC{0,12}|[\\x00-\\x7f]{0,12}",
    ) {
        let mut text = SMALL.to_owned();
        text.replace_range(at..(at + length).min(SMALL.len()), &instead);
        match parse(text.as_bytes()) {
            Ok(study) => prop_assert!(!study.tables.is_empty() && study.requested_cases().len() <= MAX_ROWS),
            Err(refusal) => {
                let words = refusal.to_string();
                prop_assert!(words.len() < 2_000 && !words.chars().any(is_control), "{words:?}");
                prop_assert!(refusal.line >= 1 && refusal.line <= text.lines().count() + 1);
            }
        }
    }
}

/// A study of one target, with one of everything that it may have.
const ALONE: &str = r#"
id = "alone"
title = "One target"
authors = ["A"]
year = 2001
source = "somewhere"
measured-on = "something"
core-ghz = 2.4
duration = { seconds = 90, quick-seconds = 20 }
budget = { seconds = 60, quick-seconds = 10 }
[protocol]
original = "x"
replication = "y"
timed = "each"
iterations = 1000
experiments = 10
statistic = "mean"
overhead = "subtracted"

[[condition]]
text = "single-user mode"
kind = "single-user"

[[table]]
name = "Table 1"
title = "Costs"
unit = "ns"

[[table.column]]
name = "trip"
unit = "ns"

[[table.column]]
name = "times"
unit = "x"
figure = 'this / "pipe"'

[[table.row]]
name = "pipe"
case = "switch/pipe:between=processes,peer_cpu=same"
published = ["44,505.5", "1x"]
predicted = { hardware = "<20", total = "<25 (1.0 ns)" }
statistic = "minimum"

[[table.row]]
name = "a seek"
unmeasurable = "no case measures it"

[[table]]
name = "Figure 1"
title = "Sizes"
unit = "us"

[[table.series]]
name = "far"
axis = "size"
values = [4, 64]
case = "socket/round-trip:by=tcp,size={},peer_cpu=other"
peer = true
statistic = "none"
published = ["4-6", "-"]

[[claim]]
text = "it stays the same"
location = "figure 1"
kind = "grows"
series = ["far"]
min = -0.2
max = 0.2
"#;

#[test]
fn a_study_of_one_target_is_parsed_with_its_methods_columns_and_curves() {
    use oscost_model::study_method::{ClockCost, Statistic, TimingScope};
    let study = parse(ALONE.as_bytes()).unwrap();
    assert!(study.columns.is_none() && study.clock_rates.core_ghz == Some(2.4));
    let seconds = |it: Option<ProfileSeconds>| it.map(|it| (it.seconds, it.quick_seconds));
    assert_eq!(seconds(study.expected_duration), Some((90, 20)));
    assert_eq!(seconds(study.min_budget), Some((60, 10)));
    let [pipe, seek] = &study.tables[0].rows[..] else { panic!("{study:?}") };
    let usual = study.protocol.study_method.unwrap();
    assert_eq!((usual.timed, usual.clock), (TimingScope::Each, ClockCost::Subtracted));
    let its = pipe.study_method.unwrap();
    assert_eq!((its.statistic, its.iterations), (Statistic::Minimum, 1_000));
    assert_eq!((seek.case(), seek.published.len()), (None, 2));
    let [trip, times] = &study.tables[0].figures[..] else { panic!("{study:?}") };
    assert!(trip.formula.is_own_figure() && times.formula.rows() == ["pipe"]);
    let curve = &study.tables[1];
    assert_eq!(curve.series[0].rows(), 0..2);
    assert_eq!(curve.rows[1].key(), "socket/round-trip:by=tcp,size=64,peer_cpu=other peer");
    assert!(curve.rows.iter().all(|row| row.peer && row.study_method.is_none()));
    assert_eq!(curve.rows[0].published[0].as_ref().map(|it| (it.low, it.high)), Some((4.0, 6.0)));
    let peers: Vec<bool> = study.requested_cases().iter().map(|requested| requested.peer).collect();
    assert_eq!(peers, [false, true, true]);
}

#[test]
fn an_invalid_study_of_one_target_is_refused_with_its_line() {
    for (from, to, line, words) in [
        ("core-ghz = 2.4", "core-ghz = -1.0", 8, "core-ghz must be 0.0001 to 100"),
        ("iterations = 1000", "iterations = 0", 15, "iterations must be 1 to 100000000"),
        ("overhead = \"subtracted\"\n", "", 17, "a study method needs timed"),
        ("\"single-user\"", "\"full-moon\"", 22, "unknown variant `full-moon`"),
        ("'this / \"pipe\"'", "'this / '", 36, "is not a formula"),
        ("'this / \"pipe\"'", "'this * 2'", 36, "does not give a figure in x"),
        ("'this / \"pipe\"'", "'this / \"none\"'", 25, "refers to the row `none`"),
        (
            "unmeasurable = \"no case measures it\"\n",
            "",
            46,
            "a row needs either `case`, or `unmeasurable`",
        ),
        ("unmeasurable", "case", 47, "is not a case"),
        ("values = [4, 64]", "values = [64, 4]", 57, "ascending"),
        ("size={}", "size=4", 58, "needs `{}` once"),
        ("size={},peer_cpu=other", "size={},peer_cpu=same", 58, "peer_cpu=other"),
        ("\"4-6\", \"-\"", "\"4-6\"", 61, "a figure for each value"),
        ("\"44,505.5\", \"1x\"", "\"44,505.5\"", 41, "a figure for each column"),
        ("series = [\"far\"]", "series = [\"near\"]", 67, "no table has a series"),
        ("kind = \"grows\"", "kind = \"order\"", 66, "(order) has no key `series`"),
        ("kind = \"grows\"", "kind = \"ratio\"", 66, "(ratio) has no key `series`"),
        ("min = -0.2\nmax = 0.2\n", "", 66, "min, max, or both"),
        ("min = -0.2", "min = 0.3", 66, "min is above max"),
        ("min = -0.2", "from = 64", 67, "fewer than two points from"),
    ] {
        assert!(ALONE.contains(from), "{from}");
        let refusal = parse(ALONE.replacen(from, to, 1).as_bytes()).unwrap_err();
        assert!(refusal.reason.contains(words), "{from} -> {to}: {refusal}");
        assert_eq!(refusal.line, line, "{from} -> {to}: {refusal}");
    }
    let two = SMALL.replace("runs = 10, ", "");
    assert!(parse(two.as_bytes()).unwrap_err().reason.contains("with two columns needs `runs`"));
    let both = SMALL.replace("runs = 10, ", "runs = 10, timed = \"each\", ");
    assert!(parse(both.as_bytes()).unwrap_err().reason.contains("no other keys"));
    let more =
        SMALL.replace("unit = \"us\"", "unit = \"us\"\ncolumn = [{ name = \"x\", unit = \"us\" }]");
    assert!(parse(more.as_bytes()).unwrap_err().reason.contains("no columns or series of its own"));
}

#[test]
fn programs_have_trials_instead_of_a_method() {
    let text =
        ALONE.replace("socket/round-trip:by=tcp,size={},peer_cpu=other", "workload/mine:size={}");
    let text = text.replace("peer = true\nstatistic = \"none\"\n", "runs = 40\n");
    let study = parse(text.as_bytes()).unwrap_or_else(|it| panic!("{it}\n{text}"));
    let (programs, others): (Vec<&TableRow>, Vec<&TableRow>) =
        study.rows().partition(|row| row.is_program());
    assert!(programs.len() >= 2 && programs.iter().all(|row| row.study_method.is_none()));
    assert!(programs.iter().all(|row| row.runs == 40) && others.iter().all(|row| row.runs == 10));
    assert!(others.iter().any(|row| row.study_method.is_some()));
    assert!(!study.counts_calls_of_programs(), "no column has calls");
    let counted = text.replace(
        "unit = \"us\"\n",
        "unit = \"us\"\n[[table.column]]\nname = \"c\"\nunit = \"calls\"\nfigure = \"calls\"\n",
    );
    assert!(parse(counted.as_bytes()).unwrap().counts_calls_of_programs());
}

#[test]
fn each_kind_of_claim_is_parsed_and_requires_its_keys() {
    let with = |claim: &str| {
        let at = ALONE.find("[[claim]]").unwrap();
        parse(
            format!("{}[[claim]]\ntext = \"so\"\nlocation = \"here\"\n{claim}\n", &ALONE[..at])
                .as_bytes(),
        )
    };
    let pipe = "\"switch/pipe:between=processes,peer_cpu=same\"";
    let remote = "\"socket/round-trip:by=tcp,size=64,peer_cpu=other peer\"";
    for claim in [
        format!("kind = \"order\"\ncases = [{pipe}, {remote}]"),
        format!("kind = \"order\"\norders = [[{pipe}, {remote}], [{remote}, {pipe}]]"),
        format!("kind = \"times\"\ncases = [{pipe}, {remote}]\nmin = 2"),
        format!("kind = \"classes\"\nclasses = [[{pipe}], [{remote}]]\nmin-ratio = 2.0"),
        format!("kind = \"equal\"\ncases = [{pipe}, {remote}]\nwithin-pct = 5"),
        "kind = \"flat\"\nseries = [\"Figure 1: far\"]\nmax = 2".to_owned(),
        "kind = \"slope\"\nseries = [\"far\"]\nper = 4\nunit = \"cycle\"\nmin = 0.5".to_owned(),
        "kind = \"saturates\"\nseries = [\"far\"]\nmax = 64".to_owned(),
        format!("kind = \"calls\"\ncases = [{pipe}]\nmin = 1\nmax = 1"),
    ] {
        assert!(with(&claim).is_ok(), "{claim}: {:?}", with(&claim));
        let noted = with(&format!("{claim}\nnote = \"how it is read\"")).unwrap();
        assert_eq!(noted.claims[0].note.as_deref(), Some("how it is read"));
    }
    for (claim, words) in [
        (format!("kind = \"order\"\ncases = [{pipe}]"), "at least 2 cases"),
        (format!("kind = \"times\"\ncases = [{pipe}]\nmin = 2"), "it needs two cases"),
        (
            format!("kind = \"classes\"\nclasses = [[{pipe}]]\nmin-ratio = 2.0"),
            "at least two classes",
        ),
        (format!("kind = \"equal\"\ncases = [{pipe}, {remote}]"), "within-pct of 0 to 100"),
        ("kind = \"flat\"\nmax = 2".to_owned(), "it needs series, or at least two cases"),
        ("kind = \"slope\"\nseries = [\"far\"]\nmin = 1".to_owned(), "a slope needs per and unit"),
        ("kind = \"calls\"\nmin = 1".to_owned(), "a claim needs cases"),
        (format!("kind = \"equal-added\"\ncases = [{pipe}]"), "need a study with two columns"),
        (format!("kind = \"times\"\ncases = [{pipe}, {pipe}]\nmin = 2"), "named twice"),
    ] {
        let refusal = with(&claim).unwrap_err();
        assert!(refusal.reason.contains(words), "{claim}: {refusal}");
    }
}

/// A study of one target with these lines before its first table.
fn with_head(lines: &str) -> Result<crate::studies::Study, ParseError> {
    parse(ALONE.replacen("[[table]]", &format!("{lines}\n[[table]]"), 1).as_bytes())
}

#[test]
fn a_fact_of_the_machine_names_its_counterpart_or_why_there_is_none() {
    use crate::studies::machine::machine_fact::{Counterpart, FactKind};
    let fact = |rest: &str| {
        with_head(&format!("[[machine]]\nname = \"L2\"\npublished = \"1 MB\"\n{rest}"))
    };
    let study = fact("fact = \"l2\"\nnote = \"shared\"").unwrap();
    assert_eq!(study.machine[0].counterpart, Counterpart::Fact(FactKind::L2));
    assert_eq!(study.machine[0].note.as_deref(), Some("shared"));
    let study = fact("no-fact = \"it has none\"").unwrap();
    assert_eq!(study.machine[0].counterpart, Counterpart::Nothing("it has none".to_owned()));
    for (rest, words) in [
        ("", "needs either `fact`, or `no-fact`"),
        ("fact = \"l2\"\nno-fact = \"why\"", "needs either `fact`, or `no-fact`"),
        ("fact = \"l9\"", "unknown variant `l9`"),
    ] {
        let refusal = fact(rest).unwrap_err();
        assert!(refusal.reason.contains(words), "{rest}: {refusal}");
    }
}

#[test]
fn only_a_condition_of_the_method_says_how_it_is_kept() {
    let condition = |rest: &str| with_head(&format!("[[condition]]\ntext = \"so\"\n{rest}"));
    let study = condition("kind = \"method\"\nhow = \"always\"").unwrap();
    assert_eq!(study.conditions.last().unwrap().how.as_deref(), Some("always"));
    for rest in ["kind = \"method\"", "kind = \"alone\"\nhow = \"always\""] {
        let refusal = condition(rest).unwrap_err();
        assert!(refusal.reason.contains("only of that, says `how`"), "{rest}: {refusal}");
    }
}

#[test]
fn a_row_without_a_placement_is_two_rows_and_its_claims_name_either() {
    let placed = ALONE
        .replace(
            "\npublished = [\"44,505.5\"",
            "\nplacement = \"not given\"\npublished = [\"44,505.5\"",
        )
        .replace("figure = 'this / \"pipe\"'", "figure = 'this / \"a seek\"'");
    let study = parse(placed.as_bytes()).unwrap();
    let rows: Vec<(&str, Option<&str>)> =
        study.tables[0].rows.iter().map(|row| (row.name.as_str(), row.case())).collect();
    assert_eq!(
        rows,
        [
            ("pipe (1 CPU)", Some("switch/pipe:between=processes,peer_cpu=same")),
            ("pipe (2 CPUs)", Some("switch/pipe:between=processes,peer_cpu=other")),
            ("a seek", None),
        ]
    );
    assert_eq!(study.tables[0].rows[1].published_name(), "pipe");
    let refused = |from: &str, to: &str| {
        let text = ALONE.replacen(from, to, 1);
        parse(text.as_bytes()).unwrap_err().reason
    };
    let formula = refused("\npublished = [\"44", "\nplacement = \"not given\"\npublished = [\"44");
    assert!(formula.contains("a column refers to this row"), "{formula}");
    let peer = refused("peer = true\n", "peer = true\nplacement = \"not given\"\n");
    assert!(peer.contains("and no peer"), "{peer}");
    let word = refused("peer = true\n", "placement = \"anywhere\"\n");
    assert!(word.contains("unknown variant `anywhere`"), "{word}");
}

#[test]
fn a_claim_has_what_its_text_prints() {
    let printed = |text: &str| {
        let with = format!("kind = \"grows\"\npublished = \"{text}\"");
        parse(ALONE.replace("kind = \"grows\"", &with).as_bytes())
    };
    for text in ["3x", "2-4x", "4-6 us", "12000-13000 MB/s", "~10%", ">2x"] {
        let study = printed(text).unwrap();
        assert_eq!(study.claims[0].published.as_ref().map(|it| it.text.as_str()), Some(text));
    }
    assert!(printed("some").unwrap_err().reason.contains("is not a figure"));
}
