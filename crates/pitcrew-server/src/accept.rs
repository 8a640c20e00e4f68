//! Accepts connections on an endpoint and serves HTTP within the endpoint's limits.

use crate::{
    pool::{Connection, ConnectionPool},
    serve::Doors,
};
use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use std::{fs::File, io, pin::pin, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, UnixListener},
    task::JoinSet,
    time::sleep,
};

/// How long a connection may be idle between requests, and how long the head of a request may take.
const IDLE_TIME_MAX: Duration = Duration::from_mins(1);

/// The delay after a failed accept.
const PAUSE: Duration = Duration::from_millis(50);

/// A listener for connections.
pub trait Listen: Send + Sync {
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    fn next(&self) -> impl Future<Output = io::Result<Self::Stream>> + Send;
}

impl Listen for UnixListener {
    type Stream = tokio::net::UnixStream;

    async fn next(&self) -> io::Result<Self::Stream> {
        self.accept().await.map(|it| it.0)
    }
}

impl Listen for TcpListener {
    type Stream = tokio::net::TcpStream;

    async fn next(&self) -> io::Result<Self::Stream> {
        self.accept().await.map(|it| it.0)
    }
}

/// Serves until `stopped` completes, then finishes the requests in progress. Dropping it closes all
/// connections.
pub async fn serve_at(
    listener: impl Listen,
    pool: Arc<ConnectionPool>,
    router: Router,
    doors: &Arc<Doors>,
    stopped: impl Future<Output = ()>,
) {
    let mut stopped = pin!(stopped);
    let mut connections = JoinSet::new();
    let mut spare = Spare::new();
    loop {
        let stream = tokio::select! {
            () = &mut stopped => break,
            stream = spare.accept(&listener) => stream,
            Some(_) = connections.join_next() => continue,
        };
        tokio::select! {
            () = &mut stopped => break,
            connection = pool.enter() => {
                connections.spawn(serve_connection(stream, connection, router.clone(), doors.clone()));
            }
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// A spare file descriptor: if the process can open no more files, it is closed to accept one more
/// connection.
struct Spare(Option<File>);

impl Spare {
    fn new() -> Self {
        Self(File::open("/dev/null").ok())
    }

    /// Waits for a connection, retrying failed accepts.
    async fn accept<L: Listen>(&mut self, listener: &L) -> L::Stream {
        loop {
            match listener.next().await {
                Ok(stream) => {
                    if self.0.is_none() {
                        *self = Self::new();
                    }
                    return stream;
                }
                Err(_) if self.0.take().is_some() => {}
                Err(_) => sleep(PAUSE).await,
            }
        }
    }
}

async fn serve_connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    connection: Arc<Connection>,
    router: Router,
    doors: Arc<Doors>,
) {
    let service = TowerToHyperService::new(router.layer(Extension(connection.clone())));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(IDLE_TIME_MAX);
    let mut serving = pin!(http.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        // Data that has arrived is read before the timeout applies.
        biased;
        // Errors of a connection matter only to its client.
        _ = &mut serving => return,
        () = connection.must_close() => return,
        () = doors.closed() => serving.as_mut().graceful_shutdown(),
    }
    tokio::select! {
        _ = &mut serving => {}
        () = connection.must_close() => {}
    }
}
