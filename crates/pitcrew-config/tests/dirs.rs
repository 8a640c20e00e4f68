//! Folders of the user and of a workspace.

use pitcrew_config::{Dirs, WorkspaceId, private_dir};
use pitcrew_model::{AttemptId, CommitId};
use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
};

fn dirs(pairs: &[(&str, &str)]) -> Dirs {
    from_env(pairs).unwrap_or_else(|it| panic!("{it}"))
}

fn from_env(pairs: &[(&str, &str)]) -> Result<Dirs, pitcrew_config::DirsError> {
    let environment: BTreeMap<String, String> =
        pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    Dirs::from_env(&environment, 1_000)
}

fn workspace() -> WorkspaceId {
    WorkspaceId::new(&CommitId("c0ffee".into()), Path::new("/homes/me/repo"))
}

#[test]
fn the_xdg_variables_choose_the_folders() {
    let dirs = dirs(&[
        ("HOME", "/homes/me"),
        ("XDG_STATE_HOME", "/state"),
        ("XDG_CONFIG_HOME", "/config"),
        ("XDG_RUNTIME_DIR", "/run/user/1000"),
    ]);
    assert_eq!(dirs.state, Path::new("/state/pitcrew"));
    assert_eq!(dirs.config, Path::new("/config/pitcrew"));
    assert_eq!(dirs.runtime, Path::new("/run/user/1000/pitcrew"));
}

#[test]
fn without_xdg_variables_the_home_chooses_the_folders() {
    let dirs =
        dirs(&[("HOME", "/homes/me"), ("XDG_STATE_HOME", "relative"), ("XDG_CONFIG_HOME", "")]);
    assert_eq!(dirs.state, Path::new("/homes/me/.local/state/pitcrew"));
    assert_eq!(dirs.config, Path::new("/homes/me/.config/pitcrew"));
    assert_eq!(dirs.runtime, Path::new("/tmp/pitcrew-1000"));
    let error = from_env(&[]).expect_err("no home");
    assert_eq!(
        error.to_string(),
        "failed to find the folder for state: neither XDG_STATE_HOME nor HOME is an absolute path; set one of them"
    );
}

#[test]
fn a_workspace_is_identified_by_its_root_commit_and_path() {
    let id = workspace();
    assert_eq!(id.as_str().len(), 16);
    assert_eq!(id, workspace());
    assert_eq!(id.to_string().parse(), Ok(id.clone()));
    let elsewhere = WorkspaceId::new(&CommitId("c0ffee".into()), Path::new("/homes/me/repo2"));
    let other = WorkspaceId::new(&CommitId("c0ffe".into()), Path::new("e/homes/me/repo"));
    assert!(id != elsewhere && id != other);
    for wrong in ["", "../../etc", "0123456789ABCDEF", "0123456789abcde"] {
        assert!(wrong.parse::<WorkspaceId>().is_err(), "{wrong}");
    }
}

#[test]
fn the_id_of_a_workspace_never_changes() {
    assert_eq!(workspace().as_str(), "a640f0a1e1d22e2e", "state on disk is found by it");
}

#[test]
fn a_workspace_has_its_own_folders() {
    let dirs = dirs(&[("HOME", "/h")]);
    let workspace = dirs.workspace(&workspace());
    let state = PathBuf::from(format!("/h/.local/state/pitcrew/workspaces/{}", workspace.id));
    assert_eq!(workspace.state, state);
    assert_eq!(workspace.journal(), state.join("journal.db"));
    assert_eq!(workspace.vault(), state.join("vault.git"));
    assert_eq!(workspace.token(), state.join("token"));
    assert_eq!(workspace.logs(), state.join("logs"));
    assert_eq!(workspace.attempt(AttemptId(7)), state.join("attempts/attempt-7"));
}

#[test]
fn every_socket_path_is_short_enough() {
    let long = format!("/{}", "x".repeat(300));
    let longer = format!("{long}y");
    let mut seen = Vec::new();
    for runtime in ["/run/user/4294967295", "/tmp/.tmpAbCdEf/homes/run", &long, &longer] {
        let dirs = dirs(&[("HOME", "/h"), ("XDG_RUNTIME_DIR", runtime)]);
        let workspace = dirs.workspace(&workspace());
        for socket in [workspace.socket(), workspace.attempt_socket(AttemptId(u64::MAX))] {
            assert!(socket.as_os_str().len() <= 100, "{}", socket.display());
            seen.push(socket);
        }
    }
    let count = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), count, "different runtime folders, different sockets");
    let highest = Dirs::from_env(
        &[("HOME".into(), "/h".into()), ("XDG_RUNTIME_DIR".into(), long)].into(),
        u32::MAX,
    );
    let socket =
        highest.expect("a home").workspace(&workspace()).attempt_socket(AttemptId(u64::MAX));
    assert!(socket.as_os_str().len() <= 100, "{}", socket.display());
}

/// A process in another session still reaches the running orchestrator while it exists.
#[test]
fn any_session_finds_the_sockets_of_a_workspace() {
    let base = tempfile::tempdir().expect("a folder");
    let place = |name: &str| base.path().join(name).display().to_string();
    let session = |runtime: &str| {
        let (home, runtime) = (place("home"), place(runtime));
        let dirs = dirs(&[("HOME", &home), ("XDG_RUNTIME_DIR", &runtime)]);
        dirs.workspace(&workspace()).found()
    };
    let first = session("desktop");
    first.make().expect("the folders");
    assert_eq!(session("network"), first);
    fs::remove_dir_all(place("desktop")).expect("the session has ended");
    let second = session("network");
    assert_ne!(second.runtime, first.runtime);
    second.make().expect("the folders");
    assert_eq!(session("desktop"), second);
}

#[test]
fn only_this_user_can_enter_a_private_folder() {
    let base = tempfile::tempdir().expect("a folder");
    let path = base.path().join("a/b");
    private_dir(&path).expect("it is made");
    private_dir(&path).expect("it is there already");
    for made in [&path, &base.path().join("a")] {
        assert_eq!(fs::metadata(made).expect("made").permissions().mode() & 0o777, 0o700);
    }
}

#[test]
fn a_folder_that_another_user_could_change_is_refused() {
    let base = tempfile::tempdir().expect("a folder");
    let reason = |path: &Path| {
        let error = private_dir(path).expect_err("it is not private");
        assert!(error.to_string().contains(path.to_str().expect("plain")), "{error}");
        error.source.to_string()
    };
    let open = base.path().join("open");
    fs::create_dir(&open).expect("a folder");
    fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).expect("it is ours");
    assert_eq!(reason(&open), "other users can enter it (mode 755); run: chmod 700");
    let link = base.path().join("link");
    symlink(base.path(), &link).expect("a link");
    assert_eq!(reason(&link), "it is a symbolic link");
    let below = base.path().join("common/below");
    fs::create_dir(base.path().join("common")).expect("a folder");
    fs::set_permissions(base.path().join("common"), fs::Permissions::from_mode(0o777))
        .expect("ours");
    assert!(reason(&below).starts_with("every user can change `"));
    fs::write(base.path().join("file"), "").expect("a file");
    reason(&base.path().join("file"));
}
