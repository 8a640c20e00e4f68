//! The attempts, and the layer that stops each of them. If a tier is not documented to stop an
//! attempt, its entry is empty; see docs/sandbox.md.

use crate::stage::{Stage, User};
use pitcrew_process::Tier;

pub struct Attempt {
    pub name: &'static str,
    /// Exits with 0 if the attempt succeeds.
    pub script: String,
    /// The layer that stops it in T3 and T2. Empty if the tier does not claim to stop it.
    pub by: [&'static str; 2],
    pub who: Who,
    /// Whether it changes files without confinement.
    pub changes: bool,
    /// The expected record of the network decision, if it goes through the proxy.
    pub recorded: Option<String>,
}

/// The users that succeed without confinement.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Who {
    Everybody,
    Root,
    /// Not root, which has the access anyway.
    User,
}

impl Attempt {
    /// Returns the layer that stops it there, if any must.
    pub fn stopped_by(&self, tier: Tier, user: User) -> Option<&'static str> {
        let by = match tier {
            Tier::T1 => "",
            Tier::T2 => self.by[1],
            Tier::T3 => self.by[0],
        };
        let tried = match self.who {
            Who::Everybody => true,
            Who::Root => user.is_root(),
            Who::User => !user.is_root(),
        };
        (tried && !by.is_empty()).then_some(by)
    }
}

const TREE: &str = "not in the box";
const READ_ONLY: &str = "read-only";
const LANDLOCK: &str = "Landlock";
const SECCOMP: &str = "seccomp";
const PIDS: &str = "own processes";
const NET: &str = "own network";
const CAPS: &str = "no capabilities";
const ENV: &str = "allow-list";
const LIMITS: &str = "limits";
const SCOPE: &str = "Landlock scope";
const NNP: &str = "no_new_privs";

pub fn attempts(stage: &Stage) -> Vec<Attempt> {
    let mut all = processes(stage);
    all.extend(calls());
    all.extend(network(stage));
    all.extend(proxied(stage));
    for attempt in &mut all {
        attempt.changes = false;
    }
    all.extend(files(stage));
    all.extend(attributes(stage));
    all.extend(places(stage));
    all.extend(git(stage));
    all
}

fn attempt(name: &'static str, by: [&'static str; 2], script: impl Into<String>) -> Attempt {
    Attempt { name, script: script.into(), by, who: Who::Everybody, changes: true, recorded: None }
}

fn of(who: Who, attempt: Attempt) -> Attempt {
    Attempt { who, ..attempt }
}

/// Attempts on files beside the checkout.
fn files(stage: &Stage) -> Vec<Attempt> {
    let (user, outside) = (stage.shown("user"), stage.shown("outside"));
    let token = format!("{user}/.local/state/pitcrew/workspaces/1/token");
    let hidden = [TREE, LANDLOCK];
    vec![
        attempt("read a key in ~/.ssh", hidden, format!("cat {user}/.ssh/id")),
        attempt("read our token", hidden, format!("cat {token}")),
        attempt("read our settings", hidden, format!("cat {user}/.config/pitcrew/config.toml")),
        attempt("read a file of another folder", hidden, "cat ../outside/secret"),
        attempt("list a folder outside", hidden, "ls ../outside | grep secret"),
        attempt("write outside", hidden, "echo x > ../outside/secret"),
        attempt("make a file outside", hidden, "echo x > ../outside/new"),
        attempt(
            "empty a file outside",
            hidden,
            "perl -e 'truncate(\"../outside/secret\", 0) or exit 1'",
        ),
        attempt("remove a file outside", hidden, "rm ../outside/secret"),
        attempt(
            "change the user's .gitconfig",
            hidden,
            format!("grep user {user}/.gitconfig && echo x >> {user}/.gitconfig"),
        ),
        attempt("read through a link", hidden, format!("ln -s {outside}/secret ui/l && cat ui/l")),
        attempt(
            "write through a linked folder",
            hidden,
            format!("ln -s {outside} ui/l && echo x > ui/l/new"),
        ),
        attempt("link a file in", hidden, "ln ../outside/secret ui/hard && cat ui/hard"),
        attempt(
            "rename out",
            hidden,
            "perl -e 'rename(\"ui/file\", \"../outside/file\") or exit 1'",
        ),
        attempt("exchange with a file outside", hidden, rename_exchange()),
        attempt("see that a file is there", [TREE, ""], "test -e ../outside/secret"),
        attempt("change the mode of a file outside", [TREE, ""], "chmod 666 ../outside/secret"),
        attempt(
            "change the times of a file outside",
            [TREE, ""],
            "touch -d 2001-01-01 ../outside/secret",
        ),
        attempt("read what is denied in the checkout", ["masked", LANDLOCK], "cat p/sub/kept"),
        attempt(
            "rename the folder above what is denied",
            [READ_ONLY, LANDLOCK],
            "mv p p2 && mkdir -p p/sub && echo evil > p/sub/kept",
        ),
        attempt("write beside the zone", [READ_ONLY, LANDLOCK], "echo x > core/file"),
        attempt("move work out of the zone", [READ_ONLY, LANDLOCK], "mv ui/file core/other"),
    ]
}

