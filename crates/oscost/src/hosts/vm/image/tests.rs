//! Made-up images, packages and folders of kernels.

use std::fs;
use std::os::unix::net::UnixListener;
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::command::{CommandError, RunningCommand};
use super::header::Header;
use super::local_kernels::{newest_first, package_of, version_of};
use super::package::{is_package_name, next_package};
use super::tar::{TarError, find_file};
use super::*;

const DEBIAN: &str = "6.1.0-56-cloud-amd64 (debian-kernel@lists.debian.org) #1 SMP \
                      PREEMPT_DYNAMIC Debian 6.1.192-2 (2026-11-16)";

/// An image of 1 KiB: a setup of two sectors, the text at its end, and no code behind it.
fn image(text: &str) -> Vec<u8> {
    let mut image = vec![0; 1024];
    image[0x1f1] = 1;
    image[0x1fe..0x200].copy_from_slice(&[0x55, 0xaa]);
    image[0x202..0x206].copy_from_slice(b"HdrS");
    image[0x206..0x208].copy_from_slice(&[0x0f, 0x02]);
    image[0x20e..0x210].copy_from_slice(&[0x80, 0x00]);
    image[0x211] = 1;
    image[0x236] = 0x7f;
    image[0x280..0x280 + text.len()].copy_from_slice(text.as_bytes());
    image
}

/// The same with other bytes somewhere.
fn with(at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut image = image(DEBIAN);
    image[at..at + bytes.len()].copy_from_slice(bytes);
    image
}

/// A file in a folder of the test's own.
fn file(folder: &TempDir, name: &str, bytes: &[u8]) -> String {
    let path = folder.path().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A machine that has nothing but what stands in the folder.
fn shelf(folder: &TempDir) -> LocalKernels {
    LocalKernels { root: folder.path().join("root"), folder: Some(folder.path().join("cache")) }
}

fn found(named: &str) -> Result<Kernel, ImageError> {
    shelf(&TempDir::new().unwrap()).kernel(named)
}

/// A package with these files in it, made by dpkg-deb; `None` where that is not there.
fn package(folder: &TempDir, name: &str, control: &str, files: &[(&str, &[u8])]) -> Option<String> {
    let tree = TempDir::new_in(folder.path()).unwrap();
    // dpkg-deb wants the folder of its own files to be open to all.
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(tree.path(), open).unwrap();
    let control = format!(
        "Package: {name}\nVersion: 1\nArchitecture: all\nMaintainer: nobody <no@body>\n\
         {control}Description: made up\n"
    );
    file(&tree, "DEBIAN/control", control.as_bytes());
    for (path, bytes) in files {
        file(&tree, path, bytes);
    }
    let package = folder.path().join(format!("{name}_1_all.deb"));
    let mut command = Command::new("dpkg-deb");
    command.args(["--root-owner-group", "-Zgzip", "--build"]).arg(tree.path()).arg(&package);
    match command.output() {
        Ok(made) => assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr)),
        Err(_) => return None,
    }
    Some(package.to_str().unwrap().to_owned())
}

#[test]
fn an_image_says_its_release_and_its_build() {
    let header = Header::read(&image(DEBIAN)).unwrap();
    assert_eq!(header.release, "6.1.0-56-cloud-amd64");
    assert_eq!(header.build.as_deref(), Some("6.1.192-2"));
    let ubuntu = image("6.8.0-31-generic (buildd@lcy02) #31-Ubuntu SMP PREEMPT_DYNAMIC");
    let header = Header::read(&ubuntu).unwrap();
    assert_eq!(header.build.as_deref(), Some("#31-Ubuntu"));
    assert_eq!(Header::read(&image("6.12.0")).unwrap().build, None);
}

#[test]
fn a_file_is_read_whole_and_known_by_its_content() {
    let folder = TempDir::new().unwrap();
    // What follows the code, a signature, belongs to the image.
    let bytes = [image(DEBIAN), b"signature".to_vec()].concat();
    let path = file(&folder, "bzImage", &bytes);
    let kernel = found(&path).unwrap();
    assert_eq!((kernel.requested.as_str(), kernel.file.to_str().unwrap()), (&*path, &*path));
    assert_eq!(kernel.version, "6.1.0-56-cloud-amd64");
    assert_eq!(kernel.hash, oscost_model::hash::content(&bytes));
    assert_eq!((kernel.image, kernel.note), (bytes, None));
}

