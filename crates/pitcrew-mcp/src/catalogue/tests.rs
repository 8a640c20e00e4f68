use super::*;

/// S1-029, S1-030: one canonical name, and other spellings find the same tool.
#[test]
fn every_tool_has_one_name_and_many_spellings() {
    for spelling in [
        "orchestrator_complete_task",
        "orchestrator_completeTask",
        "orchestrator-complete-task",
        "completeTask",
        "copilot_orchestratorCompleteTask",
        "mcp__pitcrew__orchestrator_complete_task",
    ] {
        assert_eq!(canonical_name(spelling), Some(COMPLETE_TASK), "{spelling}");
    }
    for (spelling, name) in [
        ("a2a_notifyOrchestrator", NOTIFY_ORCHESTRATOR),
        ("copilot_orchestratorDeployTask", DEPLOY_TASK),
        ("copilot_a2aSpawnSubtask", SPAWN_SUBTASK),
        ("a2a_awaitSubtasks", AWAIT_SUBTASKS),
        ("spawn_subtask", SPAWN_SUBTASK),
    ] {
        assert_eq!(canonical_name(spelling), Some(name), "{spelling}");
    }
    assert_eq!(canonical_name("orchestrator_complete"), None);
    for tool in tools() {
        assert_eq!(canonical_name(tool.name), Some(tool.name));
    }
    let names: Vec<&str> = tools().iter().map(|it| it.name).collect();
    assert_eq!(names, pitcrew_model::ORCHESTRATOR_TOOLS, "these need no permission");
}

/// S4-028, S4-029: each tool has a title, a description, schemas and a valid example.
#[test]
fn every_tool_is_documented() {
    for tool in tools() {
        let name = tool.name;
        assert!(tool.description.len() > 60 && !tool.title.is_empty(), "{name}");
        for schema in [&tool.input, &tool.output] {
            assert_eq!(schema["type"], "object", "{name}");
        }
        let properties = tool.input["properties"].as_object().expect("properties");
        for (key, schema) in properties {
            let described = schema["description"].as_str().is_some_and(|it| it.len() > 10);
            assert!(described, "{name} does not describe {key}");
        }
        let required = tool.input["required"].as_array().expect("required");
        assert!(required.iter().all(|it| properties.contains_key(it.as_str().unwrap_or("-"))));
        let example: Value = serde_json::from_str(tool.example).expect("an example is JSON");
        let call = crate::ToolCall::parse(name, &example);
        assert!(call.is_ok(), "the example of {name} is refused: {call:?}");
    }
}

fn names(role: Role) -> Vec<&'static str> {
    visible(role).iter().map(|it| it.name).collect()
}

/// S1-001: the role decides which tools a caller sees.
#[test]
fn a_caller_sees_what_fits_its_role() {
    let (allowed, refused) = (Spawning::Allowed, Spawning::Refused);
    assert_eq!(
        names(Role::Worker { spawning: refused }),
        [SAVE_PLAN, ADD_PLAN_TASK, LIST_WORKERS, COMPLETE_TASK, NOTIFY_ORCHESTRATOR, QUERY]
    );
    assert_eq!(
        names(Role::Subtask { spawning: refused }),
        [LIST_WORKERS, COMPLETE_TASK, SUBTASK_COMPLETE, NOTIFY_ORCHESTRATOR, QUERY]
    );
    assert_eq!(
        names(Role::Client { spawning: refused }),
        [SAVE_PLAN, ADD_PLAN_TASK, LIST_WORKERS, DEPLOY_TASK, CANCEL_TASK, RETRY_TASK, LIST_AGENTS]
    );
    let parent = names(Role::Worker { spawning: allowed });
    for tool in
        [SPAWN_SUBTASK, SPAWN_PARALLEL_SUBTASKS, AWAIT_SUBTASKS, DECIDE_PERMISSIONS, CANCEL_TASK]
    {
        assert!(parent.contains(&tool), "{tool}");
    }
    assert!(!parent.contains(&DEPLOY_TASK) && !parent.contains(&SUBTASK_COMPLETE));
}