/// Attempts on the attributes of files.
fn attributes(stage: &Stage) -> Vec<Attempt> {
    let secret = stage.shown("outside/secret");
    let set = |number: i64, name: &str, value: &str| {
        let call = format!("syscall({number}, $p, $n, $v, length($v), 0) == -1 and exit 1");
        format!("perl -e 'my ($p, $n, $v) = (\"{secret}\", \"{name}\", {value}); {call}'")
    };
    // The owner, one more user, the group, the mask and all others.
    let list = "pack(\"V(vvV)5\", 2, 1, 6, -1, 2, 6, 12345, 4, 4, -1, 16, 6, -1, 32, 4, -1)";
    let made = |flags: i32, name: &str| {
        let call = format!("syscall({}, -100, $n, {flags}, 04755) == -1", libc::SYS_openat);
        format!("perl -e 'my $n = \"{name}\"; {call} and exit 1'")
    };
    let (tmpfile, create) = (libc::O_TMPFILE | libc::O_RDWR, libc::O_CREAT | libc::O_WRONLY);
    let how = format!("pack(\"QQQ\", {create}, 04755, 0)");
    let openat2 = format!("syscall({}, -100, $n, $h, 24) == -1 and exit 1", libc::SYS_openat2);
    let (hidden, both) = ([TREE, SECCOMP], [SECCOMP, SECCOMP]);
    let request = |number: u64| {
        format!(
            "perl -e 'open(my $f, \"<\", \"ui/file\"); my $v = \"\\0\" x 128;
             ioctl($f, {number}, $v) or $!{{EPERM}} and exit 1; exit 0'"
        )
    };
    vec![
        attempt(
            "set an extended attribute of a file outside",
            hidden,
            set(libc::SYS_setxattr, "user.evil", "\"evil\""),
        ),
        attempt(
            "set an attribute of a file outside by lsetxattr",
            hidden,
            set(libc::SYS_lsetxattr, "user.evil", "\"evil\""),
        ),
        attempt(
            "set an access control list of a file outside",
            hidden,
            set(libc::SYS_setxattr, "system.posix_acl_access", list),
        ),
        attempt("change the flags of a file", ["", SECCOMP], request(0x4008_6602)),
        attempt("enable fs-verity for a file", ["", SECCOMP], request(0x4080_6685)),
        attempt("make a btrfs subvolume", ["", SECCOMP], request(0x5000_940e)),
        attempt(
            "change the flags of a file by file_setattr",
            ["", SECCOMP],
            "perl -e 'my $a = \"\\0\" x 24; syscall(469, -100, 0, $a, 24, 0) == -1
             and $!{EOPNOTSUPP} and exit 1; exit 0'",
        ),
        attempt(
            "set the set-user-ID bit of a file outside",
            hidden,
            "perl -e 'chmod(04755, \"../outside/secret\") or exit 1'",
        ),
        attempt(
            "set the set-group-ID bit of a file outside",
            hidden,
            "perl -e 'chmod(02755, \"../outside/secret\") or exit 1'",
        ),
        attempt(
            "set the set-user-ID bit in the checkout",
            both,
            "perl -e 'chmod(04755, \"ui/file\") or exit 1'",
        ),
        attempt("make a set-user-ID file", both, made(create, "ui/new")),
        attempt("make an unnamed set-user-ID file", both, made(tmpfile, "ui")),
        attempt(
            "make a set-user-ID file by openat2",
            both,
            format!("perl -e 'my ($n, $h) = (\"ui/new\", {how}); {openat2}'"),
        ),
    ]
}

