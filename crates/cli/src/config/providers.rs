//! `[providers.*]`: from the layers to what the runners are told.

use sprag_runners::docusign::{DocusignEnvelope, DocusignOptions};
use sprag_runners::email::{self, Email, SendgridOptions, SmtpOptions};
use sprag_runners::registry::providers::{Options, OptionsError};
use sprag_runners::sms::{Sms, TwilioOptions};

use super::layers::Layers;

const TWILIO: &str = "providers.twilio";
const SMTP: &str = "providers.smtp";
const SENDGRID: &str = "providers.sendgrid";
const DOCUSIGN: &str = "providers.docusign";

/// The section of a provider.
pub(super) fn section(provider: &str) -> &'static str {
    match provider {
        "twilio" => TWILIO,
        "smtp" => SMTP,
        "docusign" => DOCUSIGN,
        _ => SENDGRID,
    }
}

/// The providers that some layer says something about.
pub(super) fn of(layers: &Layers) -> Options {
    let text = |section, name| layers.text(section, name).map(str::to_owned);
    let required = |section, name| text(section, name).unwrap_or_default();
    let is_set = |section| layers.first_place(section).is_some();
    Options {
        twilio: is_set(TWILIO).then(|| TwilioOptions {
            account: required(TWILIO, "account"),
            token: required(TWILIO, "token"),
            api_key: text(TWILIO, "apiKey"),
            from: text(TWILIO, "from"),
            messaging_service: text(TWILIO, "messagingService"),
            url: text(TWILIO, "url"),
        }),
        smtp: is_set(SMTP).then(|| SmtpOptions {
            host: required(SMTP, "host"),
            port: layers.whole(SMTP, "port"),
            security: text(SMTP, "security"),
            username: text(SMTP, "username"),
            password: text(SMTP, "password"),
            from: text(SMTP, "from"),
            ca: text(SMTP, "ca"),
        }),
        sendgrid: is_set(SENDGRID).then(|| SendgridOptions {
            key: required(SENDGRID, "key"),
            from: text(SENDGRID, "from"),
            url: text(SENDGRID, "url"),
            templates: layers.texts(SENDGRID, "templates").unwrap_or_default(),
        }),
        docusign: is_set(DOCUSIGN).then(|| DocusignOptions {
            account: required(DOCUSIGN, "account"),
            integration_key: required(DOCUSIGN, "integrationKey"),
            user: required(DOCUSIGN, "user"),
            private_key: required(DOCUSIGN, "privateKey"),
            url: text(DOCUSIGN, "url"),
            auth_url: text(DOCUSIGN, "authUrl"),
        }),
    }
}

/// Everything that is wrong with them.
pub(super) fn check(options: &Options) -> Vec<OptionsError> {
    let Options {
        twilio,
        smtp,
        sendgrid,
        docusign,
    } = options;
    let mail = email::Options {
        smtp: smtp.as_ref(),
        sendgrid: sendgrid.as_ref(),
    };
    let mut errors = Email::check(mail);
    errors.extend(twilio.as_ref().and_then(|twilio| Sms::check(twilio).err()));
    errors.extend(
        docusign
            .as_ref()
            .and_then(|docusign| DocusignEnvelope::check(docusign).err()),
    );
    errors
}
