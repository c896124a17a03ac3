use std::collections::BTreeSet;

use oscost_model::case::Case;
use oscost_model::point::Point;
use oscost_model::unit::Unit;

use super::*;

#[test]
fn every_built_in_workload_can_be_parsed() {
    for (name, text) in files::built_in::FILES {
        let spec = files::parser::parse_built_in(text.as_bytes(), name)
            .unwrap_or_else(|it| panic!("{name}: {it}"));
        assert_eq!(
            (spec.id.as_str(), spec.origin),
            (&*format!("workload/{name}"), Origin::BuiltIn)
        );
        assert!(text.is_ascii() && text.lines().all(|line| line.len() <= 100), "{name}");
        for text in [&spec.asks, &spec.op, &spec.expected, &spec.source, &spec.explanation] {
            assert!(!text.is_empty(), "{name}");
        }
        let op = spec.op.to_lowercase();
        assert!(op.contains("not included") || op.contains("own clock"), "{name}");
        assert!(spec.expected != "none was made", "{name}");
        // Each program that it starts is a need with a package.
        let needed: BTreeSet<&str> = spec
            .needs
            .iter()
            .filter_map(|need| match (&need.item, &need.package) {
                (RequiredItem::Program(program), Some(_)) => Some(program.as_str()),
                _ => None,
            })
            .collect();
        let companion = spec.companion.iter().map(|companion| &companion.command);
        for command in spec.before.iter().chain(&spec.after).chain(companion).chain([&spec.command])
        {
            let is_ours = |program: &str| {
                let ours = spec.study_programs();
                ours.iter().any(|it| program == format!("{{program:{}}}", it.name))
            };
            assert!(
                is_ours(&command[0]) || needed.contains(command[0].as_str()),
                "{name}: {command:?}"
            );
        }
        assert!(spec.min_trials >= 3 && spec.quick_trials >= 2, "{name}");
    }
    assert_eq!(all().len(), files::built_in::FILES.len());
    assert_eq!(find("workload/find"), find("find"));
    assert!(find("find").is_some() && find("no-such").is_none());
}

#[test]
fn the_cases_of_built_in_workloads_can_be_parsed() {
    for spec in all() {
        let definition = spec.definition();
        let point = spec.default_point();
        assert!(definition.is_complete(&point), "{}", spec.id);
        let case = Case::new(spec.id.clone(), point);
        assert_eq!(Case::parse(&case.to_string()), Some(case));
    }
    assert_eq!(find("frames").map(Spec::unit), Some(Unit::FramesPerSecond));
    assert_eq!(find("find").map(Spec::unit), Some(Unit::Seconds));
}

#[test]
fn find_runs_as_in_the_study() {
    let environment = RunEnvironment {
        cpus: 2,
        start_folder: "/".into(),
        cache: "/no/such".into(),
        quick: false,
        skip_checks: false,
    };
    let find = find("find").unwrap();
    let at = |over: &str| find.workload(&Point::none().with("over", over), &environment).unwrap();
    assert_eq!(at("all").program.command, ["find", "/", "-print"]);
    assert_eq!(at("one-filesystem").program.command, ["find", "/", "-xdev", "-print"]);
    assert_eq!((at("all").trials, at("all").program.captures_output), (100, false));
    assert_eq!((at("all").figures.len(), at("one-filesystem").figures.len()), (0, 1));
}
