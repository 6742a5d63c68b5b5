#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# The server's password: where it comes from, what is said when it does not, and that nobody sees it
# (P97, P36, P37). What a later login needs while COMMAND runs is in passwords_holding.bats.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2153

load helpers/common
load helpers/secrets

setup() {
	common_setup
	start_redis
	protect_redis
}

@test "P97: a password file, a command, DLOCK_PASSWORD, REDISCLI_AUTH and the URL all log in, with and without a user" {
	redis_line "ACL SETUSER ann on >$SECRET ~* &* +@all" >/dev/null
	local url
	for url in "redis://127.0.0.1:$REDIS_PORT" "redis://ann@127.0.0.1:$REDIS_PORT" "$URL_UNIX"; do
		run -0 dlock -S "$url" --password-file pw L echo ran
		assert_output ran
		run -0 dlock -S "$url" --password-command 'cat pw' L echo ran
		assert_output ran
		DLOCK_PASSWORD=$SECRET run -0 dlock -S "$url" L echo ran
		assert_output ran
		REDISCLI_AUTH=$SECRET run -0 dlock -S "$url" L echo ran
		assert_output ran
	done
	run -0 dlock -S "redis://:$SECRET@127.0.0.1:$REDIS_PORT" L echo ran
	run -0 dlock -S "redis://ann:$SECRET@127.0.0.1:$REDIS_PORT" L echo ran
	DLOCK_SERVER=redis://ann:$SECRET@127.0.0.1:$REDIS_PORT DLOCK_PASSWORD=wrong run -0 dlock L echo ran
	DLOCK_SERVER=redis://ann:wrong@127.0.0.1:$REDIS_PORT run -0 dlock --password-file pw L echo ran
}

@test "the config file names a password file or a command; the environment is stronger" {
	printf 'server = redis://127.0.0.1:%s\npassword-file = pw\n' "$REDIS_PORT" >conf
	unset DLOCK_SERVER
	run -0 dlock --config conf L echo ran
	DLOCK_PASSWORD=wrong run -77 dlock --config conf L echo ran
	printf 'server = redis://127.0.0.1:%s\npassword-command = "cat pw"\n' "$REDIS_PORT" >conf
	run -0 dlock --config conf L echo ran
}

@test "two passwords on the command line are a usage error" {
	run -64 dlock --password-file pw --password-command 'cat pw' L touch ran
	assert_output "dlock: more than one password: of --password-file, --password-command and the password in the server URL give one"
	run -64 dlock --password-file pw -S "redis://:$SECRET@127.0.0.1:$REDIS_PORT" L touch ran
	refute_output --partial "$SECRET"
	run -64 dlock --password-file <(cat pw) L touch ran
	assert_output --partial "write --password-command '...' instead of <(...)"
	[ ! -e ran ]
}

@test "P37: what the server says of the user is passed on, 77, with where the password came from, and without it" {
	run -77 dlock L touch ran
	assert_output --partial "the server says: NOAUTH Authentication required. (give a password: --password-file"
	DLOCK_PASSWORD=wrong-$SECRET run -77 dlock L touch ran
	assert_output --regexp 'WRONGPASS invalid username-password pair.* \(the password is that of DLOCK_PASSWORD\)$'
	refute_output --partial "$SECRET"
	echo "wrong-$SECRET" >other
	run -77 dlock --password-file other L touch ran
	assert_output --partial "WRONGPASS"
	assert_output --partial "(the password is that of the file 'other')"
	refute_output --partial "$SECRET"
	run -77 dlock --password-command 'cat other' L touch ran
	assert_output --partial "(the password is that of the password command)"
	redis ACL SETUSER ann on nopass '~other:*' '&*' +@all >/dev/null
	run -77 dlock -S "redis://ann@127.0.0.1:$REDIS_PORT" --password-file pw L touch ran
	assert_output --regexp "(NOPERM|can't access|No permissions).*under Access control"
	run -77 dlock -S "redis://nobody@127.0.0.1:$REDIS_PORT" L touch ran
	assert_output --partial "(give a password: --password-file, DLOCK_PASSWORD)"
	refute_output --partial "$SECRET"
	redis CONFIG SET requirepass '' >/dev/null
	run -77 dlock --password-file pw L touch ran
	assert_output --partial "without any password configured"
	refute_output --partial "$SECRET"
	[ ! -e ran ]
}

