//! Tier T3: what a program in a box can reach and what it cannot, with real programs.

#[path = "common/program.rs"]
mod program;

use pitcrew_process::{Cancel, Finished, Net, Policy, Run, Tier, roots, run_confined};
use std::{
    collections::BTreeMap,
    fs::{self, Permissions},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};
use tempfile::TempDir;

struct Lab {
    folder: TempDir,
    policy: Policy,
}

impl Lab {
    /// Creates a home with a secret, and a checkout with unusual characters in its path.
    fn new() -> Self {
        let folder = TempDir::new().expect("a folder");
        let lab = Self { policy: Policy::unconfined(), folder };
        fs::create_dir_all(lab.home().join(".ssh")).expect("a folder");
        fs::write(lab.home().join(".ssh/id"), "the key").expect("room");
        fs::create_dir_all(lab.checkout().join("src/core")).expect("a folder");
        fs::write(lab.checkout().join("src/core/secret"), "theirs").expect("room");
        let home = lab.home().display().to_string();
        let path = std::env::var("PATH").expect("a path");
        let environment = BTreeMap::from([("HOME".to_owned(), home), ("PATH".to_owned(), path)]);
        let roots = roots(&environment);
        let policy = Policy {
            tier: Tier::T3,
            env: environment.into_iter().collect(),
            read: roots.read,
            write: vec![lab.checkout()],
            deny: roots.deny,
            net: Net::None,
            launcher: Some(program::shim_program()),
            ..Policy::unconfined()
        };
        Self { policy, ..lab }
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn checkout(&self) -> PathBuf {
        self.home().join("work trees/it's one")
    }

    fn run(&self, script: &str) -> Finished {
        let run = Run::shell(script, self.checkout());
        run_confined(&self.policy, run, &Cancel::default()).expect("it runs")
    }

    #[track_caller]
    fn says(&self, script: &str, expected: &str) {
        let finished = self.run(script);
        let text = String::from_utf8_lossy(&finished.stdout).into_owned();
        assert_eq!((finished.code, text.trim()), (Some(0), expected), "{script}");
    }

    #[track_caller]
    fn refuses(&self, script: &str) {
        let finished = self.run(script);
        let text = String::from_utf8_lossy(&finished.stdout).into_owned();
        assert!(finished.code.is_some_and(|it| it != 0), "{script}: {text}");
    }
}

fn quoted(path: &Path) -> String {
    format!("\"{}\"", path.display())
}

#[test]
fn boxed_program_works_in_its_checkout_and_reaches_nothing_else() {
    let lab = Lab::new();
    lab.says("pwd", &lab.checkout().display().to_string());
    lab.says("echo done > made && cat made", "done");
    assert_eq!(fs::read(lab.checkout().join("made")).unwrap(), b"done\n");
    lab.refuses(&format!("cat {}", quoted(&lab.home().join(".ssh/id"))));
    lab.refuses("cat /etc/shadow");
    lab.says("ls ~", "work trees");
    lab.says("ls /tmp/.. | grep -c -x -e srv -e mnt -e media || true", "0");
    lab.refuses("echo evil > /usr/evil");
    lab.run(&format!("echo evil > {}", quoted(&lab.home().join("evil"))));
    lab.run("echo evil > /tmp/evil; mkdir -p ../other && echo evil > ../other/evil");
    assert!(!lab.home().join("evil").exists() && !Path::new("/tmp/evil").exists());
    assert!(!lab.checkout().join("../other").exists());
}

#[test]
fn boxed_program_sees_and_ends_only_its_own_processes() {
    let lab = Lab::new();
    let ours = std::process::id();
    // The first process of the box, this shell, and at most the commands of this line.
    lab.says("test $(ls /proc | grep -c '^[0-9]') -le 5 && echo few", "few");
    lab.refuses(&format!("kill -0 {ours}"));
    lab.refuses("kill -9 -1; exit 1");
}

#[test]
fn boxed_program_has_no_root_rights_and_no_network() {
    let lab = Lab::new();
    lab.says("grep -c '^Cap\\(Eff\\|Prm\\|Bnd\\):.0000000000000000$' /proc/self/status", "3");
    lab.refuses("mount -t tmpfs none src");
    lab.says("grep -c : /proc/net/dev", "1");
}

/// The files that are shared with root's box belong to the program, and no other files of root do.
#[test]
fn boxed_program_of_root_is_unprivileged_and_owns_its_checkout() {
    let lab = Lab::new();
    let owner = fs::metadata(lab.checkout()).expect("a folder").uid();
    let script =
        "test $(id -u) = $(stat -c %u .) && test $(id -u) != 0 && id -un >/dev/null && echo own";
    lab.says(script, "own");
    lab.says("touch made && test -O made && echo mine", "mine");
    assert_eq!(fs::metadata(lab.checkout().join("made")).expect("a file").uid(), owner);
    lab.says("stat -c %u /usr | grep -c -x \"$(id -u)\" || true", "0");
    lab.refuses("chown 0 made");
    lab.refuses("cat /etc/shadow");
}

/// A box lists the entries of `/etc` that it shares, so a file that is replaced by renaming another
/// one over it stays hidden.
#[test]
fn replaced_file_in_etc_stays_hidden_while_a_box_lives() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let lab = Lab::new();
    let secret = tempfile::Builder::new().prefix("pitcrew-test-").tempfile_in("/etc");
    let secret = secret.expect("root writes there").into_temp_path();
    let [go, replaced] = ["go", "replaced"].map(|it| lab.checkout().join(it));
    let script = format!(
        "touch go; until [ -e replaced ]; do :; done; cat {0} 2>/dev/null; ls -a /etc | grep -c pitcrew-test- || true",
        secret.display()
    );
    std::thread::scope(|scope| {
        let boxed = scope.spawn(|| lab.run(&script));
        while !go.exists() {
            assert!(!boxed.is_finished(), "it waits for us");
            std::thread::yield_now();
        }
        let new = secret.with_extension("new");
        fs::write(&new, "hidden").expect("room");
        fs::set_permissions(&new, Permissions::from_mode(0o644)).expect("it is ours");
        fs::rename(&new, &secret).expect("it is ours");
        fs::write(&replaced, "").expect("room");
        let finished = boxed.join().expect("it ends");
        assert_eq!(String::from_utf8_lossy(&finished.stdout), "0\n");
    });
}

