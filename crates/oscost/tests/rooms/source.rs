//! Reads just enough of Rust to find the paths in a source file: comments, literals and tests are
//! left out.

use std::collections::BTreeSet;

/// A source file as its words and signs.
pub(crate) struct Source {
    tokens: Vec<Token>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Sign(char),
}

/// A path in the source; each branch of a `{...}` group is a path of its own.
pub(crate) struct Path {
    /// `["crate", "plan", "select"]`; a glob ends in `*`.
    pub(crate) words: Vec<String>,
    /// The inline modules around it, the outermost first.
    pub(crate) inside: Vec<String>,
    /// What kind of item names it.
    pub(crate) role: Role,
}

/// What a path is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It is part of an expression, a type or an attribute.
    Mention,
    /// A `use` declaration, which makes it known under this name.
    Import {
        /// The last word of the path, or the word behind `as`.
        name: String,
        /// Whether the declaration is `pub` in any form.
        public: bool,
    },
}

impl Source {
    /// Reads a source file without its items for `#[cfg(test)]`.
    pub(crate) fn of(text: &str) -> Self {
        let sign = |sign| Token::Sign(sign);
        let word = |word: &str| Token::Word(word.to_owned());
        let test =
            [sign('#'), sign('['), word("cfg"), sign('('), word("test"), sign(')'), sign(']')];
        let all = tokens(text);
        let mut kept = Vec::new();
        let mut at = 0;
        while at < all.len() {
            if all[at..].starts_with(&test) {
                at = end_of_item(&all, at + test.len());
            } else {
                kept.push(all[at].clone());
                at += 1;
            }
        }
        Self { tokens: kept }
    }

    /// The words of the source, each once.
    pub(crate) fn words(&self) -> BTreeSet<&str> {
        self.tokens
            .iter()
            .filter_map(|token| match token {
                Token::Word(word) => Some(word.as_str()),
                _ => None,
            })
            .collect()
    }

    /// The names of the items that the source defines, those in blocks and inline modules included.
    pub(crate) fn items(&self) -> BTreeSet<&str> {
        const KEYWORDS: [&str; 8] =
            ["fn", "struct", "enum", "union", "trait", "type", "const", "static"];
        let defines = |at: usize| match self.word(at)? {
            word if KEYWORDS.contains(&word) => self.word(at + 1),
            "macro_rules" if self.is(at + 1, '!') => self.word(at + 2),
            _ => None,
        };
        (0..self.tokens.len()).filter_map(defines).collect()
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

    /// Whether the next tokens are `::`.
    fn is_colons(&self, at: usize) -> bool {
        self.is(at, ':') && self.is(at + 1, ':')
    }

    /// Whether the `in` at `at` is that of `pub(in ...)`.
    fn is_visibility(&self, at: usize) -> bool {
        at > 1 && self.is(at - 1, '(') && self.word(at - 2) == Some("pub")
    }

    /// Every path of two words or more, and every path of a `use` declaration.
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
                    let public =
                        at > 0 && (self.word(at - 1) == Some("pub") || self.is(at - 1, ')'));
                    let mut found = Vec::new();
                    at = self.tree(at + 1, &[], &mut found);
                    let inside = || modules.iter().map(|(name, _)| name.clone()).collect();
                    paths.extend(found.into_iter().map(|Branch { words, name }| Path {
                        words,
                        inside: inside(),
                        role: Role::Import { name, public },
                    }));
                    continue;
                }
                // `pub(in crate::a)` says who may name an item: it needs nothing of `a`.
                Token::Word(word) if word == "in" && self.is_visibility(at) => {
                    at = self.tree(at + 1, &[], &mut Vec::new());
                    continue;
                }
                Token::Word(_) if self.is_colons(at + 1) => {
                    let mut found = Vec::new();
                    at = self.tree(at, &[], &mut found);
                    let inside = || modules.iter().map(|(name, _)| name.clone()).collect();
                    paths.extend(found.into_iter().map(|Branch { words, .. }| Path {
                        words,
                        inside: inside(),
                        role: Role::Mention,
                    }));
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
        paths
    }

    /// Reads a path, or a tree of them, from `at`; returns where it ends.
    fn tree(&self, mut at: usize, before: &[String], found: &mut Vec<Branch>) -> usize {
        let mut words = before.to_vec();
        loop {
            if self.is_colons(at) && words == before && before.is_empty() {
                at += 2; // A path that begins with `::`.
            }
            if self.is(at, '{') {
                at += 1;
                while at < self.tokens.len() && !self.is(at, '}') {
                    let next = self.tree(at, &words, found);
                    // Tokens that are not part of a path are skipped.
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
        let mut name = words.last().cloned();
        if self.word(at) == Some("as") {
            name = self.word(at + 1).map(str::to_owned);
            at += 2;
        }
        // `use a::{self}` makes `a` known, not `self`.
        if words.len() > 1 && words.last().is_some_and(|last| last == "self") {
            words.pop();
            name = name.filter(|name| name != "self").or_else(|| words.last().cloned());
        }
        if let Some(name) = name {
            found.push(Branch { words, name });
        }
        at
    }
}

/// One path of a tree, and the name that a `use` gives it.
struct Branch {
    words: Vec<String>,
    name: String,
}

/// Where the item ends that begins at `at`: behind its `;`, or behind its block.
fn end_of_item(tokens: &[Token], mut at: usize) -> usize {
    let mut depth = 0usize;
    while at < tokens.len() {
        match tokens[at] {
            Token::Sign('{' | '(' | '[') => depth += 1,
            Token::Sign(']' | ')') => depth = depth.saturating_sub(1),
            Token::Sign('}') => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            Token::Sign(';') if depth == 0 => return at + 1,
            _ => {}
        }
        at += 1;
    }
    at
}

/// The words and signs of a text, without comments and literals.
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
        } else if let Some(end) = raw_string(&chars, at) {
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

/// The end of a literal whose opening quote is before `at`.
fn quoted(chars: &[char], mut at: usize, quote: char) -> usize {
    while at < chars.len() && chars[at] != quote {
        at += if chars[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

/// Where a raw string ends that begins at `at`: `r"..."`, `br#"..."#`.
fn raw_string(chars: &[char], at: usize) -> Option<usize> {
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
