use super::*;
use std::os::unix::fs::MetadataExt;

#[test]
fn a_file_without_a_name_has_its_room_and_no_link() {
    for location in [Location::UserFolder, Location::Tmpfs] {
        let file = match unnamed_file(location, 1 << 20) {
            Ok(file) => file,
            Err(error) => {
                eprintln!("cannot run here: {error}");
                continue;
            }
        };
        let metadata = file.metadata().unwrap();
        assert_eq!((metadata.nlink(), metadata.len()), (0, 1 << 20), "{location:?}");
    }
}

#[test]
fn a_file_that_does_not_fit_says_how_much_is_needed_and_the_way_out() {
    // Beyond what any file system here can hold, and below what fallocate(2) takes.
    let error = unnamed_file(Location::UserFolder, 1 << 43).unwrap_err();
    let words = error.to_string();
    match error {
        Errno::UNAVAILABLE => assert!(words.contains("file_mib"), "{words}"),
        Errno(libc::EFBIG) => eprintln!("not tested: files cannot be that large here"),
        other => panic!("{other}"),
    }
}

#[test]
fn what_has_a_name_is_removed_with_its_value_and_by_its_name() {
    let folder = PrivateFolder::new(Location::UserFolder).unwrap();
    let path = folder.0.clone();
    File::create(path.join("inside")).unwrap();
    drop(folder);
    assert!(!path.exists());
    let folder = PrivateFolder::new(Location::UserFolder).unwrap();
    remove_leftovers(UNSUPERVISED_MARK, std::process::id(), Path::new("."));
    assert!(!folder.0.exists());
}

#[test]
fn semaphores_of_a_killed_session_are_found_by_the_record_of_their_job() {
    let mark = format!("oscost-test-record-{}", std::process::id());
    let scratch = std::env::temp_dir().join(&mark);
    fs::create_dir(&scratch).unwrap();
    let name = leftover_name(&mark, 7);
    // SAFETY: plain numbers; no memory is accessed.
    let find = |flags: i32| unsafe { libc::semget(semaphore_key(&name), 1, 0o600 | flags) };
    if find(libc::IPC_CREAT) < 0 {
        eprintln!("cannot run here: {}", Errno::last());
    } else {
        fs::write(scratch.join(&name), "").unwrap();
        remove_all_leftovers(&mark, &scratch, &scratch);
        assert!(find(0) < 0, "they are still there");
    }
    fs::remove_dir_all(scratch).unwrap();
}
