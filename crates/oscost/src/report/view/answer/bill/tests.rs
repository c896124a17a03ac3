//! What bills say, on made-up ones.

mod tick_division;
mod unpriced;

use oscost_model::bill::DoubtfulRun;

use super::*;
use crate::report::view::bill::made_up::{bill, cooled, find, priced, unpriced};

/// The first sentence.
fn said(bill: &Bill) -> String {
    answer(bill).findings[0].clone()
}

#[test]
fn the_first_sentence_names_what_matters_and_what_is_unexplained() {
    // 54.98 + 20 + 12 + 0.02 of 100 ms.
    assert_eq!(
        said(&find()),
        "find spent 100 ms in the kernel; 55.0 ms of it for 68,725 x close file, 20.0 ms for \
         10,000 x getdents64 directory, 12.0 ms for 1,200 x minor page fault; 13 % is unexplained."
    );
    // What is small is named only if it is the largest.
    let one = bill(vec![priced("brk", "memory", 20.0, 1_000.0)], 100e6);
    assert!(said(&one).contains("; 20.0 us of it for 20 x brk; 100 % is unexplained"));
    let nothing = bill(Vec::new(), 2e6);
    assert_eq!(said(&nothing), "find spent 2.00 ms in the kernel; 100 % is unexplained.");
}

#[test]
fn prices_that_charge_more_than_was_measured_are_no_part_of_it() {
    let more = bill(vec![priced("brk", "memory", 1_000.0, 3_000.0)], 2e6);
    assert_eq!(
        said(&more),
        "find spent 2.00 ms in the kernel; the prices charge 50 % more than that, 3.00 ms in all; \
         3.00 ms for 1,000 x brk."
    );
    let free = bill(vec![priced("brk", "memory", 1.0, 1.0)], 0.0);
    assert_eq!(said(&free), "find spent no measurable time in the kernel.");
    let mut uncounted = find();
    (uncounted.counted, uncounted.charged, uncounted.difference) = (None, None, None);
    assert!(said(&uncounted).ends_with("for what is not known: its calls were not counted."));
    assert_eq!(trust_of(&uncounted).grade, Grade::Poor);
}

#[test]
fn a_difference_that_may_be_nothing_is_not_called_unexplained() {
    let uncertain = |difference: [f64; 2], charged: [f64; 2]| {
        let mut bill = find();
        bill.difference.iter_mut().for_each(|it| it.ci95 = Some(difference));
        bill.charged.iter_mut().for_each(|it| it.ci95 = Some(charged));
        said(&bill)
    };
    let wide = uncertain([-27e6, 53e6], [48e6, 126e6]);
    let end = "; 87.0 ms (48.0 to 126 ms) charged: too uncertain to say what is unexplained.";
    assert!(wide.ends_with(end), "{wide}");
    let narrow = uncertain([-1e6, 27e6], [74e6, 100e6]);
    let end = "; 87.0 ms (74.0 to 100 ms) charged: nothing that is unexplained shows.";
    assert!(narrow.ends_with(end), "{narrow}");
    assert!(uncertain([0.1e6, 27e6], [74e6, 100e6]).ends_with("; 13 % is unexplained."));
    // More than was measured, by prices that may be too high.
    let mut more = bill(vec![priced("brk", "memory", 1_000.0, 2_100.0)], 2e6);
    more.difference.iter_mut().for_each(|it| it.ci95 = Some([-0.32e6, 0.12e6]));
    assert_eq!(
        said(&more),
        "find spent 2.00 ms in the kernel; 2.10 ms (1.89 to 2.31 ms) charged: nothing that is \
         unexplained shows; 2.10 ms for 1,000 x brk."
    );
}

