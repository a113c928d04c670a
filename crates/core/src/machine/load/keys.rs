//! Every key of a machine file, with what it holds.

use crate::document::Names::{Descriptor, Event, Free, Identifier};
use crate::document::Shape::{
    Any, Duration, Either, Flag, List, Map, Members, Name, Nothing, Number, Open, Refused, Rule, Text, Whole, Word,
};
use crate::document::{Names, Shape, Table};
use crate::operation::RISKS;
use crate::table;

const U32_MAX: u64 = 0xffff_ffff;

static TEXTS: Shape = Either(&[Text, List(&Text)]);
pub(crate) static TAGS: Shape = Either(&[Name(Free), List(&Name(Free))]);
static VARIABLES: Shape = Members(Identifier, &Any);
static TRANSITIONS: Shape = Either(&[Text, Map(&TRANSITION), List(&Either(&[Text, Map(&TRANSITION)]))]);
static OPERATIONS: Shape = Either(&[Text, Map(&OPERATION), List(&Either(&[Text, Map(&OPERATION)]))]);
static STATES: Shape = Members(Names::State, &Either(&[Map(&STATE), Nothing]));
static ON: Shape = Members(Descriptor, &TRANSITIONS);
static AFTER: Shape = Members(Names::Duration, &TRANSITIONS);

/// The machine itself: a state, and more.
pub(in crate::machine) static MACHINE: Table = table! {
    "machine" called "a machine";
    required "id": Name(Names::Machine) => "The machine's name.";
    optional "description": Text => "A description for people.";
    optional "version": Any => "Ignored: the server counts versions.";
    optional "$schema": Text => "Ignored: for editors.";
    optional "variables" or "context": VARIABLES => "Default variables. The start of an execution overrides them.";
    optional "input": Open => "A JSON Schema for the variables of a start.";
    optional "type": Word(&["compound", "parallel"]) => "`parallel`: all states right below are active at once.";
    optional "initial": TEXTS => "The state to enter first.";
    optional "states": STATES => "The states.";
    optional "on": ON => "Transitions by event, in every state.";
    optional "always": TRANSITIONS => "Transitions without an event.";
    optional "after": AFTER => "Transitions by the time since the start.";
    optional "entry": OPERATIONS => "Operations at the start.";
    optional "exit": OPERATIONS => "Operations at the end.";
    optional "output": Any => "The output of a completed execution.";
    optional "tags": TAGS => "For people and filters.";
    optional "meta": Any => "For tools.";
    optional "actions": List(&Map(&ACTION)) => "What the machine does to the world.";
    optional "hooks": Members(Free, &Map(&HOOK)) => "Inbound webhooks that become messages.";
    optional "templates": Members(Free, &Map(&MAIL)) => "Mail templates by name.";
    optional "onDone": Refused("give a final state below the root an `output`, or use its `entry`");
    optional "invoke": INVOKE;
};

static INVOKE: Shape =
    Refused("define an action with `triggerState`, and handle `done.<actionId>` and `failed.<actionId>`");

/// A state.
pub(in crate::machine) static STATE: Table = table! {
    "state" called "a state";
    optional "id": Name(Free) => "A name for `#id` targets and `done.state.<id>`.";
    optional "type": Word(&["atomic", "compound", "parallel", "final", "history"])
        => "The kind of the state, if its keys do not determine it.";
    optional "initial": TEXTS => "The child state to enter first; a list enters parallel regions.";
    optional "states": STATES => "The states inside.";
    optional "on": ON => "Transitions by event.";
    optional "always": TRANSITIONS => "Transitions without an event.";
    optional "after": AFTER => "Transitions by the time since entry.";
    optional "entry": OPERATIONS => "Operations on entry.";
    optional "exit": OPERATIONS => "What happens on exit.";
    optional "onDone": TRANSITIONS => "Transitions for when the child states finish.";
    optional "history": Either(&[Word(&["shallow", "deep"]), Flag])
        => "`shallow` or `deep`: what a history state restores.";
    optional "target": TEXTS => "The state to enter if there is no history yet.";
    optional "output": Any => "The output of a final state.";
    optional "description": Text => "What the state means.";
    optional "tags": TAGS => "For people and filters.";
    optional "meta": Any => "For tools.";
    optional "invoke": INVOKE;
};

/// A transition.
pub(in crate::machine) static TRANSITION: Table = table! {
    "transition" called "a transition";
    optional "target": TEXTS => "The target state; a list enters parallel regions.";
    optional "guard": Rule => "A JSONLogic rule that must be true.";
    optional "assign": VARIABLES => "Variables to set, before `actions`.";
    optional "actions": OPERATIONS => "Operations of the transition.";
    optional "reenter": Flag => "Leave and re-enter the state, even if the target is inside it.";
    optional "description": Text => "A description for people.";
    optional "meta": Any => "Ignored: for tools.";
};

/// An inline operation: exactly one of these keys.
pub(in crate::machine) static OPERATION: Table = table! {
    "operation" called "an operation";
    optional "assign": VARIABLES => "Sets variables. All expressions use the values from before the operation.";
    optional "raise": Either(&[Name(Event), Map(&RAISE)]) => "Raises an event inside the machine.";
    optional "log": Any => "Writes a line to the log.";
    optional "run": Text => "Triggers the action of this actionId.";
    optional "cancel": Text => "Cancels the open actions of this actionId.";
    optional "type": Text => "The same as `run`.";
};

