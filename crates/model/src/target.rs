//! Targets: treatments on a host, and their text form.
//!
//! `TARGET = [TREATMENT[+TREATMENT]...@]HOST`, or treatments alone (host `local`), or a host alone.
//! In a treatment's value a literal `+` or `@` is written `%2B`, `%40`; `append=` of a `vm:` host
//! takes the rest of the text.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The forms of hosts, for hints.
pub const HOST_FORMS: &str =
    "`local`, `ssh:[user@]HOST`, `vm:KERNEL`, `slurm:[OPTIONS]` and `fake:FILE`";

/// The machine that runs the workers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Host {
    /// This machine.
    Local,
    /// Another machine, by the system's ssh: `[user@]HOST`.
    Ssh(String),
    /// A kernel booted under an emulator: the text after `vm:`.
    Vm(String),
    /// A node that Slurm allocates: the text after `slurm:`, which may be empty.
    Slurm(String),
    /// Canned results from a file, for tests of everything after the measurement.
    Fake(String),
}

/// A change to the measured process or its system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Treatment {
    /// Its name.
    pub name: String,
    /// The text after `=`, with `%2B` and `%40` decoded.
    pub value: Option<String>,
}

/// Treatments on a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// The treatments, in order.
    pub treatments: Vec<Treatment>,
    /// The host.
    pub host: Host,
}

/// Why a text is not a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetError {
    /// The text is empty.
    Empty,
    /// A name contains other characters than lower-case letters, digits and dashes.
    BadName(String),
    /// A treatment without a name: before an `@`, or beside a `+`.
    EmptyTreatment(String),
    /// Nothing after the `@`.
    NothingAfterAt(String),
    /// A kind of host without the name of one.
    NoHost(String),
    /// The text after `ssh:` is not a host name that may be passed to ssh.
    BadHost(String),
    /// A host where only treatments are allowed.
    UnexpectedHost(String),
}

impl fmt::Display for TargetError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TargetError::Empty => out.write_str(
                "the target is empty\n  hint: `local` is this machine; `oscost treat list` lists \
                 treatments",
            ),
            TargetError::BadName(name) => write!(
                out,
                "`{name}` is neither a host nor a treatment\n  hint: hosts are {HOST_FORMS}; \
                 `oscost treat list` lists the treatments"
            ),
            TargetError::EmptyTreatment(target) => write!(
                out,
                "`{}` has a treatment without a name\n  hint: `TREATMENT@HOST` or \
                 `TREATMENT+TREATMENT@HOST`, a host alone without `@`; `oscost treat list` lists \
                 the treatments",
                target.escape_debug()
            ),
            TargetError::NothingAfterAt(target) => write!(
                out,
                "`{}` names no host after its `@`\n  hint: leave out `@` for this machine; hosts are \
                 {HOST_FORMS}",
                target.escape_debug()
            ),
            TargetError::BadHost(host) => write!(
                out,
                "`{}` is not a host: expected `[user@]HOST` of letters, digits and `.-_:%[]+`\n  \
                 hint: set ports, keys and jump hosts in ~/.ssh/config",
                host.escape_debug()
            ),
            TargetError::UnexpectedHost(host) => write!(
                out,
                "`@{}`: no host is allowed here, only treatments\n  hint: write a literal `@` in a \
                 value as `%40`; name the host by `--at`",
                host.escape_debug()
            ),
            TargetError::NoHost(host) => {
                write!(out, "`{host}` names no host\n  hint: hosts are {HOST_FORMS}")
            }
        }
    }
}

impl std::error::Error for TargetError {}

impl Target {
    /// This machine without treatments.
    pub fn local() -> Self {
        Self { treatments: vec![], host: Host::Local }
    }

    /// Parses a target.
    pub fn parse(text: &str) -> Result<Target, TargetError> {
        if text.is_empty() {
            return Err(TargetError::Empty);
        }
        if let Some(host) = Host::parse(text)? {
            return Ok(Target { treatments: vec![], host });
        }
        // An `@` in a value is written %40, so the first `@` ends the treatments; an ssh host may
        // contain another.
        let (treatments, host) = match text.split_once('@') {
            Some((_, "")) => return Err(TargetError::NothingAfterAt(text.to_owned())),
            Some((treatments, host)) => {
                let found = Host::parse(host)?;
                (treatments, found.ok_or_else(|| TargetError::BadName(host.to_owned()))?)
            }
            None => (text, Host::Local),
        };
        let treatments = Treatment::all(treatments)
            .unwrap_or_else(|| Err(TargetError::EmptyTreatment(text.to_owned())))?;
        Ok(Target { treatments, host })
    }
}

impl Host {
    /// Parses a host; `Ok(None)` if the text is not one.
    fn parse(text: &str) -> Result<Option<Host>, TargetError> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let with_rest = |make: fn(String) -> Host| match rest {
            "" => Err(TargetError::NoHost(text.to_owned())),
            rest => Ok(Some(make(rest.to_owned()))),
        };
        match name {
            "local" if rest.is_empty() && !text.contains(':') => Ok(Some(Host::Local)),
            "ssh" if !rest.is_empty() && !is_host(rest) => {
                Err(TargetError::BadHost(rest.to_owned()))
            }
            "ssh" => with_rest(Host::Ssh),
            "vm" => with_rest(Host::Vm),
            // Without options it is any node.
            "slurm" if text.contains(':') => Ok(Some(Host::Slurm(rest.to_owned()))),
            "fake" => with_rest(Host::Fake),
            _ => Ok(None),
        }
    }
}

