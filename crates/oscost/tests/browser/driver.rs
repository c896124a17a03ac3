//! The driver itself, on pages of a few lines.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::chromium::{Browser, processes_of};
use crate::page::{Complaint, Page, Source};

/// Writes a page to a file whose name has special characters, as the name of a run may.
fn written(folder: &TempDir, body: &str) -> PathBuf {
    let path = folder.path().join("a page #1 – 100%?.html");
    fs::write(&path, format!("<!doctype html><meta charset=utf-8><title>it</title>{body}"))
        .unwrap();
    path
}

fn shown(browser: &Browser, body: &str) -> Page {
    let folder = TempDir::with_prefix("oscost-page-").unwrap();
    browser.open(&written(&folder, body))
}

/// The message with which `act` panics.
fn panics_with<T>(act: impl FnOnce() -> T) -> String {
    let panic = catch_unwind(AssertUnwindSafe(act)).err().unwrap();
    *panic.downcast::<String>().unwrap()
}

#[test]
fn errors_of_a_page_are_reported() {
    let Some(browser) = Browser::start() else { return };
    let page = shown(
        &browser,
        "<meta http-equiv=Content-Security-Policy content=\"img-src 'none'\">
         <script>
           console.log('all is well');
           console.error('an error', 7, { a: 1 });
           console.warn('a warning');
         </script>
         <script>throw new Error('thrown')</script>
         <script>Promise.reject(new Error('rejected'))</script>
         <img src='data:image/gif;base64,R0lGODlhAQABAAAAACw='>",
    );
    let complaints = page.complaints();
    let has = |of, words: &str| {
        let found = complaints.iter().any(|it| it.of == of && it.text.contains(words));
        assert!(found, "{words} is not in {complaints:#?}");
    };
    has(Source::Console, "an error 7 Object");
    has(Source::Exception, "Error: thrown");
    has(Source::Exception, "Error: rejected");
    has(Source::Browser, "Content Security Policy");
    let warning = Complaint { of: Source::Console, text: "a warning".to_owned() };
    assert!(complaints.contains(&warning), "{complaints:#?}");
    assert_eq!(complaints.len(), 5, "{complaints:#?}");
}

#[test]
fn requests_of_a_page_are_reported() {
    let Some(browser) = Browser::start() else { return };
    let page = shown(
        &browser,
        "<img src='data:image/gif;base64,R0lGODlhAQABAAAAACw='>
         <img src='http://oscost.invalid/picture.png'>
         <link rel=stylesheet href='style.css'>
         <iframe src='https://oscost.invalid/frame'></iframe>
         <script>
           fetch('http://127.0.0.1:9/fetched').catch(() => {});
           fetch(URL.createObjectURL(new Blob(['it']))).catch(() => {});
           new WebSocket('ws://oscost.invalid/socket');
           new Worker(URL.createObjectURL(new Blob([
             \"fetch('http://oscost.invalid/worker').catch(() => {})\"
           ])));
         </script>",
    );
    let requested = ["picture.png", "style.css", "/frame", "/fetched", "/socket", "/worker"];
    let is_there = |end: &&str| page.requests().iter().any(|url| url.ends_with(*end));
    let begun = Instant::now();
    while !requested.iter().all(is_there) {
        let lacking: Vec<_> = requested.iter().filter(|end| !is_there(end)).collect();
        assert!(begun.elapsed() < browser.patience, "{lacking:?} not in {:#?}", page.requests());
    }
    assert_eq!(page.requests().len(), requested.len(), "{:#?}", page.requests());
}

#[test]
fn a_self_contained_page_has_no_errors_and_no_requests() {
    let Some(browser) = Browser::start() else { return };
    let page = shown(&browser, "<p>It.<script>console.info('well')</script>");
    assert_eq!(page.complaints(), []);
    assert_eq!(page.requests(), [] as [&str; 0]);
    assert_eq!(page.eval("document.title"), "it");
    assert_eq!(page.eval("new Promise(kept => setTimeout(() => kept([1, null]), 5))")[0], 1);
    let thrown = panics_with(|| page.eval("nothing.of.the.kind"));
    assert!(thrown.contains("nothing is not defined"), "{thrown}");
    page.eval("void setTimeout(() => window.late = Promise.resolve({ is: true }), 50)");
    page.wait_for("late.then(late => late.is)");
    // The test caused that error, not the page.
    assert_eq!(page.complaints(), []);
}

#[test]
fn clicks_keys_and_pointing_reach_the_page() {
    let Some(browser) = Browser::start() else { return };
    let page = shown(
        &browser,
        "<style>p { height: 3000px } a:hover { color: rgb(1, 2, 3) }</style>
         <button id=first>1</button> <button id=second>2</button> <input id=field>
         <p></p><a id=far>far below</a>
         <script>
           const met = [];
           for (const kind of ['click', 'keydown'])
             addEventListener(kind, it => met.push(
               kind + ' ' + (it.key ?? it.target.id) + (it.shiftKey ? ' shifted' : '')));
           addEventListener('mousemove', it => met.at = [it.clientX, it.clientY]);
         </script>",
    );
    page.click("#second");
    page.key("Shift+Tab");
    assert_eq!(page.eval("document.activeElement.id"), "first");
    for key in ["Enter", "Space", "Escape", "ArrowDown", "Tab", "Tab", "x"] {
        page.key(key);
    }
    assert_eq!(page.eval("document.getElementById('field').value"), "x");
    assert_eq!(
        page.eval("met.join()"),
        "click second,keydown Tab shifted,keydown Enter,click first,keydown  ,click first,\
         keydown Escape,keydown ArrowDown,keydown Tab,keydown Tab,keydown x"
    );
    page.hover("#far");
    page.wait_for("getComputedStyle(far).color == 'rgb(1, 2, 3)' && scrollY > 2000");
    page.hover((11.0, 22.0));
    page.wait_for("met.at.join() == '11,22'");
    let words = panics_with(|| page.click("#nowhere"));
    assert!(words.contains("#nowhere is not visible"), "{words}");
}

