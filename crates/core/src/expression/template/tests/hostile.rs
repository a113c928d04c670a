//! What an author can ask for stays small, whatever is written and whatever the data holds.

use serde_json::{Value, json};

use super::super::limits::{DEPTH_MAX, EXPRESSION_INPUT_BYTES_MAX, OUTPUT_BYTES_MAX};
use super::super::{RenderErrorKind, Template, TemplateLimits};
use super::{compile, kind};

/// Large values of every kind; one expression may name any two of them.
fn large() -> Value {
    let size = EXPRESSION_INPUT_BYTES_MAX / 3;
    json!({"s": "x".repeat(size), "l": vec![1; size / 8], "w": vec!["word"; size / 16], "n": 100_000_000})
}

fn fails(template: &str) -> RenderErrorKind {
    compile(&json!(template))
        .render(&large(), TemplateLimits::default())
        .expect_err(template)
        .kind
}

#[test]
fn nothing_but_numbers_is_multiplied() {
    for template in [
        "{{ 'a' * 100000000 }}",
        "{{ 100000000 * 'a' }}",
        "{{ ('a' ~ 'b') * 3 }}",
        "{{ [1] * 100000000 }}",
        "{{ 2 * [1] }}",
        "{{ (1, 2) * 3 }}",
        "{{ 3 * s }}",
        "{{ s * n }}",
        "{{ 1 * 2 * s }}",
        "{{ 3 * s | upper }}",
        "{{ 3 * {'a': 'b'}.a }}",
        "{{ 3 * {'a': 'b'}['a'] }}",
        "{{ 3 * 'a' 'b' }}",
        "{{ 3 * -s | string }}",
        "{{ true * 3 }}",
        "{{ 1 is odd * 3 }}",
    ] {
        assert!(
            matches!(fails(template), RenderErrorKind::Failed { .. }),
            "{template}: {}",
            fails(template)
        );
    }
}

#[test]
fn filters_that_would_grow_without_bound_run_out_of_fuel() {
    for template in [
        "{{ l | join(s) }}",
        "{{ w | map('replace', '', s) | list }}",
        "{{ s | replace('x', s) }}",
        "{{ s | replace('', s) | length }}",
        "{{ l | select('in', l) | list }}",
        "{{ w | map('join', s) | list }}",
        "{{ w | map(attribute='x', default=s) | join }}",
        "{{ [s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s] | map('upper') | list }}",
        "{{ s ~ s ~ s ~ s ~ s ~ s ~ s ~ s ~ s ~ s ~ s ~ s ~ s ~ s ~ s ~ s ~ s ~ s ~ s ~ s ~ s ~ s ~ s ~ s ~ s ~ s ~ s ~ s ~ s ~ s }}",
        "{{ (s + s + s + s + s + s + s + s + s + s + s + s + s + s + s + s + s + s + s + s + s + s + s + s + s + s + s + s + s + s) | upper }}",
        "{{ s | split('') | map('urlencode') | list }}",
    ] {
        assert!(
            matches!(fails(template), RenderErrorKind::OutOfFuel { .. }),
            "{template}: {}",
            fails(template)
        );
    }
}

#[test]
fn widths_and_character_sets_are_small() {
    for template in [
        "{{ '%1000000000d' | format(1) }}",
        "{{ '%.1000000000f' | format(1) }}",
        "{{ '%*d' | format(1000000000, 1) }}",
        "{{ '%(a)1000000000d' | format({'a': 1}) }}",
        "{{ '%% %100d' | format(1) }}",
        "{{ s | trim(s) }}",
    ] {
        assert!(
            matches!(fails(template), RenderErrorKind::Failed { .. }),
            "{template}: {}",
            fails(template)
        );
    }
    let rendered =
        compile(&json!("{{ 'in 2026: %03d%% of 1000' | format(7) }}")).render(&large(), TemplateLimits::default());
    assert_eq!(
        rendered.expect("digits outside a width do not matter"),
        json!("in 2026: 007% of 1000")
    );
}

#[test]
fn an_expression_of_too_many_steps_runs_out_of_fuel() {
    let template = format!("{{{{ [{}] }}}}", "n,".repeat(400));
    assert!(matches!(fails(&template), RenderErrorKind::OutOfFuel { .. }));
}

#[test]
fn the_values_an_expression_names_are_bounded_but_a_bare_path_is_not() {
    let scope = json!({"s": "x".repeat(EXPRESSION_INPUT_BYTES_MAX)});
    let limits = TemplateLimits {
        output_bytes: usize::MAX,
    };
    let error = compile(&json!("{{ s | length }}"))
        .render(&scope, limits)
        .expect_err("it is too large");
    let limit = EXPRESSION_INPUT_BYTES_MAX;
    assert_eq!(
        error.kind,
        RenderErrorKind::InputTooLarge {
            expression: "s | length".into(),
            limit
        }
    );
    assert_eq!(
        compile(&json!("{{s}}")).render(&scope, limits).expect("it is a path"),
        scope["s"]
    );
    let many = json!(vec!["{{ s | length }}"; 20]);
    let scope = json!({"s": "x".repeat(EXPRESSION_INPUT_BYTES_MAX / 2)});
    let error = compile(&many)
        .render(&scope, limits)
        .expect_err("together they are too large");
    assert!(matches!(error.kind, RenderErrorKind::InputTooLarge { .. }), "{error}");
}

