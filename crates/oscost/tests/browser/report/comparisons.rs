//! Pages of comparisons, of studies and of a history.

use std::fs;

use serde_json::{Value, json};

use crate::chromium::Browser;
use crate::common::day_series::{CASE, forty_days};
use crate::common::{Sandbox, rows, scenario_file};
use crate::measured_runs::requested;
use crate::page_checks::{
    assert_self_contained, every_chart_has_its_points, opened, save_picture, text, words,
};

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
    // No figure is on its mark, and on a phone none is cut off.
    let on_marks = "[...document.querySelectorAll('#forest-0 .rows li > svg')].filter(svg => {
           const boxes = it => [...svg.querySelectorAll(it)].map(it => it.getBoundingClientRect());
           return boxes('text').some(text => boxes('use').some(mark =>
             text.left < mark.right && mark.left < text.right &&
             text.top < mark.bottom && mark.top < text.bottom));
         }).map(it => it.textContent)";
    assert_eq!(page.eval(on_marks), json!([]));
    page.viewport(390, 844, true);
    every_chart_has_its_points(&page);
    assert_eq!(page.eval(on_marks), json!([]));
    assert_eq!(page.eval("document.scrollingElement.scrollWidth"), 390);
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
