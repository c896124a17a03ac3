//! The address of a node, as Slurm has it configured.

use std::net::{IpAddr, ToSocketAddrs};
use std::process::Command;

use crate::files::null_device::null_device;
use crate::hosts::session::printable;

/// The address at which the daemons of Slurm reach a node (`NodeAddr`).
pub fn node_address(node: &str) -> Result<IpAddr, String> {
    let cannot = |why: &str| format!("`scontrol show node {}`: {why}", node.escape_debug());
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if node.is_empty() || node.starts_with('-') || !node.bytes().all(is_name) {
        return Err(format!("`{}` is not the name of a node", node.escape_debug()));
    }
    let mut command = Command::new("scontrol");
    command.args(["--oneliner", "show", "node", node]);
    let output = null_device()
        .and_then(|input| command.stdin(input).output())
        .map_err(|error| cannot(&error.to_string()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let address = configured_address(&text).filter(|_| output.status.success());
    let address = address.ok_or_else(|| {
        let words = [&output.stdout[..], &output.stderr[..]].map(String::from_utf8_lossy).concat();
        cannot(&words.lines().next().map_or("no answer".to_owned(), printable))
    })?;
    let resolved = (address, 0).to_socket_addrs().map_err(|error| {
        format!("its address in Slurm, `{}`, is not known here: {error}", address.escape_debug())
    })?;
    let first = resolved.map(|it| it.ip()).next();
    first.ok_or_else(|| cannot("its name has no address"))
}

/// The value of `NodeAddr` in a line of scontrol(1).
fn configured_address(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    words.find_map(|word| word.strip_prefix("NodeAddr=")).filter(|address| !address.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_a_word_of_the_line() {
        let line = "NodeName=n2 Arch=x86_64 Gres=(null) NodeAddr=10.0.0.2 NodeHostName=vm Port=1";
        assert_eq!(configured_address(line), Some("10.0.0.2"));
        assert_eq!(configured_address("NodeName=n2 NodeAddr= Port=1"), None);
        assert_eq!(configured_address("Node n2 not found"), None);
    }

    #[test]
    fn what_is_no_name_is_not_asked_for() {
        for name in ["", "-a", "n1 n2", "n[1-2]", "n\n"] {
            let why = node_address(name).unwrap_err();
            assert!(why.contains("is not the name of a node"), "{why}");
        }
    }
}
