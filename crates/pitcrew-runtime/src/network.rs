//! What the programs of a workspace need of the network: where packages come from, where models
//! are, and where caches, certificates and tool chains are on this machine.
//!
//! No host is named here. The registries are those of the user's own tools: their files are read,
//! and where these say nothing the tools are asked. Nothing here connects to anything.

mod registries;
mod tools;

pub use registries::{Registry, registries};
pub use tools::Tools;

use pitcrew_config::{BackendSettings, ModelSettings, Settings, user_environment};
use pitcrew_model::{Host, HostPattern, Place, place_of_url};
use pitcrew_process::{Egress, Net, Policy};
use std::{
    collections::{BTreeMap, BTreeSet},
    panic::catch_unwind,
    path::Path,
    sync::{Arc, OnceLock},
    thread,
};

/// What is found out once, when an orchestrator begins.
#[derive(Clone, Debug, Default)]
pub struct Network {
    pub registries: Vec<Registry>,
    tools: Tools,
    allow: Vec<HostPattern>,
    forward: Vec<u16>,
}

/// A network that is found out behind everything else: tools are asked, and take their time.
#[derive(Clone, Default)]
pub struct Lookup(Arc<OnceLock<Network>>);

impl Lookup {
    pub fn begin(settings: &Settings, caches: &Path) -> Self {
        let lookup = Self::default();
        let (found, settings, caches) = (lookup.clone(), settings.clone(), caches.to_owned());
        let find = move || {
            // Whoever waits is not left waiting.
            let network = catch_unwind(|| Network::find(&settings, &caches)).unwrap_or_default();
            found.0.set(network).ok();
        };
        if thread::Builder::new().name("network".into()).spawn(find).is_err() {
            lookup.0.set(Network::default()).ok();
        }
        lookup
    }

    /// Waits for it where it is not there yet.
    pub fn get(&self) -> &Network {
        self.0.wait()
    }
}

/// For whom a way out is made.
#[derive(Clone, Copy, Debug, Default)]
pub struct Needs<'a> {
    pub backend: Option<&'a BackendSettings>,
    pub model: Option<&'a ModelSettings>,
}

impl Network {
    /// `caches` is the folder of the workspace's own caches, which is made here.
    pub fn find(settings: &Settings, caches: &Path) -> Self {
        let user = user_environment();
        let registries = registries(&user);
        let tools = Tools::find(&user, caches, &registries);
        let (allow, forward) = (settings.egress_allow.clone(), settings.forward.clone());
        Self { registries, tools, allow, forward }
    }

    /// The policy with a way to what is needed and no further, recorded in `dir`.
    #[must_use]
    pub fn applied(&self, policy: &Policy, needs: Needs<'_>, dir: &Path) -> Policy {
        let mut policy = policy.clone();
        policy.net = Net::Proxy(self.egress(needs, dir));
        policy.env.extend(self.tools.env.clone());
        policy.read.extend(self.tools.read.clone());
        policy.write.extend(self.tools.write.clone());
        policy
    }

    fn egress(&self, needs: Needs<'_>, dir: &Path) -> Egress {
        let mut own: BTreeSet<String> = self.allow.iter().map(ToString::to_string).collect();
        own.extend(self.registries.iter().flat_map(|it| &it.places).map(ToString::to_string));
        let mut forward: BTreeSet<u16> = self.forward.iter().copied().collect();
        for place in endpoints(needs) {
            if is_loopback(&place.host) {
                forward.insert(place.port);
            } else {
                own.insert(place.to_string());
            }
        }
        Egress {
            allow: needs.backend.map(|it| it.egress_hosts.clone()).unwrap_or_default(),
            private: own.into_iter().collect(),
            forward: forward.into_iter().collect(),
            dir: dir.to_owned(),
            at: None,
        }
    }
}

/// Where the user said that models are.
fn endpoints(needs: Needs<'_>) -> Vec<Place> {
    let variables = needs.backend.map(BackendSettings::environment_here).unwrap_or_default();
    let endpoint = needs.model.map(|it| it.endpoint.as_deref().unwrap_or(it.provider.endpoint()));
    let endpoint = endpoint.and_then(place_of_url);
    of_variables(&variables).into_iter().chain(endpoint).collect()
}

fn of_variables(variables: &BTreeMap<String, String>) -> Vec<Place> {
    let place = |(name, value): (&String, &String)| {
        // Some have a host and a port without a scheme.
        let plain = || name.ends_with("_HOST").then(|| value.parse().ok()).flatten();
        place_of_url(value).or_else(plain)
    };
    // Where a proxy is, is for us to know.
    let is_proxy = |name: &str| name.to_ascii_uppercase().ends_with("_PROXY");
    variables.iter().filter(|it| !is_proxy(it.0)).filter_map(place).collect()
}

fn is_loopback(host: &Host) -> bool {
    match host {
        Host::Name(name) => name == "localhost",
        Host::Address(address) => address.is_loopback(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_worker_reaches_what_its_backend_needs_what_the_user_wrote_and_the_registries() {
        let registry = Registry::of("tool", &["https://pkg.example/simple"]);
        let network = Network {
            registries: vec![registry],
            tools: Tools::default(),
            allow: vec!["*.example.org".parse().expect("a pattern")],
            forward: vec![5432],
        };
        let backend =
            BackendSettings { egress_hosts: vec!["api.example".into()], ..Default::default() };
        let needs = Needs { backend: Some(&backend), model: None };
        let egress = network.egress(needs, Path::new("/attempt"));
        assert_eq!(egress.allow, ["api.example"]);
        assert_eq!(egress.private, ["*.example.org", "pkg.example:443"]);
        assert_eq!(egress.forward, [5432]);
    }

    #[test]
    fn an_endpoint_of_the_user_is_reached_and_one_on_this_machine_is_forwarded() {
        let variables = map(&[
            ("ANTHROPIC_BASE_URL", "http://127.0.0.1:8080/v1"),
            ("OPENAI_BASE_URL", "https://models.example:8443/v1"),
            ("OLLAMA_HOST", "localhost:11434"),
            ("HTTPS_PROXY", "http://proxy.example:3128"),
            ("SOME_KEY", "sk-1234"),
        ]);
        let places: Vec<String> =
            of_variables(&variables).iter().map(ToString::to_string).collect();
        assert_eq!(places, ["127.0.0.1:8080", "localhost:11434", "models.example:8443"]);
        let forwarded = of_variables(&variables);
        let forwarded = forwarded.iter().filter(|it| is_loopback(&it.host));
        assert_eq!(forwarded.map(|it| it.port).collect::<Vec<_>>(), [8080, 11434]);
    }
}
