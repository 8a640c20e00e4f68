//! What one file sets for a backend. An absent value means that the file does not set it.

use super::{
    BACKEND_KEYS, BackendSettings,
    checks::{
        anything, below_home, call, host, in_packages, in_repository, moved, variable,
        variable_name,
    },
    keys::{BACKEND_ALIASES, COSTS, FILES, LOGINS, RESUMES, SERVERS, USAGES},
    read::{Keys, Place},
    value::{CostReporting, ErrorRule, FileAccess, LoginFirst, McpServers, Resume, UsageScope},
};
use crate::{
    diagnostic::Problems,
    document::Section,
    settings::{Found, Origin},
};
use std::collections::BTreeMap;

type Variables = BTreeMap<String, String>;
type Notes = Vec<(&'static str, Origin)>;

#[derive(Debug, Default)]
pub(crate) struct BackendDraft {
    title: Option<Found<String>>,
    command: Option<Found<Vec<String>>>,
    env: Option<Found<Variables>>,
    root_env: Option<Found<Variables>>,
    pass_env: Option<Found<Vec<String>>>,
    install: Option<Found<String>>,
    login: Option<Found<String>>,
    vendor_program: Option<Found<String>>,
    version_args: Option<Found<Vec<String>>>,
    login_env: Option<Found<Vec<String>>>,
    login_files: Option<Found<Vec<String>>>,
    login_expires: Option<Found<Vec<String>>>,
    login_account: Option<Found<Vec<String>>>,
    login_first: Option<Found<LoginFirst>>,
    state_env: Option<Found<Variables>>,
    state_files: Option<Found<Vec<String>>>,
    state_first: Option<Found<Variables>>,
    config_files: Option<Found<Vec<String>>>,
    inner_env: Option<Found<String>>,
    inner_programs: Option<Found<Vec<String>>>,
    inner_answers: Option<Found<Variables>>,
    unpack_to: Option<Found<String>>,
    unpack_env: Option<Found<Variables>>,
    egress_hosts: Option<Found<Vec<String>>>,
    proxy_env: Option<Found<Vec<String>>>,
    own_sandbox: Option<Found<String>>,
    mode: Option<Found<String>>,
    model: Option<Found<String>>,
    model_option: Option<Found<String>>,
    resume: Option<Found<Resume>>,
    mcp: Option<Found<McpServers>>,
    files: Option<Found<FileAccess>>,
    usage: Option<Found<UsageScope>>,
    usage_method: Option<Found<String>>,
    cost: Option<Found<CostReporting>>,
    errors: Option<Found<Vec<ErrorRule>>>,
    log_errors: Option<Found<Vec<ErrorRule>>>,
    log_turn: Option<Found<String>>,
    quirks: Option<Found<Vec<String>>>,
}

impl BackendDraft {
    pub fn read(name: &str, section: &mut Section, place: Place, problems: &mut Problems) -> Self {
        section.check_keys(&format!("backend `{name}`"), BACKEND_KEYS, BACKEND_ALIASES, problems);
        let mut keys = Keys::new(section, place, problems);
        Self {
            title: keys.string("title"),
            command: keys.command(),
            env: keys.variables("env", variable),
            root_env: keys.variables("root_env", variable),
            pass_env: keys.strings("pass_env", variable_name),
            install: keys.string("install"),
            login: keys.string("login"),
            vendor_program: keys.string("vendor_program"),
            version_args: keys.strings("version_args", anything),
            login_env: keys.strings("login_env", variable_name),
            login_files: keys.strings("login_files", below_home),
            login_expires: keys.strings("login_expires", anything),
            login_account: keys.strings("login_account", anything),
            login_first: keys.choice("login_first", LOGINS),
            state_env: keys.variables("state_env", moved),
            state_files: keys.strings("state_files", below_home),
            state_first: keys.variables("state_first", |path, _| below_home(path)),
            config_files: keys.strings("config_files", in_repository),
            inner_env: keys.variable_name("inner_env"),
            inner_programs: keys.strings("inner_programs", in_packages),
            inner_answers: keys.variables("inner_answers", call),
            unpack_to: keys.variable_name("unpack_to"),
            unpack_env: keys.variables("unpack_env", variable),
            egress_hosts: keys.strings("egress_hosts", host),
            proxy_env: keys.strings("proxy_env", variable_name),
            own_sandbox: keys.string("own_sandbox"),
            mode: keys.string("mode"),
            model: keys.string("model"),
            model_option: keys.string("model_option"),
            resume: keys.choice("resume", RESUMES),
            mcp: keys.choice("mcp", SERVERS),
            files: keys.choice("files", FILES),
            usage: keys.choice("usage", USAGES),
            usage_method: keys.string("usage_method"),
            cost: keys.choice("cost", COSTS),
            errors: keys.errors("errors"),
            log_errors: keys.errors("log_errors"),
            log_turn: keys.string("log_turn"),
            quirks: keys.strings("quirks", anything),
        }
    }

    /// Replaces the values that this draft sets, and returns each key with its origin.
    pub fn apply(self, to: &mut BackendSettings) -> Notes {
        let mut notes = Notes::new();
        put("title", self.title, &mut to.title, &mut notes);
        put("command", self.command, &mut to.command, &mut notes);
        add("env", self.env, &mut to.env, &mut notes);
        add("root_env", self.root_env, &mut to.root_env, &mut notes);
        put("pass_env", self.pass_env, &mut to.pass_env, &mut notes);
        set("install", self.install, &mut to.install, &mut notes);
        set("login", self.login, &mut to.login, &mut notes);
        set("vendor_program", self.vendor_program, &mut to.vendor_program, &mut notes);
        set("version_args", self.version_args, &mut to.version_args, &mut notes);
        put("login_env", self.login_env, &mut to.login_env, &mut notes);
        put("login_files", self.login_files, &mut to.login_files, &mut notes);
        put("login_expires", self.login_expires, &mut to.login_expires, &mut notes);
        put("login_account", self.login_account, &mut to.login_account, &mut notes);
        put("login_first", self.login_first, &mut to.login_first, &mut notes);
        add("state_env", self.state_env, &mut to.state_env, &mut notes);
        put("state_files", self.state_files, &mut to.state_files, &mut notes);
        add("state_first", self.state_first, &mut to.state_first, &mut notes);
        put("config_files", self.config_files, &mut to.config_files, &mut notes);
        set("inner_env", self.inner_env, &mut to.inner_env, &mut notes);
        put("inner_programs", self.inner_programs, &mut to.inner_programs, &mut notes);
        add("inner_answers", self.inner_answers, &mut to.inner_answers, &mut notes);
        set("unpack_to", self.unpack_to, &mut to.unpack_to, &mut notes);
        add("unpack_env", self.unpack_env, &mut to.unpack_env, &mut notes);
        put("egress_hosts", self.egress_hosts, &mut to.egress_hosts, &mut notes);
        put("proxy_env", self.proxy_env, &mut to.proxy_env, &mut notes);
        set("own_sandbox", self.own_sandbox, &mut to.own_sandbox, &mut notes);
        set("mode", self.mode, &mut to.mode, &mut notes);
        set("model", self.model, &mut to.model, &mut notes);
        set("model_option", self.model_option, &mut to.model_option, &mut notes);
        put("resume", self.resume, &mut to.resume, &mut notes);
        put("mcp", self.mcp, &mut to.mcp, &mut notes);
        put("files", self.files, &mut to.files, &mut notes);
        put("usage", self.usage, &mut to.usage, &mut notes);
        set("usage_method", self.usage_method, &mut to.usage_method, &mut notes);
        put("cost", self.cost, &mut to.cost, &mut notes);
        put("errors", self.errors, &mut to.errors, &mut notes);
        put("log_errors", self.log_errors, &mut to.log_errors, &mut notes);
        set("log_turn", self.log_turn, &mut to.log_turn, &mut notes);
        put("quirks", self.quirks, &mut to.quirks, &mut notes);
        notes
    }
}

fn put<T>(key: &'static str, found: Option<Found<T>>, to: &mut T, notes: &mut Notes) {
    let Some(found) = found else { return };
    *to = found.value;
    notes.push((key, found.origin));
}

/// An empty string removes the value.
fn set<T: Empty>(
    key: &'static str,
    found: Option<Found<T>>,
    to: &mut Option<T>,
    notes: &mut Notes,
) {
    let Some(found) = found else { return };
    *to = Some(found.value).filter(|it| !it.is_nothing());
    notes.push((key, found.origin));
}

/// Variables are replaced one by one, so that adding one keeps the others.
fn add(key: &'static str, found: Option<Found<Variables>>, to: &mut Variables, notes: &mut Notes) {
    let Some(found) = found else { return };
    to.extend(found.value);
    notes.push((key, found.origin));
}

trait Empty {
    fn is_nothing(&self) -> bool;
}

impl Empty for String {
    fn is_nothing(&self) -> bool {
        self.is_empty()
    }
}

impl Empty for Vec<String> {
    fn is_nothing(&self) -> bool {
        self.is_empty()
    }
}
