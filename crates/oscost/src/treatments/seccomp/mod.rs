//! Seccomp profiles: read from OCI JSON or made here, and compiled to classic BPF.

pub mod compile;
pub mod docker;
mod oci;
pub mod profile;

use std::fs::File;
use std::io::Read;

use oscost_model::call_names::Arch;

use super::{TreatmentError, shortened};
use compile::{Compiled, MAX_INSTRUCTIONS, compile};
pub use oci::Malformed;
use profile::Profile;

/// The largest file that is read: Docker's own profile has 20 KB.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// A filter, and what there is to say about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Filter {
    /// Its program, as [`oscost_model::treatment::AppliedTreatment::Seccomp`] packs it.
    pub(super) program: Vec<u64>,
    /// What its profile names that this machine does not have.
    pub(super) note: Option<String>,
}

/// SECCOMP_RET_ALLOW, returned at once: the shortest filter that there is.
const ALLOW_ALL: u64 = (0x06 << 48) | 0x7fff_0000;

/// Reads `allow`, `docker`, or the profile in a file.
pub(super) fn read(value: &str, arch: Arch) -> Result<Filter, TreatmentError> {
    let (profile, file) = match value {
        "allow" => return Ok(Filter { program: vec![ALLOW_ALL], note: None }),
        "docker" => (docker::profile(arch), None),
        file => {
            let text = read_file(file).map_err(|why| unusable_profile(file, why))?;
            let profile = Profile::read(&text, arch).map_err(|error| {
                unusable_profile(file, format!("line {}: {}", error.line, error.why))
            })?;
            (profile, Some(file))
        }
    };
    let Compiled { program, unknown } = compile(&profile, arch).map_err(|_| {
        let why = format!("it comes to more than the kernel's {MAX_INSTRUCTIONS} instructions");
        unusable_profile(value, why)
    })?;
    let note = file.filter(|_| unknown > 0).map(|file| {
        let calls = if unknown == 1 { "name" } else { "names" };
        format!(
            "{}: {unknown} {calls} of no call of this processor, or of a newer kernel's, left out",
            path(file)
        )
    });
    Ok(Filter { program, note })
}

fn unusable_profile(file: &str, why: String) -> TreatmentError {
    let hint = match std::path::Path::new(file).exists() {
        true => String::new(),
        false => "`seccomp=allow`, `seccomp=docker`, or a file in OCI JSON".to_owned(),
    };
    TreatmentError { act: format!("read the seccomp profile {}", path(file)), why, hint }
}

/// A path, for a message: most of them whole, since the end is what tells them apart.
fn path(file: &str) -> String {
    shortened(file, 500)
}

/// What stands in a file. One that is no plain file might never end, or never begin.
fn read_file(path: &str) -> Result<Vec<u8>, String> {
    let said = |error: std::io::Error| error.to_string();
    let about = std::fs::metadata(path).map_err(said)?;
    if !about.is_file() {
        return Err("it is no plain file".to_owned());
    }
    let mut text = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut text))
        .map_err(said)?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(format!("it has more than {MAX_FILE_BYTES} bytes"));
    }
    Ok(text)
}
