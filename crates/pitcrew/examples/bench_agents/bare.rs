//! The baseline: a minimal client that starts the agent, prompts it, approves every request,
//! commits and checks.

use super::{BenchResult, Setup, Side, TurnTimes, script};
use pitcrew_testkit::eventually;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Write},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::Instant,
};

pub fn run(scene: &Setup, round: usize) -> BenchResult<TurnTimes> {
    let sandbox = &scene.crew.sandbox;
    let clone = sandbox.root().join(format!("bare-{round}"));
    let place = clone.display().to_string();
    sandbox.git(&["clone", "--quiet", ".", &place]);
    let file = format!("core/bare-{round}.txt");
    let prompt = script(&file, Side::Bare);

    let began = Instant::now();
    let mut client = Client::start(scene, &clone)?;
    client.ask("initialize", &json!({"protocolVersion": 1, "clientCapabilities": {}}))?;
    let opened = client.ask("session/new", &json!({"cwd": place, "mcpServers": []}))?;
    if let Some(mode) = &scene.mode {
        let params = json!({"sessionId": opened["sessionId"], "modeId": mode});
        client.ask("session/set_mode", &params)?;
    }
    let ready = Instant::now();
    let text = json!([{"type": "text", "text": prompt}]);
    client.ask("session/prompt", &json!({"sessionId": opened["sessionId"], "prompt": text}))?;
    let turned = Instant::now();
    let git = ["-C", place.as_str(), "-c", "user.name=b", "-c", "user.email=b@example.org"];
    sandbox.git(&[&git[..], &["add", "--all"]].concat());
    sandbox.git(&[&git[..], &["commit", "--quiet", "--message", "work"]].concat());
    check(&clone, &file)?;
    let done = Instant::now();
    client.end()?;
    let ms = |from: Instant, to: Instant| (to - from).as_secs_f64() * 1e3;
    Ok(TurnTimes { start: ms(began, ready), turn: ms(ready, turned), commit: ms(turned, done) })
}

#[expect(clippy::disallowed_methods, reason = "a bench starts what it measures")]
fn check(clone: &Path, file: &str) -> BenchResult<()> {
    let check = format!("grep -q hello {file}");
    let status = Command::new("sh").args(["-c", &check]).current_dir(clone).status()?;
    if status.success() { Ok(()) } else { Err(format!("`{check}` ended with {status}").into()) }
}

/// Programs are resolved with the `PATH` of the agent's environment, not with ours.
fn found(scene: &Setup) -> BenchResult<PathBuf> {
    let program = Path::new(&scene.argv[0]);
    let folders = scene.environment.get("PATH").map(String::as_str).unwrap_or_default();
    let mut places = folders.split(':').map(|it| Path::new(it).join(program));
    let place = places.find(|it| it.is_file());
    place.ok_or_else(|| format!("there is no `{}`", program.display()).into())
}

struct Client {
    agent: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    asked_count: u64,
}

impl Client {
    #[expect(clippy::disallowed_methods, reason = "a bench starts what it measures")]
    fn start(scene: &Setup, cwd: &Path) -> BenchResult<Self> {
        let mut command = Command::new(found(scene)?);
        command.args(&scene.argv[1..]).current_dir(cwd).env_clear().envs(&scene.environment);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        let mut agent = command.spawn()?;
        let stdin = agent.stdin.take().ok_or("no input")?;
        let stdout = BufReader::new(agent.stdout.take().ok_or("no output")?);
        Ok(Self { agent, stdin, stdout, asked_count: 0 })
    }

    /// Sends a request, and approves the agent's requests until it responds.
    fn ask(&mut self, method: &str, params: &Value) -> BenchResult<Value> {
        self.asked_count += 1;
        let id = self.asked_count;
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        loop {
            let mut line = String::new();
            if self.stdout.read_line(&mut line)? == 0 {
                return Err(format!("the agent ended instead of answering `{method}`").into());
            }
            let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
            match message["method"].as_str() {
                None if message["id"] == id && message["error"].is_null() => {
                    return Ok(message["result"].clone());
                }
                None if message["id"] == id => {
                    return Err(format!("`{method}`: {}", message["error"]).into());
                }
                Some("session/request_permission") => self.allow(&message)?,
                Some(_) if !message["id"].is_null() => {
                    let error = json!({"code": -32601, "message": "method not found"});
                    self.say(&json!({"jsonrpc": "2.0", "id": message["id"], "error": error}))?;
                }
                Some(_) | None => {}
            }
        }
    }

    fn allow(&mut self, message: &Value) -> BenchResult<()> {
        let options = message["params"]["options"].as_array().ok_or("no options")?;
        let allows = |it: &&Value| it["kind"].as_str().is_some_and(|it| it.starts_with("allow"));
        let option = options.iter().find(allows).ok_or("nothing can be allowed")?;
        let outcome = json!({"outcome": "selected", "optionId": option["optionId"]});
        let result = json!({"outcome": outcome});
        self.say(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
    }

    fn say(&mut self, message: &Value) -> BenchResult<()> {
        Ok(self.stdin.write_all(format!("{message}\n").as_bytes())?)
    }

    /// Ends the agent with everything it started, so that it does not slow down the next one.
    fn end(mut self) -> BenchResult<()> {
        let group = Pid::from_child(&self.agent);
        kill_process_group(group, Signal::KILL)?;
        self.agent.wait()?;
        eventually("nothing of the agent is left", || {
            test_kill_process_group(group).is_err().then_some(())
        });
        Ok(())
    }
}
