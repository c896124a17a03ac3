//! A report as one HTML file that makes no requests.
//!
//! Text and tables are in the markup; a script packed in the file draws charts and sorts and filters
//! tables. The template escapes all its values but three, none of which comes from outside: the
//! style sheet, the script, and the data packed as base64. A content security policy forbids all other
//! scripts.

mod chart;
mod forest;
mod timeline;

mod script;

pub(super) use self::script::STYLE;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use askama::Template;
use serde::Serialize;

use self::chart::{Plot, plotly_chart};
use crate::report::render::terminal;
use crate::report::view::document::chart::Chart;
use crate::report::view::document::{Block, View};

/// The data that the page's script reads.
#[derive(Serialize)]
struct Data<'a> {
    charts: BTreeMap<&'a str, Plot<'a>>,
    explained: BTreeMap<&'a str, String>,
}

#[derive(Template)]
#[template(path = "page.html")]
struct Page<'a> {
    view: &'a View,
    converted: &'a BTreeMap<&'a str, Chart>,
    style: &'a str,
    script: &'a str,
    policy: String,
    library: &'a str,
    data: String,
    version: &'a str,
    has_charts: bool,
}

/// The charts that other blocks are converted to, by their ids.
fn converted_charts(view: &View) -> BTreeMap<&str, Chart> {
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

/// The report as HTML: equal reports give equal bytes.
pub fn report(view: &View) -> anyhow::Result<String> {
    let converted = converted_charts(view);
    let charts: BTreeMap<&str, Plot<'_>> = charts(view)
        .chain(converted.values())
        .map(|chart| (chart.id.as_str(), plotly_chart(chart)))
        .collect();
    // A page without charts does not need the library that draws them.
    let has_charts = !charts.is_empty();
    let explained = view.explanations.iter();
    let explained =
        explained.map(|(id, sections)| (id.as_str(), terminal::sections(sections, terminal::ScreenFormat::PLAIN))).collect();
    let data = serde_json::to_vec(&Data { charts, explained })?;
    let page = Page {
        view,
        converted: &converted,
        style: STYLE,
        script: script::PAGE_SCRIPT,
        policy: script::policy(has_charts),
        library: if has_charts { script::packed_library() } else { "" },
        data: script::pack(&data)?,
        version: env!("CARGO_PKG_VERSION"),
        has_charts,
    };
    // Large enough for the whole page, so that the string is not reallocated.
    let packed = page.library.len() + page.data.len();
    let mut html = String::with_capacity(2 * packed);
    page.render_into(&mut html)?;
    Ok(html)
}
