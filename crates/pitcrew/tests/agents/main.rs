//! Real agents with a scripted model, in a network that ends at this machine.

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
