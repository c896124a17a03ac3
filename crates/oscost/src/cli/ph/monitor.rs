//! `oscost ph train`, `watch`, and the processes that monitor for them.

use std::ffi::OsString;
use std::io;

use super::super::display;
use super::super::exit::{ExitStatus, report_not_started};
use super::super::output::Output;
use super::super::terminal::Terminal;
use super::constants::ConstantArguments;
use crate::app::ph::{
    self, Anomaly, CallNames, MonitorOutcome, MonitoringEnd, Request, ServeRequest,
};
use crate::report;

pub(super) fn request(
    constants: ConstantArguments,
    command: Vec<OsString>,
    report_states: bool,
) -> Request {
    Request { constants: constants.0, command, report_states }
}

/// Learns.
pub(super) fn train(request: &Request, output: &Output) -> anyhow::Result<ExitStatus> {
    Ok(exit_status(ph::train(request, &Terminal::new(output))?))
}

/// Prints what is not normal.
pub(super) fn watch(
    request: &Request,
    json: bool,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let terminal = Terminal::new(output);
    let mut report = |anomaly: &Anomaly, names: &CallNames| {
        let anomaly = anomaly_report(anomaly, names);
        let text = if json { anomaly.json()? } else { display::text(&anomaly.view()) };
        output.write(&text).map_err(|error| match error.downcast::<io::Error>() {
            Ok(error) => error,
            Err(other) => io::Error::other(other),
        })
    };
    Ok(exit_status(ph::watch(request, &terminal, &mut report)?))
}

fn anomaly_report(anomaly: &Anomaly, names: &CallNames) -> report::ph::Anomaly {
    let call = |number| report::ph::Call { number, name: names.name(number).into_owned() };
    report::ph::Anomaly {
        schema: report::ph::Anomaly::SCHEMA,
        pid: anomaly.pid,
        comm: anomaly.comm.clone(),
        executable: anomaly.executable.clone(),
        current: call(anomaly.current),
        previous: call(anomaly.previous),
        position: anomaly.position,
        locality: anomaly.locality,
        anomalies: anomaly.anomalies,
    }
}

fn exit_status(ended: MonitoringEnd) -> ExitStatus {
    match ended {
        MonitoringEnd::Done => ExitStatus::Success,
        MonitoringEnd::WithStatus(status) => ExitStatus::Of(status),
        MonitoringEnd::NotStarted { program, error } => report_not_started(&program, &error),
    }
}

/// Monitors for the process that started this one.
pub(super) fn serve(request: ServeRequest) -> anyhow::Result<ExitStatus> {
    let served = ph::serve(request, &mut io::stdin().lock(), &mut io::stdout().lock())?;
    Ok(match served {
        MonitorOutcome::Done => ExitStatus::Success,
        MonitorOutcome::Missing => ExitStatus::Failure,
    })
}

/// Waits for the end of a monitor process.
#[cfg(feature = "ebpf")]
pub(super) fn clean_up() -> anyhow::Result<ExitStatus> {
    ph::clean_up(&mut io::stdin().lock(), &mut io::stdout().lock())?;
    Ok(ExitStatus::Success)
}

#[cfg(test)]
mod tests {
    use oscost_model::call_names::Arch;

    use super::*;

    #[test]
    fn an_anomaly_names_its_calls() {
        let anomaly = Anomaly {
            pid: 42,
            comm: "dash".to_owned(),
            executable: "/usr/bin/dash".to_owned(),
            current: 59,
            previous: 0,
            position: 2,
            locality: 1,
            anomalies: 3,
        };
        let named = anomaly_report(&anomaly, &CallNames::of(Arch::X86_64));
        assert_eq!((named.current.name.as_str(), named.current.number), ("execve", 59));
        assert_eq!((named.previous.name.as_str(), named.position), ("read", 2));
    }
}
