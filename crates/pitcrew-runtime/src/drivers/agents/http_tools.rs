//! The tools over HTTP, for agents that are to ask there instead of starting a server.
//!
//! Whoever serves the orchestrator opens the port, here it is only asked for. It is the same one after
//! a restart: agents that outlived an orchestrator were told its number.

use super::AgentSetup;
use futures::future::BoxFuture;
use pitcrew_acp::{Launch, McpOverHttp};
use pitcrew_config::{McpServers, WorkspaceDirs};
use pitcrew_model::{AttemptId, Backend};
use pitcrew_process::Net;
use std::{fs, io, path::PathBuf, sync::Arc, time::Duration};
use tokio::{sync::watch, time::timeout};

/// Opens the tools on this port of the loopback, 0 for any, and says where they are.
pub type OpenTools = Arc<dyn Fn(u16) -> BoxFuture<'static, io::Result<ToolsAt>> + Send + Sync>;

/// Where the tools are.
pub struct ToolsAt {
    pub port: u16,
    pub url: String,
}

/// How long an agent waits for whoever serves us to be there.
const SERVED_MAX: Duration = Duration::from_secs(5);

/// The way to the tools over HTTP. Without anybody who serves them there is none.
#[derive(Clone)]
pub struct HttpTools {
    /// Where the number of the port is kept.
    kept: PathBuf,
    open: watch::Sender<Option<OpenTools>>,
}

impl HttpTools {
    pub fn new(dirs: &WorkspaceDirs) -> Self {
        Self { kept: dirs.state.join("tools.port"), open: watch::Sender::new(None) }
    }

    /// From now on they can be asked for. Those that agents were given before are open again first.
    pub async fn served_by(&self, open: OpenTools) {
        if let Some(port) = self.kept_port() {
            // Where somebody else has it now, agents are told another one from now on.
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
    /// Offers the tools over HTTP beside the program that it could start, where its backend wants that.
    /// Where they cannot be served there is still the program.
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