#[test]
fn what_is_no_kernel_is_refused_in_words() {
    let folder = TempDir::new().unwrap();
    let mut arm = vec![0; 64];
    arm[56..60].copy_from_slice(b"ARM\x64");
    let long = "x".repeat(65);
    let cases: &[(&str, Vec<u8>, &str)] = &[
        ("empty", vec![], "it is empty"),
        ("text", b"no kernel at all".to_vec(), "has no boot sector"),
        ("flag", with(0x1fe, &[0, 0]), "has no boot sector"),
        ("magic", with(0x202, b"Hdrs"), "has no boot sector"),
        ("vmlinux", b"\x7fELF\x02\x01".to_vec(), "arch/x86/boot/bzImage"),
        ("arm64", arm, "aarch64"),
        ("initrd.gz", b"\x1f\x8b\x08".to_vec(), "packed by gzip"),
        ("initrd.zst", b"\x28\xb5\x2f\xfd".to_vec(), "packed by zstd"),
        ("initrd", b"070701".to_vec(), "cpio"),
        ("cut-header", image(DEBIAN)[..0x210].to_vec(), "cut short within its header"),
        ("cut-setup", image("6.1 ")[..0x284].to_vec(), "names no release"),
        ("cut-code", with(0x1f4, &[1, 0, 0, 0]), "speaks of 1040 bytes, and there are 1024"),
        ("huge-code", with(0x1f4, &[0xff; 4]), "it is cut short"),
        ("old", with(0x206, &[5, 2]), "boot protocol 2.05"),
        ("32-bit", with(0x236, &[0, 0]), "32-bit kernel"),
        ("zimage", with(0x211, &[0]), "zImage"),
        ("no-text", with(0x20e, &[0, 0]), "names no release"),
        ("text-outside", with(0x20e, &[0xff, 0xff]), "names no release"),
        ("text-behind-setup", with(0x20e, &[0, 2]), "names no release"),
        ("text-without-end", with(0x280, &[b'a'; 0x180]), "names no release"),
        ("steers", image("6.1\x1b[2J rest"), "names no release"),
        ("blank", image("  "), "names no release"),
        ("long", image(&long), "names no release"),
    ];
    for (name, bytes, words) in cases {
        let error = found(&file(&folder, name, bytes)).unwrap_err().to_string();
        assert!(error.contains(words) && error.contains("\n  hint: "), "{name}: {error}");
        assert!(error.starts_with("cannot use the kernel `/"), "{error}");
    }
    // A kernel of boot protocol 2.11 does not say whether it has a 64-bit entry.
    let silent = [with(0x206, &[0x0b, 2]), vec![]].concat();
    found(&file(&folder, "silent", &silent)).unwrap();
}

#[test]
fn what_is_no_plain_file_or_too_large_is_not_read() {
    let folder = TempDir::new().unwrap();
    let refuses = |path: &str, words: &str| {
        let error = found(path).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    };
    refuses(folder.path().to_str().unwrap(), "is a folder");
    refuses("/dev/zero", "is not a regular file");
    let socket = folder.path().join("socket");
    let _listener = UnixListener::bind(&socket).unwrap();
    refuses(socket.to_str().unwrap(), "is not a regular file");
    refuses("/no/such/kernel", "No such file");
    refuses("no-such.deb", "No such file");
    let large = folder.path().join("large");
    fs::File::create(&large).unwrap().set_len(MAX_IMAGE_BYTES + 1).unwrap();
    refuses(large.to_str().unwrap(), "more than 256 MiB");
    refuses("", "the name is empty");
    let error = found(&format!("{}/\x1b[2J\u{202e}", "x".repeat(5_000))).unwrap_err();
    assert!(error.to_string().len() < 1_500 && !error.to_string().contains('\x1b'), "{error}");
}

#[test]
fn a_package_s_kernel_is_found_and_one_without_is_named() {
    let folder = TempDir::new().unwrap();
    let kernel = image(DEBIAN);
    let files: &[(&str, &[u8])] = &[
        ("boot/System.map-6.1", b"map"),
        ("boot/vmlinuz-6.1.0-56-cloud-amd64", &kernel),
        ("lib/modules/6.1/big.ko", &[7; 100_000]),
    ];
    let Some(path) = package(&folder, "linux-image-6.1", "", files) else {
        return skipped();
    };
    let read = found(&path).unwrap();
    assert_eq!((read.version.as_str(), &read.image), ("6.1.0-56-cloud-amd64", &kernel));
    let newer: &[(&str, &[u8])] = &[("usr/lib/modules/6.1/vmlinuz", &kernel)];
    let path = package(&folder, "newer", "", newer).unwrap();
    assert_eq!(found(&path).unwrap().image, kernel);
    for (name, control, files, words) in [
        (
            "meta",
            "Depends: linux-image-6.1.0-56-cloud-amd64 (= 6.1.192-2)\n",
            &[][..],
            "oscost kernels fetch linux-image-6.1.0-56-cloud-amd64",
        ),
        ("linux-headers", "Depends: make\n", &[("usr/src/x", &b"x"[..])], "which is linux-headers"),
        ("bad", "", &[("boot/vmlinuz-1", &b"no kernel"[..])], "has no boot sector"),
    ] {
        let path = package(&folder, name, control, files).unwrap();
        let error = found(&path).unwrap_err().to_string();
        assert!(error.contains(words), "{name}: {error}");
    }
    let whole = fs::read(&path).unwrap();
    for (name, bytes) in [("cut.deb", &whole[..whole.len() / 2]), ("junk.deb", b"!<arch>\njunk")] {
        let error = found(&file(&folder, name, bytes)).unwrap_err().to_string();
        assert!(error.contains("dpkg-deb cannot read it: dpkg-deb: error"), "{name}: {error}");
    }
}

