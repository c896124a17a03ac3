//! Suggestions for mistyped words of a closed list: treatments, and the words of a profile. Names
//! of benchmarks and cases, which have parts, are searched by `plan::nearest_names`.

/// `; did you mean ...?` if one of the known names is similar to what was typed; otherwise empty.
pub fn did_you_mean<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    const MIN_SIMILARITY: f64 = 0.8;
    const MAX_CHARS: usize = 64;
    let typed: String = typed.chars().take(MAX_CHARS).collect();
    let similarity = |name: &str| strsim::jaro_winkler(name, &typed);
    let best = known.into_iter().max_by(|one, other| similarity(one).total_cmp(&similarity(other)));
    match best.filter(|best| similarity(best) >= MIN_SIMILARITY) {
        Some(best) => format!("; did you mean {best}?"),
        None => String::new(),
    }
}
