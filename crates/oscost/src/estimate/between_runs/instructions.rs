//! The instructions of an op between runs of one boot, as the processor counted them: how far they vary is
//! that of their class, until earlier runs show it.

use oscost_model::counters::{CounterEvent, INSN};
use oscost_model::journal::MetricVariation;
use oscost_model::record::Row;
use oscost_stats::between_runs::RunVariation;

use super::system_runs::SystemRuns;
use crate::estimate::counters::term::work_between_runs;
use crate::estimate::counters::work_variation::work_variation;

/// How far the instructions of an op vary between runs, by earlier runs of its system; `None` without
/// any that counted them.
pub(super) fn variation(row: &Row, earlier: &SystemRuns) -> Option<MetricVariation> {
    let boots = earlier.work_boots(row);
    let runs = boots.iter().map(Vec::len).sum::<usize>() as u32;
    let RunVariation { deviation, degrees_of_freedom } = work_variation(row, &boots);
    let metric = INSN.to_owned();
    (runs > 0).then_some(MetricVariation { metric, runs, deviation, degrees_of_freedom })
}

/// Adds the intervals between runs to the counts of both modes and of each.
pub(super) fn set_intervals(row: &mut Row, known: &[MetricVariation]) {
    let known = known.iter().find(|it| it.metric == INSN);
    let variation = match known {
        Some(&MetricVariation { deviation, degrees_of_freedom, .. }) => {
            RunVariation { deviation, degrees_of_freedom }
        }
        None => work_variation(row, &[]),
    };
    let Some(counters) = row.counters.as_ref() else { return };
    let (user, kernel) = (CounterEvent::InstructionsUser, CounterEvent::InstructionsKernel);
    for name in [INSN, user.metric(), kernel.metric()] {
        let counts = counters.repetitions.iter().filter_map(|it| it.figures.get(name).copied());
        let interval = work_between_runs(&counts.collect::<Vec<f64>>(), variation);
        if let Some(metric) = row.metrics.get_mut(name) {
            metric.estimate.between_run_ci95 = interval.map(|it| [it.lo, it.hi]);
        }
    }
}

#[cfg(test)]
mod tests {
    use oscost_model::record::Metric;
    use oscost_model::seed::Seed;
    use oscost_model::unit::{Better, Unit};
    use oscost_stats::between_runs::RunMedian;

    use super::*;
    use crate::estimate::made_up_rows::{counters, row};

    /// The deviation of the class of the row.
    const OF_CLASS: f64 = 0.000_5;
    const WORKERS: u32 = 6;

    /// The sum of twelve uniform deviates approximates a normal deviate.
    fn normal(seed: &mut Seed) -> f64 {
        (0..12).map(|_| seed.unit()).sum::<f64>() - 6.0
    }

    /// The logarithms of the counts of a run, around 0, whose workers differ by 0.02 %.
    fn run(deviation: f64, seed: &mut Seed) -> Vec<f64> {
        let of_run = deviation * normal(seed);
        (0..WORKERS).map(|_| of_run + 0.000_2 * normal(seed)).collect()
    }

    /// A row with these counts, around 1.
    fn counted(logs: &[f64]) -> Row {
        let counters = counters(logs.iter().map(|log| [(INSN, log.exp())]));
        let mut row = Row { counters: Some(counters), ..row("syscall/read", 100.0) };
        let estimate = row.estimate.clone().unwrap();
        let metric = Metric { unit: Unit::InstructionsPerOp, better: Better::Lower, estimate };
        row.metrics.insert(INSN.to_owned(), metric);
        row
    }

    /// The share of runs whose interval holds the long-run count, after so many earlier runs of their
    /// boot.
    fn coverage(deviation: f64, earlier: usize, seed: &mut Seed) -> f64 {
        const CASES: u32 = 1_000;
        let holds = |_: &u32| {
            let mut runs = SystemRuns::default();
            for _ in 0..earlier {
                let RunMedian { value, count, .. } = RunMedian::of(&run(deviation, seed)).unwrap();
                let work = RunMedian { value, standard_error: 0.0, count };
                runs.insert_work("local", "syscall/read", "boot", work);
            }
            let mut row = counted(&run(deviation, seed));
            let known: Vec<MetricVariation> = variation(&row, &runs).into_iter().collect();
            assert_eq!(known.iter().map(|it| it.runs).sum::<u32>() as usize, earlier);
            set_intervals(&mut row, &known);
            let [low, high] = row.metrics[INSN].estimate.between_run_ci95.unwrap();
            (low..=high).contains(&1.0)
        };
        f64::from((0..CASES).filter(holds).count() as u32) / f64::from(CASES)
    }

    #[test]
    fn an_interval_holds_the_long_run_count_and_follows_earlier_runs() {
        let mut seed = Seed::new(28);
        for earlier in [0, 1, 5, 20] {
            let share = coverage(OF_CLASS, earlier, &mut seed);
            assert!(share >= 0.93, "{earlier}: {share}");
        }
        // A case that varies by four times as much as its class.
        let [first, later] = [0, 20].map(|earlier| coverage(4.0 * OF_CLASS, earlier, &mut seed));
        assert!(first < 0.65 && later >= 0.89, "{first} {later}");
    }
}
