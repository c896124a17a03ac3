//! Text from outside, wherever a record has it.

use std::collections::BTreeMap;

use oscost_model::record::Record;
use proptest::prelude::*;

use super::markup::data;
use super::records::{compared, page};
use crate::report::render::html::report as html;
use crate::report::render::terminal;
use crate::report::view::document::{Block, Section, View};

/// A record with a text in every place where text from outside may be.
fn marked(text: &str) -> Record {
    let mut record = compared();
    let own = || text.to_owned();
    record.label = Some(own());
    record.command = vec![own()];
    record.tool.version = own();
    record.tool.worker.libc = own();
    record.settings.profile = own();
    record.settings.study = Some(own());
    let machine = &mut record.machines[0];
    machine.cpu.model_name = Some(own());
    machine.os.release = Some(own());
    machine.mitigations.insert(own(), "Vulnerable".to_owned());
    machine.virtualization = Some(own());
    machine.advice = vec![own()];
    let conditions = &mut record.conditions[0];
    conditions.tracers = vec![own()];
    conditions.flags = vec![own()];
    conditions.class = Some(own());
    conditions.reference_cases.before.insert(own(), 1.0);
    for row in &mut record.results {
        row.expected = own();
        row.class = Some(own());
        row.reason = Some(own());
        row.flags.push(own());
        row.target.peer = Some(own());
        if let Some(floor) = &mut row.floor {
            floor.of = vec![own()];
        }
    }
    for curve in &mut record.curves {
        curve.sentences = vec![own()];
        curve.item = own();
        curve.peer = Some(own());
        for it in curve.breaks.iter_mut().flatten() {
            it.constants = vec![own()];
        }
    }
    for it in &mut record.comparisons {
        it.verdict = own();
        it.design = own();
        it.flags = vec![own()];
    }
    record
}

fn explanation(text: &str) -> Section {
    Section::of("title", [Block::Preformatted(text.to_owned())])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn no_text_becomes_a_part_of_the_page(
        text in "(\\PC|[<>&\"'/=`% ]|<script|</script>|<img |<!--|]]>|javascript:){0,12}"
    ) {
        // The first letters keep it from being empty, or a word that is explained.
        let theirs = page(&marked(&format!("qz{text}")));
        // As long: long texts have a style of their own.
        let plain = page(&marked(&format!("qz{}", "q".repeat(text.chars().count()))));
        for mark in ['<', '>', '"', '\''] {
            let count = |page: &str| page.matches(mark).count();
            prop_assert_eq!(count(&theirs), count(&plain), "{}", mark);
        }
        prop_assert_eq!(theirs.matches("<script").count(), 2);
        prop_assert_eq!(theirs.matches("<img").count(), 0);
    }

    #[test]
    fn packed_data_is_unpacked_unchanged(texts in proptest::collection::vec("\\PC{0,40}", 1..8)) {
        let explanations: BTreeMap<String, Vec<Section>> = texts
            .iter()
            .map(|text| (format!("family/{text}"), vec![explanation(text)]))
            .collect();
        let expected: BTreeMap<String, String> = explanations
            .iter()
            .map(|(id, sections)| (id.clone(), terminal::sections(sections, terminal::ScreenFormat::PLAIN)))
            .collect();
        let page = View { explanations, ..View::default() };
        let page = html(&page).unwrap();
        prop_assert_eq!(&data(&page)["explained"], &serde_json::to_value(&expected).unwrap());
    }
}
