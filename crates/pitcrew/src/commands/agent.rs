//! The process of the built-in agent.

use super::CommandResult;
use crate::{exit::Exit, report::Report, workspace::user_dirs};
use pitcrew_agent::{Key, ModelSetup, Options, Prices, agent_main};
use pitcrew_config::{ModelSettings, Settings, Sources, read_user_layer, user_environment};
use std::{collections::BTreeMap, path::PathBuf, process::ExitCode};

pub async fn run(orders: bool, script: Option<PathBuf>) -> CommandResult {
    let options = match script {
        Some(path) => {
            Options::with_script_file(&path).map_err(|message| Report::new(Exit::Usage, message))?
        }
        None if orders => Options::default(),
        None => Options { model: model()?, ..Options::default() },
    };
    let ended = agent_main(options).await;
    Ok(if ended == ExitCode::SUCCESS { Exit::Success } else { Exit::Failure })
}

/// The model in the user's settings or environment. Settings of the repository are not read,
/// because other people and agents write to it.
fn model() -> Result<Option<ModelSetup>, Report> {
    let environment = user_environment();
    let files = match user_dirs() {
        Ok(dirs) => {
            read_user_layer(&dirs).map_err(|error| Report::from_error(Exit::Usage, &error))?
        }
        Err(_) => Sources::default(),
    };
    let sources = Sources { environment: environment.clone(), ..files };
    let settings = Settings::load(&sources);
    let (settings, _) = settings.map_err(|errors| Report::diagnostics(errors.to_string()))?;
    Ok(settings.model.map(|it| setup(it, &environment)))
}

fn setup(model: ModelSettings, environment: &BTreeMap<String, String>) -> ModelSetup {
    ModelSetup {
        provider: model.provider,
        key: key(&model, environment),
        withheld: model.secret_variables(),
        max_output_tokens: model.max_output_tokens,
        context_tokens: model.context_tokens,
        prices: model.prices.map(|it| Prices {
            input: it.input,
            output: it.output,
            cached: it.cached,
        }),
        name: model.name,
        endpoint: model.endpoint,
    }
}

fn key(model: &ModelSettings, environment: &BTreeMap<String, String>) -> Key {
    let in_variable = |name: &str| {
        let key = environment.get(name).map(|it| it.trim().to_owned());
        key.filter(|it| !it.is_empty())
    };
    match (&model.key_file, model.key_variable()) {
        (_, Some(name)) if let Some(key) = in_variable(name) => Key::Given(key),
        (Some(file), _) => match std::fs::read_to_string(file) {
            Ok(key) => Key::Given(key.trim().to_owned()),
            Err(error) => {
                let file = file.display();
                Key::Missing(format!("failed to read the key file `{file}`: {error}"))
            }
        },
        (None, Some(name)) => Key::Missing(format!(
            "the API key for {} is missing: `{name}` is not set",
            model.title()
        )),
        // A custom endpoint seldom needs a key.
        (None, None) => Key::NotNeeded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup_of(variables: &[(&str, &str)]) -> ModelSetup {
        let variables = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        let environment: BTreeMap<String, String> = variables.collect();
        let sources = Sources { environment: environment.clone(), ..Sources::default() };
        let (settings, _) = Settings::load(&sources).expect("settings");
        setup(settings.model.expect("a model"), &environment)
    }

    #[test]
    fn default_key_is_sent_only_to_its_provider() {
        let model = ("PITCREW_MODEL", "openai/gpt-x");
        let usual = ("OPENAI_API_KEY", "the-usual-key");
        let elsewhere = ("PITCREW_MODEL_ENDPOINT", "https://models.example/v1");
        let named = ("PITCREW_MODEL_KEY_ENV", "OPENAI_API_KEY");
        let given = |it: &ModelSetup| matches!(&it.key, Key::Given(key) if key == usual.1);
        assert!(given(&setup_of(&[model, usual])));
        let foreign = setup_of(&[model, usual, elsewhere]);
        assert!(matches!(foreign.key, Key::NotNeeded), "{foreign:?}");
        assert!(given(&setup_of(&[model, usual, elsewhere, named])));
        let unset = setup_of(&[model, elsewhere, named]);
        assert!(matches!(unset.key, Key::Missing(_)), "{unset:?}");
        for name in ["OPENAI_API_KEY", "PITCREW_MODEL_KEY_FILE"] {
            assert!(foreign.withheld.iter().any(|it| it == name), "{name}");
        }
    }

    #[test]
    fn key_file_works_for_any_endpoint() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("key");
        std::fs::write(&file, "from-a-file\n").expect("a file");
        let setup = setup_of(&[
            ("PITCREW_MODEL", "openai/gpt-x"),
            ("PITCREW_MODEL_ENDPOINT", "https://models.example/v1"),
            ("PITCREW_MODEL_KEY_FILE", file.to_str().expect("UTF-8")),
            ("OPENAI_API_KEY", "the-usual-key"),
        ]);
        assert!(matches!(&setup.key, Key::Given(key) if key == "from-a-file"), "{setup:?}");
    }
}
