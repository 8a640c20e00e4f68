//! The files and folders of Landlock rules. Each is opened once here: a rule applies to the opened
//! file, whatever is at its path later.
//!
//! Links that an agent may have created are never followed: an agent could otherwise choose what
//! the next program may write. Creates only missing folders of a zone and the links of a private
//! home.

use super::spec::{Files, Home, Zone};
use crate::beneath::exactly;
use rustix::{
    fd::{AsFd, OwnedFd},
    fs::{CWD, Dir, FileType, Mode, OFlags, fstat, mkdirat, openat, symlinkat},
    io::Errno,
};
use std::{
    ffi::OsStr,
    io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

/// Information about the machine and the process itself that every program can read. Of other
/// processes, it includes only what any user can read; their memory and environment stay protected.
const READ_ALWAYS: &[&str] =
    &["/proc", "/sys/devices/system/cpu", "/sys/fs/cgroup", "/sys/kernel/mm/transparent_hugepage"];

/// Devices that almost every program needs. No terminals, because the user's are among them.
const DEVICES: &[&str] =
    &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// The allowed access to a file or folder and everything below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Right {
    Read,
    /// Includes reading.
    Write,
    /// The content of the file can be changed, but the file cannot be replaced.
    Change,
    Device,
}

#[derive(Debug)]
pub(super) struct Place {
    pub(super) file: OwnedFd,
    pub(super) right: Right,
}

impl Place {
    pub(super) fn is_folder(&self) -> io::Result<bool> {
        is_folder(&self.file)
    }
}

/// Returns the files and folders of all rules.
pub(super) fn places(files: &Files) -> io::Result<Vec<Place>> {
    let mut places = Places { deny: files.deny.iter().map(|it| real(it)).collect(), found: vec![] };
    let always = READ_ALWAYS.iter().map(Path::new);
    for path in files.read.iter().map(PathBuf::as_path).chain(always) {
        places.share(path, Right::Read)?;
    }
    for path in DEVICES {
        places.share(path.as_ref(), Right::Device)?;
    }
    for path in &files.write {
        // A rule for a parent folder would allow the whole checkout.
        let is_held =
            files.zone.as_ref().is_some_and(|it| real(&it.checkout).starts_with(real(path)));
        if !is_held {
            places.share(path, Right::Write)?;
        }
    }
    if let Some(zone) = &files.zone {
        places.share(&zone.checkout, Right::Read)?;
        places.share_zone(zone)?;
    }
    Ok(places.found)
}

/// Returns the writable paths in a box in which only part of one checkout is writable. All other
/// paths stay as the box has them.
pub(super) fn leased(zone: &Zone) -> io::Result<Vec<Place>> {
    let mut places = Places { deny: vec![real(&zone.checkout)], found: vec![] };
    places.share("/".as_ref(), Right::Write)?;
    places.share_zone(zone)?;
    Ok(places.found)
}

struct Places {
    /// Paths without links.
    deny: Vec<PathBuf>,
    found: Vec<Place>,
}

impl Places {
    fn share(&mut self, path: &Path, right: Right) -> io::Result<()> {
        let Some(file) = reached(openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()))?
        else {
            return Ok(());
        };
        let path = real(path);
        if self.deny.contains(&path) {
            return Ok(());
        }
        self.share_open(&path, file, right)
    }

    /// A rule covers everything below a folder. If something below is denied, the folder has no
    /// rule and each of its other entries gets a separate one.
    fn share_open(&mut self, path: &Path, file: OwnedFd, right: Right) -> io::Result<()> {
        if !self.deny.iter().any(|it| it.starts_with(path)) {
            self.found.push(Place { file, right });
            return Ok(());
        }
        if !is_folder(&file)? {
            return Ok(());
        }
        let folder = openat(&file, ".", OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        let Some(folder) = reached(folder)? else { return Ok(()) };
        for entry in Dir::read_from(&folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let below = path.join(OsStr::from_bytes(name.to_bytes()));
            if matches!(name.to_bytes(), b"." | b"..") || self.deny.contains(&below) {
                continue;
            }
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let Some(file) = reached(openat(&folder, name, flags, Mode::empty()))? else {
                continue;
            };
            // The target of a link has a separate rule or is not shared.
            if !is_link(&file)? {
                self.share_open(&below, file, right)?;
            }
        }
        Ok(())
    }

    fn share_zone(&mut self, zone: &Zone) -> io::Result<()> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let checkout = openat(CWD, &zone.checkout, flags, Mode::empty())?;
        let git = if zone.git { beneath(&checkout, ".git".as_ref())? } else { None };
        self.found.extend(git.map(|file| Place { file, right: Right::Write }));
        for path in &zone.paths {
            let within = path.strip_prefix(&zone.checkout).unwrap_or(path);
            if path.as_os_str().as_bytes().ends_with(b"/") {
                make_folders(&checkout, within)?;
            }
            // A guest cannot create entries beside files of others.
            let place = if zone.git {
                zone_place(&checkout, within)?
            } else {
                beneath(&checkout, within)?.map(zone_right).transpose()?
            };
            self.found.extend(place);
        }
        Ok(())
    }
}

