//! A page in the browser: its errors, requests and content, and the input of a user.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::chromium::Chromium;
use crate::wire::{EVENT_DOMAINS, attaching};

/// Between two checks frames are drawn and performance marks set.
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// An error of a page that a user would not see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Complaint {
    pub(crate) of: Source,
    pub(crate) text: String,
}

/// The source of the error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The page, by an error or a warning on the console.
    Console,
    /// An uncaught exception.
    Exception,
    /// The browser: a missing file, or a violation of the page's security policy.
    Browser,
}

/// A target of the mouse.
pub(crate) enum Spot {
    /// The centre of the first element of a selector.
    Middle(String),
    /// A point of the window.
    At(f64, f64),
}

impl From<&str> for Spot {
    fn from(selector: &str) -> Self {
        Self::Middle(selector.to_owned())
    }
}

impl From<(f64, f64)> for Spot {
    fn from((x, y): (f64, f64)) -> Self {
        Self::At(x, y)
    }
}

/// A page in its own window, which closes with it.
pub(crate) struct Page {
    chromium: Arc<Chromium>,
    target: String,
    session: String,
    patience: Duration,
    dark: bool,
    media: String,
}

impl Page {
    pub(crate) fn new(
        chromium: Arc<Chromium>,
        target: String,
        session: String,
        patience: Duration,
    ) -> Self {
        let media = String::new();
        let mut page = Self { chromium, target, session, patience, dark: false, media };
        for method in ["Page.enable", "Accessibility.enable"].iter().chain(&EVENT_DOMAINS) {
            page.call(method, json!({}));
        }
        page.call("Page.setLifecycleEventsEnabled", json!({ "enabled": true }));
        page.call("Target.setAutoAttach", attaching());
        // Several windows are tested at once, and only one could have the focus.
        page.call("Emulation.setFocusEmulationEnabled", json!({ "enabled": true }));
        page.viewport(1280, 800, false);
        page.dark(false);
        page
    }

    fn call(&self, method: &str, params: Value) -> Value {
        let answer = self.chromium.wire.call(self.patience, &self.session, method, params);
        answer.unwrap_or_else(|why| panic!("{why}"))
    }

    /// Navigates to a URL and waits until everything is loaded.
    pub(crate) fn load(&self, url: &str) {
        let gone = self.call("Page.navigate", json!({ "url": url }));
        assert!(gone["errorText"].is_null(), "{url}: {}", gone["errorText"]);
        let is_load = |event: &Value| {
            event["method"] == "Page.lifecycleEvent"
                && event["params"]["name"] == "load"
                && event["params"]["loaderId"] == gone["loaderId"]
        };
        let what = format!("{url} to be loaded");
        let loaded = self.chromium.wire.wait(self.patience, &what, |state| {
            state.events(&self.session).iter().any(is_load).then_some(())
        });
        loaded.unwrap_or_else(|why| panic!("{why}"));
    }

    /// The value of an expression, or of its promise once resolved; panics if it throws.
    pub(crate) fn eval(&self, js: &str) -> Value {
        let params = json!({
            "expression": js, "awaitPromise": true, "returnByValue": true, "userGesture": true
        });
        let mut answer = self.call("Runtime.evaluate", params);
        let thrown = &answer["exceptionDetails"];
        assert!(thrown.is_null(), "{}\nin: {js}", thrown_text(thrown));
        let result = &mut answer["result"];
        // JSON has no NaN and no infinities.
        match result["unserializableValue"].take() {
            Value::Null => result["value"].take(),
            odd => odd,
        }
    }

