//! Writes the folder of a simulated fleet.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::Context;
use oscost_model::fleet::{
    FLEET_SCHEMA, FleetLauncher, FleetMeasurement, FleetPlan, FleetSides, FleetTask, FleetVisit,
    MAX_TASKS, is_fleet_name,
};
use serde::Serialize;

use super::record::{SimulatedVisit, run_id};
use crate::app::error::UsageError;
use crate::app::fleet::folder::PLAN;
use crate::app::fleet::parallel::{for_each, thread_count};
use crate::app::fleet::record_folder::RecordFolder;
use crate::app::measurement::run_header::rfc3339;
use crate::files::output_file;
use crate::fleet::{Fleet, FleetSimulation, SimulatedFleet};

/// The file that says what was planted.
const TRUTH: &str = "TRUTH.json";

/// The first day of a simulated fleet, 2026-01-05, in seconds since 1970.
const FIRST_DAY_S: f64 = 1_767_571_200.0;

/// What is simulated, and where it is written.
#[derive(Clone, Debug)]
pub struct SimulateRequest {
    /// The fleet's folder.
    pub folder: PathBuf,
    /// The fleet's name.
    pub name: String,
    /// How many nodes.
    pub nodes: usize,
    /// How many cases each record has.
    pub cases: usize,
    /// How often each node is visited.
    pub visits: usize,
    /// The standard deviation of figures between visits, as a share of them.
    pub between_visits: f64,
    /// The same between nodes without a fault.
    pub between_nodes: f64,
    /// The share of nodes that get a fault.
    pub planted_share: f64,
    /// The seed.
    pub seed: u64,
    /// The tasks whose records are written; `None` for all.
    pub tasks: Option<Range<usize>>,
    /// The command line, for the records.
    pub command: Vec<String>,
}

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimulatedFolder {
    /// The tasks of the plan.
    pub tasks: usize,
    /// The records that were written.
    pub written: usize,
    /// The faults that were planted.
    pub planted: usize,
}

/// What was planted.
#[derive(Serialize)]
struct Truth<'a> {
    schema: &'static str,
    fleet: &'a str,
    seed: u64,
    between_visits: f64,
    between_nodes: f64,
    planted: Vec<PlantedTruth<'a>>,
}

/// A fault of a node.
#[derive(Serialize)]
struct PlantedTruth<'a> {
    node: &'a str,
    family: &'a str,
    ratio: f64,
    fact: &'a str,
}

/// Simulates a fleet, and writes its plan, its records, and what was planted.
pub fn simulate(request: &SimulateRequest) -> anyhow::Result<SimulatedFolder> {
    check(request)?;
    let SimulatedFleet { mut fleet, planted } = crate::fleet::simulate(&FleetSimulation {
        nodes: request.nodes,
        cases: request.cases,
        visits: request.visits,
        between_visits: request.between_visits,
        between_nodes: request.between_nodes,
        planted_share: request.planted_share,
        seed: request.seed,
        ..FleetSimulation::default()
    });
    fleet.visits.iter_mut().for_each(|visit| visit.started_s += FIRST_DAY_S);
    let plan = plan(request, &fleet);
    let truth = Truth {
        schema: "oscost.fleet-truth/1",
        fleet: &request.name,
        seed: request.seed,
        between_visits: request.between_visits,
        between_nodes: request.between_nodes,
        planted: planted
            .iter()
            .map(|fault| PlantedTruth {
                node: &fleet.nodes[fault.node].name,
                family: &fault.family,
                ratio: fault.ratio,
                fact: fault.fact,
            })
            .collect(),
    };
    write_json(&request.folder.join(PLAN), &plan)?;
    write_json(&request.folder.join(TRUTH), &truth)?;
    let all = 0..plan.tasks.len();
    let tasks = request.tasks.clone().unwrap_or_else(|| all.clone());
    let tasks = tasks.start.min(all.end)..tasks.end.min(all.end);
    write_records(request, &fleet, &plan, tasks.clone())?;
    Ok(SimulatedFolder { tasks: all.len(), written: tasks.len(), planted: planted.len() })
}

