//! What a control group is limited in.

use oscost_model::treatment::Limit;

use super::{did_you_mean, quoted};

/// A share of one CPU below which the kernel takes no quota (1 ms in 100), and above which no
/// machine has so many.
const CPU_PERCENT: std::ops::RangeInclusive<u32> = 1..=1_000_000;
/// A group that cannot hold a worker kills it before it has said a word.
const MIN_MEMORY_BYTES: u64 = 1 << 20;
/// PID_MAX_LIMIT.
const MAX_PIDS: u32 = 1 << 22;

/// `own`, or a list of `cpu:N%`, `memory:N[K|M|G]` and `pids:N`, each at most once.
pub(super) fn limits(spec: &str) -> Result<Vec<Limit>, String> {
    if spec == "own" {
        return Ok(Vec::new());
    }
    let mut limits: Vec<Limit> = Vec::new();
    for part in spec.split(',') {
        let limit = limit(part)?;
        let same = |it: &&Limit| std::mem::discriminant(*it) == std::mem::discriminant(&limit);
        if limits.iter().find(same).is_some() {
            return Err(format!("`{}` limits what is limited already", quoted(part)));
        }
        limits.push(limit);
    }
    Ok(limits)
}

fn limit(part: &str) -> Result<Limit, String> {
    let (of, much) = part.split_once(':').unwrap_or((part, ""));
    let wrong = |form: &str| Err(format!("`{}` is not {form}", quoted(part)));
    match of {
        "cpu" => match much.strip_suffix('%').map(str::parse) {
            Some(Ok(percent)) if CPU_PERCENT.contains(&percent) => Ok(Limit::Cpu { percent }),
            _ => wrong("cpu:N%, of one CPU, from 1"),
        },
        "memory" => match bytes(much) {
            Some(bytes) if bytes >= MIN_MEMORY_BYTES => Ok(Limit::Memory { bytes }),
            _ => wrong("memory:N, N with K, M or G for KiB, MiB or GiB, from 1M"),
        },
        "pids" => match much.parse() {
            Ok(most) if (1..=MAX_PIDS).contains(&most) => Ok(Limit::Pids { max: most }),
            _ => wrong("pids:N, from 1"),
        },
        _ => {
            let like = did_you_mean(of, ["own", "cpu", "memory", "pids"]);
            Err(format!("`{}` is no limit{like}", quoted(part)))
        }
    }
}

fn bytes(text: &str) -> Option<u64> {
    let unit = |letter, shift: u32| text.strip_suffix(letter).map(|number| (number, shift));
    let (number, shift) = unit('K', 10).or(unit('M', 20)).or(unit('G', 30)).unwrap_or((text, 0));
    // `+64M` would be read by `parse`.
    let digits = number.bytes().all(|byte| byte.is_ascii_digit());
    number.parse::<u64>().ok().filter(|_| digits)?.checked_mul(1 << shift)
}
