//! The rights of root. A program that is run for an agent has none of them, also when we are root:
//! with them it would look into every process of the machine.

use rustix::{
    io::Errno,
    thread::{
        CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
        remove_capability_from_bounding_set, set_capabilities,
    },
};
use std::io;

pub(crate) fn drop_all() -> io::Result<()> {
    if capabilities(None)?.permitted.is_empty() && rustix::process::geteuid().as_raw() != 0 {
        return Ok(());
    }
    forget_all()?;
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    set_capabilities(None, sets)?;
    let left = capabilities(None)?;
    if left == sets { Ok(()) } else { Err(io::Error::other("some of them could not be dropped")) }
}

/// No program that we become can get any of them back.
pub(super) fn forget_all() -> io::Result<()> {
    unless_refused(clear_ambient_capability_set())?;
    // A kernel that is older or newer than the list knows fewer or more. More do not matter:
    // nothing is gained at `exec` once `no_new_privs` is set.
    for index in 0..u64::BITS {
        let capability = CapabilitySet::from_bits_retain(1 << index);
        unless_refused(remove_capability_from_bounding_set(capability))?;
    }
    Ok(())
}

/// Whoever may not change the set has no use for it, and what the kernel does not know is not there.
fn unless_refused(result: rustix::io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error != Errno::PERM && error != Errno::INVAL => Err(error.into()),
        Ok(()) | Err(_) => Ok(()),
    }
}