/// Whether a text is a safe `[user@]HOST`: neither ssh nor a command in its configuration can take
/// it for an option, several words or shell syntax.
fn is_host(text: &str) -> bool {
    const MAX_BYTES: usize = 320;
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:%[]+".contains(&byte);
    let is_name = |name: &str| !name.is_empty() && !name.starts_with('-') && name.bytes().all(good);
    let (user, host) =
        text.rsplit_once('@').map_or((None, text), |(user, host)| (Some(user), host));
    text.len() <= MAX_BYTES && is_name(host) && user.is_none_or(is_name)
}

impl Treatment {
    /// Parses treatments without a host.
    pub fn list(text: &str) -> Result<Vec<Treatment>, TargetError> {
        match text.split_once('@') {
            // It would become a part of the last value.
            Some((_, host)) => Err(TargetError::UnexpectedHost(host.to_owned())),
            None if text.is_empty() => Err(TargetError::Empty),
            None => Treatment::all(text)
                .unwrap_or_else(|| Err(TargetError::EmptyTreatment(text.to_owned()))),
        }
    }

    /// The treatments between the `+`; `None` if one is empty.
    fn all(text: &str) -> Option<Result<Vec<Treatment>, TargetError>> {
        let parts = text.split('+');
        let has_empty = parts.clone().any(str::is_empty);
        (!has_empty).then(|| parts.map(Treatment::parse).collect())
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
            Host::Slurm(options) => write!(out, "slurm:{options}"),
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
    fn targets_survive_parsing_and_formatting() {
        for text in [
            "local",
            "ph",
            "seccomp=docker+nice=5",
            "ptrace@ssh:db1",
            "vm:6.12,append=mitigations=off",
            "ssh:joe@db1",
            "nice=5@ssh:joe@db1",
            "slurm:",
            "nice=5@slurm:partition=debug,nodes=n[1,3-4],exclusive",
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
    fn an_ssh_host_contains_no_option_and_no_shell_syntax() {
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
            let error = Target::parse(&format!("ssh:{bad}")).unwrap_err();
            assert!(matches!(error, TargetError::BadHost(_)), "{bad}: {error}");
        }
    }

    #[test]
    fn malformed_targets_are_rejected() {
        assert_eq!(Target::parse(""), Err(TargetError::Empty));
        assert_eq!(Target::parse("ssh:"), Err(TargetError::NoHost("ssh:".into())));
        assert_eq!(Target::parse("ph@slurm"), Err(TargetError::BadName("slurm".into())));
        assert_eq!(Target::parse("ph@nowhere"), Err(TargetError::BadName("nowhere".into())));
        let empty = |text: &str| Err(TargetError::EmptyTreatment(text.into()));
        for text in ["ph++nice=1", "@ssh:x", "nice=5+", "+@local"] {
            assert_eq!(Target::parse(text), empty(text));
        }
        for text in ["nice=5@", "@"] {
            assert_eq!(Target::parse(text), Err(TargetError::NothingAfterAt(text.into())));
        }
        let told = Target::parse("nice=5@").unwrap_err().to_string();
        assert!(told.starts_with("`nice=5@` names no host after its `@`\n  hint: "), "{told}");
    }

    #[test]
    fn an_error_about_a_host_names_every_form_of_one() {
        for text in ["ssh:", "vm", "vm:", "fake:", "nice=1@slurm", "LOCAL"] {
            let error = Target::parse(text).unwrap_err().to_string();
            assert!(error.ends_with(HOST_FORMS) || error.contains(&format!("{HOST_FORMS};")));
        }
        let forms = HOST_FORMS.split('`').skip(1).step_by(2);
        let plain = forms.map(|form| form.replace("[user@]", "").replace("[OPTIONS]", ""));
        let kinds: Vec<Host> = plain.map(|text| Target::parse(&text).unwrap().host).collect();
        assert!(matches!(
            kinds[..],
            [Host::Local, Host::Ssh(_), Host::Vm(_), Host::Slurm(_), Host::Fake(_)]
        ));
    }

    #[test]
    fn treatments_are_parsed_without_a_host() {
        let listed = Treatment::list("nice=5+cmd=a%2Bb%40c+ptrace").unwrap();
        assert_eq!(listed, Target::parse("nice=5+cmd=a%2Bb%40c+ptrace").unwrap().treatments);
        assert_eq!(listed[1].value.as_deref(), Some("a+b@c"));
        assert_eq!(Treatment::list(""), Err(TargetError::Empty));
        assert_eq!(Treatment::list("a+"), Err(TargetError::EmptyTreatment("a+".into())));
        let error = Treatment::list("nice=5@ssh:db1").unwrap_err().to_string();
        assert!(error.contains("`@ssh:db1`") && error.contains("%40"), "{error}");
        // `local` alone is a host; in a list of treatments it is an unknown treatment.
        assert_eq!(Treatment::list("local").unwrap()[0].name, "local");
    }

    proptest! {
        #[test]
        fn every_parsed_target_survives_formatting(
            text in "\\PC{0,60}|[a-z=+@:%240B,]{0,30}|slurm:[a-z=+@:,]{0,9}",
        ) {
            if let Ok(target) = Target::parse(&text) {
                prop_assert_eq!(Target::parse(&target.to_string()), Ok(target));
            }
        }
    }
}