#[test]
fn kernel_settings_are_read_only_in_a_box() {
    for nests in [false, true] {
        let mut lab = Lab::new();
        lab.policy.nests = nests;
        let writable = "find /proc/sys /proc/sysrq-trigger /proc/irq /sys -type f -writable 2>/dev/null \
            | grep -v ns_last_pid | wc -l";
        lab.says(writable, "0");
        lab.refuses("cat /proc/sys/kernel/core_pattern > /proc/sys/kernel/core_pattern");
    }
}

/// The first process of a box sets it up. A program that could trace it would escape all
/// restrictions.
#[test]
fn first_process_of_a_box_is_filtered_and_cannot_be_traced() {
    for nests in [false, true] {
        let mut lab = Lab::new();
        lab.policy.nests = nests;
        // bubblewrap installs its own filter while the program starts.
        lab.says(
            "until grep -q '^Seccomp:.2$' /proc/1/status; do :; done; echo filtered",
            "filtered",
        );
        let attach = "perl -e 'exit(syscall(101, 16, 1, 0, 0) == 0 ? 0 : 7)'";
        assert_eq!(lab.run(attach).code, Some(7));
        lab.refuses("head -c 1 /proc/1/mem");
        lab.refuses("kill -0 1");
    }
}

#[test]
fn boxed_program_can_trace_its_own_children() {
    let lab = Lab::new();
    let script = "perl -e 'my $pid = fork; if (!$pid) { sleep 60 } \
        my $result = syscall(101, 16, $pid, 0, 0); kill 9, $pid; exit($result == 0 ? 0 : 7)'";
    assert_eq!(lab.run(script).code, Some(0));
}

