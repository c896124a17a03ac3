//! The documentation matches the program: links have targets, the command line accepts every
//! command, selectors name cases of the catalog, and every page is in the book.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

#[path = "common/golden.rs"]
mod golden;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::error::ErrorKind;
use golden::check_golden;
use oscost::advice::words::{self, Kind};
use oscost::plan;
use oscost_model::definition::Extent;

/// A page: where it is, and its text.
struct Page {
    path: PathBuf,
    text: String,
}

impl Page {
    fn name(&self) -> String {
        self.path.strip_prefix(root()).unwrap().display().to_string()
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The files below `folder` with one of `extensions`, without build artefacts and test data.
fn files(folder: &Path, extensions: &[&str], found: &mut Vec<PathBuf>) {
    const SKIPPED: [&str; 5] = ["target", ".git", "golden", "corpus", "artifacts"];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !SKIPPED.contains(&name.as_str()) {
            files(&path, extensions, found);
        } else if path.extension().is_some_and(|it| extensions.iter().any(|text| it == *text)) {
            found.push(path);
        }
    }
}

fn pages() -> Vec<Page> {
    let mut found = Vec::new();
    files(&root(), &["md"], &mut found);
    found.sort();
    let page = |path: PathBuf| Page { text: fs::read_to_string(&path).unwrap(), path };
    found.into_iter().map(page).collect()
}

/// The lines outside of code blocks.
fn prose(text: &str) -> Vec<&str> {
    let mut in_code = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            lines.push(line);
        }
    }
    lines
}

/// The targets of the links of a page.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in prose(text) {
        // Text between backticks is not a link.
        let line: String = line.split('`').step_by(2).collect::<Vec<_>>().join("code");
        for (start, _) in line.match_indices("](") {
            let rest = &line[start + 2..];
            found.extend(rest.split_once(')').map(|(target, _)| target.to_owned()));
        }
    }
    found
}

/// The anchors of a page, as GitHub and mdbook make them of headings.
fn heading_ids(text: &str) -> BTreeSet<String> {
    let headings = prose(text).into_iter().filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            let kept = title.chars().filter(|it| it.is_alphanumeric() || " -_".contains(*it));
            kept.map(|it| if it == ' ' { '-' } else { it }).collect()
        })
        .collect()
}

#[test]
fn every_link_of_the_documentation_has_a_target() {
    let mut broken = Vec::new();
    for page in pages() {
        for link in links(&page.text) {
            if link.contains("://") {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = match file {
                "" => page.path.clone(),
                file => page.path.parent().unwrap().join(file),
            };
            let is_there = if anchor.is_empty() {
                target.exists()
            } else {
                fs::read_to_string(&target).is_ok_and(|text| heading_ids(&text).contains(anchor))
            };
            if !is_there {
                broken.push(format!("{}: {link}", page.name()));
            }
        }
    }
    assert!(broken.is_empty(), "links without a target:\n{}", broken.join("\n"));
}

/// The words of a shell command, up to the end of the `oscost` command.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            // A pipe, a redirection, or another command.
            (None, '|' | '>' | '&' | ';') => break,
            // Two blanks separate a command from its description.
            (None, ' ') if letters.peek() == Some(&' ') => break,
            (None, ' ') => words.push(String::new()),
            _ => words.last_mut().unwrap().push(letter),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The commands in the code blocks of a page without a language, or with that of a shell.
fn commands(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut block = None;
    let text = text.replace("\\\n", " ");
    for line in text.lines() {
        match (line.trim_start().strip_prefix("```"), block) {
            (Some(language), None) => block = Some(["", "sh"].contains(&language)),
            (Some(_), Some(_)) => block = None,
            (None, Some(true)) => {
                let squeezed = line.trim_start().trim_start_matches("$ ");
                let mut words = words(squeezed);
                while words.first().is_some_and(|it| it == "sudo" || it.contains('=')) {
                    words.remove(0);
                }
                if words.first().is_some_and(|it| it == "oscost") {
                    found.push(words);
                }
            }
            _ => {}
        }
    }
    found
}

/// Parses a command line as the program does; returns the first line of the error.
fn parse(words: &[String]) -> Result<(), String> {
    match oscost::cli::check(words.iter().map(Into::into)) {
        Err(error)
            if !matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) =>
        {
            Err(error.to_string().lines().next().unwrap_or_default().to_owned())
        }
        _ => Ok(()),
    }
}

