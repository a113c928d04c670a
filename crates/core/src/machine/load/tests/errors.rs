//! Every error, with its exact place.

use super::{check, load, small};
use crate::document::Severity::Error;
use crate::document::source::Format;
use crate::machine::load::{DefinitionLimits, LoadOptions, load_text};

/// What most examples begin with.
const START: &str = "id: m\ninitial: a\n";

#[test]
fn a_text_that_is_no_definition_is_refused_where_it_goes_wrong() {
    let cases = r"
not-parsed - | `id` is given twice | remove
id: m
initial: a
«id: n
states: {a: {type: final}}
---
not-parsed - | not valid YAML | fix the text
id: m
states: {a: {}}«}
---
too-deep - | deeper than `16` | nest less
[[[[[[[[[[[[[[[[«[[[[]]]]]]]]]]]]]]]]]]]]
---
wrong-type - | a list is not a map | write a map
«[a, b]
";
    check("", cases, Error);
}

#[test]
fn a_definition_may_not_be_too_large() {
    let text = format!(
        "id: m\ninitial: a\ndescription: {}\nstates: {{a: {{type: final}}}}\n",
        "x".repeat(5000)
    );
    assert_eq!(load(&text).findings[0].code, "definition-too-large");
    let many = format!("id: m\nmeta: [{}]\n", "1,".repeat(120_000));
    let generous = LoadOptions {
        limits: DefinitionLimits {
            bytes: 1 << 20,
            ..small()
        },
        runners: &(),
    };
    assert_eq!(
        load_text(&many, Format::Yaml, &generous).findings[0].code,
        "too-many-values"
    );
    let copied = "x".repeat(1500);
    let aliases = format!("id: m\ninitial: a\nstates: {{a: {{type: final}}}}\nmeta: [&x {copied}, *x, *x]\n");
    let findings = load(&aliases).findings;
    assert_eq!(
        (findings[0].code, findings[0].line),
        ("definition-too-large", 1),
        "{findings:#?}"
    );
}

#[test]
fn keys_are_known_given_once_and_of_the_right_shape() {
    let cases = r"
unknown-key /state | a machine has no key `state` | `states`
«state: {}
states: {a: {type: final}}
---
unknown-key /states/a/onn | `onn` | did you mean `on`?
states:
  a:
    «onn: {X: a}
---
unknown-key /states/a/on/X/gaurd | `gaurd` | `guard`?
states: {a: {on: {X: {«gaurd: true}}}}
---
unknown-key /states/a/zzzzzzzz | a state has | known are `id`, `type`
states: {a: {«zzzzzzzz: 1}}
---
missing-key /actions/0 | an action has no `type` | add `type`
states: {a: {}}
actions:
  - «actionId: x
    triggerState: a
---
given-twice /context | `context` and `variables` | keep `variables`
variables: {}
«context: {}
states: {a: {type: final}}
---
wrong-type /states/a/on | is not a map | write a map
states: {a: {on: «X}}
---
wrong-type /states/a/on/X | is not text, or a map, or a list | write text
states: {a: {on: {X: «5}}}
---
wrong-type /states/a/on/X/reenter | `true` or `false`
states: {a: {on: {X: {reenter: «yes}}}}
---
bad-value /states/a/type | `finale` | did you mean `final`?
states: {a: {type: «finale}}
---
bad-value /type | `atomic` | `compound` or `parallel`
type: «atomic
states: {a: {type: final}}
";
    check(START, cases, Error);
    let cases = r"
missing-key - | a machine has no `id` | add `id`
«initial: a
states: {a: {type: final}}
";
    check("", cases, Error);
}