    /// Waits until an expression, or its promise, is true; an exception counts as false.
    pub(crate) fn wait_for(&self, js: &str) {
        let script = format!(
            "(async () => {{
               try {{ return Boolean(await ({js})) }} catch (thrown) {{ return String(thrown) }}
             }})()"
        );
        let begun = Instant::now();
        loop {
            let is = self.eval(&script);
            if is == true {
                break;
            }
            let patience = self.patience;
            assert!(
                begun.elapsed() < patience,
                "timed out after {patience:?} waiting for {js}: {is}"
            );
            std::thread::sleep(BETWEEN_LOOKS);
        }
    }

    /// Waits until changes are drawn.
    fn draw(&self) {
        self.eval("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))");
    }

    /// Times the next navigation from its start until a condition holds.
    pub(crate) fn watch(&self, condition: &str) {
        let mark = mark(condition);
        let source = format!(
            "(() => {{ const check = () => {{
               let met = false;
               try {{ met = Boolean({condition}); }} catch {{}}
               if (met) performance.mark({mark}); else requestAnimationFrame(check);
             }}; check(); }})()"
        );
        self.call("Page.addScriptToEvaluateOnNewDocument", json!({ "source": source }));
    }

    /// After how many milliseconds the watched condition held.
    pub(crate) fn watched(&self, condition: &str) -> f64 {
        let entry = format!("performance.getEntriesByName({})[0]", mark(condition));
        self.wait_for(&entry);
        self.eval(&format!("{entry}.startTime")).as_f64().unwrap()
    }

    /// Waits for a metric and returns its time in milliseconds from the start of the navigation: a
    /// navigation event (`domInteractive`, `loadEventEnd`), a paint (`first-contentful-paint`), or
    /// a mark set by the page.
    pub(crate) fn metric(&self, name: &str) -> f64 {
        let name = json!(name);
        let found = format!(
            "(performance.getEntriesByType('navigation')[0][{name}] \
              || performance.getEntriesByName({name})[0]?.startTime)"
        );
        self.wait_for(&found);
        self.eval(&found).as_f64().unwrap()
    }

    fn events(&self) -> Vec<Value> {
        self.chromium.wire.state().events(&self.session).to_vec()
    }

    /// The errors and warnings so far.
    pub(crate) fn complaints(&self) -> Vec<Complaint> {
        // The reply to a call comes after all earlier events.
        self.draw();
        self.events().iter().filter_map(complaint).collect()
    }

    /// The requests so far, answered or not, without the page itself and without inline ones
    /// (`data:`, `blob:`).
    pub(crate) fn requests(&self) -> Vec<String> {
        self.draw();
        let mut requests: Vec<String> = self.events().iter().filter_map(request).collect();
        requests.retain(|url| !url.starts_with("data:") && !url.starts_with("blob:"));
        // The first is the page itself; a later request for it is reported.
        if !requests.is_empty() {
            requests.remove(0);
        }
        requests
    }

    /// Sets the viewport, and whether it is that of a phone.
    pub(crate) fn viewport(&self, width: u32, height: u32, mobile: bool) {
        let params = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile
        });
        self.call("Emulation.setDeviceMetricsOverride", params);
        self.call("Emulation.setTouchEmulationEnabled", json!({ "enabled": mobile }));
        self.draw();
    }

    /// Sets whether the user prefers a dark scheme.
    pub(crate) fn dark(&mut self, dark: bool) {
        self.dark = dark;
        self.emulate();
    }

    /// Sets the emulated media: `print`, or the screen when empty.
    pub(crate) fn media(&mut self, media: &str) {
        self.media = media.to_owned();
        self.emulate();
    }

    /// Sets both at once, since a call resets what it does not name.
    fn emulate(&self) {
        let scheme = if self.dark { "dark" } else { "light" };
        let features = [json!({ "name": "prefers-color-scheme", "value": scheme })];
        let params = json!({ "media": self.media, "features": features });
        self.call("Emulation.setEmulatedMedia", params);
        self.draw();
    }

    /// The page printed as a PDF, with its colours and its own paper size.
    pub(crate) fn pdf(&self) -> Vec<u8> {
        let params = json!({ "printBackground": true, "preferCSSPageSize": true });
        bytes(&self.call("Page.printToPDF", params))
    }

    /// The page as a PNG: the viewport, or all of it.
    pub(crate) fn screenshot(&self, full_page: bool) -> Vec<u8> {
        self.draw();
        let mut params = json!({ "format": "png", "captureBeyondViewport": full_page });
        if full_page {
            let size = self.call("Page.getLayoutMetrics", json!({}))["cssContentSize"].take();
            params["clip"] = json!({
                "x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1
            });
        }
        bytes(&self.call("Page.captureScreenshot", params))
    }

    /// Presses a key: `Tab`, `Enter`, `Escape`, `Space`, `ArrowUp` and similar, or a letter,
    /// optionally with `Shift+` before it.
    pub(crate) fn key(&self, name: &str) {
        const SHIFT: u32 = 8;
        let (modifiers, name) = match name.strip_prefix("Shift+") {
            Some(rest) => (SHIFT, rest),
            None => (0, name),
        };
        let (key, number, text) = match name {
            "Tab" => (name, 9, ""),
            "Enter" => (name, 13, "\r"),
            "Escape" => (name, 27, ""),
            "Space" => (" ", 32, " "),
            "End" => (name, 35, ""),
            "Home" => (name, 36, ""),
            "ArrowLeft" => (name, 37, ""),
            "ArrowUp" => (name, 38, ""),
            "ArrowRight" => (name, 39, ""),
            "ArrowDown" => (name, 40, ""),
            letter => {
                let only = letter.chars().next().filter(|it| it.len_utf8() == letter.len());
                let only = only.unwrap_or_else(|| panic!("unknown key {letter}"));
                (letter, u32::from(only.to_ascii_uppercase()), letter)
            }
        };
        // Without a text it inserts no character, and without a code scripts do not see a key.
        let down = if text.is_empty() { "rawKeyDown" } else { "keyDown" };
        for kind in [down, "keyUp"] {
            let mut params = json!({
                "type": kind, "key": key, "code": name, "modifiers": modifiers,
                "windowsVirtualKeyCode": number, "nativeVirtualKeyCode": number,
            });
            if kind == "keyDown" {
                params["text"] = text.into();
            }
            self.call("Input.dispatchKeyEvent", params);
        }
    }

    /// Clicks a visible spot.
    pub(crate) fn click(&self, spot: impl Into<Spot>) {
        let (x, y) = self.point(spot.into());
        self.mouse("mouseMoved", "none", x, y);
        self.mouse("mousePressed", "left", x, y);
        self.mouse("mouseReleased", "left", x, y);
    }

    /// Moves the mouse to a spot.
    pub(crate) fn hover(&self, spot: impl Into<Spot>) {
        let (x, y) = self.point(spot.into());
        // The event of the scrolling there comes with a frame; on a busy machine also after the first
        // movement.
        self.draw();
        self.mouse("mouseMoved", "none", x + 1.0, y);
        self.draw();
        self.mouse("mouseMoved", "none", x, y);
    }

    fn mouse(&self, kind: &str, button: &str, x: f64, y: f64) {
        let count = u32::from(button != "none");
        let params = json!({ "type": kind, "x": x, "y": y, "button": button, "clickCount": count });
        self.call("Input.dispatchMouseEvent", params);
    }

    /// The position of a spot in the window, after scrolling to it.
    fn point(&self, spot: Spot) -> (f64, f64) {
        let selector = match spot {
            Spot::At(x, y) => return (x, y),
            Spot::Middle(selector) => selector,
        };
        let script = format!(
            "(() => {{
               const it = document.querySelector({});
               it?.scrollIntoView({{ block: 'center', inline: 'center', behavior: 'instant' }});
               const box = it?.getBoundingClientRect();
               return box && box.width * box.height > 0
                 ? [box.x + box.width / 2, box.y + box.height / 2] : null;
             }})()",
            json!(selector)
        );
        let mut middle = self.eval(&script);
        // Pending drawing above would move it, and the click would hit something else.
        let begun = Instant::now();
        loop {
            self.draw();
            let again = self.eval(&script);
            if again == middle || begun.elapsed() > self.patience {
                break;
            }
            middle = again;
        }
        assert!(!middle.is_null(), "{selector} is not visible");
        (middle[0].as_f64().unwrap(), middle[1].as_f64().unwrap())
    }

    /// The text in this browser's clipboard.
    pub(crate) fn clipboard(&self) -> String {
        let text = self.eval("navigator.clipboard.readText()");
        text.as_str().unwrap().to_owned()
    }

    /// The accessibility tree in reading order: role and name of each node that is not hidden.
    pub(crate) fn accessibility_tree(&self) -> Vec<(String, String)> {
        let tree = self.call("Accessibility.getFullAXTree", json!({}));
        let nodes = tree["nodes"].as_array().unwrap();
        let by_id: HashMap<_, _> = nodes.iter().map(|node| (&node["nodeId"], node)).collect();
        let mut accessibility_tree = Vec::new();
        let mut next = vec![&nodes[0]["nodeId"]];
        while let Some(id) = next.pop() {
            let Some(node) = by_id.get(id) else { continue };
            if node["ignored"] != true {
                let text = |what: &str| node[what]["value"].as_str().unwrap_or_default().to_owned();
                accessibility_tree.push((text("role"), text("name")));
            }
            next.extend(node["childIds"].as_array().into_iter().flatten().rev());
        }
        accessibility_tree
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let params = json!({ "targetId": self.target });
        let _ = self.chromium.wire.send("", "Target.closeTarget", params);
    }
}

