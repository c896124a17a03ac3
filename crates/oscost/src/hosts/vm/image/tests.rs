//! Kernel images, packages and directories of kernels, all made by the tests.

use std::fs;
use std::io::Write;
use std::os::unix::net::UnixListener;
use std::process::Command;
use std::time::{Duration, Instant};

use flate2::write::GzEncoder;
use lzma_rust2::{XzOptions, XzWriter};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use tempfile::TempDir;

use super::command::{CommandError, CommandOutput, RunOptions, run};
use super::debian_package::{PackageError, find_file, is_package_name, kernel_dependency};
use super::error::MAX_IMAGE_BYTES;
use super::header::Header;
use super::local_kernels::{PackageFileName, newest_first, version_of};
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

/// Writes a file.
fn file(folder: &TempDir, name: &str, bytes: &[u8]) -> String {
    let path = folder.path().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The kernels of a machine whose directories are in `folder`.
fn kernels_in(folder: &TempDir) -> LocalKernels {
    LocalKernels { root: folder.path().join("root"), folder: Some(folder.path().join("cache")) }
}

fn find(requested: &str) -> Result<Kernel, ImageError> {
    kernels_in(&TempDir::new().unwrap()).kernel(requested)
}

/// A tar archive of these files.
fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, path, *content).unwrap();
    }
    archive.into_inner().unwrap()
}

/// Compresses the files of a package, as the suffix of a member says.
fn compress(suffix: &str, content: &[u8]) -> Vec<u8> {
    match suffix {
        ".gz" => {
            let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(content).unwrap();
            encoder.finish().unwrap()
        }
        ".xz" => {
            let mut encoder = XzWriter::new(Vec::new(), XzOptions::default()).unwrap();
            encoder.write_all(content).unwrap();
            encoder.finish().unwrap()
        }
        ".zst" => compress_to_vec(content, CompressionLevel::Fastest),
        _ => content.to_vec(),
    }
}

/// A member of a package.
fn member(name: &str, content: &[u8]) -> Vec<u8> {
    let mut member =
        format!("{name:16}{:12}{:6}{:6}{:8}{:<10}`\n", 0, 0, 0, 100_644, content.len())
            .into_bytes();
    member.extend_from_slice(content);
    member.resize(member.len().next_multiple_of(2), b'\n');
    member
}

/// A package of these files, compressed as `suffix` says.
fn package_bytes(suffix: &str, control: &str, files: &[(&str, &[u8])]) -> Vec<u8> {
    let control = archive(&[("./control", control.as_bytes())]);
    [
        b"!<arch>\n".to_vec(),
        member("debian-binary", b"2.0\n"),
        member(&format!("control.tar{suffix}"), &compress(suffix, &control)),
        member(&format!("data.tar{suffix}"), &compress(suffix, &archive(files))),
    ]
    .concat()
}

/// The file of a package with this name.
fn package(folder: &TempDir, name: &str, control: &str, files: &[(&str, &[u8])]) -> String {
    let control = format!("Package: {name}\nVersion: 1\n{control}");
    file(folder, &format!("{name}_1_all.deb"), &package_bytes(".gz", &control, files))
}

#[test]
fn the_release_and_the_build_are_read_from_the_header() {
    let header = Header::read(&image(DEBIAN)).unwrap();
    assert_eq!(header.release, "6.1.0-56-cloud-amd64");
    assert_eq!(header.build.as_deref(), Some("6.1.192-2"));
    let ubuntu = image("6.8.0-31-generic (buildd@lcy02) #31-Ubuntu SMP PREEMPT_DYNAMIC");
    let header = Header::read(&ubuntu).unwrap();
    assert_eq!(header.build.as_deref(), Some("#31-Ubuntu"));
    assert_eq!(Header::read(&image("6.12.0")).unwrap().build, None);
}

#[test]
fn a_file_is_read_completely_and_hashed() {
    let folder = TempDir::new().unwrap();
    // A signature, which follows the code, belongs to the image.
    let bytes = [image(DEBIAN), b"signature".to_vec()].concat();
    let path = file(&folder, "bzImage", &bytes);
    let kernel = find(&path).unwrap();
    assert_eq!((kernel.requested.as_str(), kernel.file.to_str().unwrap()), (&*path, &*path));
    assert_eq!(kernel.version, "6.1.0-56-cloud-amd64");
    assert_eq!(kernel.hash, oscost_model::hash::content(&bytes));
    assert_eq!((kernel.image, kernel.note), (bytes, None));
}

