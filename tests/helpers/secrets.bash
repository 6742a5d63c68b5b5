#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# A private Redis with a password, and looking for that password where it must not be.
#
#   load helpers/common; load helpers/secrets
#   setup() { common_setup; start_redis; protect_redis; }
#
# sets SECRET (the default user's password) and writes it to the file pw; `redis` is an administrator
# from then on.
#
# shellcheck disable=SC2034,SC2062 # variables are for the caller; <<< is not grep's pattern

protect_redis() {
	SECRET=s3cret-$RANDOM-$RANDOM
	redis ACL SETUSER admin on '>admin' '~*' '&*' +@all >/dev/null
	REDIS_LOGIN=(--no-auth-warning --user admin --pass admin)
	change_password "$SECRET"
	echo "$SECRET" >pw
}

# change_password NEW: on the server; through stdin, so that no argument has it.
change_password() {
	redis <<<"CONFIG SET requirepass $1" >/dev/null
}

# cut_connections: those of dlock; it has to log in again.
cut_connections() {
	redis CLIENT KILL TYPE normal SKIPME yes >/dev/null
	redis CLIENT KILL TYPE pubsub >/dev/null
}

# processes_with SECRET: files in /proc of any process whose arguments or environment have it. The
# secret goes to grep by stdin, so that grep does not find itself.
processes_with() {
	grep -lsaF -f - /proc/[0-9]*/cmdline /proc/[0-9]*/environ <<<"$1" || true
}

# assert_secret PHASE: no process has the secret among its arguments or in its environment, and
# nothing that was said has it.
assert_secret() {
	local found
	found=$(processes_with "$SECRET")
	[ -z "$found" ] || {
		echo "$1: the password is in $found" >&2
		for found in $found; do
			tr '\0' ' ' <"$found" >&2
			echo >&2
		done
		return 1
	}
	! grep -aF -f - "$DLOCK_LOG" <<<"$SECRET" >&2
}

# memory_with SECRET PID: what kinds of memory of PID have it, one a line: "hidden" where no core
# dump has it, else the name of the mapping.
memory_with() {
	/usr/bin/python3 -c '
import re, sys
secret, pid = sys.stdin.readline().strip().encode(), sys.argv[1]
mapping, found = None, set()
memory = open("/proc/%s/mem" % pid, "rb", 0)
for line in open("/proc/%s/smaps" % pid):
	head = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \S+ *(.*)", line)
	if head:
		start, end = int(head[1], 16), int(head[2], 16)
		name, readable = head[4] or "anonymous", head[3][0] == "r"
		mapping = (start, end, name) if readable and not name.startswith("[v") else None
	elif line.startswith("VmFlags:") and mapping:
		memory.seek(mapping[0])
		try:
			bytes = memory.read(mapping[1] - mapping[0])
		except OSError:
			continue
		if secret in bytes:
			found.add("hidden" if " dd" in line else mapping[2])
print("\n".join(sorted(found)))' "$2" <<<"$1"
}

# helper_of PID: its child that asks for the password, if there is one.
helper_of() {
	local child
	for child in $(children_of "$1"); do
		[ "$(comm_of "$child")" != dlock-ask ] || { echo "$child"; return 0; }
	done
	return 1
}
