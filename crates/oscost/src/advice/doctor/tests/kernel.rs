//! What is attached to the kernel, built into it, and forbidden by it.

use oscost_model::facts::Bound;

use super::*;

#[test]
fn tracers_bias_every_call_and_filters_have_their_own_rule() {
    let with = |tracers: &[&str]| {
        World::quiet().but(|world| {
            world.facts.tracers = tracers.iter().map(|&name| name.to_owned()).collect();
        })
    };
    assert!(World::quiet().passes("tracers"));
    assert!(with(&["seccomp filter on this process"]).passes("tracers"));
    let found = with(&["tracer function", "ptrace on this process"]).found("tracers");
    assert_eq!(found.weight, Weight::Biases);
    assert!(found.command.unwrap().contains("echo nop | sudo tee"));
    assert!(found.fix.unwrap().contains("debugger"));
    let ptraced = with(&["ptrace on this process"]).found("tracers");
    assert_eq!(ptraced.command, None);
    let hidden = World::quiet().but(|world| {
        world.facts.tracers_unread = vec!["tracefs".into()];
        let why = ("/sys/kernel/tracing/current_tracer".into(), "needs root".into());
        world.facts.unread = [why].into();
    });
    let unseen = RuleResult::Unknown("tracers attached (tracefs needs root)".into());
    assert_eq!(hidden.result("tracers"), unseen);
}

#[test]
fn security_monitors_are_named() {
    let with =
        |name: &str| World::quiet().but(|world| world.watch().daemons = vec![name.to_owned()]);
    assert!(with("cron").passes("monitors"));
    let found = with("falco").found("monitors");
    assert_eq!(found.command.as_deref(), Some("sudo systemctl stop falco"));
    assert_eq!(World::unknown().result("monitors"), RuleResult::NotApplicable);
}

#[test]
fn filters_on_this_process_bias_every_call() {
    let with = |filters, mode| {
        World::quiet().but(|world| {
            world.facts.security.seccomp_filters = filters;
            world.facts.security.seccomp_mode = mode;
        })
    };
    assert!(with(Some(0), Some(0)).passes("seccomp"));
    assert!(with(Some(3), Some(2)).found("seccomp").condition.ends_with("(3 of them)"));
    // Before Linux 5.9 only the mode is reported.
    assert!(with(None, Some(2)).found("seccomp").condition.ends_with("(1 of them)"));
    assert!(with(None, Some(0)).passes("seccomp"));
    assert!(with(None, None).is_unknown("seccomp"));
}

#[test]
fn audit_biases_calls_while_it_is_on() {
    let with = |audit, options: &[&str]| {
        World::quiet().but(|world| {
            world.watch().audit = audit;
            world.watch().audit_unread = Some("needs root".into());
            let options = options.iter().map(|&name| name.to_owned()).collect();
            world.facts.os.options = Some(options);
        })
    };
    assert!(with(Some(0), &["AUDITSYSCALL"]).passes("audit"));
    let found = with(Some(1), &["AUDITSYSCALL"]).found("audit");
    assert_eq!(found.command.as_deref(), Some("sudo auditctl -a never,task"));
    assert_eq!(with(Some(2), &["AUDITSYSCALL"]).weight("audit"), Some(Weight::Biases));
    assert_eq!(
        with(None, &["AUDITSYSCALL"]).result("audit"),
        RuleResult::Unknown("audit (needs root)".into())
    );
    assert!(with(None, &[]).passes("audit"), "it is not even built");
}

#[test]
fn a_debugging_kernel_biases_and_one_with_harmless_options_does_not() {
    let with = |options: &[&str], cmdline: &str| {
        World::quiet().but(|world| {
            let options = options.iter().map(|&name| name.to_owned()).collect();
            world.facts.os.options = Some(options);
            world.facts.os.cmdline = Some(cmdline.to_owned());
        })
    };
    assert!(with(&["DEBUG_LIST", "UBSAN", "KFENCE"], "quiet").passes("debug-options"));
    let found = with(&["KASAN", "PROVE_LOCKING"], "quiet").found("debug-options");
    assert!(
        found.condition.ends_with("CONFIG_KASAN and CONFIG_PROVE_LOCKING"),
        "{}",
        found.condition
    );
    assert_eq!(found.weight, Weight::Biases);
    // The last argument on the command line takes effect.
    let booted = with(&[], "page_poison=0 page_poison=1").found("debug-options");
    assert!(booted.condition.ends_with("page_poison=1"), "{}", booted.condition);
    assert!(with(&[], "page_poison=1 page_poison=0").passes("debug-options"));
    assert!(with(&[], "slub_debug=-").passes("debug-options"));
    assert!(with(&[], "slub_debug").found("debug-options").condition.ends_with("slub_debug"));
    let unknown = World::quiet().but(|world| world.facts.os.options = None);
    assert!(unknown.is_unknown("debug-options"));
}

