//! Each kind of page violates no rule of axe-core, light and dark, and on a phone. All are pages of
//! records that come with oscost, or of fake targets.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use oscost::fleet::{AnalysedLinks, Link, LinkCase, MeasuredNetwork, analyse_links};
use oscost::report;
use oscost::report::fleet::links;
use oscost_model::unit::{Better, Unit};

use crate::axe::Axe;
use crate::chromium::{Browser, PATIENCE};
use crate::common::day_series::{CASE, forty_days};
use crate::common::{Sandbox, scenario_file};
use crate::page_checks::text;

/// Its rules look at every element of pages of a thousand, on a machine that is loaded.
const CHECK_PATIENCE: Duration = PATIENCE.saturating_mul(4);

/// The browser and the rules; `None`, with a line that says why, where one of them is missing.
fn start() -> Option<(Browser, Axe)> {
    let axe = Axe::find()?;
    let mut browser = Browser::start()?;
    browser.patience = CHECK_PATIENCE;
    Some((browser, axe))
}

/// Opens pages, and checks each in the width of a screen and of a phone.
fn pass(browser: &Browser, axe: &Axe, pages: &[PathBuf]) {
    for path in pages {
        let name = path.file_name().unwrap().to_string_lossy();
        let mut page = browser.open(path);
        let is_scripted = page.eval("document.scripts.length > 0") == true;
        if is_scripted {
            page.metric("oscost-ready");
            page.wait_for("document.documentElement.classList.contains('whole')");
        }
        axe.passes(&page, &name);
        page.dark(true);
        axe.passes(&page, &format!("{name}, dark"));
        // A book has the elements of a page without its script; to check one takes ten times as long.
        if is_scripted {
            page.viewport(390, 844, true);
            axe.passes(&page, &format!("{name}, dark, on a phone"));
        }
    }
}

/// Writes a page by a command whose last argument is its file.
fn written(sandbox: &Sandbox, name: &str, arguments: &[&str]) -> PathBuf {
    let path = sandbox.file(name);
    let ran = sandbox.oscost(&[arguments, &["-o", text(&path)]].concat());
    assert!(path.is_file(), "{name}: {}", ran.stderr);
    path
}

fn fake(scenario: &str) -> String {
    format!("fake:{}", scenario_file(scenario).display())
}

/// A record that comes with oscost.
fn record(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../records");
    text(&folder.join(format!("{name}.json.gz"))).to_owned()
}

#[test]
fn pages_of_runs_and_comparisons_violate_no_rule() {
    let Some((browser, axe)) = start() else { return };
    let sandbox = Sandbox::new();
    let [guest, nice] = ["guest", "guest-nice"].map(record);
    let host = fake("measured");
    let niced = format!("nice=5@{host}");
    let cases = ["syscall/getppid", "pipe/round-trip"];
    let ab = [&["ab", "--quick", "--base", &host, "--new", &niced][..], &cases].concat();
    let days = forty_days();
    let pages = [
        written(&sandbox, "run.html", &["report", &guest]),
        written(&sandbox, "ab.html", &ab),
        written(&sandbox, "compare.html", &["compare", &guest, &nice]),
        written(&sandbox, "table.html", &["table", &guest, &nice, &record("vm-6.12")]),
        written(&days, "history.html", &["history", CASE]),
    ];
    pass(&browser, &axe, &pages);

    // An opened explanation.
    let page = browser.open(&pages[0]);
    page.metric("oscost-ready");
    page.eval("document.querySelector('#rows tbody button').focus()");
    page.key("Enter");
    page.wait_for("document.querySelector('dialog').open");
    axe.passes(&page, "an explanation");
    // What the rules would find.
    page.eval("document.body.append(document.createElement('button'))");
    page.key("Escape");
    page.wait_for("!document.querySelector('dialog').open");
    axe.finds(&page, "button-name");
}

#[test]
fn pages_of_studies_and_their_book_violate_no_rule() {
    let Some((browser, axe)) = start() else { return };
    let sandbox = Sandbox::new();
    let host = fake("study");
    let new = format!("ph@{host}");
    let of_two = ["ab", "--study", "ph-2000", "--quick", "--base", &host, "--new", &new];
    let of_one = ["run", "--study", "cse221-2014", "--quick", "--at", &host];
    let pages = [written(&sandbox, "two.html", &of_two), written(&sandbox, "one.html", &of_one)];
    let book = sandbox.folder("files").join("book");
    sandbox.oscost(&["study", "book", text(&book)]).exits(0);
    pass(&browser, &axe, &[&pages[..], &[book.join("book.html")]].concat());
}

#[test]
fn pages_of_bills_violate_no_rule() {
    let Some((browser, axe)) = start() else { return };
    let sandbox = Sandbox::new();
    let cases = ["syscall/getuid", "directory/open", "fault/zero-fill"];
    sandbox.fake("measured", &[&["--quick"][..], &cases].concat()).exits(0);
    let host = fake("measured");
    let bill = ["bill", "--at", &host, "--trials", "6", "--price-seconds", "0"];
    let billed = |name: &str| {
        let path = sandbox.file(name);
        let rest = ["-o", text(&path), "--", "cat", "x"];
        sandbox.oscost(&[&bill[..], &rest].concat()).exits(0);
        path
    };
    let pages = ["bill.html", "another.html"].map(billed);
    let both = written(&sandbox, "bills.html", &["bill", "last~1", "last"]);
    pass(&browser, &axe, &[&pages[..1], &[both]].concat());
}

#[test]
fn pages_of_fleets_violate_no_rule() {
    let Some((browser, axe)) = start() else { return };
    let sandbox = Sandbox::new();
    // With a name for each row of the heat map, and with more rows than have room for names.
    let reported = |nodes: &str| {
        let folder = sandbox.file(&format!("fleet-{nodes}"));
        let options = ["--nodes", nodes, "--cases", "30", "--visits", "2", "--slow", "8"];
        let simulate = ["fleet", "simulate", text(&folder), "--spread", "3"];
        sandbox.oscost(&[&simulate[..], &options].concat()).exits(0);
        written(&sandbox, &format!("fleet-{nodes}.html"), &["fleet", "report", text(&folder)])
    };
    let network = sandbox.file("links.html");
    fs::write(&network, report::html(&links::page(&links_between(6))).unwrap()).unwrap();
    pass(&browser, &axe, &[reported("40"), reported("240"), network]);
}

/// A network in which a link of each case is slow.
fn links_between(count: usize) -> MeasuredNetwork {
    let case = |name: &str| {
        let pairs = (0..count).flat_map(|a| (a + 1..count).map(move |b| [a, b]));
        let link = |pair: [usize; 2]| {
            let cost = if pair == [0, 1] { 30_000.0 } else { 24_000.0 };
            let values = (0..3).map(|repeat| cost + 10.0 * f64::from(repeat)).collect();
            Link { pair, values, not_claimable: Vec::new(), reasons: Vec::new() }
        };
        LinkCase {
            case: format!("socket/{name}:by=tcp"),
            unit: Unit::NsPerOp,
            better: Better::Lower,
            links: pairs.map(link).collect(),
        }
    };
    let cases = ["round-trip", "connect"].map(case);
    let analyses = analyse_links(&cases, count);
    let analysed = cases.into_iter().zip(analyses);
    MeasuredNetwork {
        nodes: (0..count).map(|node| format!("n{node}")).collect(),
        seed: 1,
        pairs: count * (count - 1) / 2,
        repeats: 3,
        is_interrupted: false,
        cases: analysed.map(|(case, analysis)| AnalysedLinks { case, analysis }).collect(),
    }
}
