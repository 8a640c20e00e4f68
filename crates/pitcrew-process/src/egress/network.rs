//! The network of this machine: name resolution and connections.

use super::reach;
use std::{
    future::Future,
    io,
    net::{IpAddr, SocketAddr},
    time::Duration,
};
use tokio::{net::TcpStream, time::timeout};

/// The timeout for dialling one address.
const DIAL_MS_MAX: u64 = 10_000;
const RESOLVE_MS_MAX: u64 = 20_000;
/// Behind a company's proxy, public names often do not resolve, and the resolver fails slowly.
const RESOLVE_BEHIND_PROXY_MS_MAX: u64 = 2_000;

/// Name resolution and dialling.
pub(super) trait Network: Send + Sync + 'static {
    fn resolve(&self, name: &str) -> impl Future<Output = io::Result<Vec<IpAddr>>> + Send;
    fn dial(&self, address: SocketAddr) -> impl Future<Output = io::Result<TcpStream>> + Send;
    /// The addresses of this machine.
    fn own(&self) -> Vec<IpAddr>;
}

pub(super) struct Internet {
    resolve_ms_max: u64,
}

impl Internet {
    pub(super) fn direct() -> Self {
        Self { resolve_ms_max: RESOLVE_MS_MAX }
    }

    pub(super) fn behind_proxy() -> Self {
        Self { resolve_ms_max: RESOLVE_BEHIND_PROXY_MS_MAX }
    }
}

impl Network for Internet {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let found =
            timeout(Duration::from_millis(self.resolve_ms_max), tokio::net::lookup_host((name, 0)));
        Ok(found.await??.map(|it| it.ip()).collect())
    }

    async fn dial(&self, address: SocketAddr) -> io::Result<TcpStream> {
        timeout(Duration::from_millis(DIAL_MS_MAX), TcpStream::connect(address)).await?
    }

    fn own(&self) -> Vec<IpAddr> {
        reach::own_addresses()
    }
}
