//! Access to files outside the shared paths.

use crate::scene::{Bystander, Scene, User, describe, is_root, users};
use std::fs;

#[test]
fn files_outside_can_be_neither_read_nor_written() {
    for user in users() {
        let scene = Scene::new(user);
        let spec = scene.spec();
        for (name, script) in [
            (
                "a daemon of its own",
                "rm -f got done; setsid sh -c '(cat ../outside/secret > got; : > done) &'
              until [ -e done ]; do :; done; grep -q secret got",
            ),
            ("read", "cat ../outside/secret"),
            ("write", "echo x > ../outside/secret"),
            ("append", "echo x >> ../outside/secret"),
            ("create", "echo x > ../outside/created"),
            ("list", "ls ../outside"),
            ("truncate", "perl -e 'truncate(\"../outside/secret\", 0) or exit 1'"),
            ("remove", "touch ../outside/a 2> /dev/null; rm ../outside/a"),
            ("make a folder", "mkdir ../outside/folder$$"),
            ("through a link", "ln -sf $PWD/../outside/secret link && cat link"),
            ("through a linked folder", "ln -sfn $PWD/../outside dir && echo x > dir/through"),
            ("hard link in", "ln -f ../outside/secret hard && cat hard"),
            ("rename out", "echo x > f && perl -e 'rename(\"f\", \"../outside/f\") or exit 1'"),
            (
                "rename in",
                "touch ../outside/f 2> /dev/null; perl -e 'rename(\"../outside/f\", \"f\") or exit 1'",
            ),
            ("execute", "cp /bin/true ../outside/run 2> /dev/null; ../outside/run"),
        ] {
            scene.only_free(&spec, name, script);
        }
    }
}

#[test]
fn shared_files_work_normally() {
    for user in users() {
        let scene = Scene::new(user);
        let script = "
            set -e; mkdir a b; echo 1 > a/f; mv a/f b/g; ln b/g a/h; ln -s b/g l; cat l; rm -r a
            mkfifo p; : > /dev/null; head -c 4 /dev/urandom > r; cat /proc/self/status > s
            git init -q . && git add . && git -c user.name=a -c user.email=a@b commit -qm one
            git log --oneline | wc -l; perl -e 'print 6 * 7'";
        let finished = scene.confined(&scene.spec(), script);
        assert!(finished.success(), "{}", describe(&finished));
        assert_eq!(String::from_utf8_lossy(&finished.stdout), "1\n1\n42");
    }
}

#[test]
fn node_runs_and_starts_others() {
    let scene = Scene::new(User::Current);
    if !scene.free("node --version").success() {
        pitcrew_testkit::skipped("confine::node_runs_and_starts_others", "there is no node");
        return;
    }
    let script = "require('fs').writeFileSync('f', 'x');
        const child = require('child_process').spawn('sh', ['-c', 'echo from below']);
        child.stdout.on('data', it => process.stdout.write(it));
        new (require('worker_threads').Worker)('', { eval: true })";
    let finished = scene.confined_program(&scene.spec(), &["node", "-e", script]);
    assert_eq!(
        String::from_utf8_lossy(&finished.stdout),
        "from below\n",
        "{}",
        describe(&finished)
    );
    assert_eq!(finished.code, Some(0));
}

#[test]
fn other_processes_are_not_accessible() {
    for user in users() {
        let scene = Scene::new(user);
        let mut bystander = Bystander::new(&scene);
        let (pid, secret) = (bystander.pid(), scene.path("outside/secret"));
        let spec = scene.spec();
        for (name, script) in [
            ("their environment", format!("grep -q PASSWORD /proc/{pid}/environ")),
            ("their root", format!("cat /proc/{pid}/root{}", secret.display())),
            ("their folder", format!("ls /proc/{pid}/cwd/root /proc/{pid}/cwd/")),
            ("their memory", format!("cat /proc/{pid}/maps | grep -q stack")),
            ("a signal", format!("kill -CONT {pid}")),
        ] {
            if name == "their folder" && user == User::Ordinary {
                continue;
            }
            scene.only_free(&spec, name, &script);
        }
        scene.confined(&spec, &format!("kill -KILL {pid}"));
        assert!(bystander.is_alive());
    }
}

#[test]
fn program_has_no_root_rights_and_gains_none() {
    for user in users() {
        let scene = Scene::new(user);
        let script =
            "grep -E '^(CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs|Seccomp):' /proc/self/status";
        let finished = scene.confined(&scene.spec(), script);
        let said = String::from_utf8_lossy(&finished.stdout).replace('\t', " ");
        for line in ["CapPrm: 0000000000000000", "CapEff: 0000000000000000", "NoNewPrivs: 1"] {
            assert!(said.contains(line), "{said}");
        }
        assert!(said.contains("Seccomp: 2"), "{said}");
        if is_root() && user == User::Current {
            assert!(said.contains("CapBnd: 0000000000000000"), "{said}");
        }
    }
}

/// A rule covers everything below a folder, so a denied path is excluded by listing its siblings.
#[test]
fn denied_path_in_a_shared_folder_is_refused_even_before_it_exists() {
    for user in users() {
        let scene = Scene::new(user);
        let folder = scene.path("checkout/a/b");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("key"), "key").unwrap();
        fs::write(folder.join("open"), "open").unwrap();
        scene.give();
        let mut spec = scene.spec();
        let files = spec.files.as_mut().unwrap();
        files.deny = vec![folder.join("key"), scene.path("checkout/a/later")];
        scene.only_free(&spec, "the denied file", "cat a/b/key");
        scene.only_free(&spec, "the later one", "echo x > a/later");
        scene.only_free(&spec, "the folder away", "mv a/b a/c && mv a/c a/b");
        let finished =
            scene.confined(&spec, "cat a/b/open && echo more >> a/b/open && echo x > own");
        assert!(finished.success(), "{}", describe(&finished));
    }
}

/// An agent that created a link in a checkout could choose what the next program may write.
#[test]
fn links_in_a_checkout_grant_no_access() {
    for user in users() {
        let scene = Scene::new(user);
        let script =
            "ln -s ../outside to-outside; ln -s ../outside zone; mkdir keep; echo > keep/deny";
        assert!(scene.free(script).success());
        let mut spec = scene.spec();
        spec.files.as_mut().unwrap().deny = vec![scene.path("checkout/keep/deny")];
        scene.only_free(&spec, "an expanded link", "echo x > to-outside/new");
        spec.files.as_mut().unwrap().deny = Vec::new();
        let paths = vec![scene.path("checkout/zone/new/"), scene.path("checkout/to-outside")];
        let checkout = scene.path("checkout");
        spec.files.as_mut().unwrap().zone =
            Some(pitcrew_process::Zone { checkout, paths, git: true });
        scene.only_free(&spec, "a linked zone", "echo x > to-outside/new");
        assert!(!scene.path("outside/new/").is_dir());
    }
}
