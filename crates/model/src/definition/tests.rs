use super::*;

fn definition() -> Definition {
    let axis = |name: &str, points: [&str; 2], implied: Option<&str>| Axis {
        name: name.into(),
        sets: "something".into(),
        points: points.map(Value::from).to_vec(),
        default_points: vec![Value::from(points[0])],
        implied: implied.map(Value::from),
        price_list_points: vec![],
        thorough_points: vec![],
        range: None,
        item: String::new(),
    };
    Definition {
        id: "syscall/getppid".into(),
        asks: String::new(),
        op: String::new(),
        expected: String::new(),
        unit: Unit::NsPerOp,
        explanation: String::new(),
        calls: vec![],
        floor: vec![],
        compare_with: vec![],
        axes: vec![
            axis("via", ["raw", "libc"], None),
            axis("state", ["warm", "cold"], Some("warm")),
        ],
        needs: vec![],
        in_price_list: true,
        switches: false,
        major_faults: false,
        bytes_axis: String::new(),
        peer_may_be_remote: false,
        setup_us: Point::none(),
        rev: 1,
        source: String::new(),
    }
}

#[test]
fn a_large_case_may_take_longer_to_set_up() {
    let point = Point::none().with("files", 3_000u64).with("via", "raw");
    let mut definition = definition();
    assert_eq!(definition.setup_ms(&point), 0);
    definition.setup_us = Point::none().with("files", 1_000u64).with("via", 7u64).with("mib", 7u64);
    assert_eq!(definition.setup_ms(&point), 3_000);
}

#[test]
fn an_implied_value_is_added_to_a_point_and_omitted_from_its_name() {
    let definition = definition();
    let raw = Point::none().with("via", "raw");
    let warm = raw.clone().with("state", "warm");
    let cold = raw.clone().with("state", "cold");
    assert_eq!(definition.with_implied(&raw), warm);
    assert_eq!(definition.without_implied(&warm), raw);
    assert_eq!(
        (definition.with_implied(&cold), definition.without_implied(&cold)),
        (cold.clone(), cold)
    );
}

#[test]
fn each_point_has_exactly_one_name() {
    let definition = definition();
    let complete = |text: &str| {
        let case = crate::case::Case::parse(&format!("syscall/getppid{text}")).unwrap();
        definition.is_complete(&case.point)
    };
    assert!(complete(":via=raw") && complete(":via=raw,state=cold"));
    for text in [
        "",
        ":state=cold",
        ":via=raw,state=warm",
        ":state=cold,via=raw",
        ":via=raw,state=hot",
        ":via=magic",
        ":via=raw,size=1",
    ] {
        assert!(!complete(text), "{text}");
    }
}
