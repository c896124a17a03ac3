//! Pages of runs and comparisons, light and dark, on a phone and printed, by mouse and by keyboard.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::chromium::Browser;
use crate::common::day_series::{CASE, forty_days};
use crate::common::{Sandbox, rows, scenario_file};
use crate::page::Page;
use crate::shared::Shared;

/// Names a file for a picture of the top of a page: `make picture` sets it.
const PICTURE: &str = "OSCOST_PICTURE";
/// Names a folder for pictures of whole pages, for inspection.
const PICTURES: &str = "OSCOST_PICTURES";

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Measures a run; its record and its page.
fn measured(sandbox: &Sandbox, arguments: &[&str]) -> (Value, PathBuf) {
    let [json, html] = ["run.json", "run.html"].map(|name| sandbox.file(name));
    let files = ["--json", text(&json), "--html", text(&html)];
    let ran = sandbox.oscost(&[&["run", "--quick"], arguments, &files].concat());
    // On a loaded machine a row may have too few undisturbed batches.
    assert!(matches!(ran.code, Some(0 | 3)), "{}", ran.stderr);
    (serde_json::from_slice(&fs::read(json).unwrap()).unwrap(), html)
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
struct DrawnChart {
    id: String,
    /// Its symbols, and its paths of dense points.
    points: u64,
    /// Those of them that are inside the area of the chart.
    inside: u64,
    /// Its rows of names and figures, and those whose texts are inside the chart.
    rows: u64,
    rows_inside: u64,
}

fn charts(page: &Page) -> Vec<DrawnChart> {
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
             rows_inside: rows.filter(it =>
               [...it.querySelectorAll('a, span, text')].every(text => isInside(text, 2))).length,
           };
         })",
    );
    serde_json::from_value(charts).unwrap()
}

/// Asserts that each chart has points, and all of its points, names and figures inside.
fn every_chart_has_its_points(page: &Page) -> Vec<String> {
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

/// The rows that the user requested.
fn requested(record: &Value) -> Vec<&Value> {
    let is_added = |flag: &Value| flag == "REFERENCE" || flag == "PRIMITIVE";
    let is_requested = |row: &&Value| !row["flags"].as_array().unwrap().iter().any(is_added);
    rows(record).iter().filter(is_requested).collect()
}

#[test]
fn the_page_of_a_run_is_self_contained_and_shows_every_figure() {
    let Some(browser) = Browser::start() else { return };
    let sandbox = Sandbox::new();
    let (record, path) = measured(&sandbox, &[]);
    let size = fs::metadata(&path).unwrap().len();
    assert!(size < 400_000, "{size}");
    let page = opened(&browser, &path);
    if let Some(picture) = std::env::var_os(PICTURE) {
        page.viewport(1200, 1960, false);
        fs::write(picture, page.screenshot(false)).unwrap();
    }
    let drawn = every_chart_has_its_points(&page);
    assert!(drawn.contains(&"price-list-ns-op".to_owned()), "{drawn:?}");
    for family in ["timer", "syscall", "process", "socket"] {
        assert!(drawn.contains(&format!("spread-{family}")), "{drawn:?}");
    }
    save_picture(&page, "light.png");

    // Each row has its line in the table, and each figure of the price list has its interval and
    // its text.
    let requested = requested(&record);
    let count = page.eval("document.querySelectorAll('#rows tbody tr').length");
    assert_eq!(count, requested.len());
    let sections = "#price-list, #no-costs";
    let billed = page.eval(&format!(
        "[...document.querySelectorAll('{sections}')]
           .reduce((sum, it) => sum + it.querySelectorAll('.rows li').length, 0)"
    ));
    let unplaced = page.eval(&format!(
        "[...document.querySelectorAll('{sections}')].flatMap(it => [...it.children])
           .filter(it => it.matches('p')).reduce((sum, it) => sum + parseInt(it.textContent), 0)"
    ));
    let with_figure = requested.iter().filter(|row| row["outcome"] == "measured").count();
    let shown = billed.as_u64().unwrap() + unplaced.as_u64().unwrap();
    assert_eq!(shown as usize, with_figure);
    // Each has its figure, as the table has it.
    let differing = page.eval(
        "[...document.querySelectorAll('#price-list .rows li, #no-costs .rows li')].filter(it => {
           const row = document.getElementById(it.querySelector('a').hash.slice(1));
           const at = [...row.closest('table').querySelectorAll('thead th')]
             .findIndex(head => head.dataset.name === 'median');
           return it.querySelector('text').textContent !== row.cells[at].textContent;
         }).map(it => it.textContent)",
    );
    assert_eq!(differing, json!([]));
    assert_self_contained(&page);
}

