//! Views of made-up series.

use std::collections::BTreeSet;

use oscost_model::record::{Cause, CountedMedian, CountedMedians, Decomposition};
use oscost_model::unit::{Better, Unit};
use oscost_stats::change::MIN_POINTS;

use super::run_timeline::letter;
use super::*;
use crate::estimate::history::{
    Change, CountedRuns, History, LeftOut, Point, RecentShift, RunCounts, Series, Update,
    UpdatedPart,
};
use crate::report::text::day;

fn point(number: usize, median: f64) -> Point {
    Point {
        run: format!("0190a0b1-c2d3-7e4f-8a9b-{number:012x}"),
        started: format!("2026-{:02}-{:02}T08:15:00Z", 9 + number / 28, 1 + number % 28),
        median,
        interval: Some([median * 0.995, median * 1.005]),
        between_run_ci95: None,
        class: Some("quiet".to_owned()),
        imported: false,
        counts: None,
    }
}

/// So many runs of some 120 ns that wander by 1 %, and from `step` on are 6 % more expensive.
fn series(count: usize, step: usize) -> Series {
    let figure = |at: usize| {
        let noise = 1.0 + 0.002 * (at * 7 % 11) as f64 - 0.01;
        120.0 * noise * if at >= step { 1.06 } else { 1.0 }
    };
    let points: Vec<Point> = (0..count).map(|at| point(at, figure(at))).collect();
    let changed = (step < count).then(|| Change {
        point: step,
        before: points[step - 1].run.clone(),
        after: points[step].run.clone(),
        from: 120.0,
        to: 127.2,
        ratio: 1.06,
        ci95: Some([1.051, 1.069]),
        p: 0.005,
        q: 0.0125,
        decomposition: None,
        not_decomposed: None,
        counted_runs: None,
    });
    Series {
        case: "syscall/getppid:via=raw".to_owned(),
        target: "local".to_owned(),
        peer: false,
        peer_host: None,
        unit: Unit::NsPerOp,
        better: Better::Lower,
        rev: 1,
        machine_class: "arch x86_64, cpu AuthenticAMD 25/1/1, cpus 2, hypervisor kvm".to_owned(),
        kernel_class: "flavour cloud-amd64, arch x86_64, hz 250".to_owned(),
        points,
        older_runs: 0,
        p: Some(0.005),
        rejected_by_correction: false,
        secondary: false,
        autocorrelation: None,
        between_run_sd: None,
        q: Some(0.0125),
        changes: changed.into_iter().collect(),
        recent_shift: None,
        updates: Vec::new(),
        left_out: Vec::new(),
        other_targets: Vec::new(),
    }
}

fn history(named: bool, series: Vec<Series>) -> History {
    let target = "local".to_owned();
    let (without_figures, left_out, other_targets) = (Vec::new(), Vec::new(), Vec::new());
    History { named, target, window: 60, series, without_figures, left_out, other_targets }
}

fn mark(point: usize, what: UpdatedPart) -> Update {
    Update {
        point,
        part: what,
        peer: false,
        from: "6.1.0-22".to_owned(),
        to: "6.1.0-23".to_owned(),
    }
}

