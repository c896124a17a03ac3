//! The sides of a comparison, targets or commands at one target, and what cannot be compared.

use oscost_model::case::Case;
use oscost_model::target::{Host, Target};

use super::request::Request;
use crate::app::error::UsageError;
use crate::app::measurement::counting::CountedTarget;
use crate::app::selection::cases::Selection;
use crate::app::selection::programs::Programs;
use crate::app::targets::resolve::{resolve, resolve_distinct};
use crate::app::targets::vm::counted_machine;
use crate::studies::Study;
use crate::treatments::time_alone_like_cooled;

/// How many targets one command compares with a base.
const MAX_NEW_TARGETS: usize = 12;

/// The targets of a comparison.
pub(super) struct Targets {
    pub(super) base: Target,
    pub(super) new: Vec<Target>,
}

impl Targets {
    pub(super) fn all(&self) -> impl Iterator<Item = &Target> {
        std::iter::once(&self.base).chain(&self.new)
    }
}

/// The targets that the request names, or those of its study.
pub(super) fn targets(request: &Request, study: Option<&Study>) -> anyhow::Result<Targets> {
    let columns = study.and_then(|study| study.columns.as_ref());
    let of_study = |at: usize| columns.map(|columns| columns[at].target.as_str());
    let base = request.base.as_deref().or(of_study(0)).unwrap_or("local");
    let mut new: Vec<&str> = request.new.iter().map(String::as_str).collect();
    if new.is_empty() {
        new.extend(of_study(1));
    }
    if new.is_empty() && study.is_none() && !request.programs.has_commands() {
        let hint = "`--new TARGET` names a target, `-- COMMAND -- COMMAND` two commands";
        return Err(UsageError::with_hint("nothing to compare with the base", hint).into());
    }
    if let (Some(study), true) = (study, new.is_empty()) {
        let name = request.study.as_deref().unwrap_or_default();
        let what =
            format!("study {} compares nothing: `oscost run --study {name}` measures it", study.id);
        let hint = format!("`--new TARGET` compares its cases there with those at `{base}`");
        return Err(UsageError::with_hint(&what, &hint).into());
    }
    let count = new.len();
    if columns.is_some() && count > 1 {
        let what = format!("{count} new targets: a study with two columns compares one");
        return Err(UsageError::with_hint(&what, "name one by `--new`").into());
    }
    if count > MAX_NEW_TARGETS {
        let what = format!("{count} new targets: at most {MAX_NEW_TARGETS} are compared");
        return Err(UsageError::with_hint(&what, "compare the others in another run").into());
    }
    let new = resolve_distinct(&new)?;
    let mut targets = Targets { base: resolve(base, None)?, new };
    time_alone_like_cooled(std::iter::once(&mut targets.base).chain(&mut targets.new));
    Ok(targets)
}

/// The commands that are compared with each other, as groups of cases, the first of which is the
/// base; `None` if targets are compared.
pub(super) fn compared_commands(
    request: &Request,
    selection: &Selection,
    targets: &Targets,
) -> Result<Option<Vec<Vec<Case>>>, UsageError> {
    if !request.programs.has_commands() {
        return Ok(None);
    }
    let groups = selection.programs.compared_commands(&selection.cases);
    let is_several = selection.programs.has_several_commands();
    match (targets.new.is_empty(), groups) {
        (false, _) if is_several => Err(UsageError::with_hint(
            "cannot compare several commands and several targets in one run",
            "name one command, or leave out `--new`",
        )),
        (false, _) => Ok(None),
        (true, None) => Err(UsageError::with_hint(
            "nothing to compare the command with",
            "a second one after another `--`, another target (`--new`), or several values \
             (`--param n=1,2`)",
        )),
        (true, Some(_)) if !request.selectors.is_empty() => Err(UsageError::with_hint(
            "cannot compare benchmarks and commands in one run",
            "leave out the selectors",
        )),
        (true, Some(_)) if matches!(targets.base.host, Host::Vm(_)) => Err(UsageError::with_hint(
            "commands run on this machine only: a virtual machine has none",
            "leave out `--base`, or name benchmarks to measure there",
        )),
        (true, Some(_)) if request.programs.workload.is_some() => Err(UsageError::with_hint(
            "cannot compare a workload and commands in one run",
            "leave out `--workload`",
        )),
        (true, Some(groups)) => Programs::check_turns(&groups).map(|()| Some(groups)),
    }
}

/// The machines of these targets, if instructions are counted on every one of them.
pub(super) fn counted_targets(targets: &Targets) -> Result<Option<Vec<CountedTarget>>, UsageError> {
    let mut counted = Vec::new();
    let mut timed = Vec::new();
    for target in targets.all() {
        match counted_machine(target)? {
            Some(machine) => counted.push(CountedTarget { target: target.clone(), machine }),
            None => timed.push(target),
        }
    }
    match (counted.first(), timed.first()) {
        (None, _) => Ok(None),
        (Some(CountedTarget { target, .. }), Some(other)) => Err(UsageError::with_hint(
            &format!(
                "cannot compare `{target}` with `{other}`: instructions are counted at the first, \
                 and time is measured at the second"
            ),
            "name two kernels (`vm:KERNEL`), or two targets on one machine whose time is measured",
        )),
        (Some(_), None) => Ok(Some(counted)),
    }
}

/// Refuses two machines: everything differs between them, and no interleaving separates the causes.
pub(super) fn check_same_host(base: &Target, new: &Target) -> Result<(), UsageError> {
    if base.host == new.host {
        return Ok(());
    }
    Err(UsageError::with_hint(
        &format!("cannot measure `{base}` and `{new}` side by side: they are two machines"),
        &format!(
            "`oscost run --at {}` and `oscost run --at {}`, then `oscost compare`",
            base.host, new.host
        ),
    ))
}
