//! Moves bytes in both directions until both ends are done or a time limit is reached.

use super::body::Body;
use std::{
    io,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader},
    time::Instant,
};

/// A model may take a long time before it sends the first byte.
const IDLE_MAX: Duration = Duration::from_mins(15);
const TOTAL_MAX: Duration = Duration::from_hours(12);
const BUFFER_BYTES: usize = 16 * 1_024;

/// The number of bytes that have been moved.
#[derive(Default)]
pub(super) struct Moved {
    pub(super) up: AtomicU64,
    pub(super) down: AtomicU64,
}

/// Moves the bytes between `inside` and `outside`.
pub(super) async fn tunnel(
    inside: impl AsyncRead + AsyncWrite,
    outside: impl AsyncRead + AsyncWrite,
    moved: &Moved,
) {
    tunnel_within(inside, outside, moved, IDLE_MAX, TOTAL_MAX).await;
}

/// Moves the body of one request, and the response. `rest` was already read from `inside`.
pub(super) async fn pass(
    inside: impl AsyncRead + AsyncWrite,
    rest: &[u8],
    body: Body,
    outside: impl AsyncRead + AsyncWrite,
    moved: &Moved,
) {
    let (inside_read, inside_write) = tokio::io::split(inside);
    let (outside_read, outside_write) = tokio::io::split(outside);
    let up = pump_body(rest.chain(inside_read), body, outside_write, &moved.up);
    let down = pump(outside_read, inside_write, &moved.down);
    both_within(up, down, moved, IDLE_MAX, TOTAL_MAX).await;
}

async fn tunnel_within(
    inside: impl AsyncRead + AsyncWrite,
    outside: impl AsyncRead + AsyncWrite,
    moved: &Moved,
    idle_max: Duration,
    total_max: Duration,
) {
    let (inside_read, inside_write) = tokio::io::split(inside);
    let (outside_read, outside_write) = tokio::io::split(outside);
    let up = pump(inside_read, outside_write, &moved.up);
    let down = pump(outside_read, inside_write, &moved.down);
    both_within(up, down, moved, idle_max, total_max).await;
}

async fn both_within(
    up: impl Future<Output = io::Result<()>>,
    down: impl Future<Output = io::Result<()>>,
    moved: &Moved,
    idle_max: Duration,
    total_max: Duration,
) {
    let both = async { tokio::join!(up, down) };
    tokio::select! {
        // The two ends of a broken connection report the error themselves.
        (_, _) = both => {}
        () = stillness(moved, idle_max) => {}
        () = tokio::time::sleep(total_max) => {}
    }
}

async fn pump(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    count: &AtomicU64,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let read = from.read(&mut buffer).await;
        let Ok(length @ 1..) = read else {
            // Also after an error, so that the other end does not wait for data that will never
            // arrive.
            to.shutdown().await.ok();
            return read.map(drop);
        };
        to.write_all(&buffer[..length]).await?;
        to.flush().await?;
        count.fetch_add(length as u64, Ordering::Relaxed);
    }
}

/// Bytes after the body belong to no checked request, so they are not forwarded.
async fn pump_body(
    from: impl AsyncRead + Unpin,
    body: Body,
    mut to: impl AsyncWrite + Unpin,
    count: &AtomicU64,
) -> io::Result<()> {
    let mut from = BufReader::with_capacity(BUFFER_BYTES, from);
    let sent = body.forward(&mut from, &mut to, count).await;
    if sent.is_ok() {
        tokio::io::copy_buf(&mut from, &mut tokio::io::sink()).await.ok();
    }
    // Also after an error, so that the other end does not wait for data that will never arrive.
    to.shutdown().await.ok();
    sent
}

/// Completes when nothing has moved for `idle_max`.
async fn stillness(moved: &Moved, idle_max: Duration) {
    let sum = || moved.up.load(Ordering::Relaxed) + moved.down.load(Ordering::Relaxed);
    let (mut last, mut since) = (sum(), Instant::now());
    loop {
        tokio::time::sleep_until(since + idle_max).await;
        if sum() == last {
            return;
        }
        (last, since) = (sum(), Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().build().unwrap().block_on(future)
    }

    #[test]
    fn both_directions_are_moved_and_counted_and_each_end_closes_alone() {
        block_on(async {
            let (mut program, inside) = tokio::io::duplex(64);
            let (mut server, outside) = tokio::io::duplex(64);
            let moved = Moved::default();
            let talk = async {
                program.write_all(b"question").await.unwrap();
                program.shutdown().await.unwrap();
                let mut heard = String::new();
                server.read_to_string(&mut heard).await.unwrap();
                assert_eq!(heard, "question");
                server.write_all(b"a long answer").await.unwrap();
                server.shutdown().await.unwrap();
                let mut answer = String::new();
                program.read_to_string(&mut answer).await.unwrap();
                assert_eq!(answer, "a long answer");
            };
            tokio::join!(tunnel(inside, outside, &moved), talk);
            assert_eq!((moved.up.into_inner(), moved.down.into_inner()), (8, 13));
        });
    }

    #[test]
    fn idle_connection_ends() {
        block_on(async {
            let (_program, inside) = tokio::io::duplex(64);
            let (_server, outside) = tokio::io::duplex(64);
            let moment = Duration::from_millis(5);
            tunnel_within(inside, outside, &Moved::default(), moment, TOTAL_MAX).await;
        });
    }

    #[test]
    fn busy_connection_ends_after_the_total_limit() {
        block_on(async {
            let (mut program, inside) = tokio::io::duplex(64);
            let (mut server, outside) = tokio::io::duplex(64);
            let moved = Moved::default();
            let limits = (IDLE_MAX, Duration::from_millis(20));
            let chatter = async {
                let mut byte = [0];
                while program.write_all(b"x").await.is_ok()
                    && server.read_exact(&mut byte).await.is_ok()
                {}
            };
            tokio::join!(tunnel_within(inside, outside, &moved, limits.0, limits.1), chatter);
            assert!(moved.up.into_inner() > 0);
        });
    }
}
