//! Properties of every definition: these tests walk [`FAMILIES`], so a new benchmark is covered
//! automatically.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;

use oscost_model::calls::ANY_OTHER_CALL;
use oscost_model::case::{Case, is_benchmark_id};
use oscost_model::definition::{Axis, Definition, Requirement};
use oscost_model::point::{Point, Value};

use super::{FAMILIES, find};
use crate::bench::{Bench, Context};
use crate::kernel::cpu::affinity;
use crate::kernel::event::io_uring::Ring;
use crate::kernel::machine::resources;
use crate::kernel::process::in_own_process;
use crate::kernel::syscall::names;
use crate::kernel::time::stopwatch::Stopwatch;
use crate::kernel::time::vdso;
use crate::kernel::{Errno, counter};

fn benches() -> impl Iterator<Item = (&'static str, &'static Bench)> {
    FAMILIES.iter().flat_map(|family| family.benches.iter().map(|bench| (family.name, bench)))
}

fn definitions() -> Vec<Definition> {
    benches().map(|(_, bench)| bench.definition()).collect()
}

/// A worker pinned to a CPU of the process, if that is permitted.
pub(super) fn context() -> Context {
    let allowed = affinity::allowed_cpus(0).unwrap_or_default();
    let cpu = allowed.last().copied().filter(|&cpu| affinity::pin(cpu).is_ok());
    let other_cpu = allowed.into_iter().find(|&other| Some(other) != cpu);
    let usable = counter::unusable_reason().is_none();
    Context {
        cpu,
        other_cpu,
        clock: if usable { Stopwatch::Tsc } else { Stopwatch::Syscall },
        remote_peer: None,
    }
}

/// Every combination of one value of each axis.
fn points(definition: &Definition, of: impl Fn(&Axis) -> &Vec<Value>) -> Vec<Point> {
    let points = definition.axes.iter().fold(vec![Point::none()], |points, axis| {
        let values = of(axis);
        points
            .iter()
            .flat_map(|point| {
                values.iter().map(|value| point.clone().with(axis.name.clone(), value.clone()))
            })
            .collect()
    });
    points.iter().map(|point| definition.without_implied(point)).collect()
}

pub(super) fn all_points(definition: &Definition) -> Vec<Point> {
    points(definition, |axis| &axis.points)
}

/// The points of the price list.
fn price_list_points(definition: &Definition) -> Vec<Point> {
    points(definition, |axis| {
        if axis.price_list_points.is_empty() {
            &axis.default_points
        } else {
            &axis.price_list_points
        }
    })
}

/// Whether a point is quickly tried: no large file, no directory of thousands, no eviction of
/// system-wide caches.
fn is_small(point: &Point) -> bool {
    let max = |axis: &str, max| match point.get(axis) {
        Some(Value::Number(number)) => *number <= max,
        _ => true,
    };
    // A few of the many read sizes are enough.
    let sizes = [8, 4_096, 65_536].map(Value::Number);
    let is_usual = point.get("file_mib").is_none() && point.get("by").is_none()
        || point.get("size").is_none_or(|size| sizes.contains(size));
    let others_are_left_alone = point.get("evict").is_none();
    // Larger numbers of descriptors are tested in the family `event`.
    let few_fds = point.get("fds").is_none_or(|fds| [10, 100].map(Value::Number).contains(fds));
    let is_plain = ["position", "highest", "over"].iter().all(|&axis| point.get(axis).is_none());
    // One socket option at a time is enough.
    let set = ["nodelay", "buffer", "via"].iter().filter(|axis| point.get(axis).is_some()).count();
    let one_thing = point.get("peer_cpu").is_none() || set <= 1;
    max("file_mib", 1)
        && max("files", 100)
        && max("limit_mib", 64)
        && max("idle", 100)
        && few_fds
        && max("waiters", 2)
        && is_plain
        && is_usual
        && max("buffer", 65_536)
        && one_thing
        && others_are_left_alone
}

/// The first requirement that this machine does not meet at `point`.
fn unmet(definition: &Definition, point: &Point) -> Option<String> {
    let needs = definition.needs.iter().filter(|need| point.includes(&need.when));
    needs.map(|need| &need.requirement).find_map(|requirement| match requirement {
        Requirement::Counter => counter::unusable_reason(),
        Requirement::Undefined(why) => Some(why.clone()),
        Requirement::IoUring => Ring::new(1).err().map(|error| error.to_string()),
        Requirement::WallTime | Requirement::Capability(_) => None,
        Requirement::Resource(resource) => resources::missing(*resource),
        Requirement::Readable(path) => File::open(path).err().map(|error| error.to_string()),
        Requirement::VdsoFunction(name) => {
            let names = [format!("__vdso_{name}"), format!("__kernel_{name}")];
            (!names.iter().any(|name| vdso::has_function(name)))
                .then(|| format!("the vDSO has no {name}"))
        }
    })
}