#[test]
fn the_command_line_accepts_every_command_of_the_documentation() {
    let mut refused = Vec::new();
    let mut tested = 0;
    for page in pages() {
        for words in commands(&page.text) {
            tested += 1;
            if let Err(error) = parse(&words) {
                refused.push(format!("{}: {}\n    {error}", page.name(), words.join(" ")));
            }
        }
    }
    assert!(refused.is_empty(), "commands that are refused:\n{}", refused.join("\n"));
    assert!(tested > 100, "only {tested} commands were found");
}

/// The help of every verb, with those below it, as a command line prints it at 80 columns, but the
/// options of all of them.
fn help_texts() -> Vec<(String, String)> {
    fn collect(command: &clap::Command, name: &str, texts: &mut Vec<(String, String)>) {
        for verb in command.get_subcommands() {
            // Internal verbs, which depend on the features of the build.
            if verb.is_hide_set() || verb.get_name() == "help" {
                continue;
            }
            let name = format!("{name} {}", verb.get_name());
            let own =
                verb.clone().mut_args(|it| if it.is_global_set() { it.hide(true) } else { it });
            let help = own.term_width(80).render_long_help().to_string();
            let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
            texts.push((name.clone(), lines.join("\n")));
            collect(verb, &name, texts);
        }
    }
    let mut command = oscost::cli::command();
    command.build();
    let mut texts = Vec::new();
    collect(&command, "oscost", &mut texts);
    texts
}

#[test]
fn the_command_line_accepts_every_example_of_its_help() {
    let mut refused = Vec::new();
    for (name, help) in help_texts() {
        let Some((_, examples)) = help.split_once("\nExamples:\n") else { continue };
        for words in commands(&format!("```\n{examples}\n```")) {
            if let Err(error) = parse(&words) {
                refused.push(format!("{name}: {}\n    {error}", words.join(" ")));
            }
        }
    }
    assert!(refused.is_empty(), "examples that are refused:\n{}", refused.join("\n"));
}

#[test]
fn the_page_of_the_command_line_is_the_help_of_the_program() {
    const MARK: &str = "<!-- generated -->\n";
    let path = root().join("docs/reference/CLI.md");
    let page = fs::read_to_string(&path).unwrap();
    let (prose, _) = page.split_once(MARK).unwrap();
    let sections = help_texts().into_iter();
    let sections: String = sections
        .map(|(name, help)| format!("\n## {name}\n\n```text\n{}\n```\n", help.trim()))
        .collect();
    let generated = format!("{prose}{MARK}{sections}");
    check_golden(&path, &generated);
}

#[test]
fn every_selector_of_the_documentation_names_cases_of_the_catalog() {
    let catalog = oscost_worker::benchmarks::data();
    let families: BTreeSet<&str> = catalog.families.iter().map(|it| it.name.as_str()).collect();
    let mut unknown = Vec::new();
    for page in pages() {
        // A worked example is of a benchmark that does not exist yet.
        let is_example = page.name().ends_with("CONTRIBUTING.md");
        for words in commands(&page.text).into_iter().filter(|_| !is_example) {
            let own = words.iter().take_while(|word| *word != "--").skip(2);
            for word in own {
                let name = word.split([':', '/']).next().unwrap_or_default();
                let is_selector = families.contains(name) && !word.contains("://");
                let selectors = [word.clone()];
                if is_selector
                    && let Err(error) = plan::select(&catalog, &selectors, Extent::PriceList)
                {
                    unknown.push(format!("{}: {error}", page.name()));
                }
            }
        }
    }
    assert!(unknown.is_empty(), "selectors without a case:\n{}", unknown.join("\n"));
}

