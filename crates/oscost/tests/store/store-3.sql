PRAGMA application_id = 1869833075;
PRAGMA user_version = 3;
CREATE TABLE run (
        key INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        started TEXT NOT NULL,
        ended TEXT,
        complete INTEGER NOT NULL,
        label TEXT,
        command TEXT NOT NULL,
        rows_asked INTEGER,
        cells INTEGER NOT NULL,
        record TEXT
    ) STRICT;
CREATE TABLE entry (
        key INTEGER PRIMARY KEY,
        run INTEGER NOT NULL REFERENCES run (key) ON DELETE CASCADE,
        body TEXT NOT NULL,
        samples BLOB
    ) STRICT;
CREATE INDEX entry_of_run ON entry (run);
CREATE TABLE prediction (
        key INTEGER PRIMARY KEY,
        made TEXT NOT NULL,
        of_case TEXT NOT NULL,
        estimate TEXT,
        hardware TEXT,
        software TEXT,
        below TEXT
    ) STRICT;
CREATE TABLE word (
        key INTEGER PRIMARY KEY,
        text TEXT NOT NULL UNIQUE
    ) STRICT;
CREATE TABLE summary (
        run INTEGER PRIMARY KEY REFERENCES run (key) ON DELETE CASCADE,
        rules INTEGER NOT NULL,
        tool INTEGER NOT NULL,
        cell INTEGER NOT NULL,
        catalog INTEGER NOT NULL,
        link INTEGER NOT NULL,
        peer INTEGER,
        clock_drifted INTEGER NOT NULL
    ) STRICT;
CREATE TABLE stand (
        run INTEGER NOT NULL REFERENCES run (key) ON DELETE CASCADE,
        at INTEGER NOT NULL,
        machine INTEGER NOT NULL,
        kernel INTEGER NOT NULL,
        release INTEGER,
        build_id INTEGER,
        microcode INTEGER,
        command_line INTEGER,
        mitigations INTEGER,
        modules INTEGER,
        tracers INTEGER,
        clock INTEGER,
        class INTEGER,
        PRIMARY KEY (run, at)
    ) STRICT, WITHOUT ROWID;
CREATE TABLE figure (
        run INTEGER NOT NULL REFERENCES run (key) ON DELETE CASCADE,
        at INTEGER NOT NULL,
        of_case INTEGER NOT NULL,
        place INTEGER NOT NULL,
        machine INTEGER,
        peer INTEGER,
        cpu INTEGER,
        rev INTEGER NOT NULL,
        unit INTEGER NOT NULL,
        mode INTEGER,
        subject INTEGER,
        file INTEGER,
        monitor INTEGER,
        flags INTEGER NOT NULL,
        median REAL NOT NULL,
        low REAL,
        high REAL,
        PRIMARY KEY (run, at)
    ) STRICT, WITHOUT ROWID;
