//! Splitting a command line into words without a shell: nothing is expanded, substituted, chained
//! or redirected.
//!
//! Words are separated by blanks. Text in `'...'` is literal. In `"..."` and outside of quotes, a
//! backslash makes the next character literal. Adjacent quotes belong to one word.

/// The maximum number of words of a command.
const MAX_WORDS: usize = 256;

/// Splits a command, which contains no control characters, into its words.
pub fn split(text: &str) -> Result<Vec<String>, String> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' => words.extend(word.take()),
            '\'' | '"' => quoted(letter, &mut letters, word.get_or_insert_default())?,
            '\\' => word.get_or_insert_default().push(escaped(&mut letters)?),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    match words.first() {
        None => Err("its command is empty".to_owned()),
        Some(program) if program.is_empty() => Err("its program has no name".to_owned()),
        Some(_) if words.len() > MAX_WORDS => {
            Err(format!("a command has at most {MAX_WORDS} words"))
        }
        Some(_) => Ok(words),
    }
}

/// Reads to the closing quote.
fn quoted(quote: char, letters: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), String> {
    loop {
        match letters.next() {
            None => return Err(format!("its quote {quote} is not closed")),
            Some(end) if end == quote => return Ok(()),
            Some('\\') if quote == '"' => word.push(escaped(letters)?),
            Some(letter) => word.push(letter),
        }
    }
}

fn escaped(letters: &mut std::str::Chars<'_>) -> Result<char, String> {
    letters.next().ok_or_else(|| "its last backslash is followed by nothing".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_split_and_nothing_is_expanded() {
        for (text, words) in [
            ("strace -f -o /dev/null", vec!["strace", "-f", "-o", "/dev/null"]),
            ("  a   b ", vec!["a", "b"]),
            (r#"a 'b c' "d \" e" f\ g"#, vec!["a", "b c", "d \" e", "f g"]),
            (r#"a'b'"c"\d"#, vec!["abcd"]),
            ("a '' \"\"", vec!["a", "", ""]),
            (r"a '\n'", vec!["a", r"\n"]),
            ("a;b $(c) `d` $e ~ *|f", vec!["a;b", "$(c)", "`d`", "$e", "~", "*|f"]),
        ] {
            assert_eq!(split(text).unwrap(), words, "{text}");
        }
        for bad in ["", "   ", "'a", "\"a", "a\\", "\"a\\", "''", "'' a"] {
            assert!(split(bad).is_err(), "{bad}");
        }
        assert!(split(&"a ".repeat(257)).is_err());
    }

    proptest! {
        #[test]
        fn quoted_words_are_split_into_the_same_words(
            words in prop::collection::vec("[^'\\p{C}]{1,9}", 1..9),
        ) {
            let text: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
            prop_assert_eq!(split(&text.join(" ")).unwrap(), words);
        }

        #[test]
        fn no_text_panics(text in "[ a-c'\"\\\\]{0,40}") {
            let _ = split(&text);
        }
    }
}
