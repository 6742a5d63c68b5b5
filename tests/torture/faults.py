# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
"""What is done to dlocks, machines, the network and servers: a function a kind. Each takes the rack, chooses its victim by
the rack's random numbers, and says whether there was one; what has to be undone it gives to `rack.later`."""

import signal

from machines import Tree, children, now_ns, send
from servers import PORT, ErrorReply

KINDS = {}


def fault(function):
    KINDS[function.__name__] = function
    return function


def moment(rack, longest):
    """Seconds: mostly short."""
    return 0.02 + longest * rack.random.random() ** 2


# --- processes of one dlock -------------------------------------------------------------------------------

# One of OUTER and RUNNER at most is hit in a run: that one suffices is what is promised.


def victim(rack, holding=True):
    machine = rack.random.choice([m for m in rack.machines if m not in rack.paused] or [None])
    if machine is None:
        return None, None
    outers = children(machine.agent.pid)
    rack.random.shuffle(outers)
    for tree in map(Tree, outers):
        if tree.run >= 0 and tree.run not in rack.hit and (tree.command is not None if holding else tree.runner is None):
            return machine, tree
    return None, None


def hit(rack, who, number, holding=True):
    machine, tree = victim(rack, holding)
    if tree is None:
        return None
    pid = getattr(tree, who)
    parent = {"outer": machine.agent.pid, "runner": tree.outer, "command": tree.runner}[who]
    # Noted before, so that what comes of it has a cause in any case.
    if who != "command":
        rack.hit.add(tree.run)
    if not send(pid, number, parent):
        return None
    return machine, tree, pid, parent


def strike(rack, kind, who, number, holding=True):
    found = hit(rack, who, number, holding)
    if found:
        rack.note(kind, run=found[1].run, machine=found[0].number)
    return found is not None


def hold_up(rack, kind, who, holding=True):
    found = hit(rack, who, signal.SIGSTOP, holding)
    if not found:
        return False
    machine, tree, pid, parent = found
    rack.note(kind, run=tree.run, machine=machine.number)
    rack.later(moment(rack, 1.6 * rack.ttl), lambda: send(pid, signal.SIGCONT, parent))
    return True


@fault
def kill_outer(rack):
    return strike(rack, "kill_outer", "outer", signal.SIGKILL)


@fault
def kill_runner(rack):
    return strike(rack, "kill_runner", "runner", signal.SIGKILL)


@fault
def kill_command(rack):
    return strike(rack, "kill_command", "command", signal.SIGKILL)


@fault
def term_outer(rack):
    return strike(rack, "term_outer", "outer", signal.SIGTERM)


@fault
def kill_waiter(rack):
    return strike(rack, "kill_outer", "outer", signal.SIGKILL, holding=False)


@fault
def term_waiter(rack):
    return strike(rack, "term_outer", "outer", signal.SIGTERM, holding=False)


@fault
def stop_outer(rack):
    return hold_up(rack, "stop_outer", "outer")


@fault
def stop_runner(rack):
    return hold_up(rack, "stop_runner", "runner")


@fault
def stop_command(rack):
    return hold_up(rack, "stop_command", "command")


@fault
def stop_waiter(rack):
    return hold_up(rack, "stop_waiter", "outer", holding=False)


# --- machines and the network -----------------------------------------------------------------------------


@fault
def pause_machine(rack):
    """All that runs there stands still, as on a suspended machine."""
    free = [machine for machine in rack.machines if machine not in rack.paused]
    if len(free) < 2:
        return False
    machine = rack.random.choice(free)
    note = rack.note("pause_machine", machine=machine.number, until=now_ns() + 10**12)
    machine.freezer.set(True)
    rack.paused.add(machine)

    def thaw():
        machine.freezer.set(False)
        rack.paused.discard(machine)
        # What runs now may have been held up until it has its turn.
        note.until = now_ns() + 10**9

    rack.later(0.1 + 2.5 * rack.ttl * rack.random.random(), thaw)
    return True


def cut(rack, kind, longest, *rules):
    """Rules in one machine's namespace, for a while."""
    whole = [machine for machine in rack.machines if machine.cuts == 0]
    if len(whole) < len(rack.machines) - 1 or not whole:
        return False
    machine = rack.random.choice(whole)
    machine.cuts += 1
    for rule in rules:
        machine.iptables("-A", *rule)

    def mend():
        for rule in rules:
            machine.iptables("-D", *rule)
        machine.cuts -= 1

    rack.note(kind, machine=machine.number)
    rack.later(moment(rack, longest), mend)
    return True


@fault
def cut_machine(rack):
    return cut(rack, "cut_machine", 1.5 * rack.ttl, ("INPUT", "-j", "DROP"), ("OUTPUT", "-j", "DROP"))


@fault
def cut_answers(rack):
    return cut(rack, "cut_answers", rack.ttl, ("INPUT", "-j", "DROP"))


@fault
def cut_requests(rack):
    return cut(rack, "cut_requests", rack.ttl, ("OUTPUT", "-j", "DROP"))


@fault
def reset_connections(rack):
    return cut(rack, "reset_connections", 0.3, ("OUTPUT", "-p", "tcp", "-j", "REJECT", "--reject-with", "tcp-reset"))


@fault
def lose_packets(rack):
    return cut(rack, "lose_packets", rack.ttl, ("INPUT", "-m", "statistic", "--mode", "random", "--probability", "0.3", "-j", "DROP"))


@fault
def cut_server(rack):
    """One machine does not reach one server."""
    ip = rack.random.choice(rack.engine.servers).ip
    return cut(rack, "cut_server", 2 * rack.ttl, ("INPUT", "-s", ip, "-j", "DROP"))


@fault
def part_servers(rack):
    """One server's address and the others' do not reach each other; machines reach all."""
    servers = rack.engine.servers
    if rack.parted or len(servers) < 2:
        return False
    one = rack.random.choice(servers).ip
    rack.parted = True
    others = [server.ip for server in servers if server.ip != one]
    for other in others:
        rack.part(one, other, True)

    def mend():
        for other in others:
            rack.part(one, other, False)
        rack.parted = False

    rack.note("part_servers")
    rack.later(moment(rack, 4), mend)
    return True


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
    if answer is None or isinstance(answer, ErrorReply):
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
    return tell(rack, "flush_server", "FLUSHALL")


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
    server.set_clock(rack.random.choice((0, 0, rack.random.randrange(-600_000, 600_000), rack.random.randrange(-3000, 3000),
                                        rack.random.randrange(-3000, 3000))))
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
    server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend' "
               "ORDER BY random() LIMIT 1", check=False)
    rack.note("end_session")
    return True


# --- Sentinel and Cluster -----------------------------------------------------------------------------------


@fault
def plan_failover(rack):
    """One at a time: in the ten seconds for which the old master of the last one has not been made a replica, Sentinel
    may choose just that one, with its old data (docs/servers.md)."""
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
    target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", ids[source])
    source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", ids[target])
    keys = source.ask("CLUSTER", "GETKEYSINSLOT", slot, 1000)
    rack.note("move_slot")

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
    return True
