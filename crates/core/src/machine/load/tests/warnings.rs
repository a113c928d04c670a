//! Every warning, with its exact place; and what must not be warned of.

use super::{check, load};
use crate::document::Severity::Warning;

#[test]
fn states_are_entered_and_left() {
    let cases = r"
unreachable /states/b | no transition leads to `b` | add a transition
initial: a
states:
  a: {on: {X: c}}
  «b: {initial: d, states: {d: {on: {Y: c}}}}
  c: {type: final}
---
unreachable /states/b | no transition leads to `b`
initial: a
states: {a: {on: {X: a2}}, a2: {on: {X: a}}, «b: {on: {X: a}}}
---
unreachable /states/p/states/h | no transition leads to `p.h`
initial: p
states: {p: {initial: a, on: {X: z}, states: {a: {}, «h: {type: history}}}, z: {type: final}}
---
no-way-out /states/b | nothing leads out of `b` | `type: final`
initial: a
states: {a: {on: {X: b}}, «b: {}}
---
no-way-out /states/b | nothing leads out of `b` | `type: final`
initial: a
states: {a: {on: {X: b}}, «b: {on: {Y: {target: b, reenter: true}, Z: {actions: {log: z}}}}}
---
initial-ignored /states/p/initial | `p` is parallel | remove
initial: p
states: {p: {type: parallel, «initial: r, on: {X: z}, states: {r: {}, s: {}}}, z: {type: final}}
---
self-target /states/a/on/X | from `a` to itself | `reenter: true`
initial: a
states: {a: {on: {X: «a, Y: b}}, b: {type: final}}
";
    check("id: m\n", cases, Warning);
}

#[test]
fn ends_and_values_come_from_somewhere() {
    let start = "id: m\ninitial: a\nstates:\n  a: {on: {X: b, done.send: c, failed.*: c}}\n  c: {type: final}\n";
    let cases = r#"
unknown-variable /actions/0/config/to | variable `mial` | did you mean `mail`?
  b: {on: {Y: c}}
variables: {mail: x}
actions: [{actionId: send, type: email, triggerState: b, config: {to: «"{{variables.mial}}"}}]
---
unknown-variable /states/b/on/Y/guard/>/0/var | variable `count` | `input`, `variables` or an `assign`
  b: {on: {Y: {target: c, guard: {">": [{var: «execution.variables.count}, 3]}}}}
actions: [{actionId: send, type: email, triggerState: b, config: {to: x}}]
---
message-not-cause /actions/0/config/to | `a` can be entered without a message | `event`
  b: {on: {Y: c}}
actions: [{actionId: send, type: email, triggerState: a, config: {to: «"{{message.payload.to}}"}}]
---
message-not-cause /states/d/entry/assign/who | `d` can be entered | a variable
  b: {on: {done.send: d}}
  d: {entry: {assign: {who: «"{{message.payload.who}}"}}, on: {Z: c}}
actions: [{actionId: send, type: email, triggerState: b, config: {to: x}}]
---
message-not-cause /states/d/entry/assign/who | `d` can be entered
  b: {after: {5m: d}}
  d: {entry: {assign: {who: «"{{message.payload.who}}"}}, on: {Z: c}}
actions: [{actionId: send, type: email, triggerState: b, config: {to: x}}]
---
unknown-end /states/b/on/failed.sned | `failed.sned` never happens | did you mean `failed.send`?
  b: {on: {failed.sned: «c}}
actions: [{actionId: send, type: email, triggerState: b, config: {to: x}}]
---
unknown-end /states/b/entry/log | `results.sned.result` never has a value | `results.send`?
  b: {on: {Y: c}, entry: {log: «"{{results.sned.result}}"}}
actions: [{actionId: send, type: email, triggerState: b, config: {to: x}}]
---
secret-in-clear /actions/0/config/headers/X-Api-Key | `X-Api-Key` is in clear text | `{{secrets.<name>}}`
  b: {on: {Y: c}}
actions: [{actionId: send, type: email, triggerState: b, config: {to: x, headers: {X-Api-Key: «abcdef}}}]
---
secret-in-clear /actions/0/config/auth/0/clientSecret | `clientSecret` is in clear text
  b: {on: {Y: c}}
actions: [{actionId: send, type: email, triggerState: b, config: {to: x, auth: [{clientSecret: «abcdef}]}}]
"#;
    check(start, cases, Warning);
}

