"""A real SMTP server for the tests, on loopback, at a port that the system picks (PyPI packages aiosmtpd, cryptography).

python3 server.py --dir DIR [--security none|starttls|tls] [--user U --password P]

Prints `listening PORT`. With `starttls` or `tls` it makes a certificate for localhost and leaves it as DIR/ca.pem.
Each accepted message becomes DIR/NNNN.eml, with its envelope in DIR/NNNN.json. A receiver's local part steers the answer:
  defer...   451 every time        defer1... 451 on the first try of that address, accepted later (any digit)
  reject...  550                   drop...   the connection is closed without an answer
  cut...     the connection is closed when the message has arrived, without an answer
"""
import argparse
import asyncio
import collections
import datetime
import ipaddress
import json
import pathlib
import re
import ssl

from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword

parser = argparse.ArgumentParser()
parser.add_argument("--dir", type=pathlib.Path, required=True)
parser.add_argument("--security", choices=["none", "starttls", "tls"], default="none")
parser.add_argument("--user")
parser.add_argument("--password")
args = parser.parse_args()
args.dir.mkdir(parents=True, exist_ok=True)


def certificate():
    """A certificate of its own for localhost: the tests trust it by its file."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    now = datetime.datetime.now(datetime.timezone.utc)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (args.dir / "key.pem").write_bytes(private)
    (args.dir / "ca.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(args.dir / "ca.pem", args.dir / "key.pem")
    return context


class Handler:
    def __init__(self):
        self.tries = collections.Counter()
        self.count = 0

    async def handle_RCPT(self, server, session, envelope, address, options):
        local = address.split("@")[0]
        self.tries[address] += 1
        if local.startswith("reject"):
            return "550 5.1.1 no such mailbox"
        if local.startswith("drop"):
            server.transport.abort()
            return "421 4.3.0 closing"
        if found := re.match(r"defer(\d?)", local):
            if not found[1] or self.tries[address] <= int(found[1]):
                return "451 4.3.0 try again later"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        self.count += 1
        stem = args.dir / f"{self.count:04d}"
        stem.with_suffix(".eml").write_bytes(envelope.content)
        facts = {
            "from": envelope.mail_from,
            "to": envelope.rcpt_tos,
            "tls": session.ssl is not None or args.security == "tls",
            "user": session.authenticated,
        }
        stem.with_suffix(".json").write_text(json.dumps(facts) + "\n")
        if any(address.startswith("cut") for address in envelope.rcpt_tos):
            server.transport.abort()
        return f"250 2.0.0 queued as {self.count:04d}"


def login(server, session, envelope, mechanism, data):
    expected = (args.user.encode(), args.password.encode())
    is_right = isinstance(data, LoginPassword) and (data.login, data.password) == expected
    return AuthResult(success=is_right, handled=is_right)


async def main():
    context = certificate() if args.security != "none" else None
    options = {"hostname": "localhost"}
    if args.user:
        options |= {
            "authenticator": login,
            "auth_required": True,
            "auth_require_tls": args.security == "starttls",
        }
    if args.security == "starttls":
        options |= {"tls_context": context, "require_starttls": True}
    handler = Handler()
    loop = asyncio.get_running_loop()
    at_once = context if args.security == "tls" else None
    server = await loop.create_server(lambda: SMTP(handler, loop=loop, **options), "127.0.0.1", 0, ssl=at_once)
    print(f"listening {server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


asyncio.run(main())