fn text(history: &History) -> String {
    crate::report::terminal(&view(history))
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn fits(text: &str) {
    assert!(text.lines().all(|line| line.len() <= 80) && text.is_ascii(), "{text}");
}

#[test]
fn one_series_is_drawn_with_its_changes_and_updates_in_80_columns() {
    let mut one = series(60, 40);
    one.updates = vec![mark(40, UpdatedPart::Kernel), mark(41, UpdatedPart::Microcode)];
    let shown = text(&history(true, vec![one]));
    fits(&shown);
    let ratio = shown.lines().position(|line| line.trim() == "x1.060").unwrap();
    let lines: Vec<&str> = shown.lines().collect();
    let at = lines[ratio].find("x1").unwrap();
    let drawn = &lines[ratio + 1..ratio + 15];
    assert!(drawn.iter().all(|line| line.as_bytes()[at] == b'|'), "{shown}");
    let runs = drawn.iter().map(|line| line.matches('o').count()).sum::<usize>();
    assert_eq!(runs, 60, "{shown}");
    // The letter is under the first run after the change.
    let letters = lines.iter().find(|line| line.trim() == "KM").unwrap();
    assert_eq!(letters.find('K'), Some(at + 1), "{shown}");
    let words = flat(&shown);
    assert!(
        words.contains("change at run 41 of 2026-10-13: 120.0 -> 127.2 ns, 1.060 times"),
        "{words}"
    );
    assert!(
        words.contains("updated at that run: kernel 6.1.0-22 -> 6.1.0-23; at run 42: microcode"),
        "{words}"
    );
    assert!(words.contains("a history finds candidates and proves nothing."), "{words}");
}

#[test]
fn few_equal_and_many_runs_are_shown() {
    for count in [0, 1, 2, MIN_POINTS - 1, 66, 67, 500] {
        let mut one = series(count, usize::MAX);
        if count < MIN_POINTS {
            (one.p, one.q) = (None, None);
        }
        let shown = text(&history(true, vec![one]));
        fits(&shown);
        assert_eq!(shown.contains(" by run\n"), count > 1, "{shown}");
        let asked_from = format!("looked for from {MIN_POINTS} on");
        assert_eq!(shown.contains(&asked_from), (1..MIN_POINTS).contains(&count), "{shown}");
        assert_eq!(shown.contains("in the newest 60 runs: older"), count > 60, "{shown}");
        assert_eq!(shown.contains("the picture has room for the newest"), count > 67, "{shown}");
    }
    let mut equal = series(20, usize::MAX);
    for point in &mut equal.points {
        (point.median, point.interval) = (100.0, Some([100.0; 2]));
    }
    let shown = text(&history(true, vec![equal]));
    assert!(shown.lines().any(|line| line.matches('o').count() == 20), "{shown}");
}

#[test]
fn an_interval_that_leaves_the_picture_ends_in_an_arrow_with_a_legend() {
    let mut one = series(30, usize::MAX);
    one.points[10].interval = Some([10.0, 1_000.0]);
    let shown = text(&history(true, vec![one]));
    assert!(shown.contains('^') && shown.contains("^ v it leaves the picture"), "{shown}");
}

#[test]
fn several_series_have_a_section_each_up_to_a_bound() {
    let many: Vec<Series> = (0..13).map(|at| series(20, 10 + at)).collect();
    let shown = text(&history(true, many));
    fits(&shown);
    assert_eq!(shown.matches("syscall/getppid:via=raw at local").count(), 10, "{shown}");
    assert!(flat(&shown).contains("and 3 more series, 0 of them with a change"), "{shown}");
    assert!(!shown.contains(" by run\n"), "{shown}");
}

#[test]
fn without_a_case_the_changes_are_a_table() {
    let mut few = series(4, usize::MAX);
    (few.p, few.q) = (None, None);
    let mut whole = history(false, vec![series(60, 40), series(60, usize::MAX), few]);
    whole.without_figures = vec![LeftOut { reason: "it was killed".to_owned(), runs: 2 }];
    let shown = text(&whole);
    fits(&shown);
    assert!(
        shown.starts_with("1 of 2 cases at local changed within their newest 60 runs"),
        "{shown}"
    );
    let row = "syscall/getppid:via=raw 2026-10-13 120.0 ns 1.060 0.013";
    assert!(flat(&shown).contains(row), "{shown}");
    assert!(shown.contains("not read: 2 runs: it was killed"), "{shown}");
    assert!(flat(&shown).contains("; 1 case has fewer than 10 runs, in which no"), "{shown}");
    assert!(!shown.contains("1 case with fewer than"), "the answer says it: {shown}");
    let mut alone = series(1, usize::MAX);
    (alone.p, alone.q) = (None, None);
    let shown = text(&history(false, vec![alone.clone()]));
    assert!(shown.contains("1 case with fewer than") && !shown.contains("has fewer"), "{shown}");
    let shown = text(&history(true, vec![alone]));
    let day = day(&series(1, usize::MAX).points[0].started);
    assert!(flat(&shown).contains(&format!("at local: 1 run, {day} ")), "{shown}");
    assert!(shown.contains("1 run: changes are looked for") && !shown.contains("fewer"), "{shown}");
    assert_eq!(text(&history(false, vec![])), "no figure of local is kept\n");
}

#[test]
fn runs_that_are_left_out_are_counted_with_the_reason() {
    let mut none = series(0, usize::MAX);
    (none.p, none.q) = (None, None);
    none.left_out = vec![LeftOut { reason: "machine very noisy".to_owned(), runs: 3 }];
    let mut whole = history(false, vec![none.clone()]);
    whole.left_out = none.left_out.clone();
    let shown = text(&whole);
    assert!(shown.starts_with("nothing at local has enough runs"), "{shown}");
    assert!(shown.contains(&format!("changes: {MIN_POINTS} usable ones")), "{shown}");
    assert!(shown.contains("1 case without a usable run"), "{shown}");
    assert!(shown.contains("left out of a case or more: 3 runs: machine very noisy"), "{shown}");
    let named = text(&history(true, vec![none]));
    assert!(named.contains("at local: no usable run\n"), "{named}");
    assert!(named.contains("left out: 3 runs: machine very noisy"), "{named}");
    let mut elsewhere = history(false, vec![]);
    elsewhere.other_targets = vec!["ssh:db1".to_owned()];
    let shown = text(&elsewhere);
    assert!(shown.contains("also measured at other targets (--at): ssh:db1"), "{shown}");
}

#[test]
fn a_change_without_an_update_names_what_is_watched() {
    let shown = flat(&text(&history(true, vec![series(60, 40)])));
    assert!(
        shown.contains("nothing that is watched was updated within two runs (kernel, kernel im")
    );
    let mut one = series(60, 40);
    one.updates = UpdatedPart::ALL.map(|what| mark(39, what)).to_vec();
    one.updates[2].peer = true;
    let shown = text(&history(true, vec![one]));
    fits(&shown);
    let words = flat(&shown);
    assert!(
        words.contains("L command line, G mitigations, S security modules, T tracers"),
        "{words}"
    );
    assert!(words.contains("command line of the other end 6.1.0-22 -> 6.1.0-23"), "{words}");
    let letters: BTreeSet<char> = UpdatedPart::ALL.map(letter).into();
    assert_eq!(letters.len(), UpdatedPart::ALL.len());
}

#[test]
fn an_interval_that_ends_before_it_begins_is_not_drawn() {
    let mut one = series(30, usize::MAX);
    one.points[10].interval = Some([130.0, 110.0]);
    assert_eq!(one.points[10].relative_half_width(), None);
    fits(&text(&history(true, vec![one])));
}

#[test]
fn the_interval_between_runs_is_shown_first_and_drawn_where_it_is_known() {
    let mut one = series(60, usize::MAX);
    let shown = flat(&text(&history(true, vec![one.clone()])));
    assert!(shown.contains("newest: 120.2 ns (119.6 .. 120.8 within the run)"), "{shown}");
    one.between_run_sd = Some(0.021);
    for point in &mut one.points {
        point.between_run_ci95 = Some([point.median * 0.9, point.median * 1.1]);
    }
    let drawn = timeline(String::new(), &one);
    assert!(drawn.caption.contains("95 % intervals between runs"), "{}", drawn.caption);
    assert_eq!(drawn.runs[3].interval, one.points[3].between_run_ci95);
    let shown = text(&history(true, vec![one]));
    fits(&shown);
    let words = flat(&shown);
    let newest = "newest: 120.2 ns (108.2 .. 132.3; 119.6 .. 120.8 within the run)";
    assert!(words.contains(newest), "{words}");
    assert!(words.contains("runs of one level vary by 2.1 % (standard deviation)"), "{words}");
}

#[test]
fn names_and_figures_of_any_length_fit_80_columns() {
    let mut one = series(60, 40);
    one.case = format!("pipe/{}", "x".repeat(93));
    one.updates = vec![Update { to: "9".repeat(123), ..mark(40, UpdatedPart::Kernel) }];
    let change = &mut one.changes[0];
    (change.from, change.ratio, change.q) = (1e20, 1e9, 0.000_05);
    for unit in [Unit::NsPerOp, Unit::FramesPerSecond] {
        one.unit = unit;
        for named in [false, true] {
            fits(&text(&history(named, vec![one.clone()])));
        }
    }
}

#[test]
fn a_provisional_change_is_called_so() {
    let mut one = series(60, usize::MAX);
    let (runs, before) = (3, 20);
    one.recent_shift = Some(RecentShift { runs, before, from: 120.0, to: 132.0, ratio: 1.1 });
    let shown = flat(&text(&history(true, vec![one])));
    let words =
        "provisional: the newest 3 runs are above all of the 20 before them, 120.0 -> 132.0 ns";
    assert!(shown.contains(words), "{shown}");
}

#[test]
fn text_from_outside_has_no_control_characters() {
    let mut one = series(20, 10);
    one.case = "\u{1b}[2Jcase".to_owned();
    one.left_out = vec![LeftOut { reason: "cpus \u{1b}]0;4".to_owned(), runs: 1 }];
    let (from, to) = ("\u{7}6.1".to_owned(), "\r6.2".to_owned());
    one.updates = vec![Update { from, to, ..mark(10, UpdatedPart::Kernel) }];
    one.other_targets = vec!["\u{1b}x".to_owned()];
    for named in [true, false] {
        let shown = text(&history(named, vec![one.clone()]));
        assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "{shown:?}");
    }
}