/// A folder of the zone is writable. An existing file can be changed; a missing file can be created
/// only by a program that can write its parent folder.
fn zone_place(checkout: &OwnedFd, path: &Path) -> io::Result<Option<Place>> {
    for place in path.ancestors() {
        let place = if place.as_os_str().is_empty() { Path::new(".") } else { place };
        match exactly(checkout, place, OFlags::PATH) {
            Ok(file) if is_link(&file)? => return Ok(None),
            Ok(file) => return zone_right(file).map(Some),
            Err(Errno::NOENT) => {}
            Err(error) => return reached(Err(error)),
        }
    }
    Ok(None)
}

fn zone_right(file: OwnedFd) -> io::Result<Place> {
    let right = if is_folder(&file)? { Right::Write } else { Right::Change };
    Ok(Place { file, right })
}

/// Creates the folders on the way to a path, without following links.
fn make_folders(checkout: &OwnedFd, path: &Path) -> io::Result<()> {
    let mut above = checkout.try_clone()?;
    for part in path.components() {
        let part: &Path = part.as_ref();
        match mkdirat(&above, part, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST | Errno::NOTDIR) => {}
            Err(error) => return Err(error.into()),
        }
        let Some(next) = beneath(&above, part)? else { return Ok(()) };
        if !is_folder(&next)? {
            return Ok(());
        }
        above = next;
    }
    Ok(())
}

/// Creates the links of a private home. Existing files are kept, because the agent of that home
/// created them.
pub(super) fn show(home: &Home) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let private = openat(CWD, &home.private, flags, Mode::empty())?;
    for path in home.shown.iter().filter(|it| it.exists()) {
        let Ok(within) = path.strip_prefix(&home.user) else { continue };
        let (Some(above), Some(name)) = (within.parent(), within.file_name()) else { continue };
        make_folders(&private, above)?;
        let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
        let Some(folder) = beneath(&private, above)? else { continue };
        match symlinkat(path, &folder, name) {
            Ok(()) | Err(Errno::EXIST | Errno::NOTDIR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn beneath(folder: &OwnedFd, path: &Path) -> io::Result<Option<OwnedFd>> {
    let Some(file) = reached(exactly(folder, path, OFlags::PATH))? else { return Ok(None) };
    Ok(if is_link(&file)? { None } else { Some(file) })
}

/// A path that is missing or inaccessible needs no rule: it is refused anyway.
fn reached<T>(opened: rustix::io::Result<T>) -> io::Result<Option<T>> {
    match opened {
        Ok(file) => Ok(Some(file)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP | Errno::XDEV) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn is_link(file: &OwnedFd) -> io::Result<bool> {
    Ok(FileType::from_raw_mode(fstat(file)?.st_mode) == FileType::Symlink)
}

fn is_folder(file: impl AsFd) -> io::Result<bool> {
    Ok(FileType::from_raw_mode(fstat(file)?.st_mode) == FileType::Directory)
}

/// Resolves the links in the existing part of a path.
fn real(path: &Path) -> PathBuf {
    let found = path.ancestors().find_map(|it| Some((it, it.canonicalize().ok()?)));
    let Some((above, real)) = found else { return path.to_owned() };
    let rest = path.strip_prefix(above).unwrap_or(Path::new(""));
    // Joining an empty path would add a trailing slash.
    if rest.as_os_str().is_empty() { real } else { real.join(rest) }
}
