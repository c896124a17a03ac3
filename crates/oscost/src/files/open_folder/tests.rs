use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, chown, symlink};

use super::*;

/// An id that no user of a test machine has.
const OTHER: u32 = 12_345;

/// A folder of another user; `None` where this user cannot make one.
fn home_of_other() -> Option<tempfile::TempDir> {
    if !is_root() {
        eprintln!("cannot run here: only root creates files in another user's folder");
        return None;
    }
    let home = tempfile::tempdir().unwrap();
    chown(home.path(), Some(OTHER), Some(OTHER)).unwrap();
    Some(home)
}

fn owner(path: &Path) -> (u32, u32) {
    let metadata = path.symlink_metadata().unwrap();
    (metadata.uid(), metadata.gid())
}

fn name(text: &str) -> &OsStr {
    OsStr::new(text)
}

#[test]
fn folders_are_created_for_their_owner_only_and_existing_ones_unchanged() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("a/b");
    OpenFolder::create(&folder).unwrap();
    OpenFolder::create(&folder).unwrap();
    assert_eq!(folder.metadata().unwrap().mode() & 0o777, 0o700);
    assert_eq!(owner(&folder).0, geteuid().as_raw());
    std::fs::write(home.path().join("file"), "").unwrap();
    for path in ["file", "file/below"] {
        assert!(OpenFolder::create(&home.path().join(path)).is_err(), "{path}");
    }
    symlink("absent", home.path().join("link")).unwrap();
    assert!(OpenFolder::create(&home.path().join("link/below")).is_err());
    assert!(!home.path().join("absent").exists(), "a link was followed");
}