@test "a server without AUTH quotes what it was given: dlock does not" {
	stop_redis
	start_redis --rename-command AUTH ''
	run redis-cli -s "$REDIS_SOCK" AUTH "$SECRET"
	assert_output --partial "$SECRET"
	run -69 dlock -vv --password-file pw L touch ran
	assert_output --partial 'unknown command'
	assert_output --partial '***'
	refute_output --partial "$SECRET"
	refute_output --partial "${SECRET:0:9}"
}

@test "P36: a password that cannot be had at the first login is a bad setting, 78, told in one line; nothing is sent" {
	local row line
	redis CONFIG RESETSTAT >/dev/null
	: >empty
	mkdir dir
	printf 'hu\0sh\n' >nul
	head -c 8193 /dev/zero | tr '\0' x >long
	ln -s loop loop
	while IFS=^ read -r row line; do
		eval "run -78 dlock $row L touch ran"
		assert_output "dlock: cannot lock 'L' at $URL_UNIX: $line"
	done <<-'END'
		--password-file missing^cannot read the password file 'missing': No such file or directory
		--password-file dir^cannot read the password file 'dir': Is a directory
		--password-file loop^cannot read the password file 'loop': Too many levels of symbolic links
		--password-file empty^the first line of the password file 'empty' is empty
		--password-file nul^the first line of the password file 'nul' has a NUL byte in it
		--password-file long^the first line of the password file 'long' is longer than 8192 bytes
		--password-command 'echo hush; exit 5'^the password command failed with exit status 5
		--password-command 'echo hush; kill -HUP $$'^the password command was killed by signal 1 (Hangup)
		--password-command true^the first line that the password command printed is empty
		--password-command 'tr "\0" x </dev/zero | head -c 9000'^the first line that the password command printed is longer than 8192 bytes
	END
	run -78 dlock --if-unreachable run --password-file missing L touch ran
	run -78 dlock --password-command 'no-such-program-here' L touch ran
	assert_output --partial 'no-such-program-here: not found'
	[ ! -e ran ]
	run redis INFO commandstats
	refute_output --partial cmdstat_time
	refute_output --partial cmdstat_eval
}

@test "a password file that may not be read: 78, and the reason" {
	local public
	public=$(mktemp -d "${TMPDIR:-/tmp}/dlock-public.XXXXXX")
	chmod 755 "$public"
	cp "$DLOCK" "$public/dlock"
	install -m 600 pw "$public/pw"
	run setpriv --reuid 65534 --regid 65534 --clear-groups "$public/dlock" -S "redis://127.0.0.1:$REDIS_PORT" \
		--password-file "$public/pw" L true
	rm -rf "$public"
	assert_failure 78
	assert_output --partial "pw': Permission denied"
}

@test "a pipe that nobody writes to, and a command that hangs, end within the connect timeout: 78, and nothing is left" {
	local nap
	nap=$(unique_sleep)
	mkfifo pipe
	start_clock
	run -78 dlock --connect-timeout 300ms --password-file pipe L touch ran
	assert_output --partial "no password in time from the file 'pipe'"
	assert_between 300 1300 "$(clock_ms)" "milliseconds until dlock gave up"
	echo "$nap" >nap
	start_clock
	run -78 dlock --connect-timeout 300ms --password-command '
		trap "" TERM; setsid sh -c "trap \"\" TERM; sleep $(cat nap)" & sleep $(cat nap); :' L touch ran
	assert_output --partial "no password in time from the password command"
	assert_between 300 1300 "$(clock_ms)" "milliseconds until dlock gave up"
	wait_until 2s argv_gone "$nap"
	start_clock
	run -78 dlock -w 300ms --password-command "yes" L touch ran
	assert_between 300 1300 "$(clock_ms)" "milliseconds until dlock gave up"
	wait_until 2s no_marked_dlock
	[ ! -e ran ]
}

@test "a signal ends dlock at once while the password command runs, and the command too" {
	local nap helper
	nap=$(unique_sleep)
	start_dlock --password-command "sleep $nap" L touch ran
	wait_until 2s argv_count "$nap" 1
	helper=$(helper_of "$OUTER")
	kill -TERM "$OUTER"
	start_clock
	exit_status_of "$OUTER"
	assert_between 0 300 "$(clock_ms)" "milliseconds until dlock died"
	[ "$STATUS" -eq 143 ]
	wait_until 2s argv_gone "$nap"
	wait_until 2s gone "$helper"
	[ ! -e ran ]
}

@test "dlock killed by KILL takes along whoever reads the password's file, also when that hangs" {
	local helper
	mkfifo pipe
	start_dlock --connect-timeout 60s -t 200s --password-file pipe L touch ran
	wait_until 2s helper_of "$OUTER"
	helper=$(helper_of "$OUTER")
	kill -KILL "$OUTER"
	wait_until 2s gone "$helper"
	[ ! -e ran ]
}

