//! The program of a bill: a command, a workload that comes with oscost, or one of a file.

use oscost_model::case::Case;
use oscost_model::point::Point;
use oscost_model::program::Workload;
use oscost_model::target::Host;

use crate::app::error::UsageError;
use crate::app::selection::named_files::find_workload;
use crate::app::selection::programs::{ProgramRequest, Programs, environment};
use crate::workloads::{MissingItems, Origin, Spec};

/// A program that is billed.
pub(super) struct BillSubject {
    /// The program, and what it needs.
    pub(super) workload: Workload,
    /// Its case in a comparison.
    pub(super) case: String,
    /// What selects it in a comparison, beside `request`.
    pub(super) selectors: Vec<String>,
    /// What names it in a comparison.
    pub(super) request: ProgramRequest,
    /// Has its standard input, if that was read from a pipe: it exists as long as this.
    _programs: Option<Programs>,
}

impl BillSubject {
    /// The program of a request, which must be there.
    pub(super) fn find(request: &ProgramRequest, host: &Host) -> anyhow::Result<Self> {
        let mut subject = match &request.workload {
            Some(name) => Self::of_workload(name, host),
            None => Self::of_command(request, host),
        }?;
        // A bill says that tasks outlived its program.
        subject.workload.program.may_leave_processes = true;
        Ok(subject)
    }

    fn of_workload(name: &str, host: &Host) -> anyhow::Result<Self> {
        let spec = find_workload(name)?;
        let point = spec.default_point();
        let workload = workload(&spec, &point, host)?;
        let case = Case::new(&spec.id, point).to_string();
        // A comparison knows those that come with oscost by their names.
        let file = (spec.origin != Origin::BuiltIn).then(|| name.to_owned());
        let request = ProgramRequest { workload: file, ..ProgramRequest::default() };
        Ok(Self { workload, selectors: vec![case.clone()], case, request, _programs: None })
    }

    fn of_command(request: &ProgramRequest, host: &Host) -> anyhow::Result<Self> {
        let programs = Programs::with_request(request)?;
        programs.check_commands(host)?;
        let Some(spec) = programs.command() else {
            let hint = "name one after `--`, or a workload by `--workload`";
            return Err(UsageError::with_hint("cannot bill: no command is named", hint).into());
        };
        let mut workload = workload(spec, &Point::none(), host)?;
        if matches!(host, Host::Ssh(_)) {
            // The folder that oscost was started in is one of this machine: a fresh one there.
            workload.program.working_directory = None;
        }
        let case = Case::new(&spec.id, Point::none()).to_string();
        let input = programs.piped_input_path().or_else(|| request.input.clone());
        let request = ProgramRequest { input, ..request.clone() };
        Ok(Self { workload, case, selectors: Vec::new(), request, _programs: Some(programs) })
    }
}

fn workload(spec: &Spec, point: &Point, host: &Host) -> anyhow::Result<Workload> {
    let error = |missing: MissingItems| {
        let what = format!("cannot bill {}: there is {}", spec.name(), missing.lacks.join(", "));
        let hint = missing.hint();
        let hint =
            hint.unwrap_or_else(|| format!("`oscost explain {}` says what it needs", spec.id));
        anyhow::anyhow!("{what}\n  hint: {hint}")
    };
    spec.workload(point, &environment(host, false)).map_err(error)
}
