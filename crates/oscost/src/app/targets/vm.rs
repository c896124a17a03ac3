//! Virtual machines as targets, before they are booted.

use oscost_model::target::{Host, Target};

use crate::app::error::UsageError;
use crate::app::observer::Observer;
use crate::hosts::vm::{Accel, Kernel, VmSpec};

/// The machine that a target means, if it is one on which instructions are counted.
pub(crate) fn counted_machine(target: &Target) -> Result<Option<VmSpec>, UsageError> {
    let Host::Vm(text) = &target.host else { return Ok(None) };
    let wanted = parse(text)?;
    Ok((wanted.accel == Accel::Tcg).then_some(wanted))
}

/// Refuses a machine whose kernel does not exist, before a session is opened.
pub(crate) fn check(host: &Host) -> Result<(), UsageError> {
    let Host::Vm(text) = host else { return Ok(()) };
    let wanted = parse(text)?;
    Kernel::find(&wanted.kernel).map(drop).map_err(|error| UsageError(error.to_string()))
}

fn parse(text: &str) -> Result<VmSpec, UsageError> {
    VmSpec::parse(text).map_err(|error| UsageError(error.to_string()))
}

/// Finds the kernel of a machine, and notes the choice where there were several.
pub(crate) fn find_kernel(wanted: &VmSpec, observer: &dyn Observer) -> anyhow::Result<Kernel> {
    let kernel = Kernel::find(&wanted.kernel).map_err(|error| UsageError(error.to_string()))?;
    if let Some(note) = &kernel.note {
        observer.note(note);
    }
    Ok(kernel)
}

/// An option of a request, and whether it was given.
pub(crate) struct GivenOption {
    pub(crate) name: &'static str,
    pub(crate) is_given: bool,
}

/// Refuses options without meaning where instructions are counted.
pub(crate) fn refuse_options(options: &[GivenOption]) -> Result<(), UsageError> {
    match options.iter().find(|option| option.is_given) {
        None => Ok(()),
        Some(GivenOption { name, .. }) => Err(UsageError::with_hint(
            &format!(
                "cannot use `{name}` where instructions are counted: nothing is sampled there, and \
                 there is one CPU and no peer"
            ),
            "`accel=kvm` in the target measures time instead",
        )),
    }
}