@test "dlock killed by KILL takes the password command and all below it along" {
	local nap
	nap=$(unique_sleep)
	echo "$nap" >nap
	start_dlock --password-command 'setsid sleep $(cat nap) & sleep $(cat nap)' L touch ran
	wait_until 2s argv_count "$nap" 2
	kill -KILL "$OUTER"
	wait_until 2s argv_gone "$nap"
	wait_until 2s no_marked_dlock
}

@test "the password command does not read COMMAND's input" {
	run bash -c 'echo hi | "$DLOCK" --password-command "cat >got; cat pw" L cat'
	assert_success
	assert_output hi
	[ ! -s got ]
}

@test "what a successful password command has started before COMMAND runs, an agent, is left alone and not COMMAND's" {
	local nap
	nap=$(unique_sleep)
	echo "$nap" >nap
	run dlock --password-command 'setsid sleep $(cat nap) >/dev/null 2>&1 & cat pw' L true 3>&- 4>&-
	assert_success
	assert_output ''
	argv_count "$nap" 1
	kill "$(find_argv "$nap")"
}

@test "a password prompt can use the terminal at the first login, and control-C ends it" {
	cat >ask <<-'END'
		exec </dev/tty
		stty -echo
		printf 'password? ' >/dev/tty
		read -r answer
		stty echo
		echo "$answer"
	END
	start "$TOOLS/ptyrun" how 'expect:password? ' "send:$SECRET\\n" 'expect:it ran' end -- \
		"$DLOCK" --connect-timeout 20s --password-command 'sh ask' L echo 'it ran' >screen
	exit_status_of "$STARTED" 20s
	assert_equal "$(<how)" 'exit 0'
	run cat screen
	refute_output --partial "$SECRET"
	start "$TOOLS/ptyrun" how 'expect:password? ' 'send:\x03' end -- \
		"$DLOCK" --connect-timeout 20s --password-command 'sh ask' L touch ran >screen
	exit_status_of "$STARTED" 20s
	assert_equal "$(<how)" 'signal 2'
	[ ! -e ran ]
}

# --- nobody sees it ---

server_was_asked() {
	redis INFO commandstats | grep -qE '^cmdstat_eval(sha)?:'
}

confirmed_more_than() {
	[ "$(grep -c 'confirmed t0=' "$DLOCK_LOG")" -gt "$1" ]
}

# Waits for the lock, runs COMMAND, logs in again; the source of the password is in "$@". The scan
# comes in every phase.
seen_nowhere() {
	local count
	redis CONFIG RESETSTAT >/dev/null
	steal L somebody 60000
	start_dlock -vv -t 3s "$@" L sh -c 'env >env; exec sleep 60'
	wait_until 3s server_was_asked
	assert_secret waiting
	redis DEL lock:L >/dev/null
	wait_until 5s running "$OUTER"
	wait_until 2s test -s env
	assert_secret holding
	count=$(grep -c 'confirmed t0=' "$DLOCK_LOG")
	cut_connections
	wait_until 5s confirmed_more_than "$count"
	assert_secret "holding, after another login"
	kill -TERM "$OUTER"
	exit_status_of "$OUTER"
	assert_secret "after the end"
	run cat env
	refute_output --partial "$SECRET"
}

@test "P97: the look for the password finds one in arguments and in an environment" {
	start env SOMETHING="$SECRET" sleep 60
	wait_until 2s eval '[ -n "$(processes_with "$SECRET")" ]'
	run -1 assert_secret now
	kill "$STARTED"
	wait_until 2s gone "$STARTED"
	start sh -c ": $SECRET; sleep 60; :"
	wait_until 2s eval '[ -n "$(processes_with "$SECRET")" ]'
}

@test "P97: no process shows the password of a file or a command, waiting, holding or logging in again; nor does -vv" {
	seen_nowhere --password-file pw
	seen_nowhere --password-command 'cat pw'
}

@test "P97: no process shows the password of DLOCK_PASSWORD, not dlock itself either" {
	steal L somebody 60000
	DLOCK_PASSWORD=$SECRET start_dlock -vv -t 3s L sh -c 'env >env; exec sleep 60'
	wait_until 3s server_was_asked
	assert_secret waiting
	redis DEL lock:L >/dev/null
	wait_until 5s running "$OUTER"
	wait_until 2s test -s env
	assert_secret holding
	run cat env
	refute_output --partial "$SECRET"
}

