# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
"""PostgreSQL servers for the rack: the one that witnesses write to, and one that keeps locks."""

import os
import shutil
import signal

from machines import SERVER_IP, call, children, spawn
from servers import Single, wait_for


class Postgres:
    """One server, with a Unix socket in its directory and, if it has an address, at that."""

    def __init__(self, directory, name, ip=""):
        self.ip, self.dir = ip, os.path.join(directory, name)
        self.bin = call("pg_config", "--bindir").strip()
        self.stopped, self.process = False, None
        os.makedirs(self.dir)
        shutil.chown(self.dir, "postgres", "postgres")
        self.user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        call(*self.user, self.bin + "/initdb", "-D", self.dir + "/data", "-U", "postgres", "-A", "trust", "--no-sync",
             "-E", "UTF8", "--locale=C", "--wal-segsize=1")
        with open(self.dir + "/data/pg_hba.conf", "a", encoding="ascii") as file:
            file.write("host all all 10.9.0.0/16 trust\n")
        self.start()
        wait_for("PostgreSQL", 30, self.answers)

    def start(self):
        self.stopped = False
        lock = self.dir + "/data/postmaster.pid"
        if os.path.exists(lock):
            os.unlink(lock)  # of one that was killed; its pid may be somebody's by now
        with open(self.dir + ".log", "a", encoding="ascii") as log:
            self.process = spawn(
                [*self.user, self.bin + "/postgres", "-D", self.dir + "/data", "-k", self.dir, "-h", self.ip,
                 "-p", "5432", "-c", "fsync=off", "-c", "autovacuum=off", "-c", "max_connections=400",
                 # Nothing is left in /dev/shm when it is killed.
                 "-c", "dynamic_shared_memory_type=mmap"],
                cwd=self.dir, stdout=log, stderr=log)

    def sql(self, text, check=True):
        return call("psql", "-X", "-q", "-A", "-t", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-h", self.dir, "-p", "5432",
                    "-U", "postgres", "-c", text, check=check)

    def answers(self):
        return "1" in self.sql("SELECT 1", check=False)

    def runs(self):
        return self.process is not None and self.process.poll() is None

    def kill(self):
        """As a crash: sessions end at once, and nothing is written any more."""
        if self.runs():
            self.process.send_signal(signal.SIGQUIT)
            self.resume()
            self.process.wait()

    def signal_all(self, number):
        for pid in [*children(self.process.pid), self.process.pid]:
            try:
                os.kill(pid, number)
            except OSError:
                pass  # a session that has just ended

    def stop(self):
        self.stopped = True
        self.signal_all(signal.SIGSTOP)

    def resume(self):
        self.stopped = False
        if self.runs():
            self.signal_all(signal.SIGCONT)

    def heal(self):
        if self.runs():
            self.resume()
        else:
            self.start()

    def end(self):
        self.kill()


class PostgresLocks(Single):
    """What dlock locks by. It has no keys: what Redis is asked it does not answer."""

    def __init__(self, directory, _ttl_ms):
        self.servers = [Postgres(directory, "locks", SERVER_IP % 1)]
        self.options = ["-S", f"postgresql://postgres@{SERVER_IP % 1}/postgres"]

    def heal(self):
        self.servers[0].heal()

    def everlasting(self, timeout):
        return [], 1

    def leftovers(self):
        found = self.servers[0].sql("SELECT objid, pid FROM pg_locks WHERE locktype = 'advisory'").split("\n")
        return [f"an advisory lock: {line}" for line in found if line]


class Store(Postgres):
    """The PostgreSQL that witnesses write to: a row a lock, guarded by the number (docs/fencing.md), and a log of
    what was accepted, in the order in which it landed: it is written while the row is locked."""

    TABLES = """
        CREATE TABLE store (lock int PRIMARY KEY, fence bigint NOT NULL, run int NOT NULL);
        CREATE TABLE accepted (at bigserial PRIMARY KEY, lock int, fence bigint, run int);
        CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
            'BEGIN INSERT INTO accepted (lock, fence, run) VALUES (new.lock, new.fence, new.run); RETURN new; END';
        CREATE TRIGGER note AFTER INSERT OR UPDATE ON store FOR EACH ROW EXECUTE FUNCTION note();"""

    def __init__(self, directory):
        super().__init__(directory, "pg")

    def begin(self, guarded=True):
        self.sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public;" + self.TABLES)
        if not guarded:
            # For a test of the checker: a store that takes what comes.
            self.sql("""CREATE FUNCTION take() RETURNS trigger LANGUAGE plpgsql AS
                'BEGIN UPDATE store SET fence = new.fence, run = new.run WHERE lock = new.lock;
                IF FOUND THEN RETURN NULL; END IF; RETURN new; END';
                CREATE TRIGGER a_take BEFORE INSERT ON store FOR EACH ROW EXECUTE FUNCTION take();""")

    def accepted(self):
        return self.sql("SELECT lock, fence, run FROM accepted ORDER BY at")
