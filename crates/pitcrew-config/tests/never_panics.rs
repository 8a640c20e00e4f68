//! Any text gives a value or errors with a location, never a panic.

use pitcrew_config::{
    Diagnostic, IntentRequest, LayerText, PlanDefaults, Settings, Sources, Trust, describe,
    example_plan, intent_plan, parse_duration, parse_plan, parse_plan_bytes,
};
use pitcrew_model::AgentRef;
use proptest::prelude::*;

const SETTINGS: &str = "max_agents = 3\nagent = \"claude\"\nworktrees = \"/trees\"\ntask_timeout = \"1h\"\n[backends.mine]\ncommand = [\"a\", \"b\"]\nenv = { A = \"b\" }\n";

const DENSE_PLAN: &str = "name='x'\nbase='m'\nshared=['a']\nsetup='s'\ntimeout='1h'\n[[task]]\nid='a'\nprompt='p'\nregion=['src','.']\n[[task]]\nid='b'\ncommand='c'\ndepends_on=['a']\nregion='src/x'\n";

fn defaults() -> PlanDefaults {
    PlanDefaults { agent: Some(AgentRef::backend("claude")), ..PlanDefaults::default() }
}

/// A diagnostic has a location in its text, and can be displayed.
fn check_diagnostics(text: &str, diagnostics: &[Diagnostic]) {
    for it in diagnostics {
        assert!(it.span.start <= it.span.end && it.span.end <= text.len(), "{it:?}");
        assert!(it.line >= 1 && it.column >= 1, "{it:?}");
        assert!(it.line <= text.matches('\n').count() + 1, "{it:?}");
        assert!(!it.message.is_empty() && !it.to_string().is_empty());
    }
}

fn try_plan(text: &str) {
    match parse_plan("plan.toml", text, &defaults()) {
        Ok(parsed) => {
            check_diagnostics(text, &parsed.warnings);
            let picture = describe(&parsed.spec).expect("a plan that parses has no cycle");
            let shown: usize = picture.levels.iter().map(Vec::len).sum();
            assert_eq!(shown, parsed.spec.tasks.len(), "every task has a level");
            assert!(!picture.to_string().is_empty());
        }
        Err(errors) => {
            assert!(!errors.diagnostics.is_empty());
            check_diagnostics(text, &errors.diagnostics);
        }
    }
}

fn try_settings(text: &str) {
    for trust in [Trust::Person, Trust::Repository] {
        let layer = Some(LayerText { file: "config.toml".into(), text: text.into(), trust });
        for sources in [
            Sources { user: layer.clone(), ..Sources::default() },
            Sources { repository: layer.clone(), ..Sources::default() },
        ] {
            match Settings::load(&sources) {
                Ok((settings, origins)) => {
                    assert!(settings.max_agents <= settings.max_live_agents);
                    assert!(!origins.rows(&settings).is_empty());
                }
                Err(errors) => check_diagnostics(text, &errors.diagnostics),
            }
        }
    }
}

/// Replaces, removes or repeats a piece of a valid text.
fn mutated(good: &'static str) -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        Just(String::new()),
        "[\\[\\]{}=\"'#,.\\n\\\\\u{1b}é日]{1,4}",
        "[a-z_]{1,8} = (true|-1|1\\.5|\\[\\[\\]\\]|\\{\\}|1979-05-27|\"\\*\"|'\\.\\./x')\n",
        Just("[[task]]\n".to_owned()),
        Just("depends_on = ['a', 'b', 'core', 'index']\n".to_owned()),
        any::<char>().prop_map(String::from),
    ];
    let cuts = (any::<prop::sample::Index>(), 0..40usize, pieces);
    prop::collection::vec(cuts, 1..6).prop_map(move |cuts| {
        let mut characters: Vec<char> = good.chars().collect();
        for (at, count, piece) in cuts {
            let at = at.index(characters.len() + 1);
            let end = (at + count).min(characters.len());
            characters.splice(at..end, piece.chars());
        }
        characters.into_iter().collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn any_bytes_parse_as_a_plan_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Err(errors) = parse_plan_bytes("plan.toml", &bytes, &defaults()) {
            prop_assert!(!errors.to_string().is_empty());
        }
    }

    #[test]
    fn any_text_parses_without_panic(text in "\\PC{0,80}|[a-z\\[\\]=\"'\n .#{}]{0,120}") {
        try_plan(&text);
        try_settings(&text);
        let _ = parse_duration(&text);
    }

    #[test]
    fn a_mutated_plan_parses_without_panic(text in mutated(example_plan())) {
        try_plan(&text);
    }

    #[test]
    fn a_mutated_dense_plan_parses_without_panic(text in mutated(DENSE_PLAN)) {
        try_plan(&text);
    }

    #[test]
    fn mutated_settings_parse_without_panic(text in mutated(SETTINGS)) {
        try_settings(&text);
    }

    #[test]
    fn any_variable_or_flag_parses_without_panic(key in "[a-z_]{0,12}|max_agents|agent|worktrees|task_timeout|lease", value in "\\PC{0,20}") {
        let variable = format!("PITCREW_{}", key.to_uppercase());
        let sources = Sources {
            environment: [(variable, value.clone())].into(),
            flags: [(key, value)].into(),
            ..Sources::default()
        };
        if let Err(errors) = Settings::load(&sources) {
            prop_assert!(!errors.to_string().is_empty());
        }
    }

    #[test]
    fn any_request_parses_without_panic(text in "((use|using|claude|@x|codex:y|for|in|and|to|/ui|src/a|\\.\\./b|,|;|:|\\.|\n|- |é日|\\PC) ?){0,14}") {
        let request = IntentRequest { text: text.clone(), ..IntentRequest::default() };
        match intent_plan(&request, &defaults()) {
            Ok(plan) => {
                let keys: std::collections::BTreeSet<&str> = plan.tasks.iter().map(|it| it.key.as_str()).collect();
                prop_assert_eq!(keys.len(), plan.tasks.len());
                prop_assert!(plan.tasks.iter().all(|it| !it.work.prompt().trim().is_empty()));
            }
            Err(errors) => check_diagnostics(&text, &errors.diagnostics),
        }
    }
}
