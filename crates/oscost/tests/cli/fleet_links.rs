//! `oscost fleet links`: what it refuses. What it measures is tested between network namespaces, in
//! tests/remote.

use std::fs;

use crate::common::Sandbox;

#[test]
fn a_network_takes_two_nodes_that_can_be_reached() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("hosts.txt");
    let hosts = file.to_str().unwrap().to_owned();
    let links = ["fleet", "links", "--ssh", &hosts];
    sandbox.oscost(&links).exits(2).no_data().stderr_contains("cannot read");
    fs::write(&file, "db1\n").unwrap();
    sandbox.oscost(&links).exits(2).stderr_contains("fewer than two nodes");
    fs::write(&file, "db1\n-oProxyCommand=x\n").unwrap();
    sandbox.oscost(&links).exits(2).stderr_contains("is not a host");
    fs::write(&file, "db1\ndb2\n").unwrap();
    let both = [&links[..], &["--slurm", "partition=debug"]].concat();
    sandbox.oscost(&both).exits(2);
    sandbox.oscost(&["fleet", "links"]).exits(2);
    let unknown = [&links[..], &["no/such"]].concat();
    sandbox.oscost(&unknown).exits(2).stderr_contains("`no/such`");
}
