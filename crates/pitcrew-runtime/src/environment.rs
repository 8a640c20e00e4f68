//! The variables that an orchestrator reads once, when it starts.

use pitcrew_config::{orchestrator_variables, user_environment};
use sha2::{Digest, Sha256};
use std::{collections::BTreeMap, fmt::Write};

/// Enough to tell two values apart, and too little to recover a secret.
const DIGEST_BYTES: usize = 8;

/// Those that this process has, each with a digest of its value.
pub fn settings_environment() -> BTreeMap<String, String> {
    let mut environment = user_environment();
    let names = orchestrator_variables().into_iter();
    let set = names.filter_map(|name| {
        let value = environment.remove(&name).filter(|it| !it.is_empty())?;
        let mut text = String::new();
        for byte in &Sha256::digest(value.as_bytes())[..DIGEST_BYTES] {
            write!(text, "{byte:02x}").expect("to a string");
        }
        Some((name, text))
    });
    set.collect()
}
