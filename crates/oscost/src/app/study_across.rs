//! `oscost study across`: the same acts in all studies, and in the newest runs of the store.

use std::collections::btree_map::{BTreeMap, Entry};

use oscost_model::record::Record;
use oscost_model::target::Target;

use super::error::UsageError;
use super::observer::Observer;
use super::results::figures::SUMMARY_RULES;
use super::results::missing_figures::{RunsWithoutFigures, complete};
use super::results::records::load;
use super::results::user_data::existing_store;
use super::selection::named_files::find_study;
use super::study::list;
use crate::store::{MachineState, Store, SummarisedRun};
use crate::studies::figures::counted_cycles::counted_cycles;
use crate::studies::history::across::{Across, MeasuredFigure, MeasuredFigures, across, cases};
use crate::studies::{ClockRates, Study};

/// Which studies, and whose runs.
#[derive(Clone, Debug)]
pub struct Request {
    /// Files of the user, in addition to the studies that come with oscost.
    pub files: Vec<String>,
    /// The target that was measured.
    pub at: String,
}

/// The studies, and the newest figures of their acts.
#[derive(Clone, Debug)]
pub struct StudiesAndRuns {
    studies: Vec<Study>,
    figures: MeasuredFigures,
    /// The class of the machine of these figures; `None` if there are none.
    pub machine: Option<String>,
    /// Runs with figures of these acts that were made on machines of other classes.
    pub other_runs: usize,
}

impl StudiesAndRuns {
    /// All acts, then and here.
    pub fn across(&self) -> Across<'_> {
        across(&self.studies, &self.figures)
    }

    /// The newest figures, by case.
    pub fn figures(&self) -> &MeasuredFigures {
        &self.figures
    }
}

/// The studies, and the newest figures of their acts at the target.
pub fn look_up(request: &Request, observer: &dyn Observer) -> anyhow::Result<StudiesAndRuns> {
    look_up_with(request, &[], observer)
}

/// The same, with the newest figures of other cases.
pub fn look_up_with(
    request: &Request,
    other_cases: &[String],
    observer: &dyn Observer,
) -> anyhow::Result<StudiesAndRuns> {
    let target = Target::parse(&request.at).map_err(|error| UsageError(error.to_string()))?;
    let mut studies = list();
    for file in &request.files {
        let study = find_study(file)?;
        if !studies.contains(&study) {
            studies.push(study);
        }
    }
    let mut found =
        StudiesAndRuns { studies, figures: MeasuredFigures::new(), machine: None, other_runs: 0 };
    if let Some(mut store) = existing_store()? {
        let wanted = [&cases(&found.studies), other_cases].concat();
        let target = target.to_string();
        add_figures(
            &mut found,
            &mut store,
            &FigureRequest { cases: &wanted, target: &target },
            observer,
        )?;
    }
    Ok(found)
}

/// A figure that was chosen, and its run.
struct Newest<'a> {
    run: &'a SummarisedRun,
    figure: &'a crate::store::Figure,
}

/// What a run says of cycles.
struct RunCycles {
    rates: ClockRates,
    /// Those that the processor counted, by case.
    counted: BTreeMap<String, f64>,
}

impl RunCycles {
    /// Those of the rows at this target.
    fn of(record: &Record, target: &str) -> Self {
        let rows = record.results.iter();
        let rows = rows.filter(|row| row.target.text == target && row.target.peer.is_none());
        let counted = rows.filter_map(|row| Some((row.case.clone(), counted_cycles(row)?)));
        Self { rates: ClockRates::of(record), counted: counted.collect() }
    }
}

/// The figures that are looked for.
struct FigureRequest<'a> {
    cases: &'a [String],
    target: &'a str,
}

fn add_figures(
    found: &mut StudiesAndRuns,
    store: &mut Store,
    &FigureRequest { cases: wanted, target }: &FigureRequest<'_>,
    observer: &dyn Observer,
) -> anyhow::Result<()> {
    let RunsWithoutFigures { mut unkept, .. } = complete(store, observer)?;
    unkept.iter_mut().for_each(|run| run.summary.figures.retain(|it| wanted.contains(&it.case)));
    let is_wanted = |case: &str| wanted.iter().any(|it| it == case);
    let mut kept = store.figures(SUMMARY_RULES, &is_wanted)?;
    kept.append(&mut unkept);
    // The newest first.
    kept.sort_by(|one, other| (&other.started, &other.id).cmp(&(&one.started, &one.id)));
    let mut newest: BTreeMap<&str, Newest<'_>> = BTreeMap::new();
    for run in &kept {
        let mut is_other = false;
        for figure in &run.summary.figures {
            // A program's figure, a peer elsewhere and an unreliable figure are no act's.
            let is_usable = figure.target == target
                && figure.peer.is_none()
                && !figure.flags.iter().any(|flag| flag == "UNRELIABLE");
            let state = figure.machine.and_then(|at| run.summary.machine_states.get(at));
            let Some(MachineState { machine, .. }) = state.filter(|_| is_usable) else { continue };
            // The newest run says which machine this is; the store may hold runs of others.
            let here = found.machine.get_or_insert_with(|| machine.clone());
            if here != machine {
                is_other = true;
            } else {
                newest.entry(&figure.case).or_insert(Newest { run, figure });
            }
        }
        found.other_runs += usize::from(is_other);
    }
    let mut cycles: BTreeMap<&str, RunCycles> = BTreeMap::new();
    for (case, Newest { run, figure }) in newest {
        let of_run: &RunCycles = match cycles.entry(run.id.as_str()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                place.insert(RunCycles::of(&load(store, &run.id, false)?, target))
            }
        };
        let measured = MeasuredFigure {
            value: figure.median,
            interval: figure.interval,
            unit: figure.unit,
            run: run.id.clone(),
            started: run.started.clone(),
            core_ghz: of_run.rates.core_ghz,
            counted_cycles: of_run.counted.get(case).copied(),
        };
        found.figures.insert(case.to_owned(), measured);
    }
    Ok(())
}
