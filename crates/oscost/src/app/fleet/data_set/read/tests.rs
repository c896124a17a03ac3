use std::fs;

use super::super::write_data_set;
use super::*;
use crate::app::fleet::builder::tests::record;

/// Two visits of two nodes of two classes, one of which cannot be claimed, one figure without an
/// error.
fn fleet() -> Fleet {
    let mut builder = FleetBuilder::default();
    for (node, visit) in [("n1", 0), ("n1", 1), ("n2", 0), ("n2", 1)] {
        let mut record = record(node, visit, 1.0 + 0.1 * f64::from(visit));
        if node == "n2" {
            record.machines[0].cpu.model_name = Some("Another, \"CPU\"".to_owned());
            record.machines[0].memory.transparent_huge_pages = Some("never".to_owned());
        }
        if node == "n1" {
            record.machines[0].memory.numa_cpus = Some(vec![vec![0], vec![1]]);
            record.results.iter_mut().for_each(|row| row.target.cpu = Some(visit));
        }
        record.fleet.as_mut().unwrap().exclusive = Some(node == "n1");
        if visit == 1 {
            let machine = record.machines[0].id.clone();
            let conditions = record.conditions.iter_mut().find(|it| it.machine == machine);
            conditions.unwrap().class = Some("very-noisy".to_owned());
        }
        builder.add(record.into()).unwrap();
    }
    builder.finish("monday")
}

/// The files of a data set, below its folder.
fn parts(folder: &Path) -> Vec<String> {
    let name = |part: PathBuf| part.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
    parts_of(folder).unwrap().into_iter().map(name).collect()
}

#[test]
fn what_is_written_is_read_back_to_the_last_bit() {
    let folder = tempfile::tempdir().unwrap();
    let fleet = fleet();
    assert!(fleet.visits.iter().any(|it| it.not_claimable == Some("is very noisy")));
    let numa_nodes: Vec<Option<u32>> = fleet.visits.iter().map(|it| it.numa_node).collect();
    assert_eq!(numa_nodes, [Some(0), Some(1), None, None]);
    write_data_set(&fleet, folder.path()).unwrap();
    assert_eq!(read_data_set(folder.path()).unwrap(), fleet);
    let parts = parts(folder.path());
    assert_eq!(parts.len(), 4, "two days, two classes: {parts:?}");
    assert!(parts[0].starts_with("day=2026-11-21/class="), "{parts:?}");
    assert!(parts[0].contains("/part-monday~0190a0b1-"), "{parts:?}");
    // One part is a data set, too.
    let one = read_data_set(&folder.path().join(&parts[0])).unwrap();
    assert_eq!((one.nodes.len(), one.visits.len()), (1, 1));
}

#[test]
fn a_figure_without_an_error_has_none_when_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let mut fleet = fleet();
    fleet.visits[0].figures[0].log_error = f32::NAN;
    write_data_set(&fleet, folder.path()).unwrap();
    let read = read_data_set(folder.path()).unwrap();
    assert!(read.visits[0].figures[0].log_error.is_nan());
    assert_eq!(read.visits[1..], fleet.visits[1..]);
}

#[test]
fn a_fleet_is_written_again_and_what_else_is_there_stays() {
    let folder = tempfile::tempdir().unwrap();
    let mut fleet = fleet();
    write_data_set(&fleet, folder.path()).unwrap();
    let day = parts(folder.path())[0].split('/').take(2).collect::<Vec<_>>().join("/");
    let foreign = folder.path().join(&day).join("notes.txt");
    fs::write(&foreign, "mine").unwrap();
    fleet.visits.truncate(2);
    write_data_set(&fleet, folder.path()).unwrap();
    assert_eq!(parts(folder.path()).len(), 2);
    assert!(foreign.exists());
    let read = read_data_set(folder.path()).unwrap();
    assert_eq!(read.visits, fleet.visits);
    // Another fleet beside it makes it two data sets.
    fleet.name = "tuesday".to_owned();
    write_data_set(&fleet, folder.path()).unwrap();
    let error = format!("{:#}", read_data_set(folder.path()).unwrap_err());
    assert!(error.contains("it is of another fleet than the first line"), "{error}");
}

