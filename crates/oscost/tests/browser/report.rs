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

/// Traces that draw markers: not lines, not boxes.
const MARKED: &str = "plot.data.filter(it => it.type === 'scatter' && it.mode.includes('markers'))";

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

/// Opens a page and waits until its first charts are drawn.
fn opened(browser: &Browser, path: &Path) -> Page {
    let page = browser.open(path);
    page.metric("oscost-drawn");
    page
}

/// Asserts that the page has no errors and makes no requests.
fn assert_self_contained(page: &Page) {
    assert_eq!(page.complaints(), []);
    assert_eq!(page.requests(), [] as [&str; 0]);
}

/// Saves a picture of the whole page, if requested by the environment.
fn save_picture(page: &Page, name: &str) {
    if let Some(folder) = std::env::var_os(PICTURES) {
        fs::create_dir_all(&folder).unwrap();
        fs::write(Path::new(&folder).join(name), page.screenshot(true)).unwrap();
    }
}

/// Draws every chart of the page: its name, the number of points it was given, and the number
/// visible.
fn charts(page: &Page) -> Vec<(String, u64, u64)> {
    let charts = page.eval(&format!(
        "(async () => {{
           const found = [];
           for (const plot of document.querySelectorAll('.plot')) {{
             plot.scrollIntoView();
             for (let frames = 0; !plot.data && frames < 300; frames += 1) {{
               await new Promise(requestAnimationFrame);
             }}
             if (!plot.data) throw new Error(`${{plot.id}} is not drawn`);
             const given = {MARKED}.reduce((sum, it) => sum + it.x.length, 0);
             found.push([plot.id, given, plot.querySelectorAll('.points path.point').length]);
           }}
           scrollTo(0, 0);
           return found;
         }})()"
    ));
    serde_json::from_value(charts).unwrap()
}

/// Draws all charts and asserts that each has its points.
fn every_chart_has_its_points(page: &Page) -> Vec<String> {
    let charts = charts(page);
    assert!(!charts.is_empty());
    for (id, given, drawn) in &charts {
        assert!(given > &0 && given == drawn, "{id}: {drawn} of {given} points are drawn");
    }
    charts.into_iter().map(|(id, ..)| id).collect()
}

/// The text of the element at a selector.
fn words(page: &Page, selector: &str) -> String {
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
    assert!(fs::metadata(&path).unwrap().len() < 5_000_000);
    let page = opened(&browser, &path);
    if let Some(picture) = std::env::var_os(PICTURE) {
        page.viewport(1200, 1960, false);
        page.wait_for("document.querySelector('#price-list-ns-op svg').clientWidth <= 1200");
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
    let billed = page.eval(&format!(
        "[...document.querySelectorAll('.plot[id^=price-list-]')].flatMap(plot =>
           {MARKED}.filter(it => it.name !== 'floor').flatMap(it => it.customdata)).length"
    ));
    let unplaced =
        page.eval("document.querySelector('#price-list > p')?.textContent.split(' ')[0] ?? '0'");
    let unplaced: usize = unplaced.as_str().unwrap().parse().unwrap();
    let with_figure = requested.iter().filter(|row| row["outcome"] == "measured").count();
    assert_eq!(billed.as_u64().unwrap() as usize + unplaced, with_figure);
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
        "[...document.querySelectorAll('[id^=curve-]')].flatMap(
        plot => plot.data.flatMap(it => it.hovertext ?? [])).join('|')",
    );
    assert!(output.as_str().unwrap().contains(case), "{output}");
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

/// The middle of the first point of a chart, in the window.
fn first_point(page: &Page, chart: &str) -> (f64, f64) {
    let at = page.eval(&format!(
        "(() => {{
           const plot = document.getElementById({});
           const point = plot.querySelector('.points path.point');
           point.scrollIntoView({{ block: 'center' }});
           const box = point.getBoundingClientRect();
           return [box.x + box.width / 2, box.y + box.height / 2];
         }})()",
        json!(chart)
    ));
    (at[0].as_f64().unwrap(), at[1].as_f64().unwrap())
}