#[test]
fn the_output_is_bounded_whatever_it_is_made_of() {
    let limit = OUTPUT_BYTES_MAX;
    let too_large = RenderErrorKind::TooLarge { limit };
    let scope = json!({"s": "x".repeat(limit / 2), "l": vec![1; limit / 8], "n": 1, "o": {"x".repeat(limit): 1}});
    for template in [
        json!(["{{s}}", "{{s}}"]),
        json!("{{s}}{{s}} "),
        json!("{{ s ~ s }}"),
        json!("{{ [s, s] }}"),
        json!("{{ l + l }}"),
        json!("{{o}}"),
        json!("{{ {s: 1, s ~ 1: 2} }}"),
        json!({"a": "x".repeat(limit), "b": "{{l}}"}),
        json!("x".repeat(limit)),
        json!(format!("{{{{n}}}}{}", "x".repeat(limit))),
        json!({"x".repeat(limit): "{{n}}"}),
    ] {
        let error = Template::compile(&template)
            .expect("it compiles")
            .render(&scope, TemplateLimits::default());
        assert_eq!(error.expect_err("it is too large").kind, too_large);
    }
}

#[test]
fn escapes_count_where_a_value_becomes_text() {
    let scope = json!({"l": ["\u{1}".repeat(OUTPUT_BYTES_MAX / 4)]});
    compile(&json!("{{l}}"))
        .render(&scope, TemplateLimits::default())
        .expect("as a value it fits");
    let error = compile(&json!(" {{l}}"))
        .render(&scope, TemplateLimits::default())
        .expect_err("as text it does not");
    assert!(matches!(error.kind, RenderErrorKind::TooLarge { .. }));
}

#[test]
fn values_do_not_grow_deeper_without_end() {
    let nested = |depth: usize| (0..depth).fold(json!(1), |inner, _| json!([inner]));
    let scope = json!({"fits": nested(DEPTH_MAX), "deep": nested(DEPTH_MAX + 1), "half": nested(DEPTH_MAX / 2 + 1)});
    let too_deep = RenderErrorKind::TooDeep { limit: DEPTH_MAX };
    let render = |template: Value| compile(&template).render(&scope, TemplateLimits::default());
    assert_eq!(render(json!("{{fits}}")).expect("it fits"), scope["fits"]);
    for template in ["{{deep}}", "{{ deep | length }}", "{{ [fits] }}", "{{ {'a': fits} }}"] {
        assert_eq!(
            render(json!(template)).expect_err("it is too deep").kind,
            too_deep,
            "{template}"
        );
    }
    assert_eq!(
        render(json!(["{{fits}}"])).expect_err("it is too deep here").kind,
        too_deep
    );
    let wrapped = (0..DEPTH_MAX / 2).fold(json!("{{half}}"), |inner, _| json!([inner]));
    assert_eq!(render(wrapped).expect_err("together they are too deep").kind, too_deep);
}

#[test]
fn the_longest_chains_need_little_stack() {
    let chains = [
        ("", "-", "1"),
        ("", "not ", "1"),
        ("''", ".a", ""),
        ("n", "-n", ""),
        ("n", "*n", ""),
        ("1", "/1", ""),
        ("n", "<n", ""),
        ("n", " or n", ""),
        ("", "n if n else ", "1"),
        ("n", "|d", ""),
        ("n", " is odd", ""),
        ("l", "[0:]", ""),
        ("l", "|reverse", ""),
    ];
    let chain = |(before, link, after): (&str, &str, &str)| {
        json!(format!("{{{{ {before}{}{after} }}}}", link.repeat(1000 / link.len())))
    };
    let work = move || {
        for parts in chains {
            let _ = compile(&chain(parts)).render(&large(), TemplateLimits::default());
        }
    };
    let thread = std::thread::Builder::new()
        .stack_size(1024 * 1024)
        .spawn(work)
        .expect("a thread starts");
    thread.join().expect("nothing panics");
}

#[test]
fn nothing_reads_a_clock_or_a_random_number() {
    for name in [
        "now()",
        "random()",
        "debug()",
        "lipsum()",
        "cycler()",
        "range(3)",
        "dict()",
        "namespace()",
    ] {
        assert!(
            Template::compile(&json!(format!("{{{{ {name} }}}}"))).is_err(),
            "{name}"
        );
    }
    for filter in ["random", "shuffle", "pprint", "debug"] {
        assert!(
            Template::compile(&json!(format!("{{{{ [1] | {filter} }}}}"))).is_err(),
            "{filter}"
        );
    }
}

#[test]
fn a_filter_named_by_the_data_is_one_of_those_offered() {
    for template in [
        "{{ [1] | map('indent') | list }}",
        "{{ [1] | select('sameas', 1) | list }}",
    ] {
        assert!(
            matches!(kind(json!(template)), RenderErrorKind::Failed { .. }),
            "{template}"
        );
    }
}
