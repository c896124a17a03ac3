//! The addresses of an ssh session.

use super::*;

#[test]
fn the_two_ends_of_an_ssh_connection_are_parsed_strictly() {
    let endpoints = SshEndpoints::parse("10.0.0.1 40000 fe80::1%eth0 22").unwrap();
    assert_eq!((endpoints.from.as_str(), endpoints.to.as_str()), ("10.0.0.1", "fe80::1%eth0"));
    for bad in ["", "10.0.0.1", "a b c", "a b c d e"] {
        assert_eq!(SshEndpoints::parse(bad), None, "{bad}");
    }
}
