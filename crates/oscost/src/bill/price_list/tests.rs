//! Prices between made-up sizes.

use super::*;

fn sizes() -> [SizedPrice<'static>; 3] {
    let priced = |size, ns: f64, row| SizedPrice {
        size,
        amount: Amount { ns, ci95: Some([ns - 1.0, ns + 1.0]) },
        row,
    };
    [priced(1, 100.0, "one"), priced(101, 200.0, "more"), priced(1_101, 3_200.0, "most")]
}

#[test]
fn a_price_lies_on_the_line_between_its_neighbours() {
    let of = |size: f64| interpolated(&sizes(), size, false).map(|it| (it.amount.ns, it.row));
    let priced = |ns, row: &str| Some((ns, row.to_owned()));
    assert_eq!(of(51.0), priced(150.0, "more"));
    assert_eq!(of(26.0), priced(125.0, "one"));
    assert_eq!(of(101.0), priced(200.0, "more"));
    // Below the smallest its price is paid; above the largest the last line goes on.
    assert_eq!(of(0.0), priced(100.0, "one"));
    assert_eq!(of(2_101.0), priced(6_200.0, "most"));
    assert_eq!(interpolated(&[], 1.0, false), None);
    for has_nothing in [false, true] {
        let alone = interpolated(&sizes()[..1], 9.0, has_nothing).map(|it| it.amount.ns);
        assert_eq!(alone, Some(100.0));
    }
    // An op that may be about nothing is on the first line there.
    let of_nothing = interpolated(&sizes()[1..], 1.0, true).map(|it| it.amount.ns.round());
    assert_eq!(of_nothing, Some(-100.0));
}

#[test]
fn a_size_is_near_its_rows_between_them_and_up_to_twice_beyond() {
    let is_near = |size: f64| interpolated(&sizes(), size, false).unwrap().is_near_rows;
    assert!([0.5, 1.0, 50.0, 1_101.0, 2_202.0].into_iter().all(is_near));
    assert!(![0.0, 0.4, 2_203.0].into_iter().any(is_near));
}

#[test]
fn the_interval_between_two_sizes_is_that_of_both() {
    let price = interpolated(&sizes(), 51.0, false).unwrap();
    assert_eq!(price.amount.ci95, Some([149.0, 151.0]));
}

#[test]
fn a_single_size_fits_up_to_twice_and_with_doubt_up_to_four_times() {
    let sizes = sizes();
    let fit = |size: f64| SizeFit::of(&sizes[1..2], size);
    assert!([50.5, 101.0, 202.0].into_iter().all(|size| fit(size).is_near()));
    for (size, words) in [
        (0.0, "the calls move nothing"),
        (26.0, "3.9 times their size"),
        (400.0, "the calls are 4.0 times as large"),
    ] {
        let SizeFit::Doubtful(other) = fit(size) else { panic!("{size}: {:?}", fit(size)) };
        assert_eq!(other.text(), words);
    }
    for (size, larger) in [(25.0, 1.0), (1.0, 1.0), (505.0, 5.0)] {
        let SizeFit::TooFar(other) = fit(size) else { panic!("{size}: {:?}", fit(size)) };
        assert_eq!(other.larger(), larger);
        assert!(!fit(size).at_any_distance().is_better_than(fit(101.0)));
        assert!(fit(size).at_any_distance().is_better_than(fit(size)));
    }
    // On a line no size is too far.
    assert!(SizeFit::of(&sizes, 1e9).is_near());
}
