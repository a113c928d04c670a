//! `email` against a scripted SMTP server, byte for byte, and against a server that answers as the vendor would.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use sprag_core::action::outcome::Outcome;
use sprag_core::action::runner::Runner;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;

use super::{Email, Options, SendgridOptions, SmtpOptions};
use crate::http::outbound::{self, Guard};
use crate::secrets::{Env, Secrets};
use crate::testing::{Act, Case, Server, client, error, loopback, reply, result};

const PASSWORD: &str = "the-password-that-nobody-may-see";

/// An SMTP server that says what it is told to the command that begins with a word, and `250` to any other.
struct Mailer {
    address: SocketAddr,
    lines: Arc<Mutex<Vec<String>>>,
}

/// The word that stands for the end of the message.
const END: &str = ".";

impl Mailer {
    /// `answers` are pairs of a command and the answer to it; an empty answer closes the connection.
    async fn start(answers: &'static [(&'static str, &'static str)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = Arc::clone(&lines);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (reader, mut writer) = stream.into_split();
                let mut input = BufReader::new(reader).lines();
                writer.write_all(b"220 ready\r\n").await.unwrap();
                let mut is_message = false;
                while let Ok(Some(line)) = input.next_line().await {
                    seen.lock().unwrap().push(line.clone());
                    if is_message && line != END {
                        continue;
                    }
                    is_message = line.starts_with("DATA");
                    let told = answers.iter().find(|(word, _)| line.starts_with(word));
                    let answer = match (told, is_message) {
                        (Some((_, answer)), _) => answer,
                        (None, true) => "354 go on",
                        (None, false) if line.starts_with("EHLO") => "250-localhost\r\n250 AUTH PLAIN",
                        (None, false) => "250 fine",
                    };
                    if answer.is_empty() || writer.write_all(format!("{answer}\r\n").as_bytes()).await.is_err() {
                        break;
                    }
                }
            }
        });
        Self { address, lines }
    }

    fn options(&self) -> SmtpOptions {
        SmtpOptions {
            host: self.address.ip().to_string(),
            port: Some(self.address.port()),
            security: Some("none".to_owned()),
            from: Some("Sprag <sprag@example.com>".to_owned()),
            ..SmtpOptions::default()
        }
    }

    fn said(&self) -> String {
        self.lines.lock().unwrap().join("\n")
    }
}

fn runner(smtp: Option<&SmtpOptions>, sendgrid: Option<&SendgridOptions>) -> Email {
    let env = Env::from_fn(|name| (name == "SPRAG_SECRET_MAIL").then(|| PASSWORD.into()));
    let secrets = Arc::new(Secrets::new(vec![Box::new(env)]));
    let strict = Guard::new(&outbound::Options::default()).unwrap();
    Email::new(Options { smtp, sendgrid }, secrets, (strict, loopback()), client()).unwrap()
}

fn notice() -> Value {
    json!({"provider": "smtp", "to": "Ann <ann@example.com>", "cc": ["legal@example.com"], "bcc": "audit@example.com",
        "template": "notice", "variables": {"name": "Tom & <Jerry>"}})
}

fn case(config: Value) -> Case {
    let mut case = Case::new("email", config);
    let template = json!({"subject": "Notice for {{name}}", "text": "Dear {{name}}", "html": "<p>{{name}}</p>"});
    case.templates.insert("notice".to_owned(), template);
    case
}

#[tokio::test]
async fn a_template_becomes_a_mail_with_the_same_id_in_every_attempt() {
    let mailer = Mailer::start(&[(END, "250 queued as 7")]).await;
    let runner = runner(Some(&mailer.options()), None);
    let outcome = case(notice()).run(&runner).await;
    let id = "<act_0000000000000000000000000.1@example.com>";
    assert_eq!(result(&outcome)["messageId"], id);
    assert_eq!(result(&outcome)["answer"], "queued as 7");
    let Outcome::Done(done) = &outcome else {
        panic!("{outcome:?}")
    };
    let expected = json!({"messageId": id, "template": "notice", "actionId": "notify_crm",
        "recipients": ["ann@example.com", "legal@example.com", "audit@example.com"]});
    assert_eq!(done.event.as_ref().unwrap().kind, "email_sent");
    assert_eq!(done.event.as_ref().unwrap().payload, expected);
    let said = mailer.said();
    for part in [
        "MAIL FROM:<sprag@example.com>",
        "RCPT TO:<audit@example.com>",
        "Subject: Notice for Tom & <Jerry>",
        "Dear Tom & <Jerry>",
        "<p>Tom &amp; &lt;Jerry&gt;</p>",
        "Message-ID: <act_",
    ] {
        assert!(said.contains(part), "{part} is not in\n{said}");
    }
    assert!(!said.contains("Bcc"), "{said}");
    assert!(matches!(case(notice()).run(&runner).await, Outcome::Done(_)));
    assert_eq!(mailer.said().matches(&format!("Message-ID: {id}")).count(), 2);
}

