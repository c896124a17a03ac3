//! A page in the browser: what it says, asks for and shows, and what a person does to it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::chromium::Chromium;
use crate::wire::{TOLD, attaching};

/// Frames are drawn and notes are taken meanwhile.
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// What a page did that no person would see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Complaint {
    pub(crate) of: Source,
    pub(crate) text: String,
}

/// Who complains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The page, by an error or a warning on the console.
    Console,
    /// Nobody caught what was thrown.
    Exception,
    /// The browser: a file that is not there, a rule of the page's that was broken.
    Browser,
}

/// Where the mouse goes.
pub(crate) enum Spot {
    /// The middle of the first element of a selector.
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

/// A page in a window of its own, which closes with it.
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
        for method in ["Page.enable", "Accessibility.enable"].iter().chain(&TOLD) {
            page.call(method, json!({}));
        }
        page.call("Page.setLifecycleEventsEnabled", json!({ "enabled": true }));
        page.call("Target.setAutoAttach", attaching());
        // Several windows are looked at at once, and only one could have the keyboard.
        page.call("Emulation.setFocusEmulationEnabled", json!({ "enabled": true }));
        page.viewport(1280, 800, false);
        page.dark(false);
        page
    }

    fn call(&self, method: &str, params: Value) -> Value {
        let answer = self.chromium.wire.call(self.patience, &self.session, method, params);
        answer.unwrap_or_else(|why| panic!("{why}"))
    }

    /// Goes to an address, and waits until everything is loaded.
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

    /// What an expression is, when a promise has been kept; panics with what it throws.
    pub(crate) fn eval(&self, js: &str) -> Value {
        let params = json!({
            "expression": js, "awaitPromise": true, "returnByValue": true, "userGesture": true
        });
        let mut answer = self.call("Runtime.evaluate", params);
        let thrown = &answer["exceptionDetails"];
        assert!(thrown.is_null(), "{}\nin: {js}", thrown_text(thrown));
        let result = &mut answer["result"];
        // Not every number is one of JSON's.
        match result["unserializableValue"].take() {
            Value::Null => result["value"].take(),
            odd => odd,
        }
    }

    /// Waits until an expression is true, or the promise of it; what it throws is not yet true.
    pub(crate) fn wait_for(&self, js: &str) {
        let look = format!(
            "(async () => {{
               try {{ return Boolean(await ({js})) }} catch (thrown) {{ return String(thrown) }}
             }})()"
        );
        let begun = Instant::now();
        loop {
            let is = self.eval(&look);
            if is == true {
                break;
            }
            let patience = self.patience;
            assert!(begun.elapsed() < patience, "waited {patience:?} in vain for {js}: {is}");
            std::thread::sleep(BETWEEN_LOOKS);
        }
    }

    /// Waits until what has been changed is drawn.
    fn draw(&self) {
        self.eval("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))");
    }

    /// Takes the time from the start of the next navigation until a condition is met.
    pub(crate) fn watch(&self, condition: &str) {
        let mark = mark(condition);
        let source = format!(
            "(() => {{ const look = () => {{
               let met = false;
               try {{ met = Boolean({condition}); }} catch {{}}
               if (met) performance.mark({mark}); else requestAnimationFrame(look);
             }}; look(); }})()"
        );
        self.call("Page.addScriptToEvaluateOnNewDocument", json!({ "source": source }));
    }

    /// After how many milliseconds the condition was met that has been watched.
    pub(crate) fn watched(&self, condition: &str) -> f64 {
        let entry = format!("performance.getEntriesByName({})[0]", mark(condition));
        self.wait_for(&entry);
        self.eval(&format!("{entry}.startTime")).as_f64().unwrap()
    }

    /// When something was so, in milliseconds from the start of the navigation: an event of it
    /// (`domInteractive`, `loadEventEnd`), a picture (`first-contentful-paint`), or a mark that the
    /// page has set. Waits for it.
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

    /// What has been said so far that should not have been.
    pub(crate) fn complaints(&self) -> Vec<Complaint> {
        // The answer comes after whatever has been told before it.
        self.draw();
        self.events().iter().filter_map(complaint).collect()
    }

    /// What has been asked for so far, whether or not it came: the page itself, and what stands in
    /// it (`data:`, `blob:`), left out.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.draw();
        let mut requests: Vec<String> = self.events().iter().filter_map(request).collect();
        requests.retain(|url| !url.starts_with("data:") && !url.starts_with("blob:"));
        // The first is the page itself; one that it makes of itself later is another one.
        if !requests.is_empty() {
            requests.remove(0);
        }
        requests
    }

    /// The size of what is seen of the page, and whether it is a telephone's.
    pub(crate) fn viewport(&self, width: u32, height: u32, mobile: bool) {
        let params = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile
        });
        self.call("Emulation.setDeviceMetricsOverride", params);
        self.call("Emulation.setTouchEmulationEnabled", json!({ "enabled": mobile }));
        self.draw();
    }

    /// Whether the person prefers the dark.
    pub(crate) fn dark(&mut self, dark: bool) {
        self.dark = dark;
        self.emulate();
    }

    /// For what the page is drawn: `print`, or the screen again when this is empty.
    pub(crate) fn media(&mut self, media: &str) {
        self.media = media.to_owned();
        self.emulate();
    }

    /// Both at once, since the one that is not named is reset.
    fn emulate(&self) {
        let scheme = if self.dark { "dark" } else { "light" };
        let features = [json!({ "name": "prefers-color-scheme", "value": scheme })];
        let params = json!({ "media": self.media, "features": features });
        self.call("Emulation.setEmulatedMedia", params);
        self.draw();
    }

    /// The page on paper, with its colours, and on the paper that it asks for.
    pub(crate) fn pdf(&self) -> Vec<u8> {
        let params = json!({ "printBackground": true, "preferCSSPageSize": true });
        bytes(&self.call("Page.printToPDF", params))
    }

    /// The page as a PNG: what is seen of it, or the whole.
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

    /// Strikes a key: `Tab`, `Enter`, `Escape`, `Space`, `ArrowUp` and the like, or a letter;
    /// `Shift+` may stand before it.
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
                let only = only.unwrap_or_else(|| panic!("no key is called {letter}"));
                (letter, u32::from(only.to_ascii_uppercase()), letter)
            }
        };
        // Without a text it is no character, and without a number it is no key to scripts.
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

    /// Clicks where a person would.
    pub(crate) fn click(&self, spot: impl Into<Spot>) {
        let (x, y) = self.point(spot.into());
        self.mouse("mouseMoved", "none", x, y);
        self.mouse("mousePressed", "left", x, y);
        self.mouse("mouseReleased", "left", x, y);
    }

    /// Moves the mouse there.
    pub(crate) fn hover(&self, spot: impl Into<Spot>) {
        let (x, y) = self.point(spot.into());
        self.mouse("mouseMoved", "none", x, y);
    }

    fn mouse(&self, kind: &str, button: &str, x: f64, y: f64) {
        let count = u32::from(button != "none");
        let params = json!({ "type": kind, "x": x, "y": y, "button": button, "clickCount": count });
        self.call("Input.dispatchMouseEvent", params);
    }

    /// A spot's place in the window, after the page has been scrolled to it.
    fn point(&self, spot: Spot) -> (f64, f64) {
        let selector = match spot {
            Spot::At(x, y) => return (x, y),
            Spot::Middle(selector) => selector,
        };
        let look = format!(
            "(() => {{
               const it = document.querySelector({});
               it?.scrollIntoView({{ block: 'center', inline: 'center', behavior: 'instant' }});
               const box = it?.getBoundingClientRect();
               return box && box.width * box.height > 0
                 ? [box.x + box.width / 2, box.y + box.height / 2] : null;
             }})()",
            json!(selector)
        );
        let mut middle = self.eval(&look);
        // What is still being drawn above it moves it, and the click would meet something else.
        let begun = Instant::now();
        loop {
            self.draw();
            let again = self.eval(&look);
            if again == middle || begun.elapsed() > self.patience {
                break;
            }
            middle = again;
        }
        assert!(!middle.is_null(), "{selector} is not to be seen, and has no middle");
        (middle[0].as_f64().unwrap(), middle[1].as_f64().unwrap())
    }

    /// What has been copied last, in this browser.
    pub(crate) fn clipboard(&self) -> String {
        let text = self.eval("navigator.clipboard.readText()");
        text.as_str().unwrap().to_owned()
    }

    /// What is read aloud, in its order: the role and the name of each thing that is not hidden
    /// from those who do not see.
    pub(crate) fn spoken(&self) -> Vec<(String, String)> {
        let tree = self.call("Accessibility.getFullAXTree", json!({}));
        let nodes = tree["nodes"].as_array().unwrap();
        let by_id: HashMap<_, _> = nodes.iter().map(|node| (&node["nodeId"], node)).collect();
        let mut spoken = Vec::new();
        let mut next = vec![&nodes[0]["nodeId"]];
        while let Some(id) = next.pop() {
            let Some(node) = by_id.get(id) else { continue };
            if node["ignored"] != true {
                let text = |what: &str| node[what]["value"].as_str().unwrap_or_default().to_owned();
                spoken.push((text("role"), text("name")));
            }
            next.extend(node["childIds"].as_array().into_iter().flatten().rev());
        }
        spoken
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let params = json!({ "targetId": self.target });
        let _ = self.chromium.wire.send("", "Target.closeTarget", params);
    }
}

/// By what the time of a condition is found again.
fn mark(condition: &str) -> Value {
    json!(format!("met: {condition}"))
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

/// What was given to the console: a text as it is, anything else as it is shown there.
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

/// What comes as text because the protocol has no bytes.
fn bytes(answer: &Value) -> Vec<u8> {
    STANDARD.decode(answer["data"].as_str().unwrap()).unwrap()
}
