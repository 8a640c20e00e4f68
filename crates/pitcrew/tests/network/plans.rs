//! The network through the real binary: what commands, agents and checks of a plan can reach, how
//! refusals are reported, and a real database.

use pitcrew_testkit::{Sandbox, eventually, skipped};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    fs,
    net::TcpListener,
    os::unix::fs::{PermissionsExt, chown},
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
};
use tempfile::TempDir;

fn sandbox(settings: &str) -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_pitcrew"));
    let folder = sandbox.home().join(".config/pitcrew");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.toml"), settings).unwrap();
    sandbox
}

/// A Postgres with its data in a temporary folder, on a loopback port.
struct Database {
    programs: PathBuf,
    server: Child,
    port: u16,
    _data: TempDir,
}

/// Postgres refuses to run as root, so it runs as this user.
const UNPRIVILEGED_USER: u32 = 65_534;

impl Database {
    /// The programs of the newest Postgres on this machine.
    fn programs() -> Option<PathBuf> {
        let versions = fs::read_dir("/usr/lib/postgresql").ok()?.flatten();
        let programs = versions.map(|it| it.path().join("bin"));
        programs.filter(|it| it.join("initdb").is_file()).max()
    }

    #[expect(clippy::disallowed_methods, reason = "tests start what they test")]
    fn command(programs: &std::path::Path, program: &str) -> Command {
        let program = programs.join(program);
        if !rustix::process::geteuid().is_root() {
            return Command::new(program);
        }
        let (user, group) =
            (format!("--reuid={UNPRIVILEGED_USER}"), format!("--regid={UNPRIVILEGED_USER}"));
        let mut command = Command::new("setpriv");
        command.args([&user, &group, "--clear-groups"]).arg(program);
        command
    }

    fn start(programs: PathBuf) -> Self {
        let data = TempDir::new().unwrap();
        if rustix::process::geteuid().is_root() {
            chown(data.path(), Some(UNPRIVILEGED_USER), Some(UNPRIVILEGED_USER)).unwrap();
        }
        fs::set_permissions(data.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let mut make = Self::command(&programs, "initdb");
        make.args(["--username=tester", "--auth=trust", "--no-sync", "--locale=C"]);
        let made = make.arg("--pgdata").arg(data.path()).current_dir("/").output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut serve = Self::command(&programs, "postgres");
        serve.arg("-D").arg(data.path()).args(["-p", &port.to_string()]);
        serve.args(["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="]);
        serve.args(["-c", "fsync=off"]).current_dir("/");
        let server = serve.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let database = Self { programs, server, port, _data: data };
        eventually("the database answers", || {
            database.ask("select 1").status.success().then_some(())
        });
        database
    }

    /// Runs a query as a shell would.
    fn psql(&self, sql: &str) -> String {
        let program = self.programs.join("psql");
        let (program, port) = (program.display(), self.port);
        format!("{program} -h 127.0.0.1 -p {port} -U tester -d postgres -qtAc '{sql}'")
    }

    #[expect(clippy::disallowed_methods, reason = "tests start what they test")]
    fn ask(&self, sql: &str) -> Output {
        Command::new("sh").args(["-c", &self.psql(sql)]).output().unwrap()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // Stops the server and all of its processes immediately.
        kill_process(Pid::from_child(&self.server), Signal::QUIT).ok();
        self.server.wait().ok();
    }
}

fn plan_with(database: &Database) -> String {
    format!(
        "name = \"migrate\"\nmax_attempts = 1\n\n[[task]]\nid = \"table\"\nregion = \"core\"\n\
         command = \"\"\"{} && echo made > core/made.txt\"\"\"\nchecks = \"\"\"{} | grep -q 42\"\"\"\n",
        database.psql("create table answers as select 6 * 7 as answer"),
        database.psql("select answer from answers"),
    )
}

/// A worker and its check use a database on this machine through its port.
#[test]
fn worker_and_check_use_a_forwarded_database() {
    let Some(programs) = Database::programs() else {
        return skipped("a database", "there is no Postgres: `apt install postgresql`");
    };
    let database = Database::start(programs);
    let sandbox = sandbox(&format!("forward = [{}]\n", database.port));
    let plan = sandbox.plan(&plan_with(&database));
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0).says("1 of 1 completed");
    sandbox.pitcrew(&["logs", "table"]).expect(0).says(&format!("127.0.0.1:{}", database.port));
    let answer = database.ask("select answer from answers").stdout;
    assert_eq!(String::from_utf8_lossy(&answer).trim(), "42");
}

