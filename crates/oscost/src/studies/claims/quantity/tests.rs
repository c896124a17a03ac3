use super::*;

fn value(measure: &Measure, figures: &[(&str, f64)]) -> Option<f64> {
    let of = |key: &str| figures.iter().find(|(name, _)| *name == key).map(|(_, value)| *value);
    measure.value(&of, ClockRates { core_ghz: Some(2.0), ticks_per_ns: None })
}

fn keys(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn curve(points: &[(u64, &str)]) -> Vec<SeriesPoint> {
    let point = |&(number, key): &(u64, &str)| SeriesPoint { number, key: key.to_owned() };
    points.iter().map(point).collect()
}

#[test]
fn each_measure_is_computed_as_documented() {
    let figures = [("a", 1.0), ("b", 2.0), ("c", 6.0), ("d", 60.0)];
    let cases = [
        (Measure::Ratio("c".into(), "b".into()), 3.0),
        (Measure::Spread(keys(&["b", "a", "c"])), 6.0),
        (Measure::Gap(keys(&["a", "b"]), keys(&["d", "c"])), 3.0),
        (Measure::FromMean(keys(&["c", "b", "a"])), 100.0),
        (Measure::Exponent(curve(&[(10, "c"), (100, "d")])), 1.0),
        (Measure::Exponent(curve(&[(10, "c"), (100, "c")])), 0.0),
        (Measure::Saturation(curve(&[(4, "a"), (16, "c"), (64, "c")])), 16.0),
        (Measure::Calls("a".into()), 1.0),
    ];
    for (measure, expected) in cases {
        let found = value(&measure, &figures).unwrap();
        assert!((found - expected).abs() < 1e-9, "{measure:?}: {found}");
    }
    let points = curve(&[(0, "a"), (1, "b")]);
    let slope = Measure::Slope { points, per: 4, unit: TableUnit::Cycles };
    assert_eq!(value(&slope, &figures), Some(8.0), "4 ns for four steps, of two cycles each");
    assert_eq!(value(&slope, &figures[..1]), None);
    assert_eq!(value(&Measure::Exponent(curve(&[(10, "a"), (10, "b")])), &figures), None);
}

#[test]
fn a_rate_that_falls_at_the_end_reaches_its_peak_and_does_not_keep_it() {
    let figures = [("a", 1.0), ("b", 10.0), ("c", 8.0), ("d", 9.5)];
    let points = curve(&[(1, "a"), (2, "b"), (3, "c"), (4, "d")]);
    assert_eq!(value(&Measure::Saturation(points.clone()), &figures), Some(2.0));
    assert_eq!(value(&Measure::Retention(points), &figures), Some(0.8));
    let grows = curve(&[(1, "a"), (2, "c"), (3, "b")]);
    assert_eq!(value(&Measure::Retention(grows), &figures), Some(1.0), "nothing lies beyond");
}

#[test]
fn an_order_has_no_difference_if_its_ratio_is_within_a_twentieth_of_1() {
    let order = |min, max| Quantity {
        name: "it".into(),
        measure: Measure::Ratio("a".into(), "b".into()),
        min,
        max,
    };
    let [step, times] = [order(Some(1.0), None), order(Some(1.0), Some(2.0))];
    for (lo, hi, equal) in
        [(0.96, 1.04, true), (1.01, 1.02, true), (0.94, 1.0, false), (1.0, 1.06, false)]
    {
        assert_eq!(step.is_equal(&Interval { lo, hi }), equal, "{lo} to {hi}");
        assert!(!times.is_equal(&Interval { lo, hi }));
    }
}

#[test]
fn a_measure_of_other_rows_is_the_same_measure() {
    let key = |key: &str| format!("{key}2");
    let saturation = Measure::Saturation(curve(&[(1, "a"), (2, "b")])).with_keys(&key);
    assert_eq!(saturation, Measure::Saturation(curve(&[(1, "a2"), (2, "b2")])));
    let gap = Measure::Gap(keys(&["a"]), keys(&["b"])).with_keys(&key);
    assert_eq!(gap, Measure::Gap(keys(&["a2"]), keys(&["b2"])));
}

#[test]
fn extremes_consist_of_ratios_and_ratios_of_positive_figures() {
    let three = Measure::Spread(keys(&["a", "b", "c"]));
    let largest = three.extreme_ratio().unwrap();
    assert_eq!((largest.extreme, largest.ratios.len()), (Extreme::Largest, 6));
    let gap = Measure::Gap(keys(&["a"]), keys(&["b", "c"])).extreme_ratio().unwrap();
    assert_eq!(gap.extreme, Extreme::Smallest);
    let expected = [Measure::Ratio("b".into(), "a".into()), Measure::Ratio("c".into(), "a".into())];
    assert_eq!(gap.ratios, expected);
    let figures = [("a", -1.0), ("b", -2.0), ("c", 3.0)];
    for measure in [
        three,
        Measure::Ratio("a".into(), "b".into()),
        Measure::Gap(keys(&["a"]), keys(&["c"])),
        Measure::Exponent(curve(&[(1, "a"), (2, "c")])),
        Measure::FromMean(keys(&["a", "c"])),
    ] {
        assert_eq!(value(&measure, &figures), None, "{measure:?}");
    }
}

#[test]
fn a_saturation_is_computed_from_the_measured_points() {
    let four = Measure::Saturation(curve(&[(1, "a"), (2, "b"), (3, "c"), (4, "d")]));
    let without = |missing: &'static str| four.restricted_to(move |key| !missing.contains(key));
    assert_eq!(without("d").keys(), ["a", "b", "c"]);
    assert_eq!(without("cd").keys().len(), 4, "two points are no curve");
    let ratio = Measure::Ratio("a".into(), "b".into());
    assert_eq!(ratio.restricted_to(|_| false), ratio);
}

#[test]
fn the_bound_of_a_ratio_is_refuted_beyond_a_twentieth_only() {
    let about_five = Quantity {
        name: "it".into(),
        measure: Measure::Ratio("a".into(), "b".into()),
        min: Some(4.0),
        max: Some(6.0),
    };
    let interval = |lo, hi| Interval { lo, hi };
    assert!(about_five.holds(&interval(4.0, 6.0)));
    for near in [interval(3.7, 3.9), interval(3.85, 3.95), interval(6.2, 6.4)] {
        assert!(!about_five.holds(&near) && !about_five.fails(&near), "{near:?}");
    }
    assert!(about_five.fails(&interval(3.7, 3.8)) && about_five.fails(&interval(6.31, 7.0)));
    let exponent = Quantity { measure: Measure::Exponent(vec![]), ..about_five };
    assert!(exponent.fails(&interval(3.85, 3.95)), "an exponent is no ratio of costs");
}

#[test]
fn a_bound_holds_or_fails_for_the_whole_interval() {
    let quantity = Quantity {
        name: "it".into(),
        measure: Measure::Calls("a".into()),
        min: Some(1.0),
        max: None,
    };
    let interval = |lo, hi| Interval { lo, hi };
    assert!(quantity.holds(&interval(1.0, 9.0)) && !quantity.fails(&interval(1.0, 9.0)));
    assert!(quantity.fails(&interval(0.1, 0.9)) && !quantity.holds(&interval(0.1, 0.9)));
    let across = interval(0.9, 1.1);
    assert!(!quantity.holds(&across) && !quantity.fails(&across));
}
