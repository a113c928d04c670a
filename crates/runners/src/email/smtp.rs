//! One mail over SMTP, in steps whose failures mean different things.
//!
//! Until the server has the whole message nothing is sent: refusals, broken connections and lapsed time up to there are
//! `NotDone`. From the first byte of the message on, only the server's own word says what became of it.

use std::net::SocketAddr;
use std::sync::LazyLock;

use lettre::Message;
use lettre::transport::smtp::Error;
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::{AsyncSmtpConnection, Certificate, CertificateStore, TlsParameters};
use lettre::transport::smtp::commands::{Data, Mail, Rcpt};
use lettre::transport::smtp::extension::{ClientId, Extension, MailBodyParameter, MailParameter};
use serde_json::json;
use sprag_core::action::error::{ActionError, kind};
use sprag_core::action::outcome::{Failure, Outcome};
use tokio::time::{Instant, timeout_at};

use super::options::Security;

const MECHANISMS: [Mechanism; 2] = [Mechanism::Plain, Mechanism::Login];

/// Where to deliver a mail, checked, and as whom.
pub(super) struct Route {
    pub(super) host: String,
    pub(super) addresses: Vec<SocketAddr>,
    pub(super) security: Security,
    pub(super) login: Option<(String, String)>,
    /// PEM of certificates that are trusted besides the machine's own.
    pub(super) ca: Option<Vec<u8>>,
}

/// What was under way when something failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SmtpStep {
    Connect,
    Login,
    Envelope,
    Message,
}

impl Route {
    /// Delivers the message; the server's answer to it.
    pub(super) async fn deliver(&self, message: &Message, deadline: Instant) -> Result<String, Box<Outcome>> {
        let bytes = message.formatted();
        let opened = timeout_at(deadline, self.open(message, bytes.is_ascii())).await;
        let mut connection = opened.map_err(|_| self.late(SmtpStep::Envelope))??;
        let answer = timeout_at(deadline, connection.message(&bytes))
            .await
            .map_err(|_| self.late(SmtpStep::Message))?
            .map_err(|error| self.failed(SmtpStep::Message, &error))?;
        let said: Vec<&str> = answer.message().collect();
        let said = said.join(" ");
        // The mail is delivered; how the goodbye goes does not matter.
        let _ = timeout_at(deadline, connection.quit()).await;
        Ok(said)
    }

    /// A connection on which the server waits for the message.
    async fn open(&self, message: &Message, is_ascii: bool) -> Result<AsyncSmtpConnection, Box<Outcome>> {
        let mut connection = self.connect().await?;
        if let Some((username, password)) = &self.login {
            let credentials = Credentials::new(username.clone(), password.clone());
            let logged_in = connection.auth(&MECHANISMS, &credentials).await;
            logged_in.map_err(|error| self.failed(SmtpStep::Login, &error))?;
        }
        let envelope = message.envelope();
        let mut parameters = Vec::new();
        let mut addresses = envelope.from().into_iter().chain(envelope.to());
        if addresses.any(|address| !AsRef::<str>::as_ref(address).is_ascii()) {
            // A server that does not know the parameter refuses the command.
            parameters.push(MailParameter::SmtpUtfEight);
        }
        if !is_ascii && connection.server_info().supports_feature(Extension::EightBitMime) {
            parameters.push(MailParameter::Body(MailBodyParameter::EightBitMime));
        }
        let failed = |error| self.failed(SmtpStep::Envelope, &error);
        connection
            .command(Mail::new(envelope.from().cloned(), parameters))
            .await
            .map_err(failed)?;
        for receiver in envelope.to() {
            let taken = connection.command(Rcpt::new(receiver.clone(), Vec::new())).await;
            taken.map_err(|error| self.refused(receiver.as_ref(), &error))?;
        }
        connection.command(Data).await.map_err(failed)?;
        Ok(connection)
    }

    async fn connect(&self) -> Result<AsyncSmtpConnection, Box<Outcome>> {
        let failed = |error| self.failed(SmtpStep::Connect, &error);
        let hello = ClientId::default();
        let tls = match self.security {
            Security::None => None,
            Security::Starttls | Security::Tls => Some(self.tls().map_err(failed)?),
        };
        let at_once = tls.clone().filter(|_| self.security == Security::Tls);
        let mut connection =
            AsyncSmtpConnection::connect_tokio1(self.addresses.as_slice(), None, &hello, at_once, None)
                .await
                .map_err(failed)?;
        if let (Security::Starttls, Some(tls)) = (self.security, tls) {
            if !connection.can_starttls() {
                let message = format!("`{}` does not offer STARTTLS", self.host);
                let error = ActionError::new(kind::INVALID_CONFIGURATION, message)
                    .with_details(json!({"host": self.host, "field": "security"}))
                    .with_fix("write `security = \"tls\"`, or `none` for a server in a network that is trusted");
                return Err(Box::new(Outcome::NotDone(Failure::new(error))));
            }
            connection.starttls(tls, &hello).await.map_err(failed)?;
        }
        Ok(connection)
    }