#[test]
fn curves_are_drawn_with_their_points_and_labels() {
    let Some(browser) = Browser::start() else { return };
    let sandbox = Sandbox::new();
    let (record, path) = measured(&sandbox, &["pipe/throughput", "memory/copy:size=*"]);
    let page = opened(&browser, &path);
    let drawn = every_chart_has_its_points(&page);
    let curves: Vec<&String> = drawn.iter().filter(|id| id.starts_with("curve-")).collect();
    let blocks: std::collections::BTreeSet<(&str, &str)> = record["curves"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["benchmark"].as_str().unwrap(), it["axis"].as_str().unwrap()))
        .collect();
    assert!(!curves.is_empty() && curves.len() == blocks.len(), "{curves:?} {blocks:?}");
    let first = record["curves"][0]["points"].as_array().unwrap();
    let case = first.iter().find(|it| !it["figure"].is_null()).unwrap()["case"].as_str().unwrap();
    let output = page.eval(
        "[...document.querySelectorAll('[id^=curve-] [data-row]')]
           .map(it => document.getElementById(it.dataset.row).textContent).join('|')",
    );
    assert!(output.as_str().unwrap().contains(case), "{output}");
    // A point that no name or line of another covers.
    page.eval(
        "(() => {
           for (const it of document.querySelectorAll('[id^=curve-] [data-row]')) {
             it.scrollIntoView({ block: 'center', behavior: 'instant' });
             const box = it.getBoundingClientRect();
             const hit = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
             if (hit?.closest('[data-row]')) { it.id = 'uncovered'; return; }
           }
         })()",
    );
    page.hover("#uncovered");
    page.wait_for("!document.querySelector('.card').hidden");
    save_picture(&page, "curves.png");
    assert_self_contained(&page);
}

/// A run of a few rows, whose page has each control.
struct FewRows {
    record: Value,
    path: PathBuf,
    _sandbox: Sandbox,
}

/// It takes seconds, and no other run can be made on the machine at once.
static FEW_ROWS: Shared<FewRows> = Shared::new();

/// A page of a few rows, to try each control.
fn few_rows(browser: &Browser) -> (Arc<FewRows>, Page) {
    let rows = FEW_ROWS.get(|| {
        let sandbox = Sandbox::new();
        let selectors = ["timer/clock-gettime", "syscall/getppid", "pipe/round-trip"];
        let (record, path) = measured(&sandbox, &selectors);
        Some(FewRows { record, path, _sandbox: sandbox })
    });
    let rows = rows.unwrap();
    let page = opened(browser, &rows.path);
    (rows, page)
}

