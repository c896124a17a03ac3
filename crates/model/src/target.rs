//! Places: treatments at a reach, and their text form.
//!
//! `TARGET = [TREATMENT[+TREATMENT]...@]HOST`, or treatments alone (reach `local`), or a reach
//! alone. In a treatment's value a literal `+` or `@` is `%2B`, `%40`; `append=` of a `vm:` reach
//! takes the rest of the text.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How a worker gets to the machine it measures, as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Host {
    /// This machine.
    Local,
    /// Another machine, over the system's ssh: `[user@]HOST`.
    Ssh(String),
    /// A kernel booted under an emulator: the text behind `vm:`.
    Vm(String),
    /// Canned answers from a file; for tests of everything that comes after a measurement.
    Fake(String),
}

/// Something done to the measured process or its system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Treatment {
    /// Its name.
    pub name: String,
    /// What stands behind `=`, with `%2B` and `%40` undone.
    pub value: Option<String>,
}

/// Treatments at a reach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// What is done, in order.
    pub treatments: Vec<Treatment>,
    /// Where.
    pub host: Host,
}

/// Why a text is no place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetError {
    /// There is nothing.
    Empty,
    /// A name is not in lower-case letters, digits and dashes.
    BadName(String),
    /// A reach that wants something behind its colon has nothing.
    NoHost(String),
    /// What stands behind `ssh:` is no host that may be handed to ssh.
    BadHost(String),
    /// A reach stands where treatments alone are meant.
    UnexpectedHost(String),
}

impl fmt::Display for TargetError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TargetError::Empty => out.write_str("a place is empty"),
            TargetError::BadName(name) => write!(out, "`{name}` is no treatment and no reach"),
            TargetError::BadHost(host) => write!(
                out,
                "`{}` is no host: `[user@]HOST` of letters, digits and `.-_:%[]+`\n  hint: ports, \
                 keys and jump hosts are named in ~/.ssh/config",
                host.escape_debug()
            ),
            TargetError::UnexpectedHost(behind) => write!(
                out,
                "`@{}` stands behind treatments, and no reach is meant here\n  hint: a literal `@` \
                 in a value is `%40`; `--at` names the reach",
                behind.escape_debug()
            ),
            TargetError::NoHost(host) => write!(out, "`{host}` names nothing behind its colon"),
        }
    }
}

impl std::error::Error for TargetError {}

impl Target {
    /// This machine, untreated.
    pub fn local() -> Self {
        Self { treatments: vec![], host: Host::Local }
    }

    /// Reads a place as it is typed.
    pub fn parse(text: &str) -> Result<Target, TargetError> {
        if text.is_empty() {
            return Err(TargetError::Empty);
        }
        if let Some(host) = Host::parse(text)? {
            return Ok(Target { treatments: vec![], host });
        }
        // A value's own `@` is written %40, so the first one ends the treatments; an ssh reach may
        // hold another.
        let (treatments, host) = match text.split_once('@') {
            Some((treatments, host)) => {
                let found = Host::parse(host)?;
                (treatments, found.ok_or_else(|| TargetError::BadName(host.to_owned()))?)
            }
            None => (text, Host::Local),
        };
        let treatments = treatments.split('+').map(Treatment::parse).collect::<Result<_, _>>()?;
        Ok(Target { treatments, host })
    }
}

impl Host {
    /// Reads a reach; `Ok(None)` when the text names none.
    fn parse(text: &str) -> Result<Option<Host>, TargetError> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let behind = |make: fn(String) -> Host| match rest {
            "" => Err(TargetError::NoHost(text.to_owned())),
            rest => Ok(Some(make(rest.to_owned()))),
        };
        match name {
            "local" if rest.is_empty() && !text.contains(':') => Ok(Some(Host::Local)),
            "ssh" if !rest.is_empty() && !is_host(rest) => {
                Err(TargetError::BadHost(rest.to_owned()))
            }
            "ssh" => behind(Host::Ssh),
            "vm" => behind(Host::Vm),
            "fake" => behind(Host::Fake),
            _ => Ok(None),
        }
    }
}

/// Whether a text is `[user@]HOST` that can mean nothing else to ssh, nor to the commands of its
/// configuration that it is put into: no option, no space, no word of a shell.
fn is_host(text: &str) -> bool {
    const LONGEST: usize = 320;
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:%[]+".contains(&byte);
    let is_name = |name: &str| !name.is_empty() && !name.starts_with('-') && name.bytes().all(good);
    let (user, host) =
        text.rsplit_once('@').map_or((None, text), |(user, host)| (Some(user), host));
    text.len() <= LONGEST && is_name(host) && user.is_none_or(is_name)
}