    fn tls(&self) -> Result<TlsParameters, Error> {
        let mut builder = TlsParameters::builder(self.host.clone()).certificate_store(CertificateStore::None);
        for root in ROOTS.iter() {
            builder = builder.add_root_certificate(root.clone());
        }
        if let Some(pem) = &self.ca {
            builder = builder.add_root_certificate(Certificate::from_pem(pem)?);
        }
        builder.build_rustls()
    }

    fn late(&self, step: SmtpStep) -> Box<Outcome> {
        let message = format!("`{}` did not answer in time", self.host);
        let error = ActionError::new(kind::TIMEOUT, message).with_details(json!({"host": self.host}));
        Box::new(outcome(step, error))
    }

    fn refused(&self, receiver: &str, error: &Error) -> Box<Outcome> {
        let mut outcome = self.failed(SmtpStep::Envelope, error);
        if let Outcome::NotDone(failure) = outcome.as_mut() {
            failure.error.message = format!("receiver `{receiver}`: {}", failure.error.message);
            failure.error.details = Some(json!({"host": self.host, "receiver": receiver}));
        }
        outcome
    }

    fn failed(&self, step: SmtpStep, error: &Error) -> Box<Outcome> {
        let code = error.status().map(u16::from);
        let kind = code.map_or_else(|| without_code(step, error), |code| of_code(step, code));
        let mut said = ActionError::new(kind, format!("`{}`: {}", self.host, describe(error)))
            .with_details(json!({"host": self.host}));
        if let Some(code) = code {
            said = said.with_code(code.to_string());
        }
        if kind == kind::AUTHENTICATION_FAILED {
            said = said.with_fix("check `username` and `password` of the SMTP server");
        }
        // A code is the server's word that it did not take the mail, also after it has seen all of it.
        let step = if code.is_some() { SmtpStep::Envelope } else { step };
        Box::new(outcome(step, said))
    }
}

fn outcome(step: SmtpStep, error: ActionError) -> Outcome {
    match step {
        SmtpStep::Message => Outcome::Unknown(Failure::new(error)),
        SmtpStep::Connect | SmtpStep::Login | SmtpStep::Envelope => Outcome::NotDone(Failure::new(error)),
    }
}

/// The error type of a reply code (RFC 5321, RFC 4954).
fn of_code(step: SmtpStep, code: u16) -> &'static str {
    match (step, code) {
        (_, 421) => kind::SERVICE_UNAVAILABLE,
        (_, 450 | 452) => kind::RATE_LIMIT,
        (_, 400..=499) => kind::TEMPORARY_FAILURE,
        (_, 530 | 534 | 535 | 538) | (SmtpStep::Login, 500..=599) => kind::AUTHENTICATION_FAILED,
        (SmtpStep::Envelope, 550 | 551 | 553 | 556) => kind::NOT_FOUND,
        (_, 554 | 521) => kind::AUTHORIZATION_FAILED,
        _ => kind::MALFORMED_REQUEST,
    }
}

fn without_code(step: SmtpStep, error: &Error) -> &'static str {
    if error.is_client() && step == SmtpStep::Login {
        return kind::INVALID_CONFIGURATION;
    }
    if error.is_timeout() {
        kind::TIMEOUT
    } else {
        kind::NETWORK_ERROR
    }
}

/// The innermost reason: the outer ones only say that something failed.
fn describe(error: &Error) -> String {
    let mut reason: &dyn std::error::Error = error;
    while let Some(source) = reason.source() {
        reason = source;
    }
    reason.to_string()
}

/// The machine's trusted certificates, read once.
static ROOTS: LazyLock<Vec<Certificate>> = LazyLock::new(|| {
    let found = rustls_native_certs::load_native_certs().certs;
    let certificates = found
        .into_iter()
        .map(|certificate| Certificate::from_der(certificate.to_vec()));
    certificates.filter_map(Result::ok).collect()
});
