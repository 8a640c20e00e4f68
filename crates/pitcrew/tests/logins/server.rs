//! A token server like those of the vendors: a refresh token that is used twice logs out all
//! sessions.

use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex, MutexGuard},
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

pub const HOUR_MS: u64 = 3_600_000;

pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock");
    u64::try_from(since.as_millis()).expect("a time")
}

pub struct TokenServer {
    pub address: String,
    state: Arc<Mutex<TokenState>>,
}

#[derive(Default)]
pub struct TokenState {
    /// The newest login; its tokens are named after it.
    pub number: u64,
    pub refreshes_count: u64,
    /// Refresh tokens that were used twice. The first one logs out all sessions.
    pub reuses_count: u64,
    pub uses_count: u64,
}

impl TokenServer {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let state = Arc::new(Mutex::new(TokenState { number: 1, ..TokenState::default() }));
        let of_server = state.clone();
        // Ends with the process; only this test knows its port.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = of_server.clone();
                thread::spawn(move || answer(stream, &state));
            }
        });
        Self { address, state }
    }

    pub fn state(&self) -> MutexGuard<'_, TokenState> {
        self.state.lock().expect("a server that works")
    }

    /// The user logs in: returns a file with tokens that expire at this time.
    pub fn log_in(&self, expires_at_ms: u64) -> String {
        let mut state = self.state();
        state.number += 1;
        json!({ "oauth": tokens(state.number, expires_at_ms), "account": "ada" }).to_string()
    }
}

fn tokens(number: u64, expires_at_ms: u64) -> Value {
    json!({
        "accessToken": format!("access-secret-{number}"),
        "refreshToken": format!("refresh-secret-{number}"),
        "expiresAt": expires_at_ms,
    })
}

fn answer(mut stream: TcpStream, state: &Mutex<TokenState>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first).ok()?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body: Value = serde_json::from_slice(&body).ok()?;
    let answered =
        if first.contains("/token") { refresh(&body, state) } else { use_it(&body, state) };
    let (status, text) = match answered {
        Some(value) => ("200 OK", value.to_string()),
        None => ("400 Bad Request", "{}".to_owned()),
    };
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close", text.len());
    write!(stream, "{head}\r\n\r\n{text}").ok()
}

fn refresh(body: &Value, state: &Mutex<TokenState>) -> Option<Value> {
    let number = {
        let mut state = state.lock().ok()?;
        if body["refresh"] != format!("refresh-secret-{}", state.number) {
            state.reuses_count += 1;
            // The next one has not been handed out.
            state.number += 1;
            return None;
        }
        state.number += 1;
        state.refreshes_count += 1;
        state.number
    };
    // The old token becomes invalid long before the agent can receive the new one.
    let (_never, answer) = std::sync::mpsc::channel::<()>();
    answer.recv_timeout(Duration::from_millis(300)).ok();
    Some(tokens(number, now_ms() + 8 * HOUR_MS))
}

fn use_it(body: &Value, state: &Mutex<TokenState>) -> Option<Value> {
    let mut state = state.lock().ok()?;
    state.uses_count += 1;
    // Access tokens, including earlier ones, are valid until they expire.
    let good = (state.number.saturating_sub(1)..=state.number)
        .any(|it| body["access"] == format!("access-secret-{it}"));
    (good || body["access"] == "a-key").then(|| json!({}))
}
