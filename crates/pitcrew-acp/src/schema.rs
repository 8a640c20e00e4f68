//! The only module that uses the protocol library, whose major versions change often.
//!
//! Only its types are used: the library's own connection could not be rebuilt from a spool.

pub(crate) use agent_client_protocol::{
    schema::ProtocolVersion,
    v1::schema::{
        CancelNotification, ClientCapabilities, CloseSessionRequest, ContentBlock, EnvVariable,
        FileSystemCapabilities, HttpHeader, Implementation, InitializeRequest, InitializeResponse,
        McpServer, McpServerHttp, McpServerStdio, NewSessionRequest, NewSessionResponse,
        PermissionOption, PermissionOptionKind, PromptRequest, RequestPermissionOutcome,
        RequestPermissionResponse, SelectedPermissionOutcome, SessionId, SessionUpdate,
        SetSessionConfigOptionRequest, SetSessionModeRequest, ToolCall, ToolCallContent,
        ToolCallStatus, ToolCallUpdate, ToolKind, UsageUpdate,
    },
};
