//! What is read in a page.

use std::collections::BTreeMap;
use std::io::Read as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

/// The names of a page's sections, in order.
pub(super) fn sections(page: &str) -> Vec<&str> {
    page.split("<section id=\"").skip(1).filter_map(|it| it.split('"').next()).collect()
}

/// What is packed in a page.
pub(super) fn unpacked(page: &str, id: &str) -> Option<String> {
    let (_, rest) = page.split_once(&format!("id=\"{id}\">"))?;
    let bytes = BASE64_STANDARD.decode(rest.split_once("</script>")?.0).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
    Some(text)
}

pub(super) fn data(page: &str) -> Value {
    serde_json::from_str(&unpacked(page, "data").unwrap()).unwrap()
}

/// The charts of a page by their ids.
pub(super) fn charts(page: &str) -> BTreeMap<&str, &str> {
    let figures = page.split("<figure class=\"chart\" id=\"").skip(1);
    let figures = figures.filter_map(|rest| {
        let (id, rest) = rest.split_once('"')?;
        Some((id, rest.split_once("</figure>")?.0))
    });
    figures.collect()
}

/// The values of an attribute in markup.
pub(super) fn values<'a>(markup: &'a str, attribute: &str) -> Vec<&'a str> {
    let rest = markup.split(&format!(" {attribute}=\"")).skip(1).collect::<Vec<_>>();
    rest.into_iter().filter_map(|rest| rest.split('"').next()).collect()
}

/// All coordinates of a chart are numbers: with anything else a browser draws nothing.
pub(super) fn every_chart_is_of_numbers(page: &str) {
    let is_number = |text: &str| text.parse::<f64>().is_ok_and(f64::is_finite);
    for (id, chart) in charts(page) {
        for attribute in ["x", "x1", "x2", "y", "y1", "y2", "width", "height"] {
            for value in values(chart, attribute) {
                assert!(is_number(value.trim_end_matches('%')), "{id}: {attribute}={value}");
            }
        }
        for path in values(chart, "d") {
            // A sign begins a number.
            let spaced = path.replace('-', " -");
            let numbers = spaced.split(|c: char| c.is_ascii_alphabetic() || c == ' ');
            let odd = numbers.filter(|it| !it.is_empty()).find(|it| !is_number(it));
            assert_eq!(odd, None, "{id}: {path}");
        }
    }
}

/// The points of a chart, without those of its legend.
pub(super) fn points(chart: &str) -> usize {
    let drawn = chart.split_once("</ul>").map_or(chart, |(_, rest)| rest);
    drawn.matches("<use ").count()
}

/// No two elements have the same id.
pub(super) fn ids_are_unique(page: &str) {
    let mut ids: Vec<&str> =
        page.split(" id=\"").skip(1).filter_map(|it| it.split('"').next()).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all);
}
