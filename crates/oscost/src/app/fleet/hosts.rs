//! The hosts of a fleet that is reached by ssh, from a file.

use std::path::Path;

use oscost_model::fleet::MAX_TASKS;
use oscost_model::target::{Host, Target};

use crate::app::error::UsageError;
use crate::files::input_file;

/// A million names.
const MAX_FILE_BYTES: u64 = 64 << 20;
/// What tests of everything after the measurement name instead of a host.
const FAKE: &str = "fake:";

/// The target of a node that is reached by ssh.
pub(super) fn target_of(node: &str) -> String {
    match node.starts_with(FAKE) {
        true => node.to_owned(),
        false => format!("ssh:{node}"),
    }
}

/// Reads a file with one `[user@]HOST` a line; `#` begins a comment.
pub(super) fn read_hosts(file: &Path) -> anyhow::Result<Vec<String>> {
    let refused =
        |what: String| UsageError::with_hint(&what, "name a file with a host in each line");
    let bytes = input_file::read(file, MAX_FILE_BYTES)
        .map_err(|error| refused(format!("cannot read {}: {error}", file.display())))?;
    let text = match String::from_utf8(bytes) {
        Ok(text) if text.len() as u64 <= MAX_FILE_BYTES => text,
        _ => {
            let what = format!("cannot read {}: it is no text of hosts", file.display());
            return Err(refused(what).into());
        }
    };
    let hosts =
        parse(&text).map_err(|why| UsageError(format!("cannot read {}: {why}", file.display())))?;
    match hosts.is_empty() {
        true => Err(refused(format!("{} names no host", file.display())).into()),
        false => Ok(hosts),
    }
}

fn parse(text: &str) -> Result<Vec<String>, String> {
    let mut hosts: Vec<String> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let name = line.split('#').next().unwrap_or_default().trim();
        if name.is_empty() {
            continue;
        }
        let target = Target::parse(&target_of(name));
        let is_host = target.is_ok_and(|it| matches!(it.host, Host::Ssh(_) | Host::Fake(_)));
        if !is_host {
            return Err(format!(
                "line {number}: `{}` is not a host: expected `[user@]HOST`\n  hint: set ports, keys \
                 and jump hosts in ~/.ssh/config",
                name.escape_debug()
            ));
        }
        hosts.push(name.to_owned());
        if hosts.len() > MAX_TASKS {
            return Err(format!(
                "more than {MAX_TASKS} hosts\n  hint: put them into several files"
            ));
        }
    }
    Ok(hosts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_host_or_a_comment() {
        let hosts = parse("# lab\nn1\n\n joe@n2.lab # old\nfake:x.json\n").unwrap();
        assert_eq!(hosts, ["n1", "joe@n2.lab", "fake:x.json"]);
        let targets: Vec<String> = hosts.iter().map(|host| target_of(host)).collect();
        assert_eq!(targets, ["ssh:n1", "ssh:joe@n2.lab", "fake:x.json"]);
    }

    #[test]
    fn what_ssh_could_misread_is_refused_with_its_line() {
        for bad in ["-oProxyCommand=x", "n1 n2", "n1;x", "@", "vm:6.12@x y"] {
            let why = parse(&format!("n1\n{bad}\n")).unwrap_err();
            assert!(why.starts_with("line 2: "), "{why}");
        }
    }
}
