//! Converts panics into messages.

use std::any::Any;

/// Returns the message to report for a panic in Pitcrew's code.
pub fn panic_message(panic: &(dyn Any + Send)) -> String {
    let message = panic.downcast_ref::<&str>().copied();
    let message = message.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("internal error in pitcrew: {}", message.unwrap_or("unknown cause"))
}