#[test]
fn hardening_is_a_note_unless_it_is_switched_off() {
    let with = |option: &str, cmdline: &str| {
        World::quiet().but(|world| {
            world.facts.os.options = Some(vec![option.to_owned()]);
            world.facts.os.cmdline = Some(cmdline.to_owned());
        })
    };
    let found = with("INIT_ON_ALLOC_DEFAULT_ON", "quiet").found("hardening");
    assert_eq!(found.weight, Weight::Note);
    assert!(found.fix.unwrap().contains("`init_on_alloc=off`"));
    assert!(with("INIT_ON_ALLOC_DEFAULT_ON", "init_on_alloc=0").passes("hardening"));
    assert!(with("", "init_on_free=1").found("hardening").condition.contains("init_on_free"));
    assert!(with("", "quiet").passes("hardening"));
}

#[test]
fn one_layout_for_all_workers_biases() {
    let with = |level, given_up| {
        World::quiet().but(|world| {
            world.facts.security.address_randomization = level;
            world.facts.security.randomization_disabled = given_up;
        })
    };
    let rule = "address-randomization";
    assert!(with(Some(2), Some(false)).passes(rule));
    assert_eq!(with(Some(1), None).weight(rule), Some(Weight::Note));
    assert_eq!(with(Some(0), None).weight(rule), Some(Weight::Biases));
    let given_up = with(Some(2), Some(true)).found(rule);
    assert_eq!((given_up.weight, given_up.command), (Weight::Biases, None));
    assert!(with(None, None).is_unknown(rule));
}

#[test]
fn transparent_huge_pages_are_a_note() {
    let mode = |mode: Option<&str>| {
        World::quiet().but(|world| {
            world.facts.memory.transparent_huge_pages = mode.map(str::to_owned);
        })
    };
    assert_eq!(mode(Some("always")).weight("huge-pages"), Some(Weight::Note));
    assert!(mode(Some("madvise")).passes("huge-pages"));
    assert!(mode(Some("never")).passes("huge-pages"));
    assert!(mode(None).is_unknown("huge-pages"));
}

#[test]
fn free_page_reporting_is_a_note() {
    let on = |on| World::quiet().but(|world| world.facts.memory.free_page_reporting = on);
    assert_eq!(on(Some(true)).weight("page-reporting"), Some(Weight::Note));
    assert_eq!(on(Some(false)).result("page-reporting"), RuleResult::NotApplicable);
    assert_eq!(on(None).result("page-reporting"), RuleResult::NotApplicable);
}

#[test]
fn uncountable_calls_are_a_limitation_with_their_cause() {
    let refused = |scope, mode| {
        World::quiet().but(|world| {
            world.uncounted = Some("ptrace: Operation not permitted".into());
            world.facts.security.yama_ptrace_scope = scope;
            world.facts.security.seccomp_mode = mode;
        })
    };
    assert!(World::quiet().passes("counting"));
    let found = refused(None, None).found("counting");
    assert_eq!((found.weight, found.command), (Weight::Limitation, None));
    assert!(found.condition.ends_with("ptrace: Operation not permitted"));
    assert!(refused(Some(3), None).found("counting").fix.unwrap().contains("reboot"));
    let yama = refused(Some(2), None).found("counting").command;
    assert_eq!(yama.as_deref(), Some("sudo sysctl kernel.yama.ptrace_scope=1"));
    assert!(refused(Some(1), Some(2)).found("counting").fix.unwrap().contains("SYS_PTRACE"));
}

#[test]
fn a_limit_of_open_files_has_a_command_only_if_it_may_be_raised() {
    let hard = |hard, capabilities| {
        World::quiet().but(|world| {
            world.facts.limits.open_files.hard = hard;
            world.facts.security.capability_bound = capabilities;
        })
    };
    assert!(hard(Some(Bound::Max(20_010)), None).passes("open-files"));
    let found = hard(Some(Bound::Max(20_009)), Some(1 << 24)).found("open-files");
    assert_eq!(found.weight, Weight::Limitation);
    assert!(found.command.unwrap().contains("prlimit"));
    let never = hard(Some(Bound::Max(20_000)), Some(0x1ff_feff_ffff)).found("open-files");
    assert_eq!(never.command, None);
    assert!(never.fix.unwrap().contains("CAP_SYS_RESOURCE"));
    assert!(hard(Some(Bound::UNLIMITED), None).passes("open-files"));
    assert!(hard(None, None).is_unknown("open-files"));
}

#[test]
fn a_graphical_session_is_a_note() {
    let level = |level: Option<&str>| {
        World::quiet().but(|world| world.facts.os.run_level = level.map(str::to_owned))
    };
    let systemd = level(Some("graphical.target")).found("run-level").command;
    assert_eq!(systemd.as_deref(), Some("sudo systemctl isolate multi-user.target"));
    let init = level(Some("5")).found("run-level").command;
    assert_eq!(init.as_deref(), Some("sudo telinit 3"));
    assert!(level(Some("3")).passes("run-level"));
    assert!(level(None).is_unknown("run-level"));
}

#[test]
fn access_to_hardware_counters_is_a_note() {
    let level =
        |level| World::quiet().but(|world| world.facts.security.perf_event_paranoid = level);
    assert_eq!(level(Some(2)).weight("perf-events"), Some(Weight::Note));
    assert!(level(Some(1)).passes("perf-events"));
    assert!(level(Some(-1)).passes("perf-events"));
    assert!(level(None).is_unknown("perf-events"));
}
