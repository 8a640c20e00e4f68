//! A stream that is read line by line.

use crate::{
    http,
    lab::{LONG, Lab},
};
use http_body_util::BodyExt;
use hyper::{Method, body::Incoming};
use serde::de::DeserializeOwned;
use tokio::time::timeout;

pub struct Stream {
    body: Incoming,
    begun: Vec<u8>,
}

/// The next item of a stream.
#[derive(Debug, PartialEq, Eq)]
pub enum StreamItem<T> {
    Line(T),
    /// The stream ended regularly.
    End,
    BrokenOff,
}

impl Stream {
    pub async fn open(lab: &Lab, path: &str) -> Self {
        let person = lab.person();
        let sent = http::send(&lab.socket(), Method::GET, path, Some(&person), Vec::new()).await;
        let response = sent.unwrap_or_else(|error| panic!("{path}: {error}: {}", lab.log()));
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "application/x-ndjson");
        Self { body: response.into_body(), begun: Vec::new() }
    }

    pub async fn next<T: DeserializeOwned>(&mut self) -> StreamItem<T> {
        loop {
            if let Some(end) = self.begun.iter().position(|it| *it == b'\n') {
                let line: Vec<u8> = self.begun.drain(..=end).collect();
                return StreamItem::Line(serde_json::from_slice(&line).unwrap());
            }
            match timeout(LONG, self.body.frame()).await.expect("something comes in time") {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.begun.extend_from_slice(&data);
                    }
                }
                Some(Err(_)) => return StreamItem::BrokenOff,
                None => return StreamItem::End,
            }
        }
    }

    /// The next line; the stream must not end.
    pub async fn line<T: DeserializeOwned>(&mut self) -> T {
        match self.next().await {
            StreamItem::Line(line) => line,
            StreamItem::End => panic!("it has ended"),
            StreamItem::BrokenOff => panic!("it broke off"),
        }
    }

    /// All lines until the end.
    pub async fn rest<T: DeserializeOwned>(mut self) -> Vec<T> {
        let mut lines = Vec::new();
        loop {
            match self.next().await {
                StreamItem::Line(line) => lines.push(line),
                StreamItem::End => return lines,
                StreamItem::BrokenOff => panic!("it broke off after {} lines", lines.len()),
            }
        }
    }
}
