//! `oscost ph profiles`, `save` and `load`

use super::super::exit::ExitStatus;
use super::super::output::{Destination, Output, report_line};
use super::super::terminal::Terminal;
use crate::app::ph::{
    self, CallNames, LoadSummary, Pairs, Profile, ProfileText, Profiles, Unreadable, positions,
};
use crate::report;
use crate::report::text::plural;

/// All profiles, a line each.
pub(super) fn write_list(json: bool, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let Profiles { profiles, unreadable } = ph::list()?;
    let rows: Vec<report::ph::Row> = profiles.iter().map(|profile| row(profile, None)).collect();
    if json {
        output.write(&report::ph::profiles_json(&rows, &refused_profiles(unreadable))?)?;
    } else {
        report_unreadable(&unreadable);
        output.show(&report::ph::profiles(&rows))?;
    }
    Ok(ExitStatus::Success)
}

/// The profiles of an executable, with their pairs.
pub(super) fn write_pairs(
    executable: &str,
    json: bool,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let Profiles { profiles, unreadable } = ph::show(executable)?;
    let names = CallNames::native();
    let rows: Vec<report::ph::Row> =
        profiles.iter().map(|profile| row(profile, Some(&names))).collect();
    if json {
        output.write(&report::ph::profiles_json(&rows, &refused_profiles(unreadable))?)?;
    } else {
        report_unreadable(&unreadable);
        output.show(&report::ph::pairs(&rows))?;
    }
    Ok(ExitStatus::Success)
}

/// Files that are not profiles, as they are shown.
pub(super) fn refused_profiles(unreadable: Vec<Unreadable>) -> Vec<report::ph::RefusedProfile> {
    let refused = unreadable.into_iter().map(|Unreadable { file, line, why }| {
        report::ph::RefusedProfile { file, line, reason: why }
    });
    refused.collect()
}

fn report_unreadable(unreadable: &[Unreadable]) {
    unreadable.iter().for_each(|file| report_line(&file.text()));
}

fn row(profile: &Profile, names: Option<&CallNames>) -> report::ph::Row {
    let pairs = |pairs: &Pairs| {
        let names = names?;
        let call = |number| report::ph::Call { number, name: names.name(number).into_owned() };
        let neighbours = pairs.entries().map(|entry| report::ph::Neighbours {
            current: call(entry.current),
            previous: call(entry.previous),
            positions: positions(entry.bits).collect(),
        });
        Some(neighbours.collect())
    };
    report::ph::Row {
        device: profile.key.device,
        inode: profile.key.inode,
        executable: profile.executable.clone(),
        state: profile.state.text(),
        calls: profile.calls,
        train_count: profile.train_count,
        last_mod_count: profile.last_mod_count,
        last_new_at: profile.last_new_at(),
        anomalies: profile.anomalies,
        frozen_at_s: profile.frozen_at_s,
        train_pairs: profile.train.count(),
        test_pairs: profile.test.count(),
        train: pairs(&profile.train),
        test: pairs(&profile.test),
    }
}

/// Deletes the profiles of executables that are gone, and lists them.
pub(super) fn delete_gone(output: &mut Output) -> anyhow::Result<ExitStatus> {
    let gone = ph::delete_gone()?;
    let lines = gone.iter().map(|profile| report::ph::path(&profile.executable) + "\n");
    output.write(&lines.collect::<String>())?;
    let count = plural(gone.len() as u64, "profile");
    report_line(&format!("deleted {count} of executables that are gone"));
    Ok(ExitStatus::Success)
}

/// Writes all profiles that can be read; that some could not is reported, and a failure.
pub(super) fn save(file: &str, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let ProfileText { text, count, unreadable } = ph::save()?;
    Destination::of(file).write(&text, output)?;
    report_unreadable(&unreadable);
    report_line(&format!("saved {}", plural(count as u64, "profile")));
    Ok(if unreadable.is_empty() { ExitStatus::Success } else { ExitStatus::NotMeasured })
}

/// Keeps the profiles of a file.
pub(super) fn load(file: &str, output: &Output) -> anyhow::Result<ExitStatus> {
    let LoadSummary { count, foreign, normal } = ph::load(file, &Terminal::new(output))?;
    report_line(&format!("loaded {}", plural(count as u64, "profile")));
    if foreign > 0 {
        report_line(&format!(
            "note: the executables of {foreign} of them are not here, or have been replaced"
        ));
    }
    if normal > 0 {
        report_line(&format!(
            "note: {normal} of them define what is normal: load them only from a source you trust"
        ));
    }
    Ok(ExitStatus::Success)
}
