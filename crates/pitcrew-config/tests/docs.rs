//! The reference documents match the parsers.

use pitcrew_config::{
    BACKEND_KEYS, BackendText, LayerText, MODEL_KEYS, PLAN_KEYS, PRICE_KEYS, PlanDefaults,
    SETTING_KEYS, SHARED_DEFAULT, Settings, Sources, TASK_KEYS, Trust, parse_plan,
};
use std::{collections::BTreeSet, fs, path::Path};

fn doc(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    fs::read_to_string(&path).unwrap_or_else(|it| panic!("{}: {it}", path.display()))
}

/// The code blocks of a language, each with the line on which it starts.
fn blocks(text: &str, language: &str) -> Vec<(usize, String)> {
    let opening = format!("```{language}");
    let mut blocks = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        if line == opening {
            let body = lines.by_ref().take_while(|(_, line)| *line != "```");
            let body: Vec<&str> = body.map(|(_, line)| line).collect();
            blocks.push((number + 1, body.join("\n")));
        }
    }
    blocks
}

/// The keys in the first column of the table that begins with `| key |` below a heading.
fn table_keys(text: &str, heading: &str) -> Vec<String> {
    let from = text.find(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("{heading}"));
    let lines = text[from..].lines().skip_while(|it| !it.starts_with("| key |")).skip(2);
    let rows = lines.take_while(|it| it.starts_with('|'));
    rows.filter_map(|it| Some(it.split('`').nth(1)?.to_owned())).collect()
}

#[test]
fn every_plan_in_the_reference_parses() {
    let blocks = blocks(&doc("plan-file.md"), "toml");
    assert!(blocks.len() >= 6);
    for (line, text) in blocks {
        let name = format!("plan-file.md, block at line {line}");
        if let Err(errors) = parse_plan(&name, &text, &PlanDefaults::default()) {
            panic!("{errors}");
        }
    }
}

#[test]
fn every_settings_file_in_the_reference_loads() {
    let blocks = blocks(&doc("configuration.md"), "toml");
    let of = [Trust::Person, Trust::Person, Trust::Person, Trust::Repository];
    assert_eq!(blocks.len(), of.len(), "three of the user, one of a repository");
    for (trust, (line, text)) in of.into_iter().zip(blocks) {
        let layer = Some(LayerText { file: format!("configuration.md:{line}"), text, trust });
        let sources = match trust {
            Trust::Person => Sources { user: layer, ..Sources::default() },
            Trust::Repository => Sources { repository: layer, ..Sources::default() },
        };
        let (_, origins) = Settings::load(&sources).unwrap_or_else(|it| panic!("{it}"));
        assert!(origins.ignored.is_empty());
    }
}

#[test]
fn every_backend_in_the_reference_loads() {
    let blocks = blocks(&doc("backends.md"), "toml");
    assert!(blocks.len() >= 3);
    for (line, text) in blocks {
        let file = format!("backends.md:{line}");
        let sources = if text.contains("[backends.") {
            let layer = LayerText { file, text, trust: Trust::Person };
            Sources { user: Some(layer), ..Sources::default() }
        } else {
            let backend = BackendText { name: "claude".into(), file, text };
            Sources { backends: vec![backend], ..Sources::default() }
        };
        Settings::load(&sources).unwrap_or_else(|it| panic!("{it}"));
    }
}

/// S4-137
#[test]
fn the_reference_lists_every_key_in_order() {
    let plan = doc("plan-file.md");
    assert_eq!(table_keys(&plan, "## The plan"), PLAN_KEYS);
    assert_eq!(table_keys(&plan, "## A task"), TASK_KEYS);
    for path in SHARED_DEFAULT {
        assert!(plan.contains(&format!("`{path}`")), "{path} is shared, but not in the reference");
    }
    let settings = doc("configuration.md");
    assert_eq!(table_keys(&settings, "## Settings"), SETTING_KEYS);
    assert_eq!(table_keys(&settings, "## The model"), MODEL_KEYS);
    for key in PRICE_KEYS {
        assert!(settings.contains(&format!("\n{key} = ")), "{key} is not in the reference");
    }
    let backends = doc("backends.md");
    assert_eq!(table_keys(&backends, "## Keys"), BACKEND_KEYS);
    for (name, backend) in &Settings::default().backends {
        let (command, install) = (backend.command.join(" "), backend.install.as_deref());
        let row = format!("| `{name}` | `{command}` | `{}` |", install.expect("a line to install"));
        assert!(backends.contains(&row), "{row}");
    }
}

/// S4-137
#[test]
fn the_schema_has_the_keys_of_the_parser() {
    let schema: serde_json::Value = serde_json::from_str(&doc("plan.schema.json")).expect("JSON");
    let keys = |table: &serde_json::Value| -> BTreeSet<String> {
        table["properties"].as_object().expect("properties").keys().cloned().collect()
    };
    let known = |keys: &[&str]| keys.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
    assert_eq!(keys(&schema), known(PLAN_KEYS));
    assert_eq!(keys(&schema["$defs"]["task"]), known(TASK_KEYS));
    for table in [&schema, &schema["$defs"]["task"]] {
        assert_eq!(table["additionalProperties"], false);
    }
}

#[test]
fn the_error_in_the_reference_is_the_printed_one() {
    let plan = blocks(&doc("plan-file.md"), "toml").remove(1).1;
    let wrong = plan.replace("depends_on = [\"api\"]", "depends_on = [\"apy\"]");
    let printed =
        parse_plan("plan.toml", &wrong, &PlanDefaults::default()).expect_err("a typing mistake");
    let shown = blocks(&doc("plan-file.md"), "text").remove(0).1;
    assert_eq!(printed.to_string(), shown);
}
