//! The codes of the server itself. What the engine refuses has the engine's codes.

sprag_engine::codes! {
    /// The stable names of what the server itself refuses, with the HTTP status each is answered with.
    Code:
    /// The body did not arrive whole.
    BodyIncomplete = "body-incomplete", 400;
    /// The body does not have the fields that the route takes.
    BodyInvalid = "body-invalid", 422;
    /// The body did not arrive in time.
    BodyTimeout = "body-timeout", 408;
    /// Lists and maps of the body are nested too deep.
    BodyTooDeep = "body-too-deep", 400;
    /// The body has more bytes than allowed.
    BodyTooLarge = "body-too-large", 413;
    /// The body is not what its media type says.
    BodyUnreadable = "body-unreadable", 400;
    /// The cursor is not one that this list gave.
    CursorInvalid = "cursor-invalid", 400;
    /// The action is not a dead letter.
    DeadLetterUnknown = "dead-letter-unknown", 404;
    /// No message can be made of the call of a hook.
    HookUnmapped = "hook-unmapped", 422;
    /// The hook checks no signature, and others than this machine can reach it.
    HookUnverified = "hook-unverified", 403;
    /// The server is not addressed by a name of its own.
    HostRefused = "host-refused", 421;
    /// The header `Idempotency-Key` holds no key.
    IdempotencyKeyInvalid = "idempotency-key-invalid", 400;
    /// The server failed: a bug.
    InternalError = "internal-error", 500;
    /// What a reader says it has seen last is not an event of the stream.
    LastEventIdInvalid = "last-event-id-invalid", 400;
    /// The body has a media type that the route does not take.
    MediaTypeUnsupported = "media-type-unsupported", 415;
    /// The route has no such method.
    MethodNotAllowed = "method-not-allowed", 405;
    /// The engine does not take requests.
    NotReady = "not-ready", 503;
    /// What was asked of a worker cannot be done as things are.
    OperationRefused = "operation-refused", 409;
    /// The request comes from a web page of another origin.
    OriginRefused = "origin-refused", 403;
    /// The path cannot be read.
    PathInvalid = "path-invalid", 400;
    /// A query parameter is unknown or cannot be read.
    QueryInvalid = "query-invalid", 400;
    /// There is no such route.
    RouteUnknown = "route-unknown", 404;
    /// The file of services is not valid.
    ServicesInvalid = "services-invalid", 422;
    /// The call of a hook has no signature that is right.
    SignatureInvalid = "signature-invalid", 401;
    /// The server supervises nothing.
    SupervisionOff = "supervision-off", 404;
    /// The supervisor has stopped.
    SupervisorStopped = "supervisor-stopped", 503;
    /// The simulation says more, or takes longer, than it may.
    SimulationTooLarge = "simulation-too-large", 422;
    /// As many live streams are open as may be.
    TooManyStreams = "too-many-streams", 503;
    /// The worker is on its way out.
    WorkerLeaving = "worker-leaving", 409;
    /// There is no such worker.
    WorkerUnknown = "worker-unknown", 404;
}
