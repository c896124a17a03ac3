//! Slurm's lists of nodes: `n1,n[3-5,8],rack[1-2]n[1-9]`.

/// A node, or nodes that differ by numbers, has so many pairs of brackets at most.
const MAX_BRACKETS: usize = 8;

/// A number of a node that is named has so many digits at most.
const MAX_DIGITS: usize = 20;

/// The parts of a text between the commas that are not in brackets; `None` if a bracket is not
/// closed, is not open, or is in another one.
pub(super) fn split_at_commas(text: &str) -> Option<Vec<&str>> {
    let (mut parts, mut start, mut is_inside) = (Vec::new(), 0, false);
    for (at, letter) in text.char_indices() {
        match letter {
            '[' if is_inside => return None,
            '[' => is_inside = true,
            ']' if !is_inside => return None,
            ']' => is_inside = false,
            ',' if !is_inside => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    (!is_inside).then_some(parts)
}

/// How many nodes a list names; `None` if it is not one.
pub(super) fn count(text: &str) -> Option<u64> {
    split_at_commas(text)?
        .into_iter()
        .try_fold(0_u64, |sum, part| sum.checked_add(count_of_part(part)?))
}

/// The nodes that a list names, in order, as `scontrol show hostnames` has them; `None` if it is no
/// list, or names more than `max` nodes.
pub(super) fn names(text: &str, max: u64) -> Option<Vec<String>> {
    count(text).filter(|count| *count <= max)?;
    let parts = split_at_commas(text)?;
    parts.into_iter().map(names_of_part).collect::<Option<Vec<_>>>().map(|it| it.concat())
}

fn names_of_part(part: &str) -> Option<Vec<String>> {
    let mut names = vec![String::new()];
    let mut rest = part;
    while let Some((name, bracket)) = rest.split_once('[') {
        let (numbers, after) = bracket.split_once(']')?;
        let numbers = numbers.split(',').map(numbers_of_range).collect::<Option<Vec<_>>>()?;
        let numbers = numbers.concat();
        names = names
            .iter()
            .flat_map(|begin| numbers.iter().map(move |number| format!("{begin}{name}{number}")))
            .collect();
        rest = after;
    }
    Some(names.into_iter().map(|begin| begin + rest).collect())
}

/// The numbers of `7` or `08-10`, each as wide as the first one; `None` if that is too wide.
fn numbers_of_range(range: &str) -> Option<Vec<String>> {
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let width = Some(first.len()).filter(|width| *width <= MAX_DIGITS)?;
    let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
    Some((first..=last).map(|number| format!("{number:0width$}")).collect())
}

/// A name, with numbers in brackets: `n[1-4]`.
fn count_of_part(part: &str) -> Option<u64> {
    let mut count = 1_u64;
    let mut rest = part;
    for _ in 0..MAX_BRACKETS {
        let Some((name, bracket)) = rest.split_once('[') else { break };
        let (numbers, after) = bracket.split_once(']')?;
        let of_ranges = numbers
            .split(',')
            .try_fold(0_u64, |sum, range| sum.checked_add(count_of_range(range)?))?;
        count = count.checked_mul(of_ranges)?;
        if !name.bytes().all(is_of_name) {
            return None;
        }
        rest = after;
    }
    let is_name = !part.is_empty() && !part.starts_with('-') && rest.bytes().all(is_of_name);
    is_name.then_some(count)
}

/// `7` or `1-4`; numbers may begin with zeros.
fn count_of_range(range: &str) -> Option<u64> {
    let number = |text: &str| {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u64>().ok().filter(|_| is_number)
    };
    match range.split_once('-') {
        None => number(range).map(|_| 1),
        Some((first, last)) => number(last)?.checked_sub(number(first)?)?.checked_add(1),
    }
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nodes_are_counted() {
        for (text, nodes) in [
            ("n1", 1),
            ("n1,n2", 2),
            ("n[1-4]", 4),
            ("n[001-120,200]", 121),
            ("n[1,3-4],gpu-7.example", 4),
            ("rack[1-2]n[1-9]", 18),
            ("rack[1-2]n[1-9]-ib", 18),
        ] {
            assert_eq!(count(text), Some(nodes), "{text}");
        }
    }

    #[test]
    fn nodes_are_named_in_order_with_the_zeros_of_their_numbers() {
        for (text, expected) in [
            ("n1", &["n1"][..]),
            ("n2,n1", &["n2", "n1"][..]),
            ("n[08-10,2]", &["n08", "n09", "n10", "n2"][..]),
            ("r[1-2]n[1-2]-ib", &["r1n1-ib", "r1n2-ib", "r2n1-ib", "r2n2-ib"][..]),
        ] {
            let found = names(text, 4).unwrap();
            assert_eq!(found, expected, "{text}");
            assert_eq!(count(text), Some(found.len() as u64), "{text}");
        }
        let wide = format!("n[{:021}]", 7);
        for text in ["n[1-5]", "n[1", "", &wide] {
            assert_eq!(names(text, 4), None, "{text}");
        }
    }

    #[test]
    fn what_is_no_list_of_nodes_is_refused() {
        for text in [
            "",
            ",",
            "n1,",
            "-n1",
            "n[",
            "n]",
            "n[1",
            "n[]",
            "n[1,]",
            "n[a]",
            "n[4-1]",
            "n[+1]",
            "n[1-2-3]",
            "n[[1]]",
            "n 1",
            "n;1",
            "$(x)",
            "n[1-18446744073709551615][1-9]",
            "n[0-18446744073709551615]",
        ] {
            assert_eq!(count(text), None, "{text}");
        }
    }

    #[test]
    fn commas_in_brackets_separate_nothing() {
        assert_eq!(split_at_commas("a=n[1,2],b").unwrap(), ["a=n[1,2]", "b"]);
        assert_eq!(split_at_commas("").unwrap(), [""]);
        assert_eq!(split_at_commas("n[1,2"), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,40}|[n0-9,\\[\\]-]{0,30}") {
            let _ = count(&text);
            let _ = names(&text, 100);
        }
    }
}