INSERT INTO run VALUES (1, '0190a0b1-c2d3-7e4f-8a9b-000000000000', '2026-11-21T08:15:59.25Z', '2026-11-21T08:16:02.5Z', 1, 'before the 中 change', '["oscost","run","--","sh","-c","true\n\"x\""]', 1, 2, NULL);
INSERT INTO entry VALUES (1, 1, '{"entry":"started","id":"0190a0b1-c2d3-7e4f-8a9b-000000000000","at":"2026-11-21T08:15:59.25Z","label":"before the 中 change","command":["oscost","run","--","sh","-c","true\n\"x\""],"tool":{"version":"0.1.0","commit":"0123abc","rustc":null,"worker":{"hash":"6c62272e07bb014262b821756295c58d","link":"static-pie","libc":"glibc 2.41","catalog":"d228cb696f1a8caf78912b704e4a8964"}},"settings":{"seed":18446744073709551614,"profile":"default","precision_pct":2.0,"nominal":0.965,"budget_s":null,"study":null,"predictions":[]}}', NULL);
INSERT INTO entry VALUES (2, 1, '{"entry":"met","machine":{"id":"m0","cpu":{"model_name":"Processor 3000","vendor":null,"family":null,"model":null,"stepping":null,"microcode":null,"flags":null,"logical_online":null,"cores":null,"sockets":null,"allowed_cpus":null,"instruction_set":null,"extensions":null,"rated_khz":null,"bus_mhz":null},"caches":[],"memory":{"total_kib":null,"swap_total_kib":null,"page_bytes":null,"huge_page_kib":null,"transparent_huge_pages":null,"transparent_huge_page_defrag":null,"numa_nodes":null,"swap_free_kib":null,"free_page_reporting":null,"modules":null,"slots":null,"channels":null},"disks":[],"network":[],"os":{"release":null,"version":null,"build_id":null,"arch":null,"cmdline":null,"hz":null,"lsm":null,"distribution":null,"options":null,"init":null,"run_level":null,"lockdown":null,"shell":null,"loader":null},"limits":{"open_files":{"soft":1024,"hard":"unlimited"},"locked_memory_bytes":{"soft":null,"hard":null},"processes":{"soft":null,"hard":null},"address_space_bytes":{"soft":null,"hard":null},"stack_bytes":{"soft":null,"hard":null}},"scheduling":{"preempt":null,"smt_active":null,"isolated_cpus":null,"nohz_full_cpus":null,"governor":null,"boost":null,"idle_driver":null,"idle_governor":null,"clocksource":null,"clocksources_available":null,"timer_slack_ns":null,"cgroup_version":null,"cgroup_quota_milli_cpus":null,"cgroup_memory_bytes":null,"cgroup_tasks":null},"security":{"address_randomization":null,"perf_event_paranoid":-1,"unprivileged_bpf_disabled":null,"yama_ptrace_scope":null,"seccomp_mode":null,"seccomp_filters":null,"speculation_store_bypass":null,"speculation_indirect_branch":null,"randomization_given_up":null,"is_root":null,"capability_bound":null},"virtualization":null,"mitigations":{"meltdown":"Mitigation: PTI"},"clock":null,"advice":["the governor is powersave"]},"tracers":["perf"]}', NULL);
INSERT INTO entry VALUES (3, 1, '{"entry":"surveyed","machine":"m0","probe":[{"cpu":1,"spin_ns":100000000,"gaps_over_1us":12,"gaps_over_5us":3,"lost_ns":40000,"longest_ns":9000,"run_delay_ns":null,"core_cycles_per_ns":3.1}],"cpu":1}', NULL);
INSERT INTO entry VALUES (4, 1, '{"entry":"calibrated","machine":"m0","calibration":{"kind":"tsc","ticks_per_ns":2.600123,"quantum_ticks":26.0,"inside_ticks":49.5,"pair_ticks":88.0},"sync":{"ticks":18446744073709551615,"raw_ns":1152921504606846976,"width_ticks":40},"passed_over":["tsc: not invariant"]}', NULL);
INSERT INTO entry VALUES (5, 1, '{"entry":"planned","rows":[{"case":{"benchmark":"syscall/getppid","point":{"via":"raw","size":4096}},"definition":{"id":"syscall/getppid","asks":"What does the shortest system call cost?","op":"One getppid(2). Outside: nothing.","expected":"60 ns","unit":"ns/op","why":"","calls":[{"call":"getppid","times":{"per":{"calls":1,"ops":1}},"when":{},"by":"own"}],"floor":[{"case":"timer/nothing","times":2,"when":{"via":"raw","size":4096}}],"beside":[],"axes":[{"name":"via","sets":"how it is called","points":["raw",4096],"usual":["raw"],"unsaid":null,"in_price_list":[],"thorough":[],"within":null,"of":""}],"needs":[{"what":{"readable":"/proc/self/stat"},"when":{}}],"in_price_list":true,"switches":false,"major_faults":false,"moves":"","reaches":false,"setup_us":{},"rev":1,"source":"getppid(2)"},"target":{"text":"nice=5","host":"local","treatments":["nice=5"],"machine":"m0","cpu":1,"peer":null},"asked":true,"reference":false,"added":false,"monitored":false},{"case":{"benchmark":"syscall/getppid","point":{"via":"raw","size":4096}},"definition":{"id":"syscall/getppid","asks":"What does the shortest system call cost?","op":"One getppid(2). Outside: nothing.","expected":"60 ns","unit":"ns/op","why":"","calls":[{"call":"getppid","times":{"per":{"calls":1,"ops":1}},"when":{},"by":"own"}],"floor":[{"case":"timer/nothing","times":2,"when":{"via":"raw","size":4096}}],"beside":[],"axes":[{"name":"via","sets":"how it is called","points":["raw",4096],"usual":["raw"],"unsaid":null,"in_price_list":[],"thorough":[],"within":null,"of":""}],"needs":[{"what":{"readable":"/proc/self/stat"},"when":{}}],"in_price_list":true,"switches":false,"major_faults":false,"moves":"","reaches":false,"setup_us":{},"rev":1,"source":"getppid(2)"},"target":{"text":"nice=5","host":"local","treatments":["nice=5"],"machine":"m0","cpu":1,"peer":null},"asked":false,"reference":true,"added":false,"monitored":false}],"timers":[]}', NULL);
INSERT INTO entry VALUES (6, 1, '{"entry":"piloted","row":0,"plan":{"mode":"U","iterations":10000,"copies":[1,2,4,8],"groups":21,"batch_ns":1000000.0,"coarse_clock":false}}', NULL);
INSERT INTO entry VALUES (7, 1, '{"entry":"cell","row":0,"phase":{"round":0},"at_s":0.0,"set":0,"outcome":{"sampled":{"samples":[],"disturbance":{"wall_ns":20000000,"cpu_ns":19900000,"run_delay_ns":0,"steal_ticks":null,"throttled_periods":null,"blind":false,"usage":null,"file":null,"channel":null},"seen":null}}}', X'014DC0DE1F0201D00FB802C09A0C0201019802000202F8EBDE1F000203011AF0DE1F020204A802C09A0C0201D802000201B802000B02011A02020203F802C09A0C02040188020002B813000201015A02020202B802C09A0C0203019802000B04E8020002011A02020201B802C09A0C020201D802000203B802000204010A020202F802C09A0C0B01019813000202B802000203015A02020204A802C09A0C02019802000201F802000202011A02020B03B802C09A0C020401C8020002B802000201011A02020202F813C09A0C0203019802000204A802000B015A02020201B802C09A0C0202019802000203F80200020401');
INSERT INTO entry VALUES (8, 1, '{"entry":"cell","row":1,"phase":"after","at_s":1.5,"set":0,"outcome":{"lost":{"outcome":"timed-out","reason":"the cell took longer than 2 s"}}}', NULL);
INSERT INTO entry VALUES (9, 1, '{"entry":"counted","row":0,"count":{"ops":23,"own":{"getppid":23},"peer":{},"by":"ptrace","tasks":null,"faults":null,"bytes":null,"vdso":null,"instructions":null,"copy":null}}', NULL);
INSERT INTO entry VALUES (10, 1, '{"entry":"not-counted","row":1,"why":"ptrace: permission denied"}', NULL);
INSERT INTO entry VALUES (11, 1, '{"entry":"given-up","row":1,"outcome":"skipped","reason":"no vDSO"}', NULL);
INSERT INTO entry VALUES (12, 1, '{"entry":"settled","row":0,"converged":true}', NULL);
INSERT INTO entry VALUES (13, 1, '{"entry":"ended","at":"2026-11-21T08:16:02.5Z","complete":true}', NULL);
INSERT INTO prediction VALUES (1, '2026-11-22T08:15:00Z', 'syscall/getppid:via=raw', '<120 ns', '40 cycles', NULL, NULL);
INSERT INTO word VALUES (1, '0.1.0');
INSERT INTO word VALUES (2, 'aa');
INSERT INTO word VALUES (3, 'bb');
INSERT INTO word VALUES (4, 'static-pie');
INSERT INTO word VALUES (5, 'ssh:db1');
INSERT INTO word VALUES (6, 'arch x86_64, cpus 2');
INSERT INTO word VALUES (7, 'flavour amd64');
INSERT INTO word VALUES (8, '6.1.0-22-amd64');
INSERT INTO word VALUES (9, '00ff');
INSERT INTO word VALUES (10, '0xa20');
INSERT INTO word VALUES (11, 'quiet');
INSERT INTO word VALUES (12, 'meltdown: Mitigation: PTI');
INSERT INTO word VALUES (13, 'capability landlock');
INSERT INTO word VALUES (14, '');
INSERT INTO word VALUES (15, 'tsc');
INSERT INTO word VALUES (16, 'clean');
INSERT INTO word VALUES (17, 'cpus 4');
INSERT INTO word VALUES (18, 'syscall/getppid:via=raw');
INSERT INTO word VALUES (19, 'local');
INSERT INTO word VALUES (20, 'ns/op');
INSERT INTO word VALUES (21, 'B');
INSERT INTO word VALUES (22, 'REFERENCE DRIFT');
INSERT INTO word VALUES (23, 'cc');
INSERT INTO word VALUES (24, 'ext4 (disk)');
INSERT INTO word VALUES (25, 'normal');
INSERT INTO word VALUES (26, 'pipe/stream:size=64');
INSERT INTO word VALUES (27, 'B/s');
INSERT INTO summary VALUES (1, 7, 1, 2, 3, 4, 5, 1);
INSERT INTO stand VALUES (1, 0, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
INSERT INTO stand VALUES (1, 1, 17, 14, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO figure VALUES (1, 0, 18, 19, 0, NULL, 1, 1, 20, 21, 23, 24, 25, 22, 122.1, 120.87899999999999, 123.321);
INSERT INTO figure VALUES (1, 1, 26, 19, NULL, 1, NULL, 1, 27, NULL, NULL, NULL, NULL, 14, 333333333.33333331, NULL, NULL);