fn check(request: &SimulateRequest) -> anyhow::Result<()> {
    if !is_fleet_name(&request.name) {
        let what = format!("`{}` is no name of a fleet", request.name.escape_debug());
        let hint = "a name has letters, digits, `_`, `.` and `-`, 64 at most";
        return Err(UsageError::with_hint(&what, hint).into());
    }
    let tasks = request.nodes.saturating_mul(request.visits);
    if tasks > MAX_TASKS {
        let what = format!("cannot simulate {tasks} visits: the maximum is {MAX_TASKS}");
        return Err(UsageError::with_hint(&what, "simulate fewer nodes or visits").into());
    }
    let folder = &request.folder;
    let records = folder.join("records");
    fs::create_dir_all(&records).map_err(|error| {
        let what = format!("cannot make the folder {}: {error}", records.display());
        UsageError::with_hint(&what, "name a folder, in one that you may write")
    })?;
    let is_other =
        folder.join(PLAN).exists() && RecordFolder::open(folder)?.plan().id != plan_id(request);
    if is_other {
        let what = format!("{} is the folder of another fleet", folder.display());
        return Err(UsageError::with_hint(&what, "name a new folder").into());
    }
    Ok(())
}

/// The id of the plan: the same simulation has the same one.
fn plan_id(request: &SimulateRequest) -> String {
    let SimulateRequest { nodes, cases, visits, seed, .. } = request;
    let spreads = [request.between_visits, request.between_nodes, request.planted_share];
    let text = format!("{} {nodes} {cases} {visits} {seed} {spreads:?}", request.name);
    let hash = oscost_model::hash::content(text.as_bytes());
    let bits = u64::from_str_radix(&hash[..13], 16).unwrap_or_default();
    run_id(0.0, bits, u32::MAX)
}

fn plan(request: &SimulateRequest, fleet: &Fleet) -> FleetPlan {
    let first_s = fleet.visits.iter().map(|visit| visit.started_s).fold(f64::INFINITY, f64::min);
    let mut numbers = vec![0; fleet.nodes.len()];
    let tasks = fleet.visits.iter().map(|visit| {
        let number = numbers[visit.node];
        numbers[visit.node] += 1;
        let begin_s = visit.started_s - first_s;
        FleetTask { node: visit.node as u32, visit: number, begin_s }
    });
    let tasks = tasks.collect();
    let created = std::time::Duration::try_from_secs_f64(first_s).unwrap_or_default();
    FleetPlan {
        schema: FLEET_SCHEMA.to_owned(),
        id: plan_id(request),
        fleet: request.name.clone(),
        created: rfc3339(std::time::UNIX_EPOCH + created),
        tool: format!("{} (simulated)", env!("CARGO_PKG_VERSION")),
        seed: request.seed,
        measurement: FleetMeasurement {
            selectors: Vec::new(),
            effort: "quick".to_owned(),
            budget_s: None,
            treatments: None,
            sides: FleetSides::Alone,
            respects_lock: true,
        },
        launcher: FleetLauncher::Ssh,
        nodes: fleet.nodes.iter().map(|node| node.name.clone()).collect(),
        visits: request.visits as u32,
        apart_s: 0.0,
        at_once: None,
        tasks,
    }
}

fn write_records(
    request: &SimulateRequest,
    fleet: &Fleet,
    plan: &FleetPlan,
    tasks: Range<usize>,
) -> anyhow::Result<()> {
    let write = |_: &mut (), at: usize| -> anyhow::Result<()> {
        let task = tasks.start + at;
        let figures = &fleet.visits[task];
        let node = &fleet.nodes[figures.node];
        let visit = FleetVisit {
            fleet: plan.fleet.clone(),
            plan: plan.id.clone(),
            node: node.name.clone(),
            visit: plan.tasks[task].visit,
            task: task as u32,
            exclusive: None,
        };
        let simulated = SimulatedVisit {
            visit,
            seed: request.seed,
            node,
            cases: &fleet.cases,
            figures,
            command: &request.command,
        };
        let path = request.folder.join(RecordFolder::record_name(task as u32));
        let record = serde_json::to_vec(&simulated.record()?)?;
        let written = output_file::write_repeatable(&path, &record);
        written.with_context(|| format!("cannot write {}", path.display()))
    };
    let mut failed = None;
    let threads = vec![(); thread_count().min(tasks.len())];
    for_each(tasks.len(), threads, &mut (), &write, &mut |_, written| {
        if let Err(error) = written {
            failed.get_or_insert(error);
        }
    });
    failed.map_or(Ok(()), Err)
}

