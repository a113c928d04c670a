//! Who may control an agent, and what bad messages do (agents.md H).

use sprag_agent::agent::{Agent, Error, Security, Tls};
use sprag_agent::controller::{self, ClientTls, Connect};
use sprag_agent::wire::proto::controller_message::Content;
use sprag_agent::wire::proto::{AttachRequest, ControllerMessage, PingRequest, StatusRequest};
use tonic::Code;

use crate::controllers::{Quiet, options};
use crate::rig::{Rig, Shifted, plan, prepare, quick};

const TOKEN: &str = "correct-horse-battery-staple";

async fn guarded() -> Rig {
    let (mut options, performed) = quick("a1", Shifted::by(0));
    options.security.token = Some(TOKEN.to_owned());
    Rig::with(options, performed).await
}

#[tokio::test(flavor = "multi_thread")]
async fn h1_an_agent_that_others_can_reach_does_not_start_without_security() {
    let (options, _) = quick("a1", Shifted::by(0));
    let refused = Agent::bind(options, "0.0.0.0:0".parse().unwrap()).await.err().unwrap();
    assert!(matches!(refused, Error::Security(_)));
    assert!(refused.to_string().contains("--insecure"), "{refused}");
    let (mut options, _) = quick("a1", Shifted::by(0));
    options.security = Security {
        is_insecure_allowed: true,
        ..Security::default()
    };
    Agent::bind(options, "0.0.0.0:0".parse().unwrap()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn h2_without_the_token_every_call_is_refused_and_nothing_happens() {
    let rig = guarded().await;
    let mut client = rig.client().await;
    let refused = [
        client.ask(&plan("quick", "concurrency: 1")).await.err(),
        client.abort("").await.err(),
        client.0.get_status(StatusRequest::default()).await.err(),
        client.0.ping(PingRequest {}).await.err(),
        client.0.attach(AttachRequest::default()).await.err(),
    ];
    for status in refused {
        assert_eq!(status.unwrap().code(), Code::Unauthenticated);
    }
    let mut options = options(&[&rig]);
    options.connect = Connect {
        token: Some(TOKEN.to_owned()),
        ..Connect::default()
    };
    let (plan, text) = crate::controllers::read(&plan("quick", "concurrency: 1\nduration: 200ms"));
    let (_stop, stops) = tokio::sync::mpsc::channel(1);
    let finished = controller::run(&options, (&plan, &text), &mut Quiet::default(), stops)
        .await
        .unwrap();
    assert!(finished.result.total.ops > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn h4_oversized_and_malformed_messages_change_nothing() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let huge = plan(
        "quick",
        &format!("concurrency: 1\ndescription: {}", "x".repeat(17 * 1024 * 1024)),
    );
    let refused = client.ask(&huge).await.err().unwrap();
    assert!(
        matches!(refused.code(), Code::OutOfRange | Code::Internal | Code::Unknown),
        "{refused:?}"
    );
    let send = |content: Option<Content>| {
        let mut client = client.clone();
        async move {
            let messages = futures_util::stream::iter([ControllerMessage { content }]);
            client
                .0
                .run_workload_with_live_stats(messages)
                .await
                .err()
                .map(|status| status.code())
        }
    };
    let good = prepare(&plan("quick", "concurrency: 1"));
    let cases = [
        None,
        Some(Content::Start(sprag_agent::wire::proto::Start::default())),
        Some(Content::Prepare(sprag_agent::wire::proto::Prepare {
            protocol: 9,
            ..good.clone()
        })),
        Some(Content::Prepare(sprag_agent::wire::proto::Prepare {
            agent_index: 1,
            ..good
        })),
    ];
    for content in cases {
        assert_eq!(send(content.clone()).await, Some(Code::InvalidArgument), "{content:?}");
    }
    let status = client.status().await;
    assert_eq!((status.state.as_str(), status.history.len()), ("IDLE", 0), "{status:?}");
}

fn pem(name: &str) -> Vec<u8> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/tls");
    std::fs::read(folder.join(name)).unwrap()
}

async fn with_certificates() -> Rig {
    let (mut options, performed) = quick("a1", Shifted::by(0));
    options.security.tls = Some(Tls {
        certificate: pem("agent.pem"),
        key: pem("agent.key"),
        client_authority: Some(pem("authority.pem")),
    });
    Rig::with(options, performed).await
}

async fn run_with(rig: &Rig, host: &str, tls: Option<ClientTls>) -> Result<u64, String> {
    let mut options = options(&[]);
    options.agents.push(format!("{host}:{}", rig.address.port()));
    options.connect.tls = tls;
    let (plan, text) = crate::controllers::read(&plan("quick", "concurrency: 1\nduration: 100ms"));
    let (_stop, stops) = tokio::sync::mpsc::channel(1);
    let finished = controller::run(&options, (&plan, &text), &mut Quiet::default(), stops).await;
    finished
        .map(|finished| finished.result.total.ops)
        .map_err(|error| error.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn h2_an_agent_with_an_authority_serves_only_controllers_that_it_signed() {
    let rig = with_certificates().await;
    let tls = |name: Option<&str>| {
        Some(ClientTls {
            authority: pem("authority.pem"),
            identity: name.map(|name| (pem(&format!("{name}.pem")), pem(&format!("{name}.key")))),
        })
    };
    for host in ["127.0.0.1", "localhost"] {
        let ops = run_with(&rig, host, tls(Some("controller"))).await;
        assert!(ops.as_ref().is_ok_and(|ops| *ops > 0), "{host}: {ops:?}");
    }
    let performed = rig.count();
    for (who, tls) in [
        ("without a certificate", tls(None)),
        ("of another authority", tls(Some("stranger"))),
        ("without TLS", None),
    ] {
        let refused = run_with(&rig, "127.0.0.1", tls).await;
        assert!(refused.is_err(), "a controller {who}: {refused:?}");
    }
    let wrong = Some(ClientTls {
        authority: pem("stranger-authority.pem"),
        identity: Some((pem("controller.pem"), pem("controller.key"))),
    });
    assert!(
        run_with(&rig, "127.0.0.1", wrong).await.is_err(),
        "an agent of another authority"
    );
    assert_eq!(rig.count(), performed, "none of them performed anything");
}
