use proptest::prelude::*;

use super::*;

/// Sizes from 1 to 1024, each twice the one before, without uncertainty.
fn exact(cost: impl Fn(f64) -> f64) -> Vec<SizeCost> {
    (0..=10)
        .map(|power| f64::from(1 << power))
        .map(|n| SizeCost { n, figure: cost(n), sd: 0.01, repetitions: vec![cost(n); 6] })
        .collect()
}

fn law(sizes: &[SizeCost]) -> Scaling {
    fit_scaling(sizes, 50, 1).expect("enough sizes")
}

#[test]
fn fixed_and_marginal_cost_and_crossover_are_recovered() {
    let found = law(&exact(|n| 500.0 + 2.0 * n));
    assert_eq!((found.law, found.runner_up), (Law::Linear, None));
    assert!((found.fixed.value - 500.0).abs() < 1e-6, "{found:?}");
    let marginal = found.marginal.unwrap();
    assert!((marginal.value - 2.0).abs() < 1e-9 && marginal.interval.half_width() < 1e-9);
    assert!((found.crossover.unwrap().value - 250.0).abs() < 1e-6, "{found:?}");
    assert!(found.chi_square < 1e-9);
}

#[test]
fn every_law_is_recognised_from_exact_points() {
    for expected in Law::ALL {
        let found = law(&exact(|n| 100.0 + 3.0 * expected.value_at(n)));
        assert_eq!((found.law, found.runner_up), (expected, None));
    }
}

#[test]
fn growth_below_five_per_cent_is_constant() {
    assert_eq!(law(&exact(|n| 1_000.0 + 0.04 * n)).law, Law::Constant);
    assert_eq!(law(&exact(|n| 1_000.0 + 0.06 * n)).law, Law::Linear);
    let mut coarse = exact(|n| 1_000.0 + 0.06 * n);
    coarse.iter_mut().for_each(|size| size.sd = 0.03);
    assert_eq!(law(&coarse).law, Law::Constant, "3 sigma are more than it grows");
}

#[test]
fn a_shrinking_cost_is_constant() {
    let found = law(&exact(|n| 1_000.0 / n));
    assert_eq!((found.law, found.marginal, found.crossover), (Law::Constant, None, None));
    assert!(found.chi_square > 1e3, "and the law does not hold");
}

#[test]
fn without_a_fixed_cost_there_is_no_crossover() {
    let found = law(&exact(|n| 5.0 * n));
    assert_eq!((found.law, found.crossover), (Law::Linear, None));
    assert!(found.fixed.value.abs() < 1e-9);
}

#[test]
fn too_few_or_invalid_points_have_no_law() {
    let good = exact(|n| 500.0 + 2.0 * n);
    assert_eq!(fit_scaling(&good[..7], 50, 1), None, "seven sizes");
    let near: Vec<SizeCost> =
        (1..=20).map(|n| SizeCost { n: f64::from(n), ..good[0].clone() }).collect();
    assert_eq!(fit_scaling(&near, 50, 1), None, "one decade");
    for spoil in [
        |size: &mut SizeCost| size.figure = -1.0,
        |size: &mut SizeCost| size.figure = f64::NAN,
        |size: &mut SizeCost| size.n = 0.0,
        |size: &mut SizeCost| size.sd = f64::NAN,
    ] {
        let mut bad = good.clone();
        spoil(&mut bad[4]);
        assert_eq!(fit_scaling(&bad, 50, 1), None, "{:?}", bad[4]);
    }
}

#[test]
fn the_last_decade_has_an_exponent() {
    let of = |sizes: &[SizeCost]| last_exponent(sizes).unwrap();
    assert!((of(&exact(|n| 3.0 * n * n)).value - 2.0).abs() < 1e-9);
    let late = of(&exact(|n| 500.0 + 2.0 * n));
    assert!((0.5..0.8).contains(&late.value), "{late:?}");
    assert!(late.interval.contains(late.value) && late.interval.half_width() < 0.1);
    assert_eq!(last_exponent(&exact(|n| n)[..1]), None);
    assert_eq!(last_exponent(&[]), None);
}

proptest! {
    #[test]
    fn size_at_inverts_value_at(n in 1.5..1e6f64) {
        for law in Law::ALL.into_iter().skip(1) {
            let back = law.size_at(law.value_at(n)).unwrap();
            prop_assert!((back / n - 1.0).abs() < 1e-9, "{law:?}: {back}, not {n}");
        }
    }

    #[test]
    fn costs_scale_with_the_unit(unit in 1e-3..1e3f64, fixed in 1.0..1e4f64) {
        let one = law(&exact(|n| fixed + 7.0 * n));
        let other = law(&exact(|n| unit * (fixed + 7.0 * n)));
        prop_assert_eq!(one.law, other.law);
        let marginal = |of: &Scaling| of.marginal.map_or(0.0, |it| it.value);
        prop_assert!((marginal(&one) * unit - marginal(&other)).abs() < 1e-6 * unit);
    }
}
