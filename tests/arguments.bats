#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md section 1: COMMAND's words are COMMAND's; -c; where a COMMAND that cannot run is told.

load helpers/common

setup_file() { start_redis; }
teardown_file() { stop_redis; }
setup() {
	common_setup
	redis FLUSHALL
}

BACKSLASH="\\"

@test "arguments arrive as they are: blanks, newlines, empty ones (P42)" {
	run dlock L printf '[%s]' 'a b' c
	assert_success
	assert_output '[a b][c]'
	run dlock L printf '[%s]' '' $'x\ny' '' '*' '$HOME' '"' "'" "$BACKSLASH" $'\xff\xfe' ''
	assert_output "$(printf '[%s]' '' $'x\ny' '' '*' '$HOME' '"' "'" "$BACKSLASH" $'\xff\xfe' '')"
	run dlock L true ''
	assert_success
}

@test "a very long argument list arrives whole" {
	local words=()
	mapfile -t words < <(seq 1 20000)
	run dlock L sh -c 'echo $# "${20000}"' - "${words[@]}"
	assert_success
	assert_output '20000 20000'
}

@test "options stop at NAME: COMMAND's -v and -n are its own (P43)" {
	printf 'a\tb\n' >file
	run dlock L cat -v file
	assert_output "$(cat -v file)"
	run dlock L -- cat -v file
	assert_success
	assert_output "$(cat -v file)"
	run dlock -- L cat -E file
	assert_output "$(cat -E file)"
	run dlock L echo -n x
	assert_output x
	run dlock L echo -- -n
	assert_output -- '-- -n'
	run dlock -n L echo --wait 5 --help
	assert_output -- '--wait 5 --help'
	run dlock -- -odd sh -c 'echo $DLOCK_NAME'
	assert_output -- -odd
	# A COMMAND that begins with a dash needs the --, which is also what tells it from an option.
	printf '#!/bin/sh\necho "odd $*"\n' >-odd
	chmod +x ./-odd
	PATH=$WORK:$PATH run dlock L -- -odd -n
	assert_output 'odd -n'
	PATH=$WORK:$PATH run -64 dlock L -odd -n
	run -0 dlock L ./-odd
}

@test "-c runs one string with \$SHELL, else with /bin/sh, whatever passwd says (P45)" {
	run env -u SHELL "$DLOCK" L -c 'echo $0'
	assert_success
	assert_output --regexp '^(/bin/)?sh$'
	run env SHELL= "$DLOCK" L -c 'echo $0'
	assert_output --regexp '^(/bin/)?sh$'
	run env SHELL=/bin/bash "$DLOCK" L -c 'echo $BASH_VERSION'
	assert_output --regexp '^[0-9]'
	run env SHELL=/bin/sh "$DLOCK" L --command 'a="x  y"; echo "$a"; exit 6'
	assert_failure 6
	assert_output 'x  y'
	cat >shell <<-'END'
		#!/bin/sh
		printf '<%s>' "$@"
	END
	chmod +x shell
	run env SHELL="$WORK/shell" "$DLOCK" L -c 'one string'
	assert_output '<-c><one string>'
	run -127 env SHELL=/no/such/shell "$DLOCK" L -c true
	assert_failure 127
}

@test "-c takes exactly one string" {
	run -64 dlock L -c
	assert_output --partial 'dlock: '
	run -64 dlock L -c 'echo a' b
	assert_output --partial 'dlock: '
	refute_line a
}

@test "without COMMAND or NAME: 64" {
	run -64 dlock
	run -64 dlock L
	run -64 dlock -n
	run -64 dlock L --
	run -64 dlock ''  true
}

@test "126 and 127 are told apart, and the lock is not left behind (S66)" {
	run -127 dlock L no-such-command-anywhere
	assert_output --partial 'dlock: '
	assert_output --partial no-such-command-anywhere
	run -127 dlock L ./missing
	run -127 dlock L /no/such/directory/file
	run -126 dlock L /etc/passwd
	assert_output --partial /etc/passwd
	run -126 dlock L /etc
	printf '#!/no/such/interpreter\n' >script
	chmod +x script
	run -127 dlock L ./script
	assert_output --partial interpreter
	run -127 dlock L ''
	free L
	# A typo disturbs nobody: it was found before the lock was asked for.
	run -127 dlock -v L no-such-command-anywhere
	refute_output --partial acquired
}

@test "a script without #! runs as under a shell (S66)" {
	printf 'echo "ran $1"; exit 9\n' >script
	chmod +x script
	run dlock L ./script me
	assert_failure 9
	assert_output 'ran me'
	PATH=$WORK:$PATH run dlock L script you
	assert_failure 9
	assert_output 'ran you'
}

@test "a typo is found also while another holds the lock (S66)" {
	start_dlock L sleep 60
	wait_until 2s running "$OUTER"
	run -127 dlock -n L no-such-command-anywhere
	run -127 timeout 5 "$DLOCK" L no-such-command-anywhere
	run -126 dlock -w 0.1 L /etc/passwd
}