fn write_json(path: &Path, value: &impl Serialize) -> anyhow::Result<()> {
    let mut text = serde_json::to_vec(value)?;
    text.push(b'\n');
    output_file::write(path, &text).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::fleet::source::{FleetSource, load};
    use crate::store::CheckedRecord;

    fn request(folder: &Path) -> SimulateRequest {
        SimulateRequest {
            folder: folder.to_owned(),
            name: "made-up".to_owned(),
            nodes: 6,
            cases: 20,
            visits: 2,
            between_visits: 0.03,
            between_nodes: 0.01,
            planted_share: 0.2,
            seed: 7,
            tasks: None,
            command: vec!["oscost".to_owned()],
        }
    }

    #[test]
    fn the_records_are_valid_and_have_the_figures_that_were_simulated() {
        let folder = tempfile::tempdir().unwrap();
        let request = request(folder.path());
        let written = simulate(&request).unwrap();
        assert_eq!((written.tasks, written.written), (12, 12));
        let loaded = load(&FleetSource::Folder(folder.path().to_owned())).unwrap();
        assert_eq!(loaded.rejected, []);
        let simulated = crate::fleet::simulate(&FleetSimulation {
            nodes: 6,
            cases: 20,
            visits: 2,
            between_visits: 0.03,
            between_nodes: 0.01,
            planted_share: 0.2,
            seed: 7,
            ..FleetSimulation::default()
        });
        let fleet = simulated.fleet;
        assert_eq!(loaded.fleet.cases, fleet.cases);
        assert_eq!(loaded.fleet.visits.len(), fleet.visits.len());
        for (read, made) in loaded.fleet.visits.iter().zip(&fleet.visits) {
            assert_eq!((read.node, read.figures.len()), (made.node, made.figures.len()));
            for (read, made) in read.figures.iter().zip(&made.figures) {
                assert_eq!(read.case, made.case);
                assert!((read.median / made.median - 1.0).abs() < 0.01, "{read:?} {made:?}");
                assert!(!read.log_error.is_nan());
            }
        }
    }

    #[test]
    fn a_record_says_that_it_is_simulated_and_the_truth_names_the_nodes() {
        let folder = tempfile::tempdir().unwrap();
        let made = simulate(&request(folder.path())).unwrap();
        let bytes = fs::read(folder.path().join(RecordFolder::record_name(0))).unwrap();
        CheckedRecord::of(&bytes).unwrap();
        let record: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(record["label"], "simulated");
        assert_eq!(record["tool"]["worker"]["hash"], "simulated");
        assert_eq!(record["machines"][0]["virtualization"], "simulated");
        assert_eq!(record["results"][0]["repetitions"].as_array().unwrap().len(), 6);
        let truth = fs::read(folder.path().join(TRUTH)).unwrap();
        let truth: serde_json::Value = serde_json::from_slice(&truth).unwrap();
        let planted = truth["planted"].as_array().unwrap();
        assert_eq!(planted.len(), made.planted);
        assert!(planted.iter().all(|it| it["node"].is_string() && it["fact"].is_string()));
    }

    #[test]
    fn some_tasks_are_written_and_another_fleet_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let some = SimulateRequest { tasks: Some(3..5), ..request(folder.path()) };
        assert_eq!(simulate(&some).unwrap().written, 2);
        let opened = RecordFolder::open(folder.path()).unwrap();
        assert_eq!(opened.recorded_tasks().unwrap(), [3, 4]);
        let more = SimulateRequest { tasks: Some(10..99), ..some.clone() };
        assert_eq!(simulate(&more).unwrap().written, 2);
        let other = SimulateRequest { seed: 8, ..some.clone() };
        let error = simulate(&other).unwrap_err();
        assert!(error.is::<UsageError>(), "{error}");
        let odd = SimulateRequest { name: "a b".to_owned(), ..some };
        assert!(simulate(&odd).unwrap_err().is::<UsageError>());
    }
}
