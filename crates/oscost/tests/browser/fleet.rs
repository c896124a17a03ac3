//! The page of a fleet: its heat map is drawn, read by mouse and keyboard, and sorted.

use std::fs;
use std::path::PathBuf;

use oscost::fleet::{
    CaseFigure, CaseSpread, ClassSpread, Finding, FindingScope, Fleet, FleetAnalysis, FleetCase,
    FleetNode, NodeDeviation, NodeVisit, NotJudgedNode,
};
use oscost::report;
use oscost::report::fleet::report::{FleetContent, page};
use oscost_model::unit::{Better, Unit};
use serde_json::json;

use crate::chromium::Browser;
use crate::common::Sandbox;
use crate::page::Page;
use crate::page_checks::{assert_self_contained, opened, save_picture, words};

const NODES: usize = 200;
const CASES: usize = 30;
/// The slow node, by its index.
const SLOW: usize = 17;
const MARKUP: &str = "</script><img src=x onerror=window.taken=1>";
const PICTURE: &str = "#fleet-map svg";
const FIELD: &str = "#fleet-map .field";

/// A node is slow in a family, another has no figure of a case, a third has markup for a name, and a
/// fourth one has a figure of a case that is not judged.
fn fleet_page(sandbox: &Sandbox) -> PathBuf {
    let family = |at: usize| ["fault", "pipe", "syscall"][at * 3 / CASES].to_owned();
    let case = |at: usize| FleetCase {
        case: format!("{}/case-{at:02}", family(at)),
        family: family(at),
        unit: Unit::NsPerOp,
        better: Better::Lower,
        rev: 1,
    };
    let node = |at: usize| FleetNode {
        name: if at == 3 { MARKUP.to_owned() } else { format!("node{at:03}") },
        class: if at.is_multiple_of(2) { "even" } else { "odd" }.into(),
        facts: Vec::new(),
    };
    let visit = |node: usize| NodeVisit {
        node,
        run: format!("run{node}"),
        started_s: node as f64,
        not_claimable: None,
        numa_node: None,
        figures: vec![CaseFigure { case: 0, median: 100.0, log_error: 0.01 }],
    };
    let fleet = Fleet {
        name: "night".to_owned(),
        cases: (0..CASES).map(case).collect(),
        nodes: (0..NODES).map(node).collect(),
        visits: (0..NODES).map(visit).collect(),
        ..Fleet::default()
    };
    let spread =
        CaseSpread { nodes: NODES, median: None, between_nodes: None, between_visits: None };
    let deviation = |at: usize| {
        let ratio = Some(if at == SLOW { 1.1 } else { 1.0 });
        NodeDeviation { cases: CASES, visits: 1, ratio, ci95: None, between_visits: None }
    };
    let mut ratios = vec![1.0; NODES * CASES];
    ratios[SLOW * CASES..SLOW * CASES + 10].fill(1.312);
    ratios[5 * CASES] = f32::NAN;
    ratios[6 * CASES] = 0.7;
    ratios[7 * CASES] = f32::NAN;
    let mut not_judged = vec![f32::NAN; CASES];
    not_judged[0] = 600.0;
    let classes = ["even", "odd"].map(|class| ClassSpread {
        class: class.into(),
        nodes: Vec::new(),
        ratio: Some(1.0),
        range: None,
    });
    let analysis = FleetAnalysis {
        cases: vec![spread; CASES],
        nodes: (0..NODES).map(deviation).collect(),
        ratios,
        findings: vec![Finding {
            node: SLOW,
            numa_node: None,
            scope: FindingScope::Family("fault".to_owned()),
            ratio: 1.312,
            ci95: [1.27, 1.36],
            adjustment: None,
            not_claimable: None,
            ratio_to_fleet: Some(1.312),
            q: 1e-6,
            facts: Vec::new(),
        }],
        disturbed: Vec::new(),
        not_judged: vec![NotJudgedNode {
            node: 7,
            reason: "is very noisy",
            visits: 1,
            is_whole: false,
            ratios: not_judged,
            farthest: None,
        }],
        judged: 6_800,
        judged_nodes: NODES,
        detectable_ratio: None,
        false_discovery_rate: 0.05,
        classes: classes.to_vec(),
        numa_not_judged: Vec::new(),
        variance: None,
    };
    let content = FleetContent {
        fleet: &fleet,
        analysis: &analysis,
        rejected: &[],
        changes: None,
        source: "night",
    };
    let path = sandbox.file("fleet.html");
    fs::write(&path, report::html(&page(&content)).unwrap()).unwrap();
    path
}

/// Opens the page and waits until its map is drawn.
fn drawn(browser: &Browser, sandbox: &Sandbox) -> Page {
    let page = opened(browser, &fleet_page(sandbox));
    page.metric("oscost-maps-ready");
    page
}

/// The number of cells of the map in the colour of this step of its scale.
fn cells(page: &Page, step: &str) -> u64 {
    let count = page.eval(&format!(
        "[...document.querySelector('#fleet-map g .{step}').getAttribute('d').matchAll(/h(\\d+)/g)]
           .reduce((sum, [, length]) => sum + Number(length), 0)"
    ));
    count.as_u64().unwrap()
}

/// The colour in which cells of a step are drawn, which is that of the scale.
fn shade(page: &Page, step: &str) -> String {
    let style = |element: &str, property: &str| {
        let element = format!("document.querySelector('#fleet-map {element}')");
        page.eval(&format!("getComputedStyle({element}).{property}"))
    };
    let drawn = style(&format!("g .{step}"), "stroke");
    assert_eq!(drawn, style(&format!(".scale .{step}"), "backgroundColor"), "{step}");
    drawn.as_str().unwrap().to_owned()
}

