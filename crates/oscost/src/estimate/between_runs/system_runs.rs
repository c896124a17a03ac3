//! Runs of one system.

use std::collections::BTreeMap;

use oscost_model::record::Row;
use oscost_stats::between_runs::RunMedian;
use oscost_stats::core_rate::RatedRun;

/// Runs of one system (machine, kernel and its configuration, worker), by case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SystemRuns {
    by_case: BTreeMap<CaseKey, Vec<EarlierRun>>,
    /// The instructions of a case, by boot: counts of two boots do not compare.
    work: BTreeMap<CaseKey, BTreeMap<String, Vec<RunMedian>>>,
}

/// A case on a target, without a remote peer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct CaseKey {
    target: String,
    case: String,
}

/// A further metric of a program in one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MetricRun {
    /// Its median over the trials.
    pub median: f64,
    /// The interval of the run.
    pub interval: [f64; 2],
}

/// The figure of a case in one run.
#[derive(Clone, Debug, PartialEq)]
struct EarlierRun {
    /// The boot that it is of, if that is known.
    boot: Option<String>,
    time: RunMedian,
    /// The same in cycles of the core, if the run measured its rate.
    cycles: Option<RunMedian>,
    /// Of a program: its further metrics.
    metrics: BTreeMap<String, MetricRun>,
}

impl EarlierRun {
    fn rated(&self) -> Option<RatedRun> {
        self.cycles.map(|cycles| RatedRun { time: self.time, cycles })
    }
}

impl SystemRuns {
    /// Adds the figure of a case in one run of this boot.
    pub fn insert(&mut self, target: &str, case: &str, boot: Option<&str>, time: RunMedian) {
        self.insert_program(target, case, boot, time, BTreeMap::new());
    }

    /// Adds the figure of a program in one run of this boot, and its further metrics.
    pub fn insert_program(
        &mut self,
        target: &str,
        case: &str,
        boot: Option<&str>,
        time: RunMedian,
        metrics: BTreeMap<String, MetricRun>,
    ) {
        let boot = boot.map(str::to_owned);
        self.add(target, case, EarlierRun { boot, time, cycles: None, metrics });
    }

    /// Adds the figure of a case in one run of this boot in time and in cycles of the core.
    pub fn insert_rated(&mut self, target: &str, case: &str, boot: Option<&str>, run: RatedRun) {
        let RatedRun { time, cycles } = run;
        let (boot, metrics) = (boot.map(str::to_owned), BTreeMap::new());
        self.add(target, case, EarlierRun { boot, time, cycles: Some(cycles), metrics });
    }

    /// Adds the instructions of a case in one run of this boot.
    pub fn insert_work(&mut self, target: &str, case: &str, boot: &str, work: RunMedian) {
        let key = CaseKey { target: target.to_owned(), case: case.to_owned() };
        let boots = self.work.entry(key).or_default();
        boots.entry(boot.to_owned()).or_default().push(work);
    }

    fn add(&mut self, target: &str, case: &str, run: EarlierRun) {
        let key = CaseKey { target: target.to_owned(), case: case.to_owned() };
        self.by_case.entry(key).or_default().push(run);
    }

    /// How many figures they are.
    pub fn len(&self) -> usize {
        self.by_case.values().map(Vec::len).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_case.is_empty()
    }

    /// The runs of a row's case by their boots. A row with a remote peer has none: they may have had
    /// another peer.
    pub fn boots(&self, row: &Row) -> Vec<Vec<RunMedian>> {
        self.by_boot(row, |it| Some(it.time))
    }

    /// Those of them that measured the core's rate.
    pub fn rated_boots(&self, row: &Row) -> Vec<Vec<RatedRun>> {
        self.by_boot(row, EarlierRun::rated)
    }

    /// The instructions of a row's case, by boot.
    pub(in crate::estimate) fn work_boots(&self, row: &Row) -> Vec<Vec<RunMedian>> {
        let boots = self.work.get(&CaseKey::of(row)).filter(|_| row.target.peer.is_none());
        boots.map(|it| it.values().cloned().collect()).unwrap_or_default()
    }

    /// A further metric of a program in its runs, by their boots.
    pub(super) fn metric_boots(&self, row: &Row, metric: &str) -> Vec<Vec<MetricRun>> {
        self.by_boot(row, |it| it.metrics.get(metric).copied())
    }

    /// How many boots the runs of a row's case are of; `None` if that is known of none of them.
    pub fn boot_count(&self, row: &Row) -> Option<usize> {
        let is_known = self.runs(row).iter().any(|it| it.boot.is_some());
        is_known.then(|| self.boots(row).len())
    }

    /// Runs of unknown boots may be of the same one, and of a known one: they count as no further
    /// boot.
    fn by_boot<T>(&self, row: &Row, figure: impl Fn(&EarlierRun) -> Option<T>) -> Vec<Vec<T>> {
        let mut boots: BTreeMap<Option<&str>, Vec<T>> = BTreeMap::new();
        for run in self.runs(row) {
            if let Some(figure) = figure(run) {
                boots.entry(run.boot.as_deref()).or_default().push(figure);
            }
        }
        let unknown = boots.remove(&None).unwrap_or_default();
        let mut boots: Vec<Vec<T>> = boots.into_values().collect();
        match boots.first_mut() {
            Some(first) => first.extend(unknown),
            None if unknown.is_empty() => {}
            None => boots.push(unknown),
        }
        boots
    }

    fn runs(&self, row: &Row) -> &[EarlierRun] {
        let runs = self.by_case.get(&CaseKey::of(row)).filter(|_| row.target.peer.is_none());
        runs.map_or(&[], Vec::as_slice)
    }
}

impl CaseKey {
    fn of(row: &Row) -> Self {
        Self { target: row.target.text.clone(), case: row.case.clone() }
    }
}
