//! The files of the workloads that come with oscost, and the names of all workloads.

/// The built-in workloads: their names and their files, those of the studies first.
pub(in crate::workloads) const FILES: &[(&str, &str)] = &[
    ("kernel-build", include_str!("../../../../../workloads/kernel-build.toml")),
    ("find", include_str!("../../../../../workloads/find.toml")),
    ("frames", include_str!("../../../../../workloads/frames.toml")),
    ("compile", include_str!("../../../../../workloads/compile.toml")),
    ("tar", include_str!("../../../../../workloads/tar.toml")),
    ("sqlite", include_str!("../../../../../workloads/sqlite.toml")),
    ("http", include_str!("../../../../../workloads/http.toml")),
    ("cs161", include_str!("../../../../../workloads/cs161.toml")),
    ("cs161-kept-pid", include_str!("../../../../../workloads/cs161-kept-pid.toml")),
    ("cse221", include_str!("../../../../../workloads/cse221.toml")),
    ("cse221-call", include_str!("../../../../../workloads/cse221-call.toml")),
    ("ph2000", include_str!("../../../../../workloads/ph2000.toml")),
    ("output", include_str!("../../../../../workloads/output.toml")),
];

/// The longest name of a workload, which is a column of tables.
pub(in crate::workloads) const MAX_NAME_CHARS: usize = 24;

/// Whether a workload of that name comes with oscost. The figures of others must not be mixed with
/// its figures.
pub(in crate::workloads) fn is_built_in(name: &str) -> bool {
    FILES.iter().any(|(file_name, _)| *file_name == name)
}

/// A benchmark name for a program or a file, by its path; never that of a built-in workload.
pub(in crate::workloads) fn name_of(path: &str) -> String {
    let base = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let mut name = String::new();
    for letter in base.chars() {
        let letter = letter.to_ascii_lowercase();
        match letter {
            'a'..='z' | '0'..='9' => name.push(letter),
            _ if name.is_empty() || name.ends_with('-') => {}
            _ => name.push('-'),
        }
        if name.len() == MAX_NAME_CHARS {
            break;
        }
    }
    match name.trim_end_matches('-') {
        "" => "command".to_owned(),
        name if is_built_in(name) => format!("{name}-command"),
        name => name.to_owned(),
    }
}
