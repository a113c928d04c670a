#!/usr/bin/env bash
# Installs what the peers need: their npm packages, Redis and PostgreSQL. What cannot be had is named and left out;
# the run then goes on without that peer.
set -uo pipefail
cd "$(dirname "$0")"

if ! command -v npm >/dev/null; then
  echo "peers: npm is missing, so no peer can be measured: install Node.js" >&2
elif [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
  npm ci --ignore-scripts --loglevel=error >&2 || echo "peers: npm ci failed, so no peer can be measured" >&2
fi

# package <program's path or name> <Debian package>
package() {
  compgen -G "$1" >/dev/null || command -v "$1" >/dev/null && return
  if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    apt-get update -qq >&2 && apt-get install -y -qq --no-install-recommends "$2" >/dev/null && return
  fi
  echo "peers: $2 is missing and could not be installed" >&2
}
package redis-server redis-server
package '/usr/lib/postgresql/*/bin/postgres' postgresql
package valgrind valgrind
package /usr/sbin/nginx nginx-light
package wrk wrk

# supervisord, from PyPI into a folder of its own.
SUPERVISOR=4.3.0
if [ ! -e "supervisor/$SUPERVISOR" ]; then
  python3 -c 'import ensurepip, venv' 2>/dev/null || package python3-venv python3-venv
  rm -rf supervisor
  { python3 -m venv supervisor && supervisor/bin/pip install -q --disable-pip-version-check "supervisor==$SUPERVISOR" >&2 \
    && touch "supervisor/$SUPERVISOR"; } || { rm -rf supervisor; echo "peers: supervisord could not be installed" >&2; }
fi

# Locust, from PyPI into a folder of its own.
LOCUST=2.47.0
if [ ! -e "locust/$LOCUST" ]; then
  python3 -c 'import ensurepip, venv' 2>/dev/null || package python3-venv python3-venv
  rm -rf locust
  { python3 -m venv locust && locust/bin/pip install -q --disable-pip-version-check "locust==$LOCUST" >&2 \
    && touch "locust/$LOCUST"; } || { rm -rf locust; echo "peers: Locust could not be installed" >&2; }
fi
exit 0
