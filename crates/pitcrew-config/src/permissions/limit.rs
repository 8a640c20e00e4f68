//! The limits beside the matrix: how to write each one, and which of two values is tighter.

use crate::{
    document::check_duration,
    duration::{DURATION_HELP, format_duration},
};
use pitcrew_model::{MatrixLimits, Verdict, limits};
use std::ops::RangeInclusive;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LimitKey {
    SubtaskDepth,
    SubtaskDepthStandalone,
    SubtasksTotal,
    SubtasksParallel,
    SubtasksPerMinute,
    PermissionTimeout,
    PermissionDefault,
    AutoApproveForSubtasks,
}

/// The keys of the limits, in the order of the reference.
pub const LIMIT_KEYS: &[&str] = &[
    "subtask_depth",
    "subtask_depth_standalone",
    "subtasks_total",
    "subtasks_parallel",
    "subtasks_per_minute",
    "permission_timeout",
    "permission_default",
    "auto_approve_for_subtasks",
];

const ALIASES: &[(&str, LimitKey)] = &[
    ("max_depth", LimitKey::SubtaskDepth),
    ("max_subtask_depth", LimitKey::SubtaskDepth),
    ("max_subtasks_per_worker", LimitKey::SubtasksTotal),
    ("max_parallel_subtasks", LimitKey::SubtasksParallel),
    ("max_subtasks_per_minute", LimitKey::SubtasksPerMinute),
];

/// Deeper delegation would be hard to follow.
const DEPTH_RANGE: RangeInclusive<u32> = 0..=5;
const COUNT_RANGE: RangeInclusive<u32> = 0..=1_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LimitValue {
    Count(u32),
    Timeout(Option<u64>),
    Default(Verdict),
    Flag(bool),
}

impl LimitKey {
    pub const ALL: &[Self] = &[
        Self::SubtaskDepth,
        Self::SubtaskDepthStandalone,
        Self::SubtasksTotal,
        Self::SubtasksParallel,
        Self::SubtasksPerMinute,
        Self::PermissionTimeout,
        Self::PermissionDefault,
        Self::AutoApproveForSubtasks,
    ];

    pub fn named(name: &str) -> Option<Self> {
        let known = Self::ALL.iter().find(|it| it.name() == name);
        let alias = || ALIASES.iter().find(|it| it.0 == name).map(|it| &it.1);
        known.or_else(alias).copied()
    }

    pub fn name(self) -> &'static str {
        LIMIT_KEYS[self as usize]
    }

    /// Parses the value of the key, or returns the problem and the help.
    pub fn read(self, text: &str) -> Result<LimitValue, (String, String)> {
        let name = self.name();
        let invalid = |help: &str| Err((format!("`{name}` cannot be `{text}`"), help.to_owned()));
        match self {
            Self::SubtaskDepth | Self::SubtaskDepthStandalone => count(text, &DEPTH_RANGE)
                .map_or_else(|| invalid("write a whole number from 0 to 5"), Ok),
            Self::SubtasksTotal | Self::SubtasksParallel | Self::SubtasksPerMinute => {
                count(text, &COUNT_RANGE)
                    .map_or_else(|| invalid("write a whole number from 0 to 1000"), Ok)
            }
            Self::PermissionTimeout if text == "never" => Ok(LimitValue::Timeout(None)),
            Self::PermissionTimeout => check_duration(text, limits::PERMISSION_TIMEOUT_MS_MAX)
                .map(|it| LimitValue::Timeout(Some(it)))
                .map_err(|reason| {
                    (
                        format!("`{name}` is invalid: {reason}"),
                        format!("{DURATION_HELP}, or `never`"),
                    )
                }),
            Self::PermissionDefault => match text {
                "deny" => Ok(LimitValue::Default(Verdict::Deny)),
                "approve" => Ok(LimitValue::Default(Verdict::Approve)),
                _ => invalid("write `deny` or `approve`"),
            },
            Self::AutoApproveForSubtasks => match text {
                "true" => Ok(LimitValue::Flag(true)),
                "false" => Ok(LimitValue::Flag(false)),
                _ => invalid("write `true` or `false`"),
            },
        }
    }

    pub fn get(self, limits: &MatrixLimits) -> LimitValue {
        match self {
            Self::SubtaskDepth => LimitValue::Count(limits.subtask_depth),
            Self::SubtaskDepthStandalone => LimitValue::Count(limits.subtask_depth_standalone),
            Self::SubtasksTotal => LimitValue::Count(limits.subtasks_total),
            Self::SubtasksParallel => LimitValue::Count(limits.subtasks_parallel),
            Self::SubtasksPerMinute => LimitValue::Count(limits.subtasks_per_minute),
            Self::PermissionTimeout => LimitValue::Timeout(limits.permission_timeout_ms),
            Self::PermissionDefault => LimitValue::Default(limits.permission_default),
            Self::AutoApproveForSubtasks => LimitValue::Flag(limits.auto_approve_for_subtasks),
        }
    }

    pub fn set(self, limits: &mut MatrixLimits, value: LimitValue) {
        match value {
            LimitValue::Count(count) => match self {
                Self::SubtaskDepth => limits.subtask_depth = count,
                Self::SubtaskDepthStandalone => limits.subtask_depth_standalone = count,
                Self::SubtasksTotal => limits.subtasks_total = count,
                Self::SubtasksParallel => limits.subtasks_parallel = count,
                Self::SubtasksPerMinute => limits.subtasks_per_minute = count,
                Self::PermissionTimeout
                | Self::PermissionDefault
                | Self::AutoApproveForSubtasks => {}
            },
            LimitValue::Timeout(after) => limits.permission_timeout_ms = after,
            LimitValue::Default(verdict) => limits.permission_default = verdict,
            LimitValue::Flag(flag) => limits.auto_approve_for_subtasks = flag,
        }
    }
}

fn count(text: &str, range: &RangeInclusive<u32>) -> Option<LimitValue> {
    let number = text.parse().ok().filter(|it| range.contains(it));
    number.map(LimitValue::Count)
}

impl LimitValue {
    /// Whether it allows no more than `other`.
    pub fn is_as_tight_as(self, other: Self) -> bool {
        match (self, other) {
            (Self::Count(a), Self::Count(b)) => a <= b,
            (Self::Timeout(a), Self::Timeout(b)) => a.unwrap_or(u64::MAX) <= b.unwrap_or(u64::MAX),
            (Self::Default(a), Self::Default(b)) => a == Verdict::Deny || b == Verdict::Approve,
            (Self::Flag(a), Self::Flag(b)) => !a || b,
            (Self::Count(_) | Self::Timeout(_) | Self::Default(_) | Self::Flag(_), _) => false,
        }
    }

    pub fn shown(self) -> String {
        match self {
            Self::Count(count) => count.to_string(),
            Self::Timeout(None) => "never".into(),
            Self::Timeout(Some(after)) => format_duration(after),
            Self::Default(Verdict::Deny) => "deny".into(),
            Self::Default(Verdict::Approve) => "approve".into(),
            Self::Flag(flag) => flag.to_string(),
        }
    }
}
