//! What a test reads in a page, and what holds for each.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::chromium::Browser;
use crate::page::Page;

/// Names a folder for pictures of whole pages, for inspection.
const PICTURES: &str = "OSCOST_PICTURES";

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Opens a page and waits until its script has run and all of it is laid out.
pub(crate) fn opened(browser: &Browser, path: &Path) -> Page {
    let page = browser.open(path);
    page.metric("oscost-ready");
    page.wait_for("document.documentElement.classList.contains('whole')");
    page
}

/// Asserts that the page has no errors and makes no requests.
pub(crate) fn assert_self_contained(page: &Page) {
    assert_eq!(page.complaints(), []);
    assert_eq!(page.requests(), [] as [&str; 0]);
}

/// Saves a picture of the whole page, if requested by the environment.
pub(crate) fn save_picture(page: &Page, name: &str) {
    if let Some(folder) = std::env::var_os(PICTURES) {
        fs::create_dir_all(&folder).unwrap();
        fs::write(Path::new(&folder).join(name), page.screenshot(true)).unwrap();
    }
}

/// A chart of the page.
#[derive(Debug, serde::Deserialize)]
pub(crate) struct DrawnChart {
    pub(crate) id: String,
    /// Its symbols, and its paths of dense points.
    pub(crate) points: u64,
    /// Those of them that are inside the area of the chart.
    pub(crate) inside: u64,
    /// Its rows of names and figures, and those whose texts are inside the chart.
    pub(crate) rows: u64,
    pub(crate) rows_inside: u64,
}

pub(crate) fn charts(page: &Page) -> Vec<DrawnChart> {
    let charts = page.eval(
        "[...document.querySelectorAll('.chart')].map(chart => {
           const box = chart.getBoundingClientRect();
           const isInside = (it, slack) => {
             const { left, right, top, bottom } = it.getBoundingClientRect();
             return left >= box.left - slack && right <= box.right + slack &&
               top >= box.top && bottom <= box.bottom;
           };
           // The box of a stretched path is larger than what is drawn, and that of a stroke is a line.
           const isMiddleInside = it => {
             const { left, right, top, bottom } = it.getBoundingClientRect();
             const [x, y] = [(left + right) / 2, (top + bottom) / 2];
             return x >= box.left && x <= box.right && y >= box.top && y <= box.bottom;
           };
           const points = [...chart.querySelectorAll('.rows use, .rows .d, .plane use')];
           const rows = [...chart.querySelectorAll('.rows li')];
           return {
             id: chart.id,
             points: points.length,
             inside: points.filter(isMiddleInside).length,
             rows: rows.length,
             rows_inside: rows.filter(it => {
               // A figure may be written twice, for wide and for narrow charts: one of them is shown.
               const isShown = text => text.getClientRects().length > 0;
               const figures = [...it.querySelectorAll('text')];
               const texts = [...it.querySelectorAll('a, span'), ...figures.filter(isShown)];
               return (figures.length === 0 || figures.some(isShown)) &&
                 texts.every(text => isInside(text, 2));
             }).length,
           };
         })",
    );
    serde_json::from_value(charts).unwrap()
}

/// Asserts that each chart has points, and all of its points, names and figures inside.
pub(crate) fn every_chart_has_its_points(page: &Page) -> Vec<String> {
    let charts = charts(page);
    assert!(!charts.is_empty());
    for chart in &charts {
        assert!(chart.points > 0 && chart.points == chart.inside, "{chart:?}");
        assert_eq!(chart.rows, chart.rows_inside, "{chart:?}");
    }
    charts.into_iter().map(|chart| chart.id).collect()
}

/// The text of the element at a selector.
pub(crate) fn words(page: &Page, selector: &str) -> String {
    let words = page.eval(&format!("document.querySelector({}).textContent", json!(selector)));
    words.as_str().unwrap().to_owned()
}