#[test]
fn hovering_over_a_figure_shows_it_and_clicking_explains_it() {
    let Some(browser) = Browser::start() else { return };
    let sandbox = Sandbox::new();
    let (rows, page) = few_rows(&browser);
    let record = &rows.record;
    let case = |row: &Value| row["case"].as_str().unwrap().to_owned();
    let cases: Vec<String> = requested(record).into_iter().map(case).collect();

    // Without floors, which have no label, the first point is a figure.
    page.eval("void window.Plotly.restyle('price-list-ns-op', { visible: false }, [0])");
    let point = first_point(&page, "price-list-ns-op");
    page.hover(point);
    page.wait_for("document.querySelector('#price-list-ns-op .hoverlayer .hovertext') !== null");
    let output = words(&page, "#price-list-ns-op .hoverlayer .hovertext");
    // Its case comes first; the name of another may begin it.
    let shown = requested(record).into_iter().filter(|row| output.starts_with(&case(row)));
    let shown = shown.max_by_key(|row| case(row).len());
    let shown = shown.unwrap_or_else(|| panic!("no case is shown: {output}"));
    // Six, unless there was time for more.
    let repetitions = format!("{} repetitions", shown["estimate"]["repetitions"]);
    for part in ["(", " .. ", &repetitions, "samples", "kernel entries"] {
        assert!(output.contains(part), "{part} is not shown: {output}");
    }

    page.click(point);
    page.wait_for("document.querySelector('dialog').open");
    let title = words(&page, "#explain-title");
    assert!(cases.contains(&title) && output.contains(&title), "{title}: {output}");
    let explained = words(&page, "dialog pre");
    let benchmark = title.split(':').next().unwrap();
    let output = sandbox.oscost(&["explain", benchmark]).exits(0).stdout;
    assert!(output.starts_with(&explained) && explained.contains("What is timed"), "{explained}");
    page.key("Escape");
    page.wait_for("!document.querySelector('dialog').open");

    // The same by keyboard, from the table.
    page.eval("document.querySelector('#rows tbody button').focus()");
    page.key("Enter");
    page.wait_for("document.querySelector('dialog').open");
    assert_eq!(words(&page, "#explain-title"), words(&page, "#rows tbody th"));
    page.click("dialog form button");
    page.wait_for("!document.querySelector('dialog').open");
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
               .filter(row => !row.hidden).map(row => Number(row.cells[at].dataset.value)); }})()"
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
        // A listener redraws the charts.
        let ink = if ground { "(r + g + b) < 384" } else { "(r + g + b) > 384" };
        page.wait_for(&format!(
            "(() => {{ const text = document.querySelector('#price-list-ns-op .xtick text');
               const [r, g, b] = getComputedStyle(text).fill.match(/\\d+/g).map(Number);
               return {ink}; }})()"
        ));
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
fn printing_draws_every_chart_light_and_omits_the_controls() {
    let Some(browser) = Browser::start() else { return };
    let (_rows, mut page) = few_rows(&browser);
    page.dark(true);
    // The text colour in charts when drawn for printing.
    page.eval(
        "void addEventListener('beforeprint', () => {
           const text = document.querySelector('#price-list-ns-op .xtick text');
           window.printed = getComputedStyle(text).fill;
         })",
    );
    let pdf = page.pdf();
    assert_eq!(
        page.eval("window.printed"),
        "rgb(28, 32, 38)",
        "dark text, although the screen is in dark mode"
    );
    assert_eq!(page.eval("document.documentElement.dataset.theme === undefined"), true);
    assert!(pdf.starts_with(b"%PDF") && pdf.len() > 20_000, "{} bytes", pdf.len());
    // Including charts that had not been scrolled into view.
    assert_eq!(page.eval("[...document.querySelectorAll('.plot')].every(it => it.data)"), true);
    page.media("print");
    assert_eq!(colour(&page, "body", "backgroundColor"), [255, 255, 255]);
    for hidden in ["nav", ".tools", ".orders"] {
        let shown = page.eval(&format!("document.querySelector('{hidden}').offsetParent !== null"));
        assert_eq!(shown, false, "{hidden}");
    }
    assert_self_contained(&page);
}

