//! The codes of the server itself. What the engine refuses has the engine's codes.

sprag_engine::codes! {
    /// The stable names of what the server itself refuses.
    Code:
    /// No further agent can register.
    AgentsFull = "agents-full";
    /// The body did not arrive whole.
    BodyIncomplete = "body-incomplete";
    /// The body does not have the fields that the route takes.
    BodyInvalid = "body-invalid";
    /// The body did not arrive in time.
    BodyTimeout = "body-timeout";
    /// Lists and maps of the body are nested too deep.
    BodyTooDeep = "body-too-deep";
    /// The body has more bytes than allowed.
    BodyTooLarge = "body-too-large";
    /// The body is not what its media type says.
    BodyUnreadable = "body-unreadable";
    /// The cursor is not one that this list gave.
    CursorInvalid = "cursor-invalid";
    /// The action is not a dead letter.
    DeadLetterUnknown = "dead-letter-unknown";
    /// No message can be made of the call of a hook.
    HookUnmapped = "hook-unmapped";
    /// The hook checks no signature, and others than this machine can reach it.
    HookUnverified = "hook-unverified";
    /// The server is not addressed by a name of its own.
    HostRefused = "host-refused";
    /// The header `Idempotency-Key` holds no key.
    IdempotencyKeyInvalid = "idempotency-key-invalid";
    /// The server failed: a bug.
    InternalError = "internal-error";
    /// The OpenID provider cannot be asked for its keys.
    IssuerUnreachable = "issuer-unreachable";
    /// What a reader says it has seen last is not an event of the stream.
    LastEventIdInvalid = "last-event-id-invalid";
    /// The load plan has errors.
    LoadPlanInvalid = "load-plan-invalid";
    /// The body has a media type that the route does not take.
    MediaTypeUnsupported = "media-type-unsupported";
    /// The route has no such method.
    MethodNotAllowed = "method-not-allowed";
    /// The header `Sprag-Reason` holds no reason.
    ReasonInvalid = "reason-invalid";
    /// The engine does not take requests.
    NotReady = "not-ready";
    /// What was asked of a worker cannot be done as things are.
    OperationRefused = "operation-refused";
    /// The request comes from a web page of another origin.
    OriginRefused = "origin-refused";
    /// The path cannot be read.
    PathInvalid = "path-invalid";
    /// A query parameter is unknown or cannot be read.
    QueryInvalid = "query-invalid";
    /// More requests arrive than this token or this address may send.
    RateLimited = "rate-limited";
    /// There is no such route.
    RouteUnknown = "route-unknown";
    /// The file of services is not valid.
    ServicesInvalid = "services-invalid";
    /// The call of a hook has no signature that is right.
    SignatureInvalid = "signature-invalid";
    /// The server supervises nothing.
    SupervisionOff = "supervision-off";
    /// The supervisor has stopped.
    SupervisorStopped = "supervisor-stopped";
    /// The simulation says more, or takes longer, than it may.
    SimulationTooLarge = "simulation-too-large";
    /// The token is not one of this server's, or no longer.
    TokenInvalid = "token-invalid";
    /// The request carries no token.
    TokenMissing = "token-missing";
    /// As many live streams are open as may be.
    TooManyStreams = "too-many-streams";
    /// The worker is on its way out.
    WorkerLeaving = "worker-leaving";
    /// There is no such worker.
    WorkerUnknown = "worker-unknown";
}