#[test]
fn the_price_list_is_as_large_as_the_documentation_says() {
    let catalog = oscost_worker::benchmarks::data();
    let rows = plan::select(&catalog, &[], Extent::Default).unwrap();
    let benchmarks: BTreeSet<&str> = rows.iter().map(|case| case.benchmark.as_str()).collect();
    let count = format!("{} benchmarks", benchmarks.len());
    let size = format!("{count} at few points of each ({} rows)", rows.len());
    for page in ["README.md", "docs/tutorial/first-half-hour.md"] {
        let text = fs::read_to_string(root().join(page)).unwrap();
        assert!(text.contains(&size), "{page} does not say `{size}`");
    }
    let help = oscost::cli::command().render_help().to_string();
    assert!(help.contains(&format!("the price list: {count}, few points")), "{help}");
    // Few: at its default points the same benchmarks have more rows.
    let names: Vec<String> = benchmarks.into_iter().map(str::to_owned).collect();
    let usual = plan::select(&catalog, &names, Extent::Default).unwrap();
    assert!(usual.len() > 2 * rows.len(), "{} and {} rows", usual.len(), rows.len());
}

/// The lines of a diff's hunks that must be in the files already, by file.
fn context_of_hunks(text: &str) -> Vec<(String, Vec<String>)> {
    let mut hunks: Vec<(String, Vec<String>)> = Vec::new();
    let (mut in_diff, mut file) = (false, String::new());
    for line in text.lines() {
        if line.starts_with("```") {
            in_diff = line == "```diff";
        } else if let Some(name) = line.strip_prefix("--- a/").filter(|_| in_diff) {
            name.clone_into(&mut file);
        } else if in_diff && line.starts_with("@@") {
            hunks.push((file.clone(), Vec::new()));
        } else if let Some(line) = line.strip_prefix([' ', '-']).filter(|_| in_diff)
            && let Some((_, lines)) = hunks.last_mut()
        {
            lines.push(line.to_owned());
        }
    }
    hunks
}

#[test]
fn the_diff_of_the_contribution_guide_applies() {
    let guide = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let hunks = context_of_hunks(&guide);
    assert!(!hunks.is_empty(), "CONTRIBUTING.md has no diff");
    for (file, lines) in hunks {
        let text = fs::read_to_string(root().join(&file)).unwrap();
        let context = lines.join("\n");
        assert!(text.contains(context.trim_end()), "{file} has no such lines:\n{context}");
    }
}

#[test]
fn every_page_that_a_source_file_names_exists() {
    let mut found = Vec::new();
    files(&root(), &["rs", "toml", "sh", "yml"], &mut found);
    let mut missing = Vec::new();
    for path in found {
        let text = fs::read_to_string(&path).unwrap();
        for (start, _) in text.match_indices("docs/") {
            let is_word = |it: char| it.is_ascii_alphanumeric() || "/-_.".contains(it);
            let end = text[start..].find(|it| !is_word(it)).unwrap_or(text.len() - start);
            let name = &text[start..start + end].trim_end_matches('.');
            if name.ends_with(".md") && !root().join(name).exists() {
                missing.push(format!("{}: {name}", path.display()));
            }
        }
    }
    assert!(missing.is_empty(), "pages that do not exist:\n{}", missing.join("\n"));
}

#[test]
fn every_page_is_in_the_book() {
    let summary = fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    let listed = links(&summary);
    let docs = root().join("docs");
    let mut missing = Vec::new();
    for page in pages() {
        let Ok(name) = page.path.strip_prefix(&docs) else { continue };
        let name = name.display().to_string();
        if name != "SUMMARY.md" && !listed.contains(&name) {
            missing.push(name);
        }
    }
    assert!(missing.is_empty(), "pages that docs/SUMMARY.md does not list: {missing:?}");
}