#[test]
fn on_a_phone_nothing_is_wider_than_the_page() {
    let Some(browser) = Browser::start() else { return };
    let (_rows, page) = few_rows(&browser);
    page.viewport(390, 844, true);
    page.wait_for("document.querySelector('#price-list-ns-op svg').clientWidth <= 390");
    every_chart_has_its_points(&page);
    assert_eq!(page.eval("document.scrollingElement.scrollWidth"), 390);
    let widest = page
        .eval("Math.max(...[...document.querySelectorAll('.plot svg')].map(it => it.clientWidth))");
    assert!(widest.as_f64().unwrap() <= 390.0, "{widest}");
    save_picture(&page, "phone.png");
    assert_self_contained(&page);
}

#[test]
fn screen_readers_and_the_keyboard_can_use_the_page() {
    let Some(browser) = Browser::start() else { return };
    let (_rows, page) = few_rows(&browser);
    let charts = charts(&page).len();
    page.wait_for("document.documentElement.classList.contains('whole')");
    let accessibility_tree = page.accessibility_tree();
    let of = |role: &str| -> Vec<&str> {
        accessibility_tree
            .iter()
            .filter(|(its, _)| its == role)
            .map(|(_, name)| name.as_str())
            .collect()
    };
    for title in ["The price list", "The machine", "Family by family", "The figures"] {
        assert!(of("heading").contains(&title) && of("link").contains(&title), "{title}");
    }
    assert_eq!(of("image").iter().filter(|name| name.len() > 20).count(), charts);
    assert!(
        of("table").iter().any(|name| name.contains("Every requested row")),
        "{:?}",
        of("table")
    );
    assert!(of("columnheader").contains(&"per op") && of("rowheader").len() > 2);
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
            "(() => { const ticks = [...document.querySelectorAll('#price-list-ns-op .ytick text')];
               ticks.sort((one, other) =>
                 one.getBoundingClientRect().y - other.getBoundingClientRect().y);
               return ticks.map(it => it.textContent); })()",
        );
        serde_json::from_value(names).unwrap()
    };
    let by_cost = names();
    assert!(by_cost[0].starts_with("pipe/round-trip"), "{by_cost:?}");
    page.click("#price-list .orders button:nth-child(2)");
    page.wait_for("document.querySelector('#price-list-ns-op .ytick text') !== null");
    let by_family = names();
    assert!(by_family[0].starts_with("timer/"), "{by_family:?}");
    let pressed =
        page.eval("document.querySelector('#price-list .orders [aria-pressed=true]').textContent");
    assert_eq!(pressed, "by family");
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
        let output = page.eval(&format!(
            "document.getElementById('forest-0').data.flatMap(it => it.hovertext)
               .some(it => it.includes({}) && it.includes({}))",
            json!(it["case"].as_str().unwrap().split(':').next()),
            it["verdict"]
        ));
        assert_eq!(output, true, "{it}");
    }
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
    page.hover(first_point(&page, "price-list-ns-op"));
    assert_eq!(words(&page, "h1"), MARKUP);
    assert_eq!(page.eval("document.querySelectorAll('img, [href^=javascript], svg a').length"), 0);
    assert_eq!(page.eval("window.taken === undefined"), true);
    assert_eq!(page.eval("document.scripts.length"), 4, "ours, what is packed, and what draws");
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
    let names = page.eval("document.getElementById('history-0').data.map(it => it.name).join()");
    assert!(names.as_str().unwrap().contains("kernel updated"), "{names}");
    assert_eq!(page.eval("document.getElementById('history-0').data[0].x.length"), 40);
    assert_eq!(page.eval("document.querySelectorAll('#changes tbody tr').length"), 1);
    let change = words(&page, "#changes tbody tr");
    assert!(change.contains(CASE) && change.contains("2026-09-26"), "{change}");
    assert!(change.contains("kernel 6.1.0-22-cloud-amd64 -> 6.1.0-23-cloud-amd64"), "{change}");
    save_picture(&page, "history.png");
    assert_self_contained(&page);
}
