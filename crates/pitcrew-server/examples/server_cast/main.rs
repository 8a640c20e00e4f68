//! All processes of a workspace in one program: the tests start it as orchestrator, shim, agent and
//! MCP bridge, and as misbehaving agents.

mod bridge;
mod faults;
mod http;
mod orchestrator;

use pitcrew_agent::{Options, agent_main};
use std::{ffi::OsString, path::Path, process::ExitCode};

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let args: Vec<&str> = words.iter().filter_map(|it| it.to_str()).collect();
    if let Some(ended) = pitcrew_runtime::play_parser(&words) {
        return ended;
    }
    match args.as_slice() {
        ["shim", dir] => pitcrew_process::shim_main(Path::new(dir)),
        ["agent", "--orders"] => block_on(agent_main(Options::default())),
        ["mcp"] => block_on(bridge::run()),
        ["serve", lab, idle_ms] => orchestrator::run(Path::new(lab), idle_ms.parse().ok()),
        ["late", go] => {
            faults::wait_for(Path::new(go));
            let script = Some("complete at last".into());
            block_on(agent_main(Options { script, model: None }))
        }
        ["fault", kind] => faults::run(kind),
        other => panic!("no such mode: {other:?}"),
    }
}

fn block_on(part: impl Future<Output = ExitCode>) -> ExitCode {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(part)
}
