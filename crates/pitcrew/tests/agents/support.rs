//! What the tests share: a crew of real agents, and what became of its work.

use pitcrew_model::{Failure, TaskStatus};
use pitcrew_testkit::{RealAgent, Sandbox, eventually, model::ModelServer};
use pitcrew_views::{BoardView, OpenRequest, TaskView};
use std::{fs, io::Write};

/// A sandbox whose backends are real agents, and their model.
pub struct Crew {
    // Dropped first: the agents end before their model does.
    pub sandbox: Sandbox,
    pub model: ModelServer,
}

/// Runs a test without a network, with these agents as backends; says so where it cannot.
pub fn with_crew(test: &str, agents: &[&str], body: impl FnOnce(&Crew)) {
    let found: Result<Vec<RealAgent>, String> =
        agents.iter().map(|it| RealAgent::find(it)).collect();
    let agents = match found {
        Ok(agents) => agents,
        Err(reason) => return skipped(test, &reason),
    };
    pitcrew_testkit::offline(test, || {
        let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_pitcrew"));
        let model = ModelServer::start();
        let settings: Vec<String> = agents
            .iter()
            .enumerate()
            .map(|(index, it)| {
                let home = sandbox.root().join(format!("agent-{index}"));
                it.settings(&home, &model.url())
            })
            .collect();
        let folder = sandbox.home().join(".config/pitcrew");
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("config.toml"), settings.join("\n")).expect("the settings");
        body(&Crew { sandbox, model });
    });
}

impl Crew {
    #[track_caller]
    pub fn task(&self, key: &str) -> TaskView {
        let board = self.sandbox.pitcrew(&["status", "--all", "--json"]).expect(0);
        let board: BoardView = serde_json::from_str(&board.stdout)
            .unwrap_or_else(|error| panic!("{error} in {board}"));
        let task = board.tasks.into_iter().find(|it| it.key == key);
        task.unwrap_or_else(|| panic!("there is no task {key}"))
    }

    /// Why the newest attempt of a task failed.
    #[track_caller]
    pub fn failure(&self, key: &str) -> Failure {
        let task = self.task(key);
        assert_eq!(task.status, TaskStatus::Failed, "{task:?}");
        task.newest_attempt().and_then(|it| it.failure.clone()).expect("a failed task says why")
    }

    /// What the agent of a task said and did.
    pub fn conversation(&self, key: &str) -> String {
        self.sandbox.pitcrew(&["logs", key]).expect(0).stdout
    }

    pub fn await_request(&self) -> OpenRequest {
        eventually("something waits for a person", || {
            let inbox = self.sandbox.pitcrew(&["inbox", "--json"]).expect(0).json();
            let first = inbox["open"].as_array().and_then(|it| it.first().cloned())?;
            Some(serde_json::from_value(first).expect("the inbox has requests"))
        })
    }
}

/// Says that a test cannot run here.
pub fn skipped(name: &str, reason: &str) {
    if let Ok(path) = std::env::var("PITCREW_TEST_SKIPPED") {
        let file = fs::OpenOptions::new().append(true).create(true).open(path);
        writeln!(file.expect("the list of skipped tests"), "{name}: {reason}").expect("a line");
    }
    eprintln!("SKIPPED {name}: {reason}");
}
