//! The standard input of commands: a file that each trial reads again.

use std::io::{ErrorKind, IsTerminal};
use std::path::Path;

use crate::app::error::UsageError;
use crate::files::input_copy::InputCopy;
use crate::files::input_file;

/// What is read from a pipe is kept in memory; a larger input is that of a file.
const MAX_PIPED_MIB: u64 = 64;

fn input_error(path: &str, why: &str) -> UsageError {
    let what = format!("cannot read the standard input {path}: {why}");
    match what.contains("\n  hint: ") {
        true => UsageError(what),
        false => UsageError::with_hint(&what, "name a file that exists and that you may read"),
    }
}

/// What a descriptor that the user handed over gives (`-`, `/dev/stdin`, `/dev/fd/63` of
/// `<(command)` in a shell): a trial could read it once, and other processes not at all. `None` for
/// other files.
pub(super) fn piped_input(path: &str) -> Result<Option<InputCopy>, UsageError> {
    let source = Path::new(if path == "-" { input_file::STDIN } else { path });
    if !input_file::is_descriptor(source) {
        return Ok(None);
    }
    let file = input_file::open(source).map_err(|why| input_error(path, &why.to_string()))?;
    if file.is_terminal() {
        let why = "it is a terminal\n  hint: name a file, or connect a pipe (`... | oscost ...`)";
        return Err(input_error(path, why));
    }
    match InputCopy::of(file, MAX_PIPED_MIB << 20) {
        Ok(copy) => Ok(Some(copy)),
        Err(why) if why.kind() == ErrorKind::FileTooLarge => {
            let why = format!(
                "it gives more than {MAX_PIPED_MIB} MiB\n  hint: copy what it gives to a file, and \
                 name that"
            );
            Err(input_error(path, &why))
        }
        Err(why) => Err(input_error(path, &why.to_string())),
    }
}

/// The absolute path of a file that can be read in each trial. A path with a parameter is that of
/// several files, which the trials open.
pub(super) fn input_path(path: &str) -> anyhow::Result<String> {
    let error = |why: String| input_error(path, &why);
    if !path.contains('{') {
        let facts = std::fs::metadata(path).map_err(|why| error(why.to_string()))?;
        if !facts.is_file() {
            let why = "it is not a regular file, and cannot be read again in each trial\n  hint: \
                       copy what it gives to a file, and name that; a pipe is read by `--stdin - <PIPE`";
            return Err(error(why.to_owned()).into());
        }
        input_file::open(Path::new(path)).map_err(|why| error(why.to_string()))?;
    }
    let absolute = std::path::absolute(path).map_err(|why| error(why.to_string()))?;
    let text = absolute.to_str().ok_or_else(|| error("its name is not UTF-8".to_owned()))?;
    Ok(text.to_owned())
}