/// Whether the definition does not apply at `point`, on any machine.
pub(super) fn is_not_applicable(definition: &Definition, point: &Point) -> bool {
    let mut needs = definition.needs.iter();
    needs.any(|need| {
        matches!(need.requirement, Requirement::Undefined(_)) && point.includes(&need.when)
    })
}

/// Whether `when` names axes of the definition at values that they offer.
fn offers(definition: &Definition, when: &Point) -> bool {
    when.iter().all(|(axis, value)| {
        definition.axis(axis).is_some_and(|found| found.points.contains(value))
    })
}

/// The same for a condition that is matched against points as cases name them: without implied
/// values.
fn is_part_of(definition: &Definition, when: &Point) -> bool {
    definition.without_implied(when) == *when && offers(definition, when)
}

fn is_word(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        && !text.starts_with('-')
        && !text.ends_with('-')
        && !text.is_empty()
}

#[test]
fn ids_are_unique_kebab_and_below_their_family() {
    let mut ids = BTreeSet::new();
    for (family, bench) in benches() {
        assert!(is_benchmark_id(bench.id), "`{}` is not a valid id", bench.id);
        assert_eq!(bench.id.split('/').next(), Some(family), "{} is in the wrong file", bench.id);
        assert!(ids.insert(bench.id), "`{}` is defined twice", bench.id);
    }
    let families: BTreeSet<&str> = FAMILIES.iter().map(|family| family.name).collect();
    assert_eq!(families.len(), FAMILIES.len(), "a family is listed twice");
    for family in FAMILIES {
        assert!(
            is_word(family.name) && !family.about.is_empty(),
            "{} has no description",
            family.name
        );
        assert!(!family.benches.is_empty(), "{} is empty", family.name);
    }
}

#[test]
fn every_definition_has_a_question_an_op_an_expectation_and_a_source() {
    for definition in definitions() {
        let id = &definition.id;
        assert!(definition.asks.ends_with('?'), "{id} has no question: {}", definition.asks);
        assert!(!definition.expected.trim().is_empty(), "{id} has no expectation");
        assert!(!definition.source.trim().is_empty(), "{id} has no source");
        let inside = definition.op.split("Not included:").next().unwrap_or_default();
        assert!(definition.op.contains("Not included:"), "{id} does not say what is not timed");
        assert!(!inside.trim().is_empty(), "{id} does not say what is timed");
        assert!(definition.rev >= 1, "{id} has no revision");
    }
}

#[test]
fn axes_have_at_least_two_points_including_their_default_points() {
    for definition in definitions() {
        let mut names = BTreeSet::new();
        for axis in &definition.axes {
            let of = format!("{} of {}", axis.name, definition.id);
            let is_valid =
                |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
            assert!(
                !axis.name.is_empty() && axis.name.bytes().all(is_valid),
                "{of} is not a valid name"
            );
            assert!(names.insert(axis.name.clone()), "{of} is defined twice");
            assert!(!axis.sets.is_empty(), "{of} does not say what it sets");
            assert!(axis.points.len() >= 2, "{of} has fewer than two points");
            assert!(!axis.default_points.is_empty(), "{of} is never measured");
            for point in &axis.default_points {
                assert!(
                    axis.points.contains(point),
                    "{of} does not offer its default point {point}"
                );
            }
            if let Some(implied) = &axis.implied {
                assert_eq!(
                    axis.default_points.iter().collect::<Vec<_>>(),
                    [implied],
                    "{of}: the implied point is not the default"
                );
            }
            for values in [&axis.points, &axis.default_points] {
                let unique: BTreeSet<_> = values.iter().collect();
                assert_eq!(unique.len(), values.len(), "{of} has a value twice");
            }
        }
    }
}

