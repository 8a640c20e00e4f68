//! One policy in both confining tiers: the same actions are allowed, and the same are refused.

use crate::{
    program::shim_program,
    scene::{Scene, User, describe},
};
use pitcrew_process::{Cancel, Finished, Net, Policy, Run, Tier, find_box, roots, run_confined};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::{
    collections::BTreeMap,
    fs,
    io::{Read, Write},
    os::unix::net::UnixListener,
    path::PathBuf,
};

struct Lab {
    scene: Scene,
    policy: Policy,
}

impl Lab {
    fn new(tier: Tier) -> Self {
        let scene = Scene::new(User::Current);
        for folder in ["home", "user/.ssh"] {
            fs::create_dir_all(scene.path(folder)).unwrap();
        }
        fs::write(scene.path("user/.ssh/id"), "the key").unwrap();
        let user = ("HOME".to_owned(), scene.path("user").display().to_string());
        let path = ("PATH".to_owned(), std::env::var("PATH").unwrap());
        let roots = roots(&BTreeMap::from([user.clone(), path]));
        let policy = Policy {
            tier,
            env: vec![user],
            read: roots.read,
            write: vec![scene.path("checkout")],
            deny: roots.deny,
            home: Some(scene.path("home")),
            net: Net::None,
            launcher: Some(shim_program()),
            ..Policy::unconfined()
        };
        Self { scene, policy }
    }

    fn run(&self, script: &str) -> Finished {
        let run = Run::shell(script, self.scene.path("checkout"));
        run_confined(&self.policy, run, &Cancel::default()).unwrap()
    }

    fn path(&self, within: &str) -> PathBuf {
        self.scene.path(within)
    }
}

const TIERS: [Tier; 2] = [Tier::T2, Tier::T3];

