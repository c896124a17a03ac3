//! A holder made of a few words of sh(1): its words are heard, and none of it is left behind.

use super::*;

fn last(calls: u64, anomalies: u64, lost: u64) -> MonitorEvent {
    MonitorEvent::Ended(MonitorReport { calls, anomalies, lost, ..MonitorReport::default() })
}

/// Hears everything, and has enough after so many words.
struct Listener {
    heard: Vec<MonitorEvent>,
    enough: usize,
    fails: bool,
}

impl Listener {
    fn with_enough(enough: usize) -> Self {
        Self { heard: Vec::new(), enough, fails: false }
    }
}

impl MonitorObserver for Listener {
    fn on_event(&mut self, said: &MonitorEvent) -> io::Result<()> {
        self.heard.push(said.clone());
        match self.fails {
            true => Err(io::ErrorKind::BrokenPipe.into()),
            false => Ok(()),
        }
    }

    fn should_stop(&mut self) -> bool {
        self.heard.len() >= self.enough
    }
}

/// What becomes of a holder that runs this script.
fn hold(script: &str, listener: &mut Listener) -> Result<(), MonitorError> {
    let first = ["-c", script, "holder"].map(str::to_owned).into();
    let mut holder = MonitorProcess { program: "sh".into(), leading_arguments: first };
    holder.run(&MonitorOptions::default(), listener)
}

const READY: &str = r#"echo '{"event":"ready"}';"#;
const ENDED: &str = r#"cat >&2; echo '{"event":"ended","calls":7}'"#;

#[test]
fn a_holder_is_heard_from_its_first_word_to_its_last_and_ends_when_it_is_enough() {
    let anomaly = Anomaly {
        pid: 42,
        comm: "sh".to_owned(),
        executable: "/bin/sh".to_owned(),
        current: 59,
        previous: 0,
        position: 2,
        locality: 1,
        anomalies: 3,
    };
    let said = MonitorEvent::Anomaly(anomaly);
    let line = serde_json::to_string(&said).unwrap();
    let script = format!(r#"{READY} echo '{{"event":"later","x":1}}'; echo '{line}'; {ENDED}"#);
    let mut listener = Listener::with_enough(3);
    hold(&script, &mut listener).unwrap();
    let ended = last(7, 0, 0);
    assert_eq!(listener.heard, [MonitorEvent::Ready, MonitorEvent::Other, said, ended]);
}

#[test]
fn every_word_is_read_as_it_is_written() {
    let became = StateChange::new("/bin/sh".to_owned(), State::Frozen);
    for (said, line) in [
        (MonitorEvent::Ready, r#"{"event":"ready"}"#),
        (MonitorEvent::Note { what: "x".into() }, r#"{"event":"note","what":"x"}"#),
        (MonitorEvent::Missing { why: "x".into() }, r#"{"event":"missing","why":"x"}"#),
        (
            MonitorEvent::StateChanged(became),
            r#"{"event":"state-changed","executable":"/bin/sh","state":"frozen"}"#,
        ),
        (
            last(1, 2, 3),
            r#"{"event":"ended","calls":1,"lost":3,"marked":[],"profile_state":null,"anomalies":2}"#,
        ),
    ] {
        assert_eq!(serde_json::to_string(&said).unwrap(), line);
        assert_eq!(serde_json::from_str::<MonitorEvent>(line).unwrap(), said);
    }
}

#[test]
fn a_holder_that_cannot_says_what_is_missing() {
    let script = r#"echo '{"event":"missing","why":"no BTF here"}'; exit 1"#;
    let mut listener = Listener::with_enough(9);
    let error = hold(script, &mut listener).unwrap_err();
    assert!(matches!(&error, MonitorError::Missing(why) if why == "no BTF here"), "{error}");
    assert_eq!(listener.heard, []);
}

#[test]
fn a_holder_that_ends_without_a_last_word_or_talks_nonsense_is_an_error() {
    let error = hold(&format!("{READY} exit 3"), &mut Listener::with_enough(9)).unwrap_err();
    assert!(error.to_string().contains("too early (exit status: 3)"), "{error}");
    let error = hold("echo hello; cat", &mut Listener::with_enough(9)).unwrap_err();
    assert!(matches!(error, MonitorError::Protocol(_)), "{error}");
    let endless = hold("tr '\\0' x < /dev/zero", &mut Listener::with_enough(9)).unwrap_err();
    assert!(matches!(endless, MonitorError::Protocol(_)), "{endless}");
    let first =
        MonitorProcess { program: "/no/such/program".into(), leading_arguments: Vec::new() };
    let error =
        { first }.run(&MonitorOptions::default(), &mut Listener::with_enough(9)).unwrap_err();
    assert!(matches!(error, MonitorError::Io(_)), "{error}");
}

#[test]
fn an_audience_that_is_gone_ends_the_holding_in_order() {
    let mut listener = Listener { fails: true, ..Listener::with_enough(9) };
    let error = hold(&format!("{READY} {ENDED}"), &mut listener).unwrap_err();
    assert!(matches!(error, MonitorError::Observer(_)), "{error}");
    assert_eq!(listener.heard.len(), 2, "{:?}", listener.heard);
}

#[test]
fn only_what_is_not_as_published_is_told_to_a_holder() {
    assert_eq!(MonitorOptions::default().arguments(), Vec::<String>::new());
    let constants = Constants { window: 6, normal_wait_s: 0, ..Constants::default() };
    let asked = MonitorOptions { constants, tree: Some(7) };
    assert_eq!(asked.arguments(), ["--window=6", "--normal-wait=0s", "--tree=7"]);
}