#[test]
fn every_ratio_is_drawn_in_its_colour_in_light_and_dark() {
    let Some(browser) = Browser::start() else { return };
    let sandbox = Sandbox::new();
    let mut page = drawn(&browser, &sandbox);
    // Ten cells are slow, one is fast, one was not measured, one has a bar on the same grey, and all
    // others are alike: they have no stroke.
    let steps = ["m7", "m1", "mn", "m8"];
    assert_eq!(steps.map(|step| cells(&page, step)), [10, 1, 2, 1]);
    assert_eq!(page.eval("document.querySelectorAll('#fleet-map g path').length"), 4);
    let shades = [false, true].map(|dark| {
        page.dark(dark);
        save_picture(&page, if dark { "fleet-dark.png" } else { "fleet.png" });
        ["m7", "m1", "mn"].map(|step| shade(&page, step))
    });
    assert!(shades[0].iter().zip(&shades[1]).all(|(light, dark)| light != dark), "{shades:?}");
    assert!(words(&page, ".answer").starts_with("node017 is 1.31 times as slow in fault"));
    assert_self_contained(&page);
}

#[test]
fn a_cell_is_read_by_mouse_and_by_keyboard_and_rows_are_sorted() {
    let Some(browser) = Browser::start() else { return };
    let sandbox = Sandbox::new();
    let page = drawn(&browser, &sandbox);
    page.hover(PICTURE);
    page.wait_for("!document.querySelector('.card').hidden");
    let card = words(&page, ".card");
    assert!(card.contains("ratio") && card.contains("case-"), "{card}");

    page.eval(&format!("document.querySelector('{FIELD}').focus()"));
    page.key("ArrowDown");
    let output = || words(&page, "#fleet-map output");
    // The node with a finding is in the first line.
    assert!(output().starts_with("node017, case: fault/case-00, ratio: 1.31"), "{}", output());
    page.key("End");
    assert!(output().starts_with("node017, case: syscall/case-29, ratio: 1.000"), "{}", output());
    page.key("ArrowRight");
    assert!(output().contains("case-29"), "the last column is the last: {}", output());
    page.key("Home");
    page.key("ArrowUp");
    assert!(output().starts_with("node017, case: fault/case-00"), "{}", output());

    page.click("#fleet-map .orders button:nth-child(3)");
    let pressed = "document.querySelector('#fleet-map .orders [aria-pressed=true]').textContent";
    assert_eq!(page.eval(pressed), "by name");
    page.eval(&format!("document.querySelector('{FIELD}').focus()"));
    page.key("ArrowDown");
    for _ in 0..6 {
        page.key("ArrowDown");
    }
    // The name with markup comes first, since it begins with a sign.
    assert!(output().starts_with("node006"), "{}", output());
    // Its fast cell went with it.
    let fast = "document.querySelector('#fleet-map g .m1').getAttribute('d')";
    assert_eq!(page.eval(fast), "M0 6h1");
    page.key("ArrowDown");
    assert!(
        output().contains("node007, case: fault/case-00, ratio: 600, not judged"),
        "{}",
        output()
    );
    let bar = "document.querySelector('#fleet-map g .m8').getAttribute('d')";
    assert_eq!(page.eval(bar), "M0 7h1");
    page.click("#fleet-map .orders button:nth-child(1)");
    let first = page.eval("document.querySelector('#fleet-map g .m7').getAttribute('d')");
    assert_eq!(first, "M0 0h10");
    assert_eq!(page.eval("window.taken === undefined"), true);
    assert_eq!(page.eval("document.querySelectorAll('img').length"), 0);
    assert_self_contained(&page);
}

#[test]
fn the_map_is_no_wider_than_the_page_and_without_scripts_it_has_its_colours_and_figures() {
    let Some(browser) = Browser::start() else { return };
    let sandbox = Sandbox::new();
    let page = drawn(&browser, &sandbox);
    assert_eq!(page.eval("document.scrollingElement.scrollWidth"), 1280);
    page.viewport(390, 844, true);
    assert_eq!(page.eval("document.scrollingElement.scrollWidth"), 390);
    save_picture(&page, "fleet-phone.png");
    assert_self_contained(&page);

    let whole = fs::read_to_string(fleet_page(&sandbox)).unwrap();
    let (before, script) = whole.rsplit_once("<script>").unwrap();
    let path = sandbox.file("stripped.html");
    fs::write(&path, format!("{before}{}", script.split_once("</script>").unwrap().1)).unwrap();
    let page = browser.open(&path);
    let shown = |selector: &str| {
        page.eval(&format!("document.querySelector('#fleet-map {selector}').offsetParent !== null"))
    };
    for hidden in [".orders", "output"] {
        assert_eq!(shown(hidden), false, "{hidden}");
    }
    assert_eq!(shown(".field"), true);
    assert_eq!(["m7", "m1", "mn"].map(|step| cells(&page, step)), [10, 1, 2]);
    shade(&page, "m7");
    // Every figure is in the table, which opens without a script, in the colour of its cell.
    page.click("#fleet-map .figures summary");
    assert_eq!(shown(".figures table"), true);
    let figures = "document.querySelectorAll('#fleet-map .figures td').length";
    assert_eq!(page.eval(figures), NODES * (CASES + 1));
    let slow = "[...document.querySelectorAll('#fleet-map .figures td.m7')]
        .map(cell => `${cell.parentElement.cells[0].textContent} ${cell.textContent}`.trim())";
    assert_eq!(page.eval(slow), json!(vec!["node017 1.31"; 10]));
    assert!(words(&page, "#findings-table tbody").contains("node017"));
    assert_eq!(page.eval("document.querySelectorAll('img').length"), 0);
    assert_self_contained(&page);
}
