//! The DevTools protocol over two pipes: each message is a JSON text ended by a NUL. Many threads
//! may call at once; one thread reads the replies and the events.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Event domains enabled for every target that a page starts (workers, frames in other processes).
pub(crate) const EVENT_DOMAINS: [&str; 3] = ["Network.enable", "Log.enable", "Runtime.enable"];

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

/// What was received.
#[derive(Default)]
pub(crate) struct State {
    answers: HashMap<u64, Value>,
    /// By the session of the page to which they belong.
    events: HashMap<String, Vec<Value>>,
    /// Sessions of targets that a page has started, each with the session of that page.
    pages: HashMap<String, String>,
    /// Why the connection has ended.
    ended: Option<String>,
}

impl State {
    /// The events of a page.
    pub(crate) fn events(&self, session: &str) -> &[Value] {
        self.events.get(session).map_or(&[], Vec::as_slice)
    }
}

impl Wire {
    pub(crate) fn new(to: ChildStdin) -> Self {
        let to = Mutex::new(Sender { pipe: to, calls: 0 });
        Self { to, state: Mutex::default(), news: Condvar::new() }
    }

    /// A panic of another test leaves the state consistent, so poisoning is ignored.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads messages until the browser exits.
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
        // The target waits until it is resumed, so that no event is missed.
        if let Some(child) = started {
            for method in EVENT_DOMAINS {
                let _ = self.send(&child, method, json!({}));
            }
            let _ = self.send(&child, "Target.setAutoAttach", attaching());
            let _ = self.send(&child, "Runtime.runIfWaitingForDebugger", json!({}));
        }
    }

    /// Sends a call, to the browser itself if the session is empty; returns its number.
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

    /// Calls, and waits for the reply.
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

    /// Waits until `find` finds something in the received messages.
    pub(crate) fn wait<T>(
        &self,
        patience: Duration,
        what: &str,
        mut find: impl FnMut(&mut State) -> Option<T>,
    ) -> Result<T, String> {
        let until = Instant::now() + patience;
        let mut state = self.state();
        loop {
            if let Some(found) = find(&mut state) {
                return Ok(found);
            }
            if let Some(why) = &state.ended {
                return Err(format!("the browser has ended ({why}), before {what}"));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(format!("timed out after {patience:?} waiting for {what}"));
            }
            let waited = self.news.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Attaches to every target that a page starts, and holds it until it is resumed.
pub(crate) fn attaching() -> Value {
    json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true })
}
