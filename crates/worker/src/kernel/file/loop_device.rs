//! A loop device over a file in memory, which ends with its last user (loop(4)).

use std::fmt::Display;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use crate::kernel::Errno;
use crate::kernel::memory::memory_file;

/// Requests of linux/loop.h: `LOOP_CTL_GET_FREE` of the control device, and `LOOP_CONFIGURE`, which
/// sets the file and the flags at once (Linux 5.8). By the older two requests a process that is
/// killed between them would leave a device that nothing ends.
const LOOP_CTL_GET_FREE: libc::Ioctl = 0x4c82;
const LOOP_CONFIGURE: libc::Ioctl = 0x4c0a;
/// The device is released when it was closed by all, and unmounted.
const LO_FLAGS_AUTOCLEAR: u32 = 4;

/// `struct loop_info64`, with zeros in all but the flags.
#[repr(C)]
struct Info {
    before_flags: [u64; 5],
    numbers_before_flags: [u32; 3],
    flags: u32,
    names_and_key: [u8; 160],
    init: [u64; 2],
}

/// `struct loop_config`.
#[repr(C)]
struct Config {
    fd: u32,
    block_bytes: u32,
    info: Info,
    reserved: [u64; 8],
}

// As the number of the request does not contain it.
const _: () = assert!(size_of::<Config>() == 304);

/// A loop device whose blocks are a file in memory. Neither has a name that stays: both are gone
/// with the last descriptor and the last mount of the device, however their process ends.
pub struct LoopDevice {
    _device: File,
    path: PathBuf,
}

impl LoopDevice {
    /// A device of `bytes` bytes, all of them zero, which take no memory before they are written.
    pub fn in_memory(bytes: u64) -> Result<Self, Errno> {
        /// Each finds a free device that another program takes first.
        const TRIES: u32 = 16;
        let open = |path: &Path| File::options().read(true).write(true).open(path);
        let control = open(Path::new("/dev/loop-control"))
            .map_err(|error| refusal("/dev/loop-control cannot be opened", error))?;
        let image = memory_file::create(&image_name(std::process::id()), bytes)
            .map_err(|error| refusal("no file in memory can be made", error))?;
        image.set_len(bytes)?;
        for _ in 0..TRIES {
            // SAFETY: the request has no argument.
            let free = unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE) };
            let number =
                Errno::check(free).map_err(|error| refusal("no loop device is free", error))?;
            let path = PathBuf::from(format!("/dev/loop{number}"));
            let device = open(&path)
                .map_err(|error| refusal(&format!("{} cannot be opened", path.display()), error))?;
            match configure(&device, &image) {
                Ok(()) => return Ok(Self { _device: device, path }),
                Err(Errno::EBUSY) => {}
                Err(error) => return Err(refusal("no loop device can be set up", error)),
            }
        }
        Err(refusal("no loop device can be set up", Errno::EBUSY))
    }

    /// The path of the device's file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn configure(device: &File, image: &File) -> Result<(), Errno> {
    // SAFETY: all-zero bits are valid for every field.
    let mut config: Config = unsafe { std::mem::zeroed() };
    config.fd = image.as_raw_fd() as u32;
    config.info.flags = LO_FLAGS_AUTOCLEAR;
    // SAFETY: the kernel reads the structure, during the call alone; the device has its own
    // reference to the file afterwards.
    Errno::check(unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE, &raw const config) })
        .map(drop)
}

/// Why there is no device.
fn refusal(what: &str, error: impl Display) -> Errno {
    Errno::unavailable(format!(
        "{what}: {error}; a file system in an image takes root, loop devices (the module loop, \
         /dev/loop-control, /dev/loop0 and so on) and Linux 5.8"
    ))
}

/// The name of a process's images, as the device's backing_file in /sys/block shows it.
fn image_name(pid: u32) -> String {
    format!("oscost-image-{pid}.")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::*;
    use crate::kernel::process::{self, WaitTarget, in_own_process};

    /// How many loop devices have an image of this process.
    fn devices_of(pid: u32) -> usize {
        let name = image_name(pid);
        let devices = fs::read_dir("/sys/block").into_iter().flatten().flatten();
        let files = devices
            .filter_map(|device| fs::read_to_string(device.path().join("loop/backing_file")).ok());
        files.filter(|file| file.contains(&name)).count()
    }

    /// Waits: a program that looks at new devices may have it open for a moment.
    fn comes_to(pid: u32, count: usize) -> bool {
        (0..200).any(|_| {
            let is_it = devices_of(pid) == count;
            if !is_it {
                std::thread::sleep(Duration::from_millis(20));
            }
            is_it
        })
    }

    #[test]
    fn a_device_ends_with_its_last_descriptor() {
        in_own_process(|| {
            let me = std::process::id();
            let device = match LoopDevice::in_memory(1 << 20) {
                Ok(device) => device,
                Err(error) => return eprintln!("cannot run here: {error}"),
            };
            assert!(device.path().exists());
            if !comes_to(me, 1) {
                return eprintln!("not tested: /sys does not show the loop device");
            }
            drop(device);
            assert!(comes_to(me, 0));
        });
    }

    #[test]
    fn the_device_of_a_killed_process_ends_with_it() {
        in_own_process(|| {
            let child = process::fork(|| match LoopDevice::in_memory(1 << 20) {
                Ok(_device) => process::pause_forever(),
                Err(_) => 0,
            });
            let child = child.unwrap();
            for _ in 0..200 {
                if devices_of(child) == 1 {
                    process::kill(child);
                    process::wait(WaitTarget::Child(child), true).unwrap();
                    assert!(comes_to(child, 0));
                    return;
                }
                if !matches!(process::wait(WaitTarget::Child(child), false), Ok(None)) {
                    return eprintln!("cannot run here: the child has no loop device");
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            process::kill(child);
            process::wait(WaitTarget::Child(child), true).unwrap();
            eprintln!("not tested: /sys does not show the child's loop device");
        });
    }
}