#[test]
fn numbers_ascend_words_are_kebab_case_and_no_axis_mixes_them() {
    for definition in definitions() {
        for axis in &definition.axes {
            let of = format!("{} of {}", axis.name, definition.id);
            for values in [&axis.points, &axis.default_points] {
                let numbers: Vec<u64> = values
                    .iter()
                    .filter_map(|value| match value {
                        Value::Number(number) => Some(*number),
                        Value::Word(_) => None,
                    })
                    .collect();
                // The implied point of a numeric axis may be a word.
                let is_explicit = |value: &&Value| axis.implied.as_ref() != Some(value);
                let values: Vec<&Value> = values.iter().filter(is_explicit).collect();
                assert!(numbers.is_empty() || numbers.len() == values.len(), "{of} is mixed");
                assert!(numbers.is_sorted_by(|one, other| one < other), "{of} does not ascend");
            }
            for value in &axis.points {
                // A value must survive printing and parsing.
                assert_eq!(Value::parse(&value.to_string()), *value, "{of}: {value}");
                if let Value::Word(word) = value {
                    assert!(is_word(word), "{of}: `{word}` cannot be typed as a selector");
                }
            }
        }
    }
}

#[test]
fn the_price_list_has_at_most_a_hundred_rows_and_each_of_them_applies() {
    let mut rows = 0;
    for definition in definitions().iter().filter(|definition| definition.in_price_list) {
        for point in price_list_points(definition) {
            rows += 1;
            let not_applicable = is_not_applicable(definition, &point);
            assert!(
                !not_applicable,
                "{}:{point} is in the price list but does not apply",
                definition.id
            );
        }
    }
    assert!((1..=100).contains(&rows), "the price list has {rows} rows");
}

#[test]
fn call_rules_name_real_system_calls() {
    let names: BTreeSet<String> = (0..2_048).map(names::name_of).collect();
    for definition in definitions() {
        for rule in &definition.calls {
            let id = &definition.id;
            // A call without a name in the table is named by its number: a rule may do so only for
            // numbers beyond every table, or a typing error would be accepted.
            let named = |call: &str| match call.strip_prefix("syscall_").map(str::parse::<u64>) {
                Some(number) => number.is_ok_and(|number| number >= 2_048),
                None => names.contains(call),
            };
            let is_valid = rule.call == ANY_OTHER_CALL || rule.call.split('|').all(named);
            assert!(is_valid, "{id}: `{}` is not a system call", rule.call);
            let (_, max) = rule.times.range(23).into_inner();
            assert!(max > 0, "{id}: a rule that allows no {} has no description", rule.call);
        }
    }
}

#[test]
fn rules_floors_and_needs_refer_to_existing_points() {
    for definition in definitions() {
        let id = &definition.id;
        for rule in &definition.calls {
            assert!(offers(&definition, &rule.when), "{id}: {} at {}", rule.call, rule.when);
        }
        for part in &definition.floor {
            assert!(is_part_of(&definition, &part.when), "{id}: {} at {}", part.case, part.when);
        }
        for need in &definition.needs {
            assert!(
                is_part_of(&definition, &need.when),
                "{id}: {:?} at {}",
                need.requirement,
                need.when
            );
        }
    }
}

#[test]
fn floors_are_complete_cases_other_than_the_case_itself() {
    for definition in definitions() {
        let id = &definition.id;
        for part in &definition.floor {
            let case = Case::parse(&part.case);
            let case = case.unwrap_or_else(|| panic!("{id}: `{}` is not a case", part.case));
            let bench = find(&case.benchmark);
            let bench = bench.unwrap_or_else(|| panic!("{id}: there is no `{}`", case.benchmark));
            assert!(
                bench.is_complete(&case.point),
                "{id}: `{case}` does not name each axis in order"
            );
            assert!(part.times > 0, "{id}: a floor of zero times `{case}` is useless");
            assert!(
                !is_not_applicable(&bench.definition(), &case.point),
                "{id}: `{case}` does not apply"
            );
            for point in all_points(&definition).iter().filter(|at| at.includes(&part.when)) {
                assert_ne!(Case::new(id.clone(), point.clone()), case, "{id} is its own floor");
            }
        }
    }
}

#[test]
fn cases_to_compare_with_are_complete_cases_of_other_benchmarks() {
    for (_, bench) in benches() {
        for &text in bench.compare_with {
            let case = Case::parse(text).unwrap_or_else(|| panic!("{}: `{text}`", bench.id));
            let other = find(&case.benchmark).unwrap_or_else(|| panic!("{}: `{text}`", bench.id));
            assert!(other.is_complete(&case.point), "{}: `{text}` is not complete", bench.id);
            assert_ne!(other.id, bench.id, "it is shown in any case");
        }
    }
}