@test "P97: the password of the URL is in nobody's arguments" {
	seen_nowhere -S "redis://:$SECRET@127.0.0.1:$REDIS_PORT"
}

@test "P97: nor does it show while the server's name is looked up" {
	export SLOW_RESOLVER_FLAG=$WORK/hang ASAN_OPTIONS=verify_asan_link_order=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}
	touch "$SLOW_RESOLVER_FLAG"
	LD_PRELOAD=$TOOLS/slow_resolver_preload.so DLOCK_PASSWORD=$SECRET start_dlock -vv --connect-timeout 20s \
		-S "redis://localhost:$REDIS_PORT" L true
	wait_until 3s test -s "$SLOW_RESOLVER_FLAG.calls"
	[ "$(children_of "$OUTER" | wc -l)" -eq 1 ]
	assert_secret "while the name is looked up"
	kill -TERM "$OUTER"
	exit_status_of "$OUTER"
	LD_PRELOAD=$TOOLS/slow_resolver_preload.so start_dlock -vv --connect-timeout 20s \
		-S "redis://:$SECRET@localhost:$REDIS_PORT" L true
	wait_until 3s eval '[ "$(children_of "$OUTER" | wc -l)" -eq 1 ]'
	assert_secret "while the name is looked up"
}

@test "DLOCK_PASSWORD is not passed on either to a COMMAND that runs without a lock" {
	DLOCK_PASSWORD=$SECRET run -0 dlock --if-unreachable run -S redis://127.0.0.1:1 L env
	assert_line DLOCK_UNLOCKED=1
	refute_output --partial "$SECRET"
}

@test "REDISCLI_AUTH is the user's own: COMMAND has it, but no argument and no message does" {
	REDISCLI_AUTH=$SECRET start_dlock -vv L sh -c 'echo "$REDISCLI_AUTH" >got; exec sleep 60'
	wait_until 3s test -s got
	assert_equal "$(<got)" "$SECRET"
	run bash -c 'grep -lsaF -f - /proc/[0-9]*/cmdline' <<<"$SECRET"
	assert_output ''
	run cat "$DLOCK_LOG"
	refute_output --partial "$SECRET"
}

@test "while it is asked for, nobody shows the password either: the command's own process, its environment, dlock's helper" {
	start_dlock -vv --connect-timeout 20s --password-command '
		env >asked; read -r password <pw; until [ -e go ]; do sleep 0.05; done; echo "$password"' L echo ran
	wait_until 3s test -s asked
	helper_of "$OUTER"
	assert_secret "while it is asked for"
	touch go
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 0 ]
	DLOCK_PASSWORD=$SECRET run -0 dlock --password-command 'env >asked; cat pw' L true
	run cat asked
	refute_output --partial "$SECRET"
}

# --- memory ---

@test "the password of a file or a command is forgotten after the login; one that was given is where no core dump has it" {
	# ASan keeps copies of what was freed.
	! strings -n 8 "$DLOCK" | grep -q '__asan_init' || skip "a sanitized dlock"
	local row
	for row in "--password-file pw" "--password-command 'cat pw'"; do
		eval "start_dlock -t 3s $row L sleep 60"
		wait_until 3s running "$OUTER"
		assert_equal "$(memory_with "$SECRET" "$OUTER")" ''
		assert_equal "$(memory_with "$SECRET" "$RUNNER")" ''
		kill -TERM "$OUTER"
		exit_status_of "$OUTER"
	done
	printf 'server = redis://:%s@127.0.0.1:%s\n' "$SECRET" "$REDIS_PORT" >conf
	for row in "-S redis://:$SECRET@127.0.0.1:$REDIS_PORT" "--config conf"; do
		[ "$row" != "--config conf" ] || unset DLOCK_SERVER
		# shellcheck disable=SC2086 # words
		start_dlock -t 3s $row L sleep 60
		wait_until 3s running "$OUTER"
		assert_equal "$(memory_with "$SECRET" "$OUTER")" ''
		assert_equal "$(memory_with "$SECRET" "$RUNNER")" hidden
		kill -TERM "$OUTER"
		exit_status_of "$OUTER"
	done
	DLOCK_PASSWORD=$SECRET start_dlock -S "redis://127.0.0.1:$REDIS_PORT" -t 3s L sleep 60
	wait_until 3s running "$OUTER"
	assert_equal "$(memory_with "$SECRET" "$OUTER")" ''
	assert_equal "$(memory_with "$SECRET" "$RUNNER")" hidden
}