#[test]
fn a_run_that_is_in_an_old_and_in_a_new_part_counts_once() {
    let folder = tempfile::tempdir().unwrap();
    let fleet = fleet();
    write_data_set(&fleet, folder.path()).unwrap();
    for part in parts_of(folder.path()).unwrap() {
        fs::copy(&part, part.with_file_name("part-monday~old.parquet")).unwrap();
    }
    assert_eq!(parts(folder.path()).len(), 8);
    assert_eq!(read_data_set(folder.path()).unwrap(), fleet);
}

#[test]
fn what_is_no_data_set_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let error = read_data_set(folder.path()).unwrap_err();
    assert!(error.is::<UsageError>() && error.to_string().contains("has no figures"), "{error}");
    let absent = folder.path().join("absent.parquet");
    read_data_set(&absent).unwrap_err();
    write_data_set(&fleet(), folder.path()).unwrap();
    let part = parts_of(folder.path()).unwrap().remove(0);
    let bytes = fs::read(&part).unwrap();
    fs::write(&part, &bytes[..bytes.len() / 2]).unwrap();
    let error = format!("{:#}", read_data_set(folder.path()).unwrap_err());
    assert!(error.starts_with("cannot read the data set "), "{error}");
    let mut odd = fleet();
    odd.name = "../monday".to_owned();
    assert!(write_data_set(&odd, folder.path()).unwrap_err().is::<UsageError>());
    assert!(not_claimable("drop table").starts_with("is marked"));
}

#[test]
fn a_value_that_no_figure_has_is_refused() {
    type Change = fn(&mut Fleet);
    let changes: [(Change, &str); 4] = [
        (|fleet| fleet.visits[0].figures[0].median = 0.0, "`median` is not above 0"),
        (|fleet| fleet.nodes[0].name = "n 1".to_owned(), "`node` is no name of a node"),
        (|fleet| fleet.cases[0].case = "\u{1b}[2J".to_owned(), "`case` has control characters"),
        (|fleet| fleet.visits[0].figures[0].log_error = -1.0, "`log_error` is below 0"),
    ];
    for (change, words) in changes {
        let folder = tempfile::tempdir().unwrap();
        let mut fleet = fleet();
        change(&mut fleet);
        write_data_set(&fleet, folder.path()).unwrap();
        let error = format!("{:#}", read_data_set(folder.path()).unwrap_err());
        assert!(error.contains(words), "{error}");
    }
}

/// Reads a file, and says whether it has a fleet; an error has its cause and the next step.
fn is_read(path: &Path) -> bool {
    match read_data_set(path) {
        Ok(fleet) => {
            assert!(fleet.visits.iter().all(|it| it.figures.iter().all(|it| it.median > 0.0)));
            true
        }
        Err(error) => {
            let text = format!("{error:#}");
            assert!(text.starts_with("cannot read the data set "), "{text}");
            assert!(text.contains("\n  hint: `oscost fleet report "), "{text}");
            false
        }
    }
}

#[test]
fn a_file_that_is_cut_short_or_changed_is_an_error_or_read() {
    const CHANGES: usize = 600;
    let folder = tempfile::tempdir().unwrap();
    write_data_set(&fleet(), folder.path()).unwrap();
    let whole = fs::read(parts_of(folder.path()).unwrap().remove(0)).unwrap();
    let path = folder.path().join("changed.parquet");
    for length in (0..whole.len()).step_by(whole.len() / 100) {
        fs::write(&path, &whole[..length]).unwrap();
        assert!(!is_read(&path), "{length} of {} bytes", whole.len());
    }
    // A bit of every few bytes, each bit in turn: its pages, their headers, and the metadata.
    let mut refused = 0;
    for change in 0..CHANGES {
        let mut bytes = whole.clone();
        bytes[change * whole.len() / CHANGES] ^= 1 << (change % 8);
        fs::write(&path, &bytes).unwrap();
        refused += usize::from(!is_read(&path));
    }
    assert!(refused > 0, "no change was noticed");
    fs::write(&path, &whole).unwrap();
    assert!(is_read(&path));
}

#[test]
fn metadata_that_would_fill_the_memory_are_refused_by_their_length() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.parquet");
    let end = [&(MAX_METADATA_BYTES + 1).to_le_bytes()[..], b"PAR1"].concat();
    fs::write(&path, [vec![0; 100], end].concat()).unwrap();
    let error = format!("{:#}", read_data_set(&path).unwrap_err());
    assert!(error.contains("its metadata have 4194305 bytes"), "{error}");
}
