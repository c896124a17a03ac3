//! Targets from their text.

use oscost_model::target::{Host, Target, TargetError, Treatment};

use super::slurm;
use crate::app::error::UsageError;

/// The host of a target without treatments; `hint` says why there can be none.
pub(crate) fn host_alone(text: &str, hint: &str) -> anyhow::Result<Host> {
    let target = Target::parse(text).map_err(usage)?;
    slurm::check(&target.host)?;
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
    slurm::check(&target.host)?;
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
        && matches!(target.host, Host::Ssh(_) | Host::Slurm(_) | Host::Vm(_))
    {
        let what = format!("cannot treat with `{name}` at `{}`", target.host);
        let hint = format!("`{name}` starts programs of this machine only");
        return Err(UsageError::with_hint(&what, &hint).into());
    }
    Ok(target)
}

/// The targets that one option names, each of them once.
pub(crate) fn resolve_distinct(texts: &[&str]) -> anyhow::Result<Vec<Target>> {
    let mut targets: Vec<Target> = Vec::new();
    for text in texts {
        let target = resolve(text, None)?;
        if targets.contains(&target) {
            let what = format!("cannot compare `{target}` twice in one run");
            let hint = "name each once; `--base X --new X` compares a target with itself";
            return Err(UsageError::with_hint(&what, hint).into());
        }
        targets.push(target);
    }
    Ok(targets)
}

fn usage(error: TargetError) -> UsageError {
    UsageError(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_compared_once() {
        let targets = resolve_distinct(&["local", "nice=5", "nice=6"]).unwrap();
        assert_eq!(targets.len(), 3);
        // `local` is where treatments alone are.
        for twice in [["local", "local"], ["nice=5", "nice=5@local"]] {
            let error = resolve_distinct(&twice).unwrap_err().to_string();
            assert!(error.starts_with("cannot compare `"), "{error}");
            assert!(error.contains("twice in one run\n  hint: name each once"), "{error}");
        }
    }
}
