//! The tools of a worker over MCP on standard input and output.

use super::{Done, worker_door::WorkerDoor};
use crate::{exit::Exit, report::Report};
use pitcrew_mcp::{Orchestrator, ToolAnswer, ToolRefusal, serve_stdio};
use serde_json::{Map, Value};

pub async fn run() -> Done {
    let bridge = Bridge { door: WorkerDoor::of_environment()? };
    let served = serve_stdio(bridge).await;
    served.map_err(|error| Report::from_error(Exit::Failure, &error))?;
    Ok(Exit::Success)
}

struct Bridge {
    door: WorkerDoor,
}

impl Orchestrator for Bridge {
    async fn call(&self, tool: &str, arguments: Value) -> Result<ToolAnswer, ToolRefusal> {
        let answer = self.door.tool(tool, &arguments).await;
        if answer.is_error {
            return Err(ToolRefusal::new(answer.text));
        }
        let structured = Map::from_iter([("message".to_owned(), answer.text.clone().into())]);
        Ok(ToolAnswer { text: answer.text, structured })
    }
}