#[test]
fn how_sure_a_difference_without_an_interval_is_is_not_known() {
    let mut unsure = find();
    unsure.difference.iter_mut().for_each(|it| it.ci95 = None);
    let end = "; 13 % is unexplained, and how sure that is is not known.";
    assert!(said(&unsure).ends_with(end), "{}", said(&unsure));
    let mut more = bill(vec![priced("brk", "memory", 1_000.0, 3_000.0)], 2e6);
    more.difference.iter_mut().for_each(|it| it.ci95 = None);
    let words = "3.00 ms in all, and how sure that is is not known; 3.00 ms for 1,000 x brk.";
    assert!(said(&more).ends_with(words), "{}", said(&more));
}

#[test]
fn with_cool_prices_it_says_where_the_measured_time_lies() {
    assert_eq!(
        said(&cooled(find(), 1.2)),
        "find spent 100 ms in the kernel; 55.0 ms of it for 68,725 x close file, 20.0 ms for \
         10,000 x getdents64 directory, 12.0 ms for 1,200 x minor page fault; 87.0 ms (warm \
         caches) to 104 ms (cool) charged, 100 ms measured: within the range."
    );
    let more = bill(vec![priced("brk", "memory", 1_000.0, 3_000.0)], 2e6);
    assert_eq!(
        said(&cooled(more, 2.0)),
        "find spent 2.00 ms in the kernel; 3.00 ms (warm caches) to 6.00 ms (cool) charged, \
         2.00 ms measured: 33 % below the range; 3.00 ms for 1,000 x brk."
    );
    let mut uncertain = cooled(bill(vec![priced("brk", "memory", 1_000.0, 3_000.0)], 2e6), 2.0);
    uncertain.difference.iter_mut().for_each(|it| it.ci95 = Some([-3e6, 1e6]));
    let side = "; 3.00 ms (warm caches, 2.70 to 3.30 ms) to 6.00 ms (cool, 5.40 to 6.60 ms) charged, \
                2.00 ms measured: too uncertain to say what is unexplained; 3.00 ms for";
    assert!(said(&uncertain).contains(side), "{}", said(&uncertain));
}

#[test]
fn a_system_time_that_may_be_higher_judges_no_range() {
    let doubted = |mut bill: Bill| {
        bill.trials.doubt = Some("it may be too low".to_owned());
        said(&bill)
    };
    let ranged = doubted(cooled(find(), 1.2));
    let end = " charged, 100 ms measured: not judged: the system time may be up to 100 ms higher.";
    assert!(ranged.ends_with(end), "{ranged}");
    let alone = doubted(find());
    let end = "; 13 % is unexplained; the system time may be up to 100 ms higher.";
    assert!(alone.ends_with(end), "{alone}");
    assert_eq!(
        doubted(bill(vec![priced("brk", "memory", 1_000.0, 3_000.0)], 2e6)),
        "find spent 2.00 ms in the kernel; the prices charge 50 % more than that, 3.00 ms in all; the \
         system time may be up to 100 ms higher; 3.00 ms for 1,000 x brk."
    );
    assert_eq!(
        doubted(bill(vec![priced("brk", "memory", 1.0, 1.0)], 0.0)),
        "find spent no measurable time in the kernel; the system time may be up to 100 ms higher."
    );
}

#[test]
fn a_range_explains_what_it_holds_unless_it_is_wide() {
    let trust_of_range = |warm_ns: f64, ratio: f64| {
        trust_of(&cooled(bill(vec![priced("brk", "memory", 1.0, warm_ns)], 1e6), ratio))
    };
    // With warm caches alone 52 % would be unexplained.
    assert_eq!(trust_of_range(0.48e6, 2.1).grade, Grade::Good);
    let wide = trust_of_range(0.48e6, 3.0);
    let text = "one end of its range is more than 2.2 times the other: it holds almost any time";
    assert_eq!(wide.reasons, [text]);
    assert_eq!(wide.grade, Grade::Fair);
    for (warm_ns, ratio) in [(0.2e6, 2.0), (1.6e6, 1.1)] {
        let far = trust_of_range(warm_ns, ratio);
        let text = "its system time is outside the range by more than half of itself: the prices do not \
                    explain it";
        assert_eq!((far.grade, &far.reasons[..]), (Grade::Poor, &[text.to_owned()][..]));
    }
    let mut open = cooled(bill(vec![priced("brk", "memory", 1.0, 1.6e6)], 1e6), 1.1);
    open.trials.doubt = Some("it may be too low".to_owned());
    assert_eq!(trust_of(&open).reasons, ["it may be too low"]);
}

