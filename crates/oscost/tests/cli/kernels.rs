//! `oscost kernels` with a fake apt: what is fetched, what a failed fetch leaves behind, and the
//! messages. No test needs a network.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::common::{Ran, Sandbox, until};

const VERSION: &str = "6.99.0-1-cloud-amd64";
const PACKAGE: &str = "linux-image-6.99.0-1-cloud-amd64";

/// An image of a kernel that has nothing but its header.
fn image() -> Vec<u8> {
    let mut image = vec![0; 1024];
    image[0x1f1] = 1;
    image[0x1fe..0x200].copy_from_slice(&[0x55, 0xaa]);
    image[0x202..0x206].copy_from_slice(b"HdrS");
    image[0x206..0x208].copy_from_slice(&[0x0f, 0x02]);
    image[0x20e..0x210].copy_from_slice(&[0x80, 0x00]);
    image[0x211] = 1;
    image[0x236] = 1;
    image[0x280..0x280 + VERSION.len()].copy_from_slice(VERSION.as_bytes());
    image
}

/// A machine whose apt runs scripts of the test.
struct Apt(Sandbox);

impl Apt {
    fn new() -> Self {
        let apt = Apt(Sandbox::new());
        fs::create_dir(apt.0.file("bin")).unwrap();
        apt.offers("6.99.1-1");
        apt.downloads(
            r#"echo "$@" >> "$HOME/log"; cp "$HOME/$3.deb" "./${3%=*}_${3#*=}_amd64.deb""#,
        );
        apt
    }

