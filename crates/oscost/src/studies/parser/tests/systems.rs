use super::*;

pub(super) const COMPARED: &str = r#"
id = "compared"
title = "Three systems"
authors = ["A"]
year = 1996
source = "somewhere"
measured-on = "three systems"
reference-system = "Old"
protocol = { statistic = "none", original = "x", replication = "y" }

[[system]]
name = "Old"
description = "a machine of 1995"
year = 1995
core-ghz = 0.1

[[system]]
name = "New"
description = "a machine of an unknown year"

[[table]]
name = "Table 1"
title = "Costs"
unit = "us"
systems = ["New", "Old"]

[[table.row]]
name = "a call"
case = "syscall/getpid:via=raw"
same-as = "getpid"
by-system = ["4", "0.5 (.5)"]

[[table.row]]
name = "its size"
unmeasurable = "no time"
by-system = ["[8K]", "-1"]

[[table.series]]
name = "pipe"
axis = "size"
values = [4, 16]
case = "pipe/round-trip:by=pipe,size={},peer_cpu=same"
same-as = { act = "pipe-round-trip", at = 4 }
"#;

#[test]
fn a_table_has_figures_of_several_systems_and_those_of_one_stand_for_the_study() {
    let study = parse(COMPARED.as_bytes()).unwrap();
    assert_eq!(study.systems.reference().unwrap().name, "Old");
    assert_eq!(study.clock_rates.core_ghz, Some(0.1));
    let table = &study.tables[0];
    assert_eq!(table.systems.as_ref().unwrap().order, [1, 0]);
    let [call, size, pipe, longer] = &table.rows[..] else { panic!("{table:?}") };
    assert_eq!(call.published[0].as_ref().unwrap().single(), Some(0.5));
    let texts = |row: &TableRow| -> Vec<(String, bool)> {
        let all = row.by_system.iter().flatten();
        all.map(|it| (it.text.clone(), it.figure.is_some())).collect()
    };
    let words = |list: [(&str, bool); 2]| list.map(|(text, known)| (text.to_owned(), known));
    assert_eq!(texts(call), words([("4", true), ("0.5 (.5)", true)]));
    assert_eq!(texts(size), words([("8K", false), ("-1", false)]));
    assert_eq!((size.published[0].as_ref(), call.same_as.map(|it| it.key)), (None, Some("getpid")));
    let keys = [pipe, longer].map(|row| row.same_as.map(|act| act.key));
    assert_eq!(keys, [Some("pipe-round-trip"), None]);
}

#[test]
fn figures_of_systems_in_another_unit_do_not_stand_beside_those_of_a_run() {
    let text = COMPARED.replace("systems = [\"New\"", "systems-unit = \"%\"\nsystems = [\"New\"");
    let study = parse(text.as_bytes()).unwrap();
    let row = &study.tables[0].rows[0];
    assert_eq!((row.published[0].as_ref(), row.by_system.len()), (None, 2));
}

#[test]
fn what_is_wrong_with_systems_and_acts_is_told_with_the_line() {
    for (from, to, words) in [
        ("reference-system = \"Old\"\n", "", "needs reference-system"),
        ("= \"Old\"\nprotocol", "= \"Odd\"\nprotocol", "`Odd` is not a system"),
        ("= \"Old\"\nprotocol", "= \"Old\"\ncore-ghz = 1.0\nprotocol", "in each of them"),
        ("name = \"New\"", "name = \"Old\"", "the same name"),
        ("[\"New\", \"Old\"]", "[\"New\", \"Odd\"]", "`Odd` is not a system"),
        ("[\"4\", ", "[", "a figure for each"),
        ("\"[8K]\"", "\"8K!\"", "or [word]"),
        ("by-system = [\"4\"", "published = [\"4\"]\nby-system = [\"4\"", "either published or"),
        ("systems = [\"New\", \"Old\"]\n", "", "needs the table's systems"),
        ("\"getpid\"", "\"getpit\"", "`getpit` is not an act; there are addition, "),
        ("\"getpid\"", "\"pipe-rate\"", "has no figure in us"),
        ("at = 4", "at = 5", "not a value of the series"),
        ("= \"no time\"", "= \"no time\"\nsame-as = \"getpid\"", "an act needs a case"),
    ] {
        assert!(COMPARED.contains(from), "{from}");
        let error = parse(COMPARED.replacen(from, to, 1).as_bytes()).unwrap_err();
        assert!(error.line > 1 && error.reason.contains(words), "{from} -> {to}: {error:?}");
    }
    let (alone, _) = COMPARED.split_once("[[system]]").unwrap();
    let table = COMPARED.split_once("[[table]]").unwrap().1.replace("systems = ", "# ");
    let table = table.replace("by-system", "# ");
    let error = parse(format!("{alone}[[table]]{table}").as_bytes()).unwrap_err();
    assert!(error.reason.contains("a reference system needs systems"), "{error:?}");
}
