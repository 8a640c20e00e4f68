//! The policy of programs that the agent starts: the same rights as the agent, without its model
//! key.

use pitcrew_process::Policy;

/// The agent's own confinement and environment, without `withheld` and with `extra`. Variables that
/// are not UTF-8 are left out.
pub(crate) fn own(withheld: &[String], extra: &[(String, String)]) -> Policy {
    let ours = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| !withheld.contains(name));
    Policy { env: ours.chain(extra.iter().cloned()).collect(), ..Policy::unconfined() }
}