fn skipped() {
    eprintln!("cannot run here: there is no dpkg-deb");
}

/// An entry of a tar file.
fn entry(name: &str, kind: u8, size: &str, contents: &[u8]) -> Vec<u8> {
    let mut block = vec![0; 512];
    block[..name.len()].copy_from_slice(name.as_bytes());
    block[124..124 + size.len()].copy_from_slice(size.as_bytes());
    block[156] = kind;
    block[148..156].fill(b' ');
    let sum: u32 = block.iter().map(|&byte| u32::from(byte)).sum();
    block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    block.extend_from_slice(contents);
    block.resize(block.len().next_multiple_of(512), 0);
    block
}

#[test]
fn a_very_noisy_tar_ends_in_words() {
    let wanted = |name: &[u8]| name == b"./boot/vmlinuz-1";
    let name = "./boot/vmlinuz-1";
    let kernel = entry(name, b'0', "0000005", b"hello");
    let read = |parts: &[&[u8]]| find_file(&*parts.concat(), wanted, 1_000);
    let link = entry(name, b'2', "0", b"");
    let long = entry("././@LongLink", b'L', "00001000", &[b'x'; 512]);
    let all = read(&[&link, &long, &entry("./boot", b'5', "0", b""), &kernel]).unwrap();
    assert_eq!(all.as_deref(), Some(&b"hello"[..]));
    assert_eq!(read(&[]).unwrap(), None);
    assert_eq!(read(&[&[0; 1024], &kernel]).unwrap(), None);
    let mut summed = kernel.clone();
    summed[0] = b'x';
    for (parts, words) in [
        (&kernel[..100], "within a header"),
        (&kernel[..514], "within a file"),
        (&entry("./other", b'0', "7777777", b"")[..], "within a file"),
        (&summed[..], "the sum"),
        (&entry(name, b'0', "x", b""), "no number"),
        (&entry(name, b'0', "-1", b""), "no number"),
        (&entry(name, b'0', "777777777777", b""), "no number"),
    ] {
        let error = read(&[parts]).unwrap_err();
        assert!(matches!(error, TarError::Malformed(it) if it.contains(words)), "{error:?}");
    }
    let large = read(&[&entry(name, b'0', "1751", &[0; 1_001])]);
    assert!(matches!(large, Err(TarError::TooLarge)), "{large:?}");
}

#[test]
fn a_name_means_one_kernel_and_the_beginning_of_one_the_newest() {
    let folder = TempDir::new().unwrap();
    for version in ["6.1.0-9-amd64", "6.1.0-56-amd64", "6.1.0-56-cloud-amd64", "6.12.1-rt-amd64"] {
        file(&folder, &format!("root/boot/vmlinuz-{version}"), &image(version));
    }
    file(&folder, "root/boot/vmlinuz-6.1.0-99-amd64", b"broken");
    file(&folder, "root/usr/lib/modules/6.1.0-99-amd64/vmlinuz", &image("6.1.0-99-amd64"));
    file(&folder, "root/usr/lib/modules/6.1.0-200-amd64/vmlinuz", b"broken");
    let shelf = shelf(&folder);
    let version = |named: &str| shelf.kernel(named).map(|it| (it.version, it.note));
    for exact in
        ["6.1.0-9-amd64", "linux-image-6.1.0-9-amd64", "linux-image-unsigned-6.1.0-9-amd64"]
    {
        assert_eq!(version(exact).unwrap(), ("6.1.0-9-amd64".to_owned(), None));
    }
    let (it, note) = version("6.1").unwrap();
    assert_eq!(it, "6.1.0-99-amd64");
    let words = "vm:6.1 is 6.1.0-99-amd64, the newest of 5 of that name here that can be read";
    assert_eq!(note.unwrap(), words);
    assert_eq!(version("6.1.0-56").unwrap().0, "6.1.0-56-cloud-amd64");
    let (it, note) = version("6.12").unwrap();
    assert_eq!(it, "6.12.1-rt-amd64");
    assert_eq!(note.unwrap(), "vm:6.12 is 6.12.1-rt-amd64, the only one of that name here");
    let none = version("6.2").unwrap_err().to_string();
    assert!(none.contains("none of that name is among the 6 that are here"), "{none}");
    let broken = version("6.1.0-200-amd64").unwrap_err().to_string();
    assert!(broken.contains("has no boot sector"), "{broken}");
    let empty = found("6.1").unwrap_err();
    assert_eq!(empty.why, "no kernel is installed or downloaded here");
    assert!(empty.hint.contains("oscost kernels fetch"), "{empty}");
}