#[test]
fn names_are_spelled_so_that_they_can_be_named() {
    let cases = r##"
bad-name /id | `-m` | beginning with
id: «-m
initial: a
states: {a: {type: final}}
---
bad-name /states/a.b | `a.b` | no dot
id: m
initial: a
states:
  a: {on: {X: a}}
  «a.b: {type: final}
---
bad-name /states/#a | `#a` | `#`
id: m
initial: a
states:
  a: {on: {X: a}}
  «"#a": {type: final}
---
bad-name /states/a/on/x*y | `x*y` describes no event | `prefix.*`
id: m
initial: a
states: {a: {on: {«x*y: a}}}
---
bad-name /variables/1st | `1st` | digit
id: m
variables: {«1st: 1}
initial: a
states: {a: {type: final}}
---
bad-name /states/a/entry/assign/a-b | `a-b` | letters
id: m
initial: a
states: {a: {entry: {assign: {«a-b: 1}}}}
---
bad-name /states/a/entry/raise | `a.*` | no `*`
id: m
initial: a
states: {a: {entry: {raise: «a.*}}}
---
bad-name /actions/0/actionId | `a b` | letters
id: m
initial: a
states: {a: {}}
actions: [{actionId: «a b, type: email, config: {to: x}, triggerState: a}]
---
duplicate-id /states/b/id | `x` is already that of `a` | another id
id: m
initial: a
states: {a: {id: x}, b: {id: «x}}
---
duplicate-id /states/a/id | `m` is already that of `m` | another id
id: m
initial: a
states: {a: {id: «m}}
---
duplicate-action /actions/1/actionId | `x` | another actionId
id: m
initial: a
states: {a: {}}
actions:
  - {actionId: x, type: email, config: {to: x}, triggerState: a}
  - {actionId: «x, type: email, config: {to: x}, triggerState: a}
"##;
    check("", cases, Error);
}

#[test]
fn a_state_is_what_its_type_says() {
    let cases = r"
no-states - | `m` has no states | add `states`
«id: m
---
no-initial - | `m` does not say | add `initial`, such as `a`
«id: m
states: {a: {type: final}}
---
no-initial /states/a | `a` does not say | such as `b`
id: m
initial: a
states: {«a: {states: {b: {}}}}
---
no-states /states/a | `a` has no states | add
id: m
initial: a
states: {«a: {type: parallel}}
---
no-states /states/a | `a` has no states | add
id: m
initial: a
states: {«a: {type: compound}}
---
bad-initial /states/a/initial | `c` does not lie inside `a` | inside
id: m
initial: a
states: {a: {initial: «c, states: {b: {}}}, c: {}}
---
bad-initial /states/w/states/r/initial | `w.l.x` does not lie inside `w.r` | inside
id: m
initial: a
states: {a: {on: {GO: w}}, w: {type: parallel, states: {l: {initial: x, states: {x: {}}}, r: {initial: «x, states: {y: {}}}}}}
---
bad-initial /states/w/states/r/initial | `w.l.x` does not lie inside `w.r` | inside
id: m
initial: a
states: {a: {always: w}, w: {type: parallel, states: {l: {initial: x, states: {x: {}}}, r: {initial: «x, states: {y: {}}}}}}
---
misplaced-key /states/a/on | `on` has no meaning in a final state such as `a` | remove `on`
id: m
initial: a
states: {a: {type: final, «on: {X: a}}}
---
misplaced-key /states/a/states | an atomic state | remove
id: m
initial: a
states: {a: {type: atomic, «states: {b: {}}}}
---
misplaced-key /states/a/output | `output` | remove
id: m
initial: a
states: {a: {«output: 1}}
---
misplaced-key /states/a/onDone | `onDone` | remove
id: m
initial: a
states: {a: {«onDone: a}}
---
misplaced-key /states/a/states/h/entry | a history state | remove
id: m
initial: a
states: {a: {initial: b, states: {b: {}, h: {type: history, «entry: {log: x}}}}}
---
misplaced-key /states/a/history | `history` | remove
id: m
initial: a
states: {a: {type: atomic, «history: deep}}
";
    check("", cases, Error);
}

#[test]
fn a_state_asks_for_nothing_that_sprag_does_another_way() {
    let cases = r"
not-supported /states/a/invoke | `invoke` in a state | `done.<actionId>`
id: m
initial: a
states: {a: {«invoke: {src: fetch}}}
---
not-supported /onDone | `onDone` in a machine | final state
id: m
initial: a
«onDone: a
states: {a: {}}
";
    check("", cases, Error);
}

