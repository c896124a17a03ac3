//! The list of attacks on their page (docs/explanation/ATTACKS.md): a section for each table, and a
//! line for each class of attacks, in which `*` stands for a number or a name.

use std::fs;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/explanation/ATTACKS.md");

/// How an outcome begins behind the name of an attack.
const OUTCOMES: [&str; 3] = [": withstood", ": not made here", ": GOT THROUGH"];

/// Checks that the page lists the attacks of a table, and no class of which there is none.
#[track_caller]
pub(crate) fn check_listed(table: &str, names: &[&str]) {
    let page = fs::read_to_string(PAGE).unwrap();
    let differences = differences(&classes(&page, table), names);
    assert!(differences.is_empty(), "{PAGE}, {table}:\n{}", differences.join("\n"));
}

/// The classes that the page lists for a table.
fn classes<'a>(page: &'a str, table: &str) -> Vec<&'a str> {
    let (_, list) = page.split_once("\n## The list\n").unwrap_or_default();
    let (_, section) = list.split_once(&format!("\n### {table}\n")).unwrap_or_default();
    let section = section.split("\n#").next().unwrap_or_default();
    section.lines().filter_map(|line| line.strip_prefix("attack ")).map(class_in).collect()
}

/// The class in a line that may have its outcome.
fn class_in(line: &str) -> &str {
    let ends = OUTCOMES.iter().filter_map(|outcome| line.find(outcome));
    &line[..ends.min().unwrap_or(line.len())]
}

fn differences(classes: &[&str], names: &[&str]) -> Vec<String> {
    let is_listed = |name: &str| classes.iter().any(|class| is_of_class(name, class));
    let exists = |class: &str| names.iter().any(|name| is_of_class(name, class));
    let unlisted = names.iter().filter(|name| !is_listed(name));
    // Of those with a number or a seed, a variable of the environment may ask for none.
    let may_be_none = |class: &str| class.starts_with('*') || class.ends_with("seed *");
    let gone = classes.iter().filter(|class| !may_be_none(class) && !exists(class));
    let unlisted = unlisted.map(|name| format!("it does not list the attack {name}"));
    unlisted.chain(gone.map(|class| format!("there is no attack {class}"))).collect()
}

fn is_of_class(name: &str, class: &str) -> bool {
    let Some((begin, end)) = class.split_once('*') else { return name == class };
    let Some(rest) = name.strip_prefix(begin) else { return false };
    let mut places = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
    places.any(|at| is_of_class(&rest[at..], end))
}

#[test]
fn an_attack_that_is_not_listed_and_a_class_without_attacks_are_found() {
    let page = "# Attacks\n\n## The list\n\n### one\n\n```text\nattack a: b: withstood: 3\n\
                attack SIG* at *, Begin\nattack * kills\n```\n\n### other\n\nattack c\n";
    let listed = classes(page, "one");
    assert_eq!(listed, ["a: b", "SIG* at *, Begin", "* kills"]);
    assert_eq!(classes(page, "no such table"), [""; 0]);
    let all = ["a: b", "SIGHUP at Tool, Begin", "SIGINT at All, Begin", "12 kills"];
    assert_eq!(differences(&listed, &all), [""; 0]);
    assert_eq!(differences(&listed, &all[..3]), [""; 0], "none was asked for");
    let others = ["a: b", "SIGHUP at Tool, Middle"];
    let expected = [
        "it does not list the attack SIGHUP at Tool, Middle",
        "there is no attack SIG* at *, Begin",
    ];
    assert_eq!(differences(&listed, &others), expected);
}
