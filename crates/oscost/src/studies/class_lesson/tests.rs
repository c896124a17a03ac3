use super::*;
use crate::studies::{Study, built_in_names, find_built_in};

fn studies() -> Vec<Study> {
    built_in_names().filter_map(find_built_in).collect()
}

/// Why a placeholder has no figure whatever is measured; `None` if a run can fill it in.
fn unresolved(placeholder: &Placeholder, studies: &[Study]) -> Option<String> {
    let catalog = oscost_worker::benchmarks::data();
    let unknown_case = |case: &String| {
        let parsed = oscost_model::case::Case::parse(case);
        let parsed = parsed.filter(|it| it.to_string() == *case);
        let definition = parsed.as_ref().and_then(|it| Some((it, catalog.get(&it.benchmark)?)));
        let is_known = definition.is_some_and(|(it, definition)| {
            let has = |name: &str, value| {
                definition.axis(name).is_some_and(|axis| axis.points.contains(value))
            };
            it.point.iter().all(|(name, value)| has(name, value))
        });
        (!is_known).then(|| format!("no case {case}"))
    };
    match placeholder {
        Placeholder::Machine(_) => None,
        Placeholder::Case { case, over } => {
            std::iter::once(case).chain(over).find_map(unknown_case)
        }
        Placeholder::Figure(it) => {
            let Some(study) = studies.iter().find(|study| study.id == it.study) else {
                return Some(format!("no study {}", it.study));
            };
            if it.column.is_of_two_targets() && study.columns.is_none() {
                return Some(format!("{} has one target: {it:?}", it.study));
            }
            std::iter::once(&it.row).chain(&it.over).find_map(|name| {
                let row = study.rows().find(|row| row.name == *name);
                let Some(row) = row else { return Some(format!("no row {name} in {}", it.study)) };
                if it.column.is_published() {
                    let first = row.published.first().and_then(Option::as_ref);
                    return first.is_none().then(|| format!("nothing published of {name}"));
                }
                row.case().is_none().then(|| format!("{name} is not measured"))
            })
        }
    }
}

#[test]
fn every_lesson_parses_and_a_run_can_fill_in_each_of_its_placeholders() {
    let studies = studies();
    for (id, text) in EMBEDDED {
        let lesson = parser::parse(id, text).unwrap_or_else(|why| panic!("{id}: {why}"));
        let unresolved: Vec<String> =
            lesson.placeholders().filter_map(|it| unresolved(it, &studies)).collect();
        assert!(unresolved.is_empty(), "{id}: {unresolved:?}");
        assert!(lesson.placeholders().count() >= 3, "{id}");
        for part in &lesson.parts {
            let LessonPart::Picture { study, table } = part else { continue };
            let study = studies.iter().find(|it| it.id == *study);
            let has_table = study.is_some_and(|it| it.tables.iter().any(|it| it.name == *table));
            assert!(has_table, "{id}: {part:?}");
        }
    }
    assert_eq!(built_in_class_lessons().len(), EMBEDDED.len());
}

#[test]
fn a_lesson_has_a_question_a_prediction_a_command_and_what_was_found() {
    for lesson in built_in_class_lessons() {
        let headings: Vec<&str> = lesson
            .parts
            .iter()
            .filter_map(|part| match part {
                LessonPart::Heading(text) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        let expected =
            ["The question", "Your prediction", "Measure it", "What was found here", "Why"];
        assert_eq!(headings, expected, "{}", lesson.id);
        assert!(lesson.parts.iter().any(|part| matches!(part, LessonPart::Commands(_))));
    }
}

#[test]
fn no_figure_of_a_machine_is_written_in_a_lesson() {
    // A number with a unit of time or rate must come from a placeholder.
    let units = ["ns", "us", "ms", "cycles", "MB/s", "GB/s", "%"];
    for (id, text) in EMBEDDED {
        let words: Vec<&str> = text.split_whitespace().collect();
        for pair in words.windows(2) {
            let is_number = pair[0].trim_start_matches('(').parse::<f64>().is_ok();
            let unit = pair[1].trim_end_matches(|it: char| ".,;:)".contains(it));
            assert!(!(is_number && units.contains(&unit)), "{id}: {pair:?}");
        }
    }
}

#[test]
fn a_lesson_is_read_by_its_small_grammar() {
    let text = "# Title\n\nOne\nparagraph with {{figure a \"row b\" here / \"c\"}}.\n\n- item\n  goes on\n\n\
                ```\noscost run\n```\n\n{{picture a \"Table 1\"}}\n";
    let lesson = parser::parse("x", text).unwrap();
    let figure = Placeholder::Figure(FigurePlaceholder {
        study: "a".to_owned(),
        row: "row b".to_owned(),
        column: FigureColumn::Here,
        over: Some("c".to_owned()),
    });
    let words = |text: &str| LessonText::Words(text.to_owned());
    let sentence =
        vec![words("One paragraph with "), LessonText::Placeholder(figure.clone()), words(".")];
    let picture = LessonPart::Picture { study: "a".to_owned(), table: "Table 1".to_owned() };
    let expected = [
        LessonPart::Paragraph(sentence),
        LessonPart::Item(vec![words("item goes on")]),
        LessonPart::Commands("oscost run".to_owned()),
        picture,
    ];
    assert_eq!(lesson.parts, expected);
    assert_eq!(lesson.placeholders().collect::<Vec<_>>(), [&figure]);
    for wrong in [
        "no title",
        "# T\n\n{{figure a row here}}",
        "# T\n\n{{figure a \"row\" hear}}",
        "# T\n\n{{case \"a/b}}",
        "# T\n\n{{machine colour}}",
        "# T\n\n{{open",
    ] {
        assert!(parser::parse("x", wrong).is_err(), "{wrong}");
    }
}
