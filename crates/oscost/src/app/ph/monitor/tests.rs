//! A fake monitor: its events are shown, and a command runs exactly while it is attached.

use std::io::ErrorKind;

use super::*;
use crate::app::observer::test_observers::Silent;

fn last(calls: u64, anomalies: u64, lost: u64) -> MonitorEvent {
    MonitorEvent::Ended(MonitorReport { calls, anomalies, lost, ..MonitorReport::default() })
}

/// Reports these events, waits until it is stopped, then reports its end.
struct FakeMonitor {
    events: Vec<MonitorEvent>,
    options: Option<MonitorOptions>,
}

impl MonitorRunner for &mut FakeMonitor {
    fn run(
        &mut self,
        options: &MonitorOptions,
        observer: &mut dyn MonitorObserver,
    ) -> Result<(), MonitorError> {
        self.options = Some(options.clone());
        for event in &self.events {
            if let MonitorEvent::Missing { reason } = event {
                return Err(MonitorError::Missing(reason.clone()));
            }
            observer.on_event(event).map_err(MonitorError::Observer)?;
        }
        while !observer.should_stop() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let ended = last(7, 1, 0);
        observer.on_event(&ended).map_err(MonitorError::Observer)
    }
}

fn anomaly() -> MonitorEvent {
    MonitorEvent::Anomaly(Anomaly {
        pid: 42,
        comm: "dash".to_owned(),
        executable: "/usr/bin/dash".to_owned(),
        current: 59,
        previous: 0,
        position: 2,
        locality: 1,
        anomalies: 3,
    })
}

/// A command that was monitored by a fake monitor.
struct MonitoringRun {
    ended: anyhow::Result<MonitoringEnd>,
    shown: Vec<MonitorEvent>,
    options: Option<MonitorOptions>,
}

/// Monitors a command with a fake monitor that reports these events.
fn monitored(events: Vec<MonitorEvent>, command: &[&str]) -> MonitoringRun {
    let mut fake = FakeMonitor { events, options: None };
    let (ended, shown) = monitored_by(&mut fake, command);
    MonitoringRun { ended, shown, options: fake.options }
}

fn monitored_by(
    mut monitor: impl MonitorRunner,
    command: &[&str],
) -> (anyhow::Result<MonitoringEnd>, Vec<MonitorEvent>) {
    let mut shown = Vec::new();
    let mut show = |event: &MonitorEvent| {
        shown.push(event.clone());
        Ok(())
    };
    let command: Vec<OsString> = command.iter().map(OsString::from).collect();
    let interrupt = &Interrupt::listen().unwrap();
    let mut run = MonitoredRun {
        interrupt,
        command: &command,
        state: CommandState::Waiting,
        report_states: true,
        observer: &Silent,
        show: &mut show,
    };
    let options = MonitorOptions { constants: Constants::default(), tree: Some(1) };
    let result = monitor.run(&options, &mut run);
    (end(result, run), shown)
}

/// The exit status with which it ended, if it ended with one.
fn status(ended: anyhow::Result<MonitoringEnd>) -> Option<u8> {
    match ended.unwrap() {
        MonitoringEnd::WithStatus(status) => Some(status),
        MonitoringEnd::Done | MonitoringEnd::NotStarted { .. } => None,
    }
}

#[test]
fn a_command_runs_once_the_monitor_is_attached_and_its_exit_status_is_reported() {
    let MonitoringRun { ended, shown, options } =
        monitored(vec![MonitorEvent::Ready, anomaly()], &["sh", "-c", "exit 7"]);
    assert_eq!(status(ended), Some(7));
    assert_eq!(shown, [MonitorEvent::Ready, anomaly(), last(7, 1, 0)]);
    assert_eq!(options.unwrap().tree, Some(1));
    let MonitoringRun { ended, .. } =
        monitored(vec![MonitorEvent::Ready], &["sh", "-c", "kill -TERM $$"]);
    assert_eq!(status(ended), Some(128 + 15));
}

#[test]
fn a_command_that_cannot_be_started_ends_the_monitor() {
    let changed = MonitorEvent::StateChanged(StateChange {
        executable: "/bin/x".into(),
        state: "normal".into(),
    });
    let kind = |ended: anyhow::Result<MonitoringEnd>| match ended.unwrap() {
        MonitoringEnd::NotStarted { program, error } => (program, error.kind()),
        other => panic!("{other:?}"),
    };
    let MonitoringRun { ended, shown, .. } =
        monitored(vec![MonitorEvent::Ready, changed.clone()], &["/no/such/command"]);
    assert_eq!(kind(ended), ("/no/such/command".to_owned(), ErrorKind::NotFound));
    assert!(shown.contains(&changed));
    let MonitoringRun { ended, .. } = monitored(vec![MonitorEvent::Ready], &["/etc/passwd"]);
    assert_eq!(kind(ended).1, ErrorKind::PermissionDenied);
}

#[test]
fn without_a_monitor_no_command_runs() {
    let missing = MonitorEvent::Missing { reason: "no BTF here".to_owned() };
    let MonitoringRun { ended, shown, .. } = monitored(vec![missing], &["sh", "-c", "exit 7"]);
    let error = ended.unwrap_err();
    assert_eq!(format!("{error:#}"), "cannot monitor here: no BTF here");
    assert_eq!(shown, []);
}

#[test]
fn an_error_of_the_listener_ends_the_monitor_and_is_passed_on() {
    let mut show = |_: &MonitorEvent| Err(ErrorKind::BrokenPipe.into());
    let mut run = MonitoredRun {
        interrupt: &Interrupt::listen().unwrap(),
        command: &[],
        state: CommandState::Waiting,
        report_states: false,
        observer: &Silent,
        show: &mut show,
    };
    let mut fake = FakeMonitor { events: vec![MonitorEvent::Ready], options: None };
    let result = (&mut fake).run(&MonitorOptions::default(), &mut run);
    let error = end(result, run).unwrap_err();
    let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
    assert_eq!(kind, Some(ErrorKind::BrokenPipe), "{error:#}");
}

#[test]
fn a_monitor_process_lasts_as_long_as_the_command() {
    let script = r#"echo '{"event":"ready"}'; cat >&2; echo '{"event":"ended","calls":7}'"#;
    let first = ["-c", script, "monitor"].map(str::to_owned).into();
    let monitor = MonitorProcess { program: "sh".into(), leading_arguments: first };
    let (ended, shown) = monitored_by(monitor, &["sh", "-c", "exit 3"]);
    assert_eq!(status(ended), Some(3));
    assert_eq!(shown, [MonitorEvent::Ready, last(7, 0, 0)]);
}