#[test]
fn a_file_that_is_not_a_kernel_is_refused_with_the_reason() {
    let folder = TempDir::new().unwrap();
    let mut arm = vec![0; 64];
    arm[56..60].copy_from_slice(b"ARM\x64");
    let long = "x".repeat(65);
    let cases: &[(&str, Vec<u8>, &str)] = &[
        ("empty", vec![], "it is empty"),
        ("text", b"some text".to_vec(), "has no boot sector"),
        ("flag", with(0x1fe, &[0, 0]), "has no boot sector"),
        ("magic", with(0x202, b"Hdrs"), "has no boot sector"),
        ("vmlinux", b"\x7fELF\x02\x01".to_vec(), "arch/x86/boot/bzImage"),
        ("arm64", arm, "aarch64"),
        ("initrd.gz", b"\x1f\x8b\x08".to_vec(), "gzip file"),
        ("initrd.zst", b"\x28\xb5\x2f\xfd".to_vec(), "zstd file"),
        ("initrd", b"070701".to_vec(), "cpio"),
        ("cut-header", image(DEBIAN)[..0x210].to_vec(), "truncated within its header"),
        ("cut-setup", image("6.1 ")[..0x284].to_vec(), "contains no release"),
        ("cut-code", with(0x1f4, &[1, 0, 0, 0]), "names 1040 bytes, but it has 1024"),
        ("huge-code", with(0x1f4, &[0xff; 4]), "it is truncated"),
        ("old", with(0x206, &[5, 2]), "boot protocol 2.05"),
        ("32-bit", with(0x236, &[0, 0]), "32-bit kernel"),
        ("zimage", with(0x211, &[0]), "zImage"),
        ("no-text", with(0x20e, &[0, 0]), "contains no release"),
        ("text-outside", with(0x20e, &[0xff, 0xff]), "contains no release"),
        ("text-behind-setup", with(0x20e, &[0, 2]), "contains no release"),
        ("text-without-end", with(0x280, &[b'a'; 0x180]), "contains no release"),
        ("control", image("6.1\x1b[2J rest"), "contains no release"),
        ("blank", image("  "), "contains no release"),
        ("long", image(&long), "contains no release"),
    ];
    for (name, bytes, words) in cases {
        let error = find(&file(&folder, name, bytes)).unwrap_err().to_string();
        assert!(error.contains(words) && error.contains("\n  hint: "), "{name}: {error}");
        assert!(error.starts_with("cannot use the kernel `/"), "{error}");
    }
    // The header of boot protocol 2.11 does not contain whether there is a 64-bit entry.
    let silent = [with(0x206, &[0x0b, 2]), vec![]].concat();
    find(&file(&folder, "silent", &silent)).unwrap();
}

#[test]
fn special_files_and_large_files_are_not_read() {
    let folder = TempDir::new().unwrap();
    let refuses = |path: &str, words: &str| {
        let error = find(path).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    };
    refuses(folder.path().to_str().unwrap(), "is a directory");
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
    let error = find(&format!("{}/\x1b[2J\u{202e}", "x".repeat(5_000))).unwrap_err();
    assert!(error.to_string().len() < 1_500 && !error.to_string().contains('\x1b'), "{error}");
}