/// Without the setting, the box has its own loopback.
#[test]
fn no_port_is_reachable_without_the_setting() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let sandbox = sandbox("");
    let connect = format!("curl -sS --max-time 20 http://127.0.0.1:{port}/");
    let plan = sandbox.plan(&format!(
        "name = \"reach\"\n\n[[task]]\nid = \"reach\"\nregion = \"core\"\n\
         command = \"\"\"! {connect} && echo closed > core/closed.txt\"\"\"\nchecks = \"\"\"! {connect}\"\"\"\n"
    ));
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0).says("1 of 1 completed");
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "there was a connection");
}

/// Every decision is an event; refusals are shown with the setting that allows them.
#[test]
fn refusals_are_reported_with_a_fix() {
    let sandbox = sandbox("");
    let plan = sandbox.plan(
        "name = \"packages\"\n\n[[task]]\nid = \"fetch\"\nregion = \"core\"\n\
         command = \"curl -sS https://api.refused.test/ ; curl -sS http://db.refused.test:8080/ > core/said.txt\"\n\
         checks = \"grep -q egress_allow core/said.txt; curl -sS https://check.refused.test/ || true\"\n",
    );
    let ran = sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    ran.says("fetch was refused access to api.refused.test:443: it is not on the allow-list")
        .says("egress_allow = [\"api.refused.test\"] in your settings lets it through")
        .says("egress_allow = [\"db.refused.test:8080\"]");
    let status = sandbox.pitcrew(&["status", "--all"]).expect(0);
    status
        .says("egress_allow = [\"api.refused.test\"]")
        .says("fetch was refused access to check.refused.test")
        .says("the checks of the plan were refused access to check.refused.test:443");
    let logs = sandbox.pitcrew(&["logs", "fetch"]).expect(0);
    logs.says("api.refused.test:443 refused: it is not on the allow-list");
    let audit = sandbox.pitcrew(&["audit", "--kind", "egress_decided"]).expect(0);
    let refused: Vec<_> = audit.stdout.lines().filter(|it| it.contains("refused.test")).collect();
    assert_eq!(refused.len(), 4, "{audit}");
    let of_base = refused.iter().filter(|it| it.contains("check.refused.test")).count();
    assert_eq!(of_base, 2, "on the base, and of the task: {audit}");
}

/// The network proxy belongs to the agent's shim, so it works without an orchestrator.
#[test]
fn agent_network_survives_the_orchestrator() {
    let port = crate::server();
    let sandbox = sandbox(&format!("forward = [{port}]\n"));
    let gate = sandbox.root().join("gate");
    let plan = sandbox.plan(&format!(
        r#"
name = "alone"
max_attempts = 1

[[task]]
id = "fetch"
region = "core"
script = """
run touch '{root}/waits'; until [ -e '{gate}' ]; do sleep 0.02; done; curl -sS http://127.0.0.1:{port}/ > core/said.txt; touch '{root}/said'; until [ -e '{root}/back' ]; do sleep 0.02; done
complete fetched
"""
checks = "grep -q hello core/said.txt"
"#,
        root = sandbox.root().display(),
        gate = gate.display(),
    ));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    let there = |name: &str| {
        let mark = sandbox.root().join(name);
        eventually(&format!("{name} is there"), || mark.exists().then_some(()));
    };
    there("waits");
    sandbox.kill_orchestrator();
    fs::write(&gate, "").unwrap();
    there("said");
    sandbox.pitcrew(&["status"]).expect(0);
    fs::write(sandbox.root().join("back"), "").unwrap();
    sandbox.pitcrew(&["watch", "plan-1"]).expect(0).says("1 of 1 completed");
    sandbox.pitcrew(&["logs", "fetch"]).expect(0).says(&format!("127.0.0.1:{port} reached"));
}
