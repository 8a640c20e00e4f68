//! The model of the built-in agent: which layers may set it, and which values carry over.

use expect_test::{Expect, expect};
use pitcrew_config::{
    CostReporting, LayerText, ModelPrices, ModelSettings, Settings, Sources, Trust,
};
use pitcrew_model::{AgentRef, ModelProvider};
use std::collections::BTreeMap;

fn user(text: &str) -> Sources {
    let layer = LayerText { file: "user.toml".into(), text: text.into(), trust: Trust::Person };
    Sources { user: Some(layer), ..Sources::default() }
}

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn environment(pairs: &[(&str, &str)]) -> Sources {
    Sources { environment: map(pairs), ..Sources::default() }
}

fn model(sources: &Sources) -> Option<ModelSettings> {
    Settings::load(sources).unwrap_or_else(|it| panic!("{it}")).0.model
}

fn check_error(sources: &Sources, expected: &Expect) {
    expected.assert_eq(&Settings::load(sources).expect_err("it is wrong").to_string());
}

const WHOLE: &str = r#"
[model]
provider = "openai-compatible"
name = "qwen3-coder"
endpoint = "http://127.0.0.1:8080/v1/"
key_env = "MY_KEY"
key_file = "~/.key"
max_output_tokens = 8_000
context_tokens = 64_000
price_in = 3
price_out = 15.0
price_cached = 0.3
"#;

#[test]
fn a_file_sets_all_model_keys() {
    let mut sources = user(WHOLE);
    sources.environment = map(&[("HOME", "/homes/me")]);
    let found = model(&sources).expect("a model");
    let expected = ModelSettings {
        provider: ModelProvider::OpenAi,
        name: "qwen3-coder".into(),
        endpoint: Some("http://127.0.0.1:8080/v1".into()),
        key_env: Some("MY_KEY".into()),
        key_file: Some("/homes/me/.key".into()),
        max_output_tokens: Some(8_000),
        context_tokens: 64_000,
        prices: Some(ModelPrices { input: 3_000_000, output: 15_000_000, cached: 300_000 }),
    };
    assert_eq!(found, expected);
    assert_eq!(found.title(), "openai/qwen3-coder");
}

/// An agent receives exactly the configured values, including prices.
#[test]
fn a_model_survives_conversion_to_variables() {
    let mut sources = user(WHOLE);
    sources.environment = map(&[("HOME", "/homes/me")]);
    let set = model(&sources).expect("a model");
    let handed =
        Sources { environment: set.variables().into_iter().collect(), ..Sources::default() };
    assert_eq!(model(&handed), Some(set));
}

#[test]
fn a_variable_sets_a_model_with_defaults() {
    let found = model(&environment(&[("PITCREW_MODEL", "anthropic/claude-x")])).expect("a model");
    assert_eq!((found.provider, found.name.as_str()), (ModelProvider::Anthropic, "claude-x"));
    assert_eq!(found.key_variable(), Some("ANTHROPIC_API_KEY"));
    assert_eq!((found.endpoint, found.prices, found.context_tokens), (None, None, 100_000));
    let elsewhere = model(&environment(&[
        ("PITCREW_MODEL", "anthropic/claude-x"),
        ("PITCREW_MODEL_ENDPOINT", "https://models.example/v1"),
    ]));
    assert_eq!(elsewhere.expect("a model").key_variable(), None, "its usual key is not for others");
    let local = model(&environment(&[
        ("PITCREW_MODEL", "ollama/library/llama3:8b"),
        ("PITCREW_MODEL_ENDPOINT", "http://localhost:9999"),
        ("PITCREW_MODEL_CONTEXT_TOKENS", "8000"),
    ]));
    let local = local.expect("a model");
    assert_eq!((local.name.as_str(), local.key_variable()), ("library/llama3:8b", None));
    assert_eq!(local.endpoint.as_deref(), Some("http://localhost:9999"));
    assert_eq!(local.context_tokens, 8_000);
    assert_eq!(model(&environment(&[("PITCREW_MODEL_ENDPOINT", "http://localhost:9")])), None);
    assert_eq!(model(&environment(&[("PITCREW_MODEL", "")])), None);
}

