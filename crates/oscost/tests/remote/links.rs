//! `oscost fleet links`: a network of machines, two at a time.

use std::fs;

use serde_json::{Value, json};

use crate::hosts::{Hosts, address};

const CASE: &str = "socket/round-trip:by=tcp,size=64,peer_cpu=other";

/// A file with these machines as hosts.
fn hosts_file(hosts: &Hosts, machines: &[usize]) -> String {
    let path = hosts.file("hosts.txt");
    let lines: String = machines.iter().map(|host| format!("{}\n", address(*host))).collect();
    fs::write(&path, lines).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn three_machines_have_a_full_matrix_of_each_default_case() {
    let Some(hosts) = Hosts::some(4) else { return };
    let file = hosts_file(&hosts, &[2, 3, 4]);
    let arguments = ["fleet", "links", "--ssh", &file, "--seed", "1", "--json", "-"];
    let network = hosts.oscost(&arguments).exits(0).json();
    assert_eq!(network["nodes"], json!([address(2), address(3), address(4)]));
    assert_eq!((&network["pairs"], &network["complete"]), (&json!(3), &json!(true)));
    let cases = network["cases"].as_array().unwrap();
    let names: Vec<&str> = cases.iter().map(|case| case["case"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(names.contains(&CASE), "{names:?}");
    for case in cases {
        let links = case["links"].as_array().unwrap();
        let pairs: Vec<&Value> = links.iter().map(|link| &link["pair"]).collect();
        assert_eq!(pairs, [&json!([0, 1]), &json!([0, 2]), &json!([1, 2])]);
        assert!(links.iter().all(|link| link["median"].as_f64().is_some()), "{case}");
    }
    hosts.nothing_is_left();
}

#[test]
fn a_machine_that_cannot_be_reached_leaves_the_others_their_links() {
    let Some(hosts) = Hosts::some(3) else { return };
    // Nobody has the address of machine 9.
    let file = hosts_file(&hosts, &[2, 3, 9]);
    let ran = hosts.oscost(&["fleet", "links", "--ssh", &file, CASE, "--seed", "1"]).exits(0);
    let text = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("nothing is judged: each pair was measured once"), "{}", ran.stdout);
    assert!(text.contains("Not measured"), "{}", ran.stdout);
    assert!(text.contains(&format!("{} and {}", address(2), address(9))), "{}", ran.stdout);
    assert!(ran.stderr.contains(&format!("{}: ", address(9))), "{}", ran.stderr);
    hosts.nothing_is_left();
}