fn rename_exchange() -> String {
    let call = format!("syscall({}, -100, $a, -100, $b, 2) == -1 and exit 1", libc::SYS_renameat2);
    format!("perl -e 'my ($a, $b) = (\"ui/file\", \"../outside/secret\"); {call}'")
}

/// Attempts on paths of the machine that contain no user files.
fn places(stage: &Stage) -> Vec<Attempt> {
    let tools = stage.shown("tools");
    vec![
        of(Who::Root, attempt("read /etc/shadow", [TREE, LANDLOCK], "cat /etc/shadow")),
        attempt(
            "leave something in the machine's /tmp",
            ["", LANDLOCK],
            "f=/tmp/pitcrew-escape-$$; echo x > $f && rm $f",
        ),
        of(Who::Root, attempt("make a device", [CAPS, LANDLOCK], "mknod ui/null c 1 3")),
        of(
            Who::User,
            attempt(
                "gain root by a setuid program",
                [NNP, NNP],
                format!("{tools}/id -u | grep -x 0"),
            ),
        ),
        attempt("read a secret of our environment", [ENV, ENV], "test -n \"$GITHUB_TOKEN\""),
        attempt("leave memory behind in a crash", [LIMITS, LIMITS], "ulimit -c unlimited"),
        attempt(
            "fill the disk with one file",
            [LIMITS, LIMITS],
            "head -c 8000000 /dev/zero > ui/big",
        ),
        attempt(
            "use more memory than allowed",
            [LIMITS, LIMITS],
            "perl -e '$x = \"x\" x (400 << 20)'",
        ),
        // The processes stay for a while: root is not refused, but ended by the process counter.
        attempt(
            "start more processes than allowed",
            [LIMITS, LIMITS],
            "perl -e 'my @all; for (1..120) { my $p = fork; defined $p or (kill(9, @all), exit 1);
             $p or (sleep 600, exit); push @all, $p } sleep 2; kill 9, @all'",
        ),
    ]
}

/// Attempts on processes of the machine.
fn processes(stage: &Stage) -> Vec<Attempt> {
    let pid = stage.bystander.id();
    let secret = stage.shown("outside/secret");
    let limit = format!("syscall({}, {pid}, 7, $all, 0) == -1 and exit 1", libc::SYS_prlimit64);
    let open = format!("syscall({}, {pid}, 0)", libc::SYS_pidfd_open);
    let take = format!("syscall({}, $p, 0, 0) == -1 and exit 1", libc::SYS_pidfd_getfd);
    let attach = format!("syscall({}, 16, {pid}, 0, 0) == -1 and exit 1", libc::SYS_ptrace);
    vec![
        attempt("see a process of the machine", [PIDS, ""], format!("test -d /proc/{pid}")),
        attempt(
            "read the environment of a process",
            [PIDS, LANDLOCK],
            format!("grep -q PASSWORD /proc/{pid}/environ"),
        ),
        attempt(
            "read through /proc/PID/root",
            [PIDS, LANDLOCK],
            format!("cat /proc/{pid}/root{secret}"),
        ),
        attempt(
            "read through /proc/PID/cwd",
            [PIDS, LANDLOCK],
            format!("cat /proc/{pid}/cwd{secret}"),
        ),
        attempt(
            "read the memory map of a process",
            [PIDS, LANDLOCK],
            format!("grep -q stack /proc/{pid}/maps"),
        ),
        attempt("signal a process", [PIDS, SCOPE], format!("kill -CONT {pid}")),
        attempt(
            "end a process by a resource limit",
            [PIDS, SECCOMP],
            format!("perl -e 'my $all = pack(\"QQ\", 4096, 4096); {limit}'"),
        ),
        of(
            Who::Root,
            attempt(
                "take an open file out of a process",
                [PIDS, SECCOMP],
                format!("perl -e 'my $p = {open}; $p < 0 and exit 1; {take}'"),
            ),
        ),
        of(
            Who::Root,
            attempt(
                "trace a process",
                [PIDS, SECCOMP],
                format!("perl -e '{attach}; kill 18, {pid}'"),
            ),
        ),
    ]
}