#[test]
fn targets_lead_to_states() {
    let cases = r##"
missing-target /states/aa/on/X | no state `bbb` | did you mean `bb`?
id: m
initial: aa
states: {aa: {on: {X: «bbb}}, bb: {type: final}}
---
missing-target /states/a/on/X/1/target/1 | no state `zzz` | name a state
id: m
initial: a
states: {a: {on: {X: [b, {target: [b, «zzz]}]}}, b: {}}
---
missing-target /initial | no state `.b` | name a state
id: m
initial: «.b
states: {a: {type: final}}
---
missing-target /states/a/on/X | no state `#nope`
id: m
initial: a
states: {a: {on: {X: «"#nope"}}}
---
missing-target /actions/0/triggerState | no state `aaab` | `aaaa`
id: m
initial: aaaa
states: {aaaa: {}}
actions: [{actionId: x, type: email, config: {to: x}, triggerState: «aaab}]
---
missing-target /states/a/on/X/guard | no state `zzz`
id: m
initial: a
states: {a: {on: {X: {target: a, guard: «{in_state: zzz}}}}}
---
ambiguous-target /states/a/on/X | `x` could be any of `b.x`, `c.x` | path
id: m
initial: a
states: {a: {on: {X: «x}}, b: {initial: x, states: {x: {}}}, c: {initial: x, states: {x: {}}}}
---
conflicting-targets /states/a/on/X/target | `b` and `c` cannot | regions
id: m
initial: a
states: {a: {on: {X: {target: «[b, c]}}}, b: {}, c: {}}
---
conflicting-targets /states/a/on/X/target | `p.r` and `p.r.x` cannot | regions
id: m
initial: a
states: {a: {on: {X: {target: «[p.r, p.r.x]}}}, p: {type: parallel, states: {r: {initial: x, states: {x: {}}}, s: {}}}}
---
bad-history /states/a/states/h/target | `c` does not lie inside `a` | beside
id: m
initial: a
states: {a: {initial: b, states: {b: {}, h: {type: history, target: «c}}}, c: {}}
---
bad-history /states/a/states/h/target | `a.g` is a history state | not a history
id: m
initial: a
states: {a: {initial: b, states: {b: {}, g: {type: history}, h: {type: history, target: «g}}}}
---
bad-history /states/a/states/h | `a.h` is a history state | `target`
id: m
initial: a
states: {a: {initial: h, states: {b: {}, «h: {type: history}}}}
"##;
    check("", cases, Error);
}

#[test]
fn guards_and_templates_are_read_when_the_machine_is() {
    let cases = r#"
named-guard /states/a/on/X/guard | `isAdult` is only a name | JSONLogic
states: {a: {on: {X: {target: a, guard: «isAdult}}}}
---
named-guard /states/a/on/X/guard | `and` is only a name | JSONLogic
states: {a: {on: {X: {target: a, guard: «{type: and, guards: []}}}}}
---
bad-guard /states/a/on/X/guard/and/1/=> | unknown operator `=>`
states: {a: {on: {X: {target: a, guard: {and: [true, {"=>": «[1, 2]}]}}}}}
---
bad-guard /actions/0/condition | condition is not JSON | JSON text
states: {a: {}}
actions: [{actionId: x, type: email, config: {to: x}, triggerState: a, condition: «"{oops"}]
---
bad-guard /actions/0/condition | unknown operator `nope`
states: {a: {}}
actions: [{actionId: x, type: email, config: {to: x}, triggerState: a, condition: «'{"nope": 1}'}]
---
bad-template /states/a/entry/assign/x/0 | `1 +`
states: {a: {entry: {assign: {x: [«"{{ 1 + }}"]}}}}
---
bad-template /actions/0/config/body | `{{` is not closed | braces
states: {a: {}}
actions: [{actionId: x, type: email, config: {to: x, body: «"{{ now"}, triggerState: a}]
---
bad-template /templates/t/text | `{{` is not closed | braces
states: {a: {}}
templates: {t: {subject: x, text: «"{{ now"}}
---
bad-template /templates/t/subject | one line | one line
states: {a: {}}
templates: {t: {subject: «"a\nb", text: x}}
---
unknown-template /actions/0/config/template | no template `notic` | did you mean `notice`?
states: {a: {}}
templates: {notice: {subject: s, text: t}}
actions: [{actionId: x, type: email, config: {provider: smtp, to: x, template: «notic}, triggerState: a}]
---
bad-template /actions/0/config/template | neither `text` nor `html` | one of them
states: {a: {}}
templates: {notice: {subject: s}}
actions: [{actionId: x, type: email, config: {provider: smtp, to: x, template: «notice}, triggerState: a}]
---
bad-template /actions/0/config/template | has no `subject` | `subject`
states: {a: {}}
templates: {notice: {text: s}}
actions: [{actionId: x, type: email, config: {provider: smtp, to: x, template: «notice}, triggerState: a}]
---
unknown-root /states/a/on/X/guard/==/0/var | `mesage.payload.x` begins with `mesage` | did you mean `message`?
states: {a: {on: {X: {target: a, guard: {"==": [{var: «mesage.payload.x}, 1]}}}}}
---
unknown-root /actions/0/config/cc/1 | `varables.x` | `variables`?
states: {a: {}}
actions: [{actionId: x, type: email, config: {to: x, cc: [y, «"{{varables.x}}"]}, triggerState: a}]
---
unknown-root /states/a/entry/assign/x | `secrets.key` | `config`
states: {a: {entry: {assign: {x: «"{{secrets.key}}"}}}}
---
unknown-field /states/a/entry/log | `execution` has no `vars` | `execution` has
states: {a: {entry: {log: «"{{execution.vars.x}}"}}}
---
unknown-field /states/a/entry/log | `event` has no `paylod` | `event.payload`?
states: {a: {entry: {log: «"{{event.paylod.x}}"}}}
"#;
    check(START, cases, Error);
}

