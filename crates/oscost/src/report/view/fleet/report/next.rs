//! What to do next, as commands.

use super::content::{FleetContent, argument, section as section_of};
use crate::report::view::document::{Block, Fact, Section};

/// The commands that follow from the report.
pub(super) fn section(content: &FleetContent<'_>) -> Option<Section> {
    let source = argument(content.source).unwrap_or("SOURCE");
    let analysis = content.analysis;
    let found = analysis.findings.first().map(|it| it.node);
    let found = found.or_else(|| analysis.disturbed.first().map(|it| it.node));
    let found = found.and_then(|node| content.node(node));
    let check = found.map(|node| {
        let name = argument(&node.name).unwrap_or("NODE");
        Fact::command("check, on the node", format!("oscost fleet check {name} --against {source}"))
    });
    let has_spread = analysis.cases.iter().any(|it| it.between_visits.is_some());
    let repeat = (!has_spread)
        .then(|| Fact::command("visit nodes again", "oscost fleet run --repeat 3 --dry-run ..."));
    let is_incomplete = !content.rejected.is_empty();
    let status = is_incomplete
        .then(|| Fact::command("see what is missing", format!("oscost fleet status {source}")));
    let data =
        Fact::command("all figures", format!("oscost fleet report {source} --data-set FOLDER"));
    let facts: Vec<Fact> = [check, repeat, status, Some(data)].into_iter().flatten().collect();
    section_of("next", "Next", [Some(Block::Facts(facts))])
}