#[test]
fn somebody_hears_of_a_failure() {
    let cases = r"
unhandled-failure /actions/1/actionId | the failure of action `other` | `failed.other`
actions:
  - {actionId: send, type: email, triggerState: a, config: {to: x}}
  - {actionId: «other, type: email, triggerState: a, config: {to: x}}
";
    check(
        "id: m\ninitial: a\nstates: {a: {on: {failed.send: z, '*': z}}, z: {type: final}}\n",
        cases,
        Warning,
    );
}

#[test]
fn nothing_is_said_of_what_may_well_be_meant() {
    let files = [
        // Another region ends the parallel state.
        "id: m\ninitial: p\nstates: {p: {type: parallel, states: {r: {}, s: {on: {X: z}}}}, z: {type: final}}\n",
        // The state around it leads on.
        "id: m\ninitial: p\nstates: {p: {initial: a, on: {X: z}, states: {a: {}}}, z: {type: final}}\n",
        // Entered through history only, by way of its default.
        "id: m\ninitial: a\nstates: {a: {on: {X: p.h}}, p: {initial: b, on: {Y: z}, states: {b: {}, h: {type: history}}}, z: {type: final}}\n",
        // A failure in the end state of the machine can be handled by nobody.
        "id: m\ninitial: a\nstates: {a: {on: {X: z}}, z: {type: final}}\nactions: [{actionId: x, type: email, triggerState: z, config: {to: x}}]\n",
        // So can that of an action that never runs.
        "id: m\ninitial: a\nstates: {a: {on: {X: z}}, z: {type: final}}\nactions: [{actionId: x, type: email, triggerState: a, enabled: false, config: {to: x}}]\n",
        // Raised here, so it happens.
        "id: m\ninitial: a\nstates: {a: {entry: {raise: done.early}, on: {done.early: z}}, z: {type: final}}\n",
        // The message is the cause of every entry.
        "id: m\ninitial: a\nstates: {a: {on: {X: b}}, b: {entry: {assign: {x: \"{{message.payload}}\"}}, always: z}, z: {type: final}}\n",
        // Addresses and names of secrets are no secrets, and bound ones are not in clear.
        "id: m\ninitial: a\nstates: {a: {on: {X: z, failed.x: z}}, z: {type: final}}\nactions: [{actionId: x, type: email, triggerState: a, config: {to: x, tokenEndpoint: 'https://x', Authorization: 'Bearer {{secrets.x}}', password: ''}}]\n",
        // Given by the start, the defaults, an assignment.
        "id: m\nvariables: {a: 1}\ninput: {required: [b], properties: {c: {}}}\ninitial: s\nstates: {s: {on: {X: {target: z, assign: {d: '{{variables.a}}{{variables.b}}{{variables.c}}{{execution.variables.d}}'}}}}, z: {type: final}}\n",
    ];
    for text in files {
        let loaded = load(text);
        assert!(
            loaded.machine.is_some() && loaded.findings.is_empty(),
            "{text}\n{:#?}",
            loaded.findings
        );
    }
}

#[test]
fn doubts_that_no_error_causes_are_said_in_the_same_run() {
    let text = "id: m\ninitial: a\nstates: {a: {on: {X: bb}, entry: {assign: {x: '{{variables.amont}}'}}}, b: {type: final}}\n";
    let findings = load(text).findings;
    let codes: Vec<&str> = findings.iter().map(|finding| finding.code).collect();
    // That `b` is unreachable is the misspelling's fault alone.
    assert_eq!(codes, ["missing-target", "unknown-variable"], "{findings:#?}");
}
