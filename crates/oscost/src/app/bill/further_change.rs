//! The changes that a bill is asked about, from their texts.

use oscost_model::cool::COOL;
use oscost_model::raw_call::CALL;
use oscost_model::record::Record;
use oscost_model::target::{Target, Treatment};

use crate::app::error::UsageError;
use crate::app::results::prices::named_run;
use crate::app::targets::prepare::check;
use crate::app::targets::resolve::{host_alone, resolve};

/// More changes than these are other bills.
const MAX_CHANGES: usize = 8;
/// How a run of other prices is named.
const PRICES: &str = "prices=";
/// How another machine is named.
const ELSEWHERE: &str = "at=";

/// A change that is asked about.
pub(super) enum FurtherChange {
    /// Treatments in addition to those of the bill.
    Treatments {
        /// As typed.
        text: String,
        /// The target with those of the bill, too.
        target: Target,
    },
    /// The prices of another run.
    Prices {
        /// As typed.
        text: String,
        /// The run.
        record: Box<Record>,
    },
    /// The prices of another machine.
    Elsewhere {
        /// As typed.
        text: String,
        /// The machine, with the treatments of the bill.
        target: Target,
    },
}

/// The changes of these texts, for a program at `base`. What cannot be read is reported before the
/// program runs.
pub(super) fn further_changes(
    texts: &[String],
    base: &Target,
) -> anyhow::Result<Vec<FurtherChange>> {
    if texts.len() > MAX_CHANGES {
        let what = format!("{} changes: one bill has at most {MAX_CHANGES}", texts.len());
        return Err(UsageError::with_hint(&what, "leave out some `--what-if`").into());
    }
    texts.iter().map(|text| further_change(text, base)).collect()
}

fn further_change(text: &str, base: &Target) -> anyhow::Result<FurtherChange> {
    if let Some(run) = text.strip_prefix(PRICES) {
        let record = Box::new(named_run(run, &names(&base.treatments))?);
        return Ok(FurtherChange::Prices { text: text.to_owned(), record });
    }
    if let Some(host) = text.strip_prefix(ELSEWHERE) {
        let target = elsewhere(host, base)?;
        return Ok(FurtherChange::Elsewhere { text: text.to_owned(), target });
    }
    let mut all = names(&base.treatments);
    all.push(text.to_owned());
    let target = resolve(&base.host.to_string(), Some(&all.join("+")))?;
    let of_ops = target.treatments.iter().find_map(|treatment| match treatment.name.as_str() {
        COOL => Some("the walk is between ops of a benchmark"),
        CALL => Some("a program makes its calls as it was compiled"),
        _ => None,
    });
    if let Some(why) = of_ops {
        let text = text.escape_debug();
        let what = format!("cannot predict what `{text}` adds to a command: {why}");
        let hint = "what it adds to calls is part of the bill: it names the cases to compare";
        return Err(UsageError::with_hint(&what, hint).into());
    }
    check(&target)?;
    Ok(FurtherChange::Treatments { text: text.to_owned(), target })
}

/// Another machine, with the treatments of the bill.
fn elsewhere(host: &str, base: &Target) -> anyhow::Result<Target> {
    let hint = "name the machine alone: its prices are those under the treatments of the bill";
    let host = host_alone(host, hint)?;
    if host == base.host {
        let what = format!("cannot bill by the prices of `{host}` as of another machine");
        let hint = "the program runs there: `--what-if at=ssh:HOST` names another one";
        return Err(UsageError::with_hint(&what, hint).into());
    }
    let treatments = Some(names(&base.treatments).join("+")).filter(|listed| !listed.is_empty());
    let target = resolve(&host.to_string(), treatments.as_deref())?;
    check(&target)?;
    Ok(target)
}

/// Treatments as records name them.
pub(super) fn names(treatments: &[Treatment]) -> Vec<String> {
    treatments.iter().map(ToString::to_string).collect()
}