/// A key goes only to its own provider, and a price applies only to its own model.
#[test]
fn another_model_does_not_inherit_keys_or_prices() {
    let mut sources = user(WHOLE);
    sources.environment = map(&[("HOME", "/h"), ("PITCREW_MODEL", "anthropic/claude-x")]);
    let found = model(&sources).expect("a model");
    assert_eq!((found.endpoint, found.key_env, found.key_file), (None, None, None));
    assert_eq!((found.prices, found.context_tokens), (None, 100_000));
    sources.environment = map(&[("HOME", "/h"), ("PITCREW_MODEL", "openai/other")]);
    let found = model(&sources).expect("a model");
    assert_eq!(found.key_env.as_deref(), Some("MY_KEY"), "the same service");
    assert_eq!((found.prices, found.max_output_tokens), (None, None));
    sources.environment = map(&[("HOME", "/h"), ("PITCREW_MODEL", "openai/qwen3-coder")]);
    assert!(model(&sources).expect("a model").prices.is_some());
}

#[test]
fn every_error_has_its_line() {
    check_error(
        &user(
            r#"
[model]
provider = "anthropc"
endpoint = "localhost:8080"
key_env = "sk-ant-1234567890"
max_output_tokens = 0
context_tokens = "many"
price_in = 1e9
temperature = 1
"#,
        ),
        &expect![[r#"
            user.toml:2:1: error: the model has no `name`
             2 | [model]
               | ^^^^^^^
            help: write `name = "claude-sonnet-4-5"`, or what you use

            user.toml:3:12: error: `provider` cannot be `anthropc`
             3 | provider = "anthropc"
               |            ^^^^^^^^^^
            help: write `anthropic`, `openai`, `gemini` or `ollama`; for any OpenAI-compatible server use `openai` with an `endpoint`

            user.toml:4:12: error: `endpoint` cannot be `localhost:8080`
             4 | endpoint = "localhost:8080"
               |            ^^^^^^^^^^^^^^^^
            help: write an address such as `http://127.0.0.1:8080/v1`

            user.toml:5:11: error: `key_env` is not a variable name
             5 | key_env = "sk-ant-1234567890"
               |           ^^^^^^^^^^^^^^^^^^^
            help: write the name of the variable that has the key, such as `ANTHROPIC_API_KEY`; never put the key itself in settings

            user.toml:6:21: error: `max_output_tokens` cannot be `0`
             6 | max_output_tokens = 0
               |                     ^
            help: write a whole number of tokens between 1 and 100000000

            user.toml:7:18: error: `context_tokens` must be a number, not a string
             7 | context_tokens = "many"
               |                  ^^^^^^
            help: write `context_tokens = ...` with a number

            user.toml:8:1: error: `price_in` has no effect without `price_out`
             8 | price_in = 1e9
               | ^^^^^^^^
            help: set both or neither; without prices no cost is shown

            user.toml:8:12: error: `price_in` cannot be `1000000000`
             8 | price_in = 1e9
               |            ^^^
            help: write the US dollars for a million tokens, such as 3 or 0.25

            user.toml:9:1: error: unknown key `temperature` in the model
             9 | temperature = 1
               | ^^^^^^^^^^^
            help: possible values: provider, name, endpoint, key_env, key_file, max_output_tokens, context_tokens, price_in, price_out, price_cached"#]],
    );
}

#[test]
fn missing_and_unknown_keys_are_reported_with_their_location() {
    check_error(
        &user("[model]\nprovider = \"openai-compatible\"\nname = \"x\"\nprice_out = 1"),
        &expect![[r#"
            user.toml:1:1: error: the model has no `endpoint`, which `openai-compatible` needs
             1 | [model]
               | ^^^^^^^
            help: write `endpoint = "http://127.0.0.1:8080/v1"`, or where it is

            user.toml:4:1: error: `price_out` has no effect without `price_in`
             4 | price_out = 1
               | ^^^^^^^^^
            help: set both or neither; without prices no cost is shown"#]],
    );
    check_error(
        &user("model = \"anthropic/claude-x\"\n"),
        &expect![[r#"
        user.toml:1:9: error: `model` must be a table, not a string
         1 | model = "anthropic/claude-x"
           |         ^^^^^^^^^^^^^^^^^^^^
        help: write `[model]` and below it `provider = "..."` and `name = "..."`"#]],
    );
    check_error(
        &environment(&[
            ("PITCREW_MODEL", "claude-x"),
            ("PITCREW_MODEL_KEY_ENV", "sk-ant-1"),
            ("PITCREW_MODEL_ENDPIONT", "x"),
        ]),
        &expect![[r#"
            environment:1:15: error: `PITCREW_MODEL` cannot be `claude-x`: it has no `/`
             1 | PITCREW_MODEL=claude-x
               |               ^^^^^^^^
            help: write it as `anthropic/claude-sonnet-4-5`: the provider and the model's name

            environment:1:1: error: `PITCREW_MODEL_ENDPIONT` is not a setting
             1 | PITCREW_MODEL_ENDPIONT=x
               | ^^^^^^^^^^^^^^^^^^^^^^
            help: did you mean `PITCREW_MODEL_ENDPOINT`?

            environment:1:23: error: `PITCREW_MODEL_KEY_ENV` is not a variable name
             1 | PITCREW_MODEL_KEY_ENV=sk-ant-1
               |                       ^^^^^^^^
            help: write the name of the variable that has the key, such as `ANTHROPIC_API_KEY`; never put the key itself in settings"#]],
    );
}

/// Otherwise a repository could send the user's key and code anywhere.
#[test]
fn a_repository_cannot_set_a_model() {
    for trust in [Trust::Repository, Trust::Person] {
        let layer = LayerText { file: "repo.toml".into(), text: WHOLE.into(), trust };
        let mut sources = Sources::default();
        match trust {
            Trust::Repository => sources.repository = Some(layer),
            Trust::Person => sources.local = Some(layer),
        }
        check_error(
            &sources,
            &expect![[r#"
                repo.toml:2:1: error: only your own settings may name a model and its key, not a file in the repository
                 2 | [model]
                   | ^^^^^^^
                help: move `[model]` to your own settings, usually `~/.config/pitcrew/config.toml`"#]],
        );
    }
}

/// A configured model is meant to be used.
#[test]
fn a_model_makes_the_built_in_agent_the_default() {
    let (settings, _) = Settings::load(&environment(&[])).expect("settings");
    assert_eq!(settings.default_agent(), None);
    let (settings, _) = Settings::load(&environment(&[("PITCREW_MODEL", "ollama/x")])).expect("it");
    assert_eq!(settings.default_agent(), Some(AgentRef::backend("builtin")));
}

/// Prices come from the user, never from a repository.
#[test]
fn prices_come_from_the_user() {
    let text = "max_cost = 5\n[prices.\"gpt-5\"]\nprice_in = 1.25\nprice_out = 10\n\n[prices.qwen]\nprice_in = 1\nprice_out = 2\nprice_cached = 0\n";
    let layer = |trust| Some(LayerText { file: "config.toml".into(), text: text.into(), trust });
    let sources = Sources { user: layer(Trust::Person), ..Sources::default() };
    let (settings, origins) = Settings::load(&sources).expect("settings");
    let large = ModelPrices { input: 1_250_000, output: 10_000_000, cached: 1_250_000 };
    assert_eq!(settings.prices["gpt-5"], large);
    assert_eq!(settings.prices["qwen"].cached, 0);
    let rows = origins.rows(&settings);
    let shown = rows.iter().find(|it| it.0 == "prices.qwen").expect("a row");
    assert_eq!(shown.1, "{ price_in = 1, price_out = 2, price_cached = 0 }");
    assert_eq!(shown.2.line, Some(6));
    for (backend, model, wanted) in [
        ("codex", None, CostReporting::Partly),
        ("codex", Some("gpt-5"), CostReporting::Full),
        ("codex", Some("other"), CostReporting::None),
        ("qwen", Some("any"), CostReporting::Full),
        ("claude", None, CostReporting::Full),
        ("goose", Some("any"), CostReporting::Partly),
        ("builtin", None, CostReporting::None),
    ] {
        assert_eq!(settings.cost_known(backend, model), wanted, "{backend} {model:?}");
    }
    assert_eq!(Settings::default().cost_known("codex", None), CostReporting::None);
    let foreign = Sources { repository: layer(Trust::Repository), ..Sources::default() };
    let refused = Settings::load(&foreign).expect_err("it comes with the repository").to_string();
    assert!(refused.contains("only your own settings may say what a model costs"), "{refused}");
}

#[test]
fn an_invalid_price_is_reported_at_its_location() {
    for (text, reason) in [
        ("[prices.m]\nprice_in = 1\n", "the price of `m` has no `price_out`"),
        ("[prices.m]\nprice_in = -1\nprice_out = 1\n", "`price_in` cannot be `-1`"),
        ("[prices.m]\nprice_in = \"1\"\nprice_out = 1\n", "`price_in` must be a number"),
        ("[prices.m]\nprice_in = 1\nprice_out = 1\nprice = 1\n", "`price`"),
        ("[prices]\nm = 3\n", "`m` must be a table"),
        ("prices = 3\n", "`prices` must be a table"),
    ] {
        let user =
            Some(LayerText { file: "config.toml".into(), text: text.into(), trust: Trust::Person });
        let errors = Settings::load(&Sources { user, ..Sources::default() }).expect_err(text);
        assert!(errors.to_string().contains(reason), "{text}: {errors}");
    }
}
