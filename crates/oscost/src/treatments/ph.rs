//! The treatment `ph` and its modifiers: the command of the monitor process.
//!
//! The supervisor starts this program as the monitor process. Without a modifier the monitor begins
//! without profiles and discards what it learns.

use oscost_model::treatment::{AttachedTreatment, TreatmentSet};

use crate::files::own_program::own_program;

/// The verb that makes this program a monitor process.
pub const MONITOR_VERB: &str = "monitor";
/// The monitor begins without profiles, and saves none.
const FRESH_FLAG: &str = "--fresh";
/// The monitor begins with the user's profiles, and does not change them.
const UNCHANGED_FLAG: &str = "--unchanged";

/// The monitor pH.
pub(super) fn ph() -> Result<AttachedTreatment, String> {
    let program = own_program().map_err(|error| error.to_string())?;
    let program = program.into_os_string().into_string();
    let program = program.map_err(|_| "the path of this program is not UTF-8".to_owned())?;
    let command = [&program, "ph", MONITOR_VERB, "--quiet", FRESH_FLAG].map(str::to_owned);
    Ok(AttachedTreatment::Ph { monitor_command: command.to_vec() })
}

/// Makes the monitor begin with what `oscost ph train` has learnt.
pub(super) fn trained(attached: &mut [AttachedTreatment]) -> Result<(), String> {
    for argument in monitor_command(attached)?.iter_mut().filter(|it| *it == FRESH_FLAG) {
        UNCHANGED_FLAG.clone_into(argument);
    }
    Ok(())
}

/// Makes the monitor delay processes with anomalies.
pub(super) fn respond(attached: &mut [AttachedTreatment]) -> Result<(), String> {
    monitor_command(attached)?.push("--delay-factor=1".to_owned());
    Ok(())
}

/// The command of the monitor that a modifier follows.
fn monitor_command(attached: &mut [AttachedTreatment]) -> Result<&mut Vec<String>, String> {
    let command = attached.iter_mut().find_map(|it| match it {
        AttachedTreatment::Ph { monitor_command } => Some(monitor_command),
        _ => None,
    });
    command.ok_or_else(|| "it must follow `ph`".to_owned())
}

/// Makes monitors continue with the user's own profiles, and save them.
pub fn with_user_profiles(mut treatments: TreatmentSet) -> TreatmentSet {
    for attached in &mut treatments.attached {
        if let AttachedTreatment::Ph { monitor_command } = attached {
            monitor_command.retain(|argument| argument != FRESH_FLAG);
        }
    }
    treatments
}

/// Passes the directory of the user's profiles to monitors that begin with them: the process that
/// starts a monitor may be another user's.
pub fn with_profile_folder<E>(
    mut treatments: TreatmentSet,
    folder: impl Fn() -> Result<String, E>,
) -> Result<TreatmentSet, E> {
    for attached in &mut treatments.attached {
        if let AttachedTreatment::Ph { monitor_command } = attached {
            for argument in monitor_command.iter_mut().filter(|it| *it == UNCHANGED_FLAG) {
                *argument = format!("{UNCHANGED_FLAG}={}", folder()?);
            }
        }
    }
    Ok(treatments)
}
