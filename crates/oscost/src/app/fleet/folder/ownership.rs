//! Whether a folder is this user's alone: what is in it says which programs are started.

use std::fs::Metadata;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::unistd::geteuid;

use crate::app::error::UsageError;

/// The bits of a mode that let the group or others write.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Refuses a folder that another user has or may write to, or that has such an entry of these names.
/// What is absent is not refused: into a folder of one's own no other user can put it.
pub(super) fn check(folder: &Path, entries: &[&str]) -> anyhow::Result<()> {
    check_link(folder)?;
    check_owner(folder, folder.metadata())?;
    entries.iter().map(|name| folder.join(name)).try_for_each(|path| {
        let found = path.symlink_metadata();
        check_owner(&path, found)
    })
}

/// The folder itself may be a link, but none that a stranger can point elsewhere.
fn check_link(folder: &Path) -> anyhow::Result<()> {
    match folder.symlink_metadata() {
        Ok(found) if found.is_symlink() && found.uid() != 0 && !is_own(&found) => {
            Err(of_another(folder, "the link there", found.uid()))
        }
        _ => Ok(()),
    }
}

fn check_owner(path: &Path, found: io::Result<Metadata>) -> anyhow::Result<()> {
    let found = match found {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(());
        }
        Err(error) => {
            anyhow::bail!("cannot use {}: {error}\n  hint: name a new folder", path.display())
        }
        Ok(found) => found,
    };
    if !is_own(&found) {
        return Err(of_another(path, "it", found.uid()));
    }
    if found.is_symlink() {
        let what = format!("cannot use {}: it is a symbolic link", path.display());
        return Err(UsageError::with_hint(&what, "name a new folder").into());
    }
    let mode = found.mode() & 0o7777;
    if mode & WRITABLE_BY_OTHERS != 0 {
        let what =
            format!("cannot use {}: other users may write to it (mode {mode:o})", path.display());
        let hint = format!("name a new folder, or `chmod go-w {}`", path.display());
        return Err(UsageError::with_hint(&what, &hint).into());
    }
    Ok(())
}

fn is_own(found: &Metadata) -> bool {
    found.uid() == geteuid().as_raw()
}

fn of_another(path: &Path, what: &str, uid: u32) -> anyhow::Error {
    let what = format!("cannot use {}: {what} belongs to another user, {uid}", path.display());
    let hint = "name a new folder: the owner of this one could change what is run";
    UsageError::with_hint(&what, hint).into()
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, create_dir, set_permissions, write};
    use std::os::unix::fs::{PermissionsExt, lchown, symlink};

    use super::*;

    /// The user `nobody`.
    const STRANGER: u32 = 65_534;

    fn refusal(folder: &Path) -> String {
        check(folder, &["plan", "logs"]).map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn what_others_may_write_is_refused_and_what_is_absent_is_not() {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("folder");
        assert_eq!(refusal(&folder), "");
        create_dir(&folder).unwrap();
        let mode = |path: &Path, mode| set_permissions(path, Permissions::from_mode(mode)).unwrap();
        for allowed in [0o700, 0o755] {
            mode(&folder, allowed);
            assert_eq!(refusal(&folder), "");
        }
        for refused in [0o775, 0o757, 0o1777] {
            mode(&folder, refused);
            let why = refusal(&folder);
            assert!(why.contains(&format!("other users may write to it (mode {refused:o})")));
            assert!(why.contains("\n  hint: ") && why.contains("`chmod go-w "), "{why}");
        }
        mode(&folder, 0o700);
        let plan = folder.join("plan");
        write(&plan, "").unwrap();
        mode(&plan, 0o664);
        assert!(refusal(&folder).contains("folder/plan: other users may write to it (mode 664)"));
        mode(&plan, 0o600);
        assert_eq!(refusal(&folder), "");
        symlink("plan", folder.join("logs")).unwrap();
        assert!(refusal(&folder).contains("folder/logs: it is a symbolic link"));
    }

    #[test]
    fn what_another_user_has_is_refused() {
        if !geteuid().is_root() {
            eprintln!("skipped: only root can give a file to another user");
            return;
        }
        let above = tempfile::tempdir().unwrap();
        let (folder, link) = (above.path().join("folder"), above.path().join("link"));
        create_dir(&folder).unwrap();
        set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
        symlink("folder", &link).unwrap();
        assert_eq!(refusal(&link), "");
        lchown(&link, Some(STRANGER), None).unwrap();
        let why = refusal(&link);
        assert!(why.contains("link: the link there belongs to another user, 65534"), "{why}");
        create_dir(folder.join("logs")).unwrap();
        lchown(folder.join("logs"), Some(STRANGER), None).unwrap();
        assert!(refusal(&folder).contains("folder/logs: it belongs to another user, 65534"));
        lchown(&folder, Some(STRANGER), None).unwrap();
        assert!(refusal(&folder).contains("folder: it belongs to another user, 65534\n  hint: "));
    }
}
