//! The figures of runs, which a history reads.

use oscost::store::{
    Cause, Figure, MachineState, MetricFigure, RunState, Store, SummarisedRun, Summary,
};
use oscost_model::journal::{Entry, Phase, RunHeader, WorkerOutcome};
use oscost_model::record::{CountedMedian, CountedMedians};
use oscost_model::unit::Unit;
use oscost_model::worker::{Disturbance, Mode};
use proptest::prelude::*;
use rusqlite::Connection;

use super::examples::{id, started};
use super::{begin, new_store, ordinary_workers};

/// The rules by which these figures are made.
pub(crate) const RULES: u32 = 7;

/// Everything that can be counted, with and without an interval.
fn counts() -> CountedMedians {
    let median = |median: f64| {
        Some(CountedMedian { median, interval: Some([median * 0.999, median * 1.001]) })
    };
    CountedMedians {
        inherited: true,
        insn: median(312.0),
        insn_user: median(19.0),
        insn_kernel: Some(CountedMedian { median: 293.0, interval: None }),
        cpi: median(1.0 / 3.0),
        ghz: median(2.95),
        time_ns: Some(123.4),
        running_ns: Some(122.9),
        counted_time_ratio: Some(1.01),
    }
}

fn figure(case: &str, median: f64) -> Figure {
    Figure {
        case: case.to_owned(),
        target: "local".to_owned(),
        machine: Some(0),
        peer: None,
        cpu: Some(1),
        rev: 1,
        unit: Unit::NsPerOp,
        mode: Some(Mode::B),
        subject: Some("cc".to_owned()),
        file: Some("ext4 (disk)".to_owned()),
        monitor: Some("normal".to_owned()),
        flags: vec!["REFERENCE".to_owned(), "DRIFT".to_owned()],
        median,
        interval: Some([median * 0.99, median * 1.01]),
        counts: Some(Box::new(counts())),
        metrics: vec![
            MetricFigure { metric: "cpu".to_owned(), median: 1.0 / 3.0, interval: None },
            MetricFigure {
                metric: "minor-faults".to_owned(),
                median: 60.0,
                interval: Some([60.0, 61.0]),
            },
        ],
    }
}

/// Everything that a summary can have, and all that it can be without.
pub(crate) fn summary() -> Summary {
    let state = MachineState {
        machine: "arch x86_64, cpus 2".to_owned(),
        kernel: "flavour amd64".to_owned(),
        release: Some("6.1.0-22-amd64".to_owned()),
        build_id: Some("00ff".to_owned()),
        microcode: Some("0xa20".to_owned()),
        command_line: Some("quiet".to_owned()),
        mitigations: Some("meltdown: Mitigation: PTI".to_owned()),
        modules: Some("capability landlock".to_owned()),
        tracers: Some(String::new()),
        clock: Some("tsc".to_owned()),
        class: Some("quiet".to_owned()),
        boot: Some("0123456789abcdef".to_owned()),
    };
    let bare = Figure {
        machine: None,
        peer: Some(1),
        cpu: None,
        unit: Unit::BytesPerSecond,
        mode: None,
        subject: None,
        file: None,
        monitor: None,
        flags: vec![],
        interval: None,
        counts: None,
        metrics: vec![],
        ..figure("pipe/stream:size=64", 1e9 / 3.0)
    };
    Summary {
        rules: RULES,
        tool: "0.1.0".to_owned(),
        worker: "aa".to_owned(),
        catalog: "bb".to_owned(),
        link: "static-pie".to_owned(),
        peer: Some("ssh:db1".to_owned()),
        clock_drifted: true,
        run_state: Some(RunState {
            flags: vec!["CLOCK_DRIFTED".to_owned(), "UNPINNED".to_owned()],
            lost_pct: Some(100.0 / 3.0),
        }),
        machine_states: vec![
            state,
            MachineState { machine: "cpus 4".to_owned(), ..MachineState::default() },
        ],
        figures: vec![figure("syscall/getppid:via=raw", 122.1), bare],
    }
}

/// A store with an ended run for each summary, the first one the newest.
fn with(summaries: &[Summary]) -> (tempfile::TempDir, Store) {
    let (folder, mut store) = new_store();
    for (number, summary) in (1..).zip(summaries) {
        begin(&mut store, &id(number), 59 - number);
        end(&mut store, &id(number));
        store.summarise(&id(number), summary).unwrap();
    }
    (folder, store)
}

pub(crate) fn lacking(store: &Store) -> Vec<String> {
    store.without_figures(RULES).unwrap().into_iter().map(|it| it.id).collect()
}

