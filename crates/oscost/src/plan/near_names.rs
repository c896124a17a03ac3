//! Names that look like one that was typed.

/// So many letters may be wrong, and one more for each so many letters.
const MIN_WRONG: usize = 1;
const LETTERS_PER_WRONG: usize = 5;
/// In a short name fewer: two of five wrong letters make another word (`fixed`, `find`), and one of
/// two nearly always does (`ms`, `ns`).
const MAX_LETTERS_WITHOUT_WRONG: usize = 2;
const MAX_LETTERS_WITH_ONE_WRONG: usize = 5;
/// Parts with fewer letters are another word if one letter differs: `read`, `send`.
const MIN_LETTERS_OF_MISSPELT_PART: usize = 5;
/// How many names are offered.
const MAX_NAMES: usize = 3;
/// What is longer is no misspelt name. The distance takes time by the product of both lengths, and an
/// argument may have 128 KiB.
const MAX_TYPED_BYTES: usize = 200;

/// Up to three names that look like `name`, best first, whatever their case: first those in which few
/// letters differ, then those that share at least half of their parts with it, in any order:
/// `process/fork-exit` for `process/exit-fork-wait`. What is before a slash may be missing or wrong:
/// `syscall/times` for `timer/times`.
pub fn nearest_names<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    if name.len() > MAX_TYPED_BYTES {
        return Vec::new();
    }
    let typed = TypedName::of(name);
    let mut found: Vec<(Difference, &str)> =
        names.filter_map(|name| Some((typed.difference(name)?, name))).collect();
    found.sort_by_key(|(difference, _)| *difference);
    let mut nearest: Vec<String> = Vec::new();
    for (_, name) in found {
        if nearest.len() < MAX_NAMES && !nearest.iter().any(|it| it == name) {
            nearest.push(name.to_owned());
        }
    }
    nearest
}

/// A hint that has the nearest names.
pub fn nearest_hint(nearest: &[String]) -> String {
    let verb = if nearest.len() == 1 { "is" } else { "are" };
    format!("the nearest {verb} `{}`", nearest.join("`, `"))
}

/// How a name differs from the typed one; the smallest is the nearest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Difference {
    /// In so many letters.
    Letters(usize),
    /// In so many parts; the letters decide between names that differ in as many.
    Parts { parts: usize, letters: usize },
}

/// What was typed.
struct TypedName {
    lower_case: String,
    max_letters: usize,
}

impl TypedName {
    fn of(name: &str) -> Self {
        let lower_case = name.to_lowercase();
        let max_letters = match last_part(&lower_case).chars().count() {
            short if short <= MAX_LETTERS_WITHOUT_WRONG => 0,
            short if short <= MAX_LETTERS_WITH_ONE_WRONG => MIN_WRONG,
            letters => MIN_WRONG + letters / LETTERS_PER_WRONG,
        };
        Self { max_letters, lower_case }
    }

    /// How a name differs; `None` if it does not look like the typed one.
    fn difference(&self, name: &str) -> Option<Difference> {
        let (name, typed) = (name.to_lowercase(), self.lower_case.as_str());
        let (own_part, typed_part) = (last_part(&name), last_part(typed));
        let of_names = strsim::osa_distance(&name, typed);
        let letters = of_names.min(strsim::osa_distance(own_part, typed_part));
        if letters <= self.max_letters {
            return Some(Difference::Letters(letters));
        }
        let parts = different_parts(own_part, typed_part)?;
        Some(Difference::Parts { parts, letters: of_names })
    }
}

fn last_part(name: &str) -> &str {
    name.split_once('/').map_or(name, |(_, part)| part)
}

/// The parts of a name: what is between hyphens, underscores, dots, slashes or blanks.
fn parts(name: &str) -> Vec<&str> {
    let is_separator = |letter: char| !letter.is_alphanumeric();
    name.split(is_separator).filter(|part| !part.is_empty()).collect()
}

/// The number of parts that only one of two names has; `None` if they share fewer than half of all
/// their parts.
fn different_parts(one: &str, other: &str) -> Option<usize> {
    let (own, mut others) = (parts(one), parts(other));
    let all = own.len() + others.len();
    let mut shared = 0;
    for part in own {
        if let Some(at) = others.iter().position(|other| is_same_part(part, other)) {
            others.swap_remove(at);
            shared += 1;
        }
    }
    let different = all - 2 * shared;
    (shared > 0 && different <= shared).then_some(different)
}

fn is_same_part(one: &str, other: &str) -> bool {
    let is_long = |part: &str| part.len() >= MIN_LETTERS_OF_MISSPELT_PART;
    one == other || (is_long(one) && is_long(other) && strsim::osa_distance(one, other) <= 1)
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

    #[test]
    fn a_short_name_has_few_wrong_letters() {
        let names = ["S", "ns", "file", "find", "timer/times", "fixed"];
        let nearest = |name: &str| nearest_names(name, names.into_iter());
        assert_eq!(nearest("ms"), [""; 0]);
        assert_eq!(nearest("NS"), ["ns"], "whatever its case");
        assert_eq!(nearest("fixde"), ["fixed"]);
        assert_eq!(nearest("fiend"), ["find"]);
        assert_eq!(nearest("fimes"), ["timer/times"]);
    }

    #[test]
    fn a_hint_of_one_name_is_in_the_singular() {
        assert_eq!(nearest_hint(&["a/b".to_owned()]), "the nearest is `a/b`");
        assert_eq!(nearest_hint(&["a/b".to_owned(), "c".to_owned()]), "the nearest are `a/b`, `c`");
    }

    #[test]
    fn parts_may_be_swapped_missing_or_added() {
        let names = [
            "process/fork-exit",
            "process/vfork-exec",
            "process/fork",
            "file/open-close",
            "NOT_CONVERGED",
        ];
        let nearest = |name: &str| nearest_names(name, names.into_iter());
        for typed in ["process/fork-exit-wait", "process/exit-fork", "fork_exit_wait", "exit-fork"]
        {
            assert_eq!(nearest(typed).first().map(String::as_str), Some(names[0]), "{typed}");
        }
        assert_eq!(
            nearest("process/fork-exit-wait"),
            [names[0]],
            "not what shares one of three parts"
        );
        assert_eq!(nearest("close-open"), ["file/open-close"]);
        assert_eq!(nearest("syscall/closed-open"), ["file/open-close"], "a misspelt part");
        assert_eq!(nearest("converged"), ["NOT_CONVERGED"]);
        // Few letters differ before few parts.
        assert_eq!(nearest("process/vfork-exit"), [names[0], names[1]]);
        assert_eq!(nearest("process/read-write"), [""; 0]);
    }

    #[test]
    fn parts_are_shared_once_and_short_ones_as_they_are() {
        assert_eq!(different_parts("fork-exit", "fork-exit-wait"), Some(1));
        assert_eq!(different_parts("fork-exit", "exit-fork"), Some(0));
        assert_eq!(different_parts("fork", "fork-fork-fork"), None, "one of four is shared");
        assert_eq!(different_parts("read", "send"), None);
        assert_eq!(different_parts("read", "reads"), None, "another word");
        assert_eq!(different_parts("---", ""), None, "no parts");
    }

    #[test]
    fn what_has_many_parts_is_compared_with_few() {
        let typed = "a-".repeat(MAX_TYPED_BYTES / 2);
        let names = ["a-a-a", "syscall/getppid"];
        assert_eq!(nearest_names(&typed, names.into_iter()), [""; 0]);
    }
}