/// System calls. They succeed if the kernel evaluates them at all.
fn calls() -> Vec<Attempt> {
    let call = |number: i64, arguments: &str| {
        let prepare = "my ($zeros, $name) = (\"\\0\" x 120, \"none\");";
        format!(
            "perl -e '{prepare} syscall({number}, {arguments}) == -1 and $!{{EPERM}} and exit 1; exit 0'"
        )
    };
    let both = [SECCOMP, SECCOMP];
    vec![
        attempt("use io_uring", both, call(libc::SYS_io_uring_setup, "8, $zeros")),
        attempt("use the kernel's key rings", both, call(libc::SYS_keyctl, "0, -3, 0")),
        of(
            Who::Root,
            attempt("load a program into the kernel", both, call(libc::SYS_bpf, "0, $zeros, 72")),
        ),
        of(
            Who::Root,
            attempt(
                "open a file by its handle",
                both,
                call(libc::SYS_open_by_handle_at, "-1, $zeros, 0"),
            ),
        ),
        attempt("make a user namespace", both, call(libc::SYS_unshare, "0x10000000")),
        attempt(
            "start a process in a new namespace",
            both,
            call(libc::SYS_clone, "0x10000000 | 17, 0, 0, 0, 0"),
        ),
        attempt(
            "start a process in a new namespace by clone3",
            both,
            call(libc::SYS_clone3, "0, 0").replace("$!{EPERM}", "$!{ENOSYS}"),
        ),
        attempt("enter another namespace", both, call(libc::SYS_setns, "-1, 0")),
        attempt("clone a mount tree", both, call(libc::SYS_open_tree, "-1, $name, 0")),
        attempt("watch all files that are opened", both, call(libc::SYS_fanotify_init, "0x200, 0")),
        attempt(
            "use performance events",
            both,
            call(libc::SYS_perf_event_open, "$zeros, 0, -1, -1, 0"),
        ),
        attempt("use userfaultfd", both, call(libc::SYS_userfaultfd, "-1")),
        attempt("use System V shared memory", ["", SECCOMP], system_v("shm", "0, 4096,")),
        attempt("use System V message queues", ["", SECCOMP], system_v("msg", "0,")),
        attempt("use System V semaphores", ["", SECCOMP], system_v("sem", "0, 1,")),
        attempt(
            "register a pressure trigger",
            [READ_ONLY, LANDLOCK],
            "perl -e 'open(my $f, \">\", \"/proc/pressure/cpu\") or $!{ENOENT} or exit 1'",
        ),
        attempt(
            "lower the priority of all processes of the user",
            ["", SECCOMP],
            call(libc::SYS_setpriority, "2, 0, 0"),
        ),
        of(
            Who::Root,
            attempt("mount something", both, call(libc::SYS_mount, "$name, $name, $name, 0, 0")),
        ),
        attempt("type into a terminal", both, call(libc::SYS_ioctl, "0, 0x5412, $name")),
        attempt(
            "type into a terminal with other high bits",
            both,
            call(libc::SYS_ioctl, "0, 0x7700005412, $name"),
        ),
    ]
}

/// Creates an object that any process of the user can find, and removes it.
fn system_v(kind: &str, arguments: &str) -> String {
    let remove = if kind == "sem" { "0, 0, 0" } else { "0, 0" };
    format!(
        "perl -e 'my $id = {kind}get({arguments} 0600); defined $id or exit 1; {kind}ctl($id, {remove})'"
    )
}