fn end(store: &mut Store, id: &str) {
    let at = "2026-11-21T08:16:02.5Z".to_owned();
    store.append(id, &Entry::Ended { at, complete: true }).unwrap();
}

#[test]
fn figures_are_read_by_run_the_oldest_first_for_the_requested_cases() {
    let other = Summary { figures: vec![figure("timer/nothing", 0.4)], ..summary() };
    let (_folder, store) = with(&[summary(), other.clone()]);
    let kept = store.figures_with_counts(RULES, &|_| true).unwrap();
    assert_eq!(kept.iter().map(|run| &run.id).collect::<Vec<_>>(), [&id(2), &id(1)]);
    assert_eq!((&kept[0].summary, &kept[1].summary), (&other, &summary()));
    assert_eq!((kept[0].started.as_str(), kept[0].imported), ("2026-11-21T08:15:57Z", false));
    let cases = ["pipe/stream:size=64", "syscall/getppid:via=raw", "timer/nothing"];
    assert_eq!(store.cases().unwrap(), cases);
    let kept = store.figures_with_counts(RULES, &|case| case == "timer/nothing").unwrap();
    assert_eq!(kept.iter().map(|run| run.summary.figures.len()).collect::<Vec<_>>(), [1, 0]);
}

#[test]
fn an_ended_run_is_listed_until_it_is_summarised_and_can_be_summarised_again() {
    let (_folder, mut store) = new_store();
    begin(&mut store, &id(1), 1);
    begin(&mut store, &id(2), 2);
    assert_eq!((lacking(&store), store.count_unended().unwrap()), (vec![], 2));
    end(&mut store, &id(2));
    assert_eq!((lacking(&store), store.count_unended().unwrap()), (vec![id(2)], 1));
    store.summarise(&id(2), &Summary::default()).unwrap();
    assert_eq!(lacking(&store), [id(2)], "those of other rules are none");
    store.summarise(&id(2), &summary()).unwrap();
    assert_eq!(lacking(&store), Vec::<String>::new());
    assert_eq!(store.figures_with_counts(RULES, &|_| true).unwrap()[0].summary, summary());
    let error = store.summarise(&id(9), &summary()).unwrap_err();
    assert!(matches!(error.cause, Cause::NoRun), "{error}");
}

#[test]
fn many_runs_are_summarised_at_once_without_those_that_were_deleted() {
    let (folder, mut store) = with(&[Summary { tool: "0.2.0".to_owned(), ..summary() }]);
    let words = count(&folder, "text");
    for number in [2, 3] {
        begin(&mut store, &id(number), number);
        end(&mut store, &id(number));
    }
    store.delete(&id(3)).unwrap();
    let run = |number| SummarisedRun {
        id: id(number),
        started: String::new(),
        imported: false,
        summary: summary(),
    };
    store.summarise_all(&[run(1), run(2), run(3)]).unwrap();
    let kept = store.figures_with_counts(RULES, &|_| true).unwrap();
    assert_eq!(kept.iter().map(|run| &run.summary).collect::<Vec<_>>(), [&summary(), &summary()]);
    assert_eq!(count(&folder, "text"), words, "one tool is another, and the old one is unused");
    // All of them or none.
    let mut wrong = run(2);
    wrong.summary.figures[0].median = f64::INFINITY;
    let first = SummarisedRun { summary: Summary { rules: RULES, ..Summary::default() }, ..run(1) };
    assert!(matches!(store.summarise_all(&[first, wrong]).unwrap_err().cause, Cause::Invalid(_)));
    assert_eq!(store.figures_with_counts(RULES, &|_| true).unwrap()[1].summary, summary());
}

#[test]
fn a_run_is_deleted_with_its_figures() {
    let (folder, mut store) = with(&[summary(), summary()]);
    store.delete(&id(1)).unwrap();
    assert_eq!(store.figures_with_counts(RULES, &|_| true).unwrap().len(), 1);
    assert_eq!(
        store.figures_with_counts(RULES, &|_| true).unwrap()[0].summary,
        summary(),
        "with its words"
    );
    store.delete(&id(2)).unwrap();
    let tables = [
        "summary",
        "run_state",
        "machine_state",
        "figure",
        "text",
        "counted_figure",
        "machine_boot",
        "metric_figure",
    ];
    for table in tables {
        assert_eq!(count(&folder, table), 0, "{table}");
    }
}

fn count(folder: &tempfile::TempDir, table: &str) -> i64 {
    let conn = Connection::open(folder.path().join("store.db")).unwrap();
    conn.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
}

