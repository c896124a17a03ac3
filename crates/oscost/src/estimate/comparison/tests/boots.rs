//! Several runs a side of which some share a boot.

use oscost_model::facts::Facts;
use oscost_model::record::Machine;

use super::*;

/// Runs in this order, as [`runs`], and the boot of each.
fn runs_of_boots(order: &str, boots: &str) -> [Vec<Record>; 2] {
    let mut sides = runs(order);
    for (minute, boot) in boots.chars().enumerate() {
        let id = minute.to_string();
        let run = sides.iter_mut().flatten().find(|run| run.id == id).unwrap();
        let mut facts = Facts::default();
        facts.counters.boot = Some(boot.to_string());
        run.machines = vec![Machine::new("m0", facts, Vec::new())];
    }
    sides
}

fn compare_boots(order: &str, boots: &str) -> RunComparison {
    let [base, new] = runs_of_boots(order, boots);
    compare(&base, &new)
}

fn is_told(compared: &RunComparison, text: &str) -> bool {
    compared.notes.iter().any(|it| it.contains(text))
}

#[test]
fn of_pairs_that_share_a_boot_one_is_used() {
    let order = "abba".repeat(6);
    // Twelve pairs. Two neighbouring runs of a side are of one boot, and belong to two pairs.
    let shared = compare_boots(&order, "ABBCCDDEEFFGGHHIIJJKKLLM");
    let found = &shared.comparisons[0];
    assert_eq!((found.design.as_str(), found.pairs), ("boots", 6), "{shared:?}");
    assert!(is_told(&shared, "6 more share a boot"), "{:?}", shared.notes);
    let own = compare_boots(&order, "ABCDEFGHIJKLMNOPQRSTUVWX");
    // What a boot is like is in both runs of a pair.
    let one = compare_boots(&order, &"A".repeat(24));
    for all in [own, one] {
        assert_eq!((all.comparisons[0].design.as_str(), all.comparisons[0].pairs), ("boots", 12));
        assert!(!is_told(&all, "share a boot"), "{:?}", all.notes);
    }
    let few = compare_boots("abbaabbaabba", "ABBCCDDEEFFG");
    assert_eq!(few.comparisons[0].design, "stored", "three pairs are too few for a discovery");
}

#[test]
fn more_runs_of_one_boot_a_side_do_not_narrow_a_comparison() {
    let mde = |order: &str, boots: &str| {
        let compared = compare_boots(order, boots);
        assert_eq!(compared.comparisons[0].design, "stored");
        compared.comparisons[0].mde_pct.unwrap()
    };
    let (in_turns, in_a_row) = ("abbaabbaab", "aaaaabbbbb");
    let own = mde(in_turns, "ABCDEFGHIJ");
    let [one, boot_a_side] = [mde(in_turns, "AAAAAAAAAA"), mde(in_a_row, "AAAAABBBBB")];
    assert!(own < 0.5 * boot_a_side && one < 0.5 * boot_a_side, "{own} {one} {boot_a_side}");
    assert!(boot_a_side > 0.95 * mde("ab", "AB"), "{boot_a_side}");
    let shared = mde(in_turns, "ABBCCDDEEF");
    assert!(own < shared && shared < boot_a_side, "{own} {shared} {boot_a_side}");
    let told = compare_boots(in_a_row, "AAAAABBBBB");
    assert!(is_told(&told, "5 and 5 runs are of 1 and 1 boots"), "{:?}", told.notes);
    for boots in ["ABCDEFGHIJ", "AAAAAAAAAA"] {
        assert!(!is_told(&compare_boots(in_turns, boots), "runs are of"), "{boots}");
    }
}
