#!/usr/bin/env bash
# Install what some tests need beside Python packages: PostgreSQL, MariaDB and what its client is compiled with, Java (for
# Spark), Chromium with a font, openssl, ip and tc (two machines with a slow link between them), rsyslog with TLS, and
# SoftHSM. For Debian, as root.
# Tests that miss a service are skipped, so this does what it can, says what there is, and never fails.

declare -A proof=(  # what is there once the package is
    [postgresql]='/usr/lib/postgresql/*/bin/initdb'
    [mariadb-server]='mariadbd'
    [libmariadb-dev]='mariadb_config'
    [gcc]='gcc'
    [pkg-config]='pkg-config'
    [python3-dev]='/usr/include/python3*/Python.h'
    [default-jre-headless]='java'
    [chromium]='chromium'
    [fonts-dejavu-core]='/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf'
    [openssl]='openssl'
    [iproute2]='tc'
    [rsyslog]='rsyslogd'
    [rsyslog-gnutls]='/usr/lib/*/rsyslog/lmnsd_gtls.so'
    [softhsm2]='softhsm2-util'
)

is_there() {  # package
    compgen -G "${proof[$1]}" >/dev/null || command -v "${proof[$1]}" >/dev/null
}

most=300  # seconds to wait for another program that installs packages
pause=5

apt() {  # as apt-get, but waits for the lock of the package manager; prints what that said
    local log waited=0
    while :; do
        log=$(DEBIAN_FRONTEND=noninteractive apt-get "$@" 2>&1)
        grep -qE 'Could not get lock|Unable to (lock|acquire)' <<<"$log" && [ "$waited" -lt "$most" ] || break
        [ "$waited" -gt 0 ] || echo "another program is installing packages: waiting for it, $most s at most" >&2
        sleep "$pause"
        waited=$((waited + pause))
    done
    echo "$log"
}

updated=
for package in postgresql mariadb-server libmariadb-dev gcc pkg-config python3-dev default-jre-headless chromium fonts-dejavu-core openssl iproute2 rsyslog rsyslog-gnutls softhsm2; do
    if is_there "$package"; then
        echo "$package: there"
        continue
    fi
    if [ "$(id -u)" != 0 ]; then
        echo "$package: not installable: only root may"
        continue
    fi
    if ! command -v apt-get >/dev/null; then
        echo "$package: not installable: this system has no apt-get"
        continue
    fi
    [ -n "$updated" ] || { apt update -q >/dev/null; updated=yes; }
    log=$(apt install -q -y --no-install-recommends "$package")
    if is_there "$package"; then
        echo "$package: installed"
    else
        echo "$package: not installable: $(grep -m 1 '^E: ' <<<"$log" || echo 'apt-get did not bring it')"
    fi
done
exit 0
