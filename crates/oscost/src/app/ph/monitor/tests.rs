//! A fake monitor: its events are shown, and a command runs exactly while it is attached.

use std::io::ErrorKind;

use oscost_model::journal::Entry;

use super::*;

fn last(calls: u64, anomalies: u64, lost: u64) -> Said {
    Said::Ended(MonitorReport { calls, anomalies, lost, ..MonitorReport::default() })
}

/// Ignores everything.
struct Silent;

impl Observer for Silent {
    fn note(&self, _: &str) {}
    fn status(&self, _: &str) {}
    fn waiting_for(&self, _: &str, _: Option<&str>) {}
    fn working(&self, _: &str) {}
    fn finished(&self) {}
    fn entry(&self, _: &Entry) {}
}

/// Reports these events, waits until it is stopped, then reports its end.
struct FakeMonitor {
    says: Vec<Said>,
    asked: Option<Asked>,
}

impl Holder for &mut FakeMonitor {
    fn hold(&mut self, asked: &Asked, audience: &mut dyn Audience) -> Result<(), HoldError> {
        self.asked = Some(asked.clone());
        for said in &self.says {
            if let Said::Missing { why } = said {
                return Err(HoldError::Missing(why.clone()));
            }
            audience.heard(said).map_err(HoldError::Unheard)?;
        }
        while !audience.has_enough() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let ended = last(7, 1, 0);
        audience.heard(&ended).map_err(HoldError::Unheard)
    }
}

fn anomaly() -> Said {
    Said::Anomaly(Anomaly {
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

/// Monitors a command with these events: how it ended, what was shown, and what was requested.
fn monitored(
    says: Vec<Said>,
    command: &[&str],
) -> (anyhow::Result<Ended>, Vec<Said>, Option<Asked>) {
    let mut fake = FakeMonitor { says, asked: None };
    let (done, shown) = monitored_by(&mut fake, command);
    (done, shown, fake.asked)
}

fn monitored_by(mut holder: impl Holder, command: &[&str]) -> (anyhow::Result<Ended>, Vec<Said>) {
    let mut shown = Vec::new();
    let mut show = |said: &Said| {
        shown.push(said.clone());
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
    let asked = Asked { constants: Constants::default(), tree: Some(1) };
    let held = holder.hold(&asked, &mut run);
    (end(held, run), shown)
}

/// The exit status with which it ended, if it ended with one.
fn status(ended: anyhow::Result<Ended>) -> Option<u8> {
    match ended.unwrap() {
        Ended::WithStatus(status) => Some(status),
        Ended::Done | Ended::NotStarted { .. } => None,
    }
}

#[test]
fn a_command_runs_once_the_monitor_is_attached_and_its_exit_status_is_reported() {
    let (done, shown, asked) = monitored(vec![Said::Ready, anomaly()], &["sh", "-c", "exit 7"]);
    assert_eq!(status(done), Some(7));
    let ended = last(7, 1, 0);
    assert_eq!(shown, [Said::Ready, anomaly(), ended]);
    assert_eq!(asked.unwrap().tree, Some(1));
    let (done, ..) = monitored(vec![Said::Ready], &["sh", "-c", "kill -TERM $$"]);
    assert_eq!(status(done), Some(128 + 15));
}

#[test]
fn a_command_that_cannot_be_started_ends_the_monitor() {
    let became = Said::Became(Became { executable: "/bin/x".into(), state: "normal".into() });
    let kind = |ended: anyhow::Result<Ended>| match ended.unwrap() {
        Ended::NotStarted { program, error } => (program, error.kind()),
        other => panic!("{other:?}"),
    };
    let (done, shown, _) = monitored(vec![Said::Ready, became.clone()], &["/no/such/command"]);
    assert_eq!(kind(done), ("/no/such/command".to_owned(), ErrorKind::NotFound));
    assert!(shown.contains(&became));
    let (done, ..) = monitored(vec![Said::Ready], &["/etc/passwd"]);
    assert_eq!(kind(done).1, ErrorKind::PermissionDenied);
}

#[test]
fn without_a_monitor_no_command_runs() {
    let missing = Said::Missing { why: "no BTF here".to_owned() };
    let (done, shown, _) = monitored(vec![missing], &["sh", "-c", "exit 7"]);
    let error = done.unwrap_err();
    assert_eq!(format!("{error:#}"), "cannot monitor here: no BTF here");
    assert_eq!(shown, []);
}

#[test]
fn an_error_of_the_listener_ends_the_monitor_and_is_passed_on() {
    let mut show = |_: &Said| Err(ErrorKind::BrokenPipe.into());
    let mut run = MonitoredRun {
        interrupt: &Interrupt::listen().unwrap(),
        command: &[],
        state: CommandState::Waiting,
        report_states: false,
        observer: &Silent,
        show: &mut show,
    };
    let mut fake = FakeMonitor { says: vec![Said::Ready], asked: None };
    let held = (&mut fake).hold(&Asked::default(), &mut run);
    let error = end(held, run).unwrap_err();
    let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
    assert_eq!(kind, Some(ErrorKind::BrokenPipe), "{error:#}");
}

#[test]
fn a_monitor_process_lasts_as_long_as_the_command() {
    let script = r#"echo '{"said":"ready"}'; cat >&2; echo '{"said":"ended","calls":7}'"#;
    let first = ["-c", script, "holder"].map(str::to_owned).into();
    let holder = Process { program: "sh".into(), first };
    let (done, shown) = monitored_by(holder, &["sh", "-c", "exit 3"]);
    assert_eq!(status(done), Some(3));
    assert_eq!(shown, [Said::Ready, last(7, 0, 0)]);
}
