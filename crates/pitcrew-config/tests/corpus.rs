//! Files from users and repositories: each gives a value, or errors with a location.

use pitcrew_config::{
    Authorship, Diagnostic, IntentRequest, LayerText, PermissionSources, PermissionText,
    Permissions, PlanDefaults, Settings, Sources, Trust, describe, intent_plan, parse_definition,
    parse_duration, parse_plan_bytes,
};
use pitcrew_model::{AgentRef, Matrix, limits};
use pitcrew_testkit::corpus;

fn defaults() -> PlanDefaults {
    PlanDefaults { agent: Some(AgentRef::backend("claude")), ..PlanDefaults::default() }
}

/// Every error names a line that exists in the file, and can be displayed.
fn assert_placed(text: &str, diagnostics: &[Diagnostic]) {
    for it in diagnostics {
        assert!(it.span.start <= it.span.end && it.span.end <= text.len(), "{it:?}");
        assert!(it.column >= 1 && it.line >= 1, "{it:?}");
        assert!(it.line <= text.matches('\n').count() + 1, "{it:?}");
        assert!(!it.message.is_empty() && !it.to_string().is_empty());
    }
}

#[test]
fn any_plan_file_is_a_plan_or_has_located_errors() {
    corpus!("plan").check(400, |bytes| match parse_plan_bytes("plan.toml", bytes, &defaults()) {
        Ok(parsed) => {
            let text = str::from_utf8(bytes).expect("a plan is UTF-8");
            assert_placed(text, &parsed.warnings);
            assert!(parsed.spec.tasks.len() <= limits::TASKS_PER_PLAN_MAX);
            let bounded = |ms| ms > 0 && ms <= limits::TASK_TIMEOUT_MS_MAX;
            assert!(parsed.spec.tasks.iter().all(|it| bounded(it.timeout_ms)));
            let picture = describe(&parsed.spec).expect("a plan that parses has no cycle");
            assert!(!picture.to_string().is_empty());
        }
        Err(errors) => {
            assert!(!errors.diagnostics.is_empty());
            if let Ok(text) = str::from_utf8(bytes) {
                assert_placed(text, &errors.diagnostics);
            }
        }
    });
}

#[test]
fn any_settings_file_is_settings_or_has_located_errors() {
    corpus!("settings").check(400, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        for trust in [Trust::Person, Trust::Repository] {
            let layer = LayerText { file: "config.toml".into(), text: text.to_string(), trust };
            let sources = Sources { user: Some(layer), ..Sources::default() };
            match Settings::load(&sources) {
                Ok((settings, origins)) => {
                    assert!(settings.max_agents <= settings.max_live_agents);
                    assert!(settings.max_agents <= limits::AGENTS_MAX);
                    assert!(!origins.rows(&settings).is_empty());
                }
                Err(errors) => assert_placed(&text, &errors.diagnostics),
            }
        }
    });
}

#[test]
fn any_request_is_a_plan_or_has_located_errors() {
    corpus!("intent").check(400, |bytes| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let request = IntentRequest { text: text.clone(), ..IntentRequest::default() };
        match intent_plan(&request, &defaults()) {
            Ok(plan) => assert!(!plan.tasks.is_empty()),
            Err(errors) => assert_placed(&text, &errors.diagnostics),
        }
        parse_duration(&text).ok();
    });
}

/// A repository's file only tightens or is ignored, whatever its content.
#[test]
fn no_repository_permissions_file_loosens_a_rule() {
    let builtin = Matrix::builtin();
    corpus!("permissions").check(400, |bytes| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let file = PermissionText { file: "permissions.md".into(), text: Ok(text.clone()) };
        let sources = PermissionSources { workspace: Some(file), ..PermissionSources::default() };
        let found = Permissions::load(&sources);
        assert_placed(&text, &found.errors);
        assert_placed(&text, &found.warnings);
        for row in &found.rules {
            assert!(found.matrix.rule(&row.action) >= builtin.rule(&row.action), "{row:?}");
        }
        let (limits, usual) = (&found.matrix.limits, &builtin.limits);
        assert!(limits.subtasks_total <= usual.subtasks_total);
        assert!(limits.subtask_depth <= usual.subtask_depth);
        assert_eq!(limits.permission_default, usual.permission_default);
        assert!(found.errors.is_empty() || found.matrix == builtin, "a broken file is not used");
    });
}

#[test]
fn any_agent_file_is_a_definition_or_has_located_errors() {
    corpus!("definition").check(400, |bytes| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        for authorship in [Authorship::Ours, Authorship::Shared] {
            match parse_definition("painter", "painter.md", &text, authorship) {
                Ok(it) => assert!(!it.name.is_empty() && !it.description.is_empty(), "{it:?}"),
                Err(errors) => {
                    assert!(!errors.is_empty());
                    assert_placed(&text, &errors);
                }
            }
        }
    });
}
