//! Earlier runs of the systems that are compared, from the store: they show how far a figure varies
//! between runs in which nothing changed.

use std::collections::{BTreeMap, BTreeSet};

use oscost_model::record::{CountedMedian, Record};
use oscost_model::unit::Unit;
use oscost_model::worker::Mode;
use oscost_stats::between_runs::RunMedian;
use oscost_stats::core_rate::RatedRun;
use oscost_stats::interval::Interval;

use super::figures::{SUMMARY_RULES, summary};
use super::user_data::existing_store;
use crate::estimate::between_runs::{MetricRun, SystemRuns};
use crate::estimate::comparison::EarlierRuns;
use crate::store::{Figure, MachineState, MetricFigure, Store, StoreError, SummarisedRun, Summary};

/// More runs of a case add nothing, and the newest ones show the machine as it is now.
const MAX_RUNS: usize = 40;
/// Those of one boot leave room for others: only these show how far boots differ.
const MAX_RUNS_OF_A_BOOT: usize = 20;
/// The class of a machine from whose figures nothing is concluded.
const VERY_NOISY: &str = "very-noisy";

/// The earlier runs of both sides' systems, if there is a store; without the compared runs.
pub(crate) fn earlier_runs(base: &[Record], new: &[Record]) -> anyhow::Result<EarlierRuns> {
    let mut found = EarlierRuns::default();
    let (Some(of_base), Some(of_new)) = (base.first(), new.first()) else { return Ok(found) };
    let Some(store) = existing_store()? else { return Ok(found) };
    let (of_base, of_new) = (summary(of_base), summary(of_new));
    let (cases_of_base, cases_of_new) = (cases(&of_base), cases(&of_new));
    let is_compared = |case: &str| cases_of_base.contains(case) && cases_of_new.contains(case);
    let mut stored = store.figures_with_counts(SUMMARY_RULES, &is_compared)?;
    let compared: BTreeSet<&str> = base.iter().chain(new).map(|it| it.id.as_str()).collect();
    // Later runs may contain the change that is looked for.
    let newest = base.iter().chain(new).map(|it| it.started.as_str()).max().unwrap_or_default();
    stored.retain(|it| !compared.contains(it.id.as_str()) && it.started.as_str() < newest);
    let mut base_figures: BTreeMap<(&str, &str), Vec<&Figure>> = BTreeMap::new();
    for it in &of_base.figures {
        base_figures.entry(key(it)).or_default().push(it);
    }
    let is_shared = |it: &Figure| {
        let mut of_case = base_figures.get(&key(it)).into_iter().flatten();
        let same = of_case.find(|other| is_same_case(it, other));
        same.is_some_and(|other| is_same_system(&of_base, other, &of_new, it))
    };
    found.base = runs_of_system(&of_base, &stored, |_| true);
    found.new = runs_of_system(&of_new, &stored, |it| !is_shared(it));
    found.very_noisy = very_noisy_count(&[&of_base, &of_new], &stored);
    Ok(found)
}

/// How many stored runs of a case of one of these have nothing that could be concluded from, since the
/// machine was very noisy.
fn very_noisy_count(own: &[&Summary], stored: &[SummarisedRun]) -> usize {
    let has_own_case = |run: &&SummarisedRun| own.iter().any(|own| has_case_of(run, own));
    stored.iter().filter(|run| is_very_noisy(run)).filter(has_own_case).count()
}

/// Whether each machine of a run that was measured here was very noisy, so that it shows nothing.
fn is_very_noisy(run: &SummarisedRun) -> bool {
    let states = &run.summary.machine_states;
    let all_are = states.iter().all(|it| it.class.as_deref() == Some(VERY_NOISY));
    !run.imported && !states.is_empty() && all_are
}

/// Whether a stored run has a figure of a case of `own`, of the same system.
fn has_case_of(run: &SummarisedRun, own: &Summary) -> bool {
    let is_own = |it: &Figure| {
        own.figures
            .iter()
            .any(|figure| is_same_case(figure, it) && is_same_system(own, figure, &run.summary, it))
    };
    run.summary.figures.iter().any(is_own)
}

/// The stored runs of the system of a run that has just been measured.
pub(crate) struct RunsBefore {
    /// Those that show how far its figures vary.
    pub(crate) runs: SystemRuns,
    /// How many more have one of its cases, but are left out since the machine was very noisy.
    pub(crate) very_noisy: usize,
}

