//! Opening a store: a new one, another file, another version, and without permission.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;

use oscost::store::{Cause, Store, StoredRun};
use rusqlite::Connection;

use super::examples::{entries, id, worker};
use super::record::record;
use super::{begin, journal, keep, new_store};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_new_store_and_its_folders_are_private() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data/oscost/store.db");
    let mut store = Store::open(&path).unwrap();
    begin(&mut store, &id(1), 1);
    for made in ["data", "data/oscost"] {
        assert_eq!(mode(&folder.path().join(made)), 0o700, "{made}");
    }
    for made in ["store.db", "store.db-wal", "store.db-shm"] {
        assert_eq!(mode(&folder.path().join("data/oscost").join(made)), 0o600, "{made}");
    }
}

#[test]
fn a_store_that_root_creates_in_a_users_folder_belongs_to_the_user() {
    const OTHER: u32 = 12_345;
    let folder = tempfile::tempdir().unwrap();
    if chown(folder.path(), Some(OTHER), Some(OTHER)).is_err() {
        return eprintln!("cannot run here: only root creates files in another user's folder");
    }
    let path = folder.path().join("data/oscost/store.db");
    let mut store = Store::open(&path).unwrap();
    begin(&mut store, &id(1), 1);
    for made in ["", "oscost", "oscost/store.db", "oscost/store.db-wal", "oscost/store.db-shm"] {
        let made = fs::metadata(folder.path().join("data").join(made)).unwrap();
        assert_eq!((made.uid(), made.gid()), (OTHER, OTHER), "{made:?}");
    }
}

#[test]
fn root_follows_no_link_of_a_users_to_what_is_not_that_users() {
    const OTHER: u32 = 12_345;
    let (home, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    if chown(home.path(), Some(OTHER), Some(OTHER)).is_err() {
        return eprintln!("cannot run here: only root creates files in another user's folder");
    }
    symlink(elsewhere.path(), home.path().join("oscost")).unwrap();
    let error = Store::open(&home.path().join("oscost/store.db")).unwrap_err();
    assert!(matches!(error.cause, Cause::OfOther(_)), "{error}");
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0, "nothing is created there");
    // Nor one in the place of the file.
    let roots = elsewhere.path().join("store.db");
    drop(Store::open(&roots).unwrap());
    symlink(&roots, home.path().join("store.db")).unwrap();
    let error = Store::open(&home.path().join("store.db")).unwrap_err();
    assert!(matches!(error.cause, Cause::OfOther(_)), "{error}");
}

#[test]
fn a_store_of_another_version_is_refused_and_not_changed() {
    let (folder, mut store) = new_store();
    begin(&mut store, &id(1), 1);
    drop(store);
    let path = folder.path().join("store.db");
    let hint_at_older = "delete the file, or move it away to keep it: a new one is created";
    let hint_at_newer = "a newer oscost has written it, and reads it; XDG_DATA_HOME names a folder \
                         for another store";
    for (version, hint) in [(1, hint_at_older), (5, hint_at_older), (9, hint_at_newer)] {
        set_version(&path, version);
        let error = Store::open(&path).unwrap_err();
        let Cause::OtherVersion { found, oldest: 6, newest: 8 } = error.cause else {
            panic!("{error}")
        };
        assert_eq!(found, version);
        let expected = format!(
            "cannot open the store {}: it has version {version}, and this oscost reads versions 6 \
             to 8\n  hint: {hint}",
            path.display()
        );
        assert_eq!(error.to_string(), expected);
    }
    set_version(&path, 7);
    assert_eq!(journal(&Store::open(&path).unwrap(), &id(1)).len(), 1);
}

fn set_version(path: &Path, version: i64) {
    Connection::open(path).unwrap().pragma_update(None, "user_version", version).unwrap();
}

