//! What the programs that the agent starts may do: as much as the agent itself,
//! but for the key to its model.

use pitcrew_process::Policy;

/// The agent's own confinement and environment, without what is withheld and with `extra`.
/// Variables that are not UTF-8 are left out.
pub(crate) fn own(withheld: &[String], extra: &[(String, String)]) -> Policy {
    let ours = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| !withheld.contains(name));
    Policy { env: ours.chain(extra.iter().cloned()).collect(), ..Policy::unconfined() }
}
