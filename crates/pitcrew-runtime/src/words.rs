//! Panics in words.

use std::any::Any;

/// What a part of ours said when it panicked.
pub fn panic(panic: &(dyn Any + Send)) -> String {
    let said = panic.downcast_ref::<&str>().copied();
    let said = said.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("a part of pitcrew broke: {}", said.unwrap_or("it did not say why"))
}
