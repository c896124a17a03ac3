//! The treatment `cool`: which targets are compared by ops that are timed alone.

use oscost_model::cool::{COOL, parse_walk};
use oscost_model::target::{Target, Treatment};
use oscost_model::treatment::AppliedTreatment;

use super::error::quote;

/// `0`, or the bytes of a walk.
pub(super) fn cool(value: &str) -> Result<AppliedTreatment, String> {
    match parse_walk(value) {
        Some(walk_bytes) => Ok(AppliedTreatment::Cool { walk_bytes }),
        None => Err(format!(
            "`{}` is not 0, nor 4K to 8M, 16M or 32M of memory (suffix K or M: KiB, MiB)",
            quote(value)
        )),
    }
}

/// Adds `cool=0` to the targets without a walk if another one has one: all are then compared by ops
/// that are timed alone, and differ in the caches.
pub fn time_alone_like_cooled<'a>(targets: impl IntoIterator<Item = &'a mut Target>) {
    let is_cool = |target: &Target| target.treatments.iter().any(|it| it.name == COOL);
    let (cooled, others): (Vec<&mut Target>, Vec<&mut Target>) =
        targets.into_iter().partition(|target| is_cool(target));
    if cooled.is_empty() {
        return;
    }
    for target in others {
        let value = Some("0".to_owned());
        target.treatments.push(Treatment { name: COOL.to_owned(), value });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_without_a_walk_is_timed_alone_like_the_others() {
        let alike = |texts: &[&str]| {
            let mut targets: Vec<Target> =
                texts.iter().map(|text| Target::parse(text).unwrap()).collect();
            time_alone_like_cooled(&mut targets);
            targets.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(alike(&["local", "nice=1"]), ["local", "nice=1"]);
        assert_eq!(alike(&["local", "cool=1M"]), ["cool=0", "cool=1M"]);
        assert_eq!(alike(&["cool=256K", "cool=1M"]), ["cool=256K", "cool=1M"]);
        let several = alike(&["nice=1@ssh:db1", "cool=1M+nice=1@ssh:db1"]);
        assert_eq!(several, ["nice=1+cool=0@ssh:db1", "cool=1M+nice=1@ssh:db1"]);
    }
}
