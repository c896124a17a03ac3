use super::*;

/// A mechanism and its cost at a size.
type Mechanism = (&'static str, fn(f64) -> f64);

/// Costs of several mechanisms over the same sizes.
fn mechanisms(definition: &Definition, costs: &[Mechanism]) -> Vec<Row> {
    let of = |(by, cost): &Mechanism| -> Vec<Row> {
        let at = |&size: &u64| {
            row(definition, Point::none().with("size", size).with("by", *by), cost(size as f64))
        };
        NINE.iter().map(at).collect()
    };
    costs.iter().flat_map(of).collect()
}

fn crossed(definition: &Definition, rows: &[Row]) -> Vec<Crossing> {
    let rows: Vec<DefinedRow<'_>> = rows.iter().map(|row| DefinedRow { definition, row }).collect();
    curves(&rows, None, 1).crossings
}

#[test]
fn a_crossing_reports_which_is_cheaper_from_which_size_on_and_the_cost_of_a_further_byte() {
    let costs = definition(Unit::NsPerOp);
    let rows = mechanisms(&costs, &[("map", |_| 9_000.0), ("copy", |n| 5_000.0 + 0.2 * n)]);
    let [found] = &crossed(&costs, &rows)[..] else { panic!("no pair") };
    assert_eq!((found.costlier.as_str(), found.cheaper.as_str()), ("copy", "map"));
    assert_eq!((found.differing_axis.as_str(), found.item.as_str()), ("by", "byte"));
    assert_eq!((found.costlier_wins_until, found.cheaper_wins_from), (Some(4_096), Some(65_536)));
    let at = found.crossover.as_ref().unwrap();
    assert!((at.value / 20_000.0 - 1.0).abs() < 0.01, "{at:?}");
    assert!(at.ci95[0] < 20_000.0 && 20_000.0 < at.ci95[1], "{at:?}");
    let more = found.added_cost.as_ref().unwrap();
    assert!((more.value - 0.2).abs() < 0.002 && more.by == "laws", "{more:?}");
    assert!(
        found.sentence.starts_with("copy costs 0.20 ns [0.20..0.20] more for each byte than map")
    );
    assert!(found.sentence.ends_with("bytes on map is cheaper"), "{}", found.sentence);
    // The same holds for the rate of the same bytes.
    let rates = definition(Unit::BytesPerSecond);
    let rows = mechanisms(
        &rates,
        &[("map", |n| 1e9 * n / 9_000.0), ("copy", |n| 1e9 * n / (5_000.0 + 0.2 * n))],
    );
    let [rate] = &crossed(&rates, &rows)[..] else { panic!("no pair") };
    assert_eq!(
        (&rate.costlier, rate.costlier_wins_until, rate.cheaper_wins_from),
        (&found.costlier, found.costlier_wins_until, found.cheaper_wins_from)
    );
}

#[test]
fn two_commands_cross_at_the_number_from_which_on_the_other_one_is_cheaper() {
    let of = |id: &str| Definition { id: id.into(), ..definition(Unit::Seconds) };
    let definitions = ["workload/old", "workload/new"].map(of);
    let costs: [fn(f64) -> f64; 2] = [|n| 0.001 + 2e-6 * n, |_| 0.012];
    let rows = |command: Option<Vec<String>>| -> Vec<Row> {
        let of = |(definition, cost): (&Definition, fn(f64) -> f64)| {
            let at = |&size: &u64| Row {
                command: command.clone(),
                ..row(definition, Point::none().with("size", size), cost(size as f64))
            };
            NINE.iter().map(at).collect::<Vec<Row>>()
        };
        definitions.iter().zip(costs).flat_map(of).collect()
    };
    let crossed = |rows: &[Row]| {
        let definitions = definitions.iter().flat_map(|it| [it; NINE.len()]);
        let defined = definitions.zip(rows).map(|(definition, row)| DefinedRow { definition, row });
        curves(&defined.collect::<Vec<_>>(), None, 1).crossings
    };
    let [found] = &crossed(&rows(Some(vec!["./old".into()])))[..] else { panic!("no pair") };
    assert!(found.is_of_commands(), "{found:?}");
    assert_eq!((found.costlier.as_str(), found.cheaper.as_str()), ("workload/old", "workload/new"));
    assert_eq!(found.benchmark, "workload/old");
    assert_eq!((found.costlier_wins_until, found.cheaper_wins_from), (Some(4_096), Some(65_536)));
    assert!(found.sentence.ends_with("workload/new is cheaper"), "{}", found.sentence);
    assert_eq!(crossed(&rows(None)), [], "of other benchmarks, each has an op of its own");
}

#[test]
fn a_curve_with_a_break_has_no_law_and_its_crossing_is_between_points() {
    let costs = definition(Unit::NsPerOp);
    let rows = mechanisms(
        &costs,
        &[
            ("map", |_| 9_000.0),
            ("copy", |n| 5_000.0 * n.powf(0.05) * if n > 1_024.0 { 3.0 } else { 1.0 }),
        ],
    );
    let [found] = &crossed(&costs, &rows)[..] else { panic!("no pair") };
    assert_eq!(
        (found.costlier_wins_until, found.cheaper_wins_from, &found.crossover),
        (Some(1_024), Some(4_096), &None)
    );
    assert_eq!(found.added_cost.as_ref().unwrap().by, "ends");
    assert!(found.sentence.contains("(between 4 and 512Ki, on average)"), "{}", found.sentence);
    assert!(found.sentence.ends_with("copy is cheaper at 1Ki, map from 4Ki on"));
}

#[test]
fn several_or_uncertain_crossings_are_reported() {
    let costs = definition(Unit::NsPerOp);
    let of = |cost: fn(f64) -> f64| {
        let found = crossed(&costs, &mechanisms(&costs, &[("map", |_| 9_000.0), ("copy", cost)]));
        found[0].sentence.clone()
    };
    let often = of(|n| if n == 256.0 { 5_000.0 } else { 12_000.0 });
    assert!(often.ends_with("map from 1Ki on; they cross more than once"), "{often}");
    let tie = of(|_| 9_100.0);
    let neither = "copy and map: the measurements show neither which is cheaper nor with which a \
                   further byte costs more";
    assert_eq!(tie, neither);
    let late = of(|n| 9_000.0 * if n > 65_536.0 { 2.0 } else { 1.0 });
    assert!(late.ends_with("from 256Ki on map is cheaper, unknown below that"), "{late}");
    let always = of(|_| 18_000.0);
    assert!(
        always.starts_with("map is cheaper than copy at every number from 4 to 512Ki"),
        "{always}"
    );
}

#[test]
fn many_curves_are_compared_with_the_cheapest_alone_and_circumstances_are_not_compared() {
    let costs = definition(Unit::NsPerOp);
    let five: [Mechanism; 5] = [
        ("a", |_| 1_000.0),
        ("b", |_| 2_000.0),
        ("c", |_| 3_000.0),
        ("d", |_| 4_000.0),
        ("e", |_| 5_000.0),
    ];
    assert_eq!(crossed(&costs, &mechanisms(&costs, &five)).len(), 10);
    let mut six = five.to_vec();
    six.push(("f", |_| 500.0));
    let found = crossed(&costs, &mechanisms(&costs, &six));
    assert!(found.len() == 5 && found.iter().all(|it| it.cheaper == "f"), "{found:#?}");
    // Words of a later axis are not compared if words of an earlier one are.
    let mut both = definition(Unit::NsPerOp);
    both.axes.push(Axis { name: "peer_cpu".into(), range: None, ..both.axes[1].clone() });
    let mut rows = Vec::new();
    for cpu in ["same", "other"] {
        for mut row in mechanisms(&both, &five[..2]) {
            row.point = row.point.with("peer_cpu", cpu);
            rows.push(row);
        }
    }
    let found = crossed(&both, &rows);
    let keys: Vec<(&str, String)> =
        found.iter().map(|it| (it.differing_axis.as_str(), it.point.to_string())).collect();
    assert_eq!(keys, [("by", "peer_cpu=same".into()), ("by", "peer_cpu=other".into())]);
    let alone: Vec<Row> =
        rows.into_iter().filter(|row| row.point.get("by") == Some(&Value::from("a"))).collect();
    assert_eq!(crossed(&both, &alone)[0].differing_axis, "peer_cpu");
    // Curves of two targets are not compared.
    let mut two_targets = mechanisms(&costs, &five[..2]);
    two_targets[9..].iter_mut().for_each(|row| row.target.text = "ssh:there".into());
    assert_eq!(crossed(&costs, &two_targets), []);
}