/// The name of the performance mark of a condition.
fn mark(condition: &str) -> Value {
    json!(format!("held: {condition}"))
}

fn complaint(event: &Value) -> Option<Complaint> {
    let params = &event["params"];
    let (of, text) = match event["method"].as_str()? {
        "Runtime.consoleAPICalled" => {
            let is_one = ["error", "warning", "assert"].iter().any(|kind| params["type"] == *kind);
            let words: Vec<String> = params["args"].as_array()?.iter().map(argument_text).collect();
            is_one.then(|| (Source::Console, words.join(" ")))?
        }
        "Runtime.exceptionThrown" => (Source::Exception, thrown_text(&params["exceptionDetails"])),
        "Log.entryAdded" => {
            let entry = &params["entry"];
            let is_one = ["error", "warning"].iter().any(|level| entry["level"] == *level);
            let (text, url) = (&entry["text"], entry["url"].as_str().unwrap_or_default());
            let text = format!("{} {url}", text.as_str().unwrap_or_default());
            is_one.then(|| (Source::Browser, text.trim_end().to_owned()))?
        }
        _ => return None,
    };
    Some(Complaint { of, text })
}

/// An argument of a console call: a text unchanged, other values as the console shows them.
fn argument_text(argument: &Value) -> String {
    match (&argument["value"], argument["description"].as_str()) {
        (Value::String(text), _) => text.clone(),
        (_, Some(description)) => description.to_owned(),
        (value, None) => value.to_string(),
    }
}

fn thrown_text(details: &Value) -> String {
    let what = argument_text(&details["exception"]);
    let text = details["text"].as_str().unwrap_or_default();
    match details["url"].as_str() {
        Some(url) => {
            let line = details["lineNumber"].as_u64().unwrap_or_default() + 1;
            format!("{text} {what} ({url}:{line})")
        }
        None => format!("{text} {what}"),
    }
}

fn request(event: &Value) -> Option<String> {
    let params = &event["params"];
    let url = match event["method"].as_str()? {
        "Network.requestWillBeSent" => &params["request"]["url"],
        "Network.webSocketCreated" | "Network.webTransportCreated" => &params["url"],
        _ => return None,
    };
    url.as_str().map(str::to_owned)
}

/// Decodes binary data, which the protocol sends as base64.
fn bytes(answer: &Value) -> Vec<u8> {
    STANDARD.decode(answer["data"].as_str().unwrap()).unwrap()
}
