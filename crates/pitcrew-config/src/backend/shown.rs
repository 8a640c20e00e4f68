//! A backend as shown to people. The values of variables are hidden because they may be keys.

use super::{
    BackendSettings, ErrorRule,
    keys::{COSTS, FILES, KINDS, LOGINS, RESUMES, SERVERS, USAGES},
};
use std::collections::BTreeMap;

impl BackendSettings {
    /// Key and value of everything that is set, in the order of the reference.
    pub fn shown(&self) -> Vec<(&'static str, String)> {
        let text = |it: &Option<String>| it.as_ref().map(|it| format!("{it:?}"));
        let list = |it: &Vec<String>| (!it.is_empty()).then(|| format!("{it:?}"));
        let rows = [
            ("title", (!self.title.is_empty()).then(|| format!("{:?}", self.title))),
            ("command", list(&self.command)),
            ("env", hidden(&self.env)),
            ("root_env", hidden(&self.root_env)),
            ("pass_env", list(&self.pass_env)),
            ("install", text(&self.install)),
            ("login", text(&self.login)),
            ("vendor_program", text(&self.vendor_program)),
            ("version_args", self.version_args.as_ref().map(|it| format!("{it:?}"))),
            ("login_env", list(&self.login_env)),
            ("login_files", list(&self.login_files)),
            ("login_expires", list(&self.login_expires)),
            ("login_account", list(&self.login_account)),
            ("login_first", word(LOGINS, self.login_first)),
            ("state_env", paths(&self.state_env)),
            ("state_files", list(&self.state_files)),
            ("state_first", paths(&self.state_first)),
            ("config_files", list(&self.config_files)),
            ("inner_env", text(&self.inner_env)),
            ("inner_programs", list(&self.inner_programs)),
            ("inner_answers", paths(&self.inner_answers)),
            ("unpack_to", text(&self.unpack_to)),
            ("unpack_env", paths(&self.unpack_env)),
            ("egress_hosts", list(&self.egress_hosts)),
            ("proxy_env", list(&self.proxy_env)),
            ("own_sandbox", text(&self.own_sandbox)),
            ("mode", text(&self.mode)),
            ("model", text(&self.model)),
            ("model_option", text(&self.model_option)),
            ("resume", word(RESUMES, self.resume)),
            ("mcp", word(SERVERS, self.mcp)),
            ("files", word(FILES, self.files)),
            ("usage", word(USAGES, self.usage)),
            ("usage_method", text(&self.usage_method)),
            ("cost", word(COSTS, self.cost)),
            ("errors", rules(&self.errors)),
            ("log_errors", rules(&self.log_errors)),
            ("log_turn", text(&self.log_turn)),
            ("quirks", list(&self.quirks)),
        ];
        rows.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }
}

fn rules(rules: &[ErrorRule]) -> Option<String> {
    let shown =
        |it: &ErrorRule| format!("{} = {}", it.says, word(KINDS, it.kind).unwrap_or_default());
    let rules: Vec<String> = rules.iter().map(shown).collect();
    (!rules.is_empty()).then(|| rules.join(", "))
}

fn hidden(variables: &BTreeMap<String, String>) -> Option<String> {
    let names: Vec<&str> = variables.keys().map(String::as_str).collect();
    (!names.is_empty()).then(|| format!("{} (values hidden)", names.join(", ")))
}

fn paths(variables: &BTreeMap<String, String>) -> Option<String> {
    let shown: Vec<String> =
        variables.iter().map(|(name, it)| format!("{name} = {it:?}")).collect();
    (!shown.is_empty()).then(|| format!("{{ {} }}", shown.join(", ")))
}

fn word<T: Copy + PartialEq>(words: &[(&str, T)], value: T) -> Option<String> {
    words.iter().find(|(_, it)| *it == value).map(|(word, _)| format!("{word:?}"))
}
