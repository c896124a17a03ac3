//! What was updated from run to run of a series.

use std::collections::{BTreeMap, BTreeSet};

use oscost_model::worker::Mode;

use super::series::Found;
use crate::report::history::{Mark, Updated};
use crate::store::Stand;

/// So much of a worker's hash tells it from others.
const HASH: usize = 12;
/// Where workers run on whichever CPU is the quietest, another one is no update; where they stay on
/// one for so many runs and on another for as many, it may be. Of two CPUs drawn anew each time
/// that comes once in five hundred runs.
const STAYS: usize = 5;

/// A part of what is known of a machine.
type Part = fn(&Stand) -> &Option<String>;

/// What is watched of the machines at both ends.
const OF_MACHINES: [(Updated, Part); 8] = [
    (Updated::Kernel, |stand| &stand.release),
    (Updated::Image, |stand| &stand.build_id),
    (Updated::CommandLine, |stand| &stand.command_line),
    (Updated::Mitigations, |stand| &stand.mitigations),
    (Updated::Modules, |stand| &stand.modules),
    (Updated::Tracers, |stand| &stand.tracers),
    (Updated::Microcode, |stand| &stand.microcode),
    (Updated::Clock, |stand| &stand.clock),
];

/// What was updated from run to run: each against what the last run that tells it had.
pub(super) fn marks(fit: &[Found<'_>]) -> Vec<Mark> {
    let mut marks: Vec<Mark> = Vec::new();
    let mut last: BTreeMap<(bool, Updated), &str> = BTreeMap::new();
    for (point, it) in fit.iter().enumerate() {
        let ends = [(false, it.stand), (true, it.peer)];
        let of_machines = ends.into_iter().flat_map(|(peer, stand)| {
            OF_MACHINES.map(|(what, part)| (peer, what, stand.and_then(|it| part(it).as_deref())))
        });
        let summary = &it.run.summary;
        let of_tools = [
            (false, Updated::Mode, it.figure.mode.map(Mode::text)),
            (false, Updated::Oscost, Some(summary.tool.as_str())),
            (false, Updated::Worker, Some(summary.worker.as_str())),
        ];
        let mut released = None;
        for (peer, what, now) in of_machines.chain(of_tools) {
            let Some(now) = now else { continue };
            let before = last.insert((peer, what), now).filter(|&before| before != now);
            let Some(before) = before else { continue };
            if what == Updated::Kernel {
                released = Some(peer);
            }
            // Another release is another image.
            if what == Updated::Image && released == Some(peer) {
                continue;
            }
            let [from, to] = texts(what, before, now);
            marks.push(Mark { point, what, peer, from, to });
        }
        marks.extend(moved(fit, point));
    }
    marks
}

/// How an update is told: of lists only what differs.
fn texts(what: Updated, before: &str, now: &str) -> [String; 2] {
    let parted = match what {
        Updated::CommandLine | Updated::Modules => " ",
        Updated::Mitigations | Updated::Tracers => "; ",
        Updated::Image | Updated::Worker => {
            return [before, now].map(|text| text.chars().take(HASH).collect());
        }
        _ => return [before, now].map(str::to_owned),
    };
    let parts = |text: &str| -> BTreeSet<String> {
        text.split(parted).filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let (old, new) = (parts(before), parts(now));
    if old == new {
        // Nothing but their order.
        return [before, now].map(str::to_owned);
    }
    let only = |one: &BTreeSet<String>, other: &BTreeSet<String>| {
        let them: Vec<&str> = one.difference(other).map(String::as_str).collect();
        if them.is_empty() { "nothing".to_owned() } else { them.join(parted) }
    };
    [only(&old, &new), only(&new, &old)]
}

/// Another CPU from this run on, where there was one for some runs and is another one for some.
fn moved(fit: &[Found<'_>], point: usize) -> Option<Mark> {
    let before = fit.get(point.checked_sub(STAYS)?..point)?;
    let behind = fit.get(point..point + STAYS)?;
    let stays = |runs: &[Found<'_>]| {
        let first = runs.first()?.figure.cpu;
        first.filter(|_| runs.iter().all(|it| it.figure.cpu == first))
    };
    let (from, to) = (stays(before)?, stays(behind)?);
    (from != to).then(|| Mark {
        point,
        what: Updated::Cpu,
        peer: false,
        from: from.to_string(),
        to: to.to_string(),
    })
}