#[test]
fn a_file_is_created_once_and_no_link_in_its_place_is_followed() {
    let home = tempfile::tempdir().unwrap();
    let folder = OpenFolder::open(home.path()).unwrap();
    let created = folder.create_file(name("file")).unwrap();
    assert_eq!(created.metadata().unwrap().mode() & 0o777, 0o600);
    symlink("target", home.path().join("link")).unwrap();
    for existing in ["file", "link"] {
        let error = folder.create_file(name(existing)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{existing}");
    }
    folder.open_file(name("file")).unwrap();
    assert!(folder.open_file(name("link")).is_err());
    assert!(!home.path().join("target").exists());
    folder.rename(name("file"), name("link")).unwrap();
    assert!(home.path().join("link").symlink_metadata().unwrap().is_file());
    folder.remove(name("link")).unwrap();
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn a_file_is_created_in_the_folder_that_was_opened_wherever_its_path_leads_now() {
    let home = tempfile::tempdir().unwrap();
    let [path, moved, elsewhere] = ["folder", "moved", "elsewhere"].map(|it| home.path().join(it));
    let folder = OpenFolder::create(&path).unwrap();
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::rename(&path, &moved).unwrap();
    symlink(&elsewhere, &path).unwrap();
    folder.create_file(name("store.db")).unwrap();
    assert!(moved.join("store.db").exists());
    assert!(!elsewhere.join("store.db").exists());
}

#[test]
fn the_root_of_a_user_namespace_on_the_files_of_the_host_is_a_user() {
    let [host, one, many] = [
        "         0          0 4294967295\n",
        "         0       1000          1\n",
        "         0       1000          1\n         1     100000      65536\n",
    ];
    for (uid_map, owner_of_top, is_user) in [
        (host, 0, false),
        (host, OTHER, false),
        (one, 65_534, true),
        (many, 65_534, true),
        (many, 0, false),
        ("", 65_534, false),
    ] {
        assert_eq!(is_root_of_namespace_only(uid_map, owner_of_top), is_user, "{uid_map}");
    }
}

#[test]
fn a_folder_that_its_user_may_not_list_is_used() {
    if is_root() {
        return eprintln!("cannot run here: root may list any folder");
    }
    let home = tempfile::tempdir().unwrap();
    std::fs::set_permissions(home.path(), Permissions::from_mode(0o300)).unwrap();
    OpenFolder::open(home.path()).unwrap().create_file(name("file")).unwrap();
    std::fs::set_permissions(home.path(), Permissions::from_mode(0o700)).unwrap();
    assert!(home.path().join("file").exists());
}

#[test]
fn a_file_that_cannot_be_given_to_its_owner_is_removed() {
    if geteuid().is_root() {
        return eprintln!("cannot run here: root gives files to anyone");
    }
    let home = tempfile::tempdir().unwrap();
    let folder = open(home.path()).unwrap();
    let owner = NewOwner::OwnerOfFolder { uid: OTHER, gid: OTHER };
    OpenFolder { folder, owner }.create_file(name("file")).unwrap_err();
    assert!(!home.path().join("file").exists());
}

#[test]
fn what_root_creates_in_a_users_folder_belongs_to_the_user() {
    let Some(home) = home_of_other() else { return };
    let folder = OpenFolder::create(&home.path().join(".local/share/oscost")).unwrap();
    folder.create_file(name("file")).unwrap();
    for path in [".local", ".local/share", ".local/share/oscost", ".local/share/oscost/file"] {
        assert_eq!(owner(&home.path().join(path)), (OTHER, OTHER), "{path}");
    }
    folder.check_owner(OTHER).unwrap();
    let error = folder.check_owner(0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
}

#[test]
fn root_follows_a_users_link_only_to_what_is_that_users() {
    let Some(home) = home_of_other() else { return };
    let (roots, users) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    chown(users.path(), Some(OTHER), Some(OTHER)).unwrap();
    symlink(roots.path(), home.path().join("to-root")).unwrap();
    symlink(users.path(), home.path().join("to-user")).unwrap();
    for path in ["to-root", "to-root/oscost"] {
        let error = OpenFolder::create(&home.path().join(path)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{path}");
        assert!(error.to_string().contains(&format!("from a folder of user {OTHER} to")));
    }
    assert!(!may_create_below(&home.path().join("to-root/oscost")));
    assert_eq!(std::fs::read_dir(roots.path()).unwrap().count(), 0);
    OpenFolder::create(&home.path().join("to-user/oscost")).unwrap();
    assert_eq!(owner(&users.path().join("oscost")), (OTHER, OTHER));
    // A link of root's to a user's folder is no reason to follow the next one elsewhere.
    symlink(home.path(), roots.path().join("home")).unwrap();
    let error = OpenFolder::create(&roots.path().join("home/to-root")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    OpenFolder::create(&roots.path().join("home/own")).unwrap();
    assert_eq!(owner(&home.path().join("own")), (OTHER, OTHER));
    // A folder of root's that is really there stays in use.
    std::fs::create_dir(home.path().join("mounted")).unwrap();
    OpenFolder::create(&home.path().join("mounted/oscost")).unwrap();
    assert_eq!(owner(&home.path().join("mounted/oscost")).0, 0);
}

#[test]
fn a_path_is_roots_alone_if_no_part_of_it_can_be_changed_by_others() {
    let Some(home) = home_of_other() else { return };
    let own = tempfile::tempdir().unwrap();
    let own_path = own.path().join("cache/oscost");
    assert!(is_roots_alone(&own_path), "a sticky folder above it does no harm");
    assert!(!is_roots_alone(&home.path().join("cache/oscost")));
    // A link of root's to a user's folder, and one of a user's to root's.
    symlink(home.path(), own.path().join("link")).unwrap();
    assert!(!is_roots_alone(&own.path().join("link/oscost")));
    symlink(own.path(), home.path().join("link")).unwrap();
    assert!(!is_roots_alone(&home.path().join("link/oscost")));
    for (mode, group, is_alone) in [
        (0o777, 0, false),
        (0o1777, 0, false),
        (0o770, OTHER, false),
        (0o770, 0, true),
        (0o755, OTHER, true),
    ] {
        chown(own.path(), None, Some(group)).unwrap();
        std::fs::set_permissions(own.path(), Permissions::from_mode(mode)).unwrap();
        assert_eq!(is_roots_alone(&own_path), is_alone, "{mode:o}, group {group}");
    }
}