/// The version of a store, as a program of that time would find it.
fn version(path: &Path) -> i64 {
    let conn = Connection::open(path).unwrap();
    conn.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

#[test]
fn an_older_store_is_open_to_older_programs_until_a_run_is_pruned() {
    let (folder, mut store) = new_store();
    let pruned = keep(&mut store, &entries());
    drop(store);
    let path = folder.path().join("store.db");
    set_version(&path, 6);
    assert_eq!(journal(&Store::open_to_read(&path).unwrap(), &pruned), entries());
    let mut store = Store::open(&path).unwrap();
    begin(&mut store, &id(1), 1);
    store.append(&id(1), &worker(0, 5)).unwrap();
    assert_eq!(version(&path), 6);
    store.prune(&pruned, "2026-12-24T00:00:00Z", &record()).unwrap();
    assert_eq!(version(&path), 8, "programs of version 6 would take it for damaged");
    assert_eq!(journal(&store, &id(1)).len(), 2);
}

#[test]
fn an_older_store_keeps_its_imported_records_and_is_current_with_the_next_one() {
    let (folder, store) = new_store();
    drop(store);
    let path = folder.path().join("store.db");
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch("DROP TABLE imported").unwrap();
    let mut old = record();
    old.id = id(7);
    conn.execute(
        "INSERT INTO run (id, started, complete, command, workers, record)
         VALUES (?1, ?2, 1, '[]', 2, ?3)",
        (&old.id, &old.started, serde_json::to_string(&old).unwrap()),
    )
    .unwrap();
    drop(conn);
    set_version(&path, 7);
    let mut store = Store::open(&path).unwrap();
    let loaded = |store: &Store, id: &str| match store.load(id).unwrap() {
        StoredRun::Imported(record) => *record,
        StoredRun::Journal(_) => panic!("it was imported"),
    };
    assert_eq!(loaded(&store, &id(7)), old);
    assert_eq!(store.fleets().unwrap(), []);
    assert_eq!(version(&path), 7);
    store.import(&serde_json::to_vec(&record()).unwrap()).unwrap();
    assert_eq!(version(&path), 8, "programs of version 7 would take it for damaged");
    assert_eq!((loaded(&store, &id(1)), loaded(&store, &id(7))), (record(), old));
}

#[test]
fn a_file_that_is_not_a_database_is_refused_and_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let letter = "Dear Joe, this is a letter and not a database. ".repeat(40);
    for content in [letter.as_str(), "xy"] {
        fs::write(&path, content).unwrap();
        let error = Store::open(&path).unwrap_err();
        assert!(matches!(error.cause, Cause::NotAStore(_)), "{error}");
        let text = error.to_string();
        assert!(text.contains("is not a SQLite database\n  hint: move it away"), "{text}");
        assert_eq!(fs::read_to_string(&path).unwrap(), content);
    }
}

#[test]
fn the_database_of_another_program_is_refused_and_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    for (name, sql) in [
        ("tables", "CREATE TABLE bookmark (url TEXT)"),
        ("version", "PRAGMA user_version = 1"),
        ("application", "PRAGMA application_id = 5; PRAGMA user_version = 1"),
    ] {
        let path = folder.path().join(name);
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        let before = fs::read(&path).unwrap();
        let error = Store::open(&path).unwrap_err();
        assert!(matches!(error.cause, Cause::NotAStore(_)), "{name}: {error}");
        let text = error.to_string();
        assert!(text.contains("the database of another program\n  hint: move"), "{text}");
        assert_eq!(fs::read(&path).unwrap(), before, "{name}");
    }
}

#[test]
fn a_path_below_a_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    for path in [file.join("store.db"), file.join("oscost/store.db")] {
        let error = Store::open(&path).unwrap_err();
        assert!(matches!(error.cause, Cause::Io(_)), "{error}");
        assert!(error.to_string().contains("ot a directory"), "{error}");
    }
    let error = Store::open(folder.path()).unwrap_err();
    assert!(error.to_string().contains("irectory"), "{error}");
}

/// Whether modes bind this user; they do not bind root.
fn permissions_apply(folder: &Path) -> bool {
    let probe = folder.join("probe");
    fs::create_dir(&probe).unwrap();
    fs::set_permissions(&probe, Permissions::from_mode(0o500)).unwrap();
    fs::write(probe.join("file"), "").is_err()
}

#[test]
fn a_folder_or_file_without_write_permission_is_refused_with_that_reason() {
    let (folder, mut store) = new_store();
    if !permissions_apply(folder.path()) {
        println!("skipped: modes do not bind this user");
        return;
    }
    begin(&mut store, &id(1), 1);
    drop(store);
    let path = folder.path().join("store.db");
    let refused = |path: &Path, what: &str| {
        let error = Store::open(path).unwrap_err();
        assert!(matches!(error.cause, Cause::Denied | Cause::ReadOnly), "{what}: {error:?}");
        println!("{error}");
    };

    fs::set_permissions(&path, Permissions::from_mode(0o400)).unwrap();
    refused(&path, "a file for reading");
    fs::set_permissions(&path, Permissions::from_mode(0o000)).unwrap();
    refused(&path, "a file for nothing");
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();

    fs::set_permissions(folder.path(), Permissions::from_mode(0o500)).unwrap();
    refused(&folder.path().join("new.db"), "a new file in a folder for reading");
    refused(&folder.path().join("new/store.db"), "a new folder in a folder for reading");
    refused(&path, "a store in a folder for reading");
    fs::set_permissions(folder.path(), Permissions::from_mode(0o000)).unwrap();
    refused(&path, "a store in a closed folder");

    fs::set_permissions(folder.path(), Permissions::from_mode(0o700)).unwrap();
    let mut store = Store::open(&path).unwrap();
    store.append(&id(1), &worker(0, 1)).unwrap();
}