impl Treatment {
    /// Reads treatments as they are typed without a reach.
    pub fn list(text: &str) -> Result<Vec<Treatment>, TargetError> {
        match text.split_once('@') {
            // What follows would be taken for a part of the last value.
            Some((_, behind)) => Err(TargetError::UnexpectedHost(behind.to_owned())),
            None if text.is_empty() => Err(TargetError::Empty),
            None => text.split('+').map(Treatment::parse).collect(),
        }
    }

    fn parse(text: &str) -> Result<Treatment, TargetError> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if name.is_empty() || !name.bytes().all(good) {
            return Err(TargetError::BadName(text.to_owned()));
        }
        let value = value.map(|value| value.replace("%2B", "+").replace("%40", "@"));
        Ok(Treatment { name: name.to_owned(), value })
    }
}

impl fmt::Display for Host {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Local => out.write_str("local"),
            Host::Ssh(host) => write!(out, "ssh:{host}"),
            Host::Vm(kernel) => write!(out, "vm:{kernel}"),
            Host::Fake(file) => write!(out, "fake:{file}"),
        }
    }
}

impl fmt::Display for Treatment {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.name)?;
        match &self.value {
            Some(value) => write!(out, "={}", value.replace('+', "%2B").replace('@', "%40")),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, treatment) in self.treatments.iter().enumerate() {
            let plus = if index == 0 { "" } else { "+" };
            write!(out, "{plus}{treatment}")?;
        }
        match (&self.treatments[..], &self.host) {
            ([], host) => write!(out, "{host}"),
            (_, Host::Local) => Ok(()),
            (_, host) => write!(out, "@{host}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_places_of_the_design_read_back() {
        for text in [
            "local",
            "ph",
            "seccomp=docker+nice=5",
            "ptrace@ssh:db1",
            "vm:6.12,append=mitigations=off",
            "ssh:joe@db1",
            "nice=5@ssh:joe@db1",
            "cmd=a%2Bb%40c",
        ] {
            assert_eq!(Target::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn append_takes_the_rest() {
        let target = Target::parse("vm:6.12,append=a=b+c@d,e").unwrap();
        assert_eq!(target.host, Host::Vm("6.12,append=a=b+c@d,e".into()));
    }

    #[test]
    fn a_value_keeps_its_plus_and_at() {
        let target = Target::parse("cmd=a%2Bb%40c").unwrap();
        assert_eq!(target.treatments[0].value.as_deref(), Some("a+b@c"));
    }

    #[test]
    fn a_host_is_a_host_and_no_option_and_no_word_of_a_shell() {
        for good in ["db1", "joe@db1", "10.0.0.2", "fe80::1%eth0", "[::1]", "a-b_c.example.org"] {
            assert!(Target::parse(&format!("ssh:{good}")).is_ok(), "{good}");
        }
        for bad in [
            "-oProxyCommand=x",
            "joe@-x",
            "-x@db1",
            "a b",
            "a\tb",
            "a;b",
            "$(x)",
            "`x`",
            "a/b",
            "a\nb",
            "@db1",
            "joe@",
            "a@b@c",
            "\u{e9}",
            &"x".repeat(400),
        ] {
            let told = Target::parse(&format!("ssh:{bad}")).unwrap_err();
            assert!(matches!(told, TargetError::BadHost(_)), "{bad}: {told}");
        }
    }

    #[test]
    fn what_is_no_target_is_refused() {
        assert_eq!(Target::parse(""), Err(TargetError::Empty));
        assert_eq!(Target::parse("ssh:"), Err(TargetError::NoHost("ssh:".into())));
        assert_eq!(Target::parse("ph@nowhere"), Err(TargetError::BadName("nowhere".into())));
        assert_eq!(Target::parse("ph++nice=1"), Err(TargetError::BadName("".into())));
    }

    #[test]
    fn treatments_are_listed_without_a_host() {
        let listed = Treatment::list("nice=5+cmd=a%2Bb%40c+ptrace").unwrap();
        assert_eq!(listed, Target::parse("nice=5+cmd=a%2Bb%40c+ptrace").unwrap().treatments);
        assert_eq!(listed[1].value.as_deref(), Some("a+b@c"));
        assert_eq!(Treatment::list(""), Err(TargetError::Empty));
        let told = Treatment::list("nice=5@ssh:db1").unwrap_err().to_string();
        assert!(told.contains("`@ssh:db1`") && told.contains("%40"), "{told}");
        // Alone, `local` is a reach; here it is a treatment that nobody knows.
        assert_eq!(Treatment::list("local").unwrap()[0].name, "local");
    }

    proptest! {
        #[test]
        fn a_place_that_was_read_reads_back(text in "\\PC{0,60}|[a-z=+@:%240B,]{0,30}") {
            if let Ok(target) = Target::parse(&text) {
                prop_assert_eq!(Target::parse(&target.to_string()), Ok(target));
            }
        }
    }
}
