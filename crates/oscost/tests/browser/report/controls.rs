//! The controls of a page: zoom, order, sorting, filter, copy.

use crate::chromium::Browser;
use crate::measured_runs::{few_rows, requested};
use crate::page_checks::{assert_self_contained, words};

#[test]
fn the_axis_stays_in_sight_and_charts_are_zoomed_by_keys_and_mouse() {
    let Some(browser) = Browser::start() else { return };
    let (_rows, page) = few_rows(&browser);
    page.viewport(1280, 300, false);
    page.eval("document.querySelector('#price-list-ns-op .rows li:last-child').scrollIntoView({ block: 'center' })");
    page.wait_for(
        "(() => { const top = document.querySelector('#price-list-ns-op .top').getBoundingClientRect();
           return top.top >= 0 && top.bottom <= innerHeight; })()",
    );
    page.viewport(1280, 800, false);
    let place = "document.querySelector('#price-list-ns-op .rows li g:last-of-type use').getBoundingClientRect().x";
    let before = page.eval(place).as_f64().unwrap();
    page.eval("document.querySelector('#price-list-ns-op [aria-label=\"Zoom in\"]').focus()");
    page.key("Enter");
    page.wait_for(&format!("Math.abs({place} - {before}) > 5"));
    assert_eq!(page.eval("document.scrollingElement.scrollWidth"), 1280);
    page.click("#price-list-ns-op .reset");
    page.wait_for(&format!("Math.abs({place} - {before}) < 0.5"));
    assert_eq!(page.eval("document.querySelector('#price-list-ns-op .reset').disabled"), true);
    assert_self_contained(&page);
}

#[test]
fn the_table_sorts_filters_and_is_copied() {
    let Some(browser) = Browser::start() else { return };
    let (rows, page) = few_rows(&browser);
    let requested = requested(&rows.record);
    let column = "[...document.querySelectorAll('#rows thead th')].findIndex(it => it.dataset.name === 'median')";
    let figures = || -> Vec<f64> {
        let all = page.eval(&format!(
            "(() => {{ const at = {column}; return [...document.querySelectorAll('#rows tbody tr')]
               .filter(row => !row.hidden).map(row => row.cells[at])
               .map(cell => Number(cell.dataset.v || cell.textContent)); }})()"
        ));
        serde_json::from_value(all).unwrap()
    };
    let mut medians: Vec<f64> =
        requested.iter().map(|row| row["estimate"]["median"].as_f64().unwrap()).collect();
    assert_eq!(figures(), medians, "equal to the record to the last digit");

    let head = "#rows thead th[data-name=median]";
    page.click(&*format!("{head} button"));
    medians.sort_by(f64::total_cmp);
    page.wait_for(&format!("document.querySelector('{head}').ariaSort === 'ascending'"));
    assert_eq!(figures(), medians);
    page.click(&*format!("{head} button"));
    medians.reverse();
    page.wait_for(&format!("document.querySelector('{head}').ariaSort === 'descending'"));
    assert_eq!(figures(), medians);

    page.click("#table input");
    for letter in "pipe round".chars() {
        page.key(&letter.to_string().replace(' ', "Space"));
    }
    let pipes = requested.iter().filter(|row| row["benchmark"] == "pipe/round-trip").count();
    assert!(pipes > 0 && pipes < requested.len());
    assert_eq!(figures().len(), pipes);
    assert_eq!(words(&page, "#table output"), format!("{pipes} of {} rows", requested.len()));

    page.click("#table .copy");
    page.wait_for("document.querySelector('#table output').textContent.includes('clipboard')");
    let copied = page.clipboard();
    let mut reader = csv::Reader::from_reader(copied.as_bytes());
    let at =
        |name: &str, heads: &csv::StringRecord| heads.iter().position(|it| it == name).unwrap();
    let heads = reader.headers().unwrap().clone();
    let lines: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(lines.len(), pipes);
    for line in lines {
        let row = requested.iter().find(|row| row["case"] == line[at("case", &heads)]).unwrap();
        let figure = |name| line[at(name, &heads)].parse::<f64>().unwrap();
        assert_eq!(figure("median"), row["estimate"]["median"].as_f64().unwrap());
        assert_eq!(figure("ci95_low"), row["estimate"]["ci95"][0].as_f64().unwrap());
        assert_eq!(line[at("unit", &heads)], *row["unit"].as_str().unwrap());
    }
    assert_self_contained(&page);
}

#[test]
fn a_click_on_a_figure_shows_its_row_even_if_filtered_out() {
    let Some(browser) = Browser::start() else { return };
    let (_rows, page) = few_rows(&browser);
    page.click("#rows tbody tr:last-child button");
    page.wait_for("document.querySelector('dialog').open");
    // The row is filtered out, and then its point in the chart is clicked.
    page.eval(
        "(() => { const input = document.querySelector('#table input');
           input.value = 'no such row';
           input.dispatchEvent(new Event('input')); })()",
    );
    assert_eq!(page.eval("document.querySelectorAll('#rows tbody tr:not([hidden])').length"), 0);
    page.click("dialog .row-link a");
    page.wait_for("!document.querySelector('dialog').open");
    page.wait_for("document.querySelector('#rows tr:target')?.hidden === false");
    assert_eq!(page.eval("document.querySelector('#table input').value"), "");
    assert_self_contained(&page);
}

#[test]
fn rows_are_ordered_by_cost_or_by_family() {
    let Some(browser) = Browser::start() else { return };
    let (_rows, page) = few_rows(&browser);
    // The cases from the top, as the axis names them.
    let names = || -> Vec<String> {
        let names = page.eval(
            "[...document.querySelectorAll('#price-list-ns-op .rows li')]
               .sort((one, other) => one.getBoundingClientRect().y - other.getBoundingClientRect().y)
               .map(it => it.querySelector('small').textContent)",
        );
        serde_json::from_value(names).unwrap()
    };
    let by_family = names();
    assert!(by_family[0].starts_with("timer/"), "{by_family:?}");
    let titles =
        "[...document.querySelectorAll('#price-list-ns-op h3')].filter(it => !it.hidden).length";
    assert_eq!(page.eval(titles), 3);
    page.click("#price-list .orders button:nth-child(2)");
    let by_cost = names();
    assert!(by_cost[0].starts_with("pipe/round-trip"), "{by_cost:?}");
    assert_eq!(page.eval(titles), 0);
    let pressed =
        page.eval("document.querySelector('#price-list .orders [aria-pressed=true]').textContent");
    assert_eq!(pressed, "by cost");
    page.click("#price-list .orders button:nth-child(1)");
    assert_eq!(names(), by_family);
    let sorted = |mut names: Vec<String>| {
        names.sort();
        names
    };
    assert_eq!(sorted(by_cost), sorted(by_family));
    assert_self_contained(&page);
}
