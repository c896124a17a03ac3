//! A text as it is printed, and the words in it: `64Ki`, `heavy?`, `121 ns`, `sud@local`, `vm:6.12`.

use crate::advice::words::{Kind, find};

/// The words that a printed text is made of, as far as they can be explained; none of a text that is
/// one word. What is of no form that oscost prints has none.
pub fn words_in(text: &str) -> Vec<String> {
    let text = text.trim();
    let forms = [remark, mark, classes, multiple, host, assignment, figure];
    let found = forms.into_iter().map(|form| form(text)).find(|words| !words.is_empty());
    found.unwrap_or_default().into_iter().map(str::to_owned).collect()
}

/// `inconclusive (1.0 %)`, `n/a(a)`: what is before the brackets.
fn remark(text: &str) -> Vec<&str> {
    let before = text.strip_suffix(')').and_then(|text| text.split_once('(')).map(|it| it.0.trim());
    before.filter(|word| is_known(word)).into_iter().collect()
}

/// `heavy?`, `!2`, `~log N`, `<10 ps`, `<=2.70 MB`: a mark, and what it is of.
fn mark(text: &str) -> Vec<&str> {
    if let Some(word) = text.strip_suffix('?') {
        return if is_known(word) { vec![word, "?"] } else { Vec::new() };
    }
    for mark in ["!", "<=", "<", ">"] {
        let Some(number) = text.strip_prefix(mark) else { continue };
        let mut words = figure(number);
        if is_number(number) || !words.is_empty() {
            words.insert(0, mark);
        }
        return words;
    }
    text.strip_prefix('~').filter(|law| is_known(law)).into_iter().collect()
}

/// `light/heavy`: the classes of the points of a curve.
fn classes(text: &str) -> Vec<&str> {
    let is_class = |word: &str| find(word).iter().any(|it| it.kind == Kind::CostClass);
    let words: Vec<&str> = text.split('/').collect();
    if words.len() > 1 && words.iter().copied().all(is_class) { words } else { Vec::new() }
}

/// `x call`, `x 1.25`, `per byte`: how often, and for what.
fn multiple(text: &str) -> Vec<&str> {
    let word = text.split_once(' ').map(|(first, _)| first);
    word.filter(|word| matches!(*word, "x" | "per")).into_iter().collect()
}

/// `ssh:db1`, `sud@vm:6.12`: the host.
fn host(text: &str) -> Vec<&str> {
    // An ssh host may contain a sign of its own.
    let behind_treatments = text.split_once('@').map(|(_, host)| host);
    let word = [Some(text), behind_treatments].into_iter().flatten().find_map(host_word);
    word.into_iter().collect()
}

fn host_word(host: &str) -> Option<&str> {
    let end = host.find(':').map_or(host.len(), |colon| colon + 1);
    host.get(..end).filter(|word| find(word).iter().any(|it| it.kind == Kind::Host))
}

/// `size=64k`, `--precision=2`: what has the value.
fn assignment(text: &str) -> Vec<&str> {
    let name = text.split_once('=').map(|(name, _)| name);
    name.filter(|name| !name.is_empty() && !name.contains([':', '/'])).into_iter().collect()
}

/// `121 ns`, `64Ki`, `+3.5 %`, `99.4 ns .. 367 ns`: the unit.
fn figure(text: &str) -> Vec<&str> {
    let last = text.rsplit(" .. ").next().unwrap_or_default();
    let unit = last.trim_start_matches(|letter: char| {
        letter.is_ascii_digit() || matches!(letter, '+' | '-' | '.' | ',')
    });
    let has_number = last.get(..last.len() - unit.len()).is_some_and(is_number);
    let unit = unit.trim_start();
    if has_number && is_known(unit) { vec![unit] } else { Vec::new() }
}

fn is_known(word: &str) -> bool {
    !find(word).is_empty()
}

fn is_number(text: &str) -> bool {
    text.contains(|letter: char| letter.is_ascii_digit())
        && text.chars().all(|it| it.is_ascii_digit() || matches!(it, '+' | '-' | '.' | ','))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts, and the words in each.
    const PRINTED: &[(&str, &[&str])] = &[
        ("64Ki", &["Ki"]),
        ("121 ns", &["ns"]),
        ("+38.02 ns", &["ns"]),
        ("1,000 MB/s", &["MB/s"]),
        ("+3.5 %", &["%"]),
        ("99.4 ns .. 367 us", &["us"]),
        ("<10 ps", &["<", "ps"]),
        ("<=2.70 MB", &["<=", "MB"]),
        ("!2", &["!"]),
        ("heavy?", &["heavy", "?"]),
        ("light/heavy", &["light", "heavy"]),
        ("~N log N", &["N log N"]),
        ("inconclusive (49 %)", &["inconclusive"]),
        ("n/a(a)", &["n/a"]),
        ("x call", &["x"]),
        ("x 1.25", &["x"]),
        ("per byte", &["per"]),
        ("vm:6.12", &["vm:"]),
        ("ssh:user@db1", &["ssh:"]),
        ("nice=5@ssh:user@db1", &["ssh:"]),
        ("sud@local", &["local"]),
        ("size=64k", &["size"]),
        ("--precision=2", &["--precision"]),
    ];

    #[test]
    fn the_words_of_what_is_printed_are_found() {
        for (text, words) in PRINTED {
            assert_eq!(words_in(text), *words, "{text}");
        }
    }

    #[test]
    fn other_texts_have_none() {
        for text in
            ["", "42", "1.5 .. 2", "@", "=", "(", "a(b)", "syscall/getpppid", "zzz?", "no:x"]
        {
            assert_eq!(words_in(text), [""; 0], "{text}");
        }
        assert_eq!(words_in("pipe/round-trip:size=4"), [""; 0], "a case");
    }
}
