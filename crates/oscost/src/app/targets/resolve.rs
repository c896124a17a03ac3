//! Targets from their text, and treatments made ready for the machine that they are applied on.

use anyhow::Context;
use oscost_model::call_names::Arch;
use oscost_model::record::TargetInfo;
use oscost_model::target::{Host, Target, TargetError, Treatment};
use oscost_model::treatment::TreatmentSet;

use crate::app::error::UsageError;
use crate::app::results::user_data::profile_folder;
use crate::plan::ComparedTarget;
use crate::treatments;

/// The host of a target without treatments; `hint` says why there can be none.
pub(crate) fn host_alone(text: &str, hint: &str) -> anyhow::Result<Host> {
    let target = Target::parse(text).map_err(usage)?;
    match target.treatments.first() {
        None => Ok(target.host),
        Some(treatment) => {
            let what = format!("cannot treat with `{treatment}`");
            Err(UsageError::with_hint(&what, hint).into())
        }
    }
}

/// The target that `--at` names, with the treatments of `--treat` if these are given separately.
/// Only the text is parsed; what it names may not exist.
pub(crate) fn resolve(at: &str, treatments: Option<&str>) -> anyhow::Result<Target> {
    let mut target = Target::parse(at).map_err(usage)?;
    if let Some(listed) = treatments {
        if !target.treatments.is_empty() {
            let what = format!("cannot treat with `{listed}` at `{target}`");
            let hint = "name treatments in `--treat` or in `--at`, not in both";
            return Err(UsageError::with_hint(&what, hint).into());
        }
        target.treatments = Treatment::list(listed).map_err(usage)?;
    }
    let local_only = target.treatments.iter().find(|it| ["cmd", "ph"].contains(&it.name.as_str()));
    if let Some(Treatment { name, .. }) = local_only
        && matches!(target.host, Host::Ssh(_) | Host::Vm(_))
    {
        let what = format!("cannot treat with `{name}` at `{}`", target.host);
        let hint = format!("`{name}` starts programs of this machine only");
        return Err(UsageError::with_hint(&what, &hint).into());
    }
    Ok(target)
}

fn usage(error: TargetError) -> UsageError {
    UsageError(error.to_string())
}

/// A target whose treatments are ready to be applied.
pub(crate) struct PreparedTarget {
    pub(crate) side: ComparedTarget,
    /// What the user should know of the treatments.
    pub(crate) notes: Vec<String>,
}

/// Reads the files that the treatments of a target name, for a machine of this architecture.
pub(crate) fn prepare(target: &Target, arch: Option<Arch>) -> anyhow::Result<PreparedTarget> {
    let read = treatments::parse_with_notes(&target.treatments, arch.unwrap_or(Arch::X86_64))
        .map_err(|error| UsageError(error.to_string()))?;
    let target = TargetInfo {
        text: target.to_string(),
        host: target.host.to_string(),
        treatments: target.treatments.iter().map(ToString::to_string).collect(),
        machine: "m0".to_owned(),
        cpu: None,
        peer: None,
    };
    let side = ComparedTarget { target, treatments: with_profile_folder(read.treatments)? };
    Ok(PreparedTarget { side, notes: read.notes })
}

/// Prepares a target for this machine's architecture and drops the result: an unreadable filter is
/// reported before the command waits for a machine.
pub(crate) fn check(target: &Target) -> anyhow::Result<()> {
    prepare(target, Arch::from_uname(std::env::consts::ARCH)).map(drop)
}

/// Tells monitors that begin with the user's profiles where these are.
pub(crate) fn with_profile_folder(treated: TreatmentSet) -> anyhow::Result<TreatmentSet> {
    treatments::with_profile_folder(treated, || {
        let folder = profile_folder()?.into_os_string().into_string();
        folder.ok().context("cannot name the folder of profiles: its path is not UTF-8")
    })
}