#[test]
fn installed_and_downloaded_kernels_are_listed_the_newest_first() {
    let folder = TempDir::new().unwrap();
    file(&folder, "root/boot/vmlinuz-6.1.0-56-cloud-amd64", &image(DEBIAN));
    file(&folder, "root/boot/vmlinuz-\x1b[2J", &image(DEBIAN));
    file(&folder, "root/boot/initrd.img-6.1", b"x");
    file(&folder, "cache/linux-image-6.12.1+deb12-amd64_6.12.1-1_amd64.deb", b"!<arch>\n");
    file(&folder, "cache/linux-headers-6.12_6.12.1-1_amd64.deb", b"!<arch>\n");
    file(&folder, "cache/.new/linux-image-6.13_1_amd64.deb", b"!<arch>\n");
    let offers = shelf(&folder).list();
    let told: Vec<_> = offers
        .iter()
        .map(|it| (&*it.version, it.is_downloaded, it.build.as_deref(), it.flaw.is_some()))
        .collect();
    let wanted = [
        ("6.12.1+deb12-amd64", true, Some("6.12.1-1"), false),
        ("6.1.0-56-cloud-amd64", false, Some("6.1.192-2"), false),
    ];
    assert_eq!(told, wanted);
}

#[test]
fn names_of_packages_and_versions_are_read_strictly() {
    for good in ["linux-image-6.12.117+deb12-cloud-amd64", "a", "0~x"] {
        assert!(is_package_name(good), "{good}");
    }
    for bad in ["", "-a", "+a", "A", "a b", "a/b", "a:b", "a=1", "a*", "\u{e9}", &"a".repeat(129)] {
        assert!(!is_package_name(bad), "{bad}");
    }
    let depends = "kmod, linux-base (>= 4) | x, linux-image-6.1.0-56-amd64:any (= 6.1.192-2)";
    assert_eq!(next_package(depends), Some("linux-image-6.1.0-56-amd64"));
    assert_eq!(next_package("kmod, linux-image-$(reboot)"), None);
    let file = "linux-image-6.1.0-56-amd64-unsigned_6.1.192-2_amd64.deb";
    let (package, build) = package_of(file).unwrap();
    assert_eq!((version_of(package), build), ("6.1.0-56-amd64", "6.1.192-2"));
    assert_eq!(package_of("linux-image-6.1.deb"), None);
    let mut versions = [
        "6.1.0-9-amd64",
        "6.12.9+deb12-amd64",
        "6.1.0-56-rt-amd64",
        "6.1.0-56-cloud-amd64",
        "6.1.0-56-amd64",
    ];
    versions.sort_by(|one, other| newest_first(one, other));
    let wanted = [
        "6.12.9+deb12-amd64",
        "6.1.0-56-cloud-amd64",
        "6.1.0-56-amd64",
        "6.1.0-56-rt-amd64",
        "6.1.0-9-amd64",
    ];
    assert_eq!(versions, wanted);
}

#[test]
fn a_program_that_does_not_end_is_ended_with_all_that_it_has_started() {
    let patience = Duration::from_millis(200);
    let begun = Instant::now();
    for script in ["sleep 1000 & wait", "exec >/dev/null; sleep 1000", "trap '' TERM; yes"] {
        let mut command = Command::new("sh");
        let asked = RunningCommand::start(command.args(["-c", script]), patience).unwrap();
        let stop = asked.read_all(100_000).unwrap_err();
        assert!(
            matches!(stop, CommandError::TimedOut | CommandError::TooMuchOutput),
            "{script}: {stop:?}"
        );
    }
    assert!(begun.elapsed() < Duration::from_secs(60));
    let mut command = Command::new("sh");
    let script = "echo $LC_ALL; echo alas >&2; exit 7";
    let asked =
        RunningCommand::start(command.args(["-c", script]), Duration::from_secs(60)).unwrap();
    let (output, end) = asked.read_all(100).unwrap();
    assert_eq!((&*output, &*end.stderr, end.status.code()), (&b"C\n"[..], "alas\n", Some(7)));
}