fn internet(kind: &str, protocol: u32, port: u16, rest: &str) -> String {
    format!(
        "perl -MSocket -e 'socket(my $s, AF_INET, {kind}, {protocol}) or exit 1;
         my $to = pack_sockaddr_in({port}, inet_aton(\"127.0.0.1\")); {rest}'"
    )
}

/// If the kernel does not support it, there is nothing to refuse.
fn mptcp(port: u16, rest: &str) -> String {
    internet("SOCK_STREAM", 262, port, rest).replace("or exit 1;", "or exit ($!{EPERM} ? 1 : 0);")
}

fn unix(address: &str) -> String {
    format!(
        "perl -MSocket -e 'socket(my $s, AF_UNIX, SOCK_STREAM, 0) or exit 1;
         connect($s, {address}) or exit 2'"
    )
}

/// Attempts on services that listen on the machine.
fn network(stage: &Stage) -> Vec<Attempt> {
    let tcp = stage.tcp.local_addr().unwrap().port();
    let connect = "connect($s, $to) or exit 2; syswrite($s, \"out\") or exit 3";
    let fast = "send($s, \"out\", 0x20000000, $to) or exit 2";
    let lazy = format!("setsockopt($s, 6, 30, 1) or exit 1; {connect}");
    let hear = "alarm 20; defined recv($s, my $got, 9, 0) or exit 4";
    let ask = format!("connect($s, $to) or exit 2; send($s, \"?\", 0) or exit 3; {hear}");
    let socket = stage.shown("services/docker.sock");
    let family = |number: u32, kind: u32| {
        format!("perl -e 'socket(my $s, {number}, {kind}, 0) or ($!{{EPERM}} and exit 1)'")
    };
    let datagrams = stage.shown("services/log.sock");
    let pair = |kind: u32| {
        format!(
            "perl -MSocket -e 'socketpair(my $a, my $b, AF_UNIX, {kind}, 0) or exit 1;
             send($a, \"out\", 0, pack_sockaddr_un(\"{datagrams}\")) or exit 2'"
        )
    };
    let bind = "bind($s, pack_sockaddr_in(0, INADDR_ANY)) or exit 2; listen($s, 1) or exit 3";
    vec![
        attempt(
            "connect to a service of the machine",
            [NET, LANDLOCK],
            internet("SOCK_STREAM", 0, tcp, connect),
        ),
        attempt("connect by MPTCP", [NET, SECCOMP], mptcp(tcp, connect)),
        attempt("send by TCP fast open", [NET, SECCOMP], internet("SOCK_STREAM", 0, tcp, fast)),
        attempt(
            "connect by TCP fast open with a delay",
            [NET, LANDLOCK],
            internet("SOCK_STREAM", 0, tcp, &lazy),
        ),
        attempt("send by UDP", [NET, SECCOMP], internet("SOCK_DGRAM", 0, stage.udp, &ask)),
        attempt("ask a name server", [NET, SECCOMP], internet("SOCK_DGRAM", 17, stage.udp, &ask)),
        attempt(
            "listen for the machine's network",
            ["", LANDLOCK],
            internet("SOCK_STREAM", 0, tcp, bind),
        ),
        attempt(
            "listen on an unnamed port",
            ["", SECCOMP],
            internet("SOCK_STREAM", 0, tcp, "listen($s, 1) or exit 2"),
        ),
        attempt("send to a socket from a datagram socket pair", [TREE, SECCOMP], pair(2)),
        attempt("send to a socket from a raw socket pair", [TREE, SECCOMP], pair(3)),
        attempt(
            "make a socket pair of another family",
            [SECCOMP, SECCOMP],
            "perl -e 'socketpair(my $a, my $b, 30, 1, 0) or ($!{EPERM} and exit 1)'",
        ),
        attempt("speak to the host of a virtual machine", [SECCOMP, SECCOMP], family(40, 1)),
        attempt("use the kernel's ciphers", [SECCOMP, SECCOMP], family(38, 5)),
        of(Who::Root, attempt("listen to all packets", [SECCOMP, SECCOMP], family(17, 3))),
        attempt(
            "connect to a socket like docker's",
            [TREE, SECCOMP],
            unix(&format!("pack_sockaddr_un(\"{socket}\")")),
        ),
        attempt(
            "connect to an abstract socket",
            [NET, SECCOMP],
            unix(&format!("pack(\"S\", 1) . \"\\0{}\"", stage.abstract_name)),
        ),
    ]
}

/// Builds a Perl command that connects to a destination through the proxy, or directly if there is
/// none.
fn through_proxy(host: &str, port: u16) -> String {
    format!(
        r#"perl -MSocket -e 'my ($proxy, $port, $head) = ($ENV{{HTTPS_PROXY}}, {port}, "");
         if ($proxy and $proxy =~ m#//(?:(.*?)@)?127.0.0.1:(\d+)#) {{
             $port = $2; my $secret = pack("u", $1 // ""); $secret =~ s/^.|\n//mg;
             $secret =~ tr#` -_#AA-Za-z0-9+/#; my $over = (3 - length($1 // "") % 3) % 3;
             substr($secret, -$over) = "=" x $over if $over;
             $head = "Proxy-Authorization: Basic $secret\r\n" if $1;
         }} elsif ("{host}" ne "127.0.0.1") {{ exit 0 }}
         socket(my $s, AF_INET, SOCK_STREAM, 0) or exit 1;
         connect($s, pack_sockaddr_in($port, inet_aton("127.0.0.1"))) or exit 2;
         $proxy or exit 0;
         syswrite($s, "CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n$head\r\n");
         sysread($s, my $answer, 4096) or exit 3; print $answer; $answer =~ m# 200 # or exit 4'"#
    )
}

/// Attempts to reach refused destinations through the proxy. Without confinement there is no proxy,
/// and every host on the machine's network can be reached.
fn proxied(stage: &Stage) -> Vec<Attempt> {
    let port = stage.tcp.local_addr().unwrap().port();
    let refused = |name, host: &str, port| Attempt {
        recorded: Some(host.to_owned()),
        ..attempt(name, ["proxy", "proxy"], through_proxy(host, port))
    };
    vec![
        refused("reach the machine's loopback by the proxy", "127.0.0.1", port),
        refused("reach the metadata of a cloud by the proxy", "169.254.169.254", 80),
        refused("reach a host that is not allowed by the proxy", "not-allowed.example", 443),
    ]
}

/// Attempts with git in the checkout, which runs what the checkout configures, and with the vault.
/// Our git on an agent's checkout runs in the same kind of box as the agent.
fn git(stage: &Stage) -> Vec<Attempt> {
    let vault = stage.shown("vault");
    let hidden = [TREE, LANDLOCK];
    let evil = "printf '#!/bin/sh\\necho x > ../outside/pwned\\n' > ui/evil; chmod +x ui/evil;";
    let ran = "; test -e ../outside/pwned";
    vec![
        attempt(
            "run a planted hook",
            hidden,
            format!("{evil} cp ui/evil .git/hooks/pre-commit; git commit -qm x --allow-empty{ran}"),
        ),
        attempt(
            "run a planted file monitor",
            hidden,
            format!("{evil} git config core.fsmonitor $PWD/ui/evil; git status > ui/s 2>&1{ran}"),
        ),
        attempt(
            "run a planted filter",
            hidden,
            format!(
                "{evil} git config filter.x.clean $PWD/ui/evil; echo '* filter=x' > .git/info/attributes; echo y > ui/file; git add ui/file{ran}"
            ),
        ),
        attempt(
            "run a planted diff program",
            hidden,
            format!(
                "{evil} git config diff.external $PWD/ui/evil; echo y > ui/file; git diff > ui/d{ran}"
            ),
        ),
        attempt(
            "point .git elsewhere",
            hidden,
            format!(
                "{evil} mkdir ui/r && git init -q ui/r && git -C ui/r config core.fsmonitor $PWD/ui/evil; GIT_DIR=ui/r/.git git status > ui/s 2>&1{ran}"
            ),
        ),
        attempt(
            "push into the vault",
            [READ_ONLY, LANDLOCK],
            format!("git push -q {vault} HEAD:refs/heads/evil"),
        ),
        attempt(
            "remove objects of the vault",
            [READ_ONLY, LANDLOCK],
            format!("rm -rf {vault}/objects/?? && ! ls -d {vault}/objects/??"),
        ),
        attempt(
            "plant a hook in the vault",
            [READ_ONLY, LANDLOCK],
            format!("echo x > {vault}/hooks/post-receive"),
        ),
    ]
}