#[test]
fn the_document_names_its_schema_and_has_every_key() {
    let json: serde_json::Value =
        serde_json::from_str(&json(&history(true, vec![series(60, 40)])).unwrap()).unwrap();
    assert_eq!(json["schema"], "oscost.history/1");
    let series = &json["series"][0];
    assert_eq!((&series["unit"], &series["changes"][0]["point"]), (&"ns/op".into(), &40.into()));
    assert!(series["recent_shift"].is_null() && series["points"].as_array().unwrap().len() == 60);
    assert_eq!(series["points"][0]["interval"][0], 120.0 * 0.99 * 0.995);
}

/// The findings of a history, and whether it says how far to trust them and what to do next.
fn found(history: &History) -> (Vec<String>, bool, bool) {
    let answer = view(history).answer.unwrap();
    (answer.findings, answer.trust.is_some(), !answer.next.is_empty())
}

#[test]
fn the_answer_says_what_moved_since_when_and_what_was_updated_then() {
    let mut one = series(60, 40);
    one.updates = vec![mark(40, UpdatedPart::Kernel), mark(41, UpdatedPart::Microcode)];
    let (findings, trusted, next) = found(&history(true, vec![one]));
    let moved = "syscall/getppid:via=raw: 120.0 -> 127.2 ns (+6.0 %) since 2026-10-13; updated at \
                 that run: kernel 6.1.0-22 -> 6.1.0-23.";
    assert_eq!((findings, trusted, next), (vec![moved.to_owned()], true, true));
}

