use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

/// A store with one prediction, in a folder of its own.
fn store_of_one() -> (TempDir, PathBuf, Store) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = Store::open(&path).unwrap();
    predict(&store.conn).unwrap();
    (folder, path, store)
}

fn predict(conn: &Connection) -> rusqlite::Result<usize> {
    conn.execute("INSERT INTO prediction (made_at, of_case) VALUES ('now', 'a/b')", [])
}

fn predictions(conn: &Connection) -> i64 {
    conn.query_row("SELECT count(*) FROM prediction", [], |row| row.get(0)).unwrap()
}

fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_store_that_cannot_be_written_is_read_without_a_file_beside_it() {
    let (folder, path, store) = store_of_one();
    drop(store);
    assert_eq!(files(folder.path()), ["store.db"]);
    let conn = open_read_only(&path).unwrap();
    assert_eq!(predictions(&conn), 1);
    let refused = conn.execute("DELETE FROM prediction", []).map_err(Cause::from);
    assert!(matches!(refused, Err(Cause::ReadOnly)), "{refused:?}");
    drop(conn);
    assert_eq!(files(folder.path()), ["store.db"]);
}

#[test]
fn a_store_that_cannot_be_written_is_read_with_its_log_or_not_at_all() {
    let (folder, path, _writer) = store_of_one();
    assert_eq!(predictions(&open_read_only(&path).unwrap()), 1, "it is in the log");
    // A copy, beside which SQLite can make no index of the log.
    let copy = folder.path().join("copy.db");
    std::fs::copy(&path, &copy).unwrap();
    std::fs::copy(log_path(&path), log_path(&copy)).unwrap();
    symlink("/no/such/file", folder.path().join("copy.db-shm")).unwrap();
    let error = Store::opened(&copy, open_read_only(&copy)).unwrap_err();
    assert!(matches!(error.cause, Cause::UnreadableLog), "{error}");
    assert!(error.to_string().contains("\n  hint: copy its folder"), "{error}");
}

#[test]
fn a_store_that_is_gone_is_not_opened_again_nor_created() {
    let (folder, path, store) = store_of_one();
    assert_eq!(predictions(&store.open_again_to_read().unwrap().conn), 1);
    let moved = folder.path().join("moved.db");
    std::fs::rename(&path, &moved).unwrap();
    store.open_again_to_read().unwrap_err();
    assert!(!path.exists(), "it was created");
    std::fs::copy(&moved, &path).unwrap();
    let error = store.open_again_to_read().unwrap_err();
    assert!(matches!(error.cause, Cause::Gone), "{error}");
}

#[test]
fn a_store_of_another_user_is_not_read_through_a_link_either() {
    let (_folder, path, store) = store_of_one();
    drop(store);
    let home = tempfile::tempdir().unwrap();
    if std::os::unix::fs::chown(home.path(), Some(12_345), None).is_err() {
        return eprintln!("cannot run here: only root gives a folder to another user");
    }
    let link = home.path().join("store.db");
    symlink(&path, &link).unwrap();
    let error = Store::open_to_read(&link).unwrap_err();
    assert!(matches!(error.cause, Cause::OfOther(_)), "{error}");
    let text = error.to_string();
    assert!(text.contains(" of user 12345 to what belongs to user 0\n  hint: "), "{text}");
    assert!(text.contains("`chown -h 12345 FILE`"), "{text}");
}

#[test]
fn an_empty_file_is_not_read_as_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    create(&path).unwrap();
    assert!(matches!(open_read_only(&path), Err(Cause::NotAStore(_))));
}

#[test]
fn a_store_that_is_changed_in_place_has_no_log() {
    let (folder, path, store) = store_of_one();
    // What is in the log of a process that was killed is moved into the file.
    let killed = folder.path().join("killed.db");
    std::fs::copy(&path, &killed).unwrap();
    std::fs::copy(log_path(&path), log_path(&killed)).unwrap();
    drop(store);
    let conn = open_in_place(&killed).unwrap();
    assert_eq!(predictions(&conn), 1);
    predict(&conn).unwrap();
    assert_eq!(files(folder.path()), ["killed.db", "store.db"]);
    drop(conn);
    // The next one that opens it has a log again.
    let store = Store::open(&killed).unwrap();
    let mode: String =
        store.conn.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    assert_eq!((predictions(&store.conn), mode.as_str()), (2, "wal"));
}

#[test]
fn a_path_of_any_bytes_is_a_uri() {
    let plain = uri(Path::new("/home/joe/.a-b_c/store.db"), Changes::ByOthers);
    assert_eq!(plain, "file:///home/joe/.a-b_c/store.db");
    let special = uri(Path::new("/a b?c#d%e&\u{e9}"), Changes::None);
    assert_eq!(special, "file:///a%20b%3Fc%23d%25e%26%C3%A9?immutable=1");
}