#[test]
fn only_a_nesting_program_can_create_user_namespaces() {
    let mut lab = Lab::new();
    let call = |number: i64, rest: &str| {
        format!("perl -e 'syscall({number}, {rest}) == -1 and exit $! + 0'")
    };
    let mut ends = |nests, script: &str| {
        lab.policy.nests = nests;
        lab.run(script).code
    };
    // The kernel rejects these arguments if it evaluates them.
    for script in [call(libc::SYS_setns, "-1, 0"), call(libc::SYS_open_tree, "-1, -1, 0")] {
        assert_eq!(ends(false, &script), Some(libc::EPERM), "{script}");
        assert_ne!(ends(true, &script), Some(libc::EPERM), "{script}");
    }
    let io_uring = call(libc::SYS_io_uring_setup, "8, 0");
    assert_eq!(ends(true, &io_uring), Some(libc::EPERM));
    lab.policy.nests = false;
    lab.refuses("unshare -U true");
    lab.policy.nests = true;
    lab.says("unshare -U echo made", "made");
}

#[test]
fn session_keys_are_hidden_and_set_user_id_is_refused() {
    let lab = Lab::new();
    lab.refuses("cat /proc/keys");
    lab.refuses("cp /bin/true p && chmod 4755 p");
    lab.refuses("perl -e 'chmod(04755, q(src)) or exit 1'");
}

#[test]
fn box_starts_in_a_folder_that_is_private_to_the_user() {
    let lab = Lab::new();
    fs::set_permissions(lab.checkout(), Permissions::from_mode(0o700)).expect("it is ours");
    lab.says("pwd", lab.checkout().to_str().expect("UTF-8"));
}

#[test]
fn git_commits_in_a_box() {
    let lab = Lab::new();
    let script = "git init -q . && git add -A && \
        git -c user.name=A -c user.email=a@b.c commit -qm one && git log --format=%s";
    lab.says(script, "one");
}

#[test]
fn denied_paths_cannot_be_read_replaced_or_moved() {
    let mut lab = Lab::new();
    lab.policy.deny.push(lab.checkout().join("src/core"));
    lab.policy.deny.push(lab.checkout().join("none/at/all"));
    lab.refuses("cat src/core/secret");
    lab.refuses("echo evil > src/core/other");
    lab.refuses("mv src elsewhere");
    lab.refuses("mv src/core elsewhere");
    lab.says("echo fine > src/mine && cat src/mine", "fine");
    assert_eq!(fs::read(lab.checkout().join("src/core/secret")).unwrap(), b"theirs");
    assert!(!lab.checkout().join("none").exists(), "nothing is made on the machine");
    lab.policy.deny = vec![lab.checkout().join("src/core/secret")];
    lab.refuses("cat src/core/secret");
    lab.refuses("rm src/core/secret");
    lab.refuses("mv src/core src/elsewhere");
    assert_eq!(fs::read(lab.checkout().join("src/core/secret")).unwrap(), b"theirs");
}

#[test]
fn linked_path_is_the_same_in_a_box() {
    let lab = Lab::new();
    let link = lab.folder.path().join("short");
    std::os::unix::fs::symlink(lab.checkout(), &link).unwrap();
    let policy = Policy { write: vec![link.clone()], ..lab.policy.clone() };
    let run = Run::shell("echo done > linked", &link);
    assert!(run_confined(&policy, run, &Cancel::default()).expect("it runs").success());
    assert!(lab.checkout().join("linked").exists());
}

#[test]
fn nested_box_works() {
    let mut lab = Lab::new();
    lab.policy.nests = true;
    let inner = "bwrap --unshare-user --unshare-pid --unshare-net --ro-bind / / --dev /dev";
    lab.says(
        &format!("{inner} --bind \"$PWD\" \"$PWD\" -- sh -c 'echo inner > made; echo $$'"),
        "2",
    );
    assert_eq!(fs::read(lab.checkout().join("made")).unwrap(), b"inner\n");
    lab.refuses(&format!("{inner} -- sh -c 'echo inner > made'"));
}

#[test]
fn box_is_gone_after_its_program_ends() {
    let lab = Lab::new();
    let finished = lab.run(
        "(setsid sleep 600 & ) ; (setsid sleep 600 &) ; cat /proc/self/cgroup > /dev/null; exit 7",
    );
    assert_eq!(finished.code, Some(7));
    let here = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter(|it| fs::read_link(it.path().join("cwd")).is_ok_and(|cwd| cwd == lab.checkout()));
    assert_eq!(here.count(), 0);
}
