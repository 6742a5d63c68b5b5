# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
"""What is done to dlocks, machines and the network: a function a kind; server_faults.py has what is done to servers.
Each takes the rack, chooses its victim by the rack's random numbers, and says whether there was one; what has to be
undone it gives to `rack.later`."""

import signal

from machines import Tree, children, now_ns, send

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
        fits = tree.command is not None if holding else tree.runner is None
        if fits and tree.run >= 0 and tree.run not in rack.hit:
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
    random = ("-m", "statistic", "--mode", "random", "--probability", "0.3")
    return cut(rack, "lose_packets", rack.ttl, ("INPUT", *random, "-j", "DROP"))


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
