//! Reports of several nodes, one after the other.

use super::exit::ExitStatus;
use super::output::{Output, report_line};
use crate::app::{NodeOutcome, NodeOutcomes, NodeTarget};
use crate::report::view::document::{Paragraph, View};

/// Writes what `document` makes of each node, and tells which nodes are missing.
pub(super) fn write_each<T>(
    outcomes: NodeOutcomes<T>,
    output: &mut Output,
    mut document: impl FnMut(&NodeTarget, T) -> anyhow::Result<String>,
) -> anyhow::Result<ExitStatus> {
    let NodeOutcomes { done, left_out, is_interrupted } = outcomes;
    let mut line_between = "";
    for NodeOutcome { node, outcome } in done {
        output.write(&format!("{line_between}{}", document(&node, outcome)?))?;
        line_between = "\n";
    }
    report_left_out(&left_out);
    Ok(match (is_interrupted, left_out.is_empty()) {
        (true, _) => ExitStatus::Interrupted,
        (false, true) => ExitStatus::Success,
        (false, false) => ExitStatus::NotMeasured,
    })
}

/// Names the nodes that are missing once more, below everything else.
pub(super) fn report_left_out(nodes: &[String]) {
    if !nodes.is_empty() {
        report_line(&format!("note: left out: {}", nodes.join(", ")));
    }
}

/// A report that begins with the name of its node, if it is that of one among several.
pub(super) fn titled(node: Option<&NodeTarget>, view: View) -> View {
    let title = node.map(|node| Paragraph::from(format!("Node {}", node.name)));
    View { lead: title.into_iter().chain(view.lead).collect(), ..view }
}
