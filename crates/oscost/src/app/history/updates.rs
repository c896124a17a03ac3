//! What was updated between two runs of a series.

use std::collections::{BTreeMap, BTreeSet};

use oscost_model::worker::Mode;

use super::run_figure::RunFigure;
use crate::estimate::history::{Update, UpdatedPart};
use crate::store::MachineState;

/// How many letters of a worker's hash are shown.
const HASH_LETTERS: usize = 12;
/// A change of CPU is an update only if so many runs before it used one CPU, and as many after it
/// another: workers run on the least disturbed CPU, which may change with each run. With two CPUs
/// drawn at random that happens once in five hundred runs.
const RUNS_ON_ONE_CPU: usize = 5;

/// One recorded property of a machine.
type Part = fn(&MachineState) -> &Option<String>;

/// What is compared of the machines at both ends.
const MACHINE_PARTS: [(UpdatedPart, Part); 8] = [
    (UpdatedPart::Kernel, |machine| &machine.release),
    (UpdatedPart::Image, |machine| &machine.build_id),
    (UpdatedPart::CommandLine, |machine| &machine.command_line),
    (UpdatedPart::Mitigations, |machine| &machine.mitigations),
    (UpdatedPart::Modules, |machine| &machine.modules),
    (UpdatedPart::Tracers, |machine| &machine.tracers),
    (UpdatedPart::Microcode, |machine| &machine.microcode),
    (UpdatedPart::Clock, |machine| &machine.clock),
];

/// What was updated from run to run, each compared with the last run that recorded it.
pub(super) fn updates(fit: &[RunFigure<'_>]) -> Vec<Update> {
    let mut marks: Vec<Update> = Vec::new();
    let mut last: BTreeMap<(bool, UpdatedPart), &str> = BTreeMap::new();
    for (point, it) in fit.iter().enumerate() {
        let ends = [(false, it.machine), (true, it.peer)];
        let machine_parts = ends.into_iter().flat_map(|(peer, state)| {
            MACHINE_PARTS.map(|(what, part)| (peer, what, state.and_then(|it| part(it).as_deref())))
        });
        let summary = &it.run.summary;
        let tool_parts = [
            (false, UpdatedPart::Mode, it.figure.mode.map(Mode::text)),
            (false, UpdatedPart::Oscost, Some(summary.tool.as_str())),
            (false, UpdatedPart::Worker, Some(summary.worker.as_str())),
        ];
        let mut updated_kernel = None;
        for (peer, what, now) in machine_parts.chain(tool_parts) {
            let Some(now) = now else { continue };
            let before = last.insert((peer, what), now).filter(|&before| before != now);
            let Some(before) = before else { continue };
            if what == UpdatedPart::Kernel {
                updated_kernel = Some(peer);
            }
            // A new release always has a new image.
            if what == UpdatedPart::Image && updated_kernel == Some(peer) {
                continue;
            }
            let [from, to] = texts(what, before, now);
            marks.push(Update { point, part: what, peer, from, to });
        }
        marks.extend(moved_cpu(fit, point));
    }
    marks
}

/// The old and the new text of an update: of lists only what differs.
fn texts(what: UpdatedPart, before: &str, now: &str) -> [String; 2] {
    let separator = match what {
        UpdatedPart::CommandLine | UpdatedPart::Modules => " ",
        UpdatedPart::Mitigations | UpdatedPart::Tracers => "; ",
        UpdatedPart::Image | UpdatedPart::Worker => {
            return [before, now].map(|text| text.chars().take(HASH_LETTERS).collect());
        }
        _ => return [before, now].map(str::to_owned),
    };
    let parts = |text: &str| -> BTreeSet<String> {
        text.split(separator).filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let (old, new) = (parts(before), parts(now));
    if old == new {
        // Only their order differs.
        return [before, now].map(str::to_owned);
    }
    let only = |one: &BTreeSet<String>, other: &BTreeSet<String>| {
        let parts: Vec<&str> = one.difference(other).map(String::as_str).collect();
        if parts.is_empty() { "nothing".to_owned() } else { parts.join(separator) }
    };
    [only(&old, &new), only(&new, &old)]
}

/// Another CPU from this run on, if the runs before it shared one and those after it share another.
fn moved_cpu(fit: &[RunFigure<'_>], point: usize) -> Option<Update> {
    let before = fit.get(point.checked_sub(RUNS_ON_ONE_CPU)?..point)?;
    let after = fit.get(point..point + RUNS_ON_ONE_CPU)?;
    let shared_cpu = |runs: &[RunFigure<'_>]| {
        let first = runs.first()?.figure.cpu;
        first.filter(|_| runs.iter().all(|it| it.figure.cpu == first))
    };
    let (from, to) = (shared_cpu(before)?, shared_cpu(after)?);
    (from != to).then(|| Update {
        point,
        part: UpdatedPart::Cpu,
        peer: false,
        from: from.to_string(),
        to: to.to_string(),
    })
}