#[test]
fn the_answer_tells_the_largest_changes_and_counts_the_others() {
    let mut all: Vec<Series> = (0..5).map(|_| series(60, 40)).collect();
    for (at, it) in all.iter_mut().enumerate() {
        it.case = format!("a/{at}");
        it.changes[0].ratio = 1.1 + at as f64;
    }
    let mut few = series(4, usize::MAX);
    (few.p, few.q) = (None, None);
    all.extend([series(60, usize::MAX), few]);
    let (findings, ..) = found(&history(false, all));
    let begins: Vec<&str> = findings.iter().filter_map(|it| it.split(':').next()).collect();
    assert_eq!(begins[..3], ["a/4", "a/3", "a/2"], "{findings:?}");
    assert_eq!(findings[3], "2 more cases changed, by less.");
    let rest = format!(
        "No change shows in the newest 60 runs of 1 case; 1 case has fewer than {MIN_POINTS} runs, in \
         which no change is looked for."
    );
    assert_eq!(findings[4..], [rest]);
}

#[test]
fn the_answer_of_a_steady_series_claims_no_change_and_gives_no_advice() {
    let (findings, trusted, next) = found(&history(true, vec![series(60, usize::MAX)]));
    let steady = "No change shows in the newest 60 runs of syscall/getppid:via=raw.";
    assert_eq!((findings, trusted, next), (vec![steady.to_owned()], false, false));
    let mut shifted = series(60, usize::MAX);
    let (runs, before) = (3, 20);
    shifted.recent_shift = Some(RecentShift { runs, before, from: 120.0, to: 132.0, ratio: 1.1 });
    let (findings, trusted, next) = found(&history(true, vec![shifted]));
    assert!(findings[1].starts_with("Provisional: the newest 3 runs of"), "{findings:?}");
    assert!(findings[1].contains("(+10 %)") && trusted && next, "{findings:?}");
    let mut none = series(0, usize::MAX);
    (none.p, none.q) = (None, None);
    assert_eq!(view(&history(true, vec![none])).answer, None);
}