#[test]
fn an_older_store_gets_what_is_said_of_runs_as_a_whole_with_its_next_summary() {
    let (folder, mut store) = with(&[summary(), summary()]);
    let conn = Connection::open(folder.path().join("store.db")).unwrap();
    conn.execute("DROP TABLE run_state", []).unwrap();
    let older = Summary { run_state: None, ..summary() };
    for kept in store.figures_with_counts(RULES, &|_| true).unwrap() {
        assert_eq!(kept.summary, older);
    }
    store.summarise(&id(2), &summary()).unwrap();
    let kept = store.figures_with_counts(RULES, &|_| true).unwrap();
    assert_eq!((&kept[0].summary, &kept[1].summary), (&summary(), &older));
    // A program that does not know the table deletes a run with it.
    conn.pragma_update(None, "foreign_keys", true).unwrap();
    conn.execute("DELETE FROM run", []).unwrap();
    assert_eq!(count(&folder, "run_state"), 0);
}

#[test]
fn counts_stay_with_their_figures_and_an_older_store_gets_them_with_its_next_summary() {
    let some = CountedMedians { insn: None, running_ns: None, ..counts() };
    let third = Figure { counts: Some(Box::new(some)), ..figure("timer/nothing", 0.4) };
    let mut of_three = summary();
    of_three.figures.push(third.clone());
    let (folder, mut store) = with(&[of_three.clone(), of_three.clone()]);
    for kept in store.figures_with_counts(RULES, &|_| true).unwrap() {
        assert_eq!(kept.summary, of_three);
    }
    let kept = store.figures_with_counts(RULES, &|case| case == "timer/nothing").unwrap();
    assert!(kept.iter().all(|run| run.summary.figures == [third.clone()]), "{kept:?}");
    let bare = store.figures(RULES, &|_| true).unwrap();
    assert!(bare.iter().flat_map(|run| &run.summary.figures).all(|it| it.counts.is_none()));

    let conn = Connection::open(folder.path().join("store.db")).unwrap();
    conn.execute_batch("DROP TABLE counted_figure; DROP TABLE machine_boot").unwrap();
    let mut older = of_three.clone();
    older.figures.iter_mut().for_each(|it| it.counts = None);
    older.machine_states.iter_mut().for_each(|it| it.boot = None);
    for kept in store.figures_with_counts(RULES, &|_| true).unwrap() {
        assert_eq!(kept.summary, older);
    }
    store.summarise(&id(2), &of_three).unwrap();
    let kept = store.figures_with_counts(RULES, &|_| true).unwrap();
    assert_eq!((&kept[0].summary, &kept[1].summary), (&of_three, &older));
    // A program that does not know the tables makes the summary anew; what it left is not read.
    conn.execute_batch("DELETE FROM summary; DELETE FROM machine_state; DELETE FROM figure")
        .unwrap();
    store.summarise(&id(2), &older).unwrap();
    assert_eq!(store.figures_with_counts(RULES, &|_| true).unwrap()[0].summary, older);
    assert_eq!((count(&folder, "counted_figure"), count(&folder, "machine_boot")), (0, 0));
}

#[test]
fn an_older_store_gets_the_metrics_of_programs_with_its_next_summary() {
    let (folder, mut store) = with(&[summary(), summary()]);
    let conn = Connection::open(folder.path().join("store.db")).unwrap();
    conn.execute("DROP TABLE metric_figure", []).unwrap();
    let mut older = summary();
    older.figures.iter_mut().for_each(|it| it.metrics.clear());
    for kept in store.figures_with_counts(RULES, &|_| true).unwrap() {
        assert_eq!(kept.summary, older);
    }
    store.summarise(&id(2), &summary()).unwrap();
    let kept = store.figures_with_counts(RULES, &|_| true).unwrap();
    assert_eq!((&kept[0].summary, &kept[1].summary), (&summary(), &older));
    let mut bad = summary();
    bad.figures[0].metrics[0].median = f64::NAN;
    assert!(store.summarise(&id(2), &bad).is_err());
}

#[test]
fn counts_that_are_not_finite_are_refused() {
    let (_folder, mut store) = with(&[summary()]);
    let mut bad = summary();
    let unknown = CountedMedians { running_ns: Some(f64::NAN), ..counts() };
    bad.figures[0].counts = Some(Box::new(unknown));
    let error = store.summarise(&id(1), &bad).unwrap_err();
    assert!(matches!(error.cause, Cause::Invalid(_)), "{error}");
    assert_eq!(store.figures_with_counts(RULES, &|_| true).unwrap()[0].summary, summary());
}

