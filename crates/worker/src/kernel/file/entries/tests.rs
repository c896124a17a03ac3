use super::*;
use crate::kernel::process::in_own_process;

fn files(folder: &Folder, count: usize) -> u64 {
    folder.add_files(&numbered_names(count).unwrap()).unwrap();
    count as u64
}

#[test]
fn a_folder_is_read_whole_in_as_few_calls_as_the_buffer_allows() {
    in_own_process(|| {
        for (count, calls) in [(0, 2), (10, 2), (1_000, 2), (1_100, 3)] {
            let folder = Folder::new(Location::Tmpfs).unwrap();
            let in_it = files(&folder, count);
            let mut listing = Listing::new(folder.file().try_clone().unwrap(), in_it).unwrap();
            let pass = listing.count().unwrap();
            // 8 characters in 32 bytes, and `.` and `..` in 24 each.
            let expected = ListingPass { entries: in_it + 2, bytes: 32 * in_it + 48, calls };
            assert_eq!(pass, expected, "{count} files");
            assert_eq!(listing.read(), Ok(()));
            let other = folder.entry(c".").open_folder().unwrap();
            assert!(listing.read_another(other).is_ok());
            assert_eq!(listing.read(), Ok(()));
        }
    });
}

#[test]
fn a_folder_that_has_another_number_of_files_is_refused() {
    in_own_process(|| {
        let folder = Folder::new(Location::Tmpfs).unwrap();
        let in_it = files(&folder, 3);
        let listing = Listing::new(folder.file().try_clone().unwrap(), in_it + 1);
        assert_eq!(listing.err(), Some(Errno::CHECK_FAILED));
    });
}

#[test]
fn a_name_that_exists_is_not_missing() {
    in_own_process(|| {
        let folder = Folder::temporary().unwrap();
        for by in [Lookup::Open, Lookup::Stat, Lookup::Access] {
            assert_eq!(folder.entry(c"nothing").look_up_missing(by), Ok(()));
            let existing = folder.entry(TempFolder::SHALLOW_PATH);
            assert_eq!(existing.look_up_missing(by), Err(Errno::EPROTO));
        }
    });
}
