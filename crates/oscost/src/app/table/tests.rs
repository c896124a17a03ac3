use super::*;

/// A run of this kind of machine, with a row of each host.
fn named(text: &str, is_own: bool, boot: Option<&str>, hosts: &[&str]) -> NamedRun {
    let record = include_str!("../../../tests/store/run-1.json");
    let mut record: Record = serde_json::from_str(record).unwrap();
    let row = record.results[0].clone();
    let machine = record.machines[0].clone();
    (record.results, record.machines) = (Vec::new(), Vec::new());
    for (at, host) in hosts.iter().enumerate() {
        let mut row = row.clone();
        (row.target.host, row.target.machine) = ((*host).to_owned(), format!("m{at}"));
        record.results.push(row);
        let mut machine = machine.clone();
        machine.id = format!("m{at}");
        machine.counters.boot = boot.map(|boot| format!("{boot}{at}"));
        record.machines.push(machine);
    }
    let (machine, text) = machine_and_run(text);
    NamedRun {
        machine: machine.map(str::to_owned),
        text: text.to_owned(),
        kept: KeptRun { record, pruned_at: None, is_own },
    }
}

/// The names of the machines, and how many runs each has.
fn found(named: &[NamedRun]) -> Vec<(String, usize)> {
    let mut found = machines(named);
    set_unique_names(&mut found);
    found.into_iter().map(|it| (it.name, it.parts.len())).collect()
}

fn counts(of: &[(&str, usize)]) -> Vec<(String, usize)> {
    of.iter().map(|(name, runs)| ((*name).to_owned(), *runs)).collect()
}

#[test]
fn a_name_stands_before_a_run_and_a_file_or_label_is_no_name() {
    for (text, expected) in [
        ("node7=a.json", (Some("node7"), "a.json")),
        ("rack-1.node_7=@old", (Some("rack-1.node_7"), "@old")),
        ("./a=b.json", (None, "./a=b.json")),
        ("@a=b", (None, "@a=b")),
        ("last~1", (None, "last~1")),
        ("a=", (None, "a=")),
        ("=a", (None, "=a")),
    ] {
        assert_eq!(machine_and_run(text), expected);
    }
}

#[test]
fn runs_are_of_one_machine_by_name_boot_or_way() {
    let local = ["local"];
    // Files of machines that are alike: nothing says that they are one.
    let files = [
        named("/x/node1.json", false, Some("a"), &local),
        named("./node2.json", false, Some("b"), &local),
        named("node1.json", false, None, &local),
    ];
    assert_eq!(found(&files), counts(&[("node1", 1), ("node2", 1), ("node1 (2)", 1)]));
    let booted = [
        named("one.json", false, Some("a"), &local),
        named("other.json", false, Some("a"), &local),
    ];
    assert_eq!(found(&booted), counts(&[("one", 2)]));
    let own = [named("last", true, Some("a"), &local), named("last~1", true, None, &local)];
    assert_eq!(found(&own), counts(&[("last", 2)]));
    let remote = [named("last", true, None, &local), named("last~1", true, None, &["ssh:db1"])];
    assert_eq!(found(&remote), counts(&[("last", 1), ("last~1", 1)]));
    let given = [
        named("db=a.json", false, None, &local),
        named("db=b.json", false, None, &local),
        named("c.json", false, None, &local),
    ];
    assert_eq!(found(&given), counts(&[("db", 2), ("c", 1)]));
    // It was measured where it stands, and from elsewhere.
    let reached = [
        named("db=a.json", false, None, &local),
        named("db=b.json", false, None, &["ssh:db1"]),
        named("db=both.json", false, None, &["local", "ssh:db2"]),
    ];
    assert_eq!(found(&reached), counts(&[("db", 3), ("db ssh:db2", 1)]));
    // Two names are two machines, whatever else is the same.
    let apart =
        [named("a=last", true, Some("x"), &local), named("b=last~1", true, Some("x"), &local)];
    assert_eq!(found(&apart), counts(&[("a", 1), ("b", 1)]));
}

#[test]
fn a_machine_whose_settings_changed_is_one_for_each_setting() {
    let run = |text: &str, huge_pages: Option<&str>| {
        let mut run = named(text, false, Some("a"), &["local"]);
        let memory = &mut run.kept.record.machines[0].memory;
        memory.transparent_huge_pages = huge_pages.map(str::to_owned);
        run
    };
    let changed = [
        run("@guest", Some("madvise")),
        run("@never", Some("never")),
        run("@again", Some("madvise")),
        run("@unknown", None),
    ];
    assert_eq!(found(&changed), counts(&[("guest", 3), ("never", 1)]));
    let machines = machines(&changed);
    let described: Vec<DescribedMachine> =
        machines.iter().map(|it| it.described(&machines)).collect();
    let setting_of = described.iter().map(|it| it.setting_of.as_deref());
    assert_eq!(setting_of.collect::<Vec<_>>(), [None, Some("guest")]);
    let value = |at: usize| {
        let facts: &[MachineFact] = &described[at].facts;
        facts.iter().find(|fact| fact.name == "transparent huge pages")?.value.as_deref()
    };
    assert_eq!([value(0), value(1)], [Some("madvise"), Some("never")]);
    // The user says that they are one, and it is described by both.
    let given = [run("a=x", Some("madvise")), run("a=y", Some("never"))];
    assert_eq!(found(&given), counts(&[("a", 2)]));
}

#[test]
fn a_run_of_two_machines_is_two_columns() {
    let runs = [named("both.json", false, None, &["local", "ssh:db1"])];
    assert_eq!(found(&runs), counts(&[("both local", 1), ("both ssh:db1", 1)]));
}

#[test]
fn the_base_is_a_machine_or_a_run_of_one_and_others_are_refused_with_the_names() {
    let runs = [named("a.json", false, None, &["local"]), named("@b", false, None, &["local"])];
    let machines = machines(&runs);
    let index = |base: Option<&str>| base_index(&machines, base);
    assert_eq!([None, Some("a"), Some("a.json")].map(|it| index(it).unwrap()), [0; 3]);
    assert_eq!([Some("b"), Some("@b")].map(|it| index(it).unwrap()), [1; 2]);
    let why = index(Some("c")).unwrap_err().to_string();
    assert!(why.contains("`--base` may be `a`, `b`"), "{why}");
}

#[test]
fn from_two_to_sixty_four_runs_stand_side_by_side() {
    let is_refused = |named: usize, of_fleet: usize| check_count(named, of_fleet).is_err();
    assert!(is_refused(0, 0) && is_refused(1, 0) && is_refused(0, 1) && is_refused(65, 0));
    assert!(!is_refused(2, 0) && !is_refused(64, 0) && !is_refused(1, 1));
    assert!(!is_refused(64, FLEET.visits) && is_refused(65, 2));
    let twice = [named("a.json", false, None, &["local"]), named("b", true, None, &["local"])];
    assert!(check_distinct(&twice).unwrap_err().to_string().contains("named twice"));
}