    /// A program that precedes the system's in `PATH`. Another process writes it: a file open for
    /// writing here is inherited for a moment by the children of other tests, and then cannot be
    /// executed (ETXTBSY).
    fn program(&self, name: &str, script: &str) {
        let path = self.0.file("bin").join(name);
        let written = Command::new("sh")
            .args(["-c", r#"printf '#!/bin/sh\n%s\n' "$2" > "$1"; chmod 755 "$1""#, "sh"])
            .args([path.as_os_str(), script.as_ref()])
            .status();
        assert!(written.unwrap().success());
    }

    /// apt offers the kernel in this build, and a package that depends on it.
    fn offers(&self, build: &str) {
        let script = format!(
            "case \"$*\" in\n\
             'show --no-all-versions {PACKAGE}')\n\
             printf 'Package: {PACKAGE}\\nVersion: {build}\\nDepends: kmod\\nSize: 2000000\\n';;\n\
             'show --no-all-versions linux-image-cloud-amd64')\n\
             printf 'Package: linux-image-cloud-amd64\\nVersion: 6.99\\n'\n\
             printf 'Depends: {PACKAGE} (= 1)\\n';;\n\
             'pkgnames linux-image-')\n\
             for end in '' -dbg -unsigned; do echo {PACKAGE}$end; done\n\
             echo linux-image-6.100.0-1-amd64; echo linux-image-6.98.0-1-rt-amd64-unsigned\n\
             echo linux-image-amd64-signed-template; printf 'linux-image-\\033[2J\\n';;\n\
             *) echo 'E: No packages found' >&2; exit 100;;\n\
             esac"
        );
        self.program("apt-cache", &script);
    }

    /// apt-get does this.
    fn downloads(&self, script: &str) {
        self.program("apt-get", script);
    }

    /// The package that apt-get downloads in this build; `false` without dpkg-deb to make it.
    fn has(&self, build: &str, files: &[(&str, &[u8])]) -> bool {
        let tree = self.0.file("tree");
        let control = format!(
            "Package: {PACKAGE}\nVersion: {build}\nArchitecture: amd64\n\
             Maintainer: nobody <no@body>\nDescription: made up\n"
        );
        for (path, bytes) in [("DEBIAN/control", control.as_bytes())].iter().chain(files) {
            fs::create_dir_all(tree.join(path).parent().unwrap()).unwrap();
            fs::write(tree.join(path), bytes).unwrap();
        }
        for folder in ["", "DEBIAN"] {
            fs::set_permissions(tree.join(folder), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let mut command = Command::new("dpkg-deb");
        command.args(["--root-owner-group", "-Zgzip", "--build"]).arg(&tree);
        let made = command.arg(self.0.file(&format!("{PACKAGE}={build}.deb"))).output();
        fs::remove_dir_all(&tree).unwrap();
        match made {
            Ok(made) => assert!(made.status.success(), "{made:?}"),
            Err(_) => eprintln!("cannot run here: there is no dpkg-deb"),
        }
        self.0.file(&format!("{PACKAGE}={build}.deb")).exists()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.0.command(&[&["kernels"], arguments].concat());
        let path = format!("{}:/usr/bin:/bin", self.0.file("bin").display());
        command.env("PATH", path).env("XDG_CACHE_HOME", self.0.file("cache"));
        command
    }

    fn kernels(&self, arguments: &[&str]) -> Ran {
        Ran::of(&mut self.command(arguments))
    }

    fn folder(&self) -> PathBuf {
        self.0.file("cache/oscost/kernels")
    }

    /// The files in the folder, without its lock.
    fn files(&self) -> Vec<String> {
        let names = fs::read_dir(self.folder()).into_iter().flatten().flatten();
        let names = names.map(|entry| entry.file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name != ".lock").collect();
        names.sort();
        names
    }

    /// The downloaded kernels that are listed; those of this machine's own are not the test's.
    fn downloaded(&self) -> Vec<serde_json::Value> {
        let listed = self.kernels(&["list", "--json"]).exits(0).json();
        assert_eq!(listed["schema"], "oscost.kernels/1");
        let rows = listed["kernels"].as_array().unwrap().iter();
        rows.filter(|row| row["state"] == "downloaded").cloned().collect()
    }
}

fn boot() -> String {
    format!("boot/vmlinuz-{VERSION}")
}

#[test]
fn a_kernel_is_fetched_listed_and_deleted() {
    let apt = Apt::new();
    if !apt.has("6.99.1-1", &[(&boot(), &image())]) {
        return;
    }
    let ran = apt.kernels(&["fetch", "linux-image-cloud-amd64"]).exits(0);
    assert_eq!(ran.stdout, format!("oscost run --at vm:{VERSION}\n"));
    let file = format!("{PACKAGE}_6.99.1-1_amd64.deb");
    ran.stderr_contains(&format!(
        "fetched {PACKAGE} 6.99.1-1 to {}",
        apt.folder().join(&file).display()
    ));
    assert_eq!(apt.files(), [file.as_str()]);
    let mode = fs::metadata(apt.folder()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    for name in [PACKAGE, VERSION] {
        apt.kernels(&["fetch", name]).exits(0).stderr_contains("6.99.1-1 is already downloaded");
    }
    let log = || fs::read_to_string(apt.0.file("log")).unwrap();
    assert_eq!(log(), format!("-q download {PACKAGE}=6.99.1-1\n"));

    let rows = apt.downloaded();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["name"], format!("vm:{VERSION}"));
    assert_eq!((&rows[0]["build"], &rows[0]["reason"]), (&"6.99.1-1".into(), &().into()));
    let table = apt.kernels(&["list"]).exits(0).stdout;
    assert!(table.starts_with("kernel ") && table.is_ascii(), "{table}");
    let line = table.lines().find(|line| line.starts_with(&format!("vm:{VERSION} "))).unwrap();
    assert!(line.contains(" 6.99.1-1 ") && line.contains(" downloaded "), "{line}");
    let offered = apt.kernels(&["list", "--available"]).exits(0).stdout;
    let wanted = format!(
        "linux-image-6.100.0-1-amd64\n{PACKAGE:38}  downloaded\n\
         linux-image-6.98.0-1-rt-amd64-unsigned\n"
    );
    assert_eq!(offered, wanted);

    // A newer build has the same name and replaces the old one.
    apt.offers("6.99.2-1");
    assert!(apt.has("6.99.2-1", &[(&boot(), &image())]));
    apt.kernels(&["fetch", PACKAGE]).exits(0).stderr_contains("it replaced 6.99.1-1");
    assert_eq!(apt.files(), [format!("{PACKAGE}_6.99.2-1_amd64.deb")]);
    apt.kernels(&["delete", VERSION]).exits(0).no_data().stderr_contains("deleted ");
    assert_eq!(apt.files(), Vec::<String>::new());
    apt.kernels(&["delete", VERSION]).exits(2).no_data().stderr_contains("no kernel of that name");
    apt.0.nothing_is_left();
}

#[test]
fn a_damaged_package_is_named_and_fetched_again() {
    let apt = Apt::new();
    if !apt.has("6.99.1-1", &[(&boot(), &image())]) {
        return;
    }
    apt.kernels(&["fetch", VERSION]).exits(0);
    let file = apt.folder().join(format!("{PACKAGE}_6.99.1-1_amd64.deb"));
    let whole = fs::read(&file).unwrap();
    for damaged in [&whole[..whole.len() - 100], &b"junk"[..], b""] {
        fs::write(&file, damaged).unwrap();
        let rows = apt.downloaded();
        assert!(rows[0]["reason"].as_str().unwrap().contains("cannot be read"), "{rows:?}");
        assert!(apt.kernels(&["list"]).exits(0).stdout.contains("cannot be used: "));
        let offered = apt.kernels(&["list", "--available"]).exits(0).stdout;
        assert!(!offered.contains("downloaded"), "{offered}");
        let ran = apt.kernels(&["fetch", VERSION]).exits(0);
        let ran = ran.stderr_contains("fetched ").stderr_contains("was there was damaged");
        assert!(!ran.stderr.contains("it replaced"), "{}", ran.stderr);
        assert!(fs::read(&file).unwrap() == whole);
    }
    apt.kernels(&["fetch", VERSION]).exits(0).stderr_contains("is already downloaded");
    assert_eq!(fs::read_to_string(apt.0.file("log")).unwrap().lines().count(), 4);
    apt.0.nothing_is_left();
}

#[test]
fn packages_of_apt_are_listed_by_a_part_of_the_name_or_a_glob() {
    let apt = Apt::new();
    let list = |pattern: &str| apt.kernels(&["list", "--available", pattern]).exits(0);
    for pattern in ["6.1", "*-rt-*"] {
        let ran = list(pattern);
        assert_eq!(ran.stdout.lines().count(), 1, "{pattern}: {}", ran.stdout);
        assert!(ran.stdout.starts_with("linux-image-"), "{}", ran.stdout);
    }
    // An empty list is data; what to do about it is not.
    let none = list("rt-*");
    assert_eq!(none.stdout, "apt offers no such kernel\n");
    none.stderr_contains("hint:");
}

#[test]
fn an_empty_list_of_kernels_is_said_on_standard_output() {
    let apt = Apt::new();
    if apt.kernels(&["list", "--json"]).exits(0).json()["kernels"] != serde_json::json!([]) {
        eprintln!("cannot run here: kernels are installed");
        return;
    }
    let ran = apt.kernels(&["list"]).exits(0);
    assert_eq!(ran.stdout, "no kernels are installed or downloaded here\n");
    ran.stderr_contains("hint: `oscost kernels fetch ");
}

#[test]
fn a_failed_fetch_leaves_nothing() {
    let apt = Apt::new();
    let fails = |script: &str, words: &str| {
        apt.downloads(script);
        apt.kernels(&["fetch", PACKAGE])
            .exits(3)
            .no_data()
            .stderr_contains(words)
            .stderr_contains("\n  hint: ");
        assert_eq!(apt.files(), Vec::<String>::new(), "{script}");
    };
    fails("touch half.deb; echo 'E: Failed to fetch x 404 Not Found' >&2; exit 100", "404");
    fails("echo \"E: Could not resolve 'mirror'\" >&2; exit 100", "check the network");
    fails("printf 'E: \\033[2J' >&2; exit 100", "\\u{1b}[2J");
    fails("touch half.deb; kill -9 $$", "signal: 9");
    fails("exit 0", "did not write the package");
    fails(&format!("echo junk > {PACKAGE}_1_amd64.deb"), "it is not a kernel");
    // What a killed one has left is removed by the next.
    fs::create_dir_all(apt.folder().join(".new/old")).unwrap();
    fails("exit 100", "apt ended with exit status: 100");
    apt.0.nothing_is_left();
}

#[test]
fn a_package_without_a_kernel_is_not_kept() {
    let apt = Apt::new();
    if !apt.has("6.99.1-1", &[("usr/share/doc/x", b"x")]) {
        return;
    }
    let log = r#"cp "$HOME/$3.deb" "./${3%=*}_${3#*=}_amd64.deb""#;
    apt.downloads(log);
    let ran = apt.kernels(&["fetch", PACKAGE]).exits(3).no_data();
    ran.stderr_contains("the package contains no kernel");
    assert_eq!(apt.files(), Vec::<String>::new());
}

#[test]
fn ctrl_c_ends_apt_and_leaves_nothing() {
    let apt = Apt::new();
    apt.downloads(r#"touch half.deb; sleep 1000 & wait"#);
    let mut command = apt.command(&["fetch", PACKAGE]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("apt-get is at work", || apt.folder().join(".new/half.deb").exists());
    // One at a time, and nothing is waited for.
    let second = apt.kernels(&["delete", VERSION]);
    assert_eq!(second.code, Some(2));
    apt.kernels(&["fetch", PACKAGE]).exits(3).stderr_contains("another oscost is downloading");
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    Ran::of_child(child).exits(130).no_data();
    assert_eq!(apt.files(), Vec::<String>::new());
    apt.0.nothing_is_left();
}

#[test]
fn impossible_names_are_refused_without_starting_apt() {
    let apt = Apt::new();
    apt.program("apt-cache", "touch \"$HOME/started\"");
    for name in ["-dbg", "--yes", "A", "../x", "x y", "x=1", "x:amd64", "*", "", "\u{1b}[2J"] {
        let ran = apt.kernels(&["fetch", "--", name]).exits(2).no_data();
        ran.stderr_contains("it is not a package name").stderr_contains("hint:");
        apt.kernels(&["delete", "--", name]).exits(2).no_data();
    }
    apt.kernels(&["fetch", &"x".repeat(200)]).exits(2).no_data();
    assert!(!apt.0.file("started").exists());
}

#[test]
fn a_missing_apt_or_kernel_is_reported_with_a_hint() {
    let apt = Apt::new();
    let ran = apt.kernels(&["fetch", "6.1.0-none"]).exits(3).no_data();
    ran.stderr_contains("cannot fetch linux-image-6.1.0-none: apt has no package of that name");
    apt.program("apt-cache", "exit 0");
    apt.kernels(&["fetch", VERSION]).exits(3).stderr_contains("`sudo apt-get update` updates them");
    let none = apt.kernels(&["list", "--available"]).exits(0);
    assert_eq!(none.stdout, "apt offers no such kernel\n");
    none.stderr_contains("hint:");
    let empty: &Path = &apt.0.folder("tmp");
    for arguments in [&["fetch", VERSION][..], &["list", "--available"]] {
        let ran = Ran::of(apt.command(arguments).env("PATH", empty)).exits(3).no_data();
        ran.stderr_contains("apt-cache cannot be started")
            .stderr_contains("hint: kernels are fetched on Debian");
    }
    let ran = Ran::of(apt.command(&["fetch", VERSION]).env("XDG_CACHE_HOME", "x").env("HOME", "x"));
    ran.exits(3).no_data();
}

#[test]
fn an_empty_list_has_a_hint() {
    let apt = Apt::new();
    let ran = apt.kernels(&["list"]).exits(0);
    // This machine may have kernels of its own.
    if ran.stdout.is_empty() {
        ran.stderr_contains("oscost kernels fetch linux-image-cloud-amd64");
    }
    assert!(!apt.0.file("cache").exists(), "a list makes nothing");
}
