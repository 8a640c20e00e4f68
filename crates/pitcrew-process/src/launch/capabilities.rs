//! Capabilities. A program that runs for an agent has none, even if Pitcrew runs as root: with them
//! it could inspect every process of the machine.

use rustix::{
    io::Errno,
    thread::{
        CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
        remove_capability_from_bounding_set, set_capabilities,
    },
};
use std::io;

pub(crate) fn drop_all() -> io::Result<()> {
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    // Inheritable capabilities are kept if root switches to another user.
    if capabilities(None)? == sets && rustix::process::geteuid().as_raw() != 0 {
        return Ok(());
    }
    forget_all()?;
    set_capabilities(None, sets)?;
    let left = capabilities(None)?;
    if left == sets { Ok(()) } else { Err(io::Error::other("some of them could not be dropped")) }
}

/// Empties the bounding set, so that no later `exec` can regain a capability.
pub(super) fn forget_all() -> io::Result<()> {
    unless_refused(clear_ambient_capability_set())?;
    // The kernel may know fewer or more capabilities than the list. Additional ones do not matter,
    // because `exec` grants none once `no_new_privs` is set.
    for index in 0..u64::BITS {
        let capability = CapabilitySet::from_bits_retain(1 << index);
        unless_refused(remove_capability_from_bounding_set(capability))?;
    }
    Ok(())
}

/// Ignores unknown capabilities, and missing permission to change a set, because the set cannot be
/// used then.
fn unless_refused(result: rustix::io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error != Errno::PERM && error != Errno::INVAL => Err(error.into()),
        Ok(()) | Err(_) => Ok(()),
    }
}