#[test]
fn floors_form_no_cycle() {
    let below: BTreeMap<String, Vec<String>> = definitions()
        .into_iter()
        .map(|definition| {
            let parts = definition.floor.iter().filter_map(|part| Case::parse(&part.case));
            let others = parts.map(|case| case.benchmark).filter(|other| *other != definition.id);
            (definition.id.clone(), others.collect())
        })
        .collect();
    let mut settled: BTreeSet<&String> = BTreeSet::new();
    while settled.len() < below.len() {
        let next = below.iter().find(|(id, parts)| {
            !settled.contains(id) && parts.iter().all(|part| settled.contains(part))
        });
        let (id, _) = next.expect("some floors form a cycle");
        settled.insert(id);
    }
}

#[test]
fn every_benchmark_runs_one_op_at_every_point_or_says_what_is_missing() {
    // As in a worker: one process, one thread.
    in_own_process(|| {
        let context = context();
        for (_, bench) in benches() {
            let definition = bench.definition();
            for point in all_points(&definition) {
                let case = Case::new(bench.id, point);
                assert!(bench.is_complete(&case.point), "{case}");
                assert_eq!(Case::parse(&case.to_string()).as_ref(), Some(&case), "{case}");
                if let Some(reason) = unmet(&definition, &case.point) {
                    assert!(!reason.is_empty(), "{case} does not say what it lacks");
                    continue;
                }
                if !is_small(&case.point) {
                    continue;
                }
                // A misspelt axis name panics here, not at run time.
                let built = bench.work(&case.point, context);
                let done = built.and_then(|mut work| {
                    if let Some(reason) = work.unavailable_reason() {
                        assert!(!reason.is_empty(), "{case} does not say what it lacks");
                        return Ok(());
                    }
                    let done = work.prepare(1).and_then(|()| work.run(1, 1));
                    done.and_then(|()| work.verify()).map_err(|error| error.errno)
                });
                match done {
                    Err(Errno::UNAVAILABLE) => eprintln!("{case}: {}", Errno::UNAVAILABLE),
                    done => assert_eq!(done, Ok(()), "{case}"),
                }
            }
        }
    });
}

#[test]
fn every_cell_of_the_timer_survey_is_a_text_a_reason_or_an_existing_case() {
    let catalog = super::data();
    let mut names = BTreeSet::new();
    for timer in &catalog.timers {
        let name = &timer.name;
        assert!(names.insert(name), "`{name}` stands twice");
        assert!(name.len() <= 16, "`{name}` is too long for its column");
        assert!(timer.cost.case.is_some(), "{name}: no case measures its cost");
        for entry in [
            &timer.cost,
            &timer.resolution,
            &timer.quantum,
            &timer.precision,
            &timer.slewed,
            &timer.steps_back,
        ] {
            let parts = [&entry.case, &entry.text, &entry.reason];
            assert_eq!(parts.iter().filter(|part| part.is_some()).count(), 1, "{name}: {entry:?}");
            assert!(entry.text.as_ref().is_none_or(|words| (1..=6).contains(&words.len())));
            if let Some(text) = &entry.case {
                let case = Case::parse(text).unwrap_or_else(|| panic!("{name}: `{text}`"));
                let bench = find(&case.benchmark).unwrap_or_else(|| panic!("{name}: `{text}`"));
                assert!(bench.is_complete(&case.point), "{name}: `{text}` is not complete");
                assert_eq!(case.benchmark.split('/').next(), Some("timer"), "{name}: `{text}`");
            }
        }
    }
    assert!(names.len() > 20, "the survey has {} timers", names.len());
}

#[test]
fn every_clock_and_every_call_of_the_timer_family_is_in_the_survey() {
    let catalog = super::data();
    let survey = catalog.survey_cases();
    // These are not timers.
    let tools = ["nothing", "loop", "add", "ticks-per-cycle", "elapsed", "wait"];
    for definition in &catalog.benchmarks {
        let Some(name) = definition.id.strip_prefix("timer/") else { continue };
        let is_there = survey.iter().any(|case| case.benchmark == definition.id);
        assert_ne!(is_there, tools.contains(&name), "{}", definition.id);
    }
    let clocks = catalog.get("timer/clock-gettime").unwrap().axis("clock").unwrap();
    for clock in &clocks.points {
        let is_it = |case: &Case| case.point.get("clock") == Some(clock);
        assert!(survey.iter().any(is_it), "clock {clock} is not in the survey");
    }
}
