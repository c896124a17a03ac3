//! How many findings are false.

use crate::fleet::findings::Finding;

/// The false share of the findings of each fleet; 0 without findings.
#[derive(Debug, Default)]
pub(super) struct FalseShares(Vec<f64>);

impl FalseShares {
    /// Adds the findings of a fleet.
    pub(super) fn add(&mut self, findings: &[Finding], is_true: impl Fn(&&Finding) -> bool) {
        let false_findings = findings.iter().filter(|it| !is_true(it)).count();
        self.0.push(false_findings as f64 / findings.len().max(1) as f64);
    }

    pub(super) fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len() as f64
    }

    /// The number of fleets with a false finding.
    pub(super) fn alarms(&self) -> usize {
        self.0.iter().filter(|&&share| share > 0.0).count()
    }
}
