//! A monitor process made of a shell script: its events are received, and it leaves no process.

use super::*;

fn ended(calls: u64, anomalies: u64, lost: u64) -> MonitorEvent {
    MonitorEvent::Ended(MonitorReport { calls, anomalies, lost, ..MonitorReport::default() })
}

/// Collects the events, and stops after a number of them.
struct Collector {
    events: Vec<MonitorEvent>,
    max_events: usize,
    fails: bool,
}

impl Collector {
    fn stopping_after(max_events: usize) -> Self {
        Self { events: Vec::new(), max_events, fails: false }
    }
}

impl MonitorObserver for Collector {
    fn on_event(&mut self, event: &MonitorEvent) -> io::Result<()> {
        self.events.push(event.clone());
        match self.fails {
            true => Err(io::ErrorKind::BrokenPipe.into()),
            false => Ok(()),
        }
    }

    fn should_stop(&mut self) -> bool {
        self.events.len() >= self.max_events
    }
}

/// Runs a script as the monitor process.
fn run(script: &str, collector: &mut Collector) -> Result<(), MonitorError> {
    let leading_arguments = ["-c", script, "monitor"].map(str::to_owned).into();
    let mut process = MonitorProcess { program: "sh".into(), leading_arguments };
    process.run(&MonitorOptions::default(), collector)
}

const READY: &str = r#"echo '{"event":"ready"}';"#;
const ENDED: &str = r#"cat >&2; echo '{"event":"ended","calls":7}'"#;

#[test]
fn all_events_are_received_until_the_observer_stops() {
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
    let event = MonitorEvent::Anomaly(anomaly);
    let line = serde_json::to_string(&event).unwrap();
    let script = format!(r#"{READY} echo '{{"event":"later","x":1}}'; echo '{line}'; {ENDED}"#);
    let mut collector = Collector::stopping_after(3);
    run(&script, &mut collector).unwrap();
    let ended = ended(7, 0, 0);
    assert_eq!(collector.events, [MonitorEvent::Ready, MonitorEvent::Other, event, ended]);
}

#[test]
fn every_event_is_parsed_as_it_is_written() {
    let change = StateChange::new("/bin/sh".to_owned(), State::Frozen);
    for (event, line) in [
        (MonitorEvent::Ready, r#"{"event":"ready"}"#),
        (MonitorEvent::Note { text: "x".into() }, r#"{"event":"note","text":"x"}"#),
        (MonitorEvent::Missing { reason: "x".into() }, r#"{"event":"missing","reason":"x"}"#),
        (
            MonitorEvent::StateChanged(change),
            r#"{"event":"state-changed","executable":"/bin/sh","state":"frozen"}"#,
        ),
        (
            ended(1, 2, 3),
            r#"{"event":"ended","calls":1,"lost":3,"marked":[],"profile_state":null,"anomalies":2}"#,
        ),
    ] {
        assert_eq!(serde_json::to_string(&event).unwrap(), line);
        assert_eq!(serde_json::from_str::<MonitorEvent>(line).unwrap(), event);
    }
}

#[test]
fn a_missing_requirement_is_reported() {
    let script = r#"echo '{"event":"missing","reason":"no BTF here"}'; exit 1"#;
    let mut collector = Collector::stopping_after(9);
    let error = run(script, &mut collector).unwrap_err();
    assert!(matches!(&error, MonitorError::Missing(why) if why == "no BTF here"), "{error}");
    assert_eq!(collector.events, []);
}

#[test]
fn a_process_that_ends_early_or_sends_invalid_events_is_an_error() {
    let error = run(&format!("{READY} exit 3"), &mut Collector::stopping_after(9)).unwrap_err();
    assert!(error.to_string().contains("too early (exit status: 3)"), "{error}");
    let error = run("echo hello; cat", &mut Collector::stopping_after(9)).unwrap_err();
    assert!(matches!(error, MonitorError::Protocol(_)), "{error}");
    let endless = run("tr '\\0' x < /dev/zero", &mut Collector::stopping_after(9)).unwrap_err();
    assert!(matches!(endless, MonitorError::Protocol(_)), "{endless}");
    let mut missing =
        MonitorProcess { program: "/no/such/program".into(), leading_arguments: Vec::new() };
    let error =
        missing.run(&MonitorOptions::default(), &mut Collector::stopping_after(9)).unwrap_err();
    assert!(matches!(error, MonitorError::Io(_)), "{error}");
}

#[test]
fn a_failed_observer_ends_the_monitor_in_order() {
    let mut collector = Collector { fails: true, ..Collector::stopping_after(9) };
    let error = run(&format!("{READY} {ENDED}"), &mut collector).unwrap_err();
    assert!(matches!(error, MonitorError::Observer(_)), "{error}");
    assert_eq!(collector.events.len(), 2, "{:?}", collector.events);
}

#[test]
fn only_changed_constants_are_arguments() {
    assert_eq!(MonitorOptions::default().arguments(), Vec::<String>::new());
    let constants = Constants { window: 6, normal_wait_s: 0, ..Constants::default() };
    let options = MonitorOptions { constants, tree: Some(7) };
    assert_eq!(options.arguments(), ["--window=6", "--normal-wait=0s", "--tree=7"]);
}