impl RunsBefore {
    /// That some are left out, in words; `None` if none is.
    pub(crate) fn note_on_noise(&self) -> Option<String> {
        let left_out = match self.very_noisy {
            0 => return None,
            1 => "1 earlier run is".to_owned(),
            count => format!("{count} earlier runs are"),
        };
        let rest = match self.runs.is_empty() {
            true => "; no others are known",
            false => "",
        };
        Some(format!(
            "{left_out} left out of intervals between runs, since the machine was very noisy{rest}"
        ))
    }
}

/// The runs that were kept before this one.
pub(crate) fn runs_before(store: &Store, record: &Record) -> Result<RunsBefore, StoreError> {
    let own = summary(record);
    let cases = cases(&own);
    let mut stored = store.figures_with_counts(SUMMARY_RULES, &|case| cases.contains(case))?;
    stored.retain(|it| it.id != record.id);
    let very_noisy = very_noisy_count(&[&own], &stored);
    Ok(RunsBefore { runs: runs_of_system(&own, &stored, |_| true), very_noisy })
}

/// The cases of a run's figures.
fn cases(summary: &Summary) -> BTreeSet<&str> {
    summary.figures.iter().map(|it| it.case.as_str()).collect()
}

/// The newest runs of the system of `own`, for each of its figures that is asked for. Of a run that
/// was measured elsewhere the machine may be another one of the same class.
fn runs_of_system(
    own: &Summary,
    stored: &[SummarisedRun],
    is_asked: impl Fn(&Figure) -> bool,
) -> SystemRuns {
    let asked = own.figures.iter().filter(|it| is_asked(it) && it.peer.is_none());
    // Of several figures of a case the first one: of a comparison of a target with itself the base.
    let mut wanted: BTreeMap<(&str, &str), FigureQuery<'_>> = BTreeMap::new();
    for figure in asked {
        wanted.entry(key(figure)).or_insert(FigureQuery {
            figure,
            found: 0,
            by_boot: BTreeMap::new(),
        });
    }
    let mut runs = SystemRuns::default();
    for run in stored.iter().rev().filter(|it| !it.imported) {
        let mut seen = BTreeSet::new();
        let in_cycles = cycles_of(run);
        for it in run.summary.figures.iter().filter(|it| seen.insert(key(it))) {
            let Some(wanted) = wanted.get_mut(&key(it)) else { continue };
            let state = it.machine.and_then(|at| run.summary.machine_states.get(at));
            let boot = state.and_then(|it| it.boot.as_deref());
            let of_boot = wanted.by_boot.entry(boot).or_default();
            let matches = wanted.found < MAX_RUNS
                && *of_boot < MAX_RUNS_OF_A_BOOT
                && is_same_case(wanted.figure, it)
                && is_same_system(own, wanted.figure, &run.summary, it);
            let Some(time) = run_median(&run.summary, it).filter(|_| matches) else { continue };
            if let Some((boot, work)) = boot.zip(work_of(wanted.figure, it)) {
                runs.insert_work(&it.target, &it.case, boot, work);
            }
            wanted.found += 1;
            *of_boot += 1;
            let cycles = in_cycles.get(&key(it)).and_then(|it| run_median(&run.summary, it));
            match cycles {
                Some(cycles) => {
                    runs.insert_rated(&it.target, &it.case, boot, RatedRun { time, cycles });
                }
                None if it.metrics.is_empty() => runs.insert(&it.target, &it.case, boot, time),
                None => runs.insert_program(&it.target, &it.case, boot, time, metrics_of(it)),
            }
        }
    }
    runs
}

/// The instructions of an op, as far as they can be compared with those of a figure: of the same modes,
/// and of other tasks in both or in none. Few workers count, so that they mostly have no interval; what
/// they leave open is then a part of what runs differ by.
fn work_of(wanted: &Figure, figure: &Figure) -> Option<RunMedian> {
    let (own, counts) = (wanted.counts.as_ref()?, figure.counts.as_ref()?);
    let work = match (own.insn, counts.insn) {
        (Some(_), Some(work)) => work,
        (None, None) => counts.insn_user?,
        _ => return None,
    };
    let CountedMedian { median, interval } = work;
    let is_usable = own.inherited == counts.inherited && median > 0.0;
    let known = interval.filter(|[low, _]| *low > 0.0);
    let run = match known {
        Some([low, high]) => {
            RunMedian::from_interval(median.ln(), Interval { lo: low.ln(), hi: high.ln() })
        }
        None => RunMedian { value: median.ln(), standard_error: 0.0, count: 1 },
    };
    is_usable.then_some(run)
}

/// The further metrics of a program.
fn metrics_of(figure: &Figure) -> BTreeMap<String, MetricRun> {
    let run = |it: &MetricFigure| {
        let MetricFigure { metric, median, interval } = it;
        interval.map(|interval| (metric.clone(), MetricRun { median: *median, interval }))
    };
    figure.metrics.iter().filter_map(run).collect()
}

