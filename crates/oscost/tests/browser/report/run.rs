//! The page of a run: its charts, its explanations, and what it shows without scripts.

use std::fs;

use serde_json::{Value, json};

use crate::chromium::Browser;
use crate::common::Sandbox;
use crate::measured_runs::{few_rows, measured, requested};
use crate::page_checks::{
    assert_self_contained, every_chart_has_its_points, opened, save_picture, text, words,
};

/// Names a file for a picture of the top of a page: `make picture` sets it.
const PICTURE: &str = "OSCOST_PICTURE";

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

    // The grade is above all that was found, and leads to its reasons.
    let grade = words(&page, "header .grade a");
    assert!(words(&page, "#trust").starts_with(&grade), "{grade}");
    let is_first = "document.querySelector('h1').nextElementSibling.matches('.grade')";
    assert_eq!(page.eval(is_first), true);

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
    let title = format!("{MARKUP}: What the operating system charges on this machine");
    assert_eq!(words(&page, "h1"), title);
    assert_eq!(page.eval("document.querySelectorAll('img, [href^=javascript], svg a').length"), 0);
    assert_eq!(page.eval("window.taken === undefined"), true);
    assert_eq!(page.eval("document.scripts.length"), 2, "ours, and what is packed");
    assert_self_contained(&page);
}
