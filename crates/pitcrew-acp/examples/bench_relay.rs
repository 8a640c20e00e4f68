//! Measures how long a message takes from an agent to the session's events and back, compared with
//! the same messages over a bare pipe.
//!
//! The messages are permission requests, because each is delivered immediately and never merged
//! with others. The path is: the agent's output, the shim, its spool, its socket, the connection,
//! the event. This program is its own shim and agent. It prints one flat JSON object.

use pitcrew_acp::{Event, Launch, McpServer, Profile, Session, SessionEvents, open};
use pitcrew_model::EffectId;
use pitcrew_process::{Piped, Policy, ShimSpec, agent_environment, shim_main, spawn_piped};
use serde_json::{Value, json};
use std::{
    env,
    error::Error,
    io::{BufRead, Write},
    path::Path,
    process::ExitCode,
    thread,
    time::{Duration, UNIX_EPOCH},
};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

const MESSAGES: usize = 1_000;
const ROUNDS: usize = 3;
const PAUSE: Duration = Duration::from_millis(2);

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<ExitCode> {
    let arguments: Vec<String> = env::args().collect();
    match arguments.get(1).map(String::as_str) {
        Some("shim") => return Ok(shim_main(Path::new(&arguments[2]))),
        Some("agent") => agent()?,
        _ => tokio::runtime::Runtime::new()?.block_on(measure())?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn measure() -> Outcome<()> {
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        rounds.push((bare().await?, relayed().await?));
    }
    let at = |it: &Times, percent: usize| it.0[it.0.len() * percent / 100];
    // A busy machine only makes a round slower, never faster.
    let best = |figure: &dyn Fn(&(Times, Times)) -> f64| {
        rounds.iter().map(figure).fold(f64::INFINITY, f64::min)
    };
    println!(
        r#"{{"messages":{MESSAGES},"bare_p50_us":{:.0},"relay_p50_us":{:.0},"bare_p99_us":{:.0},"relay_p99_us":{:.0}}}"#,
        best(&|it| at(&it.0, 50)),
        best(&|it| at(&it.1, 50)),
        best(&|it| at(&it.0, 99)),
        best(&|it| at(&it.1, 99)),
    );
    Ok(())
}

/// Microseconds, sorted.
struct Times(Vec<f64>);

impl Times {
    fn new(mut times: Vec<f64>) -> Outcome<Self> {
        times.sort_by(f64::total_cmp);
        if times.len() == MESSAGES {
            Ok(Self(times))
        } else {
            Err(format!("{} messages came", times.len()).into())
        }
    }
}

/// Reads each message from the agent's output directly, and answers it.
async fn bare() -> Outcome<Times> {
    let argv = [env::current_exe()?.into(), "agent".into()];
    let Piped { mut stdin, stdout, program: _program } =
        spawn_piped(&Policy::unconfined(), &argv, &env::temp_dir())?;
    stdin.write_all(b"{\"id\":1,\"method\":\"session/prompt\"}\n").await?;
    let mut lines = BufReader::new(stdout).lines();
    let mut times = Vec::new();
    while let Some(line) = lines.next_line().await? {
        let message: Value = serde_json::from_str(&line)?;
        let Some(stamp) = message["params"]["toolCall"]["title"].as_str() else { break };
        times.push(since(stamp)?);
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": {}});
        stdin.write_all(format!("{answer}\n").as_bytes()).await?;
    }
    Times::new(times)
}

async fn relayed() -> Outcome<Times> {
    let home = tempfile::tempdir()?;
    let (session, events) = open(launch(home.path())?).await?;
    let (turn, times) = tokio::join!(session.prompt(EffectId(2), "go"), answer(&session, events));
    turn?;
    session.stop(Duration::from_secs(2)).await;
    times
}

async fn answer(session: &Session, mut events: SessionEvents) -> Outcome<Times> {
    let mut times = Vec::new();
    while times.len() < MESSAGES {
        match events.next().await {
            Some(Event::Permission { call, tool, options }) => {
                times.push(since(&tool.title)?);
                session.answer_permission(&call, options.first().map(|it| it.id.as_str())).await;
            }
            Some(Event::Activity { .. } | Event::Usage(_) | Event::Blocked { .. }) => {}
            Some(Event::Exited(exit)) => return Err(format!("the agent ended: {exit}").into()),
            None => break,
        }
    }
    Times::new(times)
}

fn launch(home: &Path) -> Outcome<Launch> {
    let program = env::current_exe()?;
    Ok(Launch {
        shim: ShimSpec {
            dir: home.join("attempt"),
            socket: home.join("s"),
            argv: vec![program.display().to_string(), "agent".into()],
            cwd: home.to_owned(),
            env: agent_environment(&[]),
            lease_ms: 0,
            policy: Policy::unconfined(),
        },
        mcp: McpServer {
            name: "none".into(),
            command: program.clone(),
            args: Vec::new(),
            env: Vec::new(),
            http: None,
        },
        program,
        cwd: home.to_owned(),
        reach: None,
        profile: Profile::default(),
        effect: EffectId(1),
        timeout: Duration::from_mins(1),
    })
}

/// Requests permission repeatedly, with the time of each request.
#[expect(clippy::disallowed_methods, reason = "sending one message at a time needs a pause")]
fn agent() -> Outcome<()> {
    let mut out = std::io::stdout();
    let mut lines = std::io::stdin().lock().lines();
    while let Some(line) = lines.next() {
        let message: Value = serde_json::from_str(&line?)?;
        let result = match message["method"].as_str() {
            Some("initialize") => json!({"protocolVersion": 1, "agentCapabilities": {}}),
            Some("session/new") => json!({"sessionId": "s"}),
            Some("session/prompt") => {
                for number in 0..MESSAGES {
                    thread::sleep(PAUSE);
                    let stamp = UNIX_EPOCH.elapsed()?.as_nanos().to_string();
                    let options = json!([{"optionId": "y", "name": "Yes", "kind": "allow_once"}]);
                    let call = json!({"toolCallId": format!("{number}"), "title": stamp});
                    let params = json!({"sessionId": "s", "toolCall": call, "options": options});
                    let method = "session/request_permission";
                    let asked =
                        json!({"jsonrpc": "2.0", "id": number, "method": method, "params": params});
                    writeln!(out, "{asked}")?;
                    out.flush()?;
                    lines.next().ok_or("the client is gone")??;
                }
                json!({"stopReason": "end_turn"})
            }
            _ => continue,
        };
        writeln!(out, "{}", json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))?;
        out.flush()?;
    }
    Ok(())
}

/// Microseconds since the time that a message contains.
fn since(stamp: &str) -> Outcome<f64> {
    let sent = Duration::from_nanos(stamp.parse()?);
    Ok(UNIX_EPOCH.elapsed()?.saturating_sub(sent).as_secs_f64() * 1e6)
}