/// The figures of a run in cycles of the core.
fn cycles_of(run: &SummarisedRun) -> BTreeMap<(&str, &str), &Figure> {
    let cycles = run.summary.figures.iter().filter(|it| it.unit == Unit::CyclesPerOp);
    // Of several figures of a case the first one, as of those in time.
    cycles.rev().map(|it| (key(it), it)).collect()
}

/// A figure whose earlier runs are wanted, and how many were found.
struct FigureQuery<'a> {
    figure: &'a Figure,
    found: usize,
    /// How many of each boot.
    by_boot: BTreeMap<Option<&'a str>, usize>,
}

fn key(figure: &Figure) -> (&str, &str) {
    (&figure.target, &figure.case)
}

/// Whether two figures are of the same op at the same target, measured in the same way: in one mode, or
/// in two that the cost of the op selects.
fn is_same_case(one: &Figure, other: &Figure) -> bool {
    let key = |it: &Figure| {
        let is_by_cost = it.mode.is_some_and(Mode::is_by_cost);
        let mode = it.mode.filter(|_| !is_by_cost);
        (it.rev, it.unit, is_by_cost, mode, it.subject.clone(), it.file.clone())
    };
    (&one.case, &one.target) == (&other.case, &other.target)
        && one.peer.is_none()
        && other.peer.is_none()
        && key(one) == key(other)
}

/// Whether two figures are of one machine with one kernel in one configuration, by one worker.
fn is_same_system(one: &Summary, of_one: &Figure, other: &Summary, of_other: &Figure) -> bool {
    is_same_machine(one, of_one.machine, other, of_other.machine)
}

/// The same of two machines, by their indices in their runs.
pub(super) fn is_same_machine(
    one: &Summary,
    in_one: Option<usize>,
    other: &Summary,
    in_other: Option<usize>,
) -> bool {
    let state = |summary: &Summary, machine: Option<usize>| {
        let state = summary.machine_states.get(machine?)?;
        // Another boot of it is the same system.
        Some(MachineState { class: None, boot: None, ..state.clone() })
    };
    let (one_state, other_state) = (state(one, in_one), state(other, in_other));
    one.worker == other.worker && one_state.is_some() && one_state == other_state
}

/// A stored figure as one value, by its logarithm; `None` if nothing may be concluded from it.
fn run_median(summary: &Summary, figure: &Figure) -> Option<RunMedian> {
    let state = figure.machine.and_then(|at| summary.machine_states.get(at));
    let very_noisy = state.and_then(|it| it.class.as_deref()) == Some(VERY_NOISY);
    let unusable = ["UNRELIABLE", "BELOW_DETECTION"];
    let flagged = figure.flags.iter().any(|flag| unusable.contains(&flag.as_str()));
    let [low, high] = figure.interval?;
    let is_cost = low > 0.0 && low <= figure.median && figure.median <= high;
    let usable = is_cost && !very_noisy && !flagged && !summary.clock_drifted;
    let interval = Interval { lo: low.ln(), hi: high.ln() };
    usable.then(|| RunMedian::from_interval(figure.median.ln(), interval))
}

#[cfg(test)]
mod tests {
    use super::super::test_store::figure;
    use super::*;

    fn run(id: &str, worker: &str, kernel: &str, median: f64) -> SummarisedRun {
        let figure = Figure {
            cpu: Some(1),
            interval: Some([0.99 * median, 1.01 * median]),
            ..figure("syscall/read", median)
        };
        let class = Some("quiet".to_owned());
        let state = MachineState { kernel: kernel.to_owned(), class, ..MachineState::default() };
        let summary = Summary {
            worker: worker.to_owned(),
            machine_states: vec![state],
            figures: vec![figure],
            ..Summary::default()
        };
        SummarisedRun { id: id.to_owned(), started: id.to_owned(), imported: false, summary }
    }

    fn count(compared: &Summary, stored: &[SummarisedRun]) -> usize {
        runs_of_system(compared, stored, |_| true).len()
    }

