//! Pages light and dark, on paper, on a phone, and read aloud.

use crate::chromium::Browser;
use crate::measured_runs::few_rows;
use crate::page::Page;
use crate::page_checks::{
    assert_self_contained, charts, every_chart_has_its_points, save_picture, words,
};

/// The colour of a style at a selector, as red, green and blue.
fn colour(page: &Page, selector: &str, style: &str) -> Vec<u64> {
    let colour =
        page.eval(&format!("getComputedStyle(document.querySelector('{selector}')).{style}"));
    let numbers = colour.as_str().unwrap().split(|c: char| !c.is_ascii_digit());
    numbers.filter_map(|number| number.parse().ok()).take(3).collect()
}

#[test]
fn the_page_and_its_charts_follow_the_colour_scheme() {
    let Some(browser) = Browser::start() else { return };
    let (_rows, mut page) = few_rows(&browser);
    let bright = |colour: Vec<u64>| colour.iter().sum::<u64>() > 3 * 128;
    let is_dark = |page: &Page| {
        let ground = bright(colour(page, "body", "backgroundColor"));
        for text in ["#price-list-ns-op .top text", "#price-list-ns-op .rows li text"] {
            assert_ne!(bright(colour(page, text, "fill")), ground, "{text}");
        }
        !ground
    };
    assert!(!is_dark(&page));
    page.dark(true);
    assert!(is_dark(&page));
    save_picture(&page, "dark.png");
    assert_eq!(words(&page, "#theme"), "Light");
    page.click("#theme");
    assert!(!is_dark(&page), "the choice on the page overrides the system's");
    assert_eq!(words(&page, "#theme"), "Dark");
    assert_self_contained(&page);
}

#[test]
fn printing_is_light_and_omits_the_controls() {
    let Some(browser) = Browser::start() else { return };
    let (_rows, mut page) = few_rows(&browser);
    page.dark(true);
    let pdf = page.pdf();
    assert!(pdf.starts_with(b"%PDF") && pdf.len() > 20_000, "{} bytes", pdf.len());
    page.media("print");
    assert_eq!(colour(&page, "body", "backgroundColor"), [255, 255, 255]);
    assert_eq!(colour(&page, "#price-list-ns-op .rows li text", "fill"), [0, 0, 0]);
    every_chart_has_its_points(&page);
    for hidden in ["nav", ".tools", ".orders"] {
        let shown = page.eval(&format!("document.querySelector('{hidden}').offsetParent !== null"));
        assert_eq!(shown, false, "{hidden}");
    }
    save_picture(&page, "print.png");
    assert_self_contained(&page);
}

#[test]
fn on_a_phone_nothing_is_wider_than_the_page() {
    let Some(browser) = Browser::start() else { return };
    let (_rows, page) = few_rows(&browser);
    page.viewport(390, 844, true);
    every_chart_has_its_points(&page);
    assert_eq!(page.eval("document.scrollingElement.scrollWidth"), 390);
    save_picture(&page, "phone.png");
    assert_self_contained(&page);
}

#[test]
fn screen_readers_and_the_keyboard_can_use_the_page() {
    let Some(browser) = Browser::start() else { return };
    let (_rows, page) = few_rows(&browser);
    let charts = charts(&page);
    let accessibility_tree = page.accessibility_tree();
    let of = |role: &str| -> Vec<&str> {
        accessibility_tree
            .iter()
            .filter(|(its, _)| its.eq_ignore_ascii_case(role))
            .map(|(_, name)| name.as_str())
            .collect()
    };
    for title in ["The price list", "The machine", "Family by family", "The figures"] {
        assert!(of("heading").contains(&title) && of("link").contains(&title), "{title}");
    }
    assert_eq!(of("figure").iter().filter(|name| name.len() > 20).count(), charts.len());
    // A chart of rows is read as a list of names with their figures.
    let figure = words(&page, "#price-list-ns-op .rows li text");
    assert!(of("StaticText").contains(&figure.as_str()), "{figure}");
    let rows: u64 = charts.iter().map(|chart| chart.rows).sum();
    assert!(of("listitem").len() as u64 >= rows);
    assert!(
        of("table").iter().any(|name| name.contains("Every requested row")),
        "{:?}",
        of("table")
    );
    // With the mark that leads to its explanation.
    assert!(of("columnheader").iter().any(|name| name.starts_with("per op")));
    assert!(of("rowheader").len() > 2);
    assert!(of("button").iter().chain(&of("searchbox")).all(|name| !name.is_empty()));
    // The first focus is a skip link, visible while focused.
    page.key("Tab");
    assert_eq!(page.eval("document.activeElement.className"), "skip");
    let left = page.eval("document.activeElement.getBoundingClientRect().x");
    assert!(left.as_f64().unwrap() >= 0.0, "{left}");
    assert_self_contained(&page);
}