#[tokio::test]
async fn what_a_server_refuses_is_not_done_and_has_its_type() {
    let table: [(&'static [(&str, &str)], &str); 9] = [
        (&[("MAIL", "451 later")], "temporary_failure"),
        (&[("MAIL", "421 closing")], "service_unavailable"),
        (&[("RCPT TO:<legal", "450 slow down")], "rate_limit"),
        (&[("RCPT TO:<legal", "550 unknown")], "not_found"),
        (&[("MAIL", "530 log in first")], "authentication_failed"),
        (&[("DATA", "554 no")], "authorization_failed"),
        (&[(END, "552 too large")], "malformed_request"),
        (&[(END, "451 try later")], "temporary_failure"),
        (&[("DATA", "")], "network_error"),
    ];
    for (answers, kind) in table {
        let mailer = Mailer::start(answers).await;
        let outcome = case(notice()).run(&runner(Some(&mailer.options()), None)).await;
        assert!(matches!(outcome, Outcome::NotDone(_)), "{answers:?}: {outcome:?}");
        assert_eq!(error(&outcome).kind, kind, "{answers:?}");
        assert_eq!(
            error(&outcome).details.as_ref().unwrap()["host"],
            "127.0.0.1",
            "{answers:?}"
        );
    }
}

#[tokio::test]
async fn a_connection_that_breaks_after_the_message_leaves_it_unknown() {
    let mailer = Mailer::start(&[(END, "")]).await;
    let outcome = case(notice()).run(&runner(Some(&mailer.options()), None)).await;
    assert!(matches!(outcome, Outcome::Unknown(_)), "{outcome:?}");
    assert_eq!(error(&outcome).kind, "network_error");
}

#[tokio::test]
async fn a_password_is_asked_for_and_shown_to_nobody_else() {
    let mailer = Mailer::start(&[("AUTH", "535 the-password-that-nobody-may-see is wrong")]).await;
    let mut options = mailer.options();
    options.username = Some("sprag".to_owned());
    options.password = Some("{{secrets.mail}}".to_owned());
    let outcome = case(notice()).run(&runner(Some(&options), None)).await;
    assert_eq!(error(&outcome).kind, "authentication_failed");
    assert!(!format!("{outcome:?}").contains(PASSWORD), "{outcome:?}");
    options.password = Some("{{secrets.other}}".to_owned());
    let outcome = case(notice()).run(&runner(Some(&options), None)).await;
    assert_eq!(error(&outcome).details.as_ref().unwrap()["secret"], "other");
}

#[tokio::test]
async fn a_server_that_a_definition_names_is_guarded_and_one_without_starttls_is_refused() {
    let mailer = Mailer::start(&[]).await;
    let mut config = notice();
    config["from"] = json!("a@example.com");
    config["server"] = json!({"host": "127.0.0.1", "port": mailer.address.port(), "security": "none"});
    let outcome = case(config).run(&runner(None, None)).await;
    assert_eq!(error(&outcome).kind, "invalid_configuration");
    assert!(error(&outcome).message.contains("[outbound] allow"), "{outcome:?}");
    assert_eq!(mailer.said(), "", "nothing was said to it");
    let mut options = mailer.options();
    options.security = None;
    let outcome = case(notice()).run(&runner(Some(&options), None)).await;
    assert_eq!(error(&outcome).kind, "invalid_configuration");
    assert!(error(&outcome).message.contains("STARTTLS"), "{outcome:?}");
}

#[tokio::test]
async fn attachments_go_along_and_line_breaks_reach_no_header() {
    let mailer = Mailer::start(&[]).await;
    let runner = runner(Some(&mailer.options()), None);
    let mut config = notice();
    config["attachments"] = json!([{"filename": "a.txt", "text": "hello", "contentType": "text/plain"},
        {"filename": "b.bin", "content": "AAEC"}]);
    assert!(matches!(case(config.clone()).run(&runner).await, Outcome::Done(_)));
    assert!(mailer.said().contains("filename=\"b.bin\""), "{}", mailer.said());
    let evil = "x\r\nBcc: all@example.com";
    for (pointer, value) in [
        ("/to", json!(format!("a@example.com{evil}"))),
        ("/subject", json!(evil)),
        ("/replyTo", json!(format!("{evil} <a@example.com>"))),
        ("/attachments/0/filename", json!(evil)),
        ("/variables/name", json!(evil)),
    ] {
        let mut config = config.clone();
        match config.pointer_mut(pointer) {
            Some(place) => *place = value,
            None => config[&pointer[1..]] = value,
        }
        let outcome = case(config).run(&runner).await;
        assert_eq!(error(&outcome).kind, "invalid_configuration", "{pointer}");
    }
    assert!(!mailer.said().contains("all@example.com"));
}

#[tokio::test]
async fn the_vendor_gets_its_template_id_and_says_what_is_wrong_in_its_own_words() {
    let taken = reply(202, "x-message-id: abc\r\n", "");
    let limited = reply(
        429,
        "x-ratelimit-reset: 784111782\r\n",
        r#"{"errors":[{"message":"too many"}]}"#,
    );
    let refused = reply(
        400,
        "content-type: application/json\r\n",
        r#"{"errors":[{"message":"no","field":"from.email"}]}"#,
    );
    let server = Server::start([taken, limited, refused, Act::HangUp]).await;
    let options = SendgridOptions {
        key: "{{secrets.mail}}".to_owned(),
        from: Some("sprag@example.com".to_owned()),
        url: Some(server.url("")),
        templates: vec!["notice = d-1".to_owned()],
    };
    let runner = runner(None, Some(&options));
    let mut config = notice();
    config["provider"] = json!("sendgrid");
    let outcome = case(config.clone()).run(&runner).await;
    assert_eq!(result(&outcome)["messageId"], "abc");
    let request = server.requests().remove(0);
    assert_eq!(request.line, "POST /v3/mail/send HTTP/1.1");
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(body["template_id"], "d-1");
    assert_eq!(
        body["personalizations"][0]["dynamic_template_data"],
        config["variables"]
    );
    assert_eq!(
        body["personalizations"][0]["to"],
        json!([{"email": "ann@example.com", "name": "Ann"}])
    );
    let outcome = case(config.clone()).run(&runner).await;
    let Outcome::NotDone(failure) = &outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(
        (failure.error.kind.as_str(), failure.retry_after),
        ("rate_limit", Some(5_000))
    );
    let outcome = case(config.clone()).run(&runner).await;
    assert_eq!(error(&outcome).message, "sendgrid: `from.email`: no");
    assert!(matches!(case(config).run(&runner).await, Outcome::Unknown(_)));
}

#[test]
fn everything_wrong_is_found_before_anything_runs() {
    let options = SmtpOptions {
        host: "mail.example.com".to_owned(),
        from: Some("sprag@example.com".to_owned()),
        ..SmtpOptions::default()
    };
    let runner = runner(Some(&options), None);
    let found = |config: &Value| -> Vec<(String, String)> {
        let problems = runner.validate("email", config).into_iter();
        problems
            .map(|problem| (problem.pointer, problem.detail + "; " + &problem.remedy))
            .collect()
    };
    assert_eq!(found(&notice()), []);
    let table = [
        (json!({"provider": "smpt"}), "/provider", "did you mean `smtp`?"),
        (
            json!({"provider": "sendgrid"}),
            "/provider",
            "`[providers.sendgrid]` is not configured",
        ),
        (json!({"to": "ann"}), "/to", "is not an address"),
        (json!({"to": null}), "/to", "missing"),
        (json!({"cc": ["x@"]}), "/cc", "is not an address"),
        (json!({"text": "x"}), "/template", "both given"),
        (json!({"template": null}), "/text", "no text"),
        (json!({"template": null, "text": "x"}), "/subject", "missing"),
        (
            json!({"attachments": [{"filename": "x", "content": "?"}]}),
            "/attachments/0/content",
            "base64",
        ),
        (
            json!({"server": {"host": "x", "security": "ssl"}}),
            "/server/security",
            "`tls`",
        ),
        (json!({"body": "x"}), "/body", "unknown key"),
    ];
    for (change, pointer, part) in table {
        let mut config = notice();
        for (name, value) in change.as_object().unwrap() {
            config[name] = value.clone();
        }
        let problems = found(&config);
        assert!(
            problems.iter().any(|(at, text)| at == pointer && text.contains(part)),
            "{change}: {problems:?}"
        );
    }
}