/// The reasons of a bill after a change.
fn reasons_after(change: impl Fn(&mut Bill)) -> Vec<String> {
    let mut bill = find();
    change(&mut bill);
    trust_of(&bill).reasons
}

#[test]
fn a_bill_is_good_without_reasons_and_each_reason_is_told() {
    assert_eq!(trust_of(&find()), Trust { grade: Grade::Good, reasons: Vec::new() });
    assert_eq!(answer(&find()).trust.as_deref(), Some("Trust: good."));
    let counted = |change: fn(&mut oscost_model::bill::BilledCounts)| {
        reasons_after(|bill| bill.counted.iter_mut().for_each(change))
    };
    assert_eq!(counted(|it| it.added_pct = Some(10.0)), Vec::<String>::new(), "not above it");
    assert_eq!(
        counted(|it| it.added_pct = Some(99.0)),
        ["counting added 99 % to its real time: calls that depend on time (timeouts, polls) may \
          differ"]
    );
    assert_eq!(
        counted(|it| it.added_pct = Some(-20.0)),
        ["its real time was 20 % shorter while it was counted: it varies"]
    );
    assert_eq!(counted(|it| it.added_pct = None), Vec::<String>::new(), "as of a watched process");
    assert_eq!(
        counted(|it| it.lost_events = 2),
        ["2 events had no room in the counter, or met a busy one: the counts are too low"]
    );
    assert_eq!(
        counted(|it| it.varying_forms = 2),
        ["the counted runs differ in 2 forms of calls: their medians are charged"]
    );
    assert_eq!(
        counted(|it| it.calls.killed = 1),
        ["1 task outlived it: what followed is not charged"]
    );
    assert_eq!(
        counted(|it| it.calls.unread = 3),
        ["3 arguments could not be read: the forms of these calls are incomplete"]
    );
    let caution = || "it traces\tprocesses".to_owned();
    assert_eq!(reasons_after(|it| it.cautions = vec![caution()]), ["it traces processes"]);
    let wide = |it: &mut Bill| it.trials.system_time.ci95 = Some([60e6, 140e6]);
    assert_eq!(
        reasons_after(wide),
        ["its system time is known to +-40 % only: so is what is unexplained"]
    );
    let low = |it: &mut Bill| it.trials.doubt = Some("it is\ttoo low".to_owned());
    assert_eq!(reasons_after(low), ["it is too low"]);
    let charged = |ci95: Option<[f64; 2]>| {
        reasons_after(|it| it.charged.iter_mut().for_each(|charged| charged.ci95 = ci95))
    };
    // 25 % of 87 ms to either side, and more.
    assert_eq!(charged(Some([65.25e6, 108.75e6])), Vec::<String>::new());
    assert_eq!(
        charged(Some([33e6, 90e6])),
        ["the sum of the charges is known to +-33 % only: so is what is unexplained"]
    );
    // 117 and 98 % of 87 ms.
    for (low, grade) in [(-20e6, Grade::Poor), (13e6, Grade::Fair)] {
        let mut shown = find();
        shown.charged.iter_mut().for_each(|sum| sum.ci95 = Some([low, 184e6]));
        assert_eq!(trust_of(&shown).grade, grade, "{low}");
    }
    assert_eq!(charged(None), ["what is charged has no interval: how well it is known is not"]);
    let unknown = |it: &mut Bill| it.trials.system_time.ci95 = None;
    assert_eq!(reasons_after(unknown), ["its system time has no interval: nor has the difference"]);
    let open = |it: &mut Bill| it.items.push(unpriced("ioctl", 8_900.0));
    assert_eq!(reasons_after(open), ["10 % of what was counted has no price: it is in no amount"]);
}