#[test]
fn the_kernel_in_a_package_is_found() {
    let folder = TempDir::new().unwrap();
    let kernel = image(DEBIAN);
    let files: &[(&str, &[u8])] = &[
        ("boot/System.map-6.1", b"map"),
        ("boot/vmlinuz-6.1.0-56-cloud-amd64", &kernel),
        ("lib/modules/6.1/big.ko", &[7; 100_000]),
    ];
    let path = package(&folder, "linux-image-6.1", "", files);
    let read = find(&path).unwrap();
    assert_eq!((read.version.as_str(), &read.image), ("6.1.0-56-cloud-amd64", &kernel));
    let newer: &[(&str, &[u8])] = &[("usr/lib/modules/6.1/vmlinuz", &kernel)];
    let path = package(&folder, "newer", "", newer);
    assert_eq!(find(&path).unwrap().image, kernel);
    for (name, control, files, words) in [
        (
            "meta",
            "Depends: linux-image-6.1.0-56-cloud-amd64 (= 6.1.192-2)\n",
            &[][..],
            "oscost kernels fetch linux-image-6.1.0-56-cloud-amd64",
        ),
        ("linux-headers", "Depends: make\n", &[("usr/src/x", &b"x"[..])], "it is linux-headers"),
        ("bad", "", &[("boot/vmlinuz-1", &b"some text"[..])], "has no boot sector"),
    ] {
        let path = package(&folder, name, control, files);
        let error = find(&path).unwrap_err().to_string();
        assert!(error.contains(words), "{name}: {error}");
    }
}

#[test]
fn every_compression_of_packages_is_supported() {
    let folder = TempDir::new().unwrap();
    let kernel = image(DEBIAN);
    let files: &[(&str, &[u8])] = &[("./boot/vmlinuz-6.1", &kernel)];
    for suffix in ["", ".gz", ".xz", ".zst"] {
        let bytes = package_bytes(suffix, "Package: x\n", files);
        let path = file(&folder, "linux-image.deb", &bytes);
        assert_eq!(find(&path).unwrap().image, kernel, "{suffix}");
        // A truncated package is an error, unless it contains the whole kernel.
        for length in (8..bytes.len()).step_by(97) {
            let found = find(&file(&folder, "truncated.deb", &bytes[..length]));
            assert!(found.is_err() || found.unwrap().image == kernel, "{suffix}");
        }
        for at in (8..bytes.len()).step_by(7) {
            let mut changed = bytes.clone();
            changed[at] ^= 0x55;
            let _ = find(&file(&folder, "changed.deb", &changed));
        }
    }
}

#[test]
fn a_damaged_or_hostile_package_is_refused() {
    let folder = TempDir::new().unwrap();
    let bytes = package_bytes(".gz", "Package: x\n", &[("./boot/vmlinuz-6.1", &image(DEBIAN))]);
    let member_with_size = |size: &str| {
        let mut header = member("data.tar", b"");
        header[48..58].copy_from_slice(format!("{size:<10}").as_bytes());
        [b"!<arch>\n", &header[..]].concat()
    };
    for (bytes, words) in [
        (bytes[..bytes.len() / 2].to_vec(), ""),
        (b"!<arch>\njunk".to_vec(), ""),
        ([b"!<arch>\n", &[b'x'; 60][..]].concat(), "it is not an ar archive"),
        (member_with_size("-1"), "it is not an ar archive"),
        (member_with_size("9999999999"), "contains no kernel"),
        ([b"!<arch>\n".to_vec(), member("data.tar.bz2", b"BZh")].concat(), "packed as `.bz2`"),
    ] {
        let error = find(&file(&folder, "malicious.deb", &bytes)).unwrap_err().to_string();
        assert!(error.contains("the package c") && error.contains(words), "{error}");
        assert!(error.contains("\n  hint: "), "{error}");
    }
}

#[test]
fn files_that_unpack_to_much_more_than_a_kernel_are_skipped_in_constant_memory() {
    let folder = TempDir::new().unwrap();
    let zeros = vec![0; 64 << 20];
    let kernel = image(DEBIAN);
    let files: &[(&str, &[u8])] = &[("./usr/zeros", &zeros), ("./boot/vmlinuz-6.1", &kernel)];
    let path = file(&folder, "large.deb", &package_bytes(".gz", "Package: x\n", files));
    assert!(fs::metadata(&path).unwrap().len() < 1 << 20);
    assert_eq!(find(&path).unwrap().image, kernel);
}

