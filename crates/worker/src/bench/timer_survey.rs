//! The survey of timers: what is documented, and which cases measure the rest.

use oscost_model::definition;

/// A row of the survey of timers: what is documented, and which cases measure the rest.
#[derive(Clone, Copy)]
pub struct Timer {
    /// Its name.
    pub name: &'static str,
    /// The cost of one read; the same case shows whether a read enters the kernel.
    pub cost: SurveyEntry,
    /// The resolution that the system or a man page states.
    pub resolution: SurveyEntry,
    /// The step by which its value advances.
    pub quantum: SurveyEntry,
    /// The smallest difference in work that it can resolve.
    pub precision: SurveyEntry,
    /// Whether adjtimex(2) changes its rate.
    pub slewed: SurveyEntry,
    /// Whether it can be set back.
    pub steps_back: SurveyEntry,
}

/// An entry in a row of the survey of timers.
#[derive(Clone, Copy)]
pub enum SurveyEntry {
    /// The figure of a case.
    Case(&'static str),
    /// A documented fact.
    Text(&'static str),
    /// Not applicable, for this reason.
    Reason(&'static str),
}

impl Timer {
    /// The timer as plain data.
    pub fn data(&self) -> definition::Timer {
        definition::Timer {
            name: self.name.to_owned(),
            cost: self.cost.data(),
            resolution: self.resolution.data(),
            quantum: self.quantum.data(),
            precision: self.precision.data(),
            slewed: self.slewed.data(),
            steps_back: self.steps_back.data(),
        }
    }
}

impl SurveyEntry {
    fn data(self) -> definition::SurveyEntry {
        let empty = definition::SurveyEntry::default();
        match self {
            SurveyEntry::Case(case) => {
                definition::SurveyEntry { case: Some(case.to_owned()), ..empty }
            }
            SurveyEntry::Text(text) => {
                definition::SurveyEntry { text: Some(text.to_owned()), ..empty }
            }
            SurveyEntry::Reason(reason) => {
                definition::SurveyEntry { reason: Some(reason.to_owned()), ..empty }
            }
        }
    }
}
