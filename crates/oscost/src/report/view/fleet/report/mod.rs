//! A fleet: which nodes and which of their cases stand out, with the facts that set them apart; then
//! all nodes by all cases, their classes, where the variance is from, and what changed.

mod changes;
mod content;
mod document;
mod fact_text;
mod findings;
mod map;
mod map_order;
mod next;
mod sentence;
mod spreads;
#[cfg(test)]
mod tests;
mod unjudged;
mod visits;

pub use self::content::{FleetContent, Rejected};
pub use self::document::{SCHEMA, json};
use crate::report::view::document::{Answer, Paragraph, View};

/// The fleet as a page shows it: what stands out is its answer.
pub fn page(content: &FleetContent<'_>) -> View {
    View {
        lead: vec![Paragraph::from(sentence::conditions(content))],
        answer: Some(Answer { findings: sentence::headlines(content), ..Answer::default() }),
        ..view(content)
    }
}

/// The fleet as a screen shows it.
pub fn view(content: &FleetContent<'_>) -> View {
    let mut lead = sentence::headlines(content);
    lead.push(sentence::conditions(content));
    let sections = [
        findings::section(content),
        map::section(content),
        spreads::classes(content),
        spreads::cases(content),
        spreads::variance(content),
        spreads::unsteady_nodes(content),
        changes::section(content),
        visits::section(content),
        next::section(content),
    ];
    View {
        title: format!("Fleet {} by oscost", content.fleet_name()),
        lead: lead.into_iter().map(Paragraph::from).collect(),
        sections: sections.into_iter().flatten().collect(),
        ..View::default()
    }
}
