use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn a_file_is_replaced_with_its_mode_and_owner_and_through_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let (file, link) = (folder.path().join("file"), folder.path().join("link"));
    write(&file, b"one").unwrap();
    std::fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
    symlink("file", &link).unwrap();
    check(&link).unwrap();
    write(&link, b"two").unwrap();
    assert!(link.is_symlink());
    assert_eq!(read(&file), "two");
    let metadata = file.metadata().unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o640);
    if geteuid().is_root() {
        std::os::unix::fs::chown(&file, Some(12_345), Some(54_321)).unwrap();
        write(&file, b"three").unwrap();
        let metadata = file.metadata().unwrap();
        assert_eq!((metadata.uid(), metadata.gid()), (12_345, 54_321));
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "nothing is left beside");
}

#[test]
fn a_new_file_has_the_mode_that_the_umask_leaves() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    write(&file, b"text").unwrap();
    // As another program of this process would create it.
    let other = folder.path().join("other");
    std::fs::write(&other, "text").unwrap();
    assert_eq!(file.metadata().unwrap().mode(), other.metadata().unwrap().mode());
}

#[test]
fn a_named_pipe_is_written_and_stays() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let path = pipe.clone();
    let reader = std::thread::spawn(move || read(&path));
    check(&pipe).unwrap();
    write(&pipe, b"text").unwrap();
    assert_eq!(reader.join().unwrap(), "text");
    assert!(!pipe.metadata().unwrap().is_file());
}

#[test]
fn a_link_to_a_file_that_is_not_there_creates_it() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("link");
    symlink("later", &link).unwrap();
    write(&link, b"text").unwrap();
    assert!(link.is_symlink());
    assert_eq!(read(&folder.path().join("later")), "text");
}

#[test]
fn a_circle_of_links_is_an_error_and_a_chain_as_long_as_the_kernel_follows_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let link = |number: usize| folder.path().join(format!("link-{number}"));
    for number in 0..=MAX_LINKS {
        symlink(link(number + 1), link(number)).unwrap();
    }
    let is_circle = |error: &io::Error| error.raw_os_error() == Some(nix::libc::ELOOP);
    assert!(is_circle(&write(&link(0), b"text").unwrap_err()));
    write(&link(1), b"text").unwrap();
    assert_eq!(read(&link(MAX_LINKS + 1)), "text");
    assert!(link(1).is_symlink());
    let circle = folder.path().join("circle");
    symlink("circle", &circle).unwrap();
    for refused in [check(&circle), write(&circle, b"text")] {
        assert!(is_circle(&refused.unwrap_err()));
    }
    assert!(circle.is_symlink());
}

#[test]
fn what_dev_and_proc_name_is_written_and_never_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("redirected");
    let open = File::options().append(true).create(true).open(&file).unwrap();
    std::fs::write(&file, "before ").unwrap();
    let fd = std::os::fd::AsRawFd::as_raw_fd(&open);
    for name in [format!("/dev/fd/{fd}"), format!("/proc/self/fd/{fd}")] {
        let path = Path::new(&name);
        check(path).unwrap();
        write(path, b"text ").unwrap();
    }
    // A link to such a name, in a folder of the user.
    let link = folder.path().join("link");
    symlink(format!("/proc/self/fd/{fd}"), &link).unwrap();
    write(&link, b"end").unwrap();
    assert!(link.is_symlink());
    assert_eq!(read(&file), "before text text end");
    write(Path::new("/dev/null"), b"text").unwrap();
    assert_eq!(write_mode(Path::new("/dev/null")).unwrap(), WriteMode::Append);
}

#[test]
fn a_new_name_in_dev_or_proc_is_refused_before_anything_is_measured() {
    for name in ["/dev/oscost-new", "/proc/oscost-new", "/proc/self/fd/4321", "/dev/fd/4321"] {
        let path = Path::new(name);
        for refused in [check(path), write(path, b"text")] {
            let refused = refused.unwrap_err();
            assert!(refused.to_string().contains("nothing is created in /dev"), "{refused}");
        }
        assert!(!path.exists(), "{name}");
    }
}

#[test]
fn a_regular_file_of_dev_is_written_in_place_and_one_of_proc_at_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "longer than the new one").unwrap();
    assert_eq!(write_mode_of(file.clone(), Place::Processes).unwrap(), WriteMode::Append);
    let in_dev = write_mode_of(file.clone(), Place::Devices).unwrap();
    assert_eq!(in_dev, WriteMode::Overwrite(file.clone()));
    overwrite(&file, b"new").unwrap();
    assert_eq!(read(&file), "new");
}

#[test]
fn shared_memory_is_a_folder_of_users() {
    let device = |path: &str| Path::new(path).metadata().map(|it| it.dev()).ok();
    if [None, device(DEVICES)].contains(&device("/dev/shm")) {
        return eprintln!("cannot run here: /dev/shm is no file system of its own");
    }
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let (file, link) = (folder.path().join("file"), folder.path().join("link"));
    symlink("file", &link).unwrap();
    for text in ["first", "second"] {
        check(&link).unwrap();
        write(&link, text.as_bytes()).unwrap();
        assert_eq!(read(&file), text);
    }
    assert_eq!(place_of(&file), Place::Users);
    assert_eq!(place_of(Path::new("/dev/null")), Place::Devices);
    assert_eq!(place_of(Path::new("/proc/self/fd/1")), Place::Processes);
}

#[test]
fn a_new_name_that_ends_in_a_slash_is_refused_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("name/");
    for refused in [check(&path), write(&path, b"text")] {
        assert!(refused.unwrap_err().to_string().contains("ends in a slash"));
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_file_of_another_user_in_a_folder_of_all_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "text").unwrap();
    let other = Uid::from_raw(geteuid().as_raw() + 12_345);
    for (mode, user, is_kept) in [
        (0o1777, other, true),
        (0o1777, geteuid(), false),
        (0o1777, nix::unistd::ROOT, false),
        (0o777, other, false),
    ] {
        std::fs::set_permissions(folder.path(), Permissions::from_mode(mode)).unwrap();
        let metadata = |path: &Path| path.metadata().unwrap();
        let found = is_kept_from(user, &metadata(folder.path()), &metadata(&file));
        assert_eq!(found, is_kept, "{mode:o} {user}");
    }
    check(&file).unwrap();
}

#[test]
fn a_file_at_which_something_is_mounted_is_overwritten() {
    let busy = io::Error::from_raw_os_error(nix::libc::EBUSY);
    assert!(prevents_replacement(&busy), "{busy}");
    let full = io::Error::from_raw_os_error(nix::libc::ENOSPC);
    assert!(!prevents_replacement(&full), "{full}");
}

#[test]
fn a_socket_is_refused_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    for refused in [check(&socket), write(&socket, b"text")] {
        assert!(refused.unwrap_err().to_string().contains("it is a socket"));
    }
}

#[test]
fn a_folder_and_a_file_in_a_folder_that_is_not_there_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(write(folder.path(), b"").unwrap_err().kind(), ErrorKind::IsADirectory);
    let path = folder.path().join("absent").join("file");
    assert_eq!(check(&path).unwrap_err().kind(), ErrorKind::NotFound);
}
