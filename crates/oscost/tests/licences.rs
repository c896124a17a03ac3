//! What the tree is made of may be given away: every package's licence is among those that
//! deny.toml allows.

#![expect(clippy::unwrap_used, reason = "a failed test shows its location")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn cargo(arguments: &[&str]) -> String {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(program).args(arguments).current_dir(workspace()).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo {}: {stderr}", arguments.join(" "));
    String::from_utf8(output.stdout).unwrap()
}

/// The packages of this build. Only those of this platform: others need not be here, and nothing is
/// fetched.
fn packages() -> Vec<Value> {
    let version = cargo(&["-vV"]);
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let format = ["metadata", "--format-version", "1"];
    let rest = ["--locked", "--offline", "--all-features", "--filter-platform", host];
    let metadata: Value = serde_json::from_str(&cargo(&[&format[..], &rest].concat())).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

/// The list `allow` of deny.toml's `[licenses]`.
fn allowed() -> Vec<String> {
    let path = workspace().join("deny.toml");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    allow_list(&text).expect("deny.toml has no list `allow` under [licenses]")
}

fn allow_list(text: &str) -> Option<Vec<String>> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let mut section = lines.skip_while(|line| *line != "[licenses]").skip(1);
    let mut list = String::new();
    for line in section.by_ref().take_while(|line| !line.starts_with('[') || line.len() == 1) {
        match line.strip_prefix("allow") {
            Some(rest) if rest.trim_start().starts_with('=') => list.push_str(rest),
            _ if !list.is_empty() => list.push_str(line),
            _ => {}
        }
        if list.contains(']') {
            let (_, inside) = list.split_once('[')?;
            let (inside, _) = inside.split_once(']')?;
            let names = inside.split(',').map(|name| name.trim().trim_matches('"').to_owned());
            return Some(names.filter(|name| !name.is_empty()).collect());
        }
    }
    None
}

/// Whether a licence expression can be met by licences from `allowed`.
fn is_allowed(expression: &str, allowed: &[String]) -> Result<bool, String> {
    // `MIT/Apache-2.0` is an older spelling of OR.
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    let satisfied = any_of(&words, &mut at, allowed)?;
    if at == words.len() {
        Ok(satisfied)
    } else {
        Err(format!("`{expression}` goes on after its end"))
    }
}

fn any_of(words: &[&str], at: &mut usize, allowed: &[String]) -> Result<bool, String> {
    let mut satisfied = all_of(words, at, allowed)?;
    while words.get(*at) == Some(&"OR") {
        *at += 1;
        satisfied |= all_of(words, at, allowed)?;
    }
    Ok(satisfied)
}

fn all_of(words: &[&str], at: &mut usize, allowed: &[String]) -> Result<bool, String> {
    let mut satisfied = one(words, at, allowed)?;
    while words.get(*at) == Some(&"AND") {
        *at += 1;
        satisfied &= one(words, at, allowed)?;
    }
    Ok(satisfied)
}

fn one(words: &[&str], at: &mut usize, allowed: &[String]) -> Result<bool, String> {
    let word = *words.get(*at).ok_or("a licence is missing at the end")?;
    *at += 1;
    match word {
        "(" => {
            let satisfied = any_of(words, at, allowed)?;
            if words.get(*at) != Some(&")") {
                return Err("a bracket is not closed".to_owned());
            }
            *at += 1;
            Ok(satisfied)
        }
        ")" | "OR" | "AND" | "WITH" => Err(format!("`{word}` stands where a licence should")),
        name if words.get(*at) == Some(&"WITH") => {
            let exception = *words.get(*at + 1).ok_or("an exception is missing at the end")?;
            *at += 2;
            Ok(allowed.contains(&format!("{name} WITH {exception}")))
        }
        name => Ok(allowed.iter().any(|it| it == name)),
    }
}

#[test]
fn every_package_has_a_licence_that_is_allowed() {
    let allowed = allowed();
    assert!(allowed.len() >= 2, "{allowed:?}");
    let packages = packages();
    assert!(packages.len() > 20, "cargo sees {} packages", packages.len());
    let refused: Vec<String> = packages
        .iter()
        .filter_map(|package| {
            let name = format!("{} {}", package["name"], package["version"]);
            match package["license"].as_str() {
                None => Some(format!("{name} has no licence expression")),
                Some(expression) => match is_allowed(expression, &allowed) {
                    Ok(true) => None,
                    Ok(false) => Some(format!("{name} is under {expression}")),
                    Err(why) => Some(format!("{name}: {why}")),
                },
            }
        })
        .collect();
    assert!(refused.is_empty(), "{refused:#?}");
}

#[test]
fn licence_expressions_are_read_as_they_are_meant() {
    let allowed: Vec<String> =
        ["MIT", "Apache-2.0 WITH LLVM-exception", "Unicode-3.0"].map(str::to_owned).into();
    for (expression, satisfied) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("MIT OR GPL-3.0", true),
        ("GPL-3.0 OR MIT", true),
        ("MIT/Apache-2.0", true),
        ("MIT AND GPL-3.0", false),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
        ("MIT AND (GPL-3.0 OR Unicode-3.0)", true),
        ("GPL-3.0 OR MIT AND Unicode-3.0", true),
        ("(GPL-3.0 OR MIT) AND GPL-2.0", false),
        ("Apache-2.0 WITH LLVM-exception", true),
        ("Apache-2.0", false),
        ("MIT WITH LLVM-exception", false),
        ("Apache-2.0 WITH LLVM-exception OR GPL-2.0", true),
    ] {
        assert_eq!(is_allowed(expression, &allowed), Ok(satisfied), "{expression}");
    }
    for nonsense in ["", "MIT OR", "MIT MIT", "(MIT", "MIT)", "AND MIT", "MIT WITH"] {
        assert!(is_allowed(nonsense, &allowed).is_err(), "{nonsense}");
    }
}

#[test]
fn the_list_of_allowed_licences_is_found_where_it_stands() {
    let text = "[graph]\nallow = [\"no\"]\n[licenses]\n# words\nversion = 2\nallow = [ # more\n  \
                \"MIT\", \"Zlib\",\n  \"Apache-2.0 WITH LLVM-exception\",\n]\n[bans]\n";
    let found = allow_list(text).unwrap();
    assert_eq!(found, ["MIT", "Zlib", "Apache-2.0 WITH LLVM-exception"]);
    assert_eq!(allow_list("[licenses]\nallow = [\"MIT\"]"), Some(vec!["MIT".to_owned()]));
    assert_eq!(allow_list("[licenses]\n[bans]\nallow = [\"MIT\"]"), None);
}