    #[test]
    fn runs_of_the_same_machine_kernel_and_worker_are_earlier_runs() {
        let mut compared = run("9", "w", "k", 100.0).summary;
        compared.machine_states[0].boot = Some("boot".to_owned());
        let mut noisy = run("4", "w", "k", 103.0);
        noisy.summary.machine_states[0].class = Some("very-noisy".to_owned());
        let mut flagged = run("5", "w", "k", 103.0);
        flagged.summary.figures[0].flags.push("UNRELIABLE".to_owned());
        let mut drifted = run("6", "w", "k", 103.0);
        drifted.summary.clock_drifted = true;
        let stored = [
            run("1", "w", "k", 101.0),
            run("2", "another worker", "k", 102.0),
            run("3", "w", "another kernel", 103.0),
            noisy,
            flagged,
            drifted,
        ];
        assert_eq!(count(&compared, &stored), 1);
        assert_eq!(very_noisy_count(&[&compared], &stored), 1);
        let mut many: Vec<SummarisedRun> =
            (0..100).map(|number| run(&format!("{number:03}"), "w", "k", 100.0)).collect();
        assert_eq!(count(&compared, &many), MAX_RUNS_OF_A_BOOT);
        for (at, run) in many.iter_mut().enumerate() {
            run.summary.machine_states[0].boot = Some(format!("boot {}", at / 40));
        }
        assert_eq!(count(&compared, &many), MAX_RUNS, "twenty of each of the newest two");
    }

    #[test]
    fn runs_that_are_left_out_are_told() {
        let note = |runs: SystemRuns, very_noisy| RunsBefore { runs, very_noisy }.note_on_noise();
        assert_eq!(note(SystemRuns::default(), 0), None);
        let alone = note(SystemRuns::default(), 2).unwrap();
        assert!(alone.starts_with("2 earlier runs are left out"), "{alone}");
        assert!(alone.ends_with("very noisy; no others are known"), "{alone}");
        let compared = run("9", "w", "k", 100.0).summary;
        let runs = runs_of_system(&compared, &[run("1", "w", "k", 101.0)], |_| true);
        let beside = note(runs, 1).unwrap();
        assert!(beside.starts_with("1 earlier run is") && beside.ends_with("noisy"), "{beside}");
    }

    #[test]
    fn a_run_with_figures_in_cycles_is_one_run_of_both() {
        let in_cycles = |mut run: SummarisedRun| {
            let time = run.summary.figures[0].clone();
            let median = 3.0 * time.median;
            let interval = time.interval.map(|ends| ends.map(|end| 3.0 * end));
            let cycles = Figure { unit: Unit::CyclesPerOp, median, interval, ..time };
            run.summary.figures.push(cycles);
            run
        };
        let compared = in_cycles(run("9", "w", "k", 100.0)).summary;
        let stored = [run("1", "w", "k", 101.0), in_cycles(run("2", "w", "k", 102.0))];
        let found = runs_of_system(&compared, &stored, |_| true);
        let row: oscost_model::record::Row = serde_json::from_value(serde_json::json!({
            "case": "syscall/read", "benchmark": "syscall/read", "rev": 1, "point": {},
            "target": {"text": "local", "host": "local", "treatments": [], "machine": "m0",
                "cpu": null, "peer": null},
            "outcome": "measured", "reason": null, "mode": null, "unit": "ns/op",
            "better": "lower", "estimate": null, "metrics": {}, "repetitions": [], "calls": null,
            "floor": null, "expected": "", "class": null, "disturbed": {"lost_repetitions": 0,
                "rejected_pct": null, "rejected": {}, "lost_pct": null, "median_all": null,
                "plan": null}, "flags": [],
        }))
        .unwrap();
        let (runs, rated) = (found.boots(&row).concat(), found.rated_boots(&row).concat());
        assert_eq!((runs.len(), rated.len()), (2, 1));
        let rate = rated[0].rated_cost().rate;
        assert!((rate - 3f64.ln()).abs() < 1e-12, "{rate}");
    }

    #[test]
    fn a_figure_of_another_revision_or_unit_or_peer_is_of_another_case() {
        let one = run("1", "w", "k", 101.0).summary.figures[0].clone();
        assert!(is_same_case(&one, &one));
        for other in [
            Figure { rev: 2, ..one.clone() },
            Figure { unit: Unit::Seconds, ..one.clone() },
            Figure { target: "seccomp=allow@local".to_owned(), ..one.clone() },
            Figure { peer: Some(1), ..one.clone() },
            Figure { subject: Some("another".to_owned()), ..one.clone() },
            Figure { mode: Some(Mode::C), ..one.clone() },
        ] {
            assert!(!is_same_case(&one, &other), "{other:?}");
        }
        // A pilot near 50 us may choose either.
        let [batches, shots, cold] =
            [Mode::B, Mode::S, Mode::C].map(|mode| Figure { mode: Some(mode), ..one.clone() });
        assert!(is_same_case(&batches, &shots) && !is_same_case(&shots, &cold));
    }
}
