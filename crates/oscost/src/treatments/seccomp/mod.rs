//! Seccomp profiles: parsed from OCI JSON or built in, and compiled to classic BPF.

pub mod compile;
pub mod docker;
mod oci;
pub mod profile;

use std::path::Path;

use oscost_model::call_names::Arch;

use super::error::{TreatmentError, shorten};
use crate::files::input_file;
use compile::{CompiledProfile, MAX_INSTRUCTIONS, compile};
pub use oci::ProfileError;
use profile::Profile;

/// The largest profile file: Docker's default profile has 20 KB.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// A filter, and a note about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Filter {
    /// Its program, in the form of [`oscost_model::treatment::AppliedTreatment::Seccomp`].
    pub(super) program: Vec<u64>,
    /// Names in its profile that are unknown on this machine.
    pub(super) note: Option<String>,
}

/// Returns SECCOMP_RET_ALLOW at once: the shortest possible filter.
const ALLOW_ALL: u64 = (0x06 << 48) | 0x7fff_0000;

/// Compiles `allow`, `docker`, or the profile in a file.
pub(super) fn read(value: &str, arch: Arch) -> Result<Filter, TreatmentError> {
    let (profile, file) = match value {
        "allow" => return Ok(Filter { program: vec![ALLOW_ALL], note: None }),
        "docker" => (docker::profile(arch), None),
        file => {
            let text = read_file(file).map_err(|why| unusable_profile(file, why))?;
            let profile = Profile::parse(&text, arch).map_err(|error| {
                unusable_profile(file, format!("line {}: {}", error.line, error.why))
            })?;
            (profile, Some(file))
        }
    };
    let CompiledProfile { program, unknown } = compile(&profile, arch).map_err(|_| {
        let why = format!(
            "its program is longer than the kernel's limit of {MAX_INSTRUCTIONS} instructions"
        );
        unusable_profile(value, why)
    })?;
    let note = file.filter(|_| unknown > 0).map(|file| {
        let names = if unknown == 1 { "name is" } else { "names are" };
        format!(
            "{}: {unknown} {names} not a system call of this architecture known to oscost, and left \
             out",
            path(file)
        )
    });
    Ok(Filter { program, note })
}

fn unusable_profile(file: &str, why: String) -> TreatmentError {
    let hint = match Path::new(file).exists() {
        true => "a profile is JSON as in the OCI runtime specification (`linux.seccomp`)",
        false => "`seccomp=allow`, `seccomp=docker`, or an OCI JSON file",
    };
    let act = format!("read the seccomp profile {}", path(file));
    TreatmentError { act, why, hint: hint.to_owned() }
}

/// A path for a message. The limit is high, since paths differ at their end.
fn path(file: &str) -> String {
    const MAX_CHARS: usize = 500;
    shorten(file, MAX_CHARS)
}

fn read_file(path: &str) -> Result<Vec<u8>, String> {
    let read = input_file::read(Path::new(path), MAX_FILE_BYTES);
    let text = read.map_err(|error| error.to_string())?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(format!("it has more than {MAX_FILE_BYTES} bytes"));
    }
    Ok(text)
}
