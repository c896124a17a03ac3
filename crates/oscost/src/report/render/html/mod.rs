//! A page as one HTML file that loads nothing from anywhere.
//!
//! Text and tables are in the markup; a script packed in the file draws charts and sorts and filters
//! tables. The template escapes everything it is given except three things, none of which comes from
//! outside: our style, our script, and what is packed as base64. A content security policy keeps
//! anything else from running.

pub(in crate::report) mod script;

use std::collections::BTreeMap;

use askama::Template;
use serde::Serialize;

use crate::report::view::chart::{Chart, Drawn};
use crate::report::view::document::{Page, Part};

/// What the page's script reads.
#[derive(Serialize)]
struct Data<'a> {
    charts: BTreeMap<&'a str, Drawn<'a>>,
    explained: &'a BTreeMap<String, String>,
}

#[derive(Template)]
#[template(path = "page.html")]
struct Whole<'a> {
    page: &'a Page,
    style: &'a str,
    glue: &'a str,
    policy: String,
    library: &'a str,
    data: String,
    version: &'a str,
    draws: bool,
}

/// The charts of a page, in order.
fn charts(page: &Page) -> impl Iterator<Item = &Chart> {
    let parts = page.sections.iter().flat_map(|section| &section.parts);
    parts.filter_map(|part| match part {
        Part::Chart(chart) => Some(chart.as_ref()),
        _ => None,
    })
}

/// The page as HTML: the same page is the same bytes.
pub(in crate::report) fn html(page: &Page) -> anyhow::Result<String> {
    let charts: BTreeMap<&str, Drawn<'_>> =
        charts(page).map(|chart| (chart.id.as_str(), chart.drawn())).collect();
    // A page without a chart needs not carry what draws them.
    let draws = !charts.is_empty();
    let data = serde_json::to_vec(&Data { charts, explained: &page.explained })?;
    let whole = Whole {
        page,
        style: script::STYLE,
        glue: script::GLUE,
        policy: script::policy(draws),
        library: if draws { script::library_packed() } else { "" },
        data: script::packed(&data)?,
        version: env!("CARGO_PKG_VERSION"),
        draws,
    };
    // All of it is written once, and not moved as it grows.
    let packed = whole.library.len() + whole.data.len();
    let mut html = String::with_capacity(2 * packed);
    whole.render_into(&mut html)?;
    Ok(html)
}