/// An entry of a tar archive.
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
fn a_hostile_tar_archive_is_an_error() {
    let wanted = |name: &[u8]| name == b"./boot/vmlinuz-1";
    let name = "./boot/vmlinuz-1";
    let kernel = entry(name, b'0', "0000005", b"hello");
    let read = |parts: &[&[u8]]| find_file(&*parts.concat(), wanted, 1_000);
    let link = entry(name, b'2', "0", b"");
    let long = entry("././@LongLink", b'L', "00001000", &[b'x'; 512]);
    let all = read(&[&link, &long, &entry("./boot", b'5', "0", b""), &kernel]).unwrap();
    assert_eq!(all.as_deref(), Some(&b"hello"[..]));
    assert_eq!(read(&[]).unwrap(), None);
    assert_eq!(read(&[&[0; 1024], &kernel[..]]).unwrap(), None);
    let mut changed = kernel.clone();
    changed[0] = b'x';
    for bytes in [
        &kernel[..100],
        &kernel[..514],
        &entry("./other", b'0', "7777777", b"")[..],
        &entry("././@LongLink", b'L', "77777777777", b"")[..],
        &changed[..],
        &entry(name, b'0', "x", b""),
        &entry(name, b'0', "-1", b""),
        &entry("./other", b'0', "777777777777", b""),
    ] {
        let error = read(&[bytes]).unwrap_err();
        let is_expected = matches!(error, PackageError::Malformed(_) | PackageError::Unreadable(_));
        assert!(is_expected && error.to_string().len() < 1_000, "{error:?}");
    }
    for size in ["1751", "777777777777"] {
        let large = read(&[&entry(name, b'0', size, &[0; 1_001])]);
        assert!(matches!(large, Err(PackageError::TooLarge)), "{large:?}");
    }
}

#[test]
fn a_version_selects_one_kernel_and_its_beginning_the_newest() {
    let folder = TempDir::new().unwrap();
    for version in ["6.1.0-9-amd64", "6.1.0-56-amd64", "6.1.0-56-cloud-amd64", "6.12.1-rt-amd64"] {
        file(&folder, &format!("root/boot/vmlinuz-{version}"), &image(version));
    }
    file(&folder, "root/boot/vmlinuz-6.1.0-99-amd64", b"broken");
    file(&folder, "root/usr/lib/modules/6.1.0-99-amd64/vmlinuz", &image("6.1.0-99-amd64"));
    file(&folder, "root/usr/lib/modules/6.1.0-200-amd64/vmlinuz", b"broken");
    let kernels = kernels_in(&folder);
    let version = |requested: &str| kernels.kernel(requested).map(|it| (it.version, it.note));
    for exact in
        ["6.1.0-9-amd64", "linux-image-6.1.0-9-amd64", "linux-image-unsigned-6.1.0-9-amd64"]
    {
        assert_eq!(version(exact).unwrap(), ("6.1.0-9-amd64".to_owned(), None));
    }
    let (it, note) = version("6.1").unwrap();
    assert_eq!(it, "6.1.0-99-amd64");
    let words = "vm:6.1 is 6.1.0-99-amd64, the newest usable one of 5 matches";
    assert_eq!(note.unwrap(), words);
    assert_eq!(version("6.1.0-56").unwrap().0, "6.1.0-56-cloud-amd64");
    let (it, note) = version("6.12").unwrap();
    assert_eq!(it, "6.12.1-rt-amd64");
    assert_eq!(note.unwrap(), "vm:6.12 is 6.12.1-rt-amd64, the only match");
    let none = version("6.2").unwrap_err().to_string();
    assert!(none.contains("none of the 6 kernels on this machine matches"), "{none}");
    let broken = version("6.1.0-200-amd64").unwrap_err().to_string();
    assert!(broken.contains("has no boot sector"), "{broken}");
    let empty = find("6.1").unwrap_err();
    assert_eq!(empty.why, "no kernel is installed or downloaded on this machine");
    assert!(empty.hint.contains("oscost kernels fetch"), "{empty}");
}

