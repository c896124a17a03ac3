//! The judgement of a condition: what is so, what it costs, what to do.

use serde::Serialize;

/// Whether a condition limits oscost, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Nothing can be measured.
    Blocks,
    /// Rows, treatments or checks are missing.
    Limits,
    /// It cannot be examined.
    Unknown,
    /// It limits nothing.
    Fine,
}

/// A condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Judgement {
    /// What it is about; the name is stable.
    pub subject: &'static str,
    /// Whether it limits oscost.
    pub state: State,
    /// What is so.
    pub found: String,
    /// The rows, treatments or checks that are missing; `null` for none.
    pub cost: Option<String>,
    /// What to do; `null` if there is nothing to do.
    pub remedy: Option<String>,
}

impl Judgement {
    pub(super) fn fine(found: impl Into<String>) -> Self {
        Self::new(State::Fine, found)
    }

    pub(super) fn unknown(found: impl Into<String>) -> Self {
        Self::new(State::Unknown, found)
    }

    pub(super) fn limits(
        found: impl Into<String>,
        cost: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let (cost, remedy) = (Some(cost.into()), Some(remedy.into()));
        Self { cost, remedy, ..Self::new(State::Limits, found) }
    }

    pub(super) fn blocks(found: impl Into<String>, remedy: impl Into<String>) -> Self {
        let cost = "nothing can be measured; what is kept can be shown and compared".to_owned();
        let (cost, remedy) = (Some(cost), Some(remedy.into()));
        Self { cost, remedy, ..Self::new(State::Blocks, found) }
    }

    /// Of what only a worker shows, where none can be started.
    pub(super) fn without_worker() -> Self {
        Self::unknown("not known without a worker")
    }

    fn new(state: State, found: impl Into<String>) -> Self {
        Self { subject: "", state, found: found.into(), cost: None, remedy: None }
    }
}
