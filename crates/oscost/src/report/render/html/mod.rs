//! A report as one HTML file that makes no requests.
//!
//! Text, tables and charts are in the markup and need no script; a small script sorts and filters
//! tables, sorts and zooms charts, and shows explanations. The template escapes all its values but
//! five, none of which has markup from outside: the style sheet, the script, the charts and the
//! sentences, which escape their texts themselves, and the data packed as base64. A content security
//! policy forbids all other scripts.

mod case_name;
mod forest;
mod heat_map;
mod plot;
mod prose;
mod timeline;
mod words;

mod script;

pub(super) use self::script::STYLE;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use askama::Template;
use serde::Serialize;

use self::heat_map::MapData;
pub(super) use self::words::Words;
use crate::advice::trust::Grade;
use crate::report::render::terminal;
use crate::report::view::document::chart::Chart;
use crate::report::view::document::heat_map::HeatMap;
use crate::report::view::document::{Block, View};

/// The data that the page's script reads.
#[derive(Serialize)]
struct Data<'a> {
    explained: BTreeMap<&'a str, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    maps: BTreeMap<&'a str, MapData<'a>>,
}

#[derive(Template)]
#[template(path = "page.html")]
struct Page<'a> {
    view: &'a View,
    converted: &'a BTreeMap<&'a str, Chart>,
    words: &'a Words,
    style: &'a str,
    script: &'a str,
    policy: String,
    data: String,
    version: &'a str,
    has_charts: bool,
}

impl Page<'_> {
    fn chart(&self, chart: &Chart) -> String {
        plot::figure(chart, self.words)
    }

    fn heat_map(&self, map: &HeatMap) -> String {
        heat_map::figure(map)
    }

    /// The grade that the answer gives; `None` if it gives none, or one of a newer oscost.
    fn grade(&self) -> Option<&'static str> {
        let trust = self.view.answer.as_ref()?.trust.as_deref()?.strip_prefix("Trust: ")?;
        let word = trust.split([':', ' ', '.']).next()?;
        Grade::ALL.map(Grade::text).into_iter().find(|grade| *grade == word)
    }
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

/// The heat maps of a report, by their ids.
fn heat_maps(view: &View) -> BTreeMap<&str, MapData<'_>> {
    let blocks = view.sections.iter().flat_map(|section| &section.blocks);
    let maps = blocks.filter_map(|block| match block {
        Block::HeatMap(map) => Some((map.id.as_str(), MapData::of(map))),
        _ => None,
    });
    maps.collect()
}

/// The report as HTML: equal reports give equal bytes.
pub fn report(view: &View) -> anyhow::Result<String> {
    let converted = converted_charts(view);
    let words = Words::of(view, charts(view).chain(converted.values()));
    let explained = view.explanations.iter();
    let explained = explained
        .map(|(id, sections)| {
            (id.as_str(), terminal::sections(sections, terminal::ScreenFormat::PLAIN))
        })
        .collect();
    let maps = heat_maps(view);
    let script = script::page_script(!maps.is_empty());
    let data = serde_json::to_vec(&Data { explained, maps })?;
    let page = Page {
        view,
        converted: &converted,
        words: &words,
        style: STYLE,
        script,
        policy: script::policy(script),
        data: script::pack(&data)?,
        version: env!("CARGO_PKG_VERSION"),
        has_charts: charts(view).next().is_some() || !converted.is_empty(),
    };
    Ok(page.render()?)
}
