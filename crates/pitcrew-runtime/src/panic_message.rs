//! Converts panics to messages.

use std::any::Any;

/// The message of a panic in our code.
pub fn panic_message(panic: &(dyn Any + Send)) -> String {
    let said = panic.downcast_ref::<&str>().copied();
    let said = said.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("internal error in pitcrew: {}", said.unwrap_or("unknown cause"))
}
