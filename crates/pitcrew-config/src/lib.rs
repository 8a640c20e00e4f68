//! Reads what people write: plan files, requests, settings; and finds the folders.
//!
//! Everything is parsed and checked here, with errors that name the line, the reason and the fix,
//! before the kernel sees it. Nothing here runs a program, calls git or decides what happens next.

mod diagnostic;
mod suggest;
mod duration;
mod money;
mod document;
mod plan;
mod backend;
mod permissions;
mod trust;
mod definition;
mod settings;
mod dirs;
mod credential;
mod replace;

pub use backend::{
    BACKEND_KEYS, BackendSettings, CostReporting, ErrorKind, ErrorPattern, ErrorRule, FileAccess,
    LoginEvidence, LoginFile, LoginFirst, McpServers, Resume, UsageScope, user_environment,
};
pub use credential::{Credential, LoginFormat, for_agent};
pub use definition::{
    Authorship, Definitions, UntrustedDefinition, parse_definition, read_definitions,
};
pub use diagnostic::{Diagnostic, Severity, printable};
pub use dirs::{Dirs, DirsError, PrivateDirError, WorkspaceDirs, WorkspaceId, private_dir};
pub use duration::{DurationError, format_duration, parse_duration};
pub use money::{DollarsError, parse_dollars};
pub use permissions::{
    IgnoredPermission, LIMIT_KEYS, LimitRow, PermissionEntries, PermissionPaths, PermissionSources,
    PermissionText, Permissions, RuleRow, read_permissions,
};
pub use plan::{
    BACKEND_BUILTIN, BACKEND_COMMAND, CycleError, Executed, IntentRequest, PLAN_KEYS, ParsedPlan,
    PictureTask, PlanDefaults, PlanErrors, PlanPicture, SHARED_DEFAULT, TASK_KEYS, describe,
    example_plan, intent_plan, parse_plan, parse_plan_bytes,
};
pub use replace::{replace_file, replace_private_file};
pub use settings::{
    BackendText, ConfigErrors, Ignored, Layer, LayerPaths, LayerText, MODEL_KEYS, ModelPrices,
    ModelSettings, NOTIFY_KEYS, NotifyChannel, NotifyKind, NotifySettings, Origin, Origins,
    PRICE_KEYS, ReadLayerError, SANDBOX_KEYS, SETTING_KEYS, SandboxSettings, Settings, Sources,
    Trust, orchestrator_variables, read_layers, read_user_layer,
};
pub use suggest::help as suggestion;
pub use trust::{TrustError, TrustStore};
