//! The text after `vm:`: a kernel and the virtual machine to boot it on.

use std::fmt;

/// How a virtual machine is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accel {
    /// An emulator, which counts instructions.
    Tcg,
    /// The processor; time is measured.
    Kvm,
}

impl Accel {
    /// The accelerator's name in QEMU.
    pub fn text(self) -> &'static str {
        match self {
            Accel::Tcg => "tcg",
            Accel::Kvm => "kvm",
        }
    }
}

/// The specification of a virtual machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VmSpec {
    /// The kernel: a file, a package's file, or a version.
    pub kernel: String,
    /// Its memory.
    pub mem_mib: u32,
    /// Its CPU model, as QEMU names it.
    pub cpu: String,
    /// Its accelerator.
    pub accel: Accel,
    /// Arguments appended to the kernel's command line.
    pub append: Option<String>,
}

/// The default memory: enough for a kernel, a worker and the memory that cases touch.
const DEFAULT_MEM_MIB: u32 = 512;
/// With less memory, even a small kernel has none left for the worker.
const MIN_MEM_MIB: u32 = 128;
const MAX_MEM_MIB: u32 = 64 << 10;
/// A kernel accepts 2,047 bytes, of which oscost uses some.
const MAX_APPEND_BYTES: usize = 1_024;

/// Why the text after `vm:` is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VmSpecError(String);

impl fmt::Display for VmSpecError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "{}\n  hint: `vm:KERNEL[,mem=MIB][,cpu=MODEL][,accel=tcg|kvm][,append=WORDS]`; append \
             takes the rest of the text",
            self.0
        )
    }
}

impl VmSpec {
    /// Reads `KERNEL[,mem=...][,cpu=...][,accel=...][,append=...]`.
    pub fn parse(text: &str) -> Result<VmSpec, VmSpecError> {
        let bad =
            |why: String| VmSpecError(format!("cannot read `vm:{}`: {why}", text.escape_debug()));
        let (head, append) = match text.split_once(",append=") {
            Some((head, append)) => (head, Some(append)),
            None => (text, None),
        };
        let mut parts = head.split(',');
        let kernel = parts.next().filter(|kernel| !kernel.is_empty() && !has_control(kernel));
        let kernel = kernel.ok_or_else(|| bad("it does not name a kernel".to_owned()))?.to_owned();
        let mut mem_mib = DEFAULT_MEM_MIB;
        let mut cpu = None;
        let mut accel = Accel::Tcg;
        for part in parts {
            match part.split_once('=') {
                Some(("mem", size)) => {
                    mem_mib = mib(size).ok_or_else(|| {
                        bad(format!("`mem={}` is not a size", size.escape_debug()))
                    })?;
                    if !(MIN_MEM_MIB..=MAX_MEM_MIB).contains(&mem_mib) {
                        let why = format!("mem={mem_mib}: from {MIN_MEM_MIB} to {MAX_MEM_MIB} MiB");
                        return Err(bad(why));
                    }
                }
                Some(("cpu", model)) if is_model(model) => cpu = Some(model.to_owned()),
                Some(("accel", "tcg")) => accel = Accel::Tcg,
                Some(("accel", "kvm")) => accel = Accel::Kvm,
                _ => return Err(bad(format!("`{}` is unknown", part.escape_debug()))),
            }
        }
        if let Some(append) = append {
            let printable = append.bytes().all(|byte| (b' '..=b'~').contains(&byte));
            if !printable || append.len() > MAX_APPEND_BYTES {
                let why = format!("`append` takes up to {MAX_APPEND_BYTES} printable characters");
                return Err(bad(why));
            }
        }
        // The features of an emulated CPU depend only on the emulator.
        let default_cpu = if accel == Accel::Tcg { "max" } else { "host" };
        let cpu = cpu.unwrap_or_else(|| default_cpu.to_owned());
        let append = append.filter(|words| !words.is_empty()).map(str::to_owned);
        Ok(VmSpec { kernel, mem_mib, cpu, accel, append })
    }
}

fn has_control(text: &str) -> bool {
    text.chars().any(char::is_control)
}

/// Parses a size in MiB, or with a suffix.
fn mib(text: &str) -> Option<u32> {
    let (digits, factor) = match text.strip_suffix(['G', 'g']) {
        Some(digits) => (digits, 1_024),
        None => (text.strip_suffix(['M', 'm']).unwrap_or(text), 1),
    };
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse::<u32>().ok().filter(|_| is_number)?.checked_mul(factor)
}

/// Whether QEMU can parse a text only as a CPU model.
fn is_model(text: &str) -> bool {
    const MAX_BYTES: usize = 64;
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=MAX_BYTES).contains(&text.len()) && text.bytes().all(is_allowed) && !text.starts_with('-')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_specification_is_parsed_and_append_takes_the_rest() {
        let plain = VmSpec::parse("6.12").unwrap();
        assert_eq!((plain.kernel.as_str(), plain.mem_mib, plain.accel), ("6.12", 512, Accel::Tcg));
        assert_eq!((plain.cpu.as_str(), plain.append), ("max", None));
        let full =
            VmSpec::parse("./bzImage,mem=1G,cpu=Skylake-Client-v1,append=a=b,mem=2 c@d").unwrap();
        assert_eq!((full.kernel.as_str(), full.mem_mib), ("./bzImage", 1_024));
        assert_eq!(full.append.as_deref(), Some("a=b,mem=2 c@d"));
        assert_eq!(full.cpu, "Skylake-Client-v1");
        let fast = VmSpec::parse("6.12,accel=kvm,mem=256M,append=").unwrap();
        assert_eq!((fast.accel, fast.cpu.as_str(), fast.mem_mib), (Accel::Kvm, "host", 256));
        assert_eq!(fast.append, None);
    }

    #[test]
    fn an_invalid_specification_is_refused_with_the_syntax() {
        for (text, why) in [
            ("", "does not name a kernel"),
            (",mem=512", "does not name a kernel"),
            ("6.12,mem=1", "from 128 to 65536 MiB"),
            ("6.12,mem=lots", "`mem=lots` is not a size"),
            ("6.12,mem=+512", "is not a size"),
            ("6.12,mem=9999999999G", "is not a size"),
            ("6.12,smp=2", "`smp=2` is unknown"),
            ("6.12,accel=hvf", "`accel=hvf` is unknown"),
            ("6.12,cpu=max,kernel=x", "`kernel=x` is unknown"),
            ("6.12,cpu=-x", "is unknown"),
            ("6.12,append=a\nb", "printable"),
        ] {
            let error = VmSpec::parse(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
            assert!(error.contains("vm:KERNEL[,mem=MIB]"), "{text}: {error}");
        }
        assert!(VmSpec::parse(&format!("6.12,append={}", "x".repeat(2_000))).is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,60}|[a-z0-9=,.M]{0,40}") {
            let _ = VmSpec::parse(&text);
        }
    }
}