/// An event to raise.
pub(in crate::machine) static RAISE: Table = table! {
    "raise" called "an event to raise";
    required "type": Name(Event) => "The event's type.";
    optional "payload": Any => "What it carries.";
};

/// An action definition.
pub(in crate::machine) static ACTION: Table = table! {
    "action" called "an action";
    required "actionId": Name(Identifier) => "The name in the machine.";
    required "type": Name(Free) => "The action type.";
    optional "triggerState": Text => "Entering this state triggers the action.";
    optional "config": Open => "The input of the action type.";
    optional "retryPolicy": Map(&RETRY) => "When and how often Sprag retries.";
    optional "timeout": Duration { least: 1 } => "How long an attempt may take.";
    optional "deadline": Duration { least: 1 } => "The time limit of all attempts together, from the trigger, without the time in which it waits for approval.";
    optional "enabled": Flag => "With `false`, Sprag records every occurrence as skipped.";
    optional "delay": Duration { least: 0 } => "The wait between the trigger and the first attempt.";
    optional "schedule": Either(&[Text, Map(&SCHEDULE)]) => "Runs the action on a schedule while the state is active.";
    optional "condition": Either(&[Rule, Text])
        => "A JSONLogic rule. If it is false at the trigger, the action is skipped.";
    optional "priority": Whole { least: 0, most: 100 } => "Higher first.";
    optional "runner": Name(Free) => "A named external runner.";
    optional "onUnknown": Word(&["retry", "review"]) => "What follows an unknown outcome.";
    optional "limits": List(&Map(&LIMIT)) => "How many at once and how often.";
    optional "keepOnExit": Flag => "Leaving the state cancels nothing.";
    optional "cancelOnExit": Flag => "Leaving the state also cancels an action that is due or running.";
    optional "requiresApproval": Flag => "Each occurrence waits until a principal approves it.";
    optional "riskLevel": Word(&RISKS)
        => "How much can go wrong. The policy of approvals decides whether it needs approval.";
    optional "description": Text => "What it does.";
    optional "tags": TAGS => "For filters.";
    optional "createdAt": Any => "Ignored.";
    optional "updatedAt": Any => "Ignored.";
    optional "compensate": Name(Identifier) => "The actionId of the action that takes its effect back.";
};

/// When and how often to try again.
pub(crate) static RETRY: Table = table! {
    "retryPolicy" called "a retry policy";
    optional "maxAttempts": Whole { least: 1, most: U32_MAX } => "The total number of attempts; 1 means no retry.";
    optional "backoffStrategy": Word(&["fixed", "linear", "exponential", "custom"]) => "How delays grow.";
    optional "baseDelay" or "backoffDelay": Duration { least: 0 } => "The first delay.";
    optional "multiplier": Number { least: 1 } => "For exponential growth.";
    optional "maxDelay": Duration { least: 0 } => "No delay is longer.";
    optional "delays": List(&Duration { least: 0 }) => "For `custom`; the last delay repeats.";
    optional "jitter": Flag => "Multiplies each delay by 0.5 to 1.0.";
    optional "retryableErrors": List(&Text) => "Sprag retries only these error types.";
    optional "nonRetryableErrors": List(&Text) => "Sprag never retries these error types.";
};

/// Occurrences by the clock.
pub(in crate::machine) static SCHEDULE: Table = table! {
    "schedule" called "a schedule";
    required "cron": Text => "When.";
    optional "timezone": Text => "An IANA time zone. Default: UTC.";
    optional "overlap": Word(&["skip", "queue", "allow"])
        => "If the previous occurrence is still open: skip, queue or allow.";
    optional "catchUp": Word(&["skip", "one", "all"]) => "For missed occurrences: skip all, run one, or run all.";
};

/// How many at once and how often, under a key.
pub(crate) static LIMIT: Table = table! {
    "limit" called "a limit";
    optional "key": Text => "All actions with the same rendered key share the limit. Default: machine and actionId.";
    optional "concurrency": Whole { least: 1, most: U32_MAX } => "Attempts at once.";
    optional "rate": Map(&RATE) => "Attempts per time.";
};

/// So many in so much time.
pub(in crate::machine) static RATE: Table = table! {
    "rate" called "a rate";
    required "count": Whole { least: 1, most: U32_MAX } => "How many attempts.";
    required "per": Duration { least: 1 } => "In how much time.";
};

/// An inbound webhook.
pub(in crate::machine) static HOOK: Table = table! {
    "hook" called "a hook";
    required "verify": Word(&["standard-webhooks", "docusign-hmac", "none"]) => "How Sprag verifies the sender.";
    optional "secret": TEXTS => "The signing secret; a list during a rotation.";
    required "key": Text => "The key of the receiving execution.";
    required "type": Text => "The message's type.";
    optional "payload": Any => "The payload of the message. Default: the body of the call.";
};

/// A mail template.
pub(in crate::machine) static MAIL: Table = table! {
    "template" called "a mail template";
    optional "subject": Text => "The subject; one line.";
    optional "text": Text => "The plain text.";
    optional "html": Text => "The HTML; values are escaped.";
};
