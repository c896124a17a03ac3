//! A report as one HTML file that loads nothing from anywhere.
//!
//! Text and tables are in the markup; a script packed in the file draws charts and sorts and filters
//! tables. The template escapes everything it is given except three things, none of which comes from
//! outside: our style, our script, and what is packed as base64. A content security policy keeps
//! anything else from running.

mod chart;
mod forest;
mod timeline;

mod script;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use askama::Template;
use serde::Serialize;

use self::chart::{Plot, drawn};
use crate::report::render::terminal;
use crate::report::view::document::chart::Chart;
use crate::report::view::document::{Block, View};

/// What the page's script reads.
#[derive(Serialize)]
struct Data<'a> {
    charts: BTreeMap<&'a str, Plot<'a>>,
    explained: BTreeMap<&'a str, String>,
}

#[derive(Template)]
#[template(path = "page.html")]
struct Whole<'a> {
    view: &'a View,
    made: &'a BTreeMap<&'a str, Chart>,
    style: &'a str,
    glue: &'a str,
    policy: String,
    library: &'a str,
    data: String,
    version: &'a str,
    draws: bool,
}

/// The charts that are made of other blocks, by their ids.
fn made_charts(view: &View) -> BTreeMap<&str, Chart> {
    let blocks = view.sections.iter().flat_map(|section| &section.blocks);
    let charts = blocks.filter_map(|block| match block {
        Block::Forest(plot) => Some((plot.id.as_str(), forest::chart(plot)?)),
        Block::Timeline(it) => Some((it.id.as_str(), timeline::chart(it))),
        _ => None,
    });
    charts.collect()
}

/// The charts of a report, in order.
fn charts(view: &View) -> impl Iterator<Item = &Chart> {
    let blocks = view.sections.iter().flat_map(|section| &section.blocks);
    blocks.filter_map(|block| match block {
        Block::Chart(chart) => Some(chart.as_ref()),
        _ => None,
    })
}

/// The report as HTML: the same report is the same bytes.
pub fn report(view: &View) -> anyhow::Result<String> {
    let made = made_charts(view);
    let charts: BTreeMap<&str, Plot<'_>> =
        charts(view).chain(made.values()).map(|chart| (chart.id.as_str(), drawn(chart))).collect();
    // A page without charts does not need the library that draws them.
    let draws = !charts.is_empty();
    let explained = view.explanations.iter();
    let explained =
        explained.map(|(id, sections)| (id.as_str(), terminal::sections(sections))).collect();
    let data = serde_json::to_vec(&Data { charts, explained })?;
    let whole = Whole {
        view,
        made: &made,
        style: script::STYLE,
        glue: script::GLUE,
        policy: script::policy(draws),
        library: if draws { script::library_packed() } else { "" },
        data: script::packed(&data)?,
        version: env!("CARGO_PKG_VERSION"),
        draws,
    };
    // Enough for all of it, so that it is not copied as it grows.
    let packed = whole.library.len() + whole.data.len();
    let mut html = String::with_capacity(2 * packed);
    whole.render_into(&mut html)?;
    Ok(html)
}
