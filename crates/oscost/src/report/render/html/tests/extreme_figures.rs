//! Figures that a scale cannot show.

use oscost_model::curve::{Break, Curve, CurvePoint};
use oscost_model::record::Record;

use super::markup::{charts, every_chart_is_of_numbers, ids_are_unique, points};
use super::records::{compared, page, page_compared, record, several};

/// Makes every figure of a record this one.
fn all_are(record: &mut Record, value: f64) {
    for row in &mut record.results {
        if let Some(estimate) = &mut row.estimate {
            estimate.median = value;
            estimate.ci95 = Some([-value, value]);
            estimate.sd = Some(value);
            estimate.repetitions = u32::MAX;
            estimate.samples = u64::MAX;
        }
        if let Some(floor) = &mut row.floor {
            floor.value = Some(value);
        }
        for (at, it) in (0..).zip(&mut row.repetitions) {
            it.value = Some(if at % 2 == 0 { value } else { 1.0 });
            it.lost_pct = Some(value);
            it.round = u32::MAX;
            for (at, sample) in it.samples.iter_mut().flatten().enumerate() {
                sample.n = [0, 1, u64::MAX][at % 3];
                sample.ticks = [i64::MIN, 0, i64::MAX][(at / 3) % 3];
            }
        }
    }
    for curve in &mut record.curves {
        for (at, point) in curve.points.iter_mut().enumerate() {
            point.value = [0, 1, 64, u64::MAX][at % 4];
            point.figure = Some(value);
            point.ci95 = Some([-value, value]);
        }
        for it in curve.breaks.iter_mut().flatten() {
            it.position = if value < 1.0 { 0 } else { u64::MAX };
        }
        if let Some(scaling) = &mut curve.scaling {
            scaling.fixed_cost.value = value;
            scaling.marginal_cost.iter_mut().for_each(|b| b.value = value);
        }
    }
    for (at, it) in record.comparisons.iter_mut().enumerate() {
        it.ratio.value = if at == 0 { 0.0 } else { value };
        it.ratio.ci95 = (at % 2 == 0).then_some([value, value * 1.5]).filter(|_| at < 6);
        it.added.value = value;
        it.q = value;
    }
    for conditions in &mut record.conditions {
        for reference_case in conditions.reference_cases.before.values_mut() {
            *reference_case = value;
        }
        conditions.reference_cases.after = conditions.reference_cases.before.clone();
    }
}

#[test]
fn extreme_figures_make_a_page() {
    let extremes = [0.0, -0.0, -1.0, 5e-324, 1e-300, 1e300, f64::MAX, -f64::MAX, 1e15];
    for value in extremes {
        for mut record in [record(), several(), compared()] {
            all_are(&mut record, value);
            let text = page(&record);
            every_chart_is_of_numbers(&text);
            ids_are_unique(&text);
            every_chart_is_of_numbers(&page_compared(&[record.clone()], &[record]));
        }
    }
}

#[test]
fn a_ratio_that_a_logarithmic_scale_cannot_show_is_in_the_table_only() {
    let mut record = compared();
    for it in &mut record.comparisons {
        it.ratio.value = 0.0;
        it.ratio.ci95 = None;
    }
    let text = page(&record);
    assert!(!charts(&text).contains_key("forest-0"));
    assert!(text.contains("10 ratios cannot be drawn on a logarithmic scale"));
    assert_eq!(text.matches("<tr id=\"c0-").count(), 10);
    record.comparisons[3].ratio.value = 2.0;
    record.comparisons[3].verdict = "of another version".to_owned();
    let text = page(&record);
    let drawn = charts(&text)["forest-0"];
    assert_eq!(points(drawn), 1, "an unknown verdict is shown, too");
    assert!(drawn.contains("another verdict</li>") && drawn.contains(">x 2.000, "), "{drawn}");
    assert!(text.contains("9 ratios cannot be drawn"));
}

#[test]
fn a_curve_is_drawn_where_it_can_be() {
    let mut record = several();
    let point = |value: u64, figure: f64| CurvePoint {
        value,
        case: "pipe/copy:size=0".to_owned(),
        figure: Some(figure),
        ci95: None,
    };
    let bends = |at: u64| Break {
        position: at,
        interval: [0, 1],
        constants: Vec::new(),
        refinement_values: Vec::new(),
    };
    let of = |points: Vec<CurvePoint>| Curve {
        points,
        breaks: Some(vec![bends(0), bends(64)]),
        scaling: None,
        ..record.curves[0].clone()
    };
    let some = of(vec![point(0, 5.0), point(64, 7.0), point(128, -1.0)]);
    let none = of(vec![point(0, 5.0), point(64, 0.0)]);
    record.curves = vec![some];
    let text = page(&record);
    let chart = charts(&text)["curve-0"];
    assert_eq!(points(chart), 1);
    assert_eq!(chart.matches("class=\"m\"").count(), 1, "a logarithmic scale has no 0");
    record.curves = vec![none];
    assert!(!charts(&page(&record)).contains_key("curve-0"));
}