#[test]
fn the_weightiest_of_several_reasons_stands_beside_the_grade_and_the_others_below() {
    let mut shown = find();
    shown.cautions = vec!["it traces itself".to_owned()];
    let one = answer(&shown);
    assert_eq!(one.trust.as_deref(), Some("Trust: fair: it traces itself."));
    assert!(other_reasons(&shown).is_empty());
    shown.prices.stale = vec!["old".to_owned()];
    let two = answer(&shown);
    let line = "Trust: fair: it traces itself (1 other reason below).";
    assert_eq!(two.trust.as_deref(), Some(line));
    shown.prices.inlined = vec!["syscall/getppid".to_owned()];
    // 12 of 100 ms: the worst reason comes first.
    shown.items.drain(..2);
    let charged = &mut shown.charged;
    charged.iter_mut().for_each(|sum| *sum = Amount { ns: 12e6, ci95: Some([11e6, 13e6]) });
    shown.difference = Some(Amount { ns: 88e6, ci95: Some([87e6, 89e6]) });
    let four = answer(&shown);
    let line = "Trust: poor: the difference is more than half of the system time: the prices do not \
                explain it (3 other reasons below).";
    assert_eq!(four.trust.as_deref(), Some(line));
    let others = other_reasons(&shown);
    let begins = ["it traces itself", "its prices are stale", "its largest prices are of inlined"];
    assert_eq!(others.len(), 3);
    assert!(others.iter().zip(begins).all(|(other, begin)| other.starts_with(begin)), "{others:?}");
}

#[test]
fn prices_of_inlined_loops_whose_pair_failed_are_told_and_those_of_cases_without_one_are_not() {
    let graded = |treatment: &str, skipped: bool| {
        let mut shown = find();
        shown.prices.unpaired = vec![oscost_model::bill::UnpairedCase {
            case: "directory/open:by=openat".to_owned(),
            treatment: treatment.to_owned(),
            skipped,
            reason: "it ended".to_owned(),
        }];
        trust_of(&shown).grade
    };
    assert_eq!(graded("call", false), Grade::Fair);
    assert_eq!([graded("call", true), graded("cool", false)], [Grade::Good; 2]);
}

#[test]
fn prices_that_should_not_be_used_are_told_by_their_share_of_what_is_charged() {
    let graded = |flagged: &[usize], flag: &str| {
        let mut shown = find();
        flagged.iter().for_each(|&at| shown.items[at].flags = vec![flag.to_owned()]);
        let Trust { grade, reasons } = trust_of(&shown);
        (grade, reasons.join("; "))
    };
    // 12 and 55 of 87 ms.
    let (grade, text) = graded(&[2], "UNRELIABLE");
    assert_eq!(grade, Grade::Fair);
    let words = "14 % of what is charged is at prices that should not be used: minor page fault \
                 (UNRELIABLE)";
    assert_eq!(text, words);
    let (grade, text) = graded(&[0, 2, 3], "UNRELIABLE");
    assert_eq!(grade, Grade::Poor);
    let words = "77 % of what is charged is at prices that should not be used: close file \
                 (UNRELIABLE), minor page fault (UNRELIABLE) and 1 other item";
    assert_eq!(text, words);
    assert_eq!(graded(&[3], "UNRELIABLE").0, Grade::Good, "a small part");
    assert_eq!(graded(&[0], "NOT_CONVERGED").0, Grade::Good, "the interval says so");
}

#[test]
fn stale_prices_have_a_next_step_and_a_large_difference_is_poor() {
    let mut stale = find();
    stale.prices.stale = vec!["they are 2.0 days old".to_owned()];
    let found = answer(&stale);
    assert_eq!(
        found.trust.as_deref(),
        Some("Trust: fair: its prices are stale, and others may hold now: they are 2.0 days old.")
    );
    assert_eq!(found.next.len(), 1);
    let open = bill(vec![priced("brk", "memory", 1.0, 1_000.0)], 1e6);
    assert_eq!(trust_of(&open).grade, Grade::Poor);
    // Where the intervals may hold it, nothing is said of the prices.
    let wide = |it: &mut Bill| {
        it.difference.iter_mut().for_each(|it| *it = Amount { ns: 60e6, ci95: Some([-1e6, 80e6]) });
    };
    let text = "the difference is more than half of the system time: its interval leaves open whether \
                the prices explain it";
    assert_eq!(reasons_after(wide), [text]);
    // Too much is no better than too little.
    let over = bill(vec![priced("brk", "memory", 1.0, 1.6e6)], 1e6);
    assert_eq!(trust_of(&over).grade, Grade::Poor);
}

