//! Whether the ops of two rows make other system calls.

use std::collections::BTreeSet;

use oscost_model::calls::{CallRule, CallTimes, Caller};
use oscost_model::journal::PlannedRow;

use crate::estimate::rows::row_state::RowState;

/// Whether an op of one row makes other calls than one of the other row. A call that the definition
/// does not fix (a wait that is over before it begins) differs by chance.
pub(super) fn calls_differ(base: &RowState, new: &RowState) -> bool {
    let (Some(one), Some(other)) = (&base.count, &new.count) else { return false };
    let names: BTreeSet<&String> = one.own.keys().chain(other.own.keys()).collect();
    let differs =
        |call: &&String| one.own.get(*call) != other.own.get(*call) && !may_vary(base, call);
    one.ops != other.ops || names.iter().any(differs)
}

/// Whether the definition of a row leaves open how often an op makes this call.
fn may_vary(state: &RowState, call: &str) -> bool {
    let PlannedRow { definition, case, .. } = &state.planned;
    let point = definition.with_implied(&case.point);
    let is_it = |rule: &&CallRule| {
        rule.caller == Caller::Own
            && point.includes(&rule.when)
            && rule.call.split('|').any(|name| name == call)
    };
    let mut rules = definition.calls.iter().filter(is_it);
    rules.any(|rule| !matches!(rule.times, CallTimes::Exactly(_)))
}

#[cfg(test)]
mod tests {
    use oscost_model::calls::CallCount;

    use super::calls_differ;
    use crate::estimate::made_up_rows::planned_row;
    use crate::estimate::rows::row_state::RowState;

    #[test]
    fn a_call_that_the_definition_does_not_fix_may_differ() {
        let catalog = oscost_worker::benchmarks::data();
        let counted = |futex: u64, clone: u64| {
            let own = [("futex", futex), ("clone", clone)];
            let own = own.map(|(call, times)| (call.to_owned(), times)).into();
            let planned = planned_row(&catalog, "thread/create-join:via=raw");
            let count = CallCount { ops: 23, own, ..CallCount::default() };
            RowState { count: Some(count), ..RowState::new(planned) }
        };
        assert!(!calls_differ(&counted(23, 23), &counted(20, 23)), "the thread had ended");
        assert!(calls_differ(&counted(23, 23), &counted(23, 46)));
    }
}
