//! An editor that drives an agent: ACP over the agent's stdin and stdout, one frame per line.

use crate::{PATIENCE, Process};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
};

pub struct Editor {
    child: Child,
    process: Process,
    pipe: Option<ChildStdin>,
    lines: Receiver<String>,
    /// Everything that the agent has written so far.
    frames: Vec<Value>,
    requests_count: u64,
}

impl Editor {
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().expect("the binary can be started");
        let process = Process::of(child.id()).expect("it was just started");
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        let (heard, lines) = channel();
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if heard.send(line).is_err() {
                    break;
                }
            }
        });
        let pipe = child.stdin.take();
        Self { child, process, pipe, lines, frames: Vec::new(), requests_count: 0 }
    }

    /// Writes any line.
    pub fn write(&mut self, line: &str) {
        let pipe = self.pipe.as_mut().expect("it is open until the end");
        writeln!(pipe, "{line}").expect("the agent reads");
    }

    /// Sends a request; returns its number.
    pub fn ask(&mut self, method: &str, params: &Value) -> u64 {
        self.requests_count += 1;
        let id = self.requests_count;
        let frame = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.write(&frame.to_string());
        id
    }

    pub fn tell(&mut self, method: &str, params: &Value) {
        self.write(&json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string());
    }

    /// Answers a request of the agent.
    pub fn answer(&mut self, request: &Value, result: &Value) {
        let frame = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
        self.write(&frame.to_string());
    }

    /// Sends a request and waits for its result or error.
    #[track_caller]
    pub fn call(&mut self, method: &str, params: &Value) -> Result<Value, Value> {
        let id = self.ask(method, params);
        self.await_answer(id)
    }

    #[track_caller]
    pub fn await_answer(&mut self, id: u64) -> Result<Value, Value> {
        let answer = self.await_frame(|it| it["id"] == id && it.get("method").is_none());
        match answer.get("error") {
            Some(error) => Err(error.clone()),
            None => Ok(answer["result"].clone()),
        }
    }

    /// Waits for a request of the agent.
    #[track_caller]
    pub fn await_request(&mut self, method: &str) -> Value {
        self.await_frame(|it| it["method"] == method && it.get("id").is_some())
    }

    /// Waits for the next frame that satisfies a condition.
    #[track_caller]
    pub fn await_frame(&mut self, holds: impl Fn(&Value) -> bool) -> Value {
        loop {
            let Ok(line) = self.lines.recv_timeout(PATIENCE) else {
                panic!("the frame did not arrive:\n{:#?}", self.frames);
            };
            let frame: Value = serde_json::from_str(&line).expect("nothing but frames is written");
            self.frames.push(frame.clone());
            if holds(&frame) {
                return frame;
            }
        }
    }

    /// The agent's updates of a kind so far.
    pub fn updates(&self, kind: &str) -> Vec<&Value> {
        let updates = self.frames.iter().map(|it| &it["params"]["update"]);
        updates.filter(|it| it["sessionUpdate"] == kind).collect()
    }

    /// Disconnects like a closed editor; returns the agent's exit code.
    #[track_caller]
    pub fn close(mut self) -> Option<i32> {
        drop(self.pipe.take());
        assert!(self.process.await_end(PATIENCE), "the agent keeps running without its editor");
        self.child.wait().expect("it can be waited for").code()
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        self.process.signal(Signal::KILL);
        self.child.wait().ok();
    }
}