#[test]
fn a_page_can_be_shown_dark_printed_and_on_a_phone() {
    let Some(browser) = Browser::start() else { return };
    let mut page = shown(
        &browser,
        "<meta name=viewport content='width=device-width'>
         <style>
           body { margin: 0; height: 2000px; background: white }
           @media (prefers-color-scheme: dark) { body { background: black } }
           @media print { body { background: rgb(1, 2, 3) } }
         </style>",
    );
    let ground = |page: &Page| page.eval("getComputedStyle(document.body).backgroundColor");
    assert_eq!(ground(&page), "rgb(255, 255, 255)");
    page.dark(true);
    assert_eq!(ground(&page), "rgb(0, 0, 0)");
    page.media("print");
    assert_eq!(ground(&page), "rgb(1, 2, 3)");
    page.media("");
    assert_eq!(ground(&page), "rgb(0, 0, 0)");
    page.dark(false);
    assert_eq!(ground(&page), "rgb(255, 255, 255)");

    assert_eq!(png_size(&page.screenshot(false)), (1280, 800));
    page.viewport(360, 640, true);
    assert_eq!(
        page.eval("[innerWidth, innerHeight, navigator.maxTouchPoints > 0].join()"),
        "360,640,true"
    );
    assert_eq!(png_size(&page.screenshot(false)), (360, 640));
    assert_eq!(png_size(&page.screenshot(true)), (360, 2000));
    assert_eq!(page.eval("[innerWidth, innerHeight].join()"), "360,640");
    assert!(page.pdf().starts_with(b"%PDF"));
}

/// The header is the first part of the file: its length, its name, the width and the height.
fn png_size(png: &[u8]) -> (u32, u32) {
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n") && &png[12..16] == b"IHDR");
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    (number(16), number(20))
}

#[test]
fn times_start_at_the_navigation() {
    let Some(browser) = Browser::start() else { return };
    let folder = TempDir::with_prefix("oscost-page-").unwrap();
    let path = written(
        &folder,
        "<p>It.<script>
           performance.mark('early');
           setTimeout(() => { window.it = 'is so'; performance.mark('late') }, 200);
         </script>",
    );
    let (page, met) = browser.open_until(&path, "window.it == 'is so'");
    let (early, late) = (page.metric("early"), page.metric("late"));
    assert!(0.0 < early && early < late && late <= met, "{early} {late} {met}");
    let (interactive, loaded) = (page.metric("domInteractive"), page.metric("loadEventEnd"));
    assert!(early <= interactive && interactive <= loaded, "{early} {interactive} {loaded}");
    assert!(page.metric("first-contentful-paint") > 0.0);
}

#[test]
fn the_clipboard_and_the_accessibility_tree_can_be_read() {
    let Some(browser) = Browser::start_own() else { return };
    let page = shown(
        &browser,
        "<main><h1>The price list</h1><button>Copy</button><p aria-hidden=true>unspoken</p>
           <table aria-label=Costs><tr><th>op<tr><td>getppid</table></main>
         <script>
           document.querySelector('button').onclick = async () => {
             await navigator.clipboard.writeText('copied');
             window.done = true;
           };
         </script>",
    );
    page.click("button");
    page.wait_for("window.done");
    assert_eq!(page.clipboard(), "copied");
    let accessibility_tree = page.accessibility_tree();
    let at = |role: &str, name: &str| {
        let found =
            accessibility_tree.iter().position(|it| (it.0.as_str(), it.1.as_str()) == (role, name));
        found.unwrap_or_else(|| panic!("no {role} is {name} in {accessibility_tree:#?}"))
    };
    assert_eq!(at("RootWebArea", "it"), 0);
    assert!(at("heading", "The price list") < at("button", "Copy"));
    assert!(at("button", "Copy") < at("table", "Costs"));
    assert!(accessibility_tree.iter().all(|it| it.1 != "unspoken"));
}

#[test]
fn a_page_that_never_loads_ends_the_test_and_the_browser() {
    let Some(mut browser) = Browser::start_own() else { return };
    let folder = browser.folder().to_owned();
    assert!(processes_of(&folder).len() > 1);
    browser.patience = Duration::from_secs(5);
    let words = panics_with(move || shown(&browser, "<script>for (;;);</script>"));
    assert!(words.contains("timed out after 5s waiting for file:///"), "{words}");
    assert!(!folder.exists());
    assert_eq!(processes_of(&folder), []);
}