#[test]
fn a_sum_without_an_interval_names_the_flag_that_took_it() {
    let without = |it: &mut Bill| {
        it.charged.iter_mut().for_each(|charged| charged.ci95 = None);
        for item in it.items.iter_mut().take(2) {
            item.amount.iter_mut().for_each(|amount| amount.ci95 = None);
            item.flags = vec!["FEW_REPETITIONS".to_owned()];
        }
    };
    let text = |cause: &str| {
        format!(
            "prices of 2 of 4 items were measured too few times for an interval \
             (FEW_REPETITIONS){cause}: what is charged has none"
        )
    };
    assert_eq!(reasons_after(without), [text("")]);
    let in_vain = |it: &mut Bill| {
        without(it);
        it.prices.measured = Some(oscost_model::bill::MeasuredPrices {
            cases: Vec::new(),
            seconds: 30.2,
            limit_seconds: 30.0,
            interrupted: false,
            block_missing: false,
            failure: None,
        });
    };
    assert_eq!(reasons_after(in_vain), [text(", as the time for prices ran out")]);
}

/// A run of whose prices all are doubtful.
fn doubtful(grade: &str, charged_pct: Option<f64>) -> DoubtfulRun {
    DoubtfulRun {
        id: "01931234-5678".to_owned(),
        started: "2026-11-26T11:00:00Z".to_owned(),
        grade: grade.to_owned(),
        reasons: vec!["the machine was noisy".to_owned()],
        charged_pct,
    }
}

#[test]
fn a_bill_by_prices_of_a_poor_run_is_not_good_and_says_which_run() {
    let trust_in = |runs: Vec<DoubtfulRun>| {
        let mut bill = find();
        bill.prices.doubtful = runs;
        let Trust { grade, reasons } = trust_of(&bill);
        (grade, reasons.join("; "))
    };
    assert_eq!(trust_in(Vec::new()), (Grade::Good, String::new()));
    let (grade, why) = trust_in(vec![doubtful("poor", Some(3.0))]);
    assert_eq!(grade, Grade::Fair, "{why}");
    let expected = "3.0 % of what is charged is at prices of run 01931234-5678 (2026-11-26 11:00), \
                    which is graded poor: the machine was noisy";
    assert_eq!(why, expected);
    let (grade, _) = trust_in(vec![doubtful("poor", Some(30.0)), doubtful("poor", Some(20.0))]);
    assert_eq!(grade, Grade::Poor, "half of it");
    // A fair run counts where it matters; that of pairs adds to prices.
    assert_eq!(trust_in(vec![doubtful("fair", Some(4.0))]).0, Grade::Good);
    assert_eq!(trust_in(vec![doubtful("fair", Some(100.0))]).0, Grade::Fair);
    let (grade, why) = trust_in(vec![doubtful("fair", None)]);
    assert!(grade == Grade::Fair && why.starts_with("what is added to its prices is by"), "{why}");
    let (_, why) = trust_in(vec![doubtful("fair", None); 4]);
    assert!(why.ends_with("; prices of 2 other runs are doubtful, too"), "{why}");
}

#[test]
fn prices_of_a_poor_run_should_be_measured_anew() {
    let mut bill = find();
    bill.prices.doubtful = vec![doubtful("fair", Some(90.0))];
    assert!(answer(&bill).next.is_empty());
    bill.prices.doubtful = vec![doubtful("poor", Some(90.0))];
    assert_eq!(answer(&bill).next.len(), 1);
}