#[test]
fn operations_and_durations_are_of_the_few_kinds_there_are() {
    let cases = r"
bad-operation /states/a/entry/0 | exactly one | a list
states: {a: {entry: [«{log: a, raise: b}]}}
---
bad-operation /states/a/exit | exactly one | `assign`
states: {a: {exit: «{}}}
---
unknown-action /states/a/entry/run | no action `sned` | `send`?
states: {a: {entry: {run: «sned}}}
actions: [{actionId: send, type: email, config: {to: x}, triggerState: a}]
---
unknown-action /states/a/on/X/actions/0/type | no action `xstate.raise` | `actions`
states: {a: {on: {X: {actions: [{type: «xstate.raise}]}}}}
---
unknown-action /states/a/exit/cancel | no action `x` | define it
states: {a: {exit: {cancel: «x}}}
---
bad-duration /states/a/after/soon | `soon` is not a duration | `30s`
states: {a: {after: {«soon: a}}}
---
always-cycle /states/a/always | from `a` never come to rest | `guard`
states: {a: {always: «b}, b: {always: a}}
";
    check(START, cases, Error);
}

#[test]
fn a_machine_keeps_within_its_limits() {
    let each = |count: usize, text: &dyn Fn(usize) -> String| (0..count).map(text).collect::<Vec<_>>().concat();
    let states = each(13, &|n| format!("  s{n}: {{}}\n"));
    let transitions = each(13, &|n| format!("E{n}: a, "));
    let actions = each(3, &|n| {
        format!("  - {{actionId: x{n}, type: email, config: {{to: y}}, triggerState: a}}\n")
    });
    let nested = "states: {a: {initial: b, states: {b: {initial: c, states: {c: {initial: d, states: {d: {initial: e, states: {e: {}}}}}}}}}}\n";
    let table = [
        (
            "too-many-states",
            "1:1 ",
            format!("id: m\ninitial: s0\nstates:\n{states}"),
        ),
        (
            "too-many-transitions",
            "1:1 ",
            format!("id: m\ninitial: a\nstates: {{a: {{on: {{{transitions}}}}}}}\n"),
        ),
        (
            "too-many-actions",
            "3:10 /states/a",
            format!("id: m\ninitial: a\nstates: {{a: {{}}}}\nactions:\n{actions}"),
        ),
        (
            "nested-too-deep",
            "3:85 /states/a/states/b/states/c/states/d",
            format!("id: m\ninitial: a\n{nested}"),
        ),
    ];
    for (code, place, text) in table {
        let findings = load(&text).findings;
        let errors: Vec<_> = findings.iter().filter(|finding| finding.severity == Error).collect();
        assert_eq!(errors.len(), 1, "{text}\n{findings:#?}");
        let at = format!("{}:{} {}", errors[0].line, errors[0].column, errors[0].pointer);
        assert_eq!((errors[0].code, at.as_str()), (code, place), "{findings:#?}");
    }
}

#[test]
fn a_flood_of_findings_is_cut() {
    let keys: Vec<String> = (0..600).map(|n| format!("x{n}: 1")).collect();
    let limits = DefinitionLimits {
        bytes: 1 << 20,
        ..small()
    };
    let text = format!("id: m\ninitial: a\nstates: {{a: {{{}}}}}\n", keys.join(", "));
    let findings = load_text(&text, Format::Yaml, &LoadOptions { limits, runners: &() }).findings;
    let last = findings.last().unwrap();
    assert_eq!(
        (findings.len(), last.code, last.severity),
        (501, "too-many-findings", Error)
    );
    assert_eq!(last.detail, "`100` more findings are left out");
}
