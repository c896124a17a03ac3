//! Treatments of a target: reads their files, and compiles their filters for a machine.

use anyhow::Context;
use oscost_model::call_names::Arch;
use oscost_model::record::TargetInfo;
use oscost_model::target::Target;
use oscost_model::treatment::TreatmentSet;

use crate::app::error::UsageError;
use crate::app::results::user_data::profile_folder;
use crate::plan::ComparedTarget;
use crate::treatments;

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
