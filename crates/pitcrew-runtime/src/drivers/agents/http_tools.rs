//! The tools over HTTP, for agents that use HTTP instead of starting an MCP server.
//!
//! The server opens the port on request. It is the same port after a restart, because agents that
//! outlive an orchestrator know its number.

use super::AgentSetup;
use futures::future::BoxFuture;
use pitcrew_acp::{Launch, McpOverHttp};
use pitcrew_config::{McpServers, WorkspaceDirs};
use pitcrew_model::{AttemptId, Backend};
use pitcrew_process::Net;
use std::{fs, io, path::PathBuf, sync::Arc, time::Duration};
use tokio::{sync::watch, time::timeout};

/// Opens the tools on this loopback port, 0 for any, and returns their address.
pub type OpenTools = Arc<dyn Fn(u16) -> BoxFuture<'static, io::Result<ToolsAt>> + Send + Sync>;

/// The address of the tools.
pub struct ToolsAt {
    pub port: u16,
    pub url: String,
}

/// How long an agent waits for the server to start.
const SERVED_MAX: Duration = Duration::from_secs(5);

/// Access to the tools over HTTP. Without a server there is none.
#[derive(Clone)]
pub struct HttpTools {
    /// The file that stores the port number.
    kept: PathBuf,
    open: watch::Sender<Option<OpenTools>>,
}

impl HttpTools {
    pub fn new(dirs: &WorkspaceDirs) -> Self {
        Self { kept: dirs.state.join("tools.port"), open: watch::Sender::new(None) }
    }

    /// Sets the server. Ports that agents know from earlier are opened first.
    pub async fn served_by(&self, open: OpenTools) {
        if let Some(port) = self.kept_port() {
            // If another process uses the port now, new agents get a different one.
            open(port).await.ok();
        }
        self.open.send_replace(Some(open));
    }

    async fn place(&self) -> io::Result<ToolsAt> {
        let mut served = self.open.subscribe();
        let open = match timeout(SERVED_MAX, served.wait_for(Option::is_some)).await {
            Ok(Ok(open)) => open.clone(),
            Ok(Err(_)) | Err(_) => None,
        };
        let open = open.ok_or(io::ErrorKind::NotConnected)?;
        let kept = self.kept_port();
        let place = match open(kept.unwrap_or(0)).await {
            Err(_) => open(0).await?,
            Ok(place) => place,
        };
        if kept != Some(place.port) {
            fs::write(&self.kept, place.port.to_string())?;
        }
        Ok(place)
    }

    fn kept_port(&self) -> Option<u16> {
        fs::read_to_string(&self.kept).ok()?.trim().parse().ok()
    }
}

impl AgentSetup {
    /// Offers the tools over HTTP in addition to the MCP server program, if the backend is
    /// configured for that. If the port cannot be opened, the program is still available.
    pub async fn offer_http(&self, launch: &mut Launch, attempt: AttemptId, backend: &Backend) {
        if !self.of(backend).is_some_and(|it| it.1.mcp == McpServers::Http) {
            return;
        }
        let Ok(ToolsAt { port, url }) = self.http.place().await else { return };
        if let Net::Proxy(egress) = &mut launch.shim.policy.net
            && !egress.forward.contains(&port)
        {
            egress.forward.push(port);
        }
        launch.mcp.http = Some(McpOverHttp { url, bearer: self.tokens.worker(attempt) });
    }
}