#[test]
fn program_works_in_its_checkout_and_reaches_nothing_else_in_either_tier() {
    for tier in TIERS {
        let lab = Lab::new(tier);
        let work = "
            set -e; git init -q .; git config user.name a; git config user.email a@b; echo 1 > f
            git add .; git commit -qm one; t=$(mktemp); echo 2 > $t; cat f $t; rm $t
            grep Seccomp: /proc/self/status | tr -d '\\t'";
        let finished = lab.run(work);
        assert!(finished.success(), "{tier:?}: {}", describe(&finished));
        assert_eq!(String::from_utf8_lossy(&finished.stdout), "1\n2\nSeccomp:2\n", "{tier:?}");
        for script in [
            format!("cat {}", lab.path("user/.ssh/id").display()),
            format!("cat {}", lab.path("outside/secret").display()),
            format!("echo x > {}", lab.path("outside/secret").display()),
            "cat /etc/shadow".to_owned(),
            "echo x > /usr/new".to_owned(),
            "perl -MSocket -e 'socket(S, AF_INET, SOCK_STREAM, 0) or exit 1;
             connect(S, pack_sockaddr_in(53, inet_aton(\"127.0.0.1\"))) or exit 1'"
                .to_owned(),
        ] {
            let finished = lab.run(&script);
            assert!(!finished.success(), "{tier:?} {script}: {}", describe(&finished));
        }
        assert_eq!(fs::read(lab.path("outside/secret")).unwrap(), b"the secret\n");
    }
}

#[test]
fn zone_is_enforced_in_either_tier() {
    for tier in TIERS {
        let mut lab = Lab::new(tier);
        assert!(lab.run("git init -q . && mkdir ui core && echo c > core/c").success());
        lab.policy.inner = Some(vec![lab.path("checkout/ui/")]);
        let finished = lab.run("echo x > ui/x && cat core/c && git add ui");
        assert!(finished.success(), "{tier:?}: {}", describe(&finished));
        for script in ["echo x > core/c", "rm core/c", "echo x > core/new", "mv core ui/core"] {
            let finished = lab.run(script);
            assert!(!finished.success(), "{tier:?} {script}: {}", describe(&finished));
        }
    }
}

/// S4-154: a guest in another worker's checkout can change only existing files of its zone. A
/// folder is created if the zone names it as one.
#[test]
fn guest_writes_only_its_zone_in_either_tier() {
    for tier in TIERS {
        let mut lab = Lab::new(tier);
        let made = lab.run("git init -q . && mkdir ui core && echo c > core/c && echo d > core/d");
        assert!(made.success(), "{tier:?}: {}", describe(&made));
        let given =
            ["core/c", "ui/new", "new", "lib/"].map(|it| lab.path(&format!("checkout/{it}")));
        lab.policy.inner = Some(given.to_vec());
        lab.policy.guest = true;
        let work = "set -e; echo 2 > core/c; cat core/d; git status --short > /dev/null
            t=$(mktemp); echo t > $t; mv $t lib/t; : > /dev/null";
        let finished = lab.run(work);
        assert!(finished.success(), "{tier:?}: {}", describe(&finished));
        for script in [
            "echo x > core/d",
            "rm core/d",
            "echo x > core/new",
            "mv core/d ui/d",
            "echo x > top",
            "echo x > ui/new",
            "echo x > ui/other",
            "mkdir new",
            "git add core/c",
            "rm -r .git",
            "ln core/d ui/l && echo x > ui/l",
        ] {
            let finished = lab.run(script);
            assert!(!finished.success(), "{tier:?} {script}: {}", describe(&finished));
        }
        assert_eq!(fs::read(lab.path("checkout/core/d")).unwrap(), b"d\n", "{tier:?}");
        // Checkouts are usually below the home, which other programs use too.
        let above = lab.path("checkout").parent().unwrap().display().to_string();
        lab.policy.env = vec![("HOME".to_owned(), above)];
        let finished = lab.run("echo x > ~/.mine && mkdir ~/.cache && cat ~/.mine");
        assert!(finished.success(), "{tier:?}: {}", describe(&finished));
        assert!(!lab.path(".mine").exists(), "{tier:?}: it is its own home");
    }
}

#[test]
fn nesting_program_can_create_its_sandbox_in_a_box() {
    let mut lab = Lab::new(Tier::T3);
    lab.policy.nests = true;
    let finished = lab.run("bwrap --ro-bind / / --dev /dev --unshare-all echo within");
    assert_eq!(String::from_utf8_lossy(&finished.stdout), "within\n", "{}", describe(&finished));
}

#[test]
fn policy_without_our_executable_runs_nothing_in_either_tier() {
    for tier in TIERS {
        let mut lab = Lab::new(tier);
        lab.policy.launcher = None;
        let run = Run::shell("touch ran", lab.path("checkout"));
        assert!(run_confined(&lab.policy, run, &Cancel::default()).is_err());
        assert!(!lab.path("checkout/ran").exists());
    }
}

#[test]
fn box_is_found_if_one_can_be_created() {
    let environment = std::env::vars().collect();
    let found = find_box(&environment, &shim_program()).map_err(|it| it.reason);
    assert!(found.as_ref().is_ok_and(|it| it.ends_with("bwrap")), "{found:?}");
}

/// Sockets are refused if the kernel cannot distinguish them, but our socket must still be
/// reachable.
#[test]
fn only_our_socket_is_reachable_in_either_tier() {
    for tier in TIERS {
        let mut lab = Lab::new(tier);
        let door = lab.path("door");
        fs::create_dir(&door).unwrap();
        let socket = door.join("serve.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let _other = UnixListener::bind(lab.path("outside/other.sock")).unwrap();
        lab.policy.read.push(door);
        lab.policy.env.push(("PITCREW_SOCKET".to_owned(), socket.display().to_string()));
        let heard = std::thread::spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            let mut text = [0; 11];
            stream.read_exact(&mut text).unwrap();
            stream.write_all(b"heard").unwrap();
            String::from_utf8_lossy(&text).into_owned()
        });
        let script = r#"perl -MSocket -e 'my $at = $ENV{PITCREW_SOCKET};
            if ($at =~ m#^[0-9.]+:[0-9]+$#) {
                my ($host, $port) = split(":", $at);
                socket(S, AF_INET, SOCK_STREAM, 0) or exit 1;
                connect(S, pack_sockaddr_in($port, inet_aton($host))) or exit 2;
            } else {
                socket(S, AF_UNIX, SOCK_STREAM, 0) or exit 3;
                connect(S, pack_sockaddr_un($at)) or exit 4;
            }
            syswrite(S, "from within") or exit 5; sysread(S, my $answer, 5) or exit 6;
            $answer eq "heard" or exit 7'"#;
        let finished = lab.run(script);
        assert!(finished.success(), "{tier}: {}", describe(&finished));
        assert_eq!(heard.join().unwrap(), "from within");
        let script = format!(
            "perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0) or exit 1;
             connect(S, pack_sockaddr_un(\"{}\")) or exit 2'",
            lab.path("outside/other.sock").display()
        );
        assert!(!lab.run(&script).success(), "{tier}");
    }
}

/// A relay opens few connections to our socket, and keeps none that was closed on the other side.
#[test]
fn relay_limits_its_connections() {
    let mut lab = Lab::new(Tier::T2);
    let door = lab.path("door");
    fs::create_dir(&door).unwrap();
    let socket = door.join("sock");
    let listener = UnixListener::bind(&socket).unwrap();
    lab.policy.read.push(door);
    lab.policy.env.push(("PITCREW_SOCKET".to_owned(), socket.display().to_string()));
    let place = lab.run("echo $PITCREW_SOCKET");
    if !String::from_utf8_lossy(&place.stdout).contains("127.0.0.1:") {
        return pitcrew_testkit::skipped("a relay", "the kernel tells sockets apart");
    }
    let serving = std::thread::spawn(move || {
        let (mut held, mut total, mut most) = (Vec::new(), 0, 0);
        while total < 100 {
            let time = Timespec { tv_sec: 0, tv_nsec: 300_000_000 };
            if poll(&mut [PollFd::new(&listener, PollFlags::IN)], Some(&time)).unwrap() == 0 {
                held.clear();
                continue;
            }
            held.push(listener.accept().unwrap().0);
            total += 1;
            most = most.max(held.len());
        }
        most
    });
    let script = r#"perl -MSocket -e 'my ($host, $port) = split(":", $ENV{PITCREW_SOCKET}); my @all;
        for (1 .. 100) {
            socket(my $one, AF_INET, SOCK_STREAM, 0) or exit 1;
            connect($one, pack_sockaddr_in($port, inet_aton($host))) or exit 2;
            push @all, $one;
        }
        for my $one (@all) { sysread($one, my $end, 1) }'"#;
    let finished = lab.run(script);
    assert!(finished.success(), "{}", describe(&finished));
    assert_eq!(serving.join().unwrap(), 32);
}

/// Shared logins and settings are at their usual paths, and nothing beside them is.
#[test]
fn shared_parts_of_the_home_are_available_in_either_tier() {
    for tier in TIERS {
        let mut lab = Lab::new(tier);
        fs::create_dir_all(lab.path("user/.config/git")).unwrap();
        fs::write(lab.path("user/.gitconfig"), "[user]\n\tname = Ada\n").unwrap();
        fs::write(lab.path("user/.config/git/ignore"), "*.tmp\n").unwrap();
        fs::write(lab.path("user/.config/other"), "a secret").unwrap();
        lab.policy.read.push(lab.path("user/.gitconfig"));
        lab.policy.read.push(lab.path("user/.config/git/ignore"));
        for _ in 0..2 {
            let finished = lab.run("git config user.name; cat $HOME/.config/git/ignore");
            let said = String::from_utf8_lossy(&finished.stdout).into_owned();
            assert_eq!(said, "Ada\n*.tmp\n", "{tier}");
        }
        let finished = lab.run("touch $HOME/mine && ls $HOME/.config");
        assert_eq!(String::from_utf8_lossy(&finished.stdout), "git\n", "{tier}");
        assert!(!lab.run("echo x >> $HOME/.gitconfig").success(), "{tier}");
    }
}

/// The agent of a private home may have left links in it.
#[test]
fn links_in_a_private_home_are_not_followed() {
    let mut lab = Lab::new(Tier::T2);
    fs::create_dir_all(lab.path("user/.config/git")).unwrap();
    fs::write(lab.path("user/.config/git/ignore"), "x").unwrap();
    lab.policy.read.push(lab.path("user/.config/git/ignore"));
    std::os::unix::fs::symlink(lab.path("outside"), lab.path("home/.config")).unwrap();
    lab.run("true");
    assert!(!lab.path("outside/git").exists());
}

#[test]
fn program_without_a_home_gets_a_temporary_one() {
    for tier in TIERS {
        let mut lab = Lab::new(tier);
        lab.policy.home = None;
        let finished =
            lab.run("t=$(mktemp) && echo x > $t && touch $HOME/f && echo $HOME && git init -q .");
        assert!(finished.success(), "{tier}: {}", describe(&finished));
        let home = String::from_utf8_lossy(&finished.stdout).trim().to_owned();
        assert!(!PathBuf::from(home).join("f").exists(), "{tier}");
    }
}
