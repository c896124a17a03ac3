//! Just enough of Rust to find the paths in a source: no comments, no texts, no tests.

/// A source as its words and signs.
pub(crate) struct Source {
    tokens: Vec<Token>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Sign(char),
}

/// A path as it is written, with all of a group's branches written out.
pub(crate) struct Path {
    /// `["crate", "plan", "select"]`.
    pub(crate) words: Vec<String>,
    /// The modules in the same file that it stands in.
    pub(crate) inside: Vec<String>,
}

impl Source {
    /// Reads a source up to its `#[cfg(test)]`.
    pub(crate) fn of(text: &str) -> Self {
        let mut tokens = tokens(text);
        let sign = |sign| Token::Sign(sign);
        let word = |word: &str| Token::Word(word.to_owned());
        let test =
            [sign('#'), sign('['), word("cfg"), sign('('), word("test"), sign(')'), sign(']')];
        if let Some(begin) = tokens.windows(test.len()).position(|window| window == test) {
            tokens.truncate(begin);
        }
        Self { tokens }
    }

    pub(crate) fn has_word(&self, wanted: &str) -> bool {
        self.tokens.iter().any(|token| matches!(token, Token::Word(word) if word == wanted))
    }

    fn word(&self, at: usize) -> Option<&str> {
        match self.tokens.get(at) {
            Some(Token::Word(word)) => Some(word),
            _ => None,
        }
    }

    fn is(&self, at: usize, sign: char) -> bool {
        self.tokens.get(at) == Some(&Token::Sign(sign))
    }

    /// Whether `::` stands there.
    fn is_colons(&self, at: usize) -> bool {
        self.is(at, ':') && self.is(at + 1, ':')
    }

    /// Every path of two words or more, and every one that a `use` names.
    pub(crate) fn paths(&self) -> Vec<Path> {
        let mut paths = Vec::new();
        // The modules around, each with the depth of its brace; and the depth now.
        let (mut modules, mut depth) = (Vec::<(String, usize)>::new(), 0usize);
        let mut at = 0;
        while at < self.tokens.len() {
            match &self.tokens[at] {
                Token::Sign('{') => depth += 1,
                Token::Sign('}') => {
                    depth = depth.saturating_sub(1);
                    modules.retain(|(_, inside)| *inside <= depth);
                }
                Token::Word(word) if word == "mod" && self.is(at + 2, '{') => {
                    if let Some(name) = self.word(at + 1) {
                        modules.push((name.to_owned(), depth + 1));
                    }
                }
                Token::Word(word) if word == "use" => {
                    let mut found = Vec::new();
                    at = self.tree(at + 1, &[], &mut found);
                    let inside = || modules.iter().map(|(name, _)| name.clone()).collect();
                    paths.extend(found.into_iter().map(|words| Path { words, inside: inside() }));
                    continue;
                }
                Token::Word(_) if self.is_colons(at + 1) => {
                    let mut found = Vec::new();
                    at = self.tree(at, &[], &mut found);
                    let inside = || modules.iter().map(|(name, _)| name.clone()).collect();
                    paths.extend(found.into_iter().map(|words| Path { words, inside: inside() }));
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
        paths
    }

    /// Reads a path, or a tree of them, from `at`; hands back where it ends.
    fn tree(&self, mut at: usize, before: &[String], found: &mut Vec<Vec<String>>) -> usize {
        let mut words = before.to_vec();
        loop {
            if self.is_colons(at) && words == before && before.is_empty() {
                at += 2; // A path that begins with `::`.
            }
            if self.is(at, '{') {
                at += 1;
                while at < self.tokens.len() && !self.is(at, '}') {
                    let next = self.tree(at, &words, found);
                    // Whatever cannot be read is stepped over.
                    at = if next == at { at + 1 } else { next };
                    while self.is(at, ',') {
                        at += 1;
                    }
                }
                return at + 1;
            }
            match self.word(at) {
                Some(word) => words.push(word.to_owned()),
                None if self.is(at, '*') => words.push("*".to_owned()),
                None => break,
            }
            at += 1;
            if !self.is_colons(at) {
                break;
            }
            at += 2;
        }
        if self.word(at) == Some("as") {
            at += 2;
        }
        if !words.is_empty() {
            found.push(words);
        }
        at
    }
}

/// A text as words and signs; what stands in comments and quotes is left out.
fn tokens(text: &str) -> Vec<Token> {
    let chars: Vec<char> = text.chars().collect();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let starts = |at: usize, with: &str| {
        with.chars().enumerate().all(|(index, c)| chars.get(at + index) == Some(&c))
    };
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let c = chars[at];
        if starts(at, "//") {
            while at < chars.len() && chars[at] != '\n' {
                at += 1;
            }
        } else if starts(at, "/*") {
            let mut depth = 1;
            at += 2;
            while at < chars.len() && depth > 0 {
                let (opens, closes) = (starts(at, "/*"), starts(at, "*/"));
                depth = depth + usize::from(opens) - usize::from(closes);
                at += if opens || closes { 2 } else { 1 };
            }
        } else if let Some(end) = raw_text(&chars, at) {
            at = end;
        } else if c == '"' {
            at = quoted(&chars, at + 1, '"');
        } else if c == '\'' {
            // A character, unless it is a lifetime or a label.
            let is_char = chars.get(at + 1) == Some(&'\\') || chars.get(at + 2) == Some(&'\'');
            at = if is_char { quoted(&chars, at + 1, '\'') } else { at + 1 };
        } else if is_word(c) {
            let end = (at..chars.len()).find(|&end| !is_word(chars[end])).unwrap_or(chars.len());
            tokens.push(Token::Word(chars[at..end].iter().collect()));
            at = end;
        } else {
            if !c.is_whitespace() {
                tokens.push(Token::Sign(c));
            }
            at += 1;
        }
    }
    tokens
}

/// Where a quote that began before `at` ends.
fn quoted(chars: &[char], mut at: usize, quote: char) -> usize {
    while at < chars.len() && chars[at] != quote {
        at += if chars[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

/// Where a raw text ends that begins at `at`: `r"..."`, `br#"..."#`.
fn raw_text(chars: &[char], at: usize) -> Option<usize> {
    let is_start = at == 0 || !(chars[at - 1].is_alphanumeric() || chars[at - 1] == '_');
    let mut from = at;
    while matches!(chars.get(from), Some('b' | 'c')) {
        from += 1;
    }
    if !is_start || chars.get(from) != Some(&'r') {
        return None;
    }
    let hashes = chars[from + 1..].iter().take_while(|&&c| c == '#').count();
    let open = from + 1 + hashes;
    if chars.get(open) != Some(&'"') {
        return None;
    }
    let closes = |end: usize| {
        chars[end] == '"' && (1..=hashes).all(|more| chars.get(end + more) == Some(&'#'))
    };
    let end = (open + 1..chars.len()).find(|&end| closes(end));
    Some(end.map_or(chars.len(), |end| end + hashes + 1))
}