#[test]
fn the_answer_of_too_few_runs_says_how_many_it_takes_and_what_can_be_done() {
    let short = |points: usize| {
        let mut few = series(points, usize::MAX);
        (few.p, few.q) = (None, None);
        few
    };
    let told = |named: bool, series: Vec<Series>| {
        let (findings, trusted, next) = found(&history(named, series));
        assert!(!trusted && next && findings.len() == 1, "{findings:?}");
        findings[0].clone()
    };
    assert_eq!(told(true, vec![short(1)]), "It takes 10 runs to look for changes: there is 1.");
    assert_eq!(told(true, vec![short(4)]), "It takes 10 runs to look for changes: there are 4.");
    let several = told(false, vec![short(4), short(2)]);
    assert!(several.ends_with("no case here has more than 4."), "{several}");
    let within_hours = told(true, vec![short(MIN_POINTS)]);
    assert!(within_hours.ends_with("those within an hour count as one."), "{within_hours}");
}

/// A series whose change is explained by the counts of its runs.
fn explained_series(cause: Cause, sentence: &str) -> Series {
    let mut one = series(60, 40);
    one.changes[0].decomposition = Some(Decomposition {
        insn: None,
        insn_user_added: None,
        insn_kernel_added: None,
        cpi: None,
        period: None,
        running: None,
        waiting_added: None,
        counted: None,
        counting: None,
        cause,
        sentence: sentence.to_owned(),
    });
    one.changes[0].counted_runs = Some(CountedRuns { before: 40, since: 20 });
    one
}

#[test]
fn a_change_that_is_explained_has_a_sentence_with_the_runs_behind_it() {
    let sentence = "work 1.000 (to 0.05 %); cycles per instruction 1.06: the core was shared";
    let mut one = explained_series(Cause::Core, sentence);
    let shown = text(&history(true, vec![one.clone()]));
    fits(&shown);
    let words = flat(&shown);
    let said = format!("Counted in 40 runs before and 20 since: {sentence}.");
    assert!(words.contains(&said), "{words}");
    let (findings, ..) = found(&history(true, vec![one.clone()]));
    assert!(findings[0].ends_with("; by its counts the cause is cycles per instruction."));
    one.changes[0].counted_runs = Some(CountedRuns { before: 1, since: 1 });
    let words = flat(&text(&history(true, vec![one])));
    assert!(words.contains("Counted in the two runs around it: work"), "{words}");

    // Without a named case the sentences are below the table, up to a bound.
    let many: Vec<Series> =
        (0..12).map(|_| explained_series(Cause::Unknown, "work\u{1b}[2J unknown")).collect();
    let shown = text(&history(false, many));
    fits(&shown);
    let words = flat(&shown);
    let case = "syscall/getppid:via=raw: since 2026-10-13 1.060 times the time: work";
    assert_eq!(words.matches(case).count(), 10, "{words}");
    assert!(words.contains("2 more changes are explained by counts"), "{words}");
    assert!(!words.contains("by its counts the cause is"), "{words}");

    let mut not = series(60, 40);
    not.changes[0].not_decomposed = Some("the runs are of two boots".to_owned());
    let words = flat(&text(&history(true, vec![not])));
    let why = "The counts of runs before and since are not compared: the runs are of two boots.";
    assert!(words.contains(why), "{words}");
}

#[test]
fn a_run_on_the_page_has_what_it_counted() {
    let mut one = series(20, usize::MAX);
    let median = |median: f64| Some(CountedMedian { median, interval: None });
    let medians = CountedMedians {
        insn: median(312.0),
        insn_user: median(19.0),
        cpi: median(1.272),
        ..CountedMedians::default()
    };
    one.points[3].counts =
        Some(RunCounts { worker: "w".to_owned(), boot: None, medians: medians.clone() });
    let in_user_mode = CountedMedians { insn: None, cpi: None, ..medians };
    one.points[4].counts =
        Some(RunCounts { worker: "w".to_owned(), boot: None, medians: in_user_mode });
    let drawn = timeline(String::new(), &one);
    assert_eq!(drawn.runs[2].details.len(), 3);
    assert_eq!(drawn.runs[3].details[3], "312.0 instructions, 1.272 cycles each");
    assert_eq!(drawn.runs[4].details[3], "19.0 instructions in user mode");
}
