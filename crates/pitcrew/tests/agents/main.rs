//! Real agents with a scripted model, without a network.

mod support;
mod handshake;
mod together;
mod trouble;
mod quirks;
mod nested;
mod landlock;
mod network;
mod homes;
mod models;
