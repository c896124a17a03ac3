//! What the two rows of a pair differ in.

use oscost_model::cool::{COOL, treatment_text, walk_of};
use oscost_model::raw_call::{CALL, RawCall, raw_call_of};
use oscost_model::treatment::AppliedTreatment;

/// What a pair of rows of one case shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PairKind {
    /// What a function around each raw call adds.
    Function,
    /// What a walk through memory between two ops adds.
    Walk,
}

/// A treatment, and its text in a target.
pub(crate) struct PairTreatment {
    pub(crate) applied: AppliedTreatment,
    pub(crate) text: String,
}

impl PairKind {
    /// The kind of pair that a row under these treatments may be of.
    pub(super) fn of(treatments: &[String]) -> Option<Self> {
        match (raw_call_of(treatments), walk_of(treatments)) {
            (Some(_), _) => Some(PairKind::Function),
            (None, Some(_)) => Some(PairKind::Walk),
            (None, None) => None,
        }
    }

    /// The name of the treatment.
    pub(super) fn treatment(self) -> &'static str {
        match self {
            PairKind::Function => CALL,
            PairKind::Walk => COOL,
        }
    }

    /// The treatments of both rows, the base first; a walk is of so many bytes.
    pub(crate) fn sides(self, walk_bytes: u64) -> [PairTreatment; 2] {
        match self {
            PairKind::Function => RawCall::ALL.map(|how| PairTreatment {
                applied: AppliedTreatment::Call { how },
                text: how.treatment_text(),
            }),
            PairKind::Walk => [0, walk_bytes].map(|walk_bytes| PairTreatment {
                applied: AppliedTreatment::Cool { walk_bytes },
                text: treatment_text(walk_bytes),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_treatments_of_both_rows_are_read_as_those_of_their_kind() {
        for kind in [PairKind::Function, PairKind::Walk] {
            for PairTreatment { text, .. } in kind.sides(1 << 20) {
                assert!(text.starts_with(kind.treatment()), "{text}");
                assert_eq!(PairKind::of(&[text]), Some(kind));
            }
        }
        let [base, new] = PairKind::Walk.sides(1 << 18).map(|side| side.text);
        assert_eq!([base.as_str(), new.as_str()], ["cool=0", "cool=256K"]);
        assert_eq!(PairKind::of(&["nice=1".to_owned()]), None);
        assert_eq!(PairKind::of(&[]), None);
    }
}