#[test]
fn hovering_over_a_figure_shows_its_row_and_clicking_explains_it() {
    let Some(browser) = Browser::start() else { return };
    let sandbox = Sandbox::new();
    let (rows, page) = few_rows(&browser);
    let case = |row: &Value| row["case"].as_str().unwrap().to_owned();
    let cases: Vec<String> = requested(&rows.record).into_iter().map(case).collect();

    let point = "#price-list-ns-op .rows li g:last-of-type use";
    page.hover(point);
    page.wait_for("!document.querySelector('.card').hidden");
    let shown = words(&page, ".card b");
    assert!(cases.contains(&shown), "{shown}");
    let facts = words(&page, ".card dl");
    for part in ["per op", "95 % low", "repetitions", "class"] {
        assert!(facts.contains(part), "{part} is not shown: {facts}");
    }
    let figure = words(&page, "#price-list-ns-op .rows li text");
    assert!(facts.contains(&figure), "{figure}: {facts}");

    page.click(point);
    page.wait_for("document.querySelector('dialog').open");
    assert_eq!(page.eval("document.querySelector('.card').hidden"), true);
    let title = words(&page, "#explain-title");
    assert_eq!(title, shown);
    let explained = words(&page, "dialog pre");
    let benchmark = title.split(':').next().unwrap();
    let output = sandbox.oscost(&["explain", benchmark]).exits(0).stdout;
    assert!(output.starts_with(&explained) && explained.contains("What is timed"), "{explained}");
    page.key("Escape");
    page.wait_for("!document.querySelector('dialog').open");

    // The same by keyboard, from the table, and from the chart.
    page.eval("document.querySelector('#rows tbody button').focus()");
    page.key("Enter");
    page.wait_for("document.querySelector('dialog').open");
    assert_eq!(words(&page, "#explain-title"), words(&page, "#rows tbody th"));
    page.click("dialog form button");
    page.wait_for("!document.querySelector('dialog').open");
    page.eval(
        "document.querySelector('#price-list-ns-op .rows li a').focus({ focusVisible: true })",
    );
    page.wait_for("!document.querySelector('.card').hidden");
    page.key("Enter");
    page.wait_for("document.querySelector('dialog').open");
    assert_eq!(words(&page, "#explain-title"), shown);
    assert_self_contained(&page);
}

#[test]
fn each_word_opens_its_text_by_mouse_and_by_keyboard() {
    let Some(browser) = Browser::start() else { return };
    let sandbox = Sandbox::new();
    let (_rows, page) = few_rows(&browser);
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    // A heading, a class in a cell, and a series of a legend.
    let places = [
        ("thead th[data-name=median] a", "per op"),
        ("#rows td a[href^='#w-']", ""),
        ("#price-list-ns-op .legend a", ""),
    ];
    for (selector, word) in places {
        let word = if word.is_empty() { words(&page, selector) } else { word.to_owned() };
        page.click(selector);
        page.wait_for("document.querySelector('dialog').open");
        let shown = flat(&page.eval("document.querySelector('dialog').innerText").to_string());
        let printed = sandbox.oscost(&["explain", &word]).exits(0).stdout;
        let meaning = printed.lines().next().unwrap().trim();
        assert!(shown.contains(meaning), "{word}: {meaning}: {shown}");
        page.key("Escape");
        page.wait_for("!document.querySelector('dialog').open");
    }
    page.eval("document.querySelector('thead th[data-name=spread_pct] a').focus()");
    page.key("Enter");
    page.wait_for("document.querySelector('dialog').open");
    assert!(words(&page, "dialog .word").contains("standard deviation"));
    page.click("dialog a[href='#words']");
    page.wait_for("!document.querySelector('dialog').open && location.hash === '#words'");
    assert_self_contained(&page);
}

#[test]
fn without_scripts_all_figures_charts_and_words_are_there() {
    let Some(browser) = Browser::start() else { return };
    let (rows, with_scripts) = few_rows(&browser);
    // As a mail or a forge shows it.
    let sandbox = Sandbox::new();
    let path = sandbox.file("stripped.html");
    let whole = fs::read_to_string(&rows.path).unwrap();
    let (before, script) = whole.rsplit_once("<script>").unwrap();
    fs::write(&path, format!("{before}{}", script.split_once("</script>").unwrap().1)).unwrap();
    let page = browser.open(&path);
    assert_eq!(page.eval("performance.getEntriesByName('oscost-ready').length"), 0);
    assert_eq!(every_chart_has_its_points(&page), every_chart_has_its_points(&with_scripts));
    let figures = "[...document.querySelectorAll('.chart text')].map(it => it.textContent)";
    assert_eq!(page.eval(figures), with_scripts.eval(figures));
    // Nothing that needs a script is shown.
    for hidden in [".tools", ".orders", "#theme", "dialog"] {
        let shown = page.eval(&format!("document.querySelector('{hidden}').offsetParent !== null"));
        assert_eq!(shown, false, "{hidden}");
    }
    // A word is a link to its text, and a name to its row.
    page.click("#rows thead th[data-name=median] a");
    page.wait_for("document.querySelector('.word:target')?.textContent.includes('per op')");
    page.click("#price-list-ns-op .rows li a");
    page.wait_for("document.querySelector('#rows tr:target') !== null");
    save_picture(&page, "no-script.png");
    assert_self_contained(&page);
}

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
               .map(cell => Number(cell.dataset.value || cell.textContent)); }})()"
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

