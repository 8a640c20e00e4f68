//! The network resources of a workspace: package registries, model endpoints, caches, certificates
//! and tool chains on this machine.
//!
//! No host is hard-coded here. Registries are read from the settings of the user's tools; if those
//! have none, the tools are queried. Nothing here opens a connection.

mod registries;
mod endpoints;
mod tools;

pub use registries::{Registry, registries};
pub use tools::{Caches, Tools};

use endpoints::{endpoints, is_local};
use pitcrew_config::{BackendSettings, ModelSettings, Settings, user_environment};
use pitcrew_model::{Host, HostPattern, Place};
use pitcrew_process::{Egress, Net, Policy, Upstream};
use std::{
    collections::BTreeSet,
    net::Ipv4Addr,
    panic::catch_unwind,
    path::Path,
    sync::{Arc, OnceLock},
    thread,
};

/// An unprivileged program cannot listen below this port, so such ports cannot be forwarded.
const PORT_MIN: u16 = 1_024;

/// Detected once, when an orchestrator starts.
#[derive(Clone, Debug, Default)]
pub struct Network {
    pub registries: Vec<Registry>,
    tools: Tools,
    allow: Vec<HostPattern>,
    forward: Vec<u16>,
    upstream: Upstream,
}

/// The network detection in the background, because querying tools takes time.
#[derive(Clone, Default)]
pub struct Lookup(Arc<OnceLock<Network>>);

impl Lookup {
    pub fn begin(settings: &Settings, caches: &Path) -> Self {
        let lookup = Self::default();
        let (found, settings, caches) = (lookup.clone(), settings.clone(), caches.to_owned());
        let find = move || {
            // A panic must not leave waiters blocked.
            let network = catch_unwind(|| Network::find(&settings, &caches)).unwrap_or_default();
            found.0.set(network).ok();
        };
        if thread::Builder::new().name("network".into()).spawn(find).is_err() {
            lookup.0.set(Network::default()).ok();
        }
        lookup
    }

    /// Waits for the result. Blocks.
    pub fn get(&self) -> &Network {
        self.0.wait()
    }

    /// Completes when the result is available.
    pub async fn found(&self) {
        let lookup = self.clone();
        let wait = move || {
            lookup.get();
        };
        // If it panicked, the next caller of `get` waits.
        tokio::task::spawn_blocking(wait).await.ok();
    }
}

/// The program that the egress rules are for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Needs<'a> {
    pub backend: Option<&'a BackendSettings>,
    pub model: Option<&'a ModelSettings>,
}

/// The hosts of a provider: those that its agent needs, and the endpoints in the user's settings.
pub fn provider_hosts(needs: Needs<'_>) -> Vec<HostPattern> {
    let listed = needs.backend.map(|it| it.egress_hosts.as_slice()).unwrap_or_default();
    let listed = listed.iter().filter_map(|it| it.parse().ok());
    let own = endpoints(needs).into_iter().map(|place| {
        if is_local(&place.host) {
            // The name by which a forwarded port is recorded.
            return Place { host: Host::Address(Ipv4Addr::LOCALHOST.into()), ..place };
        }
        place
    });
    listed.chain(own.filter_map(|it| it.to_string().parse().ok())).collect()
}

impl Network {
    /// `caches` is the folder of the workspace's own caches; it is created here.
    pub fn find(settings: &Settings, caches: &Path) -> Self {
        let user = user_environment();
        let registries = registries(&user);
        let tools = Tools::find(&user, caches, &registries);
        let (allow, forward) = (settings.egress_allow.clone(), settings.forward.clone());
        let upstream = Upstream::of_environment(&user);
        Self { registries, tools, allow, forward, upstream }
    }

    /// Extends the policy with egress to what is needed, recorded in `dir`, and with the caches
    /// `caches`.
    #[must_use]
    pub fn applied(&self, policy: &Policy, needs: Needs<'_>, caches: Caches, dir: &Path) -> Policy {
        let mut policy = policy.clone();
        policy.net = Net::Proxy(self.egress(needs, dir));
        policy.env.extend(self.tools.env.clone());
        policy.read.extend(self.tools.read.clone());
        for (name, folder) in self.tools.caches(caches) {
            policy.env.push((name.into(), folder.display().to_string()));
            policy.write.push(folder.to_owned());
        }
        policy
    }

    fn egress(&self, needs: Needs<'_>, dir: &Path) -> Egress {
        let mut own: BTreeSet<String> = self.allow.iter().map(ToString::to_string).collect();
        let mut forward: BTreeSet<u16> = self.forward.iter().copied().collect();
        let packages = self.registries.iter().flat_map(|it| &it.places).cloned();
        for place in packages.chain(endpoints(needs)) {
            if !is_local(&place.host) {
                own.insert(place.to_string());
            } else if place.port >= PORT_MIN {
                forward.insert(place.port);
            }
        }
        let mut allow = needs.backend.map(|it| it.egress_hosts.clone()).unwrap_or_default();
        let beside = self.registries.iter().flat_map(|it| &it.beside);
        allow.extend(beside.map(ToString::to_string));
        Egress {
            allow,
            private: own.into_iter().collect(),
            forward: forward.into_iter().collect(),
            dir: dir.to_owned(),
            upstream: self.upstream.clone(),
            at: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_reaches_backend_hosts_allowed_hosts_and_registries() {
        let mut registry = Registry::of("tool", &["https://pkg.example/simple"]);
        registry.beside.push("*.sister.example:443".parse().expect("a pattern"));
        let network = Network {
            registries: vec![registry],
            tools: Tools::default(),
            allow: vec!["*.example.org".parse().expect("a pattern")],
            forward: vec![5432],
            upstream: Upstream::default(),
        };
        let backend =
            BackendSettings { egress_hosts: vec!["api.example".into()], ..Default::default() };
        let needs = Needs { backend: Some(&backend), model: None };
        let egress = network.egress(needs, Path::new("/attempt"));
        assert_eq!(egress.allow, ["api.example", "*.sister.example:443"]);
        assert_eq!(egress.private, ["*.example.org", "pkg.example:443"]);
        assert_eq!(egress.forward, [5432]);
    }
}
