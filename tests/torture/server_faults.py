# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
"""What is done to servers, sets of them and their keys; see faults.py."""

from faults import KINDS, fault, moment
from servers import PORT, ErrorReply

__all__ = ["KINDS"]

# --- servers ------------------------------------------------------------------------------------------------


def some_server(rack, servers=None):
    """One that is well; and not too many are unwell at a time, or nothing goes on at all."""
    servers = servers or rack.engine.servers
    well = [server for server in servers if server.runs() and not server.stopped]
    most = max(1, len(servers) // 2)
    if len(servers) - len(well) >= most and (len(servers) < 3 or rack.random.random() < 0.9):
        return None
    return rack.random.choice(well) if well else None


def stop(rack, kind, server, longest):
    if server is None:
        return False
    server.stop()
    rack.note(kind)
    rack.later(moment(rack, longest), server.resume)
    return True


def restart(rack, kind, server, longest, forget=False):
    if server is None:
        return False
    server.kill()
    if forget:
        server.forget()
    rack.note(kind)
    rack.later(moment(rack, longest), server.heal)
    return True


@fault
def stop_server(rack):
    return stop(rack, "stop_server", some_server(rack), 1.2 * rack.ttl)


@fault
def crash_server(rack):
    """Killed; what it had confirmed is back when it is."""
    return restart(rack, "crash_server", some_server(rack), 0.8)


@fault
def forget_server(rack):
    """Killed, and back with nothing."""
    return restart(rack, "forget_server", some_server(rack), 0.8, forget=True)


def tell(rack, kind, *words, server=None):
    server = server or some_server(rack)
    if server is None:
        return False
    answer = server.ask(*words, timeout=0.3)
    # 0: there was no such key, no such client.
    if answer is None or isinstance(answer, ErrorReply) or answer == 0:
        return False
    rack.note(kind)
    return True


@fault
def pause_clients(rack):
    how = rack.random.choice(("ALL", "WRITE"))
    return tell(rack, "pause_clients", "CLIENT", "PAUSE", int(1000 * moment(rack, rack.ttl)), how)


@fault
def kill_clients(rack):
    return tell(rack, "kill_clients", "CLIENT", "KILL", "TYPE", rack.random.choice(("normal", "pubsub")))


@fault
def flush_server(rack):
    server = some_server(rack)
    has_keys = server is not None and server.ask("DBSIZE", timeout=0.3)
    return isinstance(has_keys, int) and has_keys > 0 and tell(rack, "flush_server", "FLUSHALL", server=server)


@fault
def delete_key(rack):
    return tell(rack, "delete_key", "DEL", rack.some_key())


@fault
def expire_key(rack):
    return tell(rack, "expire_key", "PEXPIRE", rack.some_key(), 1)


@fault
def steal_key(rack):
    return tell(rack, "steal_key", "SET", rack.some_key(), "somebody-else", "PX", 300)


@fault
def step_clock(rack):
    server = some_server(rack)
    if server is None:
        return False
    longest = rack.random.choice((1, 1, 600_000, 3000, 3000))
    before, shift = server.shift, rack.random.randrange(-longest, longest)
    server.set_clock(shift)
    # That it is the server's own clock which has moved is asked of the server.
    if abs(shift - before) < 5 or not server.shows_clock():
        return False
    rack.note("step_clock")
    return True


@fault
def break_lock(rack):
    """dlock --break, as an operator does it: the holder's command is dead before another has the lock."""
    rack.start_break(f"job{rack.random.randrange(rack.locks_count)}")
    rack.note("break_lock")
    return True


@fault
def end_session(rack):
    """pg_terminate_backend: the lock is free at that instant."""
    server = some_server(rack)
    if server is None:
        return False
    ended = server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
               "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend' "
               "ORDER BY random() LIMIT 1", check=False)
    if "t" not in (ended or ""):
        return False
    rack.note("end_session")
    return True


# --- Sentinel and Cluster -----------------------------------------------------------------------------------


@fault
def plan_failover(rack):
    """One at a time: in the ten seconds for which the old master of the last one has not been made a replica,
    Sentinel may choose just that one, with its old data (docs/servers.md)."""
    return rack.engine.is_whole() and rush_failover(rack, "plan_failover")


@fault
def rush_failover(rack, kind="rush_failover"):
    sentinel = some_server(rack, rack.engine.sentinels)
    return sentinel is not None and tell(rack, kind, "SENTINEL", "FAILOVER", "main", server=sentinel)


@fault
def crash_master(rack):
    masters = rack.engine.masters()
    return restart(rack, "crash_master", some_server(rack, masters) if masters else None, 3)


@fault
def stop_master(rack):
    masters = rack.engine.masters()
    return stop(rack, "stop_master", some_server(rack, masters) if masters else None, 4)


@fault
def crash_sentinel(rack):
    return restart(rack, "crash_sentinel", some_server(rack, rack.engine.sentinels), 2)


@fault
def stop_sentinel(rack):
    return stop(rack, "stop_sentinel", some_server(rack, rack.engine.sentinels), 2)


@fault
def take_over(rack):
    """CLUSTER FAILOVER: the replica and its master agree when."""
    replicas = [server for server in rack.engine.servers if str(server.ask("ROLE", timeout=0.3)).startswith("['slave'")]
    return bool(replicas) and tell(rack, "take_over", "CLUSTER", "FAILOVER", server=rack.random.choice(replicas))


@fault
def move_slot(rack):
    """A lock's slot, with its keys, to another master, as a resharding does it."""
    masters = rack.engine.masters()
    source, slot = rack.engine.owner(rack.some_key())
    targets = [server for server in masters if server is not source]
    if source is None or not targets:
        return False
    target = rack.random.choice(targets)
    ids = {server: server.ask("CLUSTER", "MYID") for server in (source, target)}
    told = (target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", ids[source]),
            source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", ids[target]))
    keys = source.ask("CLUSTER", "GETKEYSINSLOT", slot, 1000)
    rack.note("move_slot")  # whatever comes of it has a cause

    def end():
        left = source.ask("CLUSTER", "GETKEYSINSLOT", slot, 1000)
        if isinstance(left, list) and left:
            source.ask("MIGRATE", target.ip, PORT, "", 0, 2000, "KEYS", *left, timeout=3)
        for server in (target, source, *rack.engine.servers):
            server.ask("CLUSTER", "SETSLOT", slot, "NODE", ids[target])

    # Half of them go at once, the others a moment later: until then a script is refused.
    if isinstance(keys, list) and keys:
        source.ask("MIGRATE", target.ip, PORT, "", 0, 2000, "KEYS", *keys[: len(keys) // 2 + 1], timeout=3)
    rack.later(moment(rack, 0.3), end)
    return told == ("OK", "OK")
