//! The DevTools protocol over two pipes: each message is a JSON text that a NUL ends. Many threads
//! may ask at once; one reads the answers and what the browser tells on its own.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// What is told of everything that a page starts (workers, frames in processes of their own).
pub(crate) const TOLD: [&str; 3] = ["Network.enable", "Log.enable", "Runtime.enable"];

/// Our end of the two pipes.
pub(crate) struct Wire {
    to: Mutex<Sender>,
    state: Mutex<State>,
    news: Condvar,
}

struct Sender {
    pipe: ChildStdin,
    calls: u64,
}

/// What has come.
#[derive(Default)]
pub(crate) struct State {
    answers: HashMap<u64, Value>,
    /// By the session of the page that they belong to.
    events: HashMap<String, Vec<Value>>,
    /// Sessions of what a page has started, and the page's.
    pages: HashMap<String, String>,
    /// Why nothing more comes.
    ended: Option<String>,
}

impl State {
    /// What has been told of a page.
    pub(crate) fn events(&self, session: &str) -> &[Value] {
        self.events.get(session).map_or(&[], Vec::as_slice)
    }
}

impl Wire {
    pub(crate) fn new(to: ChildStdin) -> Self {
        let to = Mutex::new(Sender { pipe: to, calls: 0 });
        Self { to, state: Mutex::default(), news: Condvar::new() }
    }

    /// A test that panicked elsewhere leaves nothing half done here.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads all that comes, until the browser ends.
    pub(crate) fn read(&self, from: ChildStdout) {
        let mut from = BufReader::new(from);
        let mut message = Vec::new();
        let why = loop {
            message.clear();
            match from.read_until(0, &mut message) {
                Ok(0) => break "it has closed its pipe".to_owned(),
                Ok(_) => {}
                Err(error) => break error.to_string(),
            }
            match serde_json::from_slice(message.strip_suffix(b"\0").unwrap_or(&message)) {
                Ok(message) => self.take(message),
                Err(error) => break format!("a message of its cannot be read: {error}"),
            }
        };
        self.state().ended = Some(why);
        self.news.notify_all();
    }

    fn take(&self, message: Value) {
        let mut started = None;
        {
            let mut state = self.state();
            if let Some(id) = message["id"].as_u64() {
                state.answers.insert(id, message);
            } else if let Some(session) = message["sessionId"].as_str() {
                let page = state.pages.get(session).cloned().unwrap_or(session.to_owned());
                if message["method"] == "Target.attachedToTarget" {
                    let child = message["params"]["sessionId"].as_str().unwrap_or_default();
                    state.pages.insert(child.to_owned(), page.clone());
                    started = Some(child.to_owned());
                }
                state.events.entry(page).or_default().push(message);
            }
        }
        self.news.notify_all();
        // It waits until it is told to go on, so that nothing that it does is missed.
        if let Some(child) = started {
            for method in TOLD {
                let _ = self.send(&child, method, json!({}));
            }
            let _ = self.send(&child, "Target.setAutoAttach", attaching());
            let _ = self.send(&child, "Runtime.runIfWaitingForDebugger", json!({}));
        }
    }

    /// Sends a call, to the browser itself where the session is empty; tells its number.
    pub(crate) fn send(&self, session: &str, method: &str, params: Value) -> Result<u64, String> {
        let mut to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        to.calls += 1;
        let mut call = json!({ "id": to.calls, "method": method, "params": params });
        if !session.is_empty() {
            call["sessionId"] = session.into();
        }
        let mut message = call.to_string().into_bytes();
        message.push(0);
        let sent = to.pipe.write_all(&message).and_then(|()| to.pipe.flush());
        sent.map(|()| to.calls).map_err(|error| format!("{method}: {error}"))
    }

    /// Calls, and waits for the answer.
    pub(crate) fn call(
        &self,
        patience: Duration,
        session: &str,
        method: &str,
        params: Value,
    ) -> Result<Value, String> {
        let id = self.send(session, method, params)?;
        let what = format!("the answer to {method}");
        let mut answer = self.wait(patience, &what, |state| state.answers.remove(&id))?;
        match answer["error"]["message"].as_str() {
            Some(error) => Err(format!("{method}: {error}")),
            None => Ok(answer["result"].take()),
        }
    }

    /// Waits until something is among what has come.
    pub(crate) fn wait<T>(
        &self,
        patience: Duration,
        what: &str,
        mut look: impl FnMut(&mut State) -> Option<T>,
    ) -> Result<T, String> {
        let until = Instant::now() + patience;
        let mut state = self.state();
        loop {
            if let Some(found) = look(&mut state) {
                return Ok(found);
            }
            if let Some(why) = &state.ended {
                return Err(format!("the browser has ended ({why}), before {what}"));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(format!("waited {patience:?} in vain for {what}"));
            }
            let waited = self.news.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Whatever a page starts is to be told of, and to wait until somebody listens.
pub(crate) fn attaching() -> Value {
    json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true })
}
