//! The built-in agent as a real process: driven over ACP through a real shim, with a real MCP
//! server.

mod stage;
mod foreign;
mod steps;
mod turns;
mod commands;
mod cuts;
mod canned;
mod model;
mod model_faults;
mod model_hostile;
