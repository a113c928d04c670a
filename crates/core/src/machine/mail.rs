//! A machine's mail templates, rendered over the variables that an action gives them.
//!
//! Values are escaped in HTML and nowhere else. A subject is one line, whatever stands in a value: a line break there
//! would be the beginning of another header.

use serde_json::{Map, Value};

use crate::expression::template::{RenderError, Template, TemplateError, TemplateLimits};
use crate::text::html;

/// A mail's words, ready to be sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mail {
    /// The subject, if the template has one.
    pub subject: Option<String>,
    /// The plain text, if the template has it.
    pub text: Option<String>,
    /// The HTML, if the template has it.
    pub html: Option<String>,
}

/// Why a template gives no mail.
#[derive(Debug, thiserror::Error)]
pub enum MailError {
    /// A part cannot be read.
    #[error("`{part}` cannot be read: {}", first(errors))]
    Compile {
        /// `subject`, `text` or `html`.
        part: &'static str,
        /// What is wrong with it.
        errors: Vec<TemplateError>,
    },
    /// A part names something that is not there, or grows too large.
    #[error("`{part}`: {source}")]
    Render {
        /// `subject`, `text` or `html`.
        part: &'static str,
        /// Why.
        source: RenderError,
    },
    /// A subject of several lines.
    #[error("`subject` holds a line break")]
    LineBreak,
}

fn first(errors: &[TemplateError]) -> &str {
    errors.first().map_or("", |error| error.detail.as_str())
}

impl Mail {
    /// Renders the parts of `template` over `variables`, whose members are the names that a template can use.
    pub fn render(template: &Value, variables: &Map<String, Value>) -> Result<Self, MailError> {
        let scope = Value::Object(variables.clone());
        let part = |name, escape| part(template, name, &scope, escape);
        let mail = Self {
            subject: part("subject", str::to_owned)?,
            text: part("text", str::to_owned)?,
            html: part("html", html::escaped)?,
        };
        match &mail.subject {
            Some(subject) if subject.contains(['\r', '\n']) => Err(MailError::LineBreak),
            _ => Ok(mail),
        }
    }
}

fn part(
    template: &Value,
    part: &'static str,
    scope: &Value,
    escape: fn(&str) -> String,
) -> Result<Option<String>, MailError> {
    let Some(source) = template.get(part).filter(|source| !source.is_null()) else {
        return Ok(None);
    };
    let compiled = Template::compile(source).map_err(|errors| MailError::Compile { part, errors })?;
    let rendered = compiled.render_text(scope, TemplateLimits::default(), escape);
    rendered.map(Some).map_err(|source| MailError::Render { part, source })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn render(template: &Value, variables: Value) -> Result<Mail, MailError> {
        let Value::Object(variables) = variables else {
            panic!("variables are an object")
        };
        Mail::render(template, &variables)
    }

    #[test]
    fn values_are_escaped_in_html_and_nowhere_else() {
        let template =
            json!({"subject": "To {{name}}", "text": "{{name}}", "html": "<b title=\"{{ all }}\">{{name}}</b>"});
        let name = "<i>'Tom' & \"Co\"</i>";
        let mail = render(&template, json!({"name": name, "all": {"a\"b": 1}})).unwrap();
        assert_eq!(mail.subject.as_deref(), Some(format!("To {name}").as_str()));
        assert_eq!(mail.text.as_deref(), Some(name));
        let html = mail.html.unwrap();
        assert!(
            html.contains("&lt;i&gt;&#39;Tom&#39; &amp; &quot;Co&quot;&lt;/i&gt;"),
            "{html}"
        );
        assert!(html.starts_with("<b title=\"{&quot;a"), "{html}");
        assert_eq!(html.matches('"').count(), 2, "no value ends the attribute: {html}");
    }

    #[test]
    fn a_single_expression_is_text_too() {
        let mail = render(&json!({"text": "{{count}}"}), json!({"count": 3})).unwrap();
        assert_eq!(mail.text.as_deref(), Some("3"));
        assert_eq!(mail.html, None);
    }

    #[test]
    fn a_subject_of_two_lines_and_a_missing_value_are_refused() {
        let template = json!({"subject": "Hello {{name}}"});
        let error = render(&template, json!({"name": "x\r\nBcc: all@example.com"})).unwrap_err();
        assert!(matches!(error, MailError::LineBreak), "{error}");
        let error = render(&template, json!({})).unwrap_err();
        assert!(error.to_string().contains("name"), "{error}");
    }
}