#[test]
fn installed_and_downloaded_kernels_are_listed_the_newest_first() {
    let folder = TempDir::new().unwrap();
    file(&folder, "root/boot/vmlinuz-6.1.0-56-cloud-amd64", &image(DEBIAN));
    file(&folder, "root/boot/vmlinuz-\x1b[2J", &image(DEBIAN));
    file(&folder, "root/boot/initrd.img-6.1", b"x");
    let whole = package_bytes(".gz", "Package: x\n", &[("./boot/vmlinuz-6.12.1", &image(DEBIAN))]);
    file(&folder, "cache/linux-image-6.12.1+deb12-amd64_6.12.1-1_amd64.deb", &whole);
    file(&folder, "cache/linux-image-6.11.0-amd64_6.11.1-1_amd64.deb", &whole[..whole.len() - 2]);
    file(&folder, "cache/linux-image-6.10.0-amd64_6.10.1-1_amd64.deb", b"junk");
    file(&folder, "cache/linux-image-6.9.0-amd64_6.9.1-1_amd64.deb", b"!<arch>\n");
    file(&folder, "cache/linux-headers-6.12_6.12.1-1_amd64.deb", b"!<arch>\n");
    file(&folder, "cache/.new/linux-image-6.13_1_amd64.deb", b"!<arch>\n");
    let kernels = kernels_in(&folder).list();
    let listed: Vec<_> = kernels
        .iter()
        .map(|it| (&*it.version, it.is_downloaded, it.build.as_deref(), it.flaw.is_some()))
        .collect();
    let wanted = [
        ("6.12.1+deb12-amd64", true, Some("6.12.1-1"), false),
        ("6.11.0-amd64", true, Some("6.11.1-1"), true),
        ("6.10.0-amd64", true, Some("6.10.1-1"), true),
        ("6.9.0-amd64", true, Some("6.9.1-1"), true),
        ("6.1.0-56-cloud-amd64", false, Some("6.1.192-2"), false),
    ];
    assert_eq!(listed, wanted);
    let flaws = ["it ends within a member", "it is not an ar archive", "it is cut short"];
    for (kernel, words) in kernels[1..4].iter().zip(flaws) {
        let flaw = kernel.flaw.as_ref().unwrap().to_string();
        assert!(flaw.contains(words) && flaw.contains("oscost kernels fetch"), "{flaw}");
    }
}

#[test]
fn names_of_packages_and_versions_are_parsed_strictly() {
    for good in ["linux-image-6.12.117+deb12-cloud-amd64", "a", "0~x"] {
        assert!(is_package_name(good), "{good}");
    }
    for bad in ["", "-a", "+a", "A", "a b", "a/b", "a:b", "a=1", "a*", "\u{e9}", &"a".repeat(129)] {
        assert!(!is_package_name(bad), "{bad}");
    }
    let depends = "kmod, linux-base (>= 4) | x, linux-image-6.1.0-56-amd64:any (= 6.1.192-2)";
    assert_eq!(kernel_dependency(depends), Some("linux-image-6.1.0-56-amd64"));
    assert_eq!(kernel_dependency("kmod, linux-image-$(reboot)"), None);
    let file = "linux-image-6.1.0-56-amd64-unsigned_6.1.192-2_amd64.deb";
    let PackageFileName { package, build } = PackageFileName::parse(file).unwrap();
    assert_eq!((version_of(package), build), ("6.1.0-56-amd64", "6.1.192-2"));
    assert_eq!(PackageFileName::parse("linux-image-6.1.deb"), None);
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
fn a_program_that_does_not_end_is_killed_with_its_children() {
    let run = |script: &str, timeout, max_output_bytes| -> Result<CommandOutput, CommandError> {
        let options = RunOptions { timeout, max_output_bytes, interrupt: None, on_tick: None };
        run(Command::new("sh").args(["-c", script]), options)
    };
    let begun = Instant::now();
    for script in ["sleep 1000 & wait", "exec >/dev/null; sleep 1000", "trap '' TERM; yes"] {
        let error = run(script, Duration::from_millis(200), 100_000).unwrap_err();
        assert!(
            matches!(error, CommandError::TimedOut(_) | CommandError::TooMuchOutput),
            "{script}: {error:?}"
        );
    }
    assert!(begun.elapsed() < Duration::from_secs(60));
    let script = "echo $LC_ALL; echo failure >&2; exit 7";
    let output = run(script, Duration::from_secs(60), 100).unwrap();
    assert_eq!((&*output.stdout, &*output.stderr), (&b"C\n"[..], "failure\n"));
    assert_eq!(output.status.code(), Some(7));
}