#[test]
fn outdated_and_replaced_figures_are_deleted_with_their_texts() {
    let other = Summary { rules: RULES + 1, tool: "0.2.0".to_owned(), ..summary() };
    let (folder, mut store) = with(&[summary(), other]);
    let words = count(&folder, "text");
    assert_eq!(
        (store.figures_with_counts(RULES, &|_| true).unwrap().len(), lacking(&store)),
        (1, vec![id(2)])
    );
    store.delete_outdated_figures(RULES).unwrap();
    store.delete_outdated_figures(RULES).unwrap();
    assert_eq!((count(&folder, "summary"), count(&folder, "text")), (1, words - 1));
    store.summarise(&id(1), &Summary { rules: RULES, ..Summary::default() }).unwrap();
    assert_eq!(count(&folder, "text"), 1, "the empty one");
}

#[test]
fn an_unknown_unit_of_a_newer_oscost_loses_only_that_figure() {
    let (folder, store) = with(&[summary()]);
    let conn = Connection::open(folder.path().join("store.db")).unwrap();
    conn.execute("UPDATE text SET value = 'furlong' WHERE value = 'B/s'", []).unwrap();
    assert_eq!(store.figures_with_counts(RULES, &|_| true).unwrap()[0].summary.figures.len(), 1);
    conn.execute("UPDATE text SET value = 'Z' WHERE value = 'B'", []).unwrap();
    assert_eq!(store.figures_with_counts(RULES, &|_| true).unwrap()[0].summary.figures.len(), 0);
}

#[test]
fn a_figure_that_is_not_finite_is_refused_and_earlier_ones_stay() {
    let (_folder, mut store) = with(&[summary()]);
    let mut bad = summary();
    bad.figures[1].median = f64::NAN;
    let error = store.summarise(&id(1), &bad).unwrap_err();
    assert!(matches!(error.cause, Cause::Invalid(_)), "{error}");
    assert!(error.to_string().contains("the figure of pipe/stream:size=64 is not finite"));
    assert_eq!(store.figures_with_counts(RULES, &|_| true).unwrap()[0].summary, summary());
}

#[test]
fn figures_of_a_run_of_a_hundred_rows_take_fewer_than_two_hundred_bytes_each() {
    const ROWS: u32 = 100;
    const CELLS: u32 = 15;
    let (folder, mut store) = new_store();
    store.begin(&RunHeader { id: id(1), ..started() }).unwrap();
    // Batches, which most rows are timed in: of single shots there are a hundred times more a
    // worker.
    let [_, (_, batches), ..] = ordinary_workers();
    let samples = &batches[..21];
    for worker in 0..CELLS * ROWS {
        let disturbance = Box::new(Disturbance::default());
        let outcome = WorkerOutcome::Sampled {
            samples: samples.to_vec(),
            disturbance,
            monitor_wakeups_per_op: None,
            speculation: None,
        };
        let at_s = f64::from(worker) * 0.04;
        let phase = Phase::Round(worker / ROWS);
        let entry = Entry::Worker { row: worker % ROWS, phase, at_s, set: 0, outcome };
        store.append(&id(1), &entry).unwrap();
    }
    end(&mut store, &id(1));
    let figures = (0..ROWS).map(|row| figure(&format!("syscall/some-call:size={row}"), 99.0));
    store.summarise(&id(1), &Summary { figures: figures.collect(), ..summary() }).unwrap();
    let conn = Connection::open(folder.path().join("store.db")).unwrap();
    let pages = |name| conn.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap();
    let bytes = (pages("page_count") * pages("page_size")) as f64;
    let each = bytes / f64::from(CELLS * ROWS * 21);
    println!("{each:.1} bytes a sample");
    assert!(each < 200.0, "{each:.1} bytes a sample");
}

proptest! {
    // Each case is a new database.
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn every_figure_is_read_back_exactly(
        numbers in prop::collection::vec(prop_oneof![0.0..1e3, prop::num::f64::NORMAL], 30),
    ) {
        let figures = numbers.chunks(3).map(|it| Figure {
            interval: Some([it[1], it[2]]),
            ..figure("timer/nothing", it[0])
        });
        let given = Summary { figures: figures.collect(), ..summary() };
        let (_folder, store) = with(std::slice::from_ref(&given));
        prop_assert_eq!(&store.figures_with_counts(RULES, &|_| true).unwrap()[0].summary, &given);
    }
}
