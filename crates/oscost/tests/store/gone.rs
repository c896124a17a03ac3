//! A store whose file or folder is deleted or replaced while a process has it open.

use std::fs;
use std::path::{Path, PathBuf};

use oscost::store::{Cause, Store};
use tempfile::TempDir;

use super::examples::{id, worker};
use super::{begin, journal};

/// A store two folders below a new one, with a run.
fn store_with_run(number: u32) -> (TempDir, PathBuf, Store) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data/oscost/store.db");
    let mut store = Store::open(&path).unwrap();
    begin(&mut store, &id(number), 1);
    store.append(&id(number), &worker(0, 50)).unwrap();
    (folder, path, store)
}

/// Appends to the run of a store that is gone.
fn append_in_vain(store: &mut Store, number: u32) {
    let error = store.append(&id(number), &worker(1, 50)).unwrap_err();
    assert!(matches!(error.cause, Cause::Gone), "{error}");
    assert!(error.to_string().contains("was deleted or replaced"), "{error}");
}

/// Checks a store as another process finds it: the runs that it has, the first of them whole.
fn check(path: &Path, numbers: &[u32]) {
    let store = Store::open(path).unwrap();
    let mut found: Vec<String> = store.list().unwrap().into_iter().map(|run| run.id).collect();
    found.sort();
    let mut expected: Vec<String> = numbers.iter().copied().map(id).collect();
    expected.sort();
    assert_eq!(found, expected);
    let entries = journal(&store, &id(numbers[0]));
    assert_eq!(entries[1..], [0, 1, 2].map(|row| worker(row, 50)));
}

#[test]
fn a_run_moves_to_a_new_store_when_its_folder_is_deleted() {
    let (folder, path, mut store) = store_with_run(1);
    store.check_place().unwrap();
    fs::remove_dir_all(folder.path().join("data")).unwrap();
    assert!(matches!(store.check_place().unwrap_err().cause, Cause::Gone));
    append_in_vain(&mut store, 1);
    assert!(!path.exists());
    store.move_to_new_file(&id(1)).unwrap();
    store.append(&id(1), &worker(2, 50)).unwrap();
    check(&path, &[1]);
    drop(store);
    check(&path, &[1]);
}

#[test]
fn a_run_moves_to_the_store_that_replaced_its_own() {
    let (folder, path, mut store) = store_with_run(1);
    let (_other_folder, other_path, other) = store_with_run(2);
    drop(other);
    fs::rename(other_path, folder.path().join("new")).unwrap();
    replace(&path, &folder.path().join("new"));
    append_in_vain(&mut store, 1);
    store.move_to_new_file(&id(1)).unwrap();
    store.append(&id(1), &worker(2, 50)).unwrap();
    drop(store);
    check(&path, &[1, 2]);
}

/// Puts another file in the place of a store that is open.
fn replace(path: &Path, by: &Path) {
    fs::rename(by, path).unwrap();
    // The log and its index belonged to the old file.
    for ending in ["-wal", "-shm"] {
        fs::remove_file(format!("{}{ending}", path.display())).unwrap();
    }
}

#[test]
fn a_run_is_continued_in_an_earlier_copy_of_its_store() {
    let (folder, path, store) = store_with_run(1);
    drop(store);
    let copy = folder.path().join("copy");
    fs::copy(&path, &copy).unwrap();
    let mut store = Store::open(&path).unwrap();
    begin(&mut store, &id(2), 2);
    replace(&path, &copy);
    append_in_vain(&mut store, 1);
    store.move_to_new_file(&id(1)).unwrap();
    store.append(&id(1), &worker(2, 50)).unwrap();
    assert_eq!(store.list().unwrap()[0].workers, 3);
    drop(store);
    check(&path, &[1]);
}

#[test]
fn a_run_does_not_replace_another_one_of_its_id() {
    let (folder, path, mut store) = store_with_run(1);
    let other_path = folder.path().join("other");
    let mut other = Store::open(&other_path).unwrap();
    begin(&mut other, &id(1), 1);
    other.append(&id(1), &worker(7, 50)).unwrap();
    drop(other);
    replace(&path, &other_path);
    append_in_vain(&mut store, 1);
    let error = store.move_to_new_file(&id(1)).unwrap_err();
    assert!(matches!(error.cause, Cause::Exists), "{error}");
    let kept = Store::open(&path).unwrap();
    assert_eq!(journal(&kept, &id(1))[1..], [worker(7, 50)]);
}

#[test]
fn a_run_that_cannot_move_is_an_error_with_the_reason() {
    let (folder, _path, mut store) = store_with_run(1);
    fs::remove_dir_all(folder.path().join("data")).unwrap();
    fs::write(folder.path().join("data"), "").unwrap();
    append_in_vain(&mut store, 1);
    let error = store.move_to_new_file(&id(1)).unwrap_err();
    assert!(error.to_string().starts_with("cannot open the store"), "{error}");
    assert!(error.to_string().contains("ot a directory"), "{error}");
}
