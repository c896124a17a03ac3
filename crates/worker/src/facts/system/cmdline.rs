//! The kernel's command line without anything that identifies a machine or a person.
//!
//! It is recorded because it changes costs (`mitigations=`, `isolcpus=`). Boot loaders also put
//! addresses, disk ids, host names and sometimes a password into it.

use std::net::{IpAddr, Ipv4Addr};

/// Replaces a value that is not recorded.
const REDACTED: &str = "***";

/// Parameters whose value is a name, an address or a secret. Volume groups are often named after
/// the host.
const PRIVATE: &[&str] = &[
    "root",
    "resume",
    "rd.lvm.lv",
    "rd.lvm.vg",
    "ip",
    "nfsroot",
    "nfsaddrs",
    "netroot",
    "netconsole",
    "bootif",
    "hostname",
    "systemd.hostname",
    "ds",
];

/// Parts of a parameter's name that indicate a secret.
const SECRET: &[&str] = &["passw", "secret", "token", "credential"];

/// The command line as it may be recorded. What follows `--` is for init and does not affect costs.
pub(in crate::facts) fn redact(cmdline: &str) -> String {
    let mut kept = Vec::new();
    for word in words(cmdline) {
        if word == "--" {
            kept.push(format!("-- {REDACTED}"));
            break;
        }
        kept.push(match word.split_once('=') {
            Some((key, value)) if is_private(key, value) => format!("{key}={REDACTED}"),
            None if identifies(word) => REDACTED.to_string(),
            _ => word.to_string(),
        });
    }
    kept.join(" ")
}

/// Words separated by spaces; a space inside double quotes belongs to the word.
fn words(cmdline: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    let end = move |c: char| {
        quoted ^= c == '"';
        c.is_whitespace() && !quoted
    };
    cmdline.split(end).filter(|word| !word.is_empty())
}

fn is_private(key: &str, value: &str) -> bool {
    let key = key.to_ascii_lowercase();
    PRIVATE.contains(&key.as_str())
        || SECRET.iter().any(|part| key.contains(part))
        || identifies(value)
}

/// Whether it contains a URL, a disk id, a network address or a MAC address.
fn identifies(value: &str) -> bool {
    let upper = value.to_ascii_uppercase();
    // PARTUUID= has the same ending.
    if value.contains("://") || upper.contains("UUID=") || upper.contains("LABEL=") {
        return true;
    }
    let foreign = |c: char| !(c.is_ascii_hexdigit() || matches!(c, '.' | ':' | '-'));
    let mut pieces = value.split(foreign).map(|piece| piece.trim_matches(['-', '.']));
    pieces.any(|piece| is_address(piece) || is_mac(piece) || is_uuid(piece))
}

fn is_address(piece: &str) -> bool {
    piece.parse::<IpAddr>().is_ok()
        || piece.split([':', '-']).any(|part| part.parse::<Ipv4Addr>().is_ok())
}

/// Six bytes of two digits each; a name or a network type may precede them.
fn is_mac(piece: &str) -> bool {
    let bytes = |separator| piece.split(separator).filter(|part| part.len() == 2).count();
    bytes(':') >= 6 || bytes('-') >= 6
}

fn is_uuid(piece: &str) -> bool {
    piece.split('-').map(str::len).eq([8, 4, 4, 4, 12])
}

#[cfg(test)]
mod tests {
    use super::redact;

    #[test]
    fn parameters_that_affect_costs_are_recorded_verbatim() {
        let cmdline = "mitigations=auto,no_guest_host isolcpus=2-3,6 console=ttyS0,115200n8 quiet \
                       pci=resource_alignment=0000:00:1f.6 dyndbg=\"file ec.c +p\" rootfstype=ext4 \
                       crashkernel=1G-4G:192M,4G-64G:256M rcu_nocbs=1-7";
        assert_eq!(redact(cmdline), cmdline);
    }

    #[test]
    fn parameters_that_identify_a_machine_are_redacted() {
        let private = [
            "root=/dev/mapper/alice-root",
            "swap=UUID=0bd1c2a3-1111-2222-3333-444455556666",
            "swap=PARTUUID=deadbeef-02",
            "rd.luks.uuid=luks-0bd1c2a3-1111-2222-3333-444455556666",
            "swap=LABEL=alice",
            "ip=10.0.0.2::10.0.0.1:255.255.255.0:alice:eth0:off",
            "nameserver=2001:db8::1",
            "rd.route=192.168.1.0/24",
            "BOOTIF=01-52-54-00-12-34-56",
            "ifname=lan:52:54:00:12:34:56",
            "systemd.hostname=alice",
            "inst.ks=http://alice/ks",
            "systemd.set_credential=key:\"a b\"",
            "earlycon=uart@10.1.2.3",
        ];
        for word in private {
            let key = word.split('=').next().unwrap();
            assert_eq!(redact(word), format!("{key}=***"), "{word}");
        }
    }

    #[test]
    fn arguments_of_init_are_redacted() {
        assert_eq!(redact("quiet -- --addr 0.0.0.0:2024"), "quiet -- ***");
        assert_eq!(redact("quiet 10.0.0.1"), "quiet ***");
    }
}
