//! The result of a rule: a finding, or why there is none.

use serde::Serialize;

/// The severity of a finding, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weight {
    /// Figures cannot be trusted.
    Invalidates,
    /// All figures of a kind are larger than on a machine without it.
    Biases,
    /// Intervals are wider, or figures change from minute to minute.
    Noise,
    /// Something cannot be measured or observed.
    Limitation,
    /// Worth knowing when comparing figures.
    Note,
}

/// A condition, its effect and its fix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The rule that found it; the name is stable.
    pub rule: &'static str,
    /// Its severity.
    pub weight: Weight,
    /// The condition, with this machine's figure.
    pub condition: String,
    /// Its effect on figures.
    pub effect: String,
    /// How to fix it; `null` if `command` suffices.
    pub fix: Option<String>,
    /// The command that fixes it; `null` if there is none.
    pub command: Option<String>,
}

/// The result of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RuleResult {
    /// The condition makes figures noisy or biased.
    Found(Finding),
    /// The check passed: the condition is absent.
    Passed(String),
    /// The condition cannot be observed here.
    Unknown(String),
    /// The rule does not apply here.
    NotApplicable,
}

impl RuleResult {
    /// A finding without a fix.
    pub(super) fn finding(
        weight: Weight,
        condition: impl Into<String>,
        effect: impl Into<String>,
    ) -> RuleResult {
        let (condition, effect) = (condition.into(), effect.into());
        RuleResult::Found(Finding { rule: "", weight, condition, effect, fix: None, command: None })
    }

    pub(super) fn pass(what: impl Into<String>) -> RuleResult {
        RuleResult::Passed(what.into())
    }

    pub(super) fn unknown(what: impl Into<String>) -> RuleResult {
        RuleResult::Unknown(what.into())
    }

    /// Adds a fix as text.
    pub(super) fn with_fix(mut self, words: impl Into<String>) -> RuleResult {
        if let RuleResult::Found(finding) = &mut self {
            finding.fix = Some(words.into());
        }
        self
    }

    /// Adds the command that fixes it.
    pub(super) fn with_command(mut self, command: impl Into<String>) -> RuleResult {
        if let RuleResult::Found(finding) = &mut self {
            finding.command = Some(command.into());
        }
        self
    }
}
