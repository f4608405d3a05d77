"""Real engines for a test session: a PostgreSQL and a MariaDB server of our own, a Spark in this process."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from parties.sources import opening
from tests.support.agreement import Sample, sample
from tests.support.mysql import ADMIN, SECRET, MySqlServer
from tests.support.postgres import Server
from tests.support.slow import pytest_ignore_collect, pytest_itemcollected
from tests.support.waiting import PATIENCE

__all__ = ["pytest_ignore_collect", "pytest_itemcollected"]


@pytest.fixture(autouse=True, scope="module")
def by_engine() -> Iterator[None]:
    """Let an engine count small files, too; a test that wants them counted in memory sets a larger size."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opening, "SMALL", 0)
        yield


@pytest.fixture(scope="session")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """The sample that every kind of source counts."""
    return sample(tmp_path_factory.mktemp("sample"))


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A running server; it ends with the session."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not found:
        pytest.skip("there is no PostgreSQL server (make services installs it)")
    as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []  # the server refuses to run as root
    folder = Path(tempfile.mkdtemp(prefix="smc-pg-"))  # the path of a socket must be short
    if as_user:
        shutil.chown(folder, "postgres")
    folder.chmod(0o755)

    def run(*command: object) -> None:
        done = subprocess.run(
            [*as_user, *map(str, command)], capture_output=True, text=True, timeout=PATIENCE, cwd=folder
        )
        if done.returncode:
            pytest.skip(f"PostgreSQL does not start: {done.stderr.strip()[-200:]}")

    data = folder / "data"
    try:
        run(found[-1] / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
        (data / "pg_hba.conf").write_text("local all postgres trust\nlocal all all scram-sha-256\n")
        options = f"-k {folder} -c listen_addresses= -c fsync=off"
        # A log file, not a pipe that the server would keep open.
        run(found[-1] / "pg_ctl", "-D", data, "-l", folder / "log", "-o", options, "-w", "start")
        try:
            yield Server(folder)
        finally:
            run(found[-1] / "pg_ctl", "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def mysql() -> Iterator[MySqlServer]:
    """A running MariaDB; it ends with the session."""
    pytest.importorskip("MySQLdb", reason="mysqlclient is not installed (make services, then make test, installs it)")
    if (server := shutil.which("mariadbd", path="/usr/sbin:/usr/bin")) is None:
        pytest.skip("there is no MariaDB server (make services installs it)")
    import MySQLdb

    as_user = ["runuser", "-u", "mysql", "--"] if os.geteuid() == 0 else []  # the server refuses to run as root
    folder = Path(tempfile.mkdtemp(prefix="smc-my-"))  # the path of a socket must be short
    if as_user:
        shutil.chown(folder, "mysql")
    folder.chmod(0o755)
    common = ["--no-defaults", f"--datadir={folder}/data"]
    try:
        install = ["mariadb-install-db", *common, "--auth-root-authentication-method=normal", "--skip-test-db"]
        done = subprocess.run([*as_user, *install], capture_output=True, text=True, timeout=PATIENCE, cwd=folder)
        if done.returncode:
            pytest.skip(f"MariaDB does not start: {done.stderr.strip()[-200:]}")
        (folder / "begin.sql").write_text(
            "CREATE DATABASE clinic;\n"
            f"GRANT ALL ON *.* TO '{ADMIN}'@'localhost' IDENTIFIED BY '{SECRET}' WITH GRANT OPTION;\n"
        )
        options = [f"--socket={folder}/s", f"--init-file={folder}/begin.sql", "--skip-networking", "--skip-log-bin"]
        options += ["--innodb-flush-log-at-trx-commit=0", "--innodb-fast-shutdown=2", "--skip-name-resolve"]
        with (folder / "log").open("w") as log:
            running = subprocess.Popen([*as_user, server, *common, *options], stdout=log, stderr=log, cwd=folder)
        found = MySqlServer(folder)
        try:
            end = time.monotonic() + PATIENCE
            while True:
                try:
                    found.connect().close()
                    break
                except MySQLdb.Error:
                    if running.poll() is not None or time.monotonic() > end:
                        pytest.skip(f"MariaDB does not start: {(folder / 'log').read_text()[-200:]}")
                    time.sleep(0.05)
            yield found
        finally:
            running.terminate()
            running.wait(PATIENCE)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The Spark session that sources in this process share."""
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("there is no Java (make services installs it)")
    from pyspark.sql import SparkSession

    from parties.sources.spark import ALONE

    own = {"spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")), "spark.sql.shuffle.partitions": "1"}
    # So short a life is not worth Java's second compiler, nor several threads that collect garbage.
    own["spark.driver.extraJavaOptions"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    session = SparkSession.builder.master("local[*]").config(map=ALONE | own).getOrCreate()
    yield session
    session.stop()