#[test]
fn a_comparison_is_a_forest_plot_of_ratios_with_verdicts() {
    let Some(browser) = Browser::start() else { return };
    let sandbox = Sandbox::new();
    let [json, html, kept_html] = ["ab.json", "ab.html", "compare.html"].map(|it| sandbox.file(it));
    let arguments = [
        "ab",
        "--quick",
        "--new",
        "seccomp=docker",
        "syscall/getppid",
        "timer/clock-gettime",
        "--json",
        text(&json),
        "--html",
        text(&html),
    ];
    sandbox.oscost(&arguments).exits(0);
    let record: Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    let page = opened(&browser, &html);
    let drawn = every_chart_has_its_points(&page);
    assert!(drawn.contains(&"forest-0".to_owned()), "{drawn:?}");
    let compared: Vec<&Value> = record["comparisons"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["control"] == false)
        .filter(|it| {
            let base = &rows(&record)[it["base"].as_u64().unwrap() as usize];
            !base["flags"]
                .as_array()
                .unwrap()
                .iter()
                .any(|it| it == "REFERENCE" || it == "PRIMITIVE")
        })
        .collect();
    assert!(compared.len() >= 3);
    assert_eq!(
        page.eval("document.querySelectorAll('#comparisons-0 tbody tr').length"),
        compared.len()
    );
    for it in compared {
        // Its figure in the chart, and its verdict in the row that the name links to.
        let output = page.eval(&format!(
            "[...document.querySelectorAll('#forest-0 .rows li')].some(it => {{
               const row = document.getElementById(it.querySelector('a').hash.slice(1));
               return row.textContent.includes({}) && row.textContent.includes({}) &&
                 it.querySelector('text').textContent.startsWith('x ');
             }})",
            json!(it["case"].as_str().unwrap().split(':').next()),
            it["verdict"]
        ));
        assert_eq!(output, true, "{it}");
    }
    // What is compared is drawn once.
    let drawn = page.eval("document.querySelectorAll('#price-list .rows li').length");
    assert_eq!(drawn.as_u64().unwrap() as usize, requested(&record).len() / 2);
    save_picture(&page, "ab.png");
    assert_self_contained(&page);

    // Two separate runs produce the same section.
    let host = format!("fake:{}", scenario_file("measured").display());
    for _ in 0..2 {
        sandbox.oscost(&["run", "--quick", "--at", &host, "syscall/getppid:via=raw"]).exits(0);
    }
    sandbox.oscost(&["compare", "last~1", "last", "--html", text(&kept_html)]).exits(0);
    let page = opened(&browser, &kept_html);
    assert_eq!(every_chart_has_its_points(&page), ["forest-0"]);
    assert_self_contained(&page);
}

#[test]
fn a_study_shows_published_and_measured_figures_with_its_claims() {
    let Some(browser) = Browser::start() else { return };
    let sandbox = Sandbox::new();
    let host = format!("fake:{}", scenario_file("study").display());
    let html = sandbox.file("study.html");
    let targets = ["--base", &host, "--new", &format!("ph@{host}")];
    let files = ["--quick", "--html", text(&html)];
    let arguments = [&["ab", "--study", "ph-2000"][..], &targets, &files].concat();
    sandbox.oscost(&arguments).exits(0);
    let page = opened(&browser, &html);
    let drawn = every_chart_has_its_points(&page);
    assert!(drawn.contains(&"then-0".to_owned()), "{drawn:?}");
    let claims = page.eval("document.querySelectorAll('#claims tbody tr').length");
    assert!(claims.as_u64().unwrap() > 0);
    assert_eq!(
        page.eval(
            "document.querySelector('#claims').compareDocumentPosition(document.querySelector('#then-0'))
               & Node.DOCUMENT_POSITION_FOLLOWING"
        ),
        4,
        "the claims come first"
    );
    let rows = words(&page, "#study-0 tbody");
    assert!(rows.contains("then") && rows.contains("here"), "{rows}");
    save_picture(&page, "study.png");
    assert_self_contained(&page);
}

