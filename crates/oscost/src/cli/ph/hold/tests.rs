//! A monitor that is made up: what it says is shown, and a command runs exactly while it is held.

use super::*;
use crate::ph::constants::Constants;

fn last(calls: u64, anomalies: u64, lost: u64) -> Said {
    Said::Ended(MonitorReport { calls, anomalies, lost, ..MonitorReport::default() })
}

/// Says these words, then waits until its audience has enough, then says how it ended.
struct MadeUp {
    says: Vec<Said>,
    asked: Option<Asked>,
}

impl Holder for &mut MadeUp {
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

/// Holds what is made up for a command: how it ended, what was shown, and what was asked for.
fn hold(says: Vec<Said>, command: &[&str]) -> (anyhow::Result<Done>, Vec<Said>, Option<Asked>) {
    let mut made_up = MadeUp { says, asked: None };
    let (done, shown) = hold_with(&mut made_up, command);
    (done, shown, made_up.asked)
}

fn hold_with(mut holder: impl Holder, command: &[&str]) -> (anyhow::Result<Done>, Vec<Said>) {
    let mut shown = Vec::new();
    let mut show = |said: &Said| {
        shown.push(said.clone());
        Ok(())
    };
    let command: Vec<OsString> = command.iter().map(OsString::from).collect();
    let (interrupt, messages) = (&Interrupt::listen().unwrap(), Messages { messages: true });
    let mut crowd =
        Crowd { interrupt, command: &command, runs: Runs::NotYet, messages, show: &mut show };
    let asked = Asked { constants: Constants::default(), tree: Some(1) };
    let held = holder.hold(&asked, &mut crowd);
    (ended(held, crowd), shown)
}

#[test]
fn a_command_runs_once_the_monitor_is_there_and_its_status_is_ours() {
    let (done, shown, asked) = hold(vec![Said::Ready, anomaly()], &["sh", "-c", "exit 7"]);
    assert_eq!(done.unwrap(), Done::With(7));
    let ended = last(7, 1, 0);
    assert_eq!(shown, [Said::Ready, anomaly(), ended]);
    assert_eq!(asked.unwrap().tree, Some(1));
    let (done, ..) = hold(vec![Said::Ready], &["sh", "-c", "kill -TERM $$"]);
    assert_eq!(done.unwrap(), Done::With(128 + 15));
}

#[test]
fn a_command_that_cannot_be_run_ends_it_with_the_usual_status() {
    let became = Said::Became(Became { executable: "/bin/x".into(), state: "normal".into() });
    let (done, shown, _) = hold(vec![Said::Ready, became.clone()], &["/no/such/command"]);
    assert_eq!(done.unwrap(), Done::With(127));
    assert!(shown.contains(&became));
    let (done, ..) = hold(vec![Said::Ready], &["/etc/passwd"]);
    assert_eq!(done.unwrap(), Done::With(126));
}

#[test]
fn without_a_monitor_no_command_runs() {
    let missing = Said::Missing { why: "no BTF here".to_owned() };
    let (done, shown, _) = hold(vec![missing], &["sh", "-c", "exit 7"]);
    let error = done.unwrap_err();
    assert_eq!(format!("{error:#}"), "cannot monitor here: no BTF here");
    assert_eq!(shown, []);
}

#[test]
fn an_anomaly_is_told_by_the_names_of_its_calls() {
    let Said::Anomaly(anomaly) = anomaly() else { panic!("it is one") };
    let line = line(&anomaly, &Names::of(oscost_model::call_names::Arch::X86_64));
    assert_eq!((line.current.name.as_str(), line.current.number), ("execve", 59));
    assert_eq!((line.previous.name.as_str(), line.position), ("read", 2));
}

#[test]
fn whoever_does_not_listen_any_more_ends_it_and_that_is_no_error_of_the_monitor() {
    let mut show = |_: &Said| Err(ErrorKind::BrokenPipe.into());
    let (interrupt, messages) = (&Interrupt::listen().unwrap(), Messages { messages: false });
    let mut crowd =
        Crowd { interrupt, command: &[], runs: Runs::NotYet, messages, show: &mut show };
    let mut made_up = MadeUp { says: vec![Said::Ready], asked: None };
    let held = (&mut made_up).hold(&Asked::default(), &mut crowd);
    let error = ended(held, crowd).unwrap_err();
    assert!(super::super::super::output::is_broken_pipe(&error), "{error:#}");
}

#[test]
fn a_holder_that_is_a_process_lasts_as_long_as_the_command() {
    let script = r#"echo '{"said":"ready"}'; cat >&2; echo '{"said":"ended","calls":7}'"#;
    let first = ["-c", script, "holder"].map(str::to_owned).into();
    let holder = Process { program: "sh".into(), first };
    let (done, shown) = hold_with(holder, &["sh", "-c", "exit 3"]);
    assert_eq!(done.unwrap(), Done::With(3));
    assert_eq!(shown, [Said::Ready, last(7, 0, 0)]);
}
