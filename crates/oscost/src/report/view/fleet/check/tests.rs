//! Answers of made-up checks.

use super::*;
use crate::fleet::{NotJudged, UnmeasuredCase};

fn case(case: &str, ratio: f64) -> CheckedCase {
    let ci95 = [ratio * 0.95, ratio * 1.05];
    let finds_doubled_cost = case != "pipe/a";
    CheckedCase { case: case.to_owned(), ratio, ci95, p: 1e-6, q: 1e-5, finds_doubled_cost }
}

fn health(verdict: HealthVerdict, slow: &[CheckedCase]) -> NodeHealth {
    let like = [case("pipe/a", 1.01), case("syscall/b", 0.99)];
    let check = NodeCheck {
        judged: [&like[..], slow].concat(),
        suspects: slow.to_vec(),
        findings: slow.to_vec(),
        not_judged: vec![NotJudged { case: "file/a".to_owned(), why: "too few visits" }],
        ..NodeCheck::default()
    };
    NodeHealth {
        node: "n7".to_owned(),
        fleet: "monday".to_owned(),
        class: "cpus 4".to_owned(),
        cpu: Some(3),
        verdict,
        check: Some(check),
        unmeasured: vec![UnmeasuredCase { case: "fault/a".to_owned(), why: "skipped".to_owned() }],
        unusual: vec![UnusualFact {
            name: "kernel",
            own: "6.1.9".to_owned(),
            usual: "6.1.0".to_owned(),
        }],
    }
}

#[test]
fn the_answer_is_one_sentence_with_the_surest_case() {
    let healthy = sentence(&health(HealthVerdict::Healthy, &[]));
    let expected = "n7 is healthy: none of 2 cases of 2 families is slower than on the nodes of its \
                    class";
    assert_eq!(healthy, expected);
    let slow = [case("syscall/a", 1.3), case("syscall/c", 1.4), case("syscall/d", 0.5)];
    let told = sentence(&health(HealthVerdict::Slow, &slow));
    let expected = "n7 is slow: syscall/a costs 1.30 times (1.23 to 1.37) as much as on the nodes of \
                    its class, in two measurements; so is 1 more case";
    assert_eq!(told, expected);
    let not = NodeHealth {
        check: None,
        ..health(HealthVerdict::NotJudged("it is\nnoisy".to_owned()), &[])
    };
    assert_eq!(sentence(&not), "n7 was not judged: it is noisy");
}

#[test]
fn a_suspect_that_is_no_finding_is_told_apart_from_a_faster_case() {
    let told = |suspects: &[CheckedCase], findings: &[CheckedCase]| {
        let mut health = health(HealthVerdict::Healthy, suspects);
        let check = health.check.as_mut().unwrap();
        check.findings = findings.to_vec();
        let text = sentence(&health);
        text.split_once("of its class").unwrap().1.to_owned()
    };
    let faster = [case("syscall/c", 0.6), case("syscall/d", 0.5)];
    assert_eq!(told(&faster[..1], &faster[..1]), "; 1 case is faster, in two measurements");
    assert_eq!(told(&faster, &faster), "; 2 cases are faster, in two measurements");
    // Seen again, but the mean of both is not beyond what a healthy node has.
    let once = [case("syscall/a", 1.2), case("syscall/d", 0.5)];
    assert_eq!(
        told(&once, &once[1..]),
        "; 1 case is faster, in two measurements; 1 case seemed to differ, which was not confirmed"
    );
    let mut unsure = health(HealthVerdict::Healthy, &once);
    unsure.check.as_mut().unwrap().findings.clear();
    let table = table(&unsure);
    let words = table.rows.iter().filter(|row| row.cells[5].text == "differed, not confirmed");
    assert_eq!(words.count(), 2);
}

#[test]
fn what_could_have_been_found_is_told() {
    let health = health(HealthVerdict::Healthy, &[]);
    let lead: Vec<String> = view(&health).lead.into_iter().map(|it| it.text).collect();
    let expected = "against the nodes of its class in fleet monday; twice the cost would be found \
                    in 1 of 2 cases";
    assert_eq!(lead[1], expected);
    let document: serde_json::Value = serde_json::from_str(&json(&health).unwrap()).unwrap();
    assert_eq!(document["cases"][0]["finds_doubled_cost"], false);
}

#[test]
fn each_case_has_its_judgement() {
    let slow = [case("syscall/a", 1.3), case("syscall/d", 0.5)];
    let health = health(HealthVerdict::Slow, &slow);
    let table = table(&health);
    let judgement = |name: &str| {
        let row = table.rows.iter().find(|row| row.cells[0].text == name).unwrap();
        row.cells[5].text.as_str()
    };
    assert_eq!(judgement("syscall/a"), "slower, twice");
    assert_eq!(judgement("syscall/d"), "faster, twice");
    assert_eq!(judgement("pipe/a"), "like the others");
    let document: serde_json::Value = serde_json::from_str(&json(&health).unwrap()).unwrap();
    assert_eq!(document["verdict"], "slow");
    assert_eq!(document["not_judged"][0]["why"], "too few visits");
    assert_eq!(document["unmeasured"][0]["case"], "fault/a");
    assert_eq!(document["unusual_facts"][0]["usual"], "6.1.0");
    assert!(document["reason"].is_null());
}

#[test]
fn the_facts_that_set_the_node_apart_are_in_the_report() {
    let view = view(&health(HealthVerdict::Healthy, &[]));
    let facts =
        view.sections.iter().flat_map(|section| &section.blocks).find_map(|block| match block {
            Block::Facts(facts) => facts.first(),
            _ => None,
        });
    let fact = facts.unwrap();
    assert_eq!(
        (fact.name.as_str(), fact.value.as_str()),
        ("kernel", "`6.1.9`; on most of its class `6.1.0`")
    );
}