#[test]
fn the_page_of_a_study_of_one_target_has_everything_its_text_has() {
    let Some(browser) = Browser::start() else { return };
    let sandbox = Sandbox::new();
    let host = format!("fake:{}", scenario_file("study").display());
    let html = sandbox.file("study.html");
    let arguments = ["run", "--study", "cse221-2014", "--quick", "--at", &host];
    let ran = sandbox.oscost(&[&arguments[..], &["--html", text(&html)]].concat());
    let page = browser.open(&html);
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = flat(&words(&page, "#study"));
    let printed = flat(&ran.stdout);
    for part in ["Expected before measuring", "then, ", "the mean of"] {
        assert!(printed.contains(part) && shown.contains(part), "{part}");
    }
    let claims = page.eval("document.querySelectorAll('#claims tbody tr').length");
    assert!(claims.as_u64().unwrap() > 0);
    assert_self_contained(&page);
}

#[test]
fn markup_in_foreign_text_is_escaped() {
    const MARKUP: &str = "</script><script>window.taken=1</script><img src=x onerror=window.taken=2>\
        <a href='javascript:window.taken=3'>\"&amp;%{x}";
    let Some(browser) = Browser::start() else { return };
    let sandbox = Sandbox::new();
    let (mut record, _) = measured(&sandbox, &["syscall/getppid", "pipe/throughput:size=*"]);
    record["label"] = MARKUP.into();
    record["command"] = json!([MARKUP]);
    record["tool"]["version"] = MARKUP.into();
    let machine = &mut record["machines"][0];
    machine["cpu"]["model_name"] = MARKUP.into();
    machine["os"]["release"] = MARKUP.into();
    machine["advice"] = json!([MARKUP]);
    record["conditions"][0]["tracers"] = json!([MARKUP]);
    for row in record["results"].as_array_mut().unwrap() {
        row["expected"] = MARKUP.into();
        row["class"] = MARKUP.into();
        row["reason"] = MARKUP.into();
        row["target"]["text"] = MARKUP.into();
    }
    for curve in record["curves"].as_array_mut().unwrap() {
        curve["sentences"] = json!([MARKUP]);
        curve["item"] = MARKUP.into();
        curve["target"] = MARKUP.into();
    }
    let [json, html] = ["theirs.json", "theirs.html"].map(|name| sandbox.file(name));
    fs::write(&json, record.to_string()).unwrap();
    sandbox.oscost(&["report", text(&json), "--html", text(&html)]).exits(0);
    let page = opened(&browser, &html);
    every_chart_has_its_points(&page);
    page.hover("#price-list-ns-op .rows li g:last-of-type use");
    page.wait_for("!document.querySelector('.card').hidden");
    assert_eq!(words(&page, "h1"), MARKUP);
    assert_eq!(page.eval("document.querySelectorAll('img, [href^=javascript], svg a').length"), 0);
    assert_eq!(page.eval("window.taken === undefined"), true);
    assert_eq!(page.eval("document.scripts.length"), 2, "ours, and what is packed");
    assert_self_contained(&page);
}

#[test]
fn a_history_chart_shows_each_run_its_changes_and_the_updates() {
    let Some(browser) = Browser::start() else { return };
    let sandbox = forty_days();
    let html = sandbox.file("history.html");
    sandbox.oscost(&["history", CASE, "--html", text(&html)]).exits(0);
    let page = opened(&browser, &html);
    assert_eq!(every_chart_has_its_points(&page), ["history-0"]);
    assert!(words(&page, "#history-0 .legend").contains("kernel updated"));
    let runs = page.eval(
        "[...document.querySelectorAll('#history-0 .plane use title')]
           .filter(it => /^run \\d+ of /.test(it.textContent)).length",
    );
    assert_eq!(runs, 40);
    assert_eq!(page.eval("document.querySelectorAll('#changes tbody tr').length"), 1);
    let change = words(&page, "#changes tbody tr");
    assert!(change.contains(CASE) && change.contains("2026-09-26"), "{change}");
    assert!(change.contains("kernel 6.1.0-22-cloud-amd64 -> 6.1.0-23-cloud-amd64"), "{change}");
    save_picture(&page, "history.png");
    assert_self_contained(&page);
}
