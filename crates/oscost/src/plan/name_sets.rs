//! Sets in selectors, as a shell has them: `syscall/{getppid,getuid}`, `pipe:size={64,4k}`.

/// As many names one selector may stand for.
const MAX_NAMES: usize = 256;

/// A `{` without its `}`, a set in a set, or sets that stand for too many names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SetError;

/// The names that the sets of a name stand for; of a name without a set, itself.
pub(super) fn alternatives(name: &str) -> Result<Vec<String>, SetError> {
    let (mut names, mut rest) = (vec![String::new()], name);
    while let Some((before, after)) = rest.split_once('{') {
        let (set, after) = after.split_once('}').ok_or(SetError)?;
        let members: Vec<&str> = set.split(',').collect();
        let is_plain = !before.contains('}') && !set.contains('{') && !set.is_empty();
        if !is_plain || names.len() * members.len() > MAX_NAMES {
            return Err(SetError);
        }
        let mut longer = Vec::with_capacity(names.len() * members.len());
        for name in &names {
            longer.extend(members.iter().map(|member| format!("{name}{before}{member}")));
        }
        (names, rest) = (longer, after);
    }
    if rest.contains('}') {
        return Err(SetError);
    }
    names.iter_mut().for_each(|name| name.push_str(rest));
    Ok(names)
}

/// The axes of a selector with `a|b` in place of each set: a comma outside of a set separates axes.
pub(super) fn without_sets(axes: &str) -> Result<String, SetError> {
    let (mut text, mut in_set) = (String::with_capacity(axes.len()), false);
    for letter in axes.chars() {
        match letter {
            '{' | '}' if in_set == (letter == '{') => return Err(SetError),
            '{' | '}' => in_set = !in_set,
            ',' if in_set => text.push('|'),
            letter => text.push(letter),
        }
    }
    if in_set { Err(SetError) } else { Ok(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_replaced_by_their_members_in_order() {
        assert_eq!(alternatives("a/b").unwrap(), ["a/b"]);
        let four = ["a/x-1*", "a/x-2*", "b/x-1*", "b/x-2*"];
        assert_eq!(alternatives("{a,b}/x-{1,2}*").unwrap(), four);
        for wrong in ["{a", "a}", "{a{b}}", "{}", "a}{b,c}"] {
            assert!(alternatives(wrong).is_err(), "{wrong}");
        }
        let many = "{a,b,c,d}".repeat(5);
        assert!(alternatives(&many).is_err(), "1024 names");
    }

    #[test]
    fn a_set_of_values_is_several_points() {
        assert_eq!(without_sets("size={64,4k},via=raw").unwrap(), "size=64|4k,via=raw");
        assert_eq!(without_sets("size=64,via=raw").unwrap(), "size=64,via=raw");
        for wrong in ["size={64", "size=64}", "size={{64}}"] {
            assert!(without_sets(wrong).is_err(), "{wrong}");
        }
    }
}