#[test]
fn the_glossary_is_the_table_of_words() {
    const HEAD: &str = "| word | meaning |\n| --- | --- |\n";
    let path = root().join("docs/reference/GLOSSARY.md");
    let page = fs::read_to_string(&path).unwrap();
    let (prose, _) = page.split_once(HEAD).unwrap();
    let rows = words::glossary().map(|word| format!("| {} | {} |\n", word.word, word.means));
    check_golden(&path, &format!("{prose}{HEAD}{}", rows.collect::<String>()));
}

#[test]
fn the_page_of_the_record_and_the_table_of_words_have_the_same_flags() {
    let page = fs::read_to_string(root().join("docs/reference/RECORDS.md")).unwrap();
    let (_, page) = page.split_once("\n## Flags\n").unwrap();
    let (page, _) = page.split_once("\n## ").unwrap();
    let is_capital = |letter: char| letter.is_ascii_uppercase() || letter == '_';
    let is_flag = |word: &&str| word.len() > 3 && word.chars().all(is_capital);
    let on_page: BTreeSet<&str> = page.split('`').skip(1).step_by(2).filter(is_flag).collect();
    let kinds = [Kind::RowFlag, Kind::ComparisonFlag, Kind::RunFlag];
    let flags = words::all().filter(|word| kinds.contains(&word.kind));
    assert_eq!(flags.map(|word| word.word).collect::<BTreeSet<_>>(), on_page);
}

#[test]
fn the_readme_has_at_most_200_lines_and_the_glossary_60_words_in_alphabetical_order() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    assert!(readme.lines().count() <= 200, "README.md has {} lines", readme.lines().count());
    assert!(readme.contains("](docs/README.md)"), "README.md has no link to the other pages");

    let glossary = fs::read_to_string(root().join("docs/reference/GLOSSARY.md")).unwrap();
    let rows = glossary.lines().filter_map(|line| line.strip_prefix("| "));
    let words: Vec<&str> = rows.filter_map(|row| row.split(" |").next()).skip(2).collect();
    assert!(words.len() <= 60, "the glossary has {} words", words.len());
    assert!(words.is_sorted(), "the glossary is not in alphabetical order: {words:?}");
}

#[test]
fn the_script_that_fuzzes_goes_on_after_a_failure_and_adds_up_the_inputs() {
    const FAKE: &str = "#!/bin/sh\necho stat::number_of_executed_units: 500\n[ \"$1\" != b ]\n";
    let copy = tempfile::tempdir().unwrap();
    let at = |name: &str| copy.path().join(name);
    fs::create_dir(at("scripts")).unwrap();
    fs::create_dir_all(at("fuzz/targets")).unwrap();
    fs::copy(root().join("scripts/fuzz.sh"), at("scripts/fuzz.sh")).unwrap();
    for target in ["a", "b", "c"] {
        fs::write(at(&format!("fuzz/targets/{target}.rs")), "").unwrap();
    }
    fs::write(at("fuzz/run.sh"), FAKE).unwrap();
    fs::set_permissions(at("fuzz/run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    let ran = Command::new("sh").arg(at("scripts/fuzz.sh")).args(["-n", "500"]).output().unwrap();
    let text = String::from_utf8(ran.stdout).unwrap();
    assert!(!ran.status.success() && text.contains("c: 500 inputs\n"), "{text}");
    assert!(text.ends_with("1500 inputs over 3 targets; failed: b\n"), "{text}");
}

#[test]
fn every_fuzz_target_is_built_and_has_seeds() {
    let built = fs::read_to_string(root().join("fuzz/Cargo.toml")).unwrap();
    for target in fs::read_dir(root().join("fuzz/targets")).unwrap() {
        let target = target.unwrap().path();
        let name = target.file_stem().unwrap().to_str().unwrap();
        assert!(built.contains(&format!("path = \"targets/{name}.rs\"")), "{name}");
        let seeds = fs::read_dir(root().join("fuzz/seeds").join(name));
        assert!(seeds.unwrap_or_else(|error| panic!("{name}: {error}")).count() > 0, "{name}");
    }
}
