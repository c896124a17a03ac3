//! Names that look like one that was typed.

/// So many letters may be wrong, and one more for each so many letters.
const MIN_WRONG: usize = 1;
const LETTERS_PER_WRONG: usize = 5;
/// How many names are offered.
const MAX_NAMES: usize = 3;
/// What is longer is no misspelt name. The distance takes time by the product of both lengths, and an
/// argument may have 128 KiB.
const MAX_TYPED_BYTES: usize = 200;

/// Up to three names that look like `name`, best first, whatever their case. What is before a slash
/// may be missing or wrong: `syscall/times` for `timer/times`.
pub fn nearest_names<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    if name.len() > MAX_TYPED_BYTES {
        return Vec::new();
    }
    let typed = name.to_lowercase();
    let max_distance = MIN_WRONG + last_part(&typed).chars().count() / LETTERS_PER_WRONG;
    let distance = |name: &str| {
        let name = name.to_lowercase();
        let of_parts = strsim::osa_distance(last_part(&name), last_part(&typed));
        strsim::osa_distance(&name, &typed).min(of_parts)
    };
    let mut found: Vec<(usize, &str)> = names
        .map(|name| (distance(name), name))
        .filter(|(distance, _)| *distance <= max_distance)
        .collect();
    found.sort_by_key(|(distance, _)| *distance);
    let mut nearest: Vec<String> = Vec::new();
    for (_, name) in found {
        if nearest.len() < MAX_NAMES && !nearest.iter().any(|it| it == name) {
            nearest.push(name.to_owned());
        }
    }
    nearest
}

fn last_part(name: &str) -> &str {
    name.split_once('/').map_or(name, |(_, part)| part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_offered_best_first_and_once() {
        let names = ["NOT_CONVERGED", "NOT_EXACT", "timer/times", "spread", "spread"];
        let nearest = |name: &str| nearest_names(name, names.into_iter());
        assert_eq!(nearest("not_convergd"), ["NOT_CONVERGED"]);
        assert_eq!(nearest("syscall/times"), ["timer/times"]);
        assert_eq!(nearest("spraed"), ["spread"]);
        assert_eq!(nearest("zzz"), [""; 0]);
        let long = "x".repeat(MAX_TYPED_BYTES);
        assert_eq!(nearest_names(&format!("{long}y"), [long.as_str()].into_iter()), [""; 0]);
    }
}
