//! The limits of the treatment `cgroup`.

use oscost_model::treatment::Limit;

use super::error::quote;
use super::suggestion::did_you_mean;

/// The percentages of one CPU: the kernel's shortest quota is 1 ms in 100 ms, and no machine has
/// 10,000 CPUs.
const CPU_PERCENT: std::ops::RangeInclusive<u32> = 1..=1_000_000;
/// With less memory a worker is killed before its first event.
const MIN_MEMORY_BYTES: u64 = 1 << 20;
/// PID_MAX_LIMIT.
const MAX_PIDS: u32 = 1 << 22;

/// Parses `own`, or a list of `cpu:N%`, `memory:N[K|M|G]` and `pids:N`, each at most once.
pub(super) fn limits(text: &str) -> Result<Vec<Limit>, String> {
    if text == "own" {
        return Ok(Vec::new());
    }
    let mut limits: Vec<Limit> = Vec::new();
    for part in text.split(',') {
        let limit = limit(part)?;
        let same_kind = |it: &Limit| std::mem::discriminant(it) == std::mem::discriminant(&limit);
        if limits.iter().any(same_kind) {
            return Err(format!("`{}` repeats a limit", quote(part)));
        }
        limits.push(limit);
    }
    Ok(limits)
}

fn limit(part: &str) -> Result<Limit, String> {
    let (resource, amount) = part.split_once(':').unwrap_or((part, ""));
    let expected = |form: &str| Err(format!("`{}` is not {form}", quote(part)));
    match resource {
        "cpu" => match amount.strip_suffix('%').map(str::parse) {
            Some(Ok(percent)) if CPU_PERCENT.contains(&percent) => Ok(Limit::Cpu { percent }),
            _ => expected("cpu:N%, a percentage of one CPU, at least 1"),
        },
        "memory" => match bytes(amount) {
            Some(bytes) if bytes >= MIN_MEMORY_BYTES => Ok(Limit::Memory { bytes }),
            _ => {
                expected("memory:N, where N has the suffix K, M or G (KiB, MiB, GiB), at least 1M")
            }
        },
        "pids" => match amount.parse() {
            Ok(max) if (1..=MAX_PIDS).contains(&max) => Ok(Limit::Pids { max }),
            _ => expected("pids:N, at least 1"),
        },
        _ => {
            let suggestion = did_you_mean(resource, ["own", "cpu", "memory", "pids"]);
            Err(format!("`{}` is not a limit{suggestion}", quote(part)))
        }
    }
}

fn bytes(text: &str) -> Option<u64> {
    let suffix = |letter, shift: u32| text.strip_suffix(letter).map(|number| (number, shift));
    let (number, shift) =
        suffix('K', 10).or(suffix('M', 20)).or(suffix('G', 30)).unwrap_or((text, 0));
    // `parse` accepts a leading `+`.
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
    number.parse::<u64>().ok().filter(|_| is_number)?.checked_mul(1 << shift)
}
