use super::*;
use crate::kernel::process::{children, in_own_process};
use std::fs;

const KINDS: [DescriptorKind; 4] = [
    DescriptorKind::Pipe,
    DescriptorKind::SocketPair,
    DescriptorKind::Tcp,
    DescriptorKind::Eventfd,
];

fn open() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

#[test]
fn descriptors_are_consecutive_and_only_those_made_ready_are_ready() {
    in_own_process(|| {
        let before = open();
        for kind in KINDS {
            for highest in [None, Some(3_000)] {
                let descriptors = DescriptorSet::new(40, kind, 10..12, highest).unwrap();
                let numbers: Vec<i32> = descriptors.fds().collect();
                assert!(numbers.is_sorted_by(|one, next| one + 1 == *next), "{numbers:?}");
                assert!(highest.is_none_or(|at| numbers[39] as u64 == at), "{numbers:?}");
                descriptors.make_ready(11).unwrap();
                let mut set = crate::kernel::event::readiness::PollSet::new(descriptors.fds());
                let ask = |set: &mut crate::kernel::event::readiness::PollSet| {
                    use crate::kernel::event::readiness::{CallVariant, WaitLimit};
                    let count = set.wait(CallVariant::Plain, WaitLimit::Immediate).unwrap();
                    let mut ready = Vec::new();
                    set.each(count, |index| ready.push(index));
                    ready
                };
                assert_eq!(ask(&mut set), [11], "{kind:?}");
                descriptors.drain(11).unwrap();
                assert!(ask(&mut set).is_empty(), "{kind:?}");
                descriptors.set_nonblocking(10).unwrap();
                assert_eq!(descriptors.drain(10), Err(Errno::EAGAIN), "{kind:?}");
            }
        }
        assert_eq!(open(), before);
    });
}

#[test]
fn other_ends_that_do_not_fit_are_held_by_children_that_end_with_the_set() {
    in_own_process(|| {
        // 500 watched ones leave room for some hundred other ends.
        limits::lower_descriptor_limit(900).unwrap();
        let descriptors =
            DescriptorSet::build(500, DescriptorKind::Pipe, 0..0, None, 900, 0).unwrap();
        assert!(!descriptors.holders.is_empty() && children().len() == descriptors.holders.len());
        let mut set = crate::kernel::event::readiness::PollSet::new(descriptors.fds());
        let by = crate::kernel::event::readiness::CallVariant::Plain;
        assert_eq!(set.wait(by, crate::kernel::event::readiness::WaitLimit::Immediate), Ok(0));
        drop(descriptors);
        assert!(children().is_empty());
    });
}

#[test]
fn an_open_high_descriptor_occupies_only_its_own_number() {
    in_own_process(|| {
        let file = File::open("/dev/null").unwrap().into();
        let _open: Vec<_> = [70, 240].map(|number| duplicate_at(&file, number).unwrap()).into();
        limits::lower_descriptor_limit(256).unwrap();
        for (count, first) in [(6, 64), (7, 71), (100, 71)] {
            let descriptors =
                DescriptorSet::build(count, DescriptorKind::Pipe, 0..1, None, 256, 0).unwrap();
            assert_eq!(descriptors.fds().next(), Some(first), "{count}");
        }
    });
}

#[test]
fn too_many_are_refused_with_the_command_that_raises_the_limit() {
    in_own_process(|| {
        limits::lower_descriptor_limit(256).unwrap();
        let made = DescriptorSet::build(1_000, DescriptorKind::Pipe, 0..1, None, 256, 0).err();
        assert_eq!(made, Some(Errno::EMFILE));
        let text = explain_error(Errno::EMFILE, 1_000, DescriptorKind::Pipe).to_string();
        assert!(text.contains("prlimit") && text.contains("may have 256"), "{text}");
    });
}