@test "a COMMAND that vanished after the look-up is 127, and the lock is free (S66)" {
	# The look-up is done before the wait; exec finds what is there then.
	printf '#!/bin/sh\nexit 0\n' >fleeting
	chmod +x fleeting
	start_dlock L sleep 60
	wait_until 2s running "$OUTER"
	start "$DLOCK" L ./fleeting 2>err
	wait_until 2s waiting "$STARTED"
	rm fleeting
	kill -TERM "$OUTER"
	exit_status_of "$STARTED"
	[ "$STATUS" -eq 127 ] || fail "status $STATUS: $(<err)"
	run cat err
	assert_output --partial fleeting
	free L
}

# waiting PID: it has a connection to the server and sleeps.
waiting() {
	[ "$(redis CLIENT LIST | grep -c name=dlock)" -ge 2 ] && state_is S "$1"
}

@test "arguments that are too long by what dlock adds are 126, and the lock is free" {
	# What execve(2) takes is a quarter of the stack's limit, environment included: find the most
	# that dlock itself can be started with.
	cat >most.py <<-'END'
		import os, resource, subprocess, sys
		env = {"DLOCK_SERVER": os.environ["DLOCK_SERVER"], "PATH": "/usr/bin:/bin"}
		limit = lambda: resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 1 << 20))
		def run(size):
		    words = ["x" * 999] * (size // 1000) + ["y" * (size % 1000)]
		    try:
		        return subprocess.run([os.environ["DLOCK"], "L", "true"] + words, env=env,
		                              stderr=subprocess.PIPE, preexec_fn=limit)
		    except OSError:
		        return None
		low, high = 1000, 400000
		while high - low > 1:
		    middle = (low + high) // 2
		    low, high = (low, middle) if run(middle) is None else (middle, high)
		for size in low, low - 1000:
		    done = run(size)
		    print(done.returncode, done.stderr.decode())
	END
	run /usr/bin/python3 most.py
	assert_success
	assert_line --index 0 --partial '126 dlock: '
	assert_line --index 0 --partial 'too long'
	assert_line --index 1 --regexp '^0 *$'
	free L
}

# make_public: PUBLIC, a directory that any user may enter, with a dlock in it, and a server that
# any user may use: bats' own directories are closed to others, and so may be the source tree.
make_public() {
	PUBLIC=$(mktemp -d "${TMPDIR:-/tmp}/dlock-public.XXXXXX")
	chmod 755 "$PUBLIC" "$REDIS_DIR"
	chmod 777 "$REDIS_SOCK"
	cp "$DLOCK" "$PUBLIC/dlock"
}

# as_nobody PATH COMMAND...: as a user without rights.
as_nobody() {
	env PATH="$1" /usr/bin/setpriv --reuid 65534 --regid 65534 --clear-groups "${@:2}"
}

teardown() {
	[ -z "${PUBLIC:-}" ] || rm -rf "$PUBLIC"
	common_teardown
}

@test "PATH is searched as by execvp: unreadable, missing and empty entries (S67)" {
	make_public
	cd "$PUBLIC"
	mkdir secret bin dir
	printf '#!/bin/sh\necho found\n' >bin/tool
	chmod +x bin/tool
	chmod 700 secret
	run -127 as_nobody "$PUBLIC/secret:/bin" ./dlock L no-such-command
	run -0 as_nobody "$PUBLIC/secret:$PUBLIC/bin:/bin" ./dlock L tool
	assert_output found
	# A file of that name that may not be executed, then one that may.
	printf 'x' >dir/tool
	run -0 env PATH="$PUBLIC/dir:$PUBLIC/bin:/bin" ./dlock L tool
	assert_output found
	run -126 env PATH="$PUBLIC/dir:/no/such" ./dlock L tool
	run -127 env PATH="$PUBLIC/no/such:/bin" ./dlock L tool
	run -0 env PATH="$PUBLIC/no/such::/bin" sh -c 'cd bin && ../dlock L tool'
	assert_output found
	run -0 env -u PATH ./dlock L true
}

@test "as another user than root: the same (S67)" {
	make_public
	run -3 as_nobody /usr/bin:/bin "$PUBLIC/dlock" L sh -c 'id -u; exit 3'
	assert_output 65534
	free L
}

@test "with no process left for RUNNER or COMMAND dlock says 71, and the lock is free" {
	local limit user=$((100000 + RANDOM)) # nobody else's, so that nobody else counts
	make_public
	for limit in 1 2; do
		run -71 setpriv --reuid "$user" --regid "$user" --clear-groups \
			bash -c 'ulimit -u "$1"; exec "$2" L touch "$3"' - "$limit" "$PUBLIC/dlock" "$PUBLIC/ran"
		assert_output --partial 'dlock: '
		free L
	done
	run -0 setpriv --reuid "$user" --regid "$user" --clear-groups \
		bash -c 'ulimit -u 3; exec "$1" L true' - "$PUBLIC/dlock"
	[ ! -e "$PUBLIC/ran" ]
}
